"""When a message that did not arrive is sent again, and when no more. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from weir_backend.models import MessageAbout

FIRST = timedelta(seconds=10)
LONGEST = timedelta(minutes=15)
TRIED_FOR = timedelta(hours=24)
"""Who does not listen for a day is not told any more; that is to be seen in the list of deliveries, in the job's events and in /metrics."""


def next_try(about: MessageAbout, *, tries: int, created_at: datetime, now: datetime) -> datetime | None:
    """After ``tries`` that have failed. None: it is given up."""
    if about is MessageAbout.TEST:
        return None
    # The exponent is bounded, as a number of seconds is.
    at = now + min(LONGEST, FIRST * 2 ** min(tries - 1, 16))
    return at if at < created_at + TRIED_FOR else None
