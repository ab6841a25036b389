"""Filling the tables: accounts, then the stories of some jobs, one process for each core, and copies of what they have left in the tables."""

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

from bench.platform.copies import copy_jobs
from bench.platform.graph import graph
from bench.platform.options import Plan
from bench.platform.serving import Platform
from bench.platform.stories import Author, Told, Wanted, tell_story
from weir.protocol.events import RunState
from weir_backend.artifacts import service as artifacts
from weir_backend.auth.tokens import service as tokens
from weir_backend.auth.users import service as users
from weir_backend.kit.access import Caller, permissions_of
from weir_backend.kit.database import Database
from weir_backend.models import Checkpoint, Event, Job, MetricSample, Role, User
from weir_backend.settings import Settings

LARGEST = 0.05
"""Share of the first job of all checkpoints and events: installations are not even."""
COPIED = 20
"""So many jobs are copied, if there are to be more: a twentieth of them is suspended, a twentieth has finished."""
ENDS = {3: RunState.SUSPENDED, 7: RunState.FINISHED}
JOBS_AT_ONCE = 2
USERS = 200
TOKENS_OF_A_USER = 5
CODE = b'"""The job of the benchmark: see bench/platform/graph.py."""\n'
LOG_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Filled:
    """``largest``: id of the job with most of everything. ``author``: of further jobs."""

    author: Author
    told: Told
    largest: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Stories:
    """``told`` by the services, the largest job first; of the last of them, ``copied``, there are ``copies`` in all."""

    told: list[Wanted]
    copied: list[Wanted]
    copies: int


def stories(plan: Plan) -> Stories:
    checkpoints, events = _shares(plan.checkpoints, plan.jobs), _shares(plan.events, plan.jobs)
    count = min(plan.jobs, plan.sampled_jobs + COPIED)
    told = []
    for place in range(count):
        samples_s = int(plan.samples_h * 3600) if place == 0 else 900 if place < plan.sampled_jobs else 0
        end = ENDS.get(place - plan.sampled_jobs)
        own = 0 if place == 0 else 1
        told.append(Wanted(f"orders-{place:04d}", checkpoints[own], events[own], samples_s, end, plan.seed * 1_000_003 + place))
    return Stories(told, told[plan.sampled_jobs :], plan.jobs - count)


def _shares(total: int, jobs: int) -> tuple[int, int]:
    """Of the largest job, and of each other."""
    each = int(total * (1 - LARGEST)) // max(1, jobs - 1)
    each = min(each, total // jobs)
    return total - each * (jobs - 1), each


def fill(platform: Platform, plan: Plan, say: Callable[[str], None]) -> Filled:
    began = time.monotonic()
    caller, digest = _prepare(platform)
    told, wanted = Told(), stories(plan)
    context = multiprocessing.get_context("spawn")
    compiled = graph()
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context, initializer=quiet) as pool:
        pieces = [
            pool.submit(_tell_stories, platform.settings, caller, digest, compiled, piece) for piece in _pieces(wanted.told)
        ]
        shown = began
        for done in as_completed(pieces):
            told.add(done.result())
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                say(f"  filled {told.jobs:,} jobs, {told.checkpoints:,} checkpoints, {told.events:,} events")
    say(f"  copying {wanted.copies:,} jobs")
    told.add(_copy(platform.database, wanted))
    _vacuum(platform.database)
    with platform.database.session() as session:
        largest = session.scalars(select(Job.id).where(Job.name == wanted.told[0].name)).one()
    _write_log(platform, largest)
    author = Author(platform.settings, platform.database, caller, digest, compiled)
    return Filled(author, told, largest, time.monotonic() - began)


def wrong(database: Database, told: Told) -> str | None:
    """What is not there, or twice."""
    tables = {"jobs": Job, "checkpoints": Checkpoint, "events": Event, "samples": MetricSample}
    with database.session() as session:
        found = {name: session.scalar(select(func.count()).select_from(table)) for name, table in tables.items()}
    differing = [
        f"{found[name]:,} {name} instead of {getattr(told, name):,}" for name in tables if found[name] != getattr(told, name)
    ]
    return ", ".join(differing) or None


def quiet() -> None:
    """What the services log of each job is of no interest here."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(ERROR))


def _pieces(stories: Sequence[Wanted]) -> Iterator[tuple[Wanted, ...]]:
    """The largest one for itself: it takes longest, and begins first."""
    yield (stories[0],)
    for begin in range(1, len(stories), JOBS_AT_ONCE):
        yield tuple(stories[begin : begin + JOBS_AT_ONCE])


def _copy(database: Database, wanted: Stories) -> Told:
    """What is added by it."""
    if not wanted.copies:
        return Told()
    with database.session() as session:
        copied = session.scalars(select(Job.id).where(Job.name.in_([one.name for one in wanted.copied])).order_by(Job.id)).all()
    copy_jobs(database, copied, wanted.copies)
    each = wanted.copied[0]
    return Told(wanted.copies, wanted.copies * each.checkpoints, wanted.copies * each.events)


def _tell_stories(settings: Settings, caller: Caller, digest: str, compiled: dict[str, Any], stories: Sequence[Wanted]) -> Told:
    """In a process of its own."""
    database = Database(settings.sqlalchemy_url, pool_size=1, name="weir bench")
    told = Told()
    try:
        author = Author(settings, database, caller, digest, compiled)
        for story in stories:
            told.add(tell_story(author, story))
    finally:
        database.close()
    return told


def _prepare(platform: Platform) -> tuple[Caller, str]:
    """Accounts with tokens, and an artifact."""
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


def _vacuum(database: Database) -> None:
    """As autovacuum will have done where tables have grown over weeks."""
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("SET statement_timeout = 0"))
        connection.execute(text("VACUUM (ANALYZE)"))
        connection.execute(text("CHECKPOINT"))
        connection.execute(text("RESET statement_timeout"))


def _write_log(platform: Platform, job_id: int) -> None:
    """Of the newest run of that job, so that there is something to read."""
    with platform.database.session() as session:
        name = session.execute(
            text("SELECT directory FROM runs WHERE job_id = :job ORDER BY number DESC LIMIT 1"), {"job": job_id}
        ).scalar_one()
    folder = platform.settings.data_dir / "runs" / name
    folder.mkdir(parents=True)
    (folder / "driver.log").write_bytes(b"checkpoint completed\n" * (LOG_BYTES // 21))
