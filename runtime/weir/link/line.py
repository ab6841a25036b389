"""The line of one run to the control plane: a thread that delivers events, one that waits for commands.

The job never waits for either. If the control plane is away, events stay in the spool, and the job goes on.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import structlog

from weir.link.delivery import Delivery, NoAnswer, Post, Refused
from weir.link.http import LinkAddress, LinkClient
from weir.link.spool import Spool
from weir.protocol.events import CommandAnswered, CommandOutcome, NumberedCommand
from weir.protocol.ids import CommandId

POLL_S = 20.0
COMMANDS_PAUSE_S = (0.5, 15.0)
FAREWELL_S = 5.0
"""At the end what is unconfirmed is given so long to arrive; the rest stays in the spool's files."""

CLOSING_POLL_MS = 50

log = structlog.get_logger(__name__)

Carry = Callable[[NumberedCommand], Callable[[], None] | str]
"""What carries a command out, or begins to; or why it is not taken up. Both are called in a thread of the line's own."""
Taken = Callable[[str], None]
"""With the reason; called in a thread of the line's own."""


class ControlPlaneLine:
    """``start``, then events go out as the spool takes them in. ``close`` when the run has ended; whatever happens it returns soon."""

    def __init__(self, address: LinkAddress, spool: Spool, carry: Carry, taken: Taken, *, farewell_s: float = FAREWELL_S) -> None:
        """``taken`` is called once the control plane says that it has taken the job from this run, perhaps twice, unless the line is being
        closed."""
        self._spool = spool
        self._carry = carry
        self._taken = taken
        self._farewell_s = farewell_s
        self._delivery = Delivery(spool)
        self._events = LinkClient(address)
        self._commands = LinkClient(address)
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._deliver_until: float | None = None
        spool.appended = self._woken.set
        self._sender = threading.Thread(target=self._send, name="weir-link-events", daemon=True)
        self._receiver = threading.Thread(target=self._receive, name="weir-link-commands", daemon=True)

    def start(self) -> None:
        self._sender.start()
        self._receiver.start()

    def close(self) -> None:
        self._deliver_until = time.monotonic() + self._farewell_s
        self._closing.set()
        self._woken.set()
        self._commands.abort()
        if self._sender.ident is not None:
            self._sender.join(self._farewell_s)
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
            elif self._over():
                self._events.close()
                return
            else:
                self._wait()

    def _wait(self) -> None:
        """For an event, or until there is something to do without one."""
        wait_ms = self._delivery.wait_ms(_now_ms())
        if self._closing.is_set():
            # The end is told from the clock.
            wait_ms = CLOSING_POLL_MS if wait_ms is None else min(wait_ms, CLOSING_POLL_MS)
        self._woken.wait(None if wait_ms is None else wait_ms / 1_000)
        self._woken.clear()

    def _post(self, post: Post) -> None:
        answer = self._events.post(post)
        was_failing = self._delivery.failing
        self._delivery.on_answer(answer, _now_ms(), luck=random.random())
        if self._delivery.refused is not None:
            log.warning("the control plane takes no more events of this run", reason=self._delivery.refused.reason)
            self._on_refused(self._delivery.refused)
        elif isinstance(answer, NoAnswer) and not was_failing:
            log.warning("the control plane is out of reach, the job goes on and events are kept", reason=answer.reason)
        elif was_failing and not self._delivery.failing:
            log.info("the control plane is back")

    def _over(self) -> bool:
        if not self._closing.is_set():
            return False
        nothing_left = not self._spool.pending(after=self._delivery.known, bytes_max=0)
        too_late = self._deliver_until is not None and time.monotonic() >= self._deliver_until
        return nothing_left or too_late or self._delivery.refused is not None

    def _on_refused(self, refused: Refused) -> None:
        if refused.taken and not self._closing.is_set():
            self._taken(f"the control plane says that {refused.reason}")

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
            if answer.why is None:
                pause_s = COMMANDS_PAUSE_S[0]
            else:
                self._closing.wait(pause_s * (0.5 + random.random() / 2))
                pause_s = min(2 * pause_s, COMMANDS_PAUSE_S[1])
        self._commands.close()

    def _answer(self, command: NumberedCommand) -> None:
        try:
            decided = self._carry(command)
        except Exception as error:  # whatever it is, who asked must hear of it, and the next command must come
            log.error("a command could not be carried out", command=type(command.command).__name__, exc_info=error)
            decided = f"internal error: {type(error).__name__}: {error}"
        if isinstance(decided, str):
            self._spool.append(CommandAnswered(command.id, CommandOutcome.REFUSED, decided))
            return
        # First the answer: what comes of the command is told after it, so nobody need guess what belongs to what.
        self._spool.append(CommandAnswered(command.id, CommandOutcome.ACCEPTED))
        try:
            decided()
        except Exception:  # the next command must come all the same
            log.exception("a command could not be carried out", command=type(command.command).__name__)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
