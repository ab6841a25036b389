"""What a driver that is gone had no time to tell: handed in by whoever finds that it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from weir.errors import ProtocolError
from weir.link.spool import leftover
from weir.protocol.events import NumberedEvent, decode_batch, encode_batch

BATCH_EVENTS_MAX = 1_000


def batches(spool: Path, *, after: int) -> Iterator[tuple[NumberedEvent, ...]]:
    """Events above number ``after``, in order. Ends at the first one that cannot be read: what follows a hole is not to be believed.

    Raises OSError.
    """
    waiting: list[NumberedEvent] = []
    expected = after + 1
    for line in leftover(spool):
        try:
            (event,) = decode_batch(encode_batch([line]))
        except (ProtocolError, ValueError):
            break
        if event.number < expected:
            continue
        if event.number > expected and waiting:
            break
        waiting.append(event)
        expected = event.number + 1
        if len(waiting) == BATCH_EVENTS_MAX:
            yield tuple(waiting)
            waiting = []
    if waiting:
        yield tuple(waiting)
