"""The coordinator's loop: messages, slot replacement and the final outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from weir.coordinator.loop import Coordinator, SlotControl
from weir.coordinator.progress import JobProgress
from weir.errors import ProtocolError
from weir.kernel.effects import DropSlot, Effect, Finish, JobOutcome, Send
from weir.kernel.job import JobPhase
from weir.protocol.ids import Generation, SlotIncarnation
from weir.protocol.messages import Cancelled, CancelSubtasks, Heartbeat, Register, encode
from weir.transport.control import Closed, Connected, Message

OLD, NEW = SlotIncarnation("old"), SlotIncarnation("new")


class Server:
    """A fake control server with peers 1 and 2. Each poll returns one batch of events. After the last batch, each poll reports
    that both connections are closed."""

    def __init__(self, *batches: Sequence[object]) -> None:
        self.batches = list(batches)
        self.dropped: list[int] = []
        self.too_long = False

    def poll(self, now_ns: int, timeout_ns: int) -> Sequence[object]:
        return self.batches.pop(0) if self.batches else [Closed(cast(Any, peer), "connection closed") for peer in (1, 2)]

    def send(self, peer: object, data: bytes, *, waits: bool = False) -> None:
        if self.too_long:
            raise ProtocolError("a control message of 70000000 bytes cannot be sent")

    def drop(self, peer: int) -> None:
        self.dropped.append(peer)

    def wake(self) -> None: ...


class Master:
    """A fake job master. The fake answers the n-th message with the n-th list of effects."""

    phase, generation, trigger_ms = JobPhase.RUNNING, Generation(1), None

    def __init__(self, *scripts: Sequence[Effect]) -> None:
        self.scripts = list(scripts)

    def start(self, now_ms: int) -> Sequence[Effect]:
        return []

    def tick(self, now_ms: int) -> Sequence[Effect]:
        return []

    def on_message(self, incarnation: SlotIncarnation, message: object, now_ms: int) -> Sequence[Effect]:
        return self.scripts.pop(0)

    def on_slot_lost(self, incarnation: SlotIncarnation, reason: str, now_ms: int) -> Sequence[Effect]:
        return [Finish(JobOutcome.FAILED, reason, "lost")]

    def fail(self, reason: str, kind: str, now_ms: int) -> Sequence[Effect]:
        return [Finish(JobOutcome.FAILED, reason, kind)]


class Runner:
    def __init__(self, successor: int | None = None) -> None:
        self._successor = successor

    def start(self, post: object) -> None: ...
    def close(self) -> None: ...
    def successor(self) -> int | None:
        return self._successor


def _registers(peer: int, incarnation: SlotIncarnation, task: int, spark_task: int = 0) -> list[object]:
    register = Register(incarnation, task, spark_task, "127.0.0.1", 1, 2, "executor")
    return [Connected(cast(Any, peer), incarnation), Message(cast(Any, peer), encode(register))]


def _run(server: Server, master: Master, runner: Runner | None = None) -> tuple[Finish, list[tuple[int, int]]]:
    replaced: list[tuple[int, int]] = []
    coordinator = Coordinator(
        cast(Any, master),
        cast(Any, server),
        cast(Any, runner or Runner()),
        [JobProgress(frozenset())],
        SlotControl(replace=lambda task, spark_task: replaced.append((task, spark_task)), release=lambda: None),
    )
    return coordinator.run(), replaced


DONE = Finish(JobOutcome.FINISHED)


def test_a_message_that_is_too_long_to_send_fails_the_job_but_does_not_drop_the_slot() -> None:
    server = Server(_registers(1, OLD, 0))
    server.too_long = True
    finish, _ = _run(server, Master([Send(OLD, CancelSubtasks(Generation(1)))]))
    assert (finish.outcome, finish.kind) == (JobOutcome.FAILED, "ProtocolError")
    assert "70000000 bytes" in finish.reason
    assert server.dropped == []


def test_a_silent_slot_is_replaced() -> None:
    server = Server(_registers(1, OLD, 7, spark_task=30))
    _, replaced = _run(server, Master([DropSlot(OLD, "silent"), DONE]))
    assert replaced == [(7, 30)] and server.dropped == [1]


def test_only_the_old_attempt_of_a_silent_slot_that_spark_has_already_restarted_is_replaced() -> None:
    server = Server(_registers(1, OLD, 7, spark_task=30), _registers(2, NEW, 7, spark_task=31))
    _, replaced = _run(server, Master([], [DropSlot(OLD, "silent"), DONE]))
    assert replaced == [(7, 30)] and server.dropped == [1]


def test_the_listeners_learn_of_an_unexpected_error_of_the_coordinator() -> None:
    class Finished(JobProgress):
        def on_finish(self, finish: Finish) -> None:
            finished.append(finish)

    master = Master()
    finished: list[Finish] = []

    def fail(now_ms: int) -> Sequence[Effect]:
        raise RuntimeError("a bug")

    master.start = fail  # type: ignore[method-assign]  # raises an unexpected error
    slots = SlotControl(replace=lambda task, spark_task: None, release=lambda: None)
    coordinator = Coordinator(cast(Any, master), cast(Any, Server()), cast(Any, Runner()), [Finished(frozenset())], slots)
    with pytest.raises(RuntimeError, match="a bug"):
        coordinator.run()
    assert finished == [Finish(JobOutcome.FAILED, "the driver failed: RuntimeError: a bug", "RuntimeError")]


def test_a_failure_is_reported_as_superseded_if_the_log_has_a_newer_generation() -> None:
    failed = Finish(JobOutcome.FAILED, "no such file: staging/open-g1", "SinkError")
    finish, _ = _run(Server(_registers(1, OLD, 0)), Master([failed]), Runner(successor=2))
    assert (finish.outcome, finish.kind) == (JobOutcome.SUPERSEDED, "Superseded")
    assert "generation 2 runs the job now" in finish.reason and "no such file" in finish.reason


def test_a_failure_is_reported_as_a_failure_if_the_log_has_no_newer_generation() -> None:
    failed = Finish(JobOutcome.FAILED, "the disk is full", "SinkError")
    assert _run(Server(_registers(1, OLD, 0)), Master([failed]))[0] == failed


def test_a_finished_job_does_not_check_the_log_for_a_newer_generation() -> None:
    assert _run(Server(_registers(1, OLD, 0)), Master([DONE]), Runner(successor=2))[0] == DONE


def test_a_heartbeat_connection_belongs_to_the_slot_with_the_same_incarnation() -> None:
    beat = [Connected(cast(Any, 2), OLD), Message(cast(Any, 2), encode(Heartbeat(1)))]
    server = Server(beat, _registers(1, OLD, 0), [Message(cast(Any, 2), encode(Heartbeat(2)))], [Closed(cast(Any, 2), "reset")])
    received: list[object] = []
    master = Master([], [])
    on_message = master.on_message

    def record(incarnation: SlotIncarnation, message: object, now_ms: int) -> Sequence[Effect]:
        received.append(message)
        return on_message(incarnation, message, now_ms)

    master.on_message = record  # type: ignore[method-assign]  # records the messages
    finish, _ = _run(server, master)
    assert received[1:] == [Heartbeat(2)], "a heartbeat before the registration is ignored"
    assert finish.reason == "reset", "a slot is lost if its heartbeat connection closes"
    assert server.dropped == [1]


def test_only_a_registered_connection_may_send_messages_other_than_heartbeats() -> None:
    intruding = [Connected(cast(Any, 2), OLD), Message(cast(Any, 2), encode(Cancelled(Generation(1))))]
    server = Server(_registers(1, OLD, 0), intruding)
    assert "a slot must use the same connection for its registration and for this message" in _run(server, Master([]))[0].reason
    assert sorted(set(server.dropped)) == [1, 2]
