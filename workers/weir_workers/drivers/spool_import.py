"""Events that a dead driver left in its spool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from weir.errors import ProtocolError
from weir.link.spool import read_unconfirmed
from weir.protocol.events import NumberedEvent, decode_batch, encode_batch

BATCH_EVENTS_MAX = 1_000


def batches(spool: Path, *, after: int) -> Iterator[tuple[NumberedEvent, ...]]:
    """Yield the events whose numbers are larger than ``after``, in order, in batches of at most ``BATCH_EVENTS_MAX`` events. Raises OSError.

    The iterator stops at the first unreadable event, and at a gap between two events. ``link.service.store_unsent`` records a gap
    between ``after`` and the first event."""
    waiting: list[NumberedEvent] = []
    last: int | None = None
    for line in read_unconfirmed(spool):
        try:
            (event,) = decode_batch(encode_batch([line]))
        except (ProtocolError, ValueError):
            break
        if event.number <= (after if last is None else last):
            continue
        if last is not None and event.number > last + 1:
            break
        waiting.append(event)
        last = event.number
        if len(waiting) == BATCH_EVENTS_MAX:
            yield tuple(waiting)
            waiting = []
    if waiting:
        yield tuple(waiting)
