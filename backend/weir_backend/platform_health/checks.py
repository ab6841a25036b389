"""The checks of the components of the platform. Each check blocks until the component answers."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import redis
from kombu.exceptions import OperationalError
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from weir_backend.kit import heartbeats
from weir_backend.kit.broker import WorkerDirectory
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import QUEUES
from weir_backend.models import Job, Run
from weir_backend.platform_health.monitor import CheckFailed, Component, ComponentCheck
from weir_backend.runs.reachability import RUN_UNREACHABLE_AFTER, unreachable_before
from weir_backend.settings import Settings

FREE_BYTES_MIN = 1 << 30
WORKERS_S = 1.0
"""How long a check waits for the answers of the workers. A worker answers within milliseconds, even while it runs tasks."""
FORGET_WORKER_S = 600.0
"""A worker that has not answered for this long was probably removed."""
BEAT_MAX = timedelta(seconds=40)
"""Beat enqueues the evaluation of alert rules every 15 s."""
FIRST_BEAT_MAX = timedelta(seconds=60)
STORAGE_EVERY_S = 20.0
POSTGRES_NEXT_STEP = "Check the server of the database."
_NAMES_MAX = 3


def component_checks(settings: Settings, database: Database) -> Sequence[ComponentCheck]:
    """Return the checks. ``database`` has a connection pool of its own, so that requests do not keep the checks waiting."""
    return (
        ComponentCheck(Component.POSTGRES, "Postgres", lambda: check_postgres(database), POSTGRES_NEXT_STEP),
        ComponentCheck(Component.REDIS, "Redis", RedisCheck(settings.redis_url.get_secret_value()), "Check the server of Redis."),
        ComponentCheck(
            Component.WORKERS, "the workers", WorkersCheck(WorkerDirectory(settings.redis_url.get_secret_value())).run,
            "Start or restart the workers.",
        ),
        ComponentCheck(Component.BEAT, "Beat", lambda: _in_session(database, check_beat), "Start or restart Celery beat."),
        ComponentCheck(
            Component.STORAGE, "the data directory", lambda: check_storage(settings.data_dir),
            "Check the file system of the data directory.", every_s=STORAGE_EVERY_S,
        ),
        ComponentCheck(Component.DRIVERS, "Postgres", lambda: _in_session(database, check_drivers)),
    )  # fmt: skip


def _in_session(database: Database, check: Callable[[Session, datetime], str]) -> str:
    try:
        with database.session() as session:
            return check(session, now())
    except SQLAlchemyError as error:
        raise CheckFailed(f"Postgres does not answer ({type(error).__name__}).") from None


def check_postgres(database: Database) -> str:
    try:
        database.ping()
    except SQLAlchemyError as error:
        raise CheckFailed(f"Postgres does not answer: {_first_line(error)}.") from None
    return "Postgres answers."


class RedisCheck:
    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url, socket_timeout=5.0, socket_connect_timeout=5.0)

    def __call__(self) -> str:
        try:
            waiting = sum(int(self._client.llen(queue)) for queue in QUEUES)
        except redis.RedisError as error:
            raise CheckFailed(f"Redis does not answer: {_first_line(error)}.") from None
        return f"Redis answers; {waiting} {'task waits' if waiting == 1 else 'tasks wait'} for a worker."


class WorkersCheck:
    """Checks that each queue has a worker that answers. A worker that does not answer any more is only named if other workers serve its queues,
    because it may have been removed."""

    def __init__(self, directory: WorkerDirectory, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._directory = directory
        self._clock_s = clock_s
        self._answers: dict[str, tuple[float, frozenset[str]]] = {}
        """The time of the last answer of each worker, and the queues in this answer."""

    def run(self) -> str:
        try:
            queues = self._directory.queues_of_workers(timeout_s=WORKERS_S, expected=len(self._answers))
        except (OperationalError, OSError) as error:
            raise CheckFailed(f"The workers cannot be asked, because Redis does not answer: {_first_line(error)}.") from None
        now_s = self._clock_s()
        self._answers |= {name: (now_s, own) for name, own in queues.items()}
        self._answers = {name: one for name, one in self._answers.items() if now_s - one[0] <= FORGET_WORKER_S}
        if not queues:
            raise CheckFailed("No worker answers. Weir does not start, stop or recover jobs until a worker answers.")
        served = frozenset().union(*queues.values())
        unserved = [queue for queue in QUEUES if queue not in served]
        silent = [(name, last_s, own) for name, (last_s, own) in self._answers.items() if name not in queues]
        silent.sort(key=lambda one: one[2].isdisjoint(unserved))  # a worker of an unserved queue first
        described = f"The worker {silent[0][0]} has not answered for {now_s - silent[0][1]:.0f} s" if silent else ""
        if unserved and described:
            raise CheckFailed(f"{described}, and no other worker takes tasks from the {_list('queue', unserved)}.")
        if unserved:
            raise CheckFailed(f"No worker takes tasks from the {_list('queue', unserved)}.")
        answering = f"{len(queues)} {'worker answers' if len(queues) == 1 else 'workers answer'}."
        return f"{answering} {described}; other workers take its tasks." if described else answering


def check_beat(session: Session, moment: datetime) -> str:
    """Check that periodic tasks run: Beat enqueues them, and a worker runs them."""
    last = heartbeats.last_seen(session, heartbeats.Component.ALERTS)
    if last is None:
        up_since = heartbeats.alive_since(session, moment, (heartbeats.Component.API,))
        if up_since is not None and up_since < moment - FIRST_BEAT_MAX:
            raise CheckFailed("No periodic task has ever run, so Weir does not recover jobs or evaluate alert rules.")
        return "No periodic task has run yet."
    if last < moment - BEAT_MAX:
        silent_s = (moment - last).total_seconds()
        raise CheckFailed(
            f"Periodic tasks have not run for {silent_s:.0f} s, so Weir does not recover jobs or evaluate alert rules."
        )
    return "Periodic tasks run."


def check_storage(directory: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(directory).free
    except OSError as error:
        raise CheckFailed(f"Weir cannot write to {directory}: {error.strerror}.") from None
    if free < FREE_BYTES_MIN:
        raise CheckFailed(f"{directory} has {free / (1 << 20):,.0f} MB of free space.", "Free at least 1 GB.")
    return f"{directory} has {free / (1 << 30):,.0f} GB of free space."


def check_drivers(session: Session, moment: datetime) -> str:
    """Check that drivers reach the control plane. If some drivers do, the silence of the others is a problem of their jobs, and not of the
    platform."""
    live = select(Job.name).join(Run, Run.job_id == Job.id).where(Run.ended_at.is_(None), Run.last_contact_at.is_not(None))
    names = session.scalars(live).all()
    limit = unreachable_before(session, moment)
    silent = [] if limit is None else session.scalars(live.where(Run.last_contact_at < limit).order_by(Job.name)).all()
    if silent and len(silent) == len(names):
        raise CheckFailed(
            f"No driver has contacted the control plane for {RUN_UNREACHABLE_AFTER.total_seconds():.0f} s ({_list('job', silent)}).",
            "Check that the hosts of the drivers can reach the API.",
        )
    if silent:
        return f"{len(names) - len(silent)} of {len(names)} drivers are in contact; without contact: {_list('job', silent)}."
    return "No driver runs." if not names else f"{len(names)} {'driver is' if len(names) == 1 else 'drivers are'} in contact."


def _list(what: str, names: Sequence[str]) -> str:
    """Return for example "queues a and b", or "jobs a, b, c and 4 more"."""
    shown, more = list(names[:_NAMES_MAX]), len(names) - _NAMES_MAX
    if more > 0:
        return f"{what}s {', '.join(shown)} and {more} more"
    return f"{what} {shown[0]}" if len(shown) == 1 else f"{what}s {', '.join(shown[:-1])} and {shown[-1]}"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
