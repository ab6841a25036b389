"""Opens event streams under load, and checks that each stream delivers every event of its job once. Measures the delay of the
events, and the CPU time and memory of the API."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select

from bench.platform import api_reads
from bench.platform.endpoints import Page
from bench.platform.ingest import find_error, new_runs, rates
from bench.platform.job_writer import JobWriter, RunConnection
from bench.platform.offered_load import OfferedLoad, offer_load
from bench.platform.options import PlatformBenchOptions
from bench.platform.resource_usage import rss_bytes, usage
from bench.platform.results import Aim, Measurement, Value
from bench.platform.server import TemporaryControlPlane
from bench.platform.stream_clients import StreamRecord, open_streams
from bench.results import percentile
from weir_backend.kit.database import Database
from weir_backend.models import Job

STREAMS = 200
STREAMS_OF_A_JOB = 4
LATE_S_MAX = 2.0
"""The load counts as ingested if drivers are at most this many seconds behind at the end."""
READERS = 2


@dataclass(frozen=True, slots=True)
class Load:
    """The result of a load: the events that drivers sent, and the event streams of their jobs. ``last``: the newest event
    number of each job."""

    offered: OfferedLoad
    streams: Sequence[StreamRecord]
    last: dict[int, int]
    values: dict[str, Value]

    @property
    def error(self) -> str | None:
        problems = [found for stream in self.streams if (found := stream.find_error(self.last[stream.job_id])) is not None]
        return "; ".join(problems[:3]) or None


def offered(
    platform: TemporaryControlPlane, writer: JobWriter, options: PlatformBenchOptions, *, per_s: float, drivers: int
) -> Measurement:
    """Measure whether the API ingests ``per_s`` events per second from many drivers, each of which sends few events. No streams
    are open."""
    runs = new_runs(platform, writer, f"offered-{per_s:.0f}", drivers)
    before = usage(platform.api, platform.postgres)
    found = offer_load(platform, runs, per_s=per_s, seconds=options.seconds, seed=options.seed)
    used = usage(platform.api, platform.postgres).since(before)
    values: dict[str, Value] = {**_offer_values(found), **rates(found.events, used)}
    aim = Aim(f"{per_s:,.0f} events/s offered, at most {LATE_S_MAX:.0f} s behind", found.late_s <= LATE_S_MAX)
    return Measurement(
        "ingest", f"{per_s:,.0f}/s offered by {drivers} drivers", values, aim, find_error(platform.database, runs, found.drivers)
    )


def streams(platform: TemporaryControlPlane, writer: JobWriter, options: PlatformBenchOptions) -> Measurement:
    runs = new_runs(platform, writer, "followed", max(1, options.streams // STREAMS_OF_A_JOB))
    load = _run_load(platform, runs, options)
    late_ms = load.values["delay_p99_ms"]
    assert isinstance(late_ms, float)
    aim = Aim(f"{STREAMS} open streams that deliver every event", load.error is None if options.streams >= STREAMS else None)
    problem = load.error or find_error(platform.database, runs, load.offered.drivers)
    return Measurement("streams", f"{options.streams} streams of {len(runs)} jobs", load.values, aim, problem)


def mix(platform: TemporaryControlPlane, writer: JobWriter, options: PlatformBenchOptions, pages: Sequence[Page]) -> Measurement:
    """Measure the API while drivers, streams and readers use the API at the same time."""
    runs = new_runs(platform, writer, "mixed", max(1, options.streams // STREAMS_OF_A_JOB))
    stop = threading.Event()
    read_times: list[api_reads.ReadTimes] = []
    # Do not check numbers of rows, because they change during the measurement.
    shown = [replace(page, rows=None) for page in pages if page.aimed]
    readers = [
        threading.Thread(target=lambda seed=number: read_times.append(api_reads.until(platform, shown, stop, seed)))
        for number in range(READERS)
    ]
    for reader in readers:
        reader.start()
    try:
        load = _run_load(platform, runs, options)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    merged = api_reads.ReadTimes()
    for one in read_times:
        merged.merge(one)
    read = {
        f"read_{name}": value for name, value in api_reads.summary(ms for times in merged.ms.values() for ms in times).items()
    }
    read_p95_ms = read["read_p95_ms"]
    assert isinstance(read_p95_ms, float)
    problem = (
        load.error or find_error(platform.database, runs, load.offered.drivers) or "; ".join(sorted(merged.errors)[:3]) or None
    )
    aim = Aim(f"p95 of reads < {api_reads.P95_MS:.0f} ms", read_p95_ms < api_reads.P95_MS)
    return Measurement(
        "mix", f"{options.offered:,}/s, {options.streams} streams, {READERS} readers", load.values | read, aim, problem
    )


def _run_load(platform: TemporaryControlPlane, runs: Sequence[RunConnection], options: PlatformBenchOptions) -> Load:
    after = _newest(platform.database, runs)
    opened = [
        StreamRecord(runs[number % len(runs)].job_id, after[runs[number % len(runs)].job_id]) for number in range(options.streams)
    ]
    rss_before = rss_bytes(platform.api)
    with open_streams(platform.url, platform.token, opened) as clients:
        rss_open = rss_bytes(platform.api)
        before = usage(platform.api, platform.postgres)
        found = offer_load(platform, runs, per_s=options.offered, seconds=options.seconds, seed=options.seed)
        used = usage(platform.api, platform.postgres).since(before)
        last = _newest(platform.database, runs)
        delivered = clients.finish(last)
    late_ms = _lateness_ms(found, delivered)
    values: dict[str, Value] = {
        **_offer_values(found),
        **rates(found.events, used),
        "streams": len(delivered),
        "told": sum(len(one.events) for one in delivered),
        "told_per_s": sum(len(one.events) for one in delivered) / used.at,
        "delay_p50_ms": percentile(late_ms, 0.5),
        "delay_p99_ms": percentile(late_ms, 0.99),
        "api_rss_mb": rss_before / 1e6,
        "api_rss_open_mb": rss_open / 1e6,
        "api_rss_after_mb": rss_bytes(platform.api) / 1e6,
    }
    return Load(found, delivered, last, values)


def _lateness_ms(found: OfferedLoad, delivered: Sequence[StreamRecord]) -> list[float]:
    """Return how long each event took from the driver to each stream, in milliseconds."""
    by_job = {run.job_id: driver for run, driver in zip(found.runs, found.drivers, strict=True)}
    return [
        (event.at_s - by_job[stream.job_id].sent_at(event.run_event)) * 1000
        for stream in delivered
        for event in stream.events
        if event.run_event is not None
    ]


def _offer_values(found: OfferedLoad) -> dict[str, Value]:
    ms = [one for driver in found.drivers for one in driver.ms]
    return {
        "drivers": len(found.drivers),
        "events_per_batch": found.events / max(1, found.batches),
        "late_s": found.late_s,
        "requests": len(ms),
        "request_p50_ms": percentile(ms, 0.5),
        "request_p95_ms": percentile(ms, 0.95),
    }


def _newest(database: Database, runs: Sequence[RunConnection]) -> dict[int, int]:
    """Return the number of the newest event of each job."""
    with database.session() as session:
        rows = session.execute(select(Job.id, Job.event_number).where(Job.id.in_([run.job_id for run in runs])))
        return {job_id: number for job_id, number in rows}  # noqa: C416  # dict() takes rows, but has no type for them
