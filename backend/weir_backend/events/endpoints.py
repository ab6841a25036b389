"""What happened, and what happens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from weir_backend.events import service, streams
from weir_backend.events.schemas import EventBody
from weir_backend.kit.access import Viewer
from weir_backend.kit.followers import Place
from weir_backend.kit.listing import BIGINT_MAX, Listing, listing
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import ServicesDep, SessionDep
from weir_backend.models import Event

router = APIRouter(tags=["events"])
JobId = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
Number = Annotated[int | None, Query(ge=0, le=BIGINT_MAX, description="number of the last event that is known")]


@router.get("/events", operation_id="list_events", response_model=list[EventBody], responses=answers(401, 403, 422))
def list_events(
    caller: Viewer, session: SessionDep, response: Response, wanted: Annotated[Listing, Depends(listing)]
) -> Sequence[Event]:
    """The log of all jobs. Filters: `job_id`, `run_id`, `kind`."""
    return service.list_events(session, wanted, response)


def _position(
    caller: Viewer,
    session: SessionDep,
    job_id: JobId,
    after: Number = None,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=BIGINT_MAX, description="sent by browsers when they come again; it goes before `after`")
    ] = None,
) -> int:
    """Where to go on. Asked before the stream begins, so that a problem is a problem still."""
    newest = service.position(session, job_id)
    known = last_event_id if last_event_id is not None else after
    return newest if known is None else known


async def _place(caller: Viewer, services: ServicesDep) -> AsyncIterator[Place]:
    """Until the stream has ended, however it does. Raises TooMany."""
    with services.followers.take(caller) as place:
        yield place


PlaceDep = Annotated[Place, Depends(_place)]


@router.get(
    "/jobs/{job_id}/events/stream",
    operation_id="follow_job",
    response_class=EventSourceResponse,
    responses=answers(401, 403, 404, 422),
)
async def follow_job(
    services: ServicesDep, job_id: JobId, position: Annotated[int, Depends(_position)], place: PlaceDep
) -> AsyncIterator[ServerSentEvent]:
    """What happens to a job, as it happens: server-sent events.

    `event`: an entry of the log (as `GET /events` has it), with its number as id, none left out and none twice; from `Last-Event-ID` or
    `after` on, without either from now on. `progress`: the checkpoint in progress, at most ten times a second. `run`: the newest run,
    when it changes. The stream ends after some minutes: come again with the last id. It ends with `closed` (a problem of status 401) as soon
    as the token is not valid any more. There are only so many streams for one user: 429.
    """
    async for message in streams.follow_job(services, job_id, position, place):
        yield message


@router.get("/stream", operation_id="follow_jobs", response_class=EventSourceResponse, responses=answers(401, 403))
async def follow_jobs(services: ServicesDep, place: PlaceDep) -> AsyncIterator[ServerSentEvent]:
    """All jobs, as they change: server-sent events `job` with a summary, first of each job there is, then of those that change,
    each at most twice a second. It ends as that of one job does."""
    async for message in streams.follow_all(services, place):
        yield message
