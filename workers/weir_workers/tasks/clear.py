"""Keeping disks of drivers' machines in bounds."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from weir_backend.runs import clearing
from weir_workers.context import Context, current
from weir_workers.drivers.clearing import finish, remove
from weir_workers.drivers.directory import RunDirectory
from weir_workers.task import task

log = structlog.get_logger(__name__)
ROUND_S = 10.0
"""No directory is begun later than that: drivers of this machine are looked after by the same processes. Another round comes soon."""
RUNS_AT_ONCE = 50


@task("weir.look_after_runs")
def look_after_runs() -> None:
    """From time to time: machines with something to clear away are asked to."""
    context = current()
    with context.database.session() as session:
        clearing.set_out(session, context.settings, context.tasks)


@task("weir.clear_runs", time_limit_s=60)
def clear_runs() -> None:
    """What runs that are over have here, once it is old enough."""
    clear(current(), time.monotonic)


def clear(context: Context, clock_s: Callable[[], float]) -> None:
    until = clock_s() + ROUND_S
    try:
        finish(context.settings.data_dir)
    except OSError as error:
        log.warning("what is left of a run cannot be removed", problem=str(error))
    last, removed = 0, 0
    while clock_s() < until:
        with context.database.session() as session:
            runs = clearing.due(session, context.settings, context.host, after=last, count=RUNS_AT_ONCE)
        if not runs:
            break
        for run in runs:
            if clock_s() >= until:
                break
            last = run.id
            try:
                gone = remove(RunDirectory.of(context.settings.data_dir, run.directory))
            except OSError as error:
                # It stays, and stays known; the others are not to wait for it.
                log.warning("files of a run cannot be removed", run=run.id, problem=str(error))
                continue
            if gone:
                removed += 1
                with context.database.session() as session:
                    clearing.cleared(session, [run.id])
    if removed:
        log.info("files of runs removed", runs=removed)
