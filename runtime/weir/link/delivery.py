"""Which events to send next, and what an answer means. Pure but for the spool: no clock, no sockets, no luck."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from weir.link.spool import Spool
from weir.protocol.events import encode_batch
from weir.protocol.ids import EventNumber

LINGER_MS = 100
"""An event waits so long for company: who watches is shown progress ten times a second."""
BATCH_BYTES = 1 << 20
BATCH_BYTES_MIN = 1 << 10
BACKOFF_MS_MIN = 500
BACKOFF_MS_MAX = 30_000


@dataclass(frozen=True, slots=True)
class Post:
    """``oldest``: nothing below it can be had from this driver any more, so a control plane that misses it need not wait for it."""

    body: bytes
    first: EventNumber
    last: EventNumber
    oldest: EventNumber


@dataclass(frozen=True, slots=True)
class Stored:
    """It has everything up to ``up_to``, for good."""

    up_to: EventNumber


@dataclass(frozen=True, slots=True)
class Hole:
    """It took nothing: what comes after ``up_to`` is missing."""

    up_to: EventNumber


@dataclass(frozen=True, slots=True)
class TooLarge:
    """``for_good``: the control plane itself says so, and not something in between that may be set up otherwise tomorrow."""

    for_good: bool = True


@dataclass(frozen=True, slots=True)
class Refused:
    """It does not want to hear from this run (again): its token is void, or the run is over. ``taken``: it has taken the job from it."""

    reason: str
    taken: bool = False


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """It could not be reached, or was not able to."""

    reason: str
    retry_after_ms: int = 0


Answer: TypeAlias = Stored | Hole | TooLarge | Refused | NoAnswer


class Delivery:
    """``due`` when the clock says so or an event was appended, then ``on_answer``; one request at a time.

    ``luck`` of ``on_answer``: 0 to 1, so that a thousand drivers do not come back in step after an outage.
    """

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._known = EventNumber(0)
        """The control plane has everything up to this one."""
        self._sent = EventNumber(0)
        """The highest that ever went out."""
        self._batch_bytes = BATCH_BYTES
        self._not_before_ms = 0
        self._lingers_since_ms: int | None = None
        self._failures = 0
        self.refused: Refused | None = None
        """For good: nothing more is sent."""

    @property
    def known(self) -> EventNumber:
        return self._known

    @property
    def failing(self) -> bool:
        return self._failures > 0

    def due(self, now_ms: int, *, hurry: bool = False) -> Post | None:
        """``hurry``: without waiting for company, as the run ends."""
        if self.refused is not None or now_ms < self._not_before_ms:
            return None
        pending = self._spool.pending(after=self._known, bytes_max=self._batch_bytes)
        if not pending:
            self._lingers_since_ms = None
            return None
        if self._lingers_since_ms is None:
            self._lingers_since_ms = now_ms
        if not hurry and now_ms - self._lingers_since_ms < LINGER_MS:
            return None
        self._sent = max(self._sent, pending[-1].number)
        body = encode_batch([one.data for one in pending])
        return Post(body, pending[0].number, pending[-1].number, self._spool.first())

    def wait_ms(self, now_ms: int) -> int | None:
        """Until ``due`` should be asked again; None: not before an event is appended."""
        if self.refused is not None:
            return None
        waits = [self._not_before_ms - now_ms] if self._not_before_ms > now_ms else []
        if self._lingers_since_ms is not None:
            waits.append(self._lingers_since_ms + LINGER_MS - now_ms)
        return max(0, *waits) if waits else None

    def on_answer(self, answer: Answer, now_ms: int, *, luck: float) -> None:
        self._lingers_since_ms = None
        match answer:
            case Stored(up_to) | Hole(up_to) if up_to > self._sent:
                # A larger batch may have arrived whose answer was lost, but what never went out cannot be there.
                self.on_answer(NoAnswer("it claims to have what it was never sent"), now_ms, luck=luck)
            case Stored(up_to):
                self._went_well()
                self._known = max(self._known, up_to)
                self._spool.confirm(up_to)
            case Hole(up_to):
                self._went_well()
                self._known = up_to
                # Should it say so again and again, it is not asked as fast as it can answer.
                self._not_before_ms = now_ms + BACKOFF_MS_MIN
            case TooLarge(for_good):
                if self._batch_bytes > BATCH_BYTES_MIN:
                    self._batch_bytes //= 2
                elif for_good:
                    self.refused = Refused("an event is too large for the control plane")
                else:
                    self.on_answer(NoAnswer("an event is too large for what is before it"), now_ms, luck=luck)
            case Refused():
                self.refused = answer
            case NoAnswer(_, retry_after_ms):
                backoff_ms = min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** min(self._failures, 10))
                self._failures += 1
                self._not_before_ms = now_ms + max(retry_after_ms, int(backoff_ms * (0.5 + luck / 2)))
            case _:
                assert_never(answer)

    def _went_well(self) -> None:
        self._failures = 0
        self._not_before_ms = 0
