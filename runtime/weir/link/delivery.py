"""Which events to send next, and how to react to the response. This module uses no clock, sockets or randomness. The only side
effects of this module are on the spool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from weir.link.spool import Spool
from weir.protocol.events import encode_batch
from weir.protocol.ids import EventNumber

LINGER_MS = 100
"""An event waits this long for other events, which are then sent in the same request. The UI shows progress ten times a
second."""
BATCH_BYTES = 1 << 20
BATCH_BYTES_MIN = 1 << 10
BACKOFF_MS_MIN = 500
BACKOFF_MS_MAX = 30_000


@dataclass(frozen=True, slots=True)
class EventBatch:
    """A request with events. The driver no longer has events below the number ``oldest``, so the control plane must not wait
    for them."""

    body: bytes
    first: EventNumber
    last: EventNumber
    oldest: EventNumber


@dataclass(frozen=True, slots=True)
class Stored:
    """The control plane has durably stored everything up to ``up_to``."""

    up_to: EventNumber


@dataclass(frozen=True, slots=True)
class Gap:
    """The control plane stored nothing, because events after ``up_to`` are missing."""

    up_to: EventNumber


@dataclass(frozen=True, slots=True)
class RequestTooLarge:
    """The request is too large.

    ``permanent`` is True if the control plane refused the request. ``permanent`` is False if a proxy refused the request,
    because a proxy's limit can change.
    """

    permanent: bool = True


@dataclass(frozen=True, slots=True)
class RunRefused:
    """The control plane permanently refuses this run, because its token is invalid or the run is over. ``fenced`` is True if
    another driver has taken over the job."""

    reason: str
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class ControlPlaneUnavailable:
    """The control plane is unreachable or cannot handle the request now."""

    reason: str
    retry_after_ms: int = 0


PostResult: TypeAlias = Stored | Gap | RequestTooLarge | RunRefused | ControlPlaneUnavailable


class EventDelivery:
    """Decides what to send. Call ``due`` after each appended event and when the time that ``wait_ms`` returned has passed. Call
    ``on_result`` after each request. Send one request at a time.

    ``jitter`` of ``on_result`` is a random number from 0 to 1, so that a thousand drivers do not retry at the same moment after
    an outage.
    """

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._confirmed = EventNumber(0)
        """The control plane has stored all events up to this number."""
        self._sent = EventNumber(0)
        """The highest event number ever sent."""
        self._batch_bytes = BATCH_BYTES
        self._not_before_ms = 0
        self._lingers_since_ms: int | None = None
        self._failures = 0
        self.refused: RunRefused | None = None
        """The refusal by the control plane, after which nothing more is sent."""

    @property
    def confirmed(self) -> EventNumber:
        return self._confirmed

    @property
    def failing(self) -> bool:
        return self._failures > 0

    def due(self, now_ms: int, *, hurry: bool = False) -> EventBatch | None:
        """Return the next request, or None if no request is due. If ``hurry`` is True, do not wait for more events, because the
        run is ending."""
        if self.refused is not None or now_ms < self._not_before_ms:
            return None
        pending = self._spool.pending(after=self._confirmed, bytes_max=self._batch_bytes)
        if not pending:
            self._lingers_since_ms = None
            return None
        if self._lingers_since_ms is None:
            self._lingers_since_ms = now_ms
        if not hurry and now_ms - self._lingers_since_ms < LINGER_MS:
            return None
        self._sent = max(self._sent, pending[-1].number)
        body = encode_batch([event.data for event in pending])
        return EventBatch(body, pending[0].number, pending[-1].number, self._spool.first())

    def wait_ms(self, now_ms: int) -> int | None:
        """Return the time after which to call ``due`` again, or None if ``due`` has nothing to send until an event is
        appended."""
        if self.refused is not None:
            return None
        waits = [self._not_before_ms - now_ms] if self._not_before_ms > now_ms else []
        if self._lingers_since_ms is not None:
            waits.append(self._lingers_since_ms + LINGER_MS - now_ms)
        return max(0, *waits) if waits else None

    def on_result(self, result: PostResult, now_ms: int, *, jitter: float) -> None:
        self._lingers_since_ms = None
        match result:
            case Stored(up_to) | Gap(up_to) if up_to > self._sent:
                # The response is wrong, because it confirms events that neither this request nor an earlier request has sent.
                self.on_result(ControlPlaneUnavailable("the response confirms unsent events"), now_ms, jitter=jitter)
            case Stored(up_to):
                self._on_success()
                self._confirmed = max(self._confirmed, up_to)
                self._spool.confirm(up_to)
            case Gap(up_to):
                self._on_success()
                self._confirmed = up_to
                # Limit the request rate, in case the control plane reports the same gap again.
                self._not_before_ms = now_ms + BACKOFF_MS_MIN
            case RequestTooLarge(permanent):
                if self._batch_bytes > BATCH_BYTES_MIN:
                    self._batch_bytes //= 2
                elif permanent:
                    self.refused = RunRefused("an event exceeds the size limit of the control plane")
                else:
                    self.on_result(ControlPlaneUnavailable("an event exceeds the size limit of a proxy"), now_ms, jitter=jitter)
            case RunRefused():
                self.refused = result
            case ControlPlaneUnavailable(_, retry_after_ms):
                backoff_ms = min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** min(self._failures, 10))
                self._failures += 1
                self._not_before_ms = now_ms + max(retry_after_ms, int(backoff_ms * (0.5 + jitter / 2)))
            case _:
                assert_never(result)

    def _on_success(self) -> None:
        self._failures = 0
        self._not_before_ms = 0
