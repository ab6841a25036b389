"""Event ingest over HTTP into tables that already contain many rows. The drivers catch up: each driver sends its next
batch as soon as the previous batch is acknowledged.

Request bodies are created in advance, so drivers use almost no CPU. After the measurement, the stored rows are counted by kind.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import func, select

from bench.platform.client import Client
from bench.platform.driver_events import ExpectedRows, RequestBody, batch, batches, numbered
from bench.platform.graph import SUBTASKS
from bench.platform.job_writer import JobWriter, RunConnection
from bench.platform.resource_usage import Usage, usage
from bench.platform.results import Aim, Measurement, Value
from bench.platform.server import TemporaryControlPlane
from bench.results import percentile
from weir.protocol.events import DriverState, Event, GraphDeployed, RunStateChanged
from weir.protocol.ids import Generation
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.models import Checkpoint, CheckpointState, MetricSample, Run
from weir_backend.models import Event as LogEntry

EVENTS_PER_S = 5_000
CATCHING_UP = 100
"""The target applies only to batches of at least ``CATCHING_UP`` events, because a driver that catches up sends large batches.
Smaller batches show the cost of a request."""
BEGIN = 3
"""Number of events that each run sends before the measurement."""


@dataclass(slots=True)
class SentEvents:
    """The events that one driver has sent and the API has acknowledged. ``ms``: duration of each request."""

    last: int = BEGIN
    rows: list[ExpectedRows] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)
    problem: str | None = None


def new_runs(platform: TemporaryControlPlane, writer: JobWriter, name: str, count: int) -> list[RunConnection]:
    """Create jobs whose drivers have reported that they run. Return their runs."""
    found = [writer.live_run(writer.deploy(f"{name}-{number}")) for number in range(count)]
    begin: list[Event] = [
        GraphDeployed(writer.graph),
        RunStateChanged(DriverState.INITIALIZING, Generation(1)),
        RunStateChanged(DriverState.RUNNING, Generation(1)),
    ]
    assert len(begin) == BEGIN
    for run in found:
        with Client(platform.url, run.token) as client:
            problem = post(client, run, batch(numbered(begin, first=1, at_ms=_now_ms())))
            assert problem is None, problem
    return found


def post(client: Client, run: RunConnection, one: RequestBody) -> str | None:
    """Send a batch. Return the error, or None if all events are stored."""
    answer = client.post(f"/api/v1/runs/{run.run_id}/events?first={one.first}&oldest={one.first}", one.body)
    if answer.status != 200:
        return f"run {run.run_id}: {answer.status} {answer.body[:200].decode(errors='replace')}"
    stored = answer.json()["stored"]
    if stored == one.last:
        return None
    return f"run {run.run_id}: the API stored events up to {stored}, but the driver sent events up to {one.last}"


def measure(
    platform: TemporaryControlPlane, writer: JobWriter, *, size: int, drivers: int, seconds: float, seed: int
) -> Measurement:
    """Measure ingest with batches of ``size`` events."""
    rate = _rate(platform, writer, size, drivers, seed)
    # Create enough batches for one and a half times the estimated rate. A driver stops when it has sent all its batches.
    count = max(20, int(1.5 * rate * seconds / size / drivers))
    runs = new_runs(platform, writer, f"ingest-{size}", drivers)
    before = usage(platform.api, platform.postgres)
    sent = _drive(platform, runs, _made(count, size, seed), seconds)
    used = usage(platform.api, platform.postgres).since(before)
    events = sum(one.last - BEGIN for one in sent)
    values: dict[str, Value] = {"events_per_batch": size, "drivers": drivers, **rates(events, used), **_requests(sent)}
    met = events / used.at >= EVENTS_PER_S
    aim = Aim(f"at least {EVENTS_PER_S:,} events/s", met) if size >= CATCHING_UP else None
    return Measurement("ingest", f"batches of {size}, {drivers} drivers", values, aim, find_error(platform.database, runs, sent))


def rates(events: int, used: Usage) -> dict[str, float]:
    """Return events per second and CPU seconds per thousand events. ``*_cores``: the average number of busy cores."""
    return {
        "seconds": used.at,
        "events": events,
        "events_per_s": events / used.at,
        "api_cores": used.api / used.at,
        "postgres_cores": used.postgres / used.at,
        "bench_cores": used.bench / used.at,
        "api_cpu_s_per_1000": 1000 * used.api / max(1, events),
        "postgres_cpu_s_per_1000": 1000 * used.postgres / max(1, events),
    }


def find_error(database: Database, runs: Sequence[RunConnection], sent: Sequence[SentEvents]) -> str | None:
    """Return the errors of requests and the differences between sent and stored events, or None."""
    problems = [one.problem for one in sent if one.problem is not None]
    for run, one in zip(runs, sent, strict=True):
        problems += _differing(database, run, one)
    return "; ".join(problems[:5]) or None


def _differing(database: Database, run: RunConnection, sent: SentEvents) -> list[str]:
    events, completed = sent.last - BEGIN, sum(rows.completed for rows in sent.rows)
    expected = {
        "stored events": sent.last,
        "entries of the log": BEGIN + sum(rows.logged for rows in sent.rows),
        "samples": sum(rows.samples for rows in sent.rows),
        "completed checkpoints": completed,
        "acknowledgements": events - sum(rows.logged + rows.samples for rows in sent.rows),
    }
    with database.session() as session:
        own = Checkpoint.run_id == run.run_id
        progress = select(func.coalesce(func.sum(func.jsonb_array_length(Checkpoint.progress)), 0)).where(own)
        found = {
            "stored events": session.scalar(select(Run.stored_event).where(Run.id == run.run_id)),
            "entries of the log": session.scalar(
                select(func.count()).where(LogEntry.job_id == run.job_id, LogEntry.run_event.is_not(None)).select_from(LogEntry)
            ),
            "samples": session.scalar(select(func.count()).where(MetricSample.run_id == run.run_id).select_from(MetricSample)),
            "completed checkpoints": session.scalar(
                select(func.count()).where(own, Checkpoint.state == CheckpointState.COMPLETED).select_from(Checkpoint)
            ),
            "acknowledgements": session.scalar(progress),
        }
    assert completed * SUBTASKS <= expected["acknowledgements"]
    return [
        f"run {run.run_id}: {found[name]} {name} instead of {expected[name]}"
        for name in expected
        if found[name] != expected[name]
    ]


def _rate(platform: TemporaryControlPlane, writer: JobWriter, size: int, drivers: int, seed: int) -> float:
    """Measure for about two seconds, and return the estimated rate in events per second. The rate determines the number of
    batches to create."""
    runs = new_runs(platform, writer, f"warm-{size}", drivers)
    began = time.monotonic()
    sent = _drive(platform, runs, _made(max(10, 40_000 // size // drivers), size, seed), 2.0)
    return sum(one.last - BEGIN for one in sent) / (time.monotonic() - began)


def _made(count: int, size: int, seed: int) -> list[RequestBody]:
    rng = random.Random(seed)
    return batches(count, size, random=rng, at_ms=_now_ms(), first=BEGIN + 1)


def _drive(
    platform: TemporaryControlPlane, runs: Sequence[RunConnection], made: Sequence[RequestBody], seconds: float
) -> list[SentEvents]:
    sent = [SentEvents() for _ in runs]
    until = time.monotonic() + seconds

    def drive(run: RunConnection, own: SentEvents) -> None:
        with Client(platform.url, run.token) as client:
            for one in made:
                began = time.monotonic()
                if began >= until:
                    return
                own.problem = post(client, run, one)
                own.ms.append((time.monotonic() - began) * 1000)
                if own.problem is not None:
                    return
                own.last = one.last
                own.rows.append(one.rows)

    threads = [threading.Thread(target=drive, args=pair) for pair in zip(runs, sent, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sent


def _requests(sent: Sequence[SentEvents]) -> dict[str, float | None]:
    ms = [one for own in sent for one in own.ms]
    return {"requests": len(ms), "request_p50_ms": percentile(ms, 0.5), "request_p95_ms": percentile(ms, 0.95)}


def _now_ms() -> int:
    return int(now().timestamp() * 1000)
