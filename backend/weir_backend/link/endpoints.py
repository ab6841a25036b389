"""The driver's line. Every request bears the token of the run; nobody else's is of use here."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from weir_backend.errors import Problem, TooLarge
from weir_backend.graphs.content import GRAPH_BYTES_MAX
from weir_backend.kit.access import bearer
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import ServicesDep
from weir_backend.kit.wakeups import run_key
from weir_backend.link import service
from weir_backend.link.schemas import Stored

UNKNOWN_BYTES_MAX = 4 << 20
"""Of a batch whose sender has not shown yet that it is a run: more than that is not kept in memory."""
BODY_BYTES_MAX = GRAPH_BYTES_MAX + UNKNOWN_BYTES_MAX
"""Of a batch: one of its events may be the graph."""
READ_BYTES_MAX = 64 << 20
WAIT_S_MAX = 30.0
LOOK_AGAIN_S = 10.0
"""Nobody who waits depends on being woken."""
COMMAND_NUMBER_MAX = 1 << 53
"""A driver that claims to have seen more must not use up all numbers."""

router = APIRouter(prefix="/runs/{run_id}", tags=["driver link"])
RunId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]


@router.post(
    "/events",
    operation_id="post_events",
    response_model=Stored,
    responses=answers(401, 404, 409, 410, 413, 422, 503),
    max_body_size=READ_BYTES_MAX,
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "Events of the run in order, without holes: `[[number, at_ms, kind, {fields}], ...]`",
            "content": {"application/json": {"schema": {"type": "array", "items": {"type": "array"}, "minItems": 1}}},
        }
    },
)
async def post_events(
    request: Request,
    services: ServicesDep,
    run_id: RunId,
    first: Annotated[int, Query(ge=1, le=BIGINT_MAX, description="number of the first event of the batch")],
    oldest: Annotated[int, Query(ge=1, le=BIGINT_MAX, description="number of the oldest event that could still be sent")],
) -> Stored:
    """Store a batch of events. What is known already is passed over, so a batch may be sent again, whole or in other pieces.

    409: events before this batch are missing; `stored` says what there is. 410: the control plane has taken the job from this run, or the
    run has told that it is over, and more than that.
    """
    secret = bearer(request)
    turns, tasks = services.turns, services.tasks
    body = await _body(request, lambda: turns.run(partial(service.known_run, run_id=run_id, secret=secret)))
    take_in = partial(service.take_in, tasks=tasks, run_id=run_id, secret=secret, first=first, oldest=oldest, body=body)
    return Stored(stored=await turns.run_patiently(take_in))


async def _body(request: Request, known: Callable[[], Awaitable[object]]) -> bytes:
    """All of it is read, whatever its size: a driver hears the answer only once it has sent everything. Raises TooLarge, and what
    ``known`` raises, which is asked once there is much of it."""
    parts: list[bytes] = []
    size, refused = 0, None
    async for part in request.stream():
        if size <= UNKNOWN_BYTES_MAX < size + len(part):
            try:
                await known()
            except Problem as problem:
                refused = problem
        size += len(part)
        if refused is None and size <= BODY_BYTES_MAX:
            parts.append(part)
        else:
            parts.clear()
    if refused is not None:
        raise refused
    if size > BODY_BYTES_MAX:
        raise TooLarge("too-large", f"a batch has at most {BODY_BYTES_MAX} bytes", "send fewer events at once")
    return b"".join(parts)


@router.get(
    "/commands",
    operation_id="wait_for_commands",
    response_model=list[tuple[int, str, dict[str, Any]]],
    responses=answers(401, 404, 410, 422, 503),
)
async def wait_for_commands(
    request: Request,
    services: ServicesDep,
    run_id: RunId,
    after: Annotated[int, Query(ge=0, le=COMMAND_NUMBER_MAX, description="number of the last command seen")],
    wait_s: Annotated[float, Query(ge=0, allow_inf_nan=False, description="at most 30")] = 0.0,
) -> list[tuple[int, str, dict[str, Any]]]:
    """Commands of the run above `after`: at once if there are any, else as soon as there is one; none after `wait_s`."""
    secret = bearer(request)
    until = time.monotonic() + min(wait_s, WAIT_S_MAX)
    look = partial(service.commands_after, run_id=run_id, secret=secret, after=after)
    with services.wakeups.subscribe(run_key(run_id)) as news:
        while True:
            found = await services.turns.run(look)
            left_s = until - time.monotonic()
            if found or left_s <= 0 or await request.is_disconnected():
                return found
            await news.wait(min(left_s, LOOK_AGAIN_S))
