"""The control link: the HTTP connection of one run to the control plane.

One thread sends events, and another thread waits for commands. The job never waits for these threads. While the control plane
is unreachable, events stay in the spool and the job continues.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from weir.link.delivery import ControlPlaneUnavailable, EventBatch, EventDelivery, RunRefused
from weir.link.http import LinkAddress, LinkClient
from weir.link.reporter import Reporter
from weir.link.spool import Spool
from weir.protocol.events import CommandAnswered, CommandOutcome, DriverState, Event, NumberedCommand, RunStateChanged
from weir.protocol.ids import CommandId, Generation
from weir.protocol.snapshots import JsonValue

POLL_S = 20.0
COMMANDS_PAUSE_S = (0.5, 15.0)
CLOSE_TIMEOUT_S = 5.0
"""Internal: maximum time for which ``close`` tries to send unconfirmed events. Events that are still unconfirmed after this
time stay in the spool's files."""

CLOSING_POLL_MS = 50

log = structlog.get_logger(__name__)

CommandHandler = Callable[[NumberedCommand], Callable[[], None] | str]
"""Returns an action that starts the command, or the reason why the command is refused. The link's threads call the handler and
the action."""
FencedHandler = Callable[[str], None]
"""When another driver has taken over the job, a thread of the link calls the handler with the reason."""


class ControlLink:
    """The control link's threads.

    After ``start``, events are sent as the spool receives them. Call ``close`` when the run has ended. ``close`` returns within
    a few seconds, even if the control plane does not answer.
    """

    def __init__(
        self,
        address: LinkAddress,
        spool: Spool,
        handle_command: CommandHandler,
        on_fenced: FencedHandler,
        *,
        close_timeout_s: float = CLOSE_TIMEOUT_S,
    ) -> None:
        """Create the link. The link calls ``on_fenced`` when the control plane reports that another driver has taken over the
        job. The link calls ``on_fenced`` at most twice, and not after ``close``."""
        self._spool = spool
        self._handle_command = handle_command
        self._on_fenced = on_fenced
        self._close_timeout_s = close_timeout_s
        self._delivery = EventDelivery(spool)
        self._events = LinkClient(address)
        self._commands = LinkClient(address)
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._deliver_until: float | None = None
        spool.appended = self._wake.set
        self._sender = threading.Thread(target=self._send, name="weir-link-events", daemon=True)
        self._receiver = threading.Thread(target=self._receive, name="weir-link-commands", daemon=True)

    def start(self) -> None:
        self._sender.start()
        self._receiver.start()

    def close(self) -> None:
        self._deliver_until = time.monotonic() + self._close_timeout_s
        self._closing.set()
        self._wake.set()
        self._commands.abort()
        if self._sender.ident is not None:
            self._sender.join(self._close_timeout_s)
            self._events.abort()
            self._sender.join(1.0)
            self._receiver.join(1.0)
        self._spool.close()

    # ---- events ----------------------------------------------------------------------------------

    def _send(self) -> None:
        while True:
            post = self._delivery.due(_now_ms(), hurry=self._closing.is_set())
            if post is not None:
                self._post(post)
            elif self._is_finished():
                self._events.close()
                return
            else:
                self._wait()

    def _wait(self) -> None:
        """Wait until an event arrives or the next request is due."""
        wait_ms = self._delivery.wait_ms(_now_ms())
        if self._closing.is_set():
            # Wake up regularly, because ``_is_finished`` compares the clock with the close timeout.
            wait_ms = CLOSING_POLL_MS if wait_ms is None else min(wait_ms, CLOSING_POLL_MS)
        self._wake.wait(None if wait_ms is None else wait_ms / 1_000)
        self._wake.clear()

    def _post(self, post: EventBatch) -> None:
        answer = self._events.post(post)
        was_failing = self._delivery.failing
        self._delivery.on_result(answer, _now_ms(), jitter=random.random())
        if self._delivery.refused is not None:
            log.warning("control plane refuses events of this run", reason=self._delivery.refused.reason)
            self._on_refused(self._delivery.refused)
        elif isinstance(answer, ControlPlaneUnavailable) and not was_failing:
            log.warning("control plane unreachable, job continues and events are spooled", reason=answer.reason)
        elif was_failing and not self._delivery.failing:
            log.info("control plane reachable again")

    def _is_finished(self) -> bool:
        if not self._closing.is_set():
            return False
        nothing_left = not self._spool.pending(after=self._delivery.confirmed, bytes_max=0)
        too_late = self._deliver_until is not None and time.monotonic() >= self._deliver_until
        return nothing_left or too_late or self._delivery.refused is not None

    def _on_refused(self, refused: RunRefused) -> None:
        if refused.fenced and not self._closing.is_set():
            self._on_fenced(f"the control plane reports that {refused.reason}")

    # ---- commands --------------------------------------------------------------------------------

    def _receive(self) -> None:
        after, pause_s = CommandId(0), COMMANDS_PAUSE_S[0]
        while not self._closing.is_set():
            answer = self._commands.commands(after=after, wait_s=POLL_S)
            for command in answer.commands:
                after = command.id
                self._answer(command)
            if answer.refused is not None:
                self._on_refused(answer.refused)
                break
            if answer.problem is None:
                pause_s = COMMANDS_PAUSE_S[0]
            else:
                self._closing.wait(pause_s * (0.5 + random.random() / 2))
                pause_s = min(2 * pause_s, COMMANDS_PAUSE_S[1])
        self._commands.close()

    def _answer(self, command: NumberedCommand) -> None:
        try:
            outcome = self._handle_command(command)
        except Exception as error:  # answer the command with the error, and run the next command
            log.error("command failed", command=type(command.command).__name__, exc_info=error)
            outcome = f"internal error: {type(error).__name__}: {error}"
        if isinstance(outcome, str):
            self._spool.append(CommandAnswered(command.id, CommandOutcome.REFUSED, outcome))
            return
        # Record the answer first, so that events caused by the command follow the answer.
        self._spool.append(CommandAnswered(command.id, CommandOutcome.ACCEPTED))
        try:
            outcome()
        except Exception:  # a failed command must not stop the next command
            log.exception("command failed", command=type(command.command).__name__)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """``spool`` is a directory of this run for events that the control plane has not confirmed."""

    address: LinkAddress
    spool: Path


class RunLink:
    """The control link as used by a run. Call ``reporter`` once the graph is known, then ``start`` once commands can be
    executed, and ``close`` at the end. If the run cannot start, call ``failed_to_start`` instead of ``start``."""

    def __init__(self, options: LinkOptions) -> None:
        """Raise ConfigError if events cannot be stored."""
        self._address = options.address
        self._spool = Spool(options.spool, wall_ms=lambda: time.time_ns() // 1_000_000)
        self._link: ControlLink | None = None

    def record(self, event: Event) -> None:
        """Record an event that occurs before the coordinator exists."""
        self._spool.append(event)

    def reporter(self, graph: JsonValue, subtasks: int) -> Reporter:
        return Reporter(self._spool.append, graph=graph, subtasks=subtasks, now_ms=lambda: time.monotonic_ns() // 1_000_000)

    def start(self, handle_command: CommandHandler, on_fenced: FencedHandler) -> None:
        """Start the link. The link calls ``on_fenced`` when another driver has taken over the job."""
        self._link = ControlLink(self._address, self._spool, handle_command, on_fenced)
        self._link.start()

    def failed_to_start(self, error: BaseException) -> None:
        """Report that the run failed to start, then close the link. Do not call this after ``start``."""
        assert self._link is None
        self._spool.append(RunStateChanged(DriverState.FAILED, Generation(0), str(error), type(error).__name__))
        self.start(lambda command: "the run failed to start", lambda reason: None)
        self.close()

    @property
    def started(self) -> bool:
        return self._link is not None

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
        else:
            self._spool.close()
