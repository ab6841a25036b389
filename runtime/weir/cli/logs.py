"""What the command says on standard error: for a person by default, one JSON object a line for machines."""

from __future__ import annotations

import sys
from enum import StrEnum

import structlog

from weir.subtask.logs import LogSettings, configure_logs

_settings = LogSettings()
"""Set once, at the start of the command."""


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def set_up(form: LogFormat, *, verbose: bool) -> LogSettings:
    global _settings
    _settings = LogSettings(as_json=form is LogFormat.JSON, verbose=verbose)
    configure_logs(_settings)
    return _settings


def tell(message: str) -> None:
    if _settings.as_json:
        structlog.get_logger("weir").info(message.strip())
    else:
        print(message, file=sys.stderr, flush=True)


def complain(message: str) -> None:
    """The one message of a command that did not do what it was told."""
    if _settings.as_json:
        structlog.get_logger("weir").error(message)
    else:
        print(f"weir: {message}", file=sys.stderr)
