"""The split assigner of one source: which pieces of input wait, which are with a subtask.

Its state is in the manifest. It is copied at the moment the trigger of a checkpoint is sent; since an
assignment travels the same ordered connection as the trigger, whatever was assigned before the copy
reaches the source before its barrier and is in the source's own snapshot, and whatever is assigned
after comes after the barrier. ``precedes`` on each assignment lets the source check just that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from weir.protocol.manifest import AssignerState
from weir.protocol.snapshots import Split


class SplitAssigner:
    def __init__(self, pending: Iterable[Split], *, finished: int = 0) -> None:
        self._pending = deque(pending)
        self._assigned: dict[str, int] = {}
        self._finished = finished

    @classmethod
    def restored(cls, snapshot: AssignerState, unfinished: Iterable[Split]) -> SplitAssigner:
        """Give back what the sources had in work (with positions) before what nobody had begun.

        What was assigned at the snapshot and is not among ``unfinished`` was finished, and stays so.
        """
        begun = tuple(unfinished)
        begun_ids = {split.id for split in begun}
        assert begun_ids <= set(snapshot.assigned), "a source holds a split that the assigner never gave it"
        newly_finished = sum(1 for split_id in snapshot.assigned if split_id not in begun_ids)
        return cls((*begun, *snapshot.pending), finished=snapshot.finished + newly_finished)

    def request(self, subtask: int) -> Split | None:
        """The next split for ``subtask``, or None when there will be no more."""
        if not self._pending:
            return None
        split = self._pending.popleft()
        self._assigned[split.id] = subtask
        return split

    def snapshot(self) -> AssignerState:
        return AssignerState(tuple(self._pending), tuple(self._assigned), self._finished)
