"""Events that the control plane has not confirmed yet: in memory to be sent, and in files for whoever comes after this process.

Files are ``<first number>.jsonl``, one encoded event a line, in a directory of the run's own. They are written without a sync: a
process that is killed loses nothing by that, a machine that dies loses seconds of history, and checkpoints are in their manifests.
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
"""With so much unconfirmed no samples are taken in any more: half an hour of a job of some dozen subtasks."""
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
    """``append`` from any thread; it never blocks on the network and never fails. ``wall_ms``: since 1970.

    Only samples are ever left out, and a ``SamplesDropped`` says which: before the next event that is taken in. What else there is
    is kept however much it is: it is what happened, a few hundred bytes each time.
    """

    def __init__(
        self,
        directory: Path,
        *,
        wall_ms: Callable[[], int],
        samples_bytes_max: int = SAMPLES_BYTES_MAX,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Raises ConfigError if ``directory`` cannot be made, or holds the events of an earlier process already."""
        self._directory = directory
        self._wall_ms = wall_ms
        self.appended: Callable[[], None] = lambda: None
        """Called after each event that was taken in, by whoever appended it."""
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
        self._complained = False
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            taken = any(_SEGMENT.fullmatch(found.name) for found in directory.iterdir())
        except OSError as error:
            raise ConfigError(f"events cannot be kept in {directory}: {error.strerror or error}") from error
        if taken:
            raise ConfigError(f"{directory} holds events of an earlier process: each run needs a directory of its own")

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
                self._take(SamplesDropped(dropped.samples, dropped.from_ms, dropped.to_ms), now_ms)
            self._take(event, now_ms)
        self.appended()

    def first(self) -> EventNumber:
        """The oldest that is still here; with nothing here, the number of the next one."""
        with self._lock:
            return self._pending[0].number if self._pending else self._next

    def pending(self, *, after: EventNumber, bytes_max: int) -> list[Pending]:
        """Those above ``after``, from the oldest on: at least one if there is any, no more than ``bytes_max`` bytes beyond that."""
        found: list[Pending] = []
        size = 0
        with self._lock:
            for one in self._pending:
                if one.number <= after:
                    continue
                size += len(one.data)
                if found and size > bytes_max:
                    break
                found.append(one)
        return found

    def confirm(self, up_to: EventNumber) -> None:
        """The control plane has them, for good."""
        with self._lock:
            while self._pending and self._pending[0].number <= up_to:
                self._pending_bytes -= len(self._pending.popleft().data)
            while self._segments and self._segments[0].last <= up_to:
                self._remove(self._segments.popleft())

    def close(self) -> None:
        """Files of what is unconfirmed stay."""
        with self._lock:
            self._close_segment()

    def _take(self, event: Event, now_ms: int) -> None:
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
            # It is still in memory, and most likely gets to where it belongs from there.
            if not self._complained:
                self._complained = True
                log.warning("events cannot be kept on disk", directory=str(self._directory), reason=str(error))

    def _remove(self, segment: _Segment) -> None:
        if not self._segments:
            self._close_segment()
        with contextlib.suppress(OSError):
            segment.path.unlink()

    def _close_segment(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def leftover(directory: Path) -> Iterator[bytes]:
    """Encoded events that a process left behind, in order. A line that was half written when it died is left out.

    What was confirmed may be among them: files go as a whole. Raises OSError.
    """
    segments = sorted(found for found in directory.iterdir() if _SEGMENT.fullmatch(found.name)) if directory.is_dir() else []
    for segment in segments:
        *lines, _ = segment.read_bytes().split(b"\n")
        yield from lines
