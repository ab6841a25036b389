"""Logs of the control plane's processes: one JSON object a line on standard error, ours and those of libraries alike."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog


def configure(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Of this process. A second call replaces what the first has set up. ``stream``: standard error if None."""
    stream = stream or sys.stderr
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(default=str),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # These bring handlers of their own, which would write lines that are no JSON.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "celery", "celery.task"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.captureWarnings(True)
    # A line for each request is for a proxy in front of us to write; Alembic has one for each look at the schema. Of requests of ours to
    # others it would have the whole address, which for some of them is a password.
    for name in ("uvicorn.access", "alembic.runtime.migration", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)
