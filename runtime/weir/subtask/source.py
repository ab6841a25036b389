"""A subtask with a source in front: obeys triggers and takes splits in the order of their arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pyarrow as pa

from weir.errors import InputError, ProtocolError
from weir.operators.base import SourceOperator, Step
from weir.protocol.ids import CheckpointId, OperatorUid, SubtaskId
from weir.protocol.snapshots import OperatorSnapshot, Split
from weir.subtask.subtask import SubtaskParts, SubtaskRuntime, Work


class SourceSubtask(SubtaskRuntime):
    """With a source in front. Triggers and assignments of splits are carried out in the order of their arrival."""

    def __init__(
        self,
        subtask: SubtaskId,
        parts: SubtaskParts,
        *,
        uid: OperatorUid,
        source: SourceOperator,
        last_checkpoint: CheckpointId,
        request_split: Callable[[OperatorUid, int], None],
    ) -> None:
        super().__init__(subtask, parts)
        self.uid = uid
        self.source = source
        self._last_checkpoint = last_checkpoint
        self._request_split = request_split
        self._orders: deque[CheckpointId | Split] = deque()
        self._requested = False
        self._no_more = parts.ended_before
        """Who has ended stays ended: a split taken up now would pass operators whose on_end_of_input does not run again."""
        self._poll_at_ns = 0

    def trigger(self, checkpoint: CheckpointId) -> None:
        self._orders.append(checkpoint)

    def assign(self, split: Split | None, precedes: CheckpointId) -> None:
        """Raises ProtocolError if the split was not assigned in the epoch that it is read in."""
        newest = max([self._last_checkpoint, *(order for order in self._orders if not isinstance(order, Split))])
        if precedes <= newest:
            raise ProtocolError(
                f"source {self.uid}: a split assigned before checkpoint {precedes} arrived after the trigger of {newest}"
            )
        self._requested = False
        if split is None:
            self._no_more = True
        else:
            self._orders.append(split)

    def work(self, now_ns: int) -> Work:
        if self._step is not None:
            return self._unfinished_step(now_ns)
        if self._orders:
            return Work.ANY_TIME
        if self.ended:
            return Work.NONE
        if self._no_more and not self.source.unfinished():
            return Work.NEEDS_ROOM
        if self._wants_split():
            return Work.ANY_TIME
        return Work.NEEDS_ROOM if self.source.unfinished() and now_ns >= self._poll_at_ns else Work.NONE

    def wake_at_ns(self) -> int | None:
        if self._step is None and not self.ended and self.source.unfinished():
            return self._poll_at_ns if self.outputs.has_room() else None
        return super().wake_at_ns()

    def _wants_split(self) -> bool:
        return not self._requested and not self._no_more and (self.source.wants_split() or not self.source.unfinished())

    def _begin(self, now_ns: int) -> None:
        if self._orders:
            self._obey(self._orders.popleft())
        elif self._wants_split():
            self._requested = True
            self._request_split(self.uid, self.subtask.index)
        elif self._no_more and not self.source.unfinished():
            step: Step = iter(()) if self._ended_before else self.chain.on_end_of_input()
            self._run(step, self._end)
        else:
            batch = self._poll()
            if batch is None:
                self._poll_at_ns = now_ns + self.source.next_poll_after_ns()
                return
            self.records_in += batch.num_rows
            self._run(self.chain.process(batch, 0), lambda: None)

    def _poll(self) -> pa.RecordBatch | None:
        try:
            return self.source.poll()
        except InputError as error:
            raise InputError(f"source {self.uid!r}: {error}", retry=error.retry) from error

    def _obey(self, order: CheckpointId | Split) -> None:
        if isinstance(order, Split):
            self.source.add_split(order)
            self._poll_at_ns = 0
        elif order > self._last_checkpoint:
            self._last_checkpoint = order
            positions = OperatorSnapshot(self.uid, self.subtask.index, splits=self.source.unfinished())
            self._take_snapshot(order, 0, (), (positions,))
