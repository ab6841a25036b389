"""Settings of a slot process, and the log format that driver and slots share."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO, cast

import structlog

from weir.kernel.config import BATCH_ROWS, NETWORK_BYTES, Timeouts


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Log format. If ``as_json`` is True, each line is a JSON object. If ``verbose`` is True, debug messages are logged too."""

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
        # If rich is installed, the default formatter would print the values of local variables, which can be secret.
        plain = structlog.dev.plain_traceback
        rest = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=28, exception_formatter=plain)]
    structlog.configure(
        processors=[*shared, *rest],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if settings.verbose else logging.INFO),
        # A line is one write, because the driver and the slots of a local master share standard error.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def configure_driver_logs(settings: LogSettings | None = None) -> None:
    """Like ``configure_logs``, but a write to standard error that fails has no effect. The coordinator logs from its loop, and an
    error of a log call would end the loop."""
    configure_logs(settings or LogSettings())
    structlog.configure(logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _BestEffortStream())))


@contextmanager
def ignore_broken_streams() -> Iterator[None]:
    """Ignore errors of writes to standard error, because a closed terminal or pipe must not stop a running job."""
    try:
        yield
    except (OSError, ValueError, RuntimeError):
        # The reader of standard error is gone, the file is closed, or a signal handler interrupted another write.
        pass


class _BestEffortStream(io.TextIOBase):
    """The current standard error of this process. A write that fails has no effect and raises no error."""

    def write(self, text: str, /) -> int:
        with ignore_broken_streams():
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with ignore_broken_streams():
            sys.stderr.flush()


SAMPLE_MS = 24_000
"""The default and the maximum of ``step_sample_ms`` and ``call_sample_ms``."""


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """Settings that the driver sends to every slot process in the bootstrap, in addition to the address and the secret.

    ``run`` identifies the coordinator's run. The coordinator rejects slots of other runs.
    """

    run: int
    storage_url: str
    storage_options: dict[str, str] = field(default_factory=dict, repr=False)
    batch_rows: int = BATCH_ROWS
    network_bytes: int = NETWORK_BYTES
    buffer_timeout_ms: float | None = None
    timeouts: Timeouts = field(default_factory=Timeouts)
    step_sample_ms: int = SAMPLE_MS
    call_sample_ms: int = SAMPLE_MS
    """``step_sample_ms`` and ``call_sample_ms``: if a step or a blocking call takes longer than the given time, the slot sends
    a sample of its stacks."""
    logs: LogSettings = field(default_factory=LogSettings)
