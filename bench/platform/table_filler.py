"""Fills the tables. First the accounts are written, then some jobs (by one process per core), then copies of these jobs' rows."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import timedelta
from logging import ERROR
from typing import Any

import structlog
from sqlalchemy import func, select, text

from bench.platform.graph import graph
from bench.platform.job_copies import copy_jobs
from bench.platform.job_writer import JobScript, JobWriter, RowCounts, write_job
from bench.platform.options import PlatformBenchOptions
from bench.platform.server import TemporaryControlPlane
from weir.protocol.events import DriverState
from weir_backend.artifacts import service as artifacts
from weir_backend.auth.tokens import service as tokens
from weir_backend.auth.users import service as users
from weir_backend.kit.access import Caller, permissions_of
from weir_backend.kit.database import Database
from weir_backend.models import Checkpoint, Event, Job, MetricSample, Role, User
from weir_backend.settings import Settings

LARGEST = 0.05
"""The first job's share of all checkpoints and events. The first job is the largest, because real installations have jobs of
different sizes."""
COPIED = 20
"""The number of jobs that are templates for copies. One of these templates is suspended, and one has finished."""
ENDS = {3: DriverState.SUSPENDED, 7: DriverState.FINISHED}
JOBS_AT_ONCE = 2
USERS = 200
TOKENS_OF_A_USER = 5
CODE = b'"""The job of the benchmark: see bench/platform/graph.py."""\n'
LOG_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FilledTables:
    """``largest``: id of the job with the most rows. ``writer``: deploys more jobs."""

    writer: JobWriter
    rows: RowCounts
    largest: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FillPlan:
    """``scripts``: jobs to write, the largest first. ``templates``: the last jobs of ``scripts``, which are copied.
    ``copies``: the number of copies."""

    scripts: list[JobScript]
    templates: list[JobScript]
    copies: int


def fill_plan(options: PlatformBenchOptions) -> FillPlan:
    checkpoints, events = _shares(options.checkpoints, options.jobs), _shares(options.events, options.jobs)
    count = min(options.jobs, options.sampled_jobs + COPIED)
    scripts = []
    for number in range(count):
        samples_s = int(options.samples_h * 3600) if number == 0 else 900 if number < options.sampled_jobs else 0
        end = ENDS.get(number - options.sampled_jobs)
        own = 0 if number == 0 else 1
        scripts.append(
            JobScript(f"orders-{number:04d}", checkpoints[own], events[own], samples_s, end, options.seed * 1_000_003 + number)
        )
    return FillPlan(scripts, scripts[options.sampled_jobs :], options.jobs - count)


def _shares(total: int, jobs: int) -> tuple[int, int]:
    """Divide ``total``: return the share of the largest job, and the share of each other job."""
    each = int(total * (1 - LARGEST)) // max(1, jobs - 1)
    each = min(each, total // jobs)
    return total - each * (jobs - 1), each


def fill(platform: TemporaryControlPlane, options: PlatformBenchOptions, log: Callable[[str], None]) -> FilledTables:
    began = time.monotonic()
    caller, digest = _prepare(platform)
    rows, filling = RowCounts(), fill_plan(options)
    context = multiprocessing.get_context("spawn")
    compiled = graph()
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context, initializer=quiet) as pool:
        batches = [
            pool.submit(_write_jobs, platform.settings, caller, digest, compiled, batch) for batch in _batches(filling.scripts)
        ]
        shown = began
        for done in as_completed(batches):
            rows.add(done.result())
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                log(f"  filled {rows.jobs:,} jobs, {rows.checkpoints:,} checkpoints, {rows.events:,} events")
    log(f"  copying {filling.copies:,} jobs")
    rows.add(_copy(platform.database, filling))
    vacuum(platform.database)
    with platform.database.session() as session:
        largest = session.scalars(select(Job.id).where(Job.name == filling.scripts[0].name)).one()
    _write_log(platform, largest)
    writer = JobWriter(platform.settings, platform.database, caller, digest, compiled)
    return FilledTables(writer, rows, largest, time.monotonic() - began)


def find_error(database: Database, rows: RowCounts) -> str | None:
    """Return the tables with missing or duplicate rows, or None."""
    tables = {"jobs": Job, "checkpoints": Checkpoint, "events": Event, "samples": MetricSample}
    with database.session() as session:
        found = {name: session.scalar(select(func.count()).select_from(table)) for name, table in tables.items()}
    differing = [
        f"{found[name]:,} {name} instead of {getattr(rows, name):,}" for name in tables if found[name] != getattr(rows, name)
    ]
    return ", ".join(differing) or None


def quiet() -> None:
    """Suppress the services' log messages below ERROR."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR))


def _batches(scripts: Sequence[JobScript]) -> Iterator[tuple[JobScript, ...]]:
    """Yield batches of jobs. The largest job is a batch by itself and comes first, because it takes longest."""
    yield (scripts[0],)
    for begin in range(1, len(scripts), JOBS_AT_ONCE):
        yield tuple(scripts[begin : begin + JOBS_AT_ONCE])


def _copy(database: Database, filling: FillPlan) -> RowCounts:
    """Copy jobs. Return how many rows were added to each table."""
    if not filling.copies:
        return RowCounts()
    with database.session() as session:
        copied = session.scalars(
            select(Job.id).where(Job.name.in_([one.name for one in filling.templates])).order_by(Job.id)
        ).all()
    copy_jobs(database, copied, filling.copies)
    template = filling.templates[0]
    return RowCounts(filling.copies, filling.copies * template.checkpoints, filling.copies * template.events)


def _write_jobs(
    settings: Settings, caller: Caller, digest: str, compiled: dict[str, Any], scripts: Sequence[JobScript]
) -> RowCounts:
    """Write jobs, and return how many rows were added to each table. Runs in a child process."""
    database = Database(settings.sqlalchemy_url, pool_size=1, name="weir bench")
    rows = RowCounts()
    try:
        writer = JobWriter(settings, database, caller, digest, compiled)
        for script in scripts:
            rows.add(write_job(writer, script))
    finally:
        database.close()
    return rows


def _prepare(platform: TemporaryControlPlane) -> tuple[Caller, str]:
    """Create accounts with tokens, and artifacts. Return the administrator and an artifact's digest."""
    with platform.database.session() as session:
        administrator = session.scalars(select(User).order_by(User.id).limit(1)).one()
        caller = _caller(administrator, Role.ADMIN)
        found, _ = artifacts.upload(session, caller, name="orders.py", data=CODE)
        digest = found.digest
        for number in range(50):
            artifacts.upload(session, caller, name=f"orders_{number}.py", data=CODE + b"\n" * number)
    with platform.database.session() as session:
        for number in range(USERS):
            role = (Role.VIEWER, Role.OPERATOR)[number % 2]
            user = users.create(session, caller, f"user-{number:03d}", role, rollback=number % 4 == 1, password_hash=None)
            for token in range(TOKENS_OF_A_USER):
                name = f"pipeline-{token}"
                tokens.create(session, _caller(user, role), name, role, rollback=False, expires_in=timedelta(days=90))
    return caller, digest


def _caller(user: User, role: Role) -> Caller:
    return Caller(user.id, user.name, permissions_of(role, rollback=True))


def vacuum(database: Database) -> None:
    """Vacuum all tables, as autovacuum does while tables grow over weeks."""
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text("VACUUM (ANALYZE)"))
        connection.execute(text("CHECKPOINT"))
        connection.execute(text("RESET statement_timeout"))


def table_bytes(database: Database, name: str) -> int:
    """Return the size of a table with its indexes, or of one index."""
    with database.session() as session:
        return int(session.scalar(text("SELECT pg_total_relation_size(CAST(:name AS regclass))"), {"name": name}) or 0)


def _write_log(platform: TemporaryControlPlane, job_id: int) -> None:
    """Write a log file for the newest run of a job, so that the benchmark can read a log."""
    with platform.database.session() as session:
        name = session.execute(
            text("SELECT directory FROM runs WHERE job_id = :job ORDER BY number DESC LIMIT 1"), {"job": job_id}
        ).scalar_one()
    folder = platform.settings.data_dir / "runs" / name
    folder.mkdir(parents=True)
    (folder / "driver.log").write_bytes(b"checkpoint completed\n" * (LOG_BYTES // 21))
