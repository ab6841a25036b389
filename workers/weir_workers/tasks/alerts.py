"""Holding the rules of alerts against all jobs."""

from __future__ import annotations

from datetime import datetime

import structlog
from sqlalchemy.exc import IntegrityError

from weir_backend.alerts import rounds
from weir_backend.kit import presence
from weir_backend.kit.clock import now
from weir_workers.context import Context, current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.alerts")
def alerts() -> None:
    """Open those that have come up, end those that are over."""
    go_round(current(), now())


def go_round(context: Context, moment: datetime) -> None:
    with context.database.session() as session:
        presence.say(session, presence.Part.ALERTS, moment)
    with context.database.session() as session:
        found = rounds.look(session, moment)
    for first in range(0, len(found), rounds.JOBS_AT_ONCE):
        try:
            with context.database.session() as session:
                rounds.carry_out(session, context.tasks, moment, found[first : first + rounds.JOBS_AT_ONCE])
        except IntegrityError:
            log.info("a rule or a webhook was deleted just now: the next round goes on without it")
