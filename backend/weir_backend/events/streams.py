"""Event streams of jobs. Each stream is a loop that reads, sends and waits. A stream uses no database connection while it waits.

A message is built only after the client has received the previous message, so a slow client costs no memory. A slow client misses intermediate values
of a run or a checkpoint, but no event.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from functools import partial

from fastapi.sse import ServerSentEvent

from weir_backend.errors import Unauthenticated
from weir_backend.events import service
from weir_backend.kit.access import INVALID_TOKEN
from weir_backend.kit.dependencies import Services
from weir_backend.kit.notifications import ANY_JOB, job_key
from weir_backend.kit.problems import problem_body
from weir_backend.kit.subscribers import Subscriber

POLL_INTERVAL_S = 10.0
"""A stream without notifications reads the tables every ``POLL_INTERVAL_S`` seconds, because notifications can be lost."""
JOB_PAUSE_S = 0.1
JOBS_PAUSE_S = 0.5
STREAM_S = 900.0
"""The duration of a stream. When the stream ends, the client reconnects and resumes, and the API checks the token again."""


async def follow_job(services: Services, job_id: int, after: int, subscriber: Subscriber) -> AsyncIterator[ServerSentEvent]:
    """Yield a message ``event`` for each event after number ``after``. The id of the message is the number of the event. Also yield messages ``run``
    and ``progress`` when the newest run or its checkpoint in progress changes."""
    until = time.monotonic() + STREAM_S
    run: str | None = None
    progress: str | None = None
    # Send an id at once, so that a client that loses the connection before the first event can resume.
    yield ServerSentEvent(comment="following", id=str(after))
    with services.notifications.subscribe(job_key(job_id)) as subscription:
        subscriber.attach(subscription)
        while time.monotonic() < until:
            if subscriber.closed:
                yield _closed()
                return
            read_at = time.monotonic()
            # Streams of the same job at the same position share one read of the tables.
            read = partial(services.db_gate.run, partial(service.stream_update, job_id=job_id, after=after))
            found = await services.single_flight.read((job_id, after), read)
            if found.newest is None:
                return
            for number, event in found.events:
                yield ServerSentEvent(event="event", id=str(number), raw_data=event)
                after = number
            if found.run is not None and found.run != run:
                run = found.run
                yield ServerSentEvent(event="run", raw_data=run)
            if found.progress is not None and found.progress != progress:
                progress = found.progress
                yield ServerSentEvent(event="progress", raw_data=progress)
            if after > found.newest:
                # The database was restored from a backup, so the next events have smaller numbers than those already sent.
                after = found.newest
                yield ServerSentEvent(comment="reset", id=str(after))
            if len(found.events) < service.PAGE:
                await subscription.wait(min(POLL_INTERVAL_S, max(0.0, until - time.monotonic())))
                await _pause(read_at, JOB_PAUSE_S)


async def follow_all(services: Services, subscriber: Subscriber) -> AsyncIterator[ServerSentEvent]:
    """Yield a message ``job`` for every job first, and then for each job that changes, at most twice a second."""
    until = time.monotonic() + STREAM_S
    with services.notifications.subscribe(ANY_JOB) as subscription:
        subscriber.attach(subscription)
        keys = {ANY_JOB}
        while time.monotonic() < until:
            if subscriber.closed:
                yield _closed()
                return
            read_at = time.monotonic()
            if ANY_JOB in keys:
                # The stream has just started or notifications were lost, so any job may have changed.
                last = 0
                while found := await services.db_gate.run(partial(service.job_summaries_after, job_id=last)):
                    for one in found:
                        yield ServerSentEvent(event="job", raw_data=one.model_dump_json())
                    last = found[-1].id
            elif keys:
                jobs = {int(key.removeprefix("job:")) for key in keys}
                for one in await services.db_gate.run(partial(service.job_summaries, jobs=jobs)):
                    yield ServerSentEvent(event="job", raw_data=one.model_dump_json())
            await _pause(read_at, JOBS_PAUSE_S)
            keys = await subscription.wait(max(0.0, until - time.monotonic()))


def _closed() -> ServerSentEvent:
    """Return the message ``closed``, which contains the problem for invalid tokens."""
    return ServerSentEvent(event="closed", raw_data=json.dumps(problem_body(Unauthenticated.status, *INVALID_TOKEN)))


async def _pause(since: float, pause_s: float) -> None:
    left_s = since + pause_s - time.monotonic()
    if left_s > 0:
        await asyncio.sleep(left_s)
