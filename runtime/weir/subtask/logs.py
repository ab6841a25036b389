"""How a process of ours writes its log to standard error: driver and slots alike, so that the lines of one job read as one."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass

import structlog


@dataclass(frozen=True, slots=True)
class LogSettings:
    """``as_json``: one JSON object a line. ``verbose``: also what is only of interest when something is wrong."""

    as_json: bool = False
    verbose: bool = False


def configure_logs(settings: LogSettings) -> None:
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso" if settings.as_json else "%H:%M:%S", utc=settings.as_json),
    ]
    if settings.as_json:
        rest: list[structlog.typing.Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ]
    else:
        # Where rich is installed, the default would print the values of local variables, secrets among them.
        plain = structlog.dev.plain_traceback
        rest = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=28, exception_formatter=plain)]
    structlog.configure(
        processors=[*shared, *rest],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if settings.verbose else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
