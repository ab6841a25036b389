"""Whether tables stay in bounds: the worker's chores with a short retention, bite by bite, beside what a busy installation adds."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select, text

from bench.platform.history import LOGGED_A_ROUND, ROUND, SAMPLES_A_CHECKPOINT
from bench.platform.ingest import EVENTS_PER_S, new_runs
from bench.platform.offered import offer
from bench.platform.options import Plan
from bench.platform.results import Aim, Measurement, Value
from bench.platform.serving import Platform
from bench.platform.stories import Author
from weir_backend.housekeeping import service
from weir_backend.kit.database import Database
from weir_backend.models import Checkpoint, CheckpointState, Event, MetricSample
from weir_backend.settings import Settings
from weir_workers.schedule import REPEATED

ROWS_PER_S = EVENTS_PER_S * (LOGGED_A_ROUND + SAMPLES_A_CHECKPOINT) / ROUND
"""Rows of the log and of samples that the ingest makes where it reaches its aim."""
TABLES = {"metric samples": MetricSample, "events": Event, "failed checkpoints": Checkpoint}


@dataclass(frozen=True, slots=True)
class Bite:
    rows: int
    seconds: float


def all_forgotten(platform: Platform) -> list[Measurement]:
    """With a retention of nothing all that may go goes: how fast, and does the last bite take longer than the first?"""
    settings = _kept(platform.settings, seconds=0.001)
    kept, share = _completed(platform.database), service.ROUND_S / _every_s()
    found = []
    for chore in service.CHORES:
        if chore.name not in TABLES:
            continue
        table = TABLES[chore.name].__tablename__
        size = _bytes(platform.database, table)
        bites = _bites(platform.database, settings, chore)
        rows, seconds = sum(bite.rows for bite in bites), sum(bite.seconds for bite in bites)
        values: dict[str, Value] = {
            "rows": rows,
            "bites": len(bites),
            "rows_per_s": rows / seconds,
            "rows_per_s_in_rounds": rows / seconds * share,
            **_times(bites),
            "table_mb": size / 1e6,
        }
        left = _left(platform.database, chore.name)
        aim = None
        if chore.name == "metric samples" and len(bites) > 10:
            met = rows / seconds * share > ROWS_PER_S
            aim = Aim(f"more than {ROWS_PER_S:,.0f} rows/s, which {EVENTS_PER_S:,} events/s leave", met)
        found.append(Measurement("growth", f"forgetting {chore.name}", values, aim, f"{left:,} rows are left" if left else None))
    if (still := _completed(platform.database)) != kept:
        found.append(Measurement("growth", "completed checkpoints", {}, None, f"{still:,} of {kept:,} are left: none may go"))
    return found


def steady(platform: Platform, author: Author, plan: Plan) -> Measurement:
    """Events come in while chores run, many times as often as in life and with as much shorter a retention: rows must not grow on."""
    runs = new_runs(platform, author, "steady", 20)
    kept_s, every_s = plan.seconds / 5, plan.seconds / 10
    settings = _kept(platform.settings, seconds=kept_s)
    stop = threading.Event()
    rows: list[int] = []

    def look() -> None:
        while not stop.wait(every_s):
            for chore in service.CHORES:
                _bites(platform.database, settings, chore)
            rows.append(_rows(platform.database))

    before = _rows(platform.database)
    worker = threading.Thread(target=look)
    worker.start()
    try:
        found = offer(platform, runs, per_s=plan.offered, seconds=2 * plan.seconds, seed=plan.seed)
    finally:
        stop.set()
        worker.join()
    made = sum(one.logged + one.samples for driver in found.drivers for one in driver.rows)
    per_s = made / found.seconds
    # What is as old as it is kept for waits for the next round; a round may itself take a moment.
    most = before + per_s * (kept_s + 2 * every_s)
    values: dict[str, Value] = {
        "rows_made": made,
        "rows_made_per_s": per_s,
        "kept_s": kept_s,
        "every_s": every_s,
        "rows_most": max(rows, default=None),
        "rows_last": rows[-1] if rows else None,
        "rows_expected_at_most": most,
    }
    aim = Aim("no more rows than are kept for", max(rows) <= most if rows else None)
    return Measurement("growth", f"{plan.offered:,} events/s while it is forgotten", values, aim)


def _bites(database: Database, settings: Settings, chore: service.Chore) -> list[Bite]:
    """Until there is nothing left, as the worker's task does it in each of its rounds."""
    found: list[Bite] = []
    while not found or found[-1].rows == service.BITE_ROWS:
        began = time.monotonic()
        with database.session() as session:
            rows = chore.do(session, settings)
        found.append(Bite(rows, time.monotonic() - began))
    return found


def _times(bites: Sequence[Bite]) -> dict[str, Value]:
    full = [1000 * bite.seconds for bite in bites if bite.rows == service.BITE_ROWS]
    tenth = max(1, len(full) // 10)
    return {
        "bite_p50_ms": statistics.median(full) if full else None,
        "bite_first_ms": statistics.median(full[:tenth]) if full else None,
        "bite_last_ms": statistics.median(full[-tenth:]) if full else None,
    }


def _kept(settings: Settings, *, seconds: float) -> Settings:
    return settings.model_copy(update={"events_kept_days": seconds / 86_400, "samples_kept_hours": seconds / 3_600})


def _every_s() -> float:
    return next(one.every_s for one in REPEATED if one.task == "weir.housekeeping")


def _left(database: Database, name: str) -> int:
    with database.session() as session:
        query = select(func.count()).select_from(TABLES[name])
        if name == "failed checkpoints":
            query = query.where(Checkpoint.state == CheckpointState.FAILED)
        return session.scalar(query) or 0


def _completed(database: Database) -> int:
    with database.session() as session:
        return (
            session.scalar(select(func.count()).where(Checkpoint.state == CheckpointState.COMPLETED).select_from(Checkpoint)) or 0
        )


def _rows(database: Database) -> int:
    with database.session() as session:
        return sum(session.scalar(select(func.count()).select_from(table)) or 0 for table in (Event, MetricSample))


def _bytes(database: Database, table: str) -> int:
    with database.session() as session:
        return int(session.scalar(text("SELECT pg_total_relation_size(CAST(:name AS regclass))"), {"name": table}) or 0)
