"""Logs on standard error: for a person by default, one JSON object a line for machines."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum

import structlog


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def configure_logs(form: LogFormat, *, verbose: bool) -> None:
    level = logging.DEBUG if verbose else logging.INFO
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso" if form is LogFormat.JSON else "%H:%M:%S", utc=form is LogFormat.JSON),
    ]
    if form is LogFormat.JSON:
        rest: list[structlog.typing.Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ]
    else:
        rest = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=28)]
    structlog.configure(
        processors=[*shared, *rest],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
