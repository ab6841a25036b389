"""Endpoints of the event log and of event streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from weir_backend.events import service, streams
from weir_backend.events.schemas import EventRead
from weir_backend.kit.access import ViewerCaller
from weir_backend.kit.dependencies import ServicesDep, SessionDep
from weir_backend.kit.listing import BIGINT_MAX, ListingDep
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.kit.subscribers import Subscriber
from weir_backend.models import Event

router = APIRouter(tags=["events"])
AfterNumber = Annotated[int | None, Query(ge=0, le=BIGINT_MAX, description="The number of the last event that the client has.")]


@router.get("/events", operation_id="list_events", response_model=list[EventRead], responses=answers(401, 403, 422))
def list_events(caller: ViewerCaller, session: SessionDep, response: Response, wanted: ListingDep) -> Sequence[Event]:
    """List the events of all jobs. Filters: `id`, `job_id`, `run_id`, `kind`, `routine`.

    The filter `{"routine": false}` omits the events of routine checkpoints. An event is routine if the event itself, the two events before it and the
    two events after it all report that a periodic checkpoint was triggered or completed. Failed checkpoints, savepoints, and the first and the last
    checkpoint of a series are not routine."""
    return service.list_events(session, wanted, response)


def _position(
    caller: ViewerCaller,
    session: SessionDep,
    job_id: Id,
    after: AfterNumber = None,
    last_event_id: Annotated[
        int | None,
        Header(
            ge=0,
            le=BIGINT_MAX,
            description="The id of the last message received. Browsers send `Last-Event-ID` when they reconnect. `Last-Event-ID` overrides `after`.",
        ),
    ] = None,
) -> int:
    """Return the number of the event after which the stream starts. Raises NotFound if the job does not exist: once the
    stream has started, the API cannot return an error any more."""
    newest = service.position(session, job_id)
    known = last_event_id if last_event_id is not None else after
    return newest if known is None else known


async def _subscriber(caller: ViewerCaller, services: ServicesDep) -> AsyncIterator[Subscriber]:
    """Count the stream towards the limits until it ends. Raises TooMany."""
    assert caller.user_id is not None and caller.token_id is not None, "only users open streams, never the platform"
    with services.subscribers.admit(user_id=caller.user_id, token_id=caller.token_id) as subscriber:
        yield subscriber


SubscriberDep = Annotated[Subscriber, Depends(_subscriber)]


@router.get(
    "/jobs/{job_id}/events/stream",
    operation_id="stream_job_events",
    response_class=EventSourceResponse,
    responses=answers(401, 403, 404, 422),
)
async def stream_job_events(
    services: ServicesDep, job_id: Id, position: Annotated[int, Depends(_position)], subscriber: SubscriberDep
) -> AsyncIterator[ServerSentEvent]:
    """Stream the changes of a job as server-sent events.

    A message `event` contains an event (as in `GET /events`) with its number as id. Each event after `Last-Event-ID` or `after` is sent exactly
    once. Without `Last-Event-ID` and `after`, only new events are sent. A message `progress` contains the checkpoint in progress, and is sent at most
    ten times a second. A message `run` contains the newest run, and is sent when the run changes. The stream ends after some minutes, and the
    client must reconnect with the last id. If the token becomes invalid, the stream ends with a message `closed`, which contains a problem with
    status 401. The number of streams per user is limited, and the API refuses further streams with status 429."""
    async for message in streams.follow_job(services, job_id, position, subscriber):
        yield message


@router.get("/stream", operation_id="stream_jobs", response_class=EventSourceResponse, responses=answers(401, 403))
async def stream_jobs(services: ServicesDep, subscriber: SubscriberDep) -> AsyncIterator[ServerSentEvent]:
    """Stream summaries of all jobs as server-sent events `job`. The stream starts with every job and continues with the jobs that
    change, at most twice a second. Like the stream of a single job, this stream ends after some minutes, or with a message `closed`
    if the token becomes invalid."""
    async for message in streams.follow_all(services, subscriber):
        yield message
