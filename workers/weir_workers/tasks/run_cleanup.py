"""Delete old files of runs on the hosts of their drivers."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from weir_backend.runs import cleanup
from weir_workers.context import Context, current
from weir_workers.drivers.cleanup import finish_interrupted, remove
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.task import task

log = structlog.get_logger(__name__)
ROUND_S = 10.0
"""A task that has run for this many seconds stops deleting, because its worker process must also watch drivers. The next task deletes
the remaining directories."""
RUNS_AT_ONCE = 50


@task("weir.clean_up_runs")
def clean_up_runs() -> None:
    """For each host that has old files of runs, enqueue their deletion."""
    context = current()
    with context.database.session() as session:
        cleanup.enqueue_due(session, context.settings, context.tasks)


@task("weir.delete_run_files", time_limit_s=60)
def delete_run_files() -> None:
    """On this host, delete the files of ended runs whose retention has passed."""
    delete_old_files(current(), time.monotonic)


def delete_old_files(context: Context, clock_s: Callable[[], float]) -> None:
    until = clock_s() + ROUND_S
    try:
        finish_interrupted(context.settings.data_dir)
    except OSError as error:
        log.warning("cannot finish the deletion of a run directory", problem=str(error))
    last_id, removed = 0, 0
    while clock_s() < until:
        with context.database.session() as session:
            runs = cleanup.runs_to_clean_up(session, context.settings, context.host, after=last_id, count=RUNS_AT_ONCE)
        if not runs:
            break
        for run in runs:
            if clock_s() >= until:
                break
            last_id = run.id
            try:
                deleted = remove(RunDirectory.of(context.settings.data_dir, run.directory))
            except OSError as error:
                # The next task tries again, because the run is not marked as cleaned up. Continue with the other runs.
                log.warning("cannot remove the files of a run", run=run.id, problem=str(error))
                continue
            if deleted:
                removed += 1
                with context.database.session() as session:
                    cleanup.mark_cleaned_up(session, [run.id])
    if removed:
        log.info("files of runs removed", runs=removed)
