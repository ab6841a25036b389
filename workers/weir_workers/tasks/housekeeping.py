"""Delete old rows."""

from __future__ import annotations

import time

import structlog

from weir_backend.housekeeping import service
from weir_workers.context import current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.housekeeping", time_limit_s=60)
def housekeeping() -> None:
    """Delete rows whose retention has passed, in small transactions that hold their locks only briefly."""
    context = current()
    for name, rows in service.run_round(context.database.session, context.settings, time.monotonic).items():
        if rows:
            log.info("old rows deleted", kind=name, rows=rows)
