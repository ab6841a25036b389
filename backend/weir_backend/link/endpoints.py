"""The control link of drivers. Every request must contain the token of the run, and no other token is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from weir_backend.errors import Problem, TooLarge
from weir_backend.kit.access import bearer
from weir_backend.kit.dependencies import ServicesDep
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.kit.notifications import run_key
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.kit.waiting import read_until
from weir_backend.link import service
from weir_backend.link.schemas import EventAckRead
from weir_backend.runs.graph import GRAPH_BYTES_MAX

UNAUTHENTICATED_BYTES_MAX = 4 << 20
"""The maximum number of bytes of a batch that the API reads into memory before it authenticates the sender."""
BODY_BYTES_MAX = GRAPH_BYTES_MAX + UNAUTHENTICATED_BYTES_MAX
"""The maximum size of a batch. The maximum is large, because an event can contain the graph of the job."""
READ_BYTES_MAX = 64 << 20
WAIT_S_MAX = 30.0
COMMAND_NUMBER_MAX = 1 << 53
"""The largest command number that a driver may report. The limit prevents a faulty driver from using up all command numbers."""

router = APIRouter(prefix="/runs/{run_id}", tags=["driver link"])


@router.post(
    "/events",
    operation_id="post_events",
    responses=answers(401, 404, 409, 410, 413, 422, 503),
    max_body_size=READ_BYTES_MAX,
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "Consecutive events of the run: `[[number, at_ms, kind, {fields}], ...]`",
            "content": {"application/json": {"schema": {"type": "array", "items": {"type": "array"}, "minItems": 1}}},
        }
    },
)
async def post_events(
    request: Request,
    services: ServicesDep,
    run_id: Id,
    first: Annotated[int, Query(ge=1, le=BIGINT_MAX, description="The number of the first event in the batch.")],
    oldest: Annotated[
        int, Query(ge=1, le=BIGINT_MAX, description="The number of the oldest event that the driver can still send.")
    ],
) -> EventAckRead:
    """Store a batch of events. Events that are already stored are skipped, so a driver may send an event again, also in a different batch.

    The status is 409 if events before this batch are missing; `stored` is then the number of the last stored event. The status is 410 if the run
    is fenced. After the run has ended, the API accepts only batches in which each new event answers an unanswered command. For any other
    batch of an ended run, the status is 410."""
    secret = bearer(request)
    db_gate, tasks = services.db_gate, services.tasks
    body = await _body(request, lambda: db_gate.run(partial(service.known_run, run_id=run_id, secret=secret)))
    ingest = partial(service.ingest, tasks=tasks, run_id=run_id, secret=secret, first=first, oldest=oldest, body=body)
    return EventAckRead(stored=await db_gate.run_low_priority(ingest))


async def _body(request: Request, authenticate: Callable[[], Awaitable[object]]) -> bytes:
    """Read the whole body regardless of its size, because a driver reads the response only after sending the whole body. ``authenticate`` is
    called when the body exceeds UNAUTHENTICATED_BYTES_MAX. Raises TooLarge, and the exceptions of ``authenticate``."""
    parts: list[bytes] = []
    size, refused = 0, None
    async for part in request.stream():
        if size <= UNAUTHENTICATED_BYTES_MAX < size + len(part):
            try:
                await authenticate()
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
        raise TooLarge(
            "too-large", f"The batch is too large: the limit is {BODY_BYTES_MAX:,} bytes.", "Send fewer events per batch."
        )
    return b"".join(parts)


@router.get("/commands", operation_id="wait_for_commands", responses=answers(401, 404, 410, 422, 503))
async def wait_for_commands(
    request: Request,
    services: ServicesDep,
    run_id: Id,
    after: Annotated[
        int, Query(ge=0, le=COMMAND_NUMBER_MAX, description="The number of the last command that the driver has received.")
    ],
    wait_s: Annotated[float, Query(ge=0, allow_inf_nan=False, description="The time to wait for a command, at most 30 s.")] = 0.0,
) -> list[tuple[int, str, dict[str, Any]]]:
    """Return the commands of the run after number `after`. If the run has no newer command yet, wait up to `wait_s` seconds for a
    command."""
    secret = bearer(request)
    fetch = partial(service.commands_after, run_id=run_id, secret=secret, after=after)
    return await read_until(request, services, run_key(run_id), fetch, bool, wait_s=min(wait_s, WAIT_S_MAX))
