"""Logging of the control plane: one JSON object per line on standard error, for Weir's code and for libraries."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog


def configure(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Configure the logging of this process, replacing an earlier configuration. ``stream`` None: standard error."""
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
    # Remove the handlers that uvicorn and Celery install, because these handlers do not write JSON.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "celery", "celery.task"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    logging.captureWarnings(True)
    # Log only warnings of uvicorn.access, Alembic and httpx2. A reverse proxy already writes access logs, Alembic logs every schema check,
    # and httpx2 logs whole URLs, which may contain secrets.
    for name in ("uvicorn.access", "alembic.runtime.migration", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)
