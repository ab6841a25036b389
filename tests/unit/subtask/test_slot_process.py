"""A slot process closes its resources if it cannot start, and stays responsive while it restores state."""

from __future__ import annotations

import gc
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from weir import Job, agg, sinks, sources
from weir.errors import ConfigError
from weir.graph.compile import compile_graph
from weir.graph.physical import PhysicalGraph
from weir.kernel.restore import plan_restore
from weir.protocol import codec
from weir.protocol.bootstrap import SlotBootstrap, SparkTaskInfo
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIndex
from weir.protocol.messages import (
    Acknowledge,
    Cancelled,
    CancelSubtasks,
    Deploy,
    Deployed,
    FromSlot,
    Heartbeat,
    Lease,
    NotifyCheckpointPublished,
    Peer,
    Register,
    RestoredOperator,
    Restoring,
    SlotMetrics,
    Start,
    Stop,
    SubtaskFailed,
    ToSlot,
    TriggerCheckpoint,
    decode_from_slot,
    encode,
)
from weir.protocol.snapshots import OperatorSnapshot, StateFile
from weir.storage.layout import JobLayout, state_path
from weir.storage.local import LocalStorage
from weir.storage.probe import SharedStorageMarker
from weir.subtask.process import METRICS_NS, SlotProcess
from weir.subtask.program import load_code
from weir.subtask.settings import ProcessSettings
from weir.transport.control import ControlPeer, ControlServer, Message
from weir.transport.handshake import JobCredentials

M = TypeVar("M", bound=FromSlot)

SECRET = b"sixteen bytes, at least"
TASK_INFO = SparkTaskInfo(spark_task=0, attempt=0, executor="host/1", host="host")


def descriptors() -> list[str]:
    gc.collect()
    found = (
        os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")
    )
    return sorted(one.partition(":")[0] for one in found if one.startswith(("socket:", "anon_inode:")))


def bootstrap(directory: Path, port: int, code: dict[str, bytes]) -> SlotBootstrap:
    settings = codec.to_json(ProcessSettings(run=1, storage_url=directory.as_uri()))
    assert isinstance(settings, dict)
    return SlotBootstrap(job="job", host="127.0.0.1", port=port, secret=SECRET, code=code, settings=settings)


def test_a_slot_that_cannot_load_its_code_closes_its_descriptors(tmp_path: Path) -> None:
    before = descriptors()
    for _ in range(3):
        with pytest.raises(pickle.UnpicklingError):
            SlotProcess(bootstrap(tmp_path, 9, {"f": b"no pickle"}), 0, TASK_INFO)
    assert descriptors() == before


def test_a_slot_that_cannot_register_closes_its_descriptors(tmp_path: Path) -> None:
    """Registration fails because the host name cannot be encoded."""
    server = ControlServer(
        JobCredentials(SECRET, "job"), host="127.0.0.1", generation=1, incarnation="coordinator", log_connection=lambda text: None
    )
    before = descriptors()
    process = SlotProcess(bootstrap(tmp_path, server.port, {}), 0, SparkTaskInfo(0, 0, "not encodable: \udce9", "host"))
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            server.poll(time.monotonic_ns(), 1_000_000)

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(ConnectionError, match="UnicodeEncodeError"):
        process.run()
    stop.set()
    thread.join()
    server.poll(time.monotonic_ns(), 0)
    assert descriptors() == before
    server.close()


def test_the_error_for_a_missing_module_names_module_and_executor() -> None:
    code = pickle.dumps(test_the_error_for_a_missing_module_names_module_and_executor).replace(
        __name__.encode(), b"x" * len(__name__)
    )
    with pytest.raises(ConfigError, match=r"map 'clean': its code needs the Python module 'x+', which the executor on host7"):
        load_code({"map 'clean'": code}, "host7")


class Coordinator:
    """A fake coordinator of one slot. The test chooses the messages that the coordinator sends."""

    def __init__(self) -> None:
        self.server = ControlServer(
            JobCredentials(SECRET, "job"), host="127.0.0.1", generation=1, incarnation="coordinator", log_connection=print
        )
        self.peer: ControlPeer | None = None
        self.messages: list[FromSlot] = []

    def send(self, message: ToSlot) -> None:
        assert self.peer is not None
        self.server.send(self.peer, encode(message))

    def wait_for(self, kind: type[M], count: int = 1) -> M:
        """Wait until the slot has sent ``count`` messages of type ``kind``, and return the newest of these messages."""
        self.until(lambda: sum(isinstance(message, kind) for message in self.messages) >= count)
        return [message for message in self.messages if isinstance(message, kind)][-1]

    def until(self, done: Callable[[], bool]) -> None:
        limit = time.monotonic() + 120
        while not done():
            assert time.monotonic() < limit, f"the last messages from the slot: {self.messages[-3:]}"
            for event in self.server.poll(time.monotonic_ns(), 10_000_000):
                if isinstance(event, Message):
                    self.messages.append(decode_from_slot(event.data))
                    if isinstance(self.messages[-1], Register):
                        self.peer = event.peer
                    elif isinstance(self.messages[-1], Heartbeat):
                        self.send(Lease(60_000))


@contextmanager
def slot_process(directory: Path) -> Iterator[tuple[SlotProcess, Coordinator]]:
    """A slot process that runs in a thread, and has registered."""
    SharedStorageMarker(LocalStorage(directory), "job", 1).write()
    coordinator = Coordinator()
    process = SlotProcess(bootstrap(directory, coordinator.server.port, {}), 0, TASK_INFO)
    running = threading.Thread(target=process.run, daemon=True)
    running.start()
    try:
        coordinator.wait_for(Register)
        yield process, coordinator
    finally:
        coordinator.send(Stop("the test has ended"))
        while running.is_alive():
            coordinator.server.poll(time.monotonic_ns(), 10_000_000)
        coordinator.server.close()


def counting_job() -> PhysicalGraph:
    job = Job("job")
    counts = (
        job.read(sources.generator({"key": sources.row_index()}, rows=1), uid="in")
        .key_by("key")
        .aggregate(n=agg.count(), uid="n")
    )
    counts.write(sinks.stats(), uid="out")
    return compile_graph(job.to_graph()[0], slots=1)


def deploy(graph: PhysicalGraph, registered: Register, *restored: RestoredOperator) -> Deploy:
    (new,) = plan_restore(graph, None)
    return Deploy(
        Generation(2), SlotIndex(0), codec.to_json(graph), (Peer(SlotIndex(0), registered.host, registered.data_port),),
        CheckpointId(1), restored, new.inputs, new.outputs, (), CheckpointId(2),
    )  # fmt: skip


def test_a_slot_whose_restore_hangs_reports_to_the_coordinator_and_can_be_cancelled(tmp_path: Path) -> None:
    """The state file is a named pipe. A read of the pipe blocks until the test opens the pipe for writing."""
    uid, layout = OperatorUid("n"), JobLayout("job")
    path = state_path(uid, generation=Generation(1), checkpoint=CheckpointId(1), subtask=0, attempt="a")
    pipe = tmp_path / layout.absolute(path)
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    with slot_process(tmp_path) as (process, coordinator):
        file = StateFile(path, 9 << 20, "xxh3:00", 1, (0, 127))
        restored = RestoredOperator(uid, 0, (OperatorSnapshot(uid, 0, (file,)),))
        coordinator.send(deploy(counting_job(), coordinator.wait_for(Register), restored))
        assert coordinator.wait_for(Restoring, 2) == Restoring(Generation(2), SlotIndex(0), 0, file.bytes)
        coordinator.send(CancelSubtasks(Generation(2)))
        coordinator.until(lambda: process._runtime.generation is None)  # wait until the loop has handled Cancel
        os.close(os.open(pipe, os.O_WRONLY))
        assert coordinator.wait_for(Cancelled) == Cancelled(Generation(2))
        assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("weir-restore")]
        assert not any(isinstance(message, Deployed | SubtaskFailed) for message in coordinator.messages)


def test_notifications_do_not_collect_in_a_slot_without_other_messages(tmp_path: Path) -> None:
    with slot_process(tmp_path) as (process, coordinator):
        handled: list[ToSlot] = []
        process._runtime.on_control = handled.append  # type: ignore[method-assign]  # records the messages
        for checkpoint in range(1, 4):
            coordinator.send(NotifyCheckpointPublished(Generation(2), CheckpointId(checkpoint)))
        coordinator.until(lambda: len(handled) == 3)
        del process._runtime.on_control  # type: ignore[method-assign]  # Stop must end the slot


def test_metrics_that_are_nearly_due_are_sent_with_an_acknowledgement(tmp_path: Path) -> None:
    with slot_process(tmp_path) as (process, coordinator):
        coordinator.send(deploy(counting_job(), coordinator.wait_for(Register)))
        coordinator.wait_for(Deployed)
        coordinator.send(Start(Generation(2)))
        coordinator.wait_for(SlotMetrics)
        for checkpoint in range(2, 5):
            process._metrics_at_ns = time.monotonic_ns() + METRICS_NS // 4
            coordinator.send(TriggerCheckpoint(Generation(2), CheckpointId(checkpoint)))
            coordinator.wait_for(Acknowledge, checkpoint - 1)
            coordinator.until(lambda: not isinstance(coordinator.messages[-1], Acknowledge))
    from_loop = [message for message in coordinator.messages if not isinstance(message, Heartbeat)]
    after = [from_loop[number + 1] for number, message in enumerate(from_loop[:-1]) if isinstance(message, Acknowledge)]
    assert [type(message) for message in after] == 3 * [SlotMetrics]
