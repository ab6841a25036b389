"""What the command says on standard error: for a person by default, one JSON object a line for machines."""

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
    # The coordinator logs from its own loop, which a pipe without a reader would end.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Unheard(sys.stderr))))
    return _settings


@contextmanager
def if_somebody_listens() -> Iterator[None]:
    """Around words on standard error: a terminal that is gone, or a pipe whose reader is, must not end a job that runs."""
    try:
        yield
    except (OSError, ValueError, RuntimeError):
        # Broken; closed; in the middle of a write that a signal's handler has interrupted.
        pass


class _Unheard(io.TextIOBase):
    """As much of a text stream as a logger needs, written to whether somebody listens or not."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str, /) -> int:
        with if_somebody_listens():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with if_somebody_listens():
            self._stream.flush()


def tell(message: str) -> None:
    with if_somebody_listens():
        if _settings.as_json:
            structlog.get_logger("weir").info(message.strip())
        else:
            print(message, file=sys.stderr, flush=True)


def complain(message: str) -> None:
    """The one message of a command that did not do what it was told."""
    with if_somebody_listens():
        if _settings.as_json:
            structlog.get_logger("weir").error(message)
        else:
            print(f"weir: {message}", file=sys.stderr, flush=True)


def let_go_of_broken_streams() -> None:
    """At the end of the command: Python would exit with a code of its own if a stream cannot be flushed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                number = stream.fileno()
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
