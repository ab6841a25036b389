"""A simulated slot process: the production ``SlotRuntime`` on simulated ports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from weir.errors import CheckpointError, ObjectNotFound
from weir.graph.physical import PhysicalGraph
from weir.kernel.effects import Finish
from weir.operators.base import BackgroundCall, SnapshotFiles, SnapshotReader, SnapshotWriter
from weir.protocol.frames import Frame
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIncarnation, SubtaskId
from weir.protocol.messages import (
    Cancelled,
    CancelSubtasks,
    Deploy,
    FromSlot,
    Heartbeat,
    Lease,
    NotifyCheckpointAborted,
    Register,
    decode_from_slot,
    decode_to_slot,
    encode,
)
from weir.protocol.snapshots import StateFile
from weir.storage.layout import JobLayout, pack_path
from weir.storage.state_files import RestoreProgress
from weir.subtask.deployment import SlotSettings
from weir.subtask.environment import Done
from weir.subtask.slot import SlotRuntime
from weir.testing.sim.graphs import JOB
from weir.testing.sim.input_files import InputFiles
from weir.testing.sim.network import SimConnection
from weir.testing.sim.process import Process
from weir.testing.sim.program import SimProgram
from weir.testing.sim.scenario import RESTORE_HANGS_NS, Scenario
from weir.testing.sim.simulation import MS, US, Simulation
from weir.testing.sim.storage import SimStorage, StoragePort, Torn
from weir.testing.sim.threads import Threads

HEARTBEAT_NS = 40 * MS
RESTORE_REPORT_NS = 50 * MS
FILE_BYTES = 4
"""Size of each state file. A restore takes one step for each byte."""
FOREVER_NS = 10**18
LAYOUT = JobLayout(JOB)


class SlotObserver(Protocol):
    def on_sent_by_slot(self, slot: SimSlot, message: FromSlot) -> None: ...
    def on_deployed(self, slot: SimSlot) -> None: ...
    def on_cancel(self, slot: SimSlot, message: CancelSubtasks) -> None: ...
    def on_checkpoint_aborted(self, slot: SimSlot, checkpoint: CheckpointId) -> None: ...
    def on_turn(self, slot: SimSlot, turns: int) -> None: ...


class SlotCluster(Protocol):
    """The part of the cluster that slots use."""

    simulation: Simulation
    scenario: Scenario
    threads: Threads
    storage: SimStorage
    input_files: InputFiles

    @property
    def checker(self) -> SlotObserver: ...
    def join(self, slot: SimSlot, deploy: Deploy) -> None: ...
    def leave(self, slot: SimSlot) -> None: ...
    def on_slot_exit(self, slot: SimSlot) -> None: ...


class SlotDriver(Protocol):
    """The part of a driver that slots use."""

    name: str
    alive: bool
    finish: Finish | None

    def accept(self, slot: SimSlot) -> SimConnection: ...


class SimSlot(Process):
    """Registers with ``driver``, and exits when the control connection closes or the lease expires."""

    def __init__(self, cluster: SlotCluster, driver: SlotDriver, task: int, number: int) -> None:
        super().__init__(cluster.simulation, cluster.threads, f"slot{number}(task {task} of {driver.name})")
        self.cluster = cluster
        self.driver = driver
        self.task = task
        self.number = number
        self.incarnation = SlotIncarnation(f"i{number}")
        self.replaced = False
        scenario = cluster.scenario
        port = StoragePort(cluster.storage, cluster.threads, self.name)
        program = SimProgram(
            self.simulation, cluster.storage, port, cluster.input_files,
            rows_max=scenario.rows_max, row_bytes=scenario.row_bytes, held_max=scenario.held_max,
        )  # fmt: skip
        settings = SlotSettings(
            batch_rows=scenario.rows_max,
            network_bytes=scenario.network_bytes,
            buffer_timeout_ms=scenario.buffer_timeout_ms,
            restore_report_ns=RESTORE_REPORT_NS,
        )
        self.runtime = SlotRuntime(program, self, settings)
        self.links: dict[int, SimConnection] = {}
        self.deployed: Deploy | None = None
        self.port = port
        self._control: SimConnection | None = None
        self._ready: set[int] = set()
        self._step_ns_max = self.simulation.random.choice((200, 300, 400, 1_500)) * US
        self._clock_ns = 0
        self._turn_due_ns: int | None = None
        self._turns = 0
        self.calls = 0
        """Number of starts and ends of user functions in the background."""
        self.next_call_hangs = False
        """Whether the next call of a user function never ends."""
        self.hung_at_ns: int | None = None
        """The start time of a call that never ends, or None."""
        self.held_at_ns: int | None = None
        """The time at which the current step of the loop took the GIL, or None if no step holds the GIL."""
        self.stopped_until_ns: int | None = None
        """The end of the last pause of the whole process, or None."""
        self.backgrounds: list[SimBackground] = []
        self._lease_until_ns: int | None = None
        self.post(self.simulation.between(2 * MS, 40 * MS), self._connect)

    # ---- control connection -------------------------------------------------------------------

    def _connect(self) -> None:
        if not self.driver.alive:
            self.exit("the driver is dead")
            return
        self.simulation.step("register", self.name)
        self._control = self.driver.accept(self)
        self.send_control(Register(self.incarnation, self.task, self.number, "sim", 1, self.number, "sim"))
        self._beat()
        self._check_lease()

    def _beat(self) -> None:
        """Send a heartbeat. A process whose code holds the GIL sends heartbeats, but a paused process does not."""
        if not self.alive:
            return
        if not self.paused:
            self._turns += 1  # An idle loop also makes turns.
        if not self.paused or self.held_at_ns is not None:
            self.send_control(Heartbeat(self._turns, self.calls, 0))
        self.simulation.schedule(HEARTBEAT_NS, self._beat)

    def _check_lease(self) -> None:
        if self._lease_has_expired():
            # The process first handles the leases that arrived while it was paused.
            self.post(0, lambda: self.exit("the lease has expired") if self._lease_has_expired() else None)
        self.post(HEARTBEAT_NS, self._check_lease)

    def _lease_has_expired(self) -> bool:
        return self._lease_until_ns is not None and self.simulation.now_ns > self._lease_until_ns

    def hold_gil(self, duration_ns: int) -> None:
        """Let one step of the loop hold the GIL for ``duration_ns``. While a step holds the GIL, the slot sends only heartbeats."""
        if not self.paused:
            self.pause(duration_ns)
            self.held_at_ns = self.simulation.now_ns

    def _resume(self) -> None:
        if self.held_at_ns is None:
            self.stopped_until_ns = self.simulation.now_ns
        self.held_at_ns = None
        super()._resume()

    def on_control(self, message: object) -> None:
        if isinstance(message, Lease):
            self._lease_until_ns = self.simulation.now_ns + message.lease_ms * MS
            return
        if self.cluster.scenario.serialise_messages:
            message = decode_to_slot(encode(message))  # type: ignore[arg-type]  # what the driver sent
        if isinstance(message, CancelSubtasks):
            self.cluster.checker.on_cancel(self, message)
        if isinstance(message, Deploy):
            self.simulation.step("deploy", f"{self.name} generation {message.generation}")
            self.deployed = message
        self._clock_ns = max(self._clock_ns, self.simulation.now_ns)
        self.runtime.on_control(message)  # type: ignore[arg-type]  # what the driver sent
        if isinstance(message, Deploy):
            self.cluster.checker.on_deployed(self)
        elif isinstance(message, NotifyCheckpointAborted):
            self.cluster.checker.on_checkpoint_aborted(self, message.checkpoint)
        if self.runtime.stop_reason is not None:
            self.exit(f"stopped: {self.runtime.stop_reason}")
        self.wake()

    def on_control_closed(self, reason: str) -> None:
        late_ns = self.simulation.between(0, 60 * MS) if self.simulation.chance(0.3) else 0
        self.post(late_ns, lambda: self.exit(f"control connection closed: {reason}"))

    def exit(self, why: str) -> None:
        if self.alive:
            super().exit(why)
            self.cluster.leave(self)
            self.cluster.on_slot_exit(self)

    # ---- the loop --------------------------------------------------------------------------------

    def wake(self, at_ns: int = 0) -> None:
        now_ns = self.simulation.now_ns
        due_ns = max(now_ns, self._clock_ns, at_ns)
        if self.alive and (self._turn_due_ns is None or due_ns < self._turn_due_ns):
            self._turn_due_ns = due_ns
            self.simulation.schedule(due_ns - now_ns, lambda: self.deliver(lambda: self._turn(due_ns)))

    def _turn(self, due_ns: int) -> None:
        if self._turn_due_ns != due_ns:
            return
        self._turn_due_ns = None
        self._clock_ns = max(self._clock_ns, self.simulation.now_ns)
        self._turns += 1
        worked = self.runtime.turn()
        if worked:
            self.cluster.checker.on_turn(self, self._turns)
            self._clock_ns += self.simulation.between(20 * US, self._step_ns_max)
            self.wake()
        else:
            wake_at_ns = self.runtime.wake_at_ns()
            if wake_at_ns is not None:
                self.wake(wake_at_ns)

    # ---- SlotPorts -------------------------------------------------------------------------------

    def monotonic_ns(self) -> int:
        self._clock_ns += 500
        return self._clock_ns

    def core_wait_ns(self) -> int:
        return 0

    def thread_cpu_ns(self) -> int:
        return self._clock_ns

    def send_control(self, message: FromSlot) -> None:
        self.cluster.checker.on_sent_by_slot(self, message)
        if self._control is not None:
            self._control.send(self, message)
        if isinstance(message, Cancelled):
            self.simulation.step("cancel", self.name)

    def send_frame(self, slot: int, frame: Frame) -> None:
        link = self.links.get(slot)
        if link is not None:
            link.send(self, frame)

    def open_channels(self, deploy: Deploy, graph: PhysicalGraph) -> None:
        self._ready = set()
        self.links = {}
        self.cluster.join(self, deploy)

    def channels_ready(self) -> bool:
        return self.deployed is not None and len(self._ready) == sum(
            peer.slot != self.deployed.slot for peer in self.deployed.peers
        )

    def close_channels(self) -> None:
        self.cluster.leave(self)
        for link in self.links.values():
            link.close(self)
        self.links = {}

    def open_background(self) -> SimBackground:
        self.backgrounds.append(SimBackground(self))
        return self.backgrounds[-1]

    def step_begins(self, chain: int) -> None:
        pass

    def snapshot_files(self, generation: Generation, checkpoint: CheckpointId) -> SnapshotFiles:
        return _Files(self.cluster.storage, self.port, generation, checkpoint)

    def snapshot_reader(self, files: Sequence[StateFile], progress: RestoreProgress) -> AbstractContextManager[SnapshotReader]:
        return nullcontext(_Reader(self, progress))

    def restore_step(self) -> None:
        """Wait for the duration of one step of a restore. Call this method on an executor's thread."""
        scenario, executor = self.cluster.scenario, self.cluster.threads.current
        self.simulation.step("restore", self.name)
        duration_ns = scenario.restore_step_ns
        if self.simulation.step_counts["restore"] == scenario.restore_hangs_at and not self.simulation.faults_ended:
            duration_ns = RESTORE_HANGS_NS
        if executor is not None and duration_ns:
            executor.sleep(duration_ns)

    def rss_bytes(self) -> int:
        return 0

    # ---- data connections ------------------------------------------------------------------------

    def on_link_ready(self, peer: int, link: SimConnection) -> None:
        if self.links.get(peer) is link:
            self._ready.add(peer)
            self.wake()

    def on_frame(self, frame: object) -> None:
        assert isinstance(frame, Frame)
        self._clock_ns = max(self._clock_ns, self.simulation.now_ns)
        self.runtime.on_frame(frame)
        self.wake()

    def on_link_closed(self, peer: int, reason: str) -> None:
        self.runtime.on_peer_lost(peer, reason)
        self.wake()


class SimBackground:
    """The background executors of a simulated deployment."""

    def __init__(self, slot: SimSlot) -> None:
        self._slot = slot
        self._functions, self._sinks, self._snapshots = slot.executor(), slot.executor(), slot.executor()

    @property
    def is_idle(self) -> bool:
        return all(executor.is_idle for executor in (self._functions, self._sinks, self._snapshots))

    def call(self, work: Callable[[], object]) -> BackgroundCall:
        def counted() -> object:
            self._slot.calls += 1
            if self._slot.next_call_hangs:
                self._slot.next_call_hangs = False
                self._slot.hung_at_ns = self._slot.simulation.now_ns
                self._functions.sleep(FOREVER_NS)
            result = work()
            self._slot.calls += 1
            return result

        future = self._functions.submit(counted)
        future.on_done(lambda: self._slot.post(0, self._slot.wake))
        return future

    def encode(self, work: Callable[[], object]) -> BackgroundCall:
        return self._sinks.submit(work)

    def write(self, work: Callable[[], object], done: Done) -> None:
        future = self._snapshots.submit(work)

        def finished() -> None:
            error = future.exception()
            done(None if error else future.result(), error)
            self._slot.wake()

        future.on_done(lambda: self._slot.post(0, finished))

    def cancel_queued(self) -> None:
        for executor in (self._functions, self._sinks, self._snapshots):
            executor.cancel_queued()

    def close(self) -> None:
        """Do nothing, because a simulated executor has no resources."""


class _Files:
    """Stores Python objects instead of bytes. All files of a slot share one object. Each file begins at its ``offset``."""

    def __init__(self, storage: SimStorage, port: StoragePort, generation: Generation, checkpoint: CheckpointId) -> None:
        self._storage = storage
        self._port = port
        self._path = pack_path(generation=generation, checkpoint=checkpoint, attempt=storage.unique_name("sim"))
        self._contents: list[object] = []

    def writer(self, subtask: SubtaskId) -> SnapshotWriter:
        return self

    def put(self, operator: OperatorUid, data: Sequence[Any], *, rows: int, key_groups: tuple[int, int] | None) -> StateFile:
        (content,) = data
        self._contents.append(content)
        return StateFile(self._path, FILE_BYTES, "sim", rows, key_groups, len(self._contents) - 1)

    def flush(self) -> None:
        if self._contents:
            self._port.call(lambda: self._storage.put(LAYOUT.absolute(self._path), tuple(self._contents)))


class _Reader:
    def __init__(self, slot: SimSlot, progress: RestoreProgress) -> None:
        self._slot = slot
        self._progress = progress

    @contextmanager
    def open(self, file: StateFile) -> Iterator[Any]:
        path = LAYOUT.absolute(file.path)
        try:
            content = self._slot.port.call(lambda: self._slot.cluster.storage.get(path))
        except ObjectNotFound as error:
            raise CheckpointError(f"{file.path} is missing") from error
        for _ in range(file.bytes):
            self._slot.restore_step()
            self._progress.advance(1)
        if isinstance(content, Torn):
            raise CheckpointError(f"{file.path} is torn")
        assert isinstance(content, tuple)
        yield content[file.offset]


def serialise_messages(message: FromSlot) -> FromSlot:
    return decode_from_slot(encode(message))
