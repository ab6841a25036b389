"""Requests that wait for a change of the database. A waiting request holds no database connection. The request reads the database again after a
notification. Because notifications can be lost, the request also reads the database at long intervals."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated, TypeVar

from fastapi import Query, Request
from sqlalchemy.orm import Session

from weir_backend.errors import Unauthenticated
from weir_backend.kit.access import INVALID_TOKEN, Caller
from weir_backend.kit.dependencies import Services

T = TypeVar("T")
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0}
_PATTERN = r"^(\d{1,5})(ms|s|m)$"
WaitParam = Annotated[str, Query(pattern=_PATTERN, description="The maximum time to wait, such as `30s`. The limit is 60 s.")]
WAIT_S_MAX = 60.0
POLL_INTERVAL_S = 10.0
"""A waiting request without notifications reads the database every ``POLL_INTERVAL_S`` seconds."""


def wait_s(wait: str) -> float:
    """Convert a ``WaitParam`` to seconds."""
    found = re.fullmatch(_PATTERN, wait)
    assert found is not None, f"{wait!r} is not a duration"
    return int(found[1]) * _UNITS_S[found[2]]


async def read_until(
    request: Request,
    services: Services,
    key: str,
    read: Callable[[Session], T],
    is_done: Callable[[T], bool],
    *,
    wait_s: float,
    caller: Caller | None = None,
) -> T:
    """Return the first result of ``read`` for which ``is_done`` holds. After ``wait_s``, or if the client disconnects, return the last result.
    ``read`` runs in a transaction, at the start and after notifications with ``key``.

    If ``caller`` is given, the request counts as an open stream of this caller while it waits. Raises TooMany, and Unauthenticated if the token of
    the caller becomes invalid."""
    until = time.monotonic() + min(wait_s, WAIT_S_MAX)
    with ExitStack() as stack:
        subscription = stack.enter_context(services.notifications.subscribe(key))
        subscriber = None
        if caller is not None and wait_s > 0:
            assert caller.user_id is not None and caller.token_id is not None, "only users wait, never the platform"
            subscriber = stack.enter_context(services.subscribers.admit(user_id=caller.user_id, token_id=caller.token_id))
            subscriber.attach(subscription)
        while True:
            found = await services.db_gate.run(read)
            left_s = until - time.monotonic()
            if is_done(found) or left_s <= 0 or await request.is_disconnected():
                return found
            await subscription.wait(min(left_s, POLL_INTERVAL_S))
            if subscriber is not None and subscriber.closed:
                raise Unauthenticated(*INVALID_TOKEN)
