"""The spool: events that the control plane has not confirmed. The spool keeps these events in memory for sending, and in files
that remain when this process ends.

Files are ``<first number>.jsonl``, one encoded event per line, in a directory of the run. The files are written without a sync.
So a killed process loses no events, and a host failure loses the events of the last seconds. Checkpoints are described by their
manifests and do not depend on events.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import structlog

from weir.errors import ConfigError
from weir.protocol.events import Event, MetricsSampled, NumberedEvent, SamplesDropped, encode_event
from weir.protocol.ids import EventNumber

SAMPLES_BYTES_MAX = 16 << 20
"""If unconfirmed events exceed this size, new samples are dropped. The events of a job with a few dozen subtasks
reach this size after half an hour."""
SEGMENT_BYTES = 1 << 20
_SEGMENT = re.compile(r"(\d{12})\.jsonl")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pending:
    number: EventNumber
    data: bytes


@dataclass(slots=True)
class _Segment:
    path: Path
    last: EventNumber


@dataclass(slots=True)
class _Dropped:
    samples: int
    from_ms: int
    to_ms: int


class Spool:
    """Unconfirmed events. Any thread may call ``append``, which never blocks on the network and never fails. ``wall_ms``
    returns milliseconds since 1970.

    Only metric samples are ever dropped. A ``SamplesDropped`` event before the next recorded event reports which samples were
    dropped. All other events are kept without a limit, because each event takes only a few hundred bytes, and only
    a user can request a profile, which takes up to a few hundred kilobytes.
    """

    def __init__(
        self,
        directory: Path,
        *,
        wall_ms: Callable[[], int],
        samples_bytes_max: int = SAMPLES_BYTES_MAX,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Raise ConfigError if ``directory`` cannot be created, or contains events of an earlier process."""
        self._directory = directory
        self._wall_ms = wall_ms
        self.appended: Callable[[], None] = lambda: None
        """A callback, which the appending thread calls after each recorded event."""
        self._samples_bytes_max = samples_bytes_max
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._pending: deque[Pending] = deque()
        self._pending_bytes = 0
        self._next = EventNumber(1)
        self._dropped: _Dropped | None = None
        self._segments: deque[_Segment] = deque()
        self._open: BinaryIO | None = None
        self._open_bytes = 0
        self._write_failed = False
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            occupied = any(_SEGMENT.fullmatch(events.name) for events in directory.iterdir())
        except OSError as error:
            raise ConfigError(f"Cannot store events in {directory}: {error.strerror or error}") from error
        if occupied:
            raise ConfigError(f"{directory} contains events of an earlier process. Use a separate directory for each run.")

    def append(self, event: Event) -> None:
        with self._lock:
            now_ms = self._wall_ms()
            if isinstance(event, MetricsSampled) and self._pending_bytes >= self._samples_bytes_max:
                if self._dropped is None:
                    self._dropped = _Dropped(0, now_ms, now_ms)
                self._dropped.samples += 1
                self._dropped.to_ms = now_ms
                return
            dropped, self._dropped = self._dropped, None
            if dropped is not None:
                self._add(SamplesDropped(dropped.samples, dropped.from_ms, dropped.to_ms), now_ms)
            self._add(event, now_ms)
        self.appended()

    def first(self) -> EventNumber:
        """Return the number of the oldest event in the spool, or the number of the next event if the spool is empty."""
        with self._lock:
            return self._pending[0].number if self._pending else self._next

    def pending(self, *, after: EventNumber, bytes_max: int) -> list[Pending]:
        """Return the events after number ``after``, oldest first, up to ``bytes_max`` bytes in total.

        The first event is returned even if it is larger than ``bytes_max``.
        """
        events: list[Pending] = []
        size = 0
        with self._lock:
            for event in self._pending:
                if event.number <= after:
                    continue
                size += len(event.data)
                if events and size > bytes_max:
                    break
                events.append(event)
        return events

    def confirm(self, up_to: EventNumber) -> None:
        """Drop events that the control plane has durably stored."""
        with self._lock:
            while self._pending and self._pending[0].number <= up_to:
                self._pending_bytes -= len(self._pending.popleft().data)
            while self._segments and self._segments[0].last <= up_to:
                self._remove(self._segments.popleft())

    def close(self) -> None:
        """Close the files. Files with unconfirmed events remain."""
        with self._lock:
            self._close_segment()

    def _add(self, event: Event, now_ms: int) -> None:
        data = encode_event(NumberedEvent(self._next, now_ms, event))
        self._pending.append(Pending(self._next, data))
        self._pending_bytes += len(data)
        self._write(self._next, data)
        self._next = EventNumber(self._next + 1)

    def _write(self, number: EventNumber, data: bytes) -> None:
        try:
            if self._open is None or self._open_bytes >= self._segment_bytes:
                self._close_segment()
                path = self._directory / f"{number:012d}.jsonl"
                self._open = path.open("xb", buffering=0)
                self._open_bytes = 0
                self._segments.append(_Segment(path, number))
            self._open.write(data + b"\n")
            self._open_bytes += len(data) + 1
            self._segments[-1].last = number
        except OSError as error:
            # The event is still in memory, and is lost only if the process ends before the event is sent.
            if not self._write_failed:
                self._write_failed = True
                log.warning("cannot store events on disk", directory=str(self._directory), reason=str(error))

    def _remove(self, segment: _Segment) -> None:
        if not self._segments:
            self._close_segment()
        with contextlib.suppress(OSError):
            segment.path.unlink()

    def _close_segment(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def read_unconfirmed(directory: Path) -> Iterator[bytes]:
    """Yield the encoded events in the files of an ended process, in order. A truncated last line is left out.

    The result can contain confirmed events, because only whole files are deleted. Raise OSError.
    """
    segments = sorted(events for events in directory.iterdir() if _SEGMENT.fullmatch(events.name)) if directory.is_dir() else []
    for segment in segments:
        *lines, _ = segment.read_bytes().split(b"\n")
        yield from lines
