"""A subtask with a source."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from weir.errors import InputError, ProtocolError, UserCodeError
from weir.operators.base import SourceOperator, SplitBatch, Step
from weir.protocol.ids import CheckpointId, OperatorUid, SubtaskId
from weir.protocol.snapshots import OperatorSnapshot, Split
from weir.subtask.subtask import ANY_TIME, NEEDS_ROOM, NONE, SubtaskParts, SubtaskRuntime, Work


class SourceSubtask(SubtaskRuntime):
    """A subtask with a source. Triggers and split assignments are handled in the order of their arrival.

    If the next poll of the source is due within ``buffer_ns``, a trigger waits for this poll. If the poll returns a batch, the barrier
    directly follows it, so the checkpoint does not cause an additional round of small batches.
    """

    takes_turns = True

    def __init__(
        self,
        subtask: SubtaskId,
        parts: SubtaskParts,
        *,
        uid: OperatorUid,
        source: SourceOperator,
        last_checkpoint: CheckpointId,
        request_split: Callable[[OperatorUid, int], None],
        buffer_ns: int = 0,
    ) -> None:
        super().__init__(subtask, parts)
        self.uid = uid
        self.source = source
        self._last_checkpoint = last_checkpoint
        self._request_split = request_split
        self._queue: deque[CheckpointId | Split] = deque()
        self._split_requested = False
        self._no_more_splits = parts.ended_before
        """A subtask that ended before the restore requests no splits. The records of a new split would reach operators whose
        ``on_end_of_input`` has already run.
        """
        self._split: Split | None = None
        """The split of the batch that the last step processed, with the position before this batch."""
        self._buffer_ns = buffer_ns
        self._poll_at_ns = 0
        self._poll_before_trigger = False
        """Whether the first trigger in the queue waits until the source is polled."""

    def trigger(self, checkpoint: CheckpointId) -> None:
        if not self._queue:
            wait_ns = self._poll_at_ns - self._environment.monotonic_ns()
            self._poll_before_trigger = 0 < wait_ns <= self._buffer_ns
        self._queue.append(checkpoint)

    def assign(self, split: Split | None, precedes: CheckpointId) -> None:
        """Add a split. If ``split`` is None, no more splits follow. Raise ProtocolError if the split was assigned
        before a checkpoint whose trigger has already arrived."""
        newest = max([self._last_checkpoint, *(item for item in self._queue if not isinstance(item, Split))])
        if precedes <= newest:
            raise ProtocolError(
                f"source {self.uid}: a split arrived after the trigger of checkpoint {newest}, "
                f"but was assigned before checkpoint {precedes}"
            )
        self._split_requested = False
        if split is None:
            self._no_more_splits = True
        else:
            self._queue.append(split)

    def work(self, now_ns: int) -> Work:
        if self._step is not None:
            return self._unfinished_step(now_ns)
        if self._queue and not self._polls_before_trigger():
            return ANY_TIME
        if self.ended:
            return NONE
        reading = self.source.is_reading()
        if self._no_more_splits and not reading:
            return NEEDS_ROOM
        if self._needs_split():
            return ANY_TIME
        return NEEDS_ROOM if reading and now_ns >= self._poll_at_ns else NONE

    def wake_at_ns(self) -> int | None:
        if self._step is None and not self.ended and self.source.is_reading():
            return self._poll_at_ns if self.outputs.has_room() else None
        return super().wake_at_ns()

    def _polls_before_trigger(self) -> bool:
        self._poll_before_trigger = self._poll_before_trigger and self.source.is_reading() and self.outputs.has_room()
        return self._poll_before_trigger

    def _needs_split(self) -> bool:
        return (
            not self._split_requested and not self._no_more_splits and (self.source.wants_split() or not self.source.is_reading())
        )

    def _start_work(self, now_ns: int) -> None:
        if self._queue and not self._polls_before_trigger():
            self._handle(self._queue.popleft())
        elif self._needs_split():
            self._split_requested = True
            self._request_split(self.uid, self.subtask.index)
        elif self._no_more_splits and not self.source.is_reading():
            step: Step = iter(()) if self._ended_before else self.chain.on_end_of_input()
            self._start_step(step, self._end)
        else:
            polled = self._poll()
            self._poll_before_trigger = False
            if polled is None:
                self._poll_at_ns = now_ns + self.source.next_poll_after_ns()
                return
            batch, self._split = polled
            self.records_in += batch.num_rows
            self._start_step(self.chain.process(batch, 0), self._forget_split)

    def _forget_split(self) -> None:
        self._split = None

    def step(self, now_ns: int) -> None:
        try:
            super().step(now_ns)
        except UserCodeError as error:
            if self._split is None:
                raise
            place = self.source.locate(self._split)
            text = f"{error}. The record is in the batch of source {self.uid!r} that begins at {place}"
            raise UserCodeError(text, retry=error.retry) from error

    def _poll(self) -> SplitBatch | None:
        try:
            return self.source.poll()
        except InputError as error:
            raise InputError(f"Source {self.uid!r}: {error}", retry=error.retry) from error

    def _handle(self, item: CheckpointId | Split) -> None:
        if isinstance(item, Split):
            self.source.add_split(item)
            self._poll_at_ns = 0
        elif item > self._last_checkpoint:
            self._last_checkpoint = item
            splits = tuple(split.without_payload() for split in self.source.unfinished())
            snapshot = OperatorSnapshot(self.uid, self.subtask.index, splits=splits, records=self.records_in)
            self._take_snapshot(item, 0, (), (snapshot,))
