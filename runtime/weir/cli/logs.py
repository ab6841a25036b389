"""Messages on standard error, as text by default or as one JSON object per line."""

from __future__ import annotations

import contextlib
import os
import sys
from enum import StrEnum

import structlog

from weir.subtask.settings import LogSettings, configure_driver_logs, ignore_broken_streams

_settings = LogSettings()
"""The log settings of this process. The command sets the log settings once, at its start."""


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def set_up_logs(form: LogFormat, *, verbose: bool) -> LogSettings:
    global _settings
    _settings = LogSettings(as_json=form is LogFormat.JSON, verbose=verbose)
    configure_driver_logs(_settings)
    return _settings


def print_message(message: str) -> None:
    """Print a message to standard error, or log it as JSON with ``--log-format json``."""
    with ignore_broken_streams():
        if _settings.as_json:
            structlog.get_logger("weir").info(message.strip())
        else:
            print(message, file=sys.stderr, flush=True)


def print_error(message: str) -> None:
    """Print the error that ends the command."""
    with ignore_broken_streams():
        if _settings.as_json:
            structlog.get_logger("weir").error(message)
        else:
            print(f"weir: {message}", file=sys.stderr, flush=True)


def discard_broken_streams() -> None:
    """Redirect broken standard streams to /dev/null, because Python exits with code 120 if it cannot flush them."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                number = stream.fileno()
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
