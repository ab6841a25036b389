"""Keeping what is kept in bounds."""

from __future__ import annotations

import time

import structlog

from weir_backend.housekeeping import service
from weir_workers.context import current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.housekeeping", time_limit_s=60)
def housekeeping() -> None:
    """Forget events, samples and answers that are old enough, in small bites: nobody waits for a lock on them."""
    context = current()
    for name, rows in service.do_round(context.database.session, context.settings, time.monotonic).items():
        if rows:
            log.info("forgotten", what=name, rows=rows)
