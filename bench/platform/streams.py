"""Open event streams while events come in: every stream tells every event of its job once, how late, and what the API needs for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select

from bench.platform import reading
from bench.platform.endpoints import Page
from bench.platform.following import Stream, following
from bench.platform.ingest import new_runs, rates, wrong
from bench.platform.offered import Offer, offer
from bench.platform.options import Plan
from bench.platform.results import Aim, Measurement, Value
from bench.platform.serving import Platform
from bench.platform.stories import Author, LiveRun
from bench.platform.usage import rss_bytes, usage
from bench.results import percentile
from weir_backend.kit.database import Database
from weir_backend.models import Job

STREAMS = 200
STREAMS_OF_A_JOB = 4
LATE_S_MAX = 2.0
"""Drivers that are further behind at the end offer more than is taken in."""
READERS = 2


@dataclass(frozen=True, slots=True)
class Load:
    """Drivers that offer events, and streams of their jobs. ``lateness_ms``: of each event at each stream, after it was sent."""

    offer: Offer
    streams: Sequence[Stream]
    last: dict[int, int]
    values: dict[str, Value]

    @property
    def wrong(self) -> str | None:
        problems = [found for stream in self.streams if (found := stream.wrong(self.last[stream.job_id])) is not None]
        return "; ".join(problems[:3]) or None


def offered(platform: Platform, author: Author, plan: Plan, *, per_s: float, drivers: int) -> Measurement:
    """Without streams: whether so many events a second are taken in as they happen, from many drivers that each send little."""
    runs = new_runs(platform, author, f"offered-{per_s:.0f}", drivers)
    before = usage(platform.api, platform.postgres)
    found = offer(platform, runs, per_s=per_s, seconds=plan.seconds, seed=plan.seed)
    used = usage(platform.api, platform.postgres).since(before)
    values: dict[str, Value] = {**_offer_values(found), **rates(found.events, used)}
    aim = Aim(f"{per_s:,.0f} events/s as they happen, at most {LATE_S_MAX:.0f} s behind", found.late_s <= LATE_S_MAX)
    return Measurement(
        "ingest", f"{per_s:,.0f}/s offered by {drivers} drivers", values, aim, wrong(platform.database, runs, found.drivers)
    )


def streams(platform: Platform, author: Author, plan: Plan) -> Measurement:
    runs = new_runs(platform, author, "followed", max(1, plan.streams // STREAMS_OF_A_JOB))
    load = _loaded(platform, runs, plan)
    late_ms = load.values["delay_p99_ms"]
    assert isinstance(late_ms, float)
    aim = Aim(f"{STREAMS} open streams that tell every event", load.wrong is None if plan.streams >= STREAMS else None)
    problem = load.wrong or wrong(platform.database, runs, load.offer.drivers)
    return Measurement("streams", f"{plan.streams} streams of {len(runs)} jobs", load.values, aim, problem)


def mix(platform: Platform, author: Author, plan: Plan, pages: Sequence[Page]) -> Measurement:
    """Drivers, streams and people who read, all at once."""
    runs = new_runs(platform, author, "mixed", max(1, plan.streams // STREAMS_OF_A_JOB))
    stop = threading.Event()
    taken: list[reading.Taken] = []
    # How many rows there are changes meanwhile.
    shown = [replace(page, rows=None) for page in pages if page.aimed]
    readers = [
        threading.Thread(target=lambda seed=number: taken.append(reading.until(platform, shown, stop, seed)))
        for number in range(READERS)
    ]
    for reader in readers:
        reader.start()
    try:
        load = _loaded(platform, runs, plan)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    whole = reading.Taken()
    for one in taken:
        whole.join(one)
    read = {f"read_{name}": value for name, value in reading.summary(ms for times in whole.ms.values() for ms in times).items()}
    read_p95_ms = read["read_p95_ms"]
    assert isinstance(read_p95_ms, float)
    problem = load.wrong or wrong(platform.database, runs, load.offer.drivers) or "; ".join(sorted(whole.wrong)[:3]) or None
    aim = Aim(f"p95 of what is read < {reading.P95_MS:.0f} ms", read_p95_ms < reading.P95_MS)
    return Measurement("mix", f"{plan.offered:,}/s, {plan.streams} streams, {READERS} readers", load.values | read, aim, problem)


def _loaded(platform: Platform, runs: Sequence[LiveRun], plan: Plan) -> Load:
    after = _newest(platform.database, runs)
    opened = [Stream(runs[number % len(runs)].job_id, after[runs[number % len(runs)].job_id]) for number in range(plan.streams)]
    rss_before = rss_bytes(platform.api)
    with following(platform.url, platform.token, opened) as followers:
        rss_open = rss_bytes(platform.api)
        before = usage(platform.api, platform.postgres)
        found = offer(platform, runs, per_s=plan.offered, seconds=plan.seconds, seed=plan.seed)
        used = usage(platform.api, platform.postgres).since(before)
        last = _newest(platform.database, runs)
        told = followers.finish(last)
    late_ms = _lateness_ms(found, told)
    values: dict[str, Value] = {
        **_offer_values(found),
        **rates(found.events, used),
        "streams": len(told),
        "told": sum(len(one.events) for one in told),
        "told_per_s": sum(len(one.events) for one in told) / used.at,
        "delay_p50_ms": percentile(late_ms, 0.5),
        "delay_p99_ms": percentile(late_ms, 0.99),
        "api_rss_mb": rss_before / 1e6,
        "api_rss_open_mb": rss_open / 1e6,
        "api_rss_after_mb": rss_bytes(platform.api) / 1e6,
    }
    return Load(found, told, last, values)


def _lateness_ms(found: Offer, told: Sequence[Stream]) -> list[float]:
    """From when a driver sent an event until a stream had told it."""
    by_job = {run.job_id: driver for run, driver in zip(found.runs, found.drivers, strict=True)}
    return [
        (event.at_s - by_job[stream.job_id].sent_at(event.run_event)) * 1000
        for stream in told
        for event in stream.events
        if event.run_event is not None
    ]


def _offer_values(found: Offer) -> dict[str, Value]:
    ms = [one for driver in found.drivers for one in driver.ms]
    return {
        "drivers": len(found.drivers),
        "events_per_batch": found.events / max(1, found.batches),
        "late_s": found.late_s,
        "requests": len(ms),
        "request_p50_ms": percentile(ms, 0.5),
        "request_p95_ms": percentile(ms, 0.95),
    }


def _newest(database: Database, runs: Sequence[LiveRun]) -> dict[int, int]:
    """Number of the newest event of each job."""
    with database.session() as session:
        rows = session.execute(select(Job.id, Job.event_number).where(Job.id.in_([run.job_id for run in runs])))
        return {job_id: number for job_id, number in rows}  # noqa: C416  # dict() takes rows, but has no type for them
