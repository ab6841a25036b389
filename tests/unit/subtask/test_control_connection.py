"""The control thread of a slot. A slot must end if its control thread fails."""

from __future__ import annotations

import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from weir.kernel.config import Timeouts
from weir.protocol.ids import CheckpointId, CommandId, Generation, SlotIncarnation
from weir.protocol.messages import (
    CancelSubtasks,
    Lease,
    NotifyCheckpointPublished,
    Register,
    TakeProfile,
    ToSlot,
    TriggerCheckpoint,
    encode,
)
from weir.subtask.control_connection import ControlConnection
from weir.transport.control import ControlPeer, ControlServer, Message
from weir.transport.handshake import JobCredentials

CREDENTIALS = JobCredentials(b"sixteen bytes, at least", "job")
ME = SlotIncarnation("slot")
WAIT_S = 20.0
LEASE_MS = 2_000


class Coordinator:
    """A fake coordinator that calls ``answer`` for each message. The coordinator does not answer if ``answer`` is None."""

    def __init__(self) -> None:
        self.server = ControlServer(
            CREDENTIALS, host="127.0.0.1", generation=1, incarnation="coordinator", log_connection=lambda text: None
        )  # fmt: skip
        self.answer: Callable[[ControlPeer], None] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            for event in self.server.poll(time.monotonic_ns(), 10_000_000):
                if isinstance(event, Message) and self.answer is not None:
                    self.answer(event.peer)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self.server.close()


@pytest.fixture
def coordinator() -> Iterator[Coordinator]:
    running = Coordinator()
    yield running
    running.close()


def new_connection(
    coordinator: Coordinator,
    ended: queue.Queue[str],
    *,
    lease_ms: int = 60_000,
    supervise: Callable[[int, bool], None] = lambda now_ns, slow_cancel: None,
    wake: Callable[[], None] = lambda: None,
    take_profile: Callable[[TakeProfile], None] = lambda request: None,
) -> ControlConnection:
    return ControlConnection(
        CREDENTIALS, host="127.0.0.1", port=coordinator.server.port, run=1, incarnation=ME, lease_ms=lease_ms,
        wake=wake, supervise=supervise, take_profile=take_profile, end=ended.put,
    )  # fmt: skip


def register(executor: str = "host/1") -> Register:
    return Register(ME, 0, 0, "host", 1, 1, executor)


def test_a_slot_ends_if_its_registration_is_not_answered_before_the_lease_expires(coordinator: Coordinator) -> None:
    ended: queue.Queue[str] = queue.Queue()
    control = new_connection(coordinator, ended, lease_ms=1)
    control.start(register())
    assert "the lease has expired" in ended.get(timeout=WAIT_S)
    control.close()


def test_the_lease_that_the_coordinator_grants_replaces_the_initial_lease(coordinator: Coordinator) -> None:
    ended: queue.Queue[str] = queue.Queue()
    coordinator.answer = lambda peer: coordinator.server.send(peer, encode(Lease(1)))
    control = new_connection(coordinator, ended)
    control.start(register())
    assert "the lease has expired" in ended.get(timeout=WAIT_S)
    control.close()


def test_a_lease_that_arrives_while_the_thread_waits_for_the_gil_keeps_the_slot_alive(coordinator: Coordinator) -> None:
    """``supervise`` simulates a wait for the GIL: it blocks until the lease has expired and another lease has arrived."""
    ended: queue.Queue[str] = queue.Queue()
    registered: queue.Queue[ControlPeer] = queue.Queue()
    waited, continued = threading.Event(), threading.Event()
    coordinator.answer = registered.put

    def supervise(now_ns: int, slow_cancel: bool) -> None:
        if waited.is_set():
            continued.set()
        elif not registered.empty():
            while not control._lease_has_expired():
                time.sleep(0.01)
            coordinator.server.send(registered.get(), encode(Lease(3_600_000)))
            assert select.select([control._client.fileno()], [], [], WAIT_S)[0]
            waited.set()

    control = new_connection(coordinator, ended, lease_ms=LEASE_MS, supervise=supervise)
    control.start(register())
    assert continued.wait(WAIT_S) or ended.get_nowait()
    assert ended.empty()
    control.close()


def test_a_published_checkpoint_does_not_wake_the_loop_but_precedes_the_next_message(coordinator: Coordinator) -> None:
    published, trigger = (
        NotifyCheckpointPublished(Generation(1), CheckpointId(1)),
        TriggerCheckpoint(Generation(1), CheckpointId(2)),
    )

    def answer(peer: ControlPeer) -> None:
        for message in (published, trigger):
            coordinator.server.send(peer, encode(message))

    woken: queue.Queue[list[ToSlot]] = queue.Queue()
    coordinator.answer = answer
    control = new_connection(coordinator, queue.Queue(), wake=lambda: woken.put(control.receive()))
    control.start(register())
    assert woken.get(timeout=WAIT_S) == [published, trigger]
    control.close()
    assert woken.empty()


def test_a_slow_answer_to_cancel_is_reported_once(coordinator: Coordinator) -> None:
    slow: queue.Queue[int] = queue.Queue()
    coordinator.answer = lambda peer: coordinator.server.send(peer, encode(CancelSubtasks(Generation(1))))

    def supervise(now_ns: int, slow_cancel: bool) -> None:
        if slow_cancel:
            slow.put(now_ns)

    control = new_connection(coordinator, queue.Queue(), supervise=supervise)
    control.start(register())
    slow.get(timeout=WAIT_S)
    control.close()
    assert slow.empty()


def test_an_invalid_message_ends_the_slot(coordinator: Coordinator) -> None:
    ended: queue.Queue[str] = queue.Queue()
    coordinator.answer = lambda peer: coordinator.server.send(peer, b'["Unknown", {}]')
    control = new_connection(coordinator, ended)
    control.start(register())
    assert "unknown kind" in ended.get(timeout=WAIT_S)
    control.close()


def test_a_slot_that_cannot_register_does_not_start(coordinator: Coordinator) -> None:
    ended: queue.Queue[str] = queue.Queue()
    control = new_connection(coordinator, ended)
    with pytest.raises(ConnectionError, match="UnicodeEncodeError"):
        control.start(register("not encodable: \udce9"))
    control.close()
    assert ended.empty()


def test_a_slot_that_cannot_connect_within_the_connect_timeout_does_not_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        control = ControlConnection(
            CREDENTIALS, host="127.0.0.1", port=silent.getsockname()[1], run=1, incarnation=ME, lease_ms=60_000,
            wake=lambda: None, timeouts=Timeouts(connect_timeout_ms=20), end=lambda reason: None,
        )  # fmt: skip
        with pytest.raises(ConnectionError, match=r"no connection to 127\.0\.0\.1:\d+ within 0\.02 s"):
            control.start(register())
        control.close()


def test_a_connection_that_was_never_started_can_be_closed(coordinator: Coordinator) -> None:
    new_connection(coordinator, queue.Queue()).close()


def test_a_request_for_a_profile_is_handled_while_the_loop_is_in_a_long_step(coordinator: Coordinator) -> None:
    """The loop never calls ``receive``."""
    ended: queue.Queue[str] = queue.Queue()
    requests: queue.Queue[TakeProfile] = queue.Queue()
    wanted = TakeProfile(CommandId(7), 10)
    coordinator.answer = lambda peer: coordinator.server.send(peer, encode(wanted))
    control = new_connection(coordinator, ended, take_profile=requests.put)
    control.start(register())
    assert requests.get(timeout=WAIT_S) == wanted
    control.close()
    assert control.receive() == []
