"""A reader that reads ahead on a thread of its own, so that ``poll`` never waits for a disk."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from weir.connectors.token_bucket import TokenBucket
from weir.operators.base import OperatorContext, SourceOperator
from weir.protocol.snapshots import JsonValue, Split

ReadSplit = Callable[[Split, int], Iterator[tuple[pa.RecordBatch, JsonValue]]]
"""``read(split, batch_rows)`` yields batches, each with the position after its last record. Raises InputError."""

BYTES_AHEAD = 32 << 20
BATCHES_AHEAD = 64
IO_WAIT_NS = 200_000
PACED_WAIT_NS_MAX = 50_000_000
BURST_S = 0.1


@dataclass(frozen=True, slots=True)
class _Read:
    """What the thread hands over: a batch, the end of a split (no batch), or the error that stopped the thread."""

    split: str
    batch: pa.RecordBatch | None = None
    position: JsonValue = None
    error: BaseException | None = None
    bytes: int = 0


class ReadAheadReader(SourceOperator):
    """Reads its splits one after the other in the order given. The queue is bounded in bytes and batches (one batch is
    always admitted).

    ``rate``: rows a second of the whole source, shared evenly by its subtasks; after a stall ``BURST_S`` seconds of it are
    caught up on, not more. None: as fast as they are taken."""

    def __init__(
        self,
        read: ReadSplit,
        *,
        rate: float | None = None,
        bytes_ahead: int = BYTES_AHEAD,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._read = read
        self._rate = rate
        self._bytes_ahead = bytes_ahead
        self._clock_ns = clock_ns
        self._bucket: TokenBucket | None = None
        self._wait_ns = IO_WAIT_NS
        self._changed = threading.Condition()
        self._queue: deque[_Read] = deque()
        self._queued_bytes = 0
        self._todo: deque[Split] = deque()
        self._unread = 0
        """Splits that the thread has not read to their end."""
        self._closed = False
        self._thread: threading.Thread | None = None
        self._splits: dict[str, Split] = {}
        self._failure: BaseException | None = None

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        if self._rate is not None:
            self._bucket = TokenBucket(rate=self._rate / context.parallelism, burst_s=BURST_S, now_ns=self._clock_ns())

    def add_split(self, split: Split) -> None:
        assert split.id not in self._splits, f"split {split.id} was assigned twice"
        self._splits[split.id] = split
        with self._changed:
            self._todo.append(split)
            self._unread += 1
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"weir-read-{self.context.uid}", daemon=True)
            self._thread.start()

    def wants_split(self) -> bool:
        """Once the thread has read all it was given: the next split is opened while the queue is drained. Asking earlier
        would hoard splits that an idle subtask could have."""
        return self._unread == 0 and len(self._splits) < 3 and self._failure is None

    def poll(self) -> pa.RecordBatch | None:
        if self._failure is not None:
            raise self._failure
        while True:
            with self._changed:
                if not self._queue:
                    self._wait_ns = IO_WAIT_NS
                    return None
                if not self._allowed(self._queue[0]):
                    return None
                item = self._queue.popleft()
                self._queued_bytes -= item.bytes
                self._changed.notify_all()
            if item.error is not None:
                self._failure = item.error
                raise item.error
            if item.batch is None:
                del self._splits[item.split]
                continue
            self._splits[item.split] = replace(self._splits[item.split], position=item.position)
            return item.batch

    def _allowed(self, item: _Read) -> bool:
        """Takes the tokens for its rows if there are enough."""
        if self._bucket is None or item.batch is None:
            return True
        rows = item.batch.num_rows
        if self._bucket.available(self._clock_ns()) < rows:
            self._wait_ns = min(self._bucket.wait_ns(rows), PACED_WAIT_NS_MAX)
            return False
        self._bucket.take(rows)
        return True

    def wait(self, timeout_s: float) -> bool:
        """Block until ``poll`` would do something or nothing is being read. For callers that have no loop to run."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._queue) or self._unread == 0, timeout_s)

    def unfinished(self) -> tuple[Split, ...]:
        return tuple(self._splits.values())

    def next_poll_after_ns(self) -> int:
        return self._wait_ns

    def _batch_rows(self) -> int:
        """A batch never needs more tokens than there can be."""
        if self._rate is None:
            return self.context.batch_rows
        return min(self.context.batch_rows, max(1, int(self._rate / self.context.parallelism * BURST_S)))

    def gauges(self) -> dict[str, int | float]:
        return {"read_ahead_bytes": self._queued_bytes}

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._queue.clear()
            self._queued_bytes = 0
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or bool(self._todo))
                if self._closed:
                    return
                split = self._todo.popleft()
            try:
                for batch, position in self._read(split, self._batch_rows()):
                    if not self._hand_over(_Read(split.id, batch, position, bytes=batch.nbytes)):
                        return
                if not self._hand_over(_Read(split.id), read_to_end=True):
                    return
            except BaseException as error:  # noqa: BLE001  # the loop raises it: it fails the subtask, not this thread
                self._hand_over(_Read(split.id, error=error), read_to_end=True)
                return

    def _hand_over(self, item: _Read, *, read_to_end: bool = False) -> bool:
        """Waits for room. False: the reader was closed."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._closed
                    or self._queued_bytes == 0
                    or (self._queued_bytes + item.bytes <= self._bytes_ahead and len(self._queue) < BATCHES_AHEAD)
                )
            )
            if self._closed:
                return False
            self._queue.append(item)
            self._queued_bytes += item.bytes
            self._unread -= read_to_end
            self._changed.notify_all()
            return True
