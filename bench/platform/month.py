"""A month of checkpoints: the rows that the default retention leaves of jobs with a checkpoint interval of ten seconds, and a day of
checkpoints that must still be thinned.

The rows are loaded by COPY. The part measures pages of checkpoints and jobs, ``/metrics``, how fast the cleanup thins the day, and how
long a pass takes that thins the checkpoints of one minute.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import quote

import psycopg
from sqlalchemy import func, select, text

from bench.platform import api_reads
from bench.platform.endpoints import PAGE, PROMETHEUS, Page
from bench.platform.options import PlatformBenchOptions
from bench.platform.results import Aim, Measurement, Value
from bench.platform.server import TemporaryControlPlane
from bench.platform.table_filler import fill, table_bytes, vacuum
from bench.results import percentile
from weir_backend.housekeeping import service
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.jsonb import dumps
from weir_backend.models import Checkpoint, CheckpointState, Run
from weir_backend.settings import Settings
from weir_workers.schedule import PERIODIC_TASKS

JOBS = 100
INTERVAL_S = 10
DAYS = 30
PASSES = 10
"""The number of measured passes that thin the checkpoints of one minute."""
METRICS_MS = 200.0
CONTENTS = 1_000
"""The number of different contents of the loaded rows."""
_SUBTASKS = 4
_SECONDARY_INDEXES = """
    SELECT indexname, indexdef FROM pg_indexes
     WHERE tablename = 'checkpoints' AND indexname <> ALL (SELECT conname FROM pg_constraint)
"""
"""The indexes that are created after the rows are loaded, because this is faster."""
_COLUMNS = (
    "job_id", "run_id", "number", "generation", "state", "trigger", "is_savepoint", "parent", "triggered_at", "latest_ack_at",
    "completed_at", "end_to_end_ms", "state_bytes", "checkpointed_bytes", "subtasks", "acknowledged", "progress", "statistics",
    "discarded_at", "history_level",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stretch:
    """Checkpoints of one period, with one interval. ``since`` and ``until`` are the ages of the oldest and of the newest checkpoint, in days.
    ``level`` is the history level of the rows."""

    since: float
    until: float
    interval_s: int
    level: int


def stretches(settings: Settings, days: int) -> tuple[Stretch, ...]:
    """Return what is stored after ``days`` days. The first day after the full day is not thinned yet."""
    full = settings.checkpoints_full_days
    per_minute = full + settings.checkpoints_per_minute_days
    return (
        Stretch(days, per_minute, 3_600, 2),
        Stretch(per_minute, full + 1, 60, 1),
        Stretch(full + 1, 0, INTERVAL_S, 0),
    )


def measure(platform: TemporaryControlPlane, options: PlatformBenchOptions, log: Callable[[str], None]) -> Iterator[Measurement]:
    """Load a month of checkpoints, and measure the control plane with these rows."""
    jobs = min(JOBS, options.jobs)
    small = replace(options, jobs=jobs, checkpoints=2 * jobs, events=200 * jobs, sampled_jobs=min(5, jobs), samples_h=1.0)
    filled = fill(platform, small, log)
    log(f"  loading a month of checkpoints of {jobs} jobs")
    began = time.monotonic()
    loaded = load(platform.database, stretches(platform.settings, DAYS), random.Random(options.seed))
    seconds = time.monotonic() - began
    vacuum(platform.database)
    values: dict[str, Value] = {"jobs": jobs, "rows": loaded, "rows_per_s": loaded / seconds, "seconds": seconds}
    yield Measurement(
        "month", "loading by COPY", {**values, **_sizes(platform.database)}, wrong=_wrong_counters(platform.database)
    )
    yield from _pages(platform, options, filled.largest)
    yield _backlog(platform)
    yield _steady(platform)
    vacuum(platform.database)
    yield Measurement(
        "month", "tables after thinning", _sizes(platform.database), wrong=_wrong_counters(platform.database, loaded)
    )


def load(database: Database, parts: Sequence[Stretch], rng: random.Random) -> int:
    """Add completed checkpoints to the newest run of each job. Return the number of rows."""
    with database.session() as session:
        newest = select(func.max(Run.id)).group_by(Run.job_id)
        number = select(func.max(Checkpoint.number)).where(Checkpoint.job_id == Run.job_id).scalar_subquery()
        runs = session.execute(select(Run.job_id, Run.id, func.coalesce(number, 0)).where(Run.id.in_(newest))).all()
    rows, moment = 0, now()
    contents = [_content(rng) for _ in range(CONTENTS)]
    with database.session() as session:
        indexes = session.execute(text(_SECONDARY_INDEXES)).all()
        session.execute(text("".join(f"DROP INDEX {name};" for name, _ in indexes)))
    for job_id, run_id, last in runs:
        with database.session() as session:
            session.execute(text("SET LOCAL statement_timeout = 0"))
            connection = cast("psycopg.Connection[Any]", session.connection().connection.driver_connection)
            statement = f"COPY checkpoints ({', '.join(_COLUMNS)}) FROM STDIN"
            with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
                for offset, (at, level) in enumerate(times_of(parts, moment), 1):
                    copy.write_row(_row(job_id, run_id, last + offset, at, level, moment, contents[offset % CONTENTS]))
                    rows += 1
    with database.session() as session:
        session.execute(text("SET LOCAL statement_timeout = 0"))
        session.execute(text(";".join(definition for _, definition in indexes)))
    return rows


def times_of(parts: Sequence[Stretch], moment: datetime) -> Iterator[tuple[datetime, int]]:
    for part in parts:
        count = round((part.since - part.until) * 86_400 / part.interval_s)
        begin = moment - timedelta(days=part.since)
        for index in range(count):
            yield begin + timedelta(seconds=index * part.interval_s), part.level


def _content(rng: random.Random) -> tuple[int, int, str, str]:
    """Return the duration, the size, the progress and the statistics of a checkpoint."""
    took_ms, size = rng.randrange(30, 120), rng.randrange(1_000_000, 2_000_000)
    progress = dumps([[0, index, took_ms - index] for index in range(_SUBTASKS)])
    measured = {"sync_us": took_ms, "async_ms": took_ms / 2, "alignment_ms": 1.5, "start_delay_ms": 0.5, "state_bytes": size}
    return took_ms, size, progress, dumps([[0, index, measured] for index in range(_SUBTASKS)])


def _row(
    job_id: int, run_id: int, number: int, at: datetime, level: int, moment: datetime, content: tuple[int, int, str, str]
) -> tuple[object, ...]:
    took_ms, size, progress, statistics = content
    done = at + timedelta(milliseconds=took_ms)
    discarded = done + timedelta(minutes=2) if moment - done > timedelta(minutes=2) else None
    return (
        job_id, run_id, number, 1, CheckpointState.COMPLETED.value, "periodic", False, number - 1, at, done, done, took_ms, size, size // 10,
        _SUBTASKS, _SUBTASKS, progress, statistics, discarded, level,
    )  # fmt: skip


def _pages(platform: TemporaryControlPlane, options: PlatformBenchOptions, job_id: int) -> Iterator[Measurement]:
    with platform.database.session() as session:
        rows = session.scalar(select(func.count()).select_from(Checkpoint)) or 0
        newest = session.scalar(select(func.max(Checkpoint.id)).where(Checkpoint.job_id == job_id)) or 0
    for one in api_reads.one_by_one(platform, pages_of(job_id, newest), options.rounds):
        aim = one.aim
        if one.what.startswith(PROMETHEUS):
            slowest = cast("float", one.values["slowest_p95_ms"])
            aim = Aim(f"p95 < {METRICS_MS:.0f} ms", slowest < METRICS_MS if options.rounds >= api_reads.ROUNDS_MIN else None)
        yield replace(one, part="month", what=f"{one.what}, {rows:,} checkpoints", aim=aim)


def pages_of(job_id: int, checkpoint_id: int) -> list[Page]:
    """Return the pages that the web UI reads."""
    job, history = f"/api/v1/jobs/{job_id}", "/api/v1/checkpoints?range=[{0},{1}]&filter={2}&sort={3}"

    def listed(what: str, first: int = 0, sort: str = "number", **more: object) -> Page:
        wanted, order = (quote(json.dumps(one)) for one in ({"job_id": job_id, **more}, [sort, "DESC"]))
        return Page("list_checkpoints", what, history.format(first, first + PAGE - 1, wanted, order))

    return [
        listed("first page of a job"),
        listed("page 400 of a job", first=400 * PAGE - PAGE),
        listed("of a job, by duration", sort="end_to_end_ms"),
        listed("failed ones of a job", state="FAILED"),
        listed("savepoints of a job", is_savepoint=True),
        Page("list_checkpoints", "first page", "/api/v1/checkpoints?range=[0,24]"),
        Page("get_checkpoint", "", f"/api/v1/checkpoints/{checkpoint_id}"),
        Page("get_checkpoint_summary", "of the last 100", f"{job}/checkpoints/summary"),
        Page("get_checkpoint_summary", "of the last 10,000", f"{job}/checkpoints/summary?last=10000"),
        Page("get_checkpoint_series", "of the last 100", f"{job}/checkpoints/series"),
        Page("list_jobs", "first page", "/api/v1/jobs?range=[0,24]"),
        Page("get_job", "", job),
        Page(PROMETHEUS, "", "/metrics", aimed=False),
    ]


def _backlog(platform: TemporaryControlPlane) -> Measurement:
    """Run the rounds of the cleanup until the day is thinned."""
    seconds: list[float] = []
    deleted: list[int] = []
    while not deleted or deleted[-1]:
        began = time.monotonic()
        deleted.append(_round(platform.database, platform.settings))
        seconds.append(time.monotonic() - began)
    rows = sum(deleted)
    values: dict[str, Value] = {
        "rows": rows, "passes": len(seconds), "seconds": sum(seconds), "pass_max_s": max(seconds), "rows_per_s": rows / sum(seconds),
    }  # fmt: skip
    return Measurement("month", "thinning one day", values)


def _steady(platform: TemporaryControlPlane) -> Measurement:
    """Measure passes in which the checkpoints of one more minute are old enough."""
    ms: list[float] = []
    rows = 0
    for minute in range(1, PASSES + 1):
        aged = platform.settings.model_copy(update={"checkpoints_full_days": 1 - minute / 1_440})
        began = time.monotonic()
        rows += _round(platform.database, aged)
        ms.append(1000 * (time.monotonic() - began))
    every_s = next(one.every_s for one in PERIODIC_TASKS if one.task == "weir.housekeeping")
    values: dict[str, Value] = {"rows": rows, "passes": len(ms), "pass_p50_ms": percentile(ms, 0.5), "pass_max_s": max(ms) / 1000}
    return Measurement(
        "month", "thinning one minute", values, Aim(f"a pass takes less than {every_s:.0f} s", max(ms) < 1000 * every_s)
    )


def _round(database: Database, settings: Settings) -> int:
    return sum(service.run_round(database.session, settings, time.monotonic).values())


def _sizes(database: Database) -> dict[str, Value]:
    return {
        "table_mb": table_bytes(database, "checkpoints") / 1e6,
        "index_mb": table_bytes(database, "ix_checkpoints_history") / 1e6,
    }


def _wrong_counters(database: Database, at_least: int = 0) -> str | None:
    """Compare the counters of all jobs with the stored rows, or with the number of rows before thinning."""
    with database.session() as session:
        counted = session.scalar(text("SELECT sum(completed_checkpoints) FROM jobs")) or 0
        stored = session.scalar(select(func.count()).where(Checkpoint.state == CheckpointState.COMPLETED)) or 0
    if at_least:
        return None if counted >= at_least > stored else f"the counters show {counted:,} of {at_least:,} checkpoints"
    return None if counted == stored else f"the counters show {counted:,} of {stored:,} checkpoints"
