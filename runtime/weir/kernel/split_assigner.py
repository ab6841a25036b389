"""The split assigner of one source knows which splits are pending and which splits are assigned to a subtask.

The manifest contains the assigner's state, which is copied when the trigger of a checkpoint is sent. Assignments and triggers
use the same ordered connection. So if a split is assigned before the state is copied, it reaches the source before the
barrier and is part of the source's snapshot. If a split is assigned later, it arrives after the barrier. The source verifies
this with the field ``precedes`` of each assignment.
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
        """Restore an assigner, which assigns the ``unfinished`` splits (with positions) before the pending splits.

        An assigned split that is not in ``unfinished`` was finished and remains finished.
        """
        started = tuple(unfinished)
        started_ids = {split.id for split in started}
        assert started_ids <= set(snapshot.assigned), "a source has a split that was not assigned to it"
        newly_finished = sum(1 for split_id in snapshot.assigned if split_id not in started_ids)
        return cls((*started, *snapshot.pending), finished=snapshot.finished + newly_finished)

    def request(self, subtask: int) -> Split | None:
        """Return the next split for ``subtask``, or None if no splits remain."""
        if not self._pending:
            return None
        split = self._pending.popleft()
        self._assigned[split.id] = subtask
        return split

    def snapshot(self) -> AssignerState:
        return AssignerState(tuple(self._pending), tuple(self._assigned), self._finished)
