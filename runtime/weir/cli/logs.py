"""Messages on standard error, as text by default or as one JSON object per line."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TextIO, cast

import structlog

from weir.subtask.settings import LogSettings, configure_logs

_settings = LogSettings()
"""The log settings of this process. The command sets the log settings once, at its start."""


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def set_up_logs(form: LogFormat, *, verbose: bool) -> LogSettings:
    global _settings
    _settings = LogSettings(as_json=form is LogFormat.JSON, verbose=verbose)
    configure_logs(_settings)
    # The coordinator logs from its loop. A BrokenPipeError from a log call would end the loop.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _BestEffortStream(sys.stderr))))
    return _settings


@contextmanager
def ignore_broken_streams() -> Iterator[None]:
    """Ignore errors of writes to standard error, because a closed terminal or pipe must not stop a running job."""
    try:
        yield
    except (OSError, ValueError, RuntimeError):
        # Standard error is a broken pipe or a closed file, or a signal handler wrote to it during another write.
        pass


class _BestEffortStream(io.TextIOBase):
    """A text stream for a logger. A write that fails has no effect and raises no error."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str, /) -> int:
        with ignore_broken_streams():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with ignore_broken_streams():
            self._stream.flush()


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
