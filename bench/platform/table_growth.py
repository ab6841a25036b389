"""Table growth: how fast the worker's cleanup deletes rows in batches, and whether the cleanup keeps tables bounded under the
load of a busy installation."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from bench.platform.driver_events import LOGGED_A_ROUND, ROUND, SAMPLES_A_CHECKPOINT
from bench.platform.ingest import EVENTS_PER_S, new_runs
from bench.platform.job_writer import JobWriter
from bench.platform.offered_load import offer_load
from bench.platform.options import PlatformBenchOptions
from bench.platform.results import Aim, Measurement, Value
from bench.platform.server import TemporaryControlPlane
from bench.platform.table_filler import table_bytes
from weir_backend.housekeeping import service
from weir_backend.kit.database import Database
from weir_backend.models import Checkpoint, CheckpointState, Event, MetricSample
from weir_backend.settings import Settings
from weir_workers.schedule import PERIODIC_TASKS

ROWS_PER_S = EVENTS_PER_S * (LOGGED_A_ROUND + SAMPLES_A_CHECKPOINT) / ROUND
"""Rows that the API stores per second at the target rate of events: samples, and entries of the event log."""
TABLES = {"metric samples": MetricSample, "events": Event, "failed checkpoints": Checkpoint}


@dataclass(frozen=True, slots=True)
class DeletedBatch:
    rows: int
    seconds: float


def delete_everything(platform: TemporaryControlPlane) -> list[Measurement]:
    """Measure deletion with zero retention: its speed, and whether the last batches take longer than the first ones."""
    settings = _kept(platform.settings, seconds=0.001)
    kept, share = _completed(platform.database), service.ROUND_S / _every_s()
    found = []
    for cleanup in service.CLEANUPS:
        if cleanup.name not in TABLES:
            continue
        table = TABLES[cleanup.name].__tablename__
        size = table_bytes(platform.database, table)
        batches = _delete_expired(platform.database, settings, cleanup)
        rows, seconds = sum(batch.rows for batch in batches), sum(batch.seconds for batch in batches)
        values: dict[str, Value] = {
            "rows": rows,
            "bites": len(batches),
            "rows_per_s": rows / seconds,
            "rows_per_s_in_rounds": rows / seconds * share,
            **_times(batches),
            "table_mb": size / 1e6,
        }
        left = _left(platform.database, cleanup.name)
        aim = None
        if cleanup.name == "metric samples" and len(batches) > 10:
            met = rows / seconds * share > ROWS_PER_S
            aim = Aim(f"more deleted rows/s than {EVENTS_PER_S:,} events/s produce ({ROWS_PER_S:,.0f} rows/s)", met)
        found.append(Measurement("growth", f"deleting {cleanup.name}", values, aim, f"{left:,} rows remain" if left else None))
    if (still := _completed(platform.database)) != kept:
        found.append(
            Measurement("growth", "completed checkpoints", {}, None, f"the cleanup deleted rows: {still:,} of {kept:,} remain")
        )
    return found


def steady(platform: TemporaryControlPlane, writer: JobWriter, options: PlatformBenchOptions) -> Measurement:
    """Measure whether tables stay bounded while events arrive. Cleanup runs more often than in production, with a proportionally
    shorter retention."""
    runs = new_runs(platform, writer, "steady", 20)
    kept_s, every_s = options.seconds / 5, options.seconds / 10
    settings = _kept(platform.settings, seconds=kept_s)
    stop = threading.Event()
    rows: list[int] = []

    def clean_up() -> None:
        while not stop.wait(every_s):
            for cleanup in service.CLEANUPS:
                _delete_expired(platform.database, settings, cleanup)
            rows.append(_rows(platform.database))

    before = _rows(platform.database)
    worker = threading.Thread(target=clean_up)
    worker.start()
    try:
        found = offer_load(platform, runs, per_s=options.offered, seconds=2 * options.seconds, seed=options.seed)
    finally:
        stop.set()
        worker.join()
    made = sum(one.logged + one.samples for driver in found.drivers for one in driver.rows)
    per_s = made / found.seconds
    # Expired rows remain until the next cleanup has deleted them. This takes up to two intervals: one until the cleanup starts,
    # and one while the cleanup runs. The bound therefore includes the rows of two intervals in addition to the retained rows.
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
    aim = Aim("no more rows than the retention allows", max(rows) <= most if rows else None)
    return Measurement("growth", f"{options.offered:,} events/s during cleanup", values, aim)


def _delete_expired(database: Database, settings: Settings, cleanup: service.Cleanup) -> list[DeletedBatch]:
    """Delete batches until no expired row remains, as the worker's task does in each round."""
    found: list[DeletedBatch] = []
    more = True
    while more:
        began = time.monotonic()
        with database.session() as session:
            batch = cleanup.run(session, settings)
        more = batch.more
        found.append(DeletedBatch(batch.deleted, time.monotonic() - began))
    return found


def _times(batches: Sequence[DeletedBatch]) -> dict[str, Value]:
    full = [1000 * batch.seconds for batch in batches if batch.rows == service.BATCH_ROWS]
    tenth = max(1, len(full) // 10)
    return {
        "bite_p50_ms": statistics.median(full) if full else None,
        "bite_first_ms": statistics.median(full[:tenth]) if full else None,
        "bite_last_ms": statistics.median(full[-tenth:]) if full else None,
    }


def _kept(settings: Settings, *, seconds: float) -> Settings:
    return settings.model_copy(update={"events_kept_days": seconds / 86_400, "samples_kept_hours": seconds / 3_600})


def _every_s() -> float:
    return next(one.every_s for one in PERIODIC_TASKS if one.task == "weir.housekeeping")


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
