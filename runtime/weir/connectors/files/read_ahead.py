"""A source reader that reads ahead on its own thread, so that ``poll`` never waits for a disk."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from weir.connectors.token_bucket import TokenBucket
from weir.operators.base import OperatorContext, SourceOperator, SplitBatch
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import JsonValue, Split

ReadSplit = Callable[[Split, int, CheckpointId | None], Iterator[tuple[pa.RecordBatch, JsonValue]]]
"""``read(split, batch_rows, restored)`` yields batches, each with the position after its last record. ``restored`` is the checkpoint
that contains the split's position, or None if the split has not been started. Raises InputError."""

BYTES_AHEAD = 32 << 20
BATCHES_AHEAD = 64
IO_WAIT_NS, IO_WAIT_NS_MAX = 200_000, 2_000_000
"""The first and the maximum waiting time between two polls of an empty queue. The waiting time doubles with each poll. Frequent
polls would delay the reading thread, because the loop and the reading thread compete for the GIL."""
PACED_WAIT_NS_MAX = 50_000_000
BURST_S = 0.1


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of the read-ahead queue. An item is a batch, the end of a split (``batch`` is None), or the error that stopped the
    reading thread."""

    split: str
    batch: pa.RecordBatch | None = None
    position: JsonValue = None
    error: BaseException | None = None
    bytes: int = 0


class ReadAheadReader(SourceOperator):
    """Reads its splits one after the other, in the order of assignment. The read-ahead queue is limited in bytes and in batches,
    but an empty queue accepts a batch of any size.

    ``rate`` is the number of rows per second of the whole source, or None for no limit. All subtasks share the rate evenly.
    After a stall, the reader can emit a burst of rows. The maximum burst is the number of rows that ``rate`` allows in
    ``BURST_S`` seconds."""

    def __init__(
        self,
        read: ReadSplit,
        *,
        locate: Callable[[Split], str] | None = None,
        rate: float | None = None,
        bytes_ahead: int = BYTES_AHEAD,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._read = read
        self._locate = locate or super().locate
        self._rate = rate
        self._bytes_ahead = bytes_ahead
        self._clock_ns = clock_ns
        self._bucket: TokenBucket | None = None
        self._wait_ns = 0
        self._changed = threading.Condition()
        self._queue: deque[_Item] = deque()
        self._queued_bytes = 0
        self._pending: deque[Split] = deque()
        self._unread = 0
        """The number of assigned splits that the reading thread has not read to the end yet."""
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
            self._pending.append(split)
            self._unread += 1
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"weir-read-{self.context.uid}", daemon=True)
            self._thread.start()

    def wants_split(self) -> bool:
        """Return whether the loop must request another split. The result is True after the thread has read all assigned splits, so
        that the thread can open the next split while the queue drains.

        If this method returned True before the thread has read all assigned splits, this subtask could receive a split that an
        idle subtask needs.
        """
        return self._unread == 0 and len(self._splits) < 3 and self._failure is None

    def poll(self) -> SplitBatch | None:
        if self._failure is not None:
            raise self._failure
        while True:
            with self._changed:
                if not self._queue:
                    self._wait_ns = min(max(2 * self._wait_ns, IO_WAIT_NS), IO_WAIT_NS_MAX)
                    return None
                if not self._try_take_tokens(self._queue[0]):
                    return None
                item = self._queue.popleft()
                self._wait_ns = 0
                self._queued_bytes -= item.bytes
                self._changed.notify_all()
            if item.error is not None:
                self._failure = item.error
                raise item.error
            if item.batch is None:
                del self._splits[item.split]
                continue
            split = self._splits[item.split]
            self._splits[item.split] = replace(split, position=item.position)
            return SplitBatch(item.batch, split)

    def _try_take_tokens(self, item: _Item) -> bool:
        """Take one token for each row of the item. Return False if the token bucket has too few tokens."""
        if self._bucket is None or item.batch is None:
            return True
        rows = item.batch.num_rows
        if self._bucket.available(self._clock_ns()) < rows:
            self._wait_ns = min(self._bucket.wait_ns(rows), PACED_WAIT_NS_MAX)
            return False
        self._bucket.take(rows)
        return True

    def wait(self, timeout_s: float) -> bool:
        """Block until the queue has an item, the thread has read all splits, or the timeout has passed. Callers without a loop,
        such as tests, use this method."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._queue) or self._unread == 0, timeout_s)

    def unfinished(self) -> tuple[Split, ...]:
        return tuple(self._splits.values())

    def locate(self, split: Split) -> str:
        return self._locate(split)

    def next_poll_after_ns(self) -> int:
        return self._wait_ns

    def _batch_rows(self) -> int:
        """Return the maximum number of rows of a batch. The limit ensures that the token bucket can hold enough tokens for a
        batch."""
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
                self._changed.wait_for(lambda: self._closed or bool(self._pending))
                if self._closed:
                    return
                split = self._pending.popleft()
            restored = None if split.position is None else self.context.restored_checkpoint
            try:
                for batch, position in self._read(split, self._batch_rows(), restored):
                    if not self._enqueue(_Item(split.id, batch, position, bytes=batch.nbytes)):
                        return
                if not self._enqueue(_Item(split.id), read_to_end=True):
                    return
            except BaseException as error:  # noqa: BLE001  # ``poll`` raises it, to fail the subtask instead of this thread
                self._enqueue(_Item(split.id, error=error), read_to_end=True)
                return

    def _enqueue(self, item: _Item, *, read_to_end: bool = False) -> bool:
        """Wait until the queue has room, and append ``item``. Return False if the reader is closed."""
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
