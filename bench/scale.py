"""``make bench-scale``: measures the coordinator of a job with many slots.

The job master, the coordinator's loop with its listeners, the codec, the manifest writer and the job log are those of a driver. The
slots are simulated: they answer each message at once, with snapshots of realistic size. The job has four chains and three shuffles.
All acknowledgements of a checkpoint arrive at the same time, which is the worst case for the loop. The CPU time excludes that of the
simulated slots.

The benchmark also runs this job with 32 real slots in Spark (``--real``), and measures the memory of one real slot process that has
connections to simulated slots (``--memory``). It appends one JSON object per measurement to build/bench/scale.jsonl.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from logging import ERROR
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import psutil
import pyarrow as pa
import structlog

from bench.abs6 import Abs6
from bench.measured_run import RunSettings
from bench.measured_run import measure as measure_run
from weir import Job, agg, sinks, sources
from weir.connectors.registry import source_from
from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.effect_runner import EffectRunner
from weir.coordinator.loop import Coordinator, SlotControl
from weir.coordinator.progress import JobProgress
from weir.graph.compile import compile_graph
from weir.graph.key_groups import key_group_range
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.config import CheckpointConfig, JobConfig
from weir.kernel.effects import Finish, Report, ReportKind
from weir.kernel.job import JobMaster, JobPhase
from weir.kernel.restore import plan_restore
from weir.link.reporter import Reporter
from weir.link.spool import Spool
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap, SparkTaskInfo
from weir.protocol.channel_state import EdgeSnapshot, PackedInts
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIncarnation, SlotIndex
from weir.protocol.messages import (
    Acknowledge,
    Cancelled,
    Deploy,
    Deployed,
    FromSlot,
    Heartbeat,
    Lease,
    Peer,
    Register,
    RequestSplit,
    SubtaskFailed,
    decode_from_slot,
    decode_to_slot,
    encode,
)
from weir.protocol.snapshots import OperatorSnapshot, Split, StateFile, SubtaskSnapshot, SubtaskStatistics
from weir.spark.launch import RunOptions, session_for
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout, pack_path
from weir.storage.local import LocalStorage
from weir.storage.probe import SharedStorageMarker
from weir.subtask.process import SlotProcess
from weir.subtask.settings import ProcessSettings
from weir.transport.control import Closed, Connected, ControlEvent, ControlPeer, ControlServer, Message
from weir.transport.exchange import DataExchange
from weir.transport.handshake import JobCredentials
from weir.transport.sockets import reserve_descriptors

RESULTS = Path("build/bench/scale.jsonl")
SHUFFLES = 3
CHECKPOINTS = 5
SOURCE = OperatorUid("in")


@dataclass(frozen=True, slots=True)
class ScaleMeasurement:
    """``deploy_cpu_s``: CPU time from the last registration until all slots run. ``checkpoint_cpu_s``: median CPU time of a
    checkpoint, from the trigger until it is completed. ``loop_stall_ms_max``: the longest time for which the coordinator's loop did
    not poll for messages during the checkpoints. ``manifest_bytes``: manifest and channel file. ``us_per_subtask``: CPU time of a
    checkpoint without the work per channel, divided by the number of subtasks. ``ns_per_channel``: CPU time of the work per channel,
    divided by the number of channels."""

    slots: int
    subtasks: int
    channels: int
    deploy_cpu_s: float
    checkpoint_cpu_s: float
    loop_stall_ms_max: float
    manifest_bytes: int
    bytes_per_channel: float
    us_per_subtask: float
    ns_per_channel: float
    recovery_cpu_s: float
    """CPU time of the coordinator from the loss of a slot until all slots run again."""


def wide_job() -> Job:
    """Return a job with four chains and three shuffles."""
    job = Job("wide")
    stream = job.read(sources.generator({"key": sources.row_index(), "value": sources.row_index()}, rows=1 << 40), uid=SOURCE)
    for number in range(SHUFFLES):
        stream = stream.key_by("key").aggregate(value=agg.sum("value"), uid=f"sum{number}")
    stream.write(sinks.stats(), uid="out")
    return job


class Clock:
    """CPU time of this process without that of the simulated slots."""

    def __init__(self) -> None:
        self._simulated_ns = 0

    @contextmanager
    def simulated(self) -> Iterator[None]:
        began_ns = time.thread_time_ns()
        try:
            yield
        finally:
            self._simulated_ns += time.thread_time_ns() - began_ns

    def cpu_s(self) -> float:
        return (time.process_time_ns() - self._simulated_ns) / 1e9


class SimulatedSlots:
    """Takes the place of a ``ControlServer`` whose clients are ``slots`` slots."""

    port = 0

    def __init__(self, slots: int, clock: Clock) -> None:
        self._slots = slots
        self._clock = clock
        self._events: list[ControlEvent] = []
        self._ready = threading.Condition()
        self._polled_ns: int | None = None
        self._triggered = 0
        self.stall_ns_max = 0
        self.acknowledgements: list[bytes] = []
        """The answers of all slots to the next trigger."""

    def register(self, slots: range) -> None:
        for number in slots:
            incarnation = SlotIncarnation(f"slot-{number}")
            register = Register(incarnation, number % self._slots, number, f"host-{number}", 40_000, 1 + number, "executor")
            self._put(Connected(ControlPeer(number), incarnation), Message(ControlPeer(number), encode(register)))

    def lose(self, number: int) -> None:
        self._put(Closed(ControlPeer(number), "killed"))

    def _put(self, *events: ControlEvent) -> None:
        with self._ready:
            self._events += events
            self._ready.notify()

    # ---- the methods of ControlServer that the coordinator calls --------------------------------------

    def wake(self) -> None:
        with self._ready:
            self._ready.notify()

    def poll(self, now_ns: int, timeout_ns: int = 0) -> list[ControlEvent]:
        if self._polled_ns is not None:
            self.stall_ns_max = max(self.stall_ns_max, time.monotonic_ns() - self._polled_ns)
        with self._ready:
            if not self._events and timeout_ns:
                self._ready.wait(timeout_ns / 1e9)
            events, self._events = self._events, []
        self._polled_ns = time.monotonic_ns()
        return events

    def send(self, peer: ControlPeer, data: bytes, *, waits: bool = False) -> None:
        with self._clock.simulated():
            kind = data[2 : data.index(b'"', 2)].decode()
            if kind == "Deploy":
                self._put(Message(peer, encode(Deployed(decode_to_slot(data).generation))))  # type: ignore[union-attr]  # a Deploy
            elif kind == "Start":
                generation = decode_to_slot(data).generation  # type: ignore[union-attr]  # a Start
                if generation == 1:
                    self._put(Message(peer, encode(RequestSplit(generation, SOURCE, peer))))
            elif kind == "CancelSubtasks":
                self._put(Message(peer, encode(Cancelled(decode_to_slot(data).generation))))  # type: ignore[union-attr]  # a Cancel
            elif kind == "TriggerCheckpoint":
                self._triggered += 1
                if self._triggered == self._slots:
                    self._triggered = 0
                    self._put(*(Message(ControlPeer(slot), one) for slot, one in enumerate(self.acknowledgements)))

    def drop(self, peer: ControlPeer) -> None:
        """Do nothing: a dropped slot sends nothing more."""


@dataclass
class Milestones:
    """A listener that lets another thread wait for the job's progress."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    phase: tuple[JobPhase, Generation] = (JobPhase.CREATED, Generation(0))
    completed: int = 0
    failures: list[str] = field(default_factory=list)

    def on_phase(self, phase: JobPhase, generation: Generation) -> None:
        if (phase, generation) != self.phase:
            with self.changed:
                self.phase = (phase, generation)
                self.changed.notify_all()

    def on_message(self, message: FromSlot) -> None: ...

    def on_report(self, report: Report) -> None:
        with self.changed:
            if report.kind is ReportKind.CHECKPOINT_COMPLETED:
                self.completed += 1
            elif report.kind in (ReportKind.CHECKPOINT_ABORTED, ReportKind.RETRYING):
                self.failures.append(report.text)
            self.changed.notify_all()

    def on_finish(self, finish: Finish) -> None: ...

    def fail(self, reason: str) -> None:
        with self.changed:
            self.failures.append(reason)
            self.changed.notify_all()

    def wait(self, done: Callable[[], bool]) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: done() or bool(self.failures), timeout=300) or self.failures:
                raise SystemExit(f"the job did not continue: {self.failures or self.phase}")


def acknowledgements(graph: PhysicalGraph, checkpoint: int, *, channels: bool) -> list[bytes]:
    """Return one acknowledgement for each slot, with the size of a real one. With ``channels=False``, the snapshots contain no
    channels. After a long run with skewed keys, the numbers of rows of two channels differ by up to 2^31."""
    rng = np.random.default_rng(checkpoint)
    matrices = {}
    for edge in graph.edges:
        shape = (graph.chains[edge.source].parallelism, graph.chains[edge.target].parallelism)
        matrices[edge.index] = 1_000_000 * checkpoint + rng.integers(0, 1 << 31, shape)
    statistics = SubtaskStatistics(150, 140, 3, 12.5, 3.25, 1.5, 4_000_000, 0.75, 0.01)
    result = []
    for slot in range(graph.slots):
        snapshots = []
        for chain in graph.chains:
            operators = []
            for uid in chain.operators:
                kind = graph.operator(uid).kind
                if kind is OperatorKind.SOURCE:
                    operators.append(
                        OperatorSnapshot(uid, slot, splits=(Split(f"rows-{slot}", None, 1_000_000 * checkpoint, slot),))
                    )
                elif kind is OperatorKind.AGGREGATE:
                    groups = key_group_range(slot, chain.parallelism, graph.max_parallelism[uid])
                    path = pack_path(generation=Generation(1), checkpoint=CheckpointId(checkpoint), attempt=f"{slot:032x}")
                    file = StateFile(path, 4_000_000, f"xxh3:{slot:032x}", 50_000, groups, 64 * chain.index)
                    operators.append(OperatorSnapshot(uid, slot, (file,)))
            inputs: tuple[EdgeSnapshot, ...] = ()
            outputs: tuple[EdgeSnapshot, ...] = ()
            if channels:
                inputs = tuple(
                    EdgeSnapshot(edge.index, PackedInts.pack(matrices[edge.index][:, slot]))
                    for edge in graph.edges if edge.target == chain.index
                )  # fmt: skip
                outputs = tuple(
                    EdgeSnapshot(edge.index, PackedInts.pack(matrices[edge.index][slot]))
                    for edge in graph.edges if edge.source == chain.index
                )  # fmt: skip
            snapshots.append(SubtaskSnapshot(chain.index, slot, tuple(operators), False, statistics, inputs, outputs))
        result.append(encode(Acknowledge(Generation(1), CheckpointId(checkpoint), tuple(snapshots))))
    return result


def measure(slots: int, directory: Path) -> ScaleMeasurement:
    job = wide_job()
    logical, _ = job.to_graph()
    graph = compile_graph(logical, slots=slots)
    storage, layout = LocalStorage(directory / "storage"), JobLayout(job.name)
    operators = [operator for operator in logical.operators if operator.kind is OperatorKind.SOURCE]
    config = JobConfig(checkpoints=CheckpointConfig(interval_ms=None))
    plan = CompiledJob(graph, {operator.uid: source_from(operator.config) for operator in operators}, {}, config)
    clock = Clock()
    server = SimulatedSlots(slots, clock)
    log = JobLog(storage, layout)
    log.read()
    milestones = Milestones()
    spool = Spool(directory / "events", wall_ms=lambda: time.time_ns() // 1_000_000)
    subtasks = sum(chain.parallelism for chain in graph.chains)
    channels = sum(graph.chains[edge.source].parallelism * graph.chains[edge.target].parallelism for edge in graph.edges)
    progress = JobProgress(frozenset({0}), tuple((chain.index, uid) for chain in graph.chains for uid in chain.operators))
    reporter = Reporter(
        spool.append, graph=codec.to_json(graph), subtasks=subtasks, now_ms=lambda: time.monotonic_ns() // 1_000_000
    )
    master = JobMaster(
        graph, config, sources=plan.sources, generation=Generation(1), next_checkpoint=CheckpointId(1), restore=None
    )
    runner = EffectRunner(plan, storage, log)
    control = SlotControl(replace=lambda task, spark_task: None, release=lambda: None)
    coordinator = Coordinator(master, server, runner, [progress, reporter, milestones], control)  # type: ignore[arg-type]  # simulated

    def run() -> None:
        try:
            coordinator.run()
        except BaseException:
            milestones.fail(traceback.format_exc())
            raise

    loop = threading.Thread(target=run)
    loop.start()
    milestones.wait(lambda: milestones.phase[0] is JobPhase.ALLOCATING)

    gc.freeze()  # as ``weir run`` does
    began_s = clock.cpu_s()
    server.register(range(slots))
    milestones.wait(lambda: milestones.phase[0] is JobPhase.RUNNING)
    deploy_cpu_s = clock.cpu_s() - began_s

    def checkpoints(first: int, *, with_channels: bool) -> float:
        """Take CHECKPOINTS checkpoints and return the median CPU time of one."""
        took = []
        for number in range(first, first + CHECKPOINTS):
            server.acknowledgements = acknowledgements(graph, number, channels=with_channels)
            began_s = clock.cpu_s()
            coordinator.checkpoint()
            milestones.wait(lambda: milestones.completed == number)  # noqa: B023  # called in this turn of the loop
            time.sleep(0.3)  # let the background threads retire old checkpoints
            took.append(clock.cpu_s() - began_s)
        return statistics.median(took)

    without_channels_s = checkpoints(1, with_channels=False)
    server.stall_ns_max = 0
    checkpoint_cpu_s = checkpoints(1 + CHECKPOINTS, with_channels=True)
    stall_ms = server.stall_ns_max / 1e6

    began_s = clock.cpu_s()
    server.lose(0)
    server.register(range(slots, slots + 1))
    milestones.wait(lambda: milestones.phase == (JobPhase.RUNNING, 2))
    recovery_cpu_s = clock.cpu_s() - began_s
    newest = 2 * CHECKPOINTS
    files = [layout.absolute(f"checkpoints/{newest}/manifest-g1.json")]
    files.append(layout.absolute(pack_path(generation=Generation(1), checkpoint=CheckpointId(newest), attempt="channels")))
    manifest_bytes = sum(path.stat().st_size for name in files if (path := directory / "storage" / name).exists())
    coordinator.cancel()
    loop.join()
    return ScaleMeasurement(
        slots=slots,
        subtasks=subtasks,
        channels=channels,
        deploy_cpu_s=deploy_cpu_s,
        checkpoint_cpu_s=checkpoint_cpu_s,
        loop_stall_ms_max=stall_ms,
        manifest_bytes=manifest_bytes,
        bytes_per_channel=manifest_bytes / channels,
        us_per_subtask=without_channels_s / subtasks * 1e6,
        ns_per_channel=(checkpoint_cpu_s - without_channels_s) / channels * 1e9,
        recovery_cpu_s=recovery_cpu_s,
    )


@dataclass(frozen=True, slots=True)
class RealSlotsMeasurement:
    """A job with real slots, and with a checkpoint every second."""

    real_slots: int
    records_per_s: float
    checkpoints: int
    checkpoint_ms_avg: float | None
    start_s: float


@dataclass(frozen=True, slots=True)
class MemoryMeasurement:
    """``slot_rss_mb``: the memory of a slot process after its deployment, when it is connected to ``slots - 1`` simulated slots."""

    slots: int
    slot_rss_mb: float


def measure_real(slots: int, directory: Path) -> RealSlotsMeasurement:
    session = session_for(RunOptions(checkpoint_dir=str(directory), parallelism=slots), "bench-scale")
    with contextlib.closing(session):
        setting = RunSettings(parallelism=slots, interval_ms=1_000, seconds=10.0, warm_up_s=5.0)
        run = measure_run(Abs6(seed=7), setting, session, directory)
    if run.wrong is not None:
        raise SystemExit(f"the result is wrong: {run.wrong}")
    done = [one.end_to_end_ms for one in run.checkpoints]
    return RealSlotsMeasurement(slots, run.records_per_s, len(done), statistics.fmean(done) if done else None, run.start_s)


SECRET = b"a secret of the benchmark"


def measure_memory(slots: int, directory: Path) -> MemoryMeasurement:
    """Deploy the job to slot 0, which runs in a separate process. All other slots only connect to it."""
    job = wide_job()
    logical, _ = job.to_graph()
    graph = compile_graph(logical, slots=slots)
    storage = LocalStorage(directory)
    SharedStorageMarker(storage, job.name, 1).write()
    server = ControlServer(
        JobCredentials(SECRET, job.name), host="127.0.0.1", generation=1, incarnation="coordinator", log_connection=print
    )
    context = multiprocessing.get_context("spawn")
    slot = context.Process(target=run_slot, args=(job.name, storage.url, server.port))
    slot.start()
    address: Any = context.Queue()
    peers = context.Process(target=run_peers, args=(job.name, slots, address))
    peers.start()
    try:
        deployed = False
        while not deployed:
            for event in server.poll(time.monotonic_ns(), 100_000_000):
                if isinstance(event, Closed):
                    raise SystemExit(f"the slot ended: {event.reason}")
                message = decode_from_slot(event.data) if isinstance(event, Message) else None
                if isinstance(message, Heartbeat):
                    server.send(event.peer, encode(Lease(60_000)))
                elif isinstance(message, Register):
                    address.put((message.host, message.data_port))
                    server.send(event.peer, encode(_deploy(graph, slots, message)))
                elif isinstance(message, SubtaskFailed):
                    raise SystemExit(f"the slot failed: {message.reason}")
                deployed |= isinstance(message, Deployed)
        assert slot.pid is not None
        return MemoryMeasurement(slots, psutil.Process(slot.pid).memory_info().rss / 1e6)
    finally:
        peers.kill()
        slot.kill()
        server.close()


def _deploy(graph: PhysicalGraph, slots: int, registered: Register) -> Deploy:
    peers = tuple(Peer(SlotIndex(number), registered.host, registered.data_port) for number in range(slots))
    new = plan_restore(graph, None)[0]
    return Deploy(
        Generation(1), SlotIndex(0), codec.to_json(graph), peers, None, (), new.inputs, new.outputs, (), CheckpointId(1)
    )


def run_slot(job: str, storage_url: str, port: int) -> None:
    settings = codec.to_json(ProcessSettings(run=1, storage_url=storage_url))
    assert isinstance(settings, dict)
    bootstrap = SlotBootstrap(job=job, host="127.0.0.1", port=port, secret=SECRET, settings=settings)
    SlotProcess(bootstrap, 0, SparkTaskInfo(0, 0, "executor", "host")).run()


def _no_schema(edge: int) -> pa.Schema:
    raise KeyError(edge)


def run_peers(job: str, slots: int, address: Any) -> None:
    """Connect the slots 1 to ``slots - 1`` to slot 0."""
    reserve_descriptors(5 * slots, process="the simulated slots")
    target = address.get()
    peers = []
    for number in range(1, slots):
        one = DataExchange(
            JobCredentials(SECRET, job), host="127.0.0.1", incarnation=f"peer-{number}", log_connection=lambda text: None
        )
        one.open_generation(Generation(1), SlotIndex(number), {SlotIndex(0): target}, _no_schema)
        peers.append(one)
    while True:
        for one in peers:
            one.pump(time.monotonic_ns())
        time.sleep(0.01)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", default="64,256,1024", help="numbers of simulated slots (default: 64,256,1024)")
    parser.add_argument("--real", type=int, default=32, help="number of real slots (default: 32; 0: none)")
    parser.add_argument(
        "--memory",
        default="16,1024",
        help="numbers of slots for which the memory of one slot process is measured (default: 16,1024)",
    )
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    for slots in (int(one) for one in arguments.slots.split(",") if one):
        with tempfile.TemporaryDirectory(prefix="weir-scale-") as directory:
            measured = measure(slots, Path(directory))
        report(measured)
    for slots in (int(one) for one in arguments.memory.split(",") if one):
        with tempfile.TemporaryDirectory(prefix="weir-scale-") as directory:
            report(measure_memory(slots, Path(directory)))
    if arguments.real:
        with tempfile.TemporaryDirectory(prefix="weir-scale-") as directory:
            report(measure_real(arguments.real, Path(directory)))


def report(measured: object) -> None:
    """Append a measurement to RESULTS and print it."""
    values = asdict(measured)  # type: ignore[call-overload]  # a dataclass
    with RESULTS.open("a") as lines:
        lines.write(json.dumps(values) + "\n")
    print(
        "  ".join(f"{name} {round(value, 3) if isinstance(value, float) else value}" for name, value in values.items()),
        flush=True,
    )


if __name__ == "__main__":
    main()
