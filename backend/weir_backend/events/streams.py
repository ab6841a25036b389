"""Following jobs: loops that look, tell, and wait for news. No connection to the database is held while they wait.

A message is made only when the one before it has gone out, so who reads slowly costs no memory: he skips what has changed twice
meanwhile, and gets each entry of the log all the same.
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
from weir_backend.kit.access import NOT_VALID
from weir_backend.kit.followers import Place
from weir_backend.kit.problems import problem_body
from weir_backend.kit.requests import Services
from weir_backend.kit.wakeups import ANY_JOB, job_key

LOOK_AGAIN_S = 10.0
"""Nobody who follows depends on being woken."""
JOB_PAUSE_S = 0.1
JOBS_PAUSE_S = 0.5
STREAM_S = 900.0
"""Then a stream ends, and the client comes again where it was: with a token that has to be valid still."""


async def follow_job(services: Services, job_id: int, after: int, place: Place) -> AsyncIterator[ServerSentEvent]:
    """``event`` for each entry of the log above ``after``, with its number as id; ``run`` and ``progress`` when they change."""
    until = time.monotonic() + STREAM_S
    run: str | None = None
    progress: str | None = None
    # Whoever is cut off before the first entry comes again from here.
    yield ServerSentEvent(comment="following", id=str(after))
    with services.wakeups.subscribe(job_key(job_id)) as news:
        place.wakes(news)
        while time.monotonic() < until:
            if place.taken_away:
                yield _closed()
                return
            looked = time.monotonic()
            # All who have been told the same share what is read next.
            read = partial(services.turns.run, partial(service.news, job_id=job_id, after=after))
            found = await services.reads.read((job_id, after), read)
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
                # We were set back: what comes next has a lower number than what was told.
                after = found.newest
                yield ServerSentEvent(comment="set back", id=str(after))
            if len(found.events) < service.PAGE:
                await news.wait(min(LOOK_AGAIN_S, max(0.0, until - time.monotonic())))
                await _pause(looked, JOB_PAUSE_S)


async def follow_all(services: Services, place: Place) -> AsyncIterator[ServerSentEvent]:
    """``job`` for each job there is, then for each one that changes, at most twice a second."""
    until = time.monotonic() + STREAM_S
    with services.wakeups.subscribe(ANY_JOB) as news:
        place.wakes(news)
        rung = {ANY_JOB}
        while time.monotonic() < until:
            if place.taken_away:
                yield _closed()
                return
            looked = time.monotonic()
            if ANY_JOB in rung:
                # Of any of them: we have just begun, or did not hear for a while.
                last = 0
                while found := await services.turns.run(partial(service.all_jobs_after, job_id=last)):
                    for one in found:
                        yield ServerSentEvent(event="job", raw_data=one.model_dump_json())
                    last = found[-1].id
            elif rung:
                jobs = {int(key.removeprefix("job:")) for key in rung}
                for one in await services.turns.run(partial(service.job_news, jobs=jobs)):
                    yield ServerSentEvent(event="job", raw_data=one.model_dump_json())
            await _pause(looked, JOBS_PAUSE_S)
            rung = await news.wait(max(0.0, until - time.monotonic()))


def _closed() -> ServerSentEvent:
    """As the problem that who comes again is answered with."""
    return ServerSentEvent(event="closed", raw_data=json.dumps(problem_body(Unauthenticated.status, *NOT_VALID)))


async def _pause(since: float, pause_s: float) -> None:
    left_s = since + pause_s - time.monotonic()
    if left_s > 0:
        await asyncio.sleep(left_s)
