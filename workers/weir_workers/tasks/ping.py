"""A task without effect, to test whether workers execute tasks."""

from __future__ import annotations

import structlog

from weir_workers.context import current
from weir_workers.task import task

log = structlog.get_logger(__name__)


@task("weir.ping", time_limit_s=15)
def ping(word: str) -> None:
    """Log ``word``; change nothing."""
    log.info("ping", word=word, host=current().host)
