"""A split assigner assigns the pending splits of one source to subtasks.

When the coordinator sends the trigger of a checkpoint, it copies the assigner's state for the manifest. Assignments and triggers
use the same ordered connection. If a split is assigned before the state is copied, the split reaches the source before the
barrier. The source's snapshot then contains the split. If a split is assigned after the state is copied, the split arrives after
the barrier. The source verifies this order with the field ``precedes`` of each assignment.

A source can have 100,000 splits, so a manifest does not contain the splits. The split list is a state file that contains all
splits of a source. The coordinator writes the split list once. Splits are assigned in the order of the split list. So the index
of the next split describes all pending splits. The only exceptions are pending splits that had already been assigned before a
restore: the manifest lists these splits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from weir.protocol.manifest import AssignerState
from weir.protocol.snapshots import Split, StateFile


@dataclass(frozen=True, slots=True)
class SplitList:
    """All splits of a source, and the state file that contains them. ``splits[i].index`` is i."""

    file: StateFile
    splits: tuple[Split, ...]


class SplitAssigner:
    """``pending``: splits to assign before the remaining splits of ``split_list``. ``next_split``: index of the first split in
    ``split_list`` that was never assigned. ``finished``: the number of finished splits. ``records``: the number of records that
    the source has read up to the restored checkpoint."""

    def __init__(
        self,
        split_list: SplitList,
        *,
        pending: Iterable[Split] = (),
        next_split: int = 0,
        finished: int = 0,
        records: int = 0,
    ) -> None:
        self._list = split_list
        self._pending = deque(pending)
        self._next = next_split
        self._started = finished
        """The number of splits that are assigned or finished."""
        self._records = records

    @classmethod
    def restored(cls, state: AssignerState, unfinished: Iterable[Split], split_list: SplitList) -> SplitAssigner:
        """Return an assigner that assigns the ``unfinished`` splits (with positions) before the pending splits.

        If an older version of Weir wrote ``state`` without a split list, ``split_list`` contains the pending splits that have no
        position.
        """
        assert state.finished >= 0, "a source has a split that was not assigned to it"
        pending = [split for split in state.pending if state.split_list is not None or split.position is not None]
        return cls(
            split_list,
            pending=[_with_payload(split, split_list) for split in (*unfinished, *pending)],
            next_split=state.next,
            finished=state.finished,
            records=state.records,
        )

    def request(self) -> Split | None:
        """Return the next split to assign, or None if no splits remain."""
        if self._pending:
            split = self._pending.popleft()
        elif self._next < len(self._list.splits):
            split = self._list.splits[self._next]
            self._next += 1
        else:
            return None
        self._started += 1
        return split

    def snapshot(self) -> AssignerState:
        """Return the state, in which assigned splits count as finished, and whose records end at the restored checkpoint (see
        ``count_finished``)."""
        pending = tuple(split.without_payload() for split in self._pending)
        return AssignerState(pending, self._started, self._list.file, self._next, self._records)


def unlisted_splits(state: AssignerState) -> tuple[Split, ...]:
    """Return the splits of a new split list for ``state``, or nothing if ``state`` has a split list. Older versions of Weir write
    states without a split list."""
    return () if state.split_list is not None else tuple(split for split in state.pending if split.position is None)


def _with_payload(split: Split, split_list: SplitList) -> Split:
    return split if split.index is None else replace(split, payload=split_list.splits[split.index].payload)
