"""The coordinator's loop: passes messages and events to the job master and executes its effects.

One thread owns the job master. Background threads access storage and sinks (``EffectRunner``). The results of storage and
sink calls return to the loop in the order in which the calls finish.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from weir.coordinator.effect_runner import EffectRunner, MasterEvent
from weir.errors import ProtocolError
from weir.kernel.effects import DropSlot, Effect, Finish, JobOutcome, Report, ReportKind, Send
from weir.kernel.job import JobMaster, JobPhase
from weir.protocol.ids import CommandId, Generation, SlotIncarnation, SlotIndex
from weir.protocol.messages import (
    FromSlot,
    Heartbeat,
    NotifyCheckpointPublished,
    Register,
    StackSample,
    Stop,
    ToSlot,
    decode_from_slot,
    encode,
)
from weir.transport.control import Closed, Connected, ControlEvent, ControlPeer, ControlServer, Message

TICK_MS = 100
"""The maximum time between two ticks. A tick also comes when a checkpoint is due."""
HANDLE_MS_MAX = 10
"""The loop handles received messages for at most this time before it sends and receives again. The slots of a wide job acknowledge a
checkpoint at nearly the same time, and a slot stops if it receives no lease."""
TICK_OVERDUE_MS_MAX = 1_000
"""A tick is late by at most this time if messages arrive faster than the loop handles them."""
CLOSE_TIMEOUT_MS = 2_000
"""Internal: after the coordinator has sent Stop, it waits at most this time for the slots to close their connections."""

log = structlog.get_logger(__name__)


class Listener(Protocol):
    """Observes a job. The coordinator's loop calls the methods, so a method must not block."""

    def on_phase(self, phase: JobPhase, generation: Generation) -> None:
        """Called after every turn of the loop, even if the phase has not changed."""
        ...

    def on_message(self, message: FromSlot) -> None:
        """Called for each message of a registered slot, before the job master handles it."""
        ...

    def on_report(self, report: Report) -> None: ...

    def on_finish(self, finish: Finish) -> None:
        """The last call."""
        ...


@dataclass(frozen=True, slots=True)
class SlotControl:
    """Functions that replace and release slots through Spark. ``replace(task, spark_task)`` replaces a slot; the arguments are
    those of its registration. After ``release()``, no slot is replaced.
    """

    replace: Callable[[int, int], None]
    release: Callable[[], None]


class Coordinator:
    """``run`` blocks until the job has ended. Any thread may call the other public methods."""

    def __init__(
        self, master: JobMaster, server: ControlServer, runner: EffectRunner, listeners: Sequence[Listener], slots: SlotControl
    ) -> None:
        """The loop calls ``listeners`` in the given order."""
        self._master = master
        self._server = server
        self._runner = runner
        self._listeners = tuple(listeners)
        self._slot_control = slots
        self._events: queue.SimpleQueue[MasterEvent] = queue.SimpleQueue()
        self._incarnation_of: dict[ControlPeer, SlotIncarnation] = {}
        """The slot of each connection. A slot sends Register on its first connection, and only heartbeats and stack samples on
        its second connection."""
        self._connection_of: dict[SlotIncarnation, ControlPeer] = {}
        """The first connection of each registered slot."""
        self._registrations: dict[SlotIncarnation, Register] = {}
        self._finish: Finish | None = None
        runner.start(self.post)

    def post(self, event: MasterEvent) -> None:
        self._events.put(event)
        self._server.wake()

    def suspend(self) -> None:
        self.post(lambda master, now_ms: master.suspend(now_ms))

    def cancel(self) -> None:
        self.post(lambda master, now_ms: master.cancel(now_ms))

    def superseded(self, reason: str) -> None:
        """Stop, because another driver has taken over the job."""
        self.post(lambda master, now_ms: master.superseded(reason, now_ms))

    def savepoint(self) -> None:
        self.post(lambda master, now_ms: master.savepoint(now_ms))

    def checkpoint(self) -> None:
        self.post(lambda master, now_ms: master.checkpoint(now_ms))

    def profile(self, command: CommandId, slot: SlotIndex, seconds: int) -> None:
        self.post(lambda master, now_ms: master.profile(command, slot, seconds, now_ms))

    def slot_ended_early(self, reason: str) -> None:
        self.post(lambda master, now_ms: master.on_slot_ended_early(reason, now_ms))

    def fail(self, reason: str, kind: str) -> None:
        self.post(lambda master, now_ms: master.fail(reason, kind, now_ms))

    def run(self) -> Finish:
        """Raise an error of the coordinator itself, after the listeners have been told that the job has failed."""
        try:
            try:
                self._loop()
                assert self._finish is not None
                self._wait_for_closed_connections()
            finally:
                self._runner.close()
            finish = self._final_finish(self._finish)
        except BaseException as error:
            self._tell(Finish(JobOutcome.FAILED, f"the driver failed: {type(error).__name__}: {error}", type(error).__name__))
            raise
        self._tell(finish)
        return finish

    def _tell(self, finish: Finish) -> None:
        for listener in self._listeners:
            listener.on_finish(finish)

    def _final_finish(self, finish: Finish) -> Finish:
        """Report SUPERSEDED instead of a failure that a newer generation has caused, for example by deleting files."""
        successor = self._runner.successor() if finish.outcome is JobOutcome.FAILED else None
        if successor is None:
            return finish
        reason = f"generation {successor} runs the job now, so this process stops (its last error: {finish.reason})"
        return Finish(JobOutcome.SUPERSEDED, reason, "Superseded")

    def _loop(self) -> None:
        self._execute(self._master.start(_now_ms()))
        next_tick_ms = _now_ms()
        received: deque[ControlEvent] = deque()
        while self._finish is None:
            next_tick_ms = min(next_tick_ms, self._master.trigger_ms or next_tick_ms)
            wait_ms = 0 if received else max(0, next_tick_ms - _now_ms())
            received += self._server.poll(time.monotonic_ns(), wait_ms * 1_000_000)
            pause_ms = _now_ms() + HANDLE_MS_MAX
            while received and _now_ms() <= pause_ms:
                self._on_transport(received.popleft())
            self._drain_events()
            # A tick follows all received messages, because a heartbeat among them shows that a slot is alive.
            overdue_ms = _now_ms() - next_tick_ms
            if overdue_ms >= (TICK_OVERDUE_MS_MAX if received else 0) and self._finish is None:
                next_tick_ms = _now_ms() + TICK_MS
                self._execute(self._master.tick(_now_ms()))
            for listener in self._listeners:
                listener.on_phase(self._master.phase, self._master.generation)

    def _wait_for_closed_connections(self) -> None:
        """Wait until the slots have read Stop and closed their connections."""
        until_ms = _now_ms() + CLOSE_TIMEOUT_MS
        while self._connection_of and _now_ms() < until_ms:
            for event in self._server.poll(time.monotonic_ns(), 50_000_000):
                if isinstance(event, Closed):
                    incarnation = self._incarnation_of.pop(event.peer, None)
                    if incarnation is not None:
                        self._connection_of.pop(incarnation, None)

    def _drain_events(self) -> None:
        while self._finish is None:
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                return
            self._execute(event(self._master, _now_ms()))

    def _on_transport(self, event: ControlEvent) -> None:
        match event:
            case Connected(peer, incarnation):
                self._incarnation_of[peer] = SlotIncarnation(incarnation)
            case Message(peer, data):
                try:
                    self._on_payload(peer, data)
                except ProtocolError as error:
                    log.warning("connection dropped", reason=str(error))
                    self._server.drop(peer)
                    self._lost(peer, str(error))
            case Closed(peer, reason):
                self._lost(peer, reason)

    def _on_payload(self, peer: ControlPeer, data: bytes) -> None:
        message = decode_from_slot(data)
        incarnation = self._incarnation_of.get(peer)
        if incarnation is None:
            return  # The coordinator has dropped this peer already.
        if isinstance(message, Heartbeat | StackSample):
            if incarnation not in self._connection_of:
                return  # A heartbeat can arrive before Register, because a slot sends heartbeats on a separate connection.
        elif isinstance(message, Register):
            if message.incarnation != incarnation or incarnation in self._connection_of:
                raise ProtocolError("a slot must register only once, with the incarnation with which it authenticated")
            self._connection_of[incarnation] = peer
            self._registrations[incarnation] = message
        elif self._connection_of.get(incarnation) != peer:
            raise ProtocolError("a slot must use the same connection for its registration and for this message")
        for listener in self._listeners:
            listener.on_message(message)
        self._execute(self._master.on_message(incarnation, message, _now_ms()))

    def _lost(self, peer: ControlPeer, reason: str) -> None:
        """Handle the end of a connection. A slot is lost when one of its two connections ends."""
        incarnation = self._incarnation_of.pop(peer, None)
        if incarnation is not None and incarnation in self._connection_of:
            self._close_connections(incarnation)
            self._registrations.pop(incarnation, None)
            self._execute(self._master.on_slot_lost(incarnation, reason, _now_ms()))

    def _close_connections(self, incarnation: SlotIncarnation) -> None:
        del self._connection_of[incarnation]
        for peer in [peer for peer, owner in self._incarnation_of.items() if owner == incarnation]:
            del self._incarnation_of[peer]
            self._server.drop(peer)

    def _execute(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(to, message):
                    if isinstance(message, Stop):
                        self._slot_control.release()
                    peer = self._connection_of.get(to)
                    if peer is not None and not self._send(peer, message):
                        return
                case DropSlot(incarnation, reason):
                    self._drop(incarnation, reason)
                case Report():
                    self._report(effect)
                case Finish():
                    self._finish = effect
                case _:
                    self._runner.submit(effect)

    def _send(self, peer: ControlPeer, message: ToSlot) -> bool:
        """Return True if the message was sent. If the message is invalid, for example too large, fail the job and return
        False."""
        try:
            # Nothing in a slot waits for the notification, and a lease follows within a second. Sending the notification alone would
            # wake every slot once more per checkpoint.
            self._server.send(peer, encode(message), waits=isinstance(message, NotifyCheckpointPublished))
        except ProtocolError as error:
            self._execute(self._master.fail(str(error), type(error).__name__, _now_ms()))
            return False
        return True

    def _drop(self, incarnation: SlotIncarnation, reason: str) -> None:
        if incarnation not in self._connection_of:
            return
        self._close_connections(incarnation)
        log.warning("slot dropped", incarnation=incarnation, reason=reason)
        registration = self._registrations.pop(incarnation)
        self._slot_control.replace(registration.task, registration.spark_task)

    def _report(self, report: Report) -> None:
        for listener in self._listeners:
            listener.on_report(report)
        match report.kind:
            case ReportKind.STARTING:
                log.debug("generation starts", generation=report.generation, records=report.records)
            case ReportKind.FAILURE:
                log.warning("failure, recovering", reason=report.text, generation=report.generation)
            case ReportKind.REPLACING:
                log.info("replacing a slot", what=report.text, generation=report.generation)
            case ReportKind.RECOVERED:
                log.info("recovered", what=report.text, generation=report.generation, took_ms=report.value_ms)
            case ReportKind.WAITING_FOR_SLOTS:
                log.warning("waiting for slots", reason=report.text, generation=report.generation)
            case ReportKind.RETRYING:
                log.warning("retrying", reason=report.text, generation=report.generation)
            case ReportKind.SLOW:
                if report.text:
                    log.warning("slow slot", reason=report.text, generation=report.generation)
                else:
                    log.info("slow slot continues", generation=report.generation)
            case ReportKind.WARNING:
                log.warning(report.text, generation=report.generation)
            case ReportKind.CHECKPOINT_ABORTED:
                log.warning("checkpoint aborted", checkpoint=report.checkpoint, reason=report.text)
            case ReportKind.CHECKPOINT_COMPLETED:
                log.debug("checkpoint completed", checkpoint=report.checkpoint, took_ms=report.value_ms)
            case ReportKind.CHECKPOINT_TRIGGERED:
                log.debug(report.kind, what=report.text, checkpoint=report.checkpoint)
            case ReportKind.PROFILE_ENDED:
                log.info("profile ended", problem=report.text or None)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
