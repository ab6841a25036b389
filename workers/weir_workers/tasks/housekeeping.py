"""Keeping what is kept in bounds."""

from __future__ import annotations

import structlog

from weir_backend.housekeeping import service
from weir_workers.context import current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.housekeeping", time_limit_s=60)
def housekeeping() -> None:
    """Forget events, samples and answers that are old enough, in small bites: nobody waits for a lock on them."""
    context = current()
    for what in service.CHORES:
        removed = 0
        for _ in range(service.BITES_A_ROUND):
            with context.database.session() as session:
                bite = what.do(session, context.settings)
            removed += bite
            if bite < service.BITE_ROWS:
                break
        if removed:
            log.info("forgotten", what=what.name, rows=removed)
