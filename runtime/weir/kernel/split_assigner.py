"""A split assigner assigns the splits of one source to subtasks. A split discovery decides when a source is listed again.

When the coordinator sends the trigger of a checkpoint, it copies the assigner's state for the manifest. Assignments and triggers
use the same ordered connection. If a split is assigned before the state is copied, the split reaches the source before the
barrier. The source's snapshot then contains the split. If a split is assigned after the state is copied, the split arrives after
the barrier. The source verifies this order with the field ``precedes`` of each assignment.

A source can have 100,000 splits, so a manifest does not contain the splits. A split list is a state file with splits of a source.
The coordinator writes a split list when the source is enumerated, and one for each discovery that finds splits. Splits are
assigned in the order of the split lists. So the index of the next split describes all pending splits. The only exceptions are
pending splits that had already been assigned before a restore: the manifest lists these splits.

If more splits can be discovered, the assigner does not answer a request that it cannot fulfil. The subtask is idle until the
discovery finds a split, and takes part in checkpoints in the meantime.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from weir.protocol.ids import CheckpointId
from weir.protocol.manifest import AssignerState, SplitListFile
from weir.protocol.snapshots import JsonValue, Split, StateFile

UNASSIGNED_MAX = 1_000
"""No splits are discovered while a source has this many unassigned splits. The limit bounds the number of split lists."""
RETRY_MS, RETRY_MS_MAX = 1_000, 60_000
"""The minimum and the maximum delay after a failed discovery. The delay doubles with each failure."""
SLOW_MS = 60_000
"""A discovery that runs for this time is reported. It can still succeed."""
WORK_SHARE = 10
"""A discovery that takes t is followed by a pause of at least (WORK_SHARE - 1) * t, so that listing a large directory takes at
most this fraction of a core."""


@dataclass(frozen=True, slots=True)
class SplitList:
    """Splits of a source, and the state file that contains them. ``splits[i].index`` is ``first + i``.

    ``known``: what the source knew after it had found these splits (see ``Source.discover``), or None if the source was listed
    without discovery.
    """

    file: StateFile
    splits: tuple[Split, ...]
    first: int = 0
    known: JsonValue = None

    @property
    def reference(self) -> SplitListFile:
        return SplitListFile(self.first, self.file)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The answer to a request of the source's subtask ``subtask``. ``split`` is None if no splits remain."""

    subtask: int
    split: Split | None


class SplitAssigner:
    """``lists``: the split lists, at least one, oldest first. ``pending``: splits to assign before the splits of the lists.
    ``next_split``: index of the first split in ``lists`` that was never assigned. ``finished``: the number of finished splits.
    ``records``: the number of records that the source has read up to the restored checkpoint."""

    def __init__(
        self,
        lists: Iterable[SplitList],
        *,
        pending: Iterable[Split] = (),
        next_split: int = 0,
        finished: int = 0,
        records: int = 0,
    ) -> None:
        self._lists = list(lists)
        self._pending = deque(pending)
        self._next = next_split
        self._started = finished
        """The number of splits that are assigned or finished."""
        self._records = records
        self._requests: deque[int] = deque()
        """The subtasks whose requests are not answered yet."""
        self._assigned: dict[int, list[tuple[CheckpointId, Split]]] = {}
        """The splits that each subtask has received since the newest completed checkpoint. Each pair consists of the checkpoint that
        the assignment precedes and the split."""
        self.known = self._lists[-1].known
        """What the source knew after its last discovery."""
        self.may_grow = False
        """Whether more splits can be discovered."""

    @classmethod
    def restored(cls, state: AssignerState, unfinished: Iterable[Split], lists: Iterable[SplitList]) -> SplitAssigner:
        """Return an assigner that assigns the ``unfinished`` splits (with positions) before the pending splits.

        If an older version of Weir wrote ``state`` without a split list, ``lists`` contains the pending splits that have no
        position.
        """
        assert state.finished >= 0, "a source has a split that was not assigned to it"
        assigner = cls(lists, next_split=state.next, finished=state.finished, records=state.records)
        pending = [split for split in state.pending if state.split_lists or split.position is not None]
        assigner._pending.extend(map(assigner._with_payload, (*unfinished, *pending)))
        return assigner

    @property
    def end(self) -> int:
        """The index of the next split to be discovered."""
        newest = self._lists[-1]
        return newest.first + len(newest.splits)

    @property
    def unassigned(self) -> int:
        """The number of splits that no subtask has requested yet."""
        return len(self._pending) + self.end - self._next

    def request(self, subtask: int, precedes: CheckpointId) -> list[Assignment]:
        """Return the answers that can be given now. If there is no answer for ``subtask``, the subtask must wait. ``precedes``: the
        next checkpoint to be triggered."""
        self._requests.append(subtask)
        return self._assign(precedes)

    def discovered(self, known: JsonValue, splits: SplitList | None, precedes: CheckpointId) -> list[Assignment]:
        """Add the result of a discovery, and return the answers to waiting requests. ``splits`` is None if nothing was found."""
        self.known = known
        if splits is not None:
            assert splits.first == self.end, "split lists follow each other without gaps"
            self._lists.append(splits)
        return self._assign(precedes)

    def stop_growing(self, precedes: CheckpointId) -> list[Assignment]:
        """Discover no more splits. Return the answers to waiting requests."""
        self.may_grow = False
        return self._assign(precedes)

    def on_subtask_lost(self, subtask: int) -> None:
        """Forget the request of a lost subtask. Call ``take_back`` as soon as it is known which checkpoint the replacement restores."""
        self._requests = deque(waiting for waiting in self._requests if waiting != subtask)

    def take_back(
        self, subtask: int, unfinished: Iterable[Split], *, records: int, restored: CheckpointId, precedes: CheckpointId
    ) -> list[Assignment]:
        """Mark the splits of a lost subtask as unassigned. Return the answers to waiting requests of other subtasks.

        ``restored``: the newest completed checkpoint, which the replacement restores. ``unfinished`` and ``records``: the splits and
        the number of records in the snapshot that the lost subtask took for this checkpoint.
        """
        later = [split for before, split in self._assigned.pop(subtask, []) if before > restored]
        returned = [*map(self._with_payload, unfinished), *later]
        self._pending.extendleft(reversed(returned))
        self._started -= len(returned)
        self._records += records
        return self._assign(precedes)

    def on_completed(self, checkpoint: CheckpointId, lists: Collection[SplitListFile]) -> None:
        """Forget which splits were assigned before ``checkpoint``, because its snapshots contain them. Forget the split lists whose
        splits are all finished. ``lists``: the lists in the state of the manifest, from which ``count_finished`` has removed them. Lists
        that are newer than this state are not affected."""
        self._forget_lists(lists)
        for subtask, assigned in self._assigned.items():
            self._assigned[subtask] = [(before, split) for before, split in assigned if before > checkpoint]

    def snapshot(self) -> AssignerState:
        """Return the state, in which assigned splits count as finished, and whose records end at the restored checkpoint (see
        ``count_finished``)."""
        pending = tuple(split.without_payload() for split in self._pending)
        return AssignerState(pending, self._started, tuple(one.reference for one in self._lists), self._next, self._records)

    def _forget_lists(self, kept: Collection[SplitListFile]) -> None:
        references = [one.reference for one in self._lists]
        newer_from = max(references.index(one) for one in kept) + 1
        self._lists = [one for one in self._lists[:newer_from] if one.reference in kept] + self._lists[newer_from:]

    def _assign(self, precedes: CheckpointId) -> list[Assignment]:
        answers = []
        while self._requests and (self.unassigned or not self.may_grow):
            split, subtask = self._next_split(), self._requests.popleft()
            if split is not None:
                self._started += 1
                self._assigned.setdefault(subtask, []).append((precedes, split))
            answers.append(Assignment(subtask, split))
        return answers

    def _next_split(self) -> Split | None:
        if self._pending:
            return self._pending.popleft()
        if self._next == self.end:
            return None
        self._next += 1
        return self._listed(self._next - 1)

    def _listed(self, index: int) -> Split:
        containing = self._lists[bisect_right([one.first for one in self._lists], index) - 1]
        return containing.splits[index - containing.first]

    def _with_payload(self, split: Split) -> Split:
        return split if split.index is None else replace(split, payload=self._listed(split.index).payload)


class SplitDiscovery:
    """Decides when the coordinator discovers the splits of one source. At most one discovery is running.

    ``every_ms``: time between two discoveries, or None if the source is listed until one discovery succeeds. Call ``start`` if
    ``is_due``, then ``succeeded`` or ``failed``.
    """

    def __init__(self, every_ms: int | None) -> None:
        self.every_ms = every_ms
        self._due_ms: int | None = 0
        """The time of the next discovery. None while a discovery is running, and if no discovery follows."""
        self._running = False
        self._started_ms = 0
        self._slow_reported = False
        self._failures = 0
        self._failure = ""

    def is_due(self, now_ms: int) -> bool:
        return self._due_ms is not None and now_ms >= self._due_ms

    def start(self, now_ms: int) -> None:
        self._running, self._due_ms, self._started_ms, self._slow_reported = True, None, now_ms, False

    def is_slow(self, now_ms: int) -> bool:
        """Return True once for each discovery that has been running for SLOW_MS."""
        slow = self._running and now_ms - self._started_ms >= SLOW_MS and not self._slow_reported
        self._slow_reported = self._slow_reported or slow
        return slow

    def succeeded(self, now_ms: int) -> bool:
        """Return whether the discovery before this one had failed."""
        had_failed, self._failures, self._failure = self._failures > 0, 0, ""
        self._running = False
        took_ms = now_ms - self._started_ms
        if self.every_ms is not None:
            self._due_ms = now_ms + max(self.every_ms, (WORK_SHARE - 1) * took_ms)
        return had_failed

    def failed(self, reason: str, now_ms: int) -> bool:
        """Return whether to report the failure: the same failure in a row is reported once."""
        delay_ms = min(RETRY_MS * 2 ** min(self._failures, 16), RETRY_MS_MAX)
        self._failures += 1
        self._running = False
        self._due_ms = now_ms + max(delay_ms, self.every_ms or 0)
        is_new, self._failure = reason != self._failure, reason
        return is_new


def unlisted_splits(state: AssignerState) -> tuple[Split, ...]:
    """Return the splits of a new split list for ``state``, or nothing if ``state`` has a split list. Older versions of Weir write
    states without a split list."""
    return () if state.split_lists else tuple(split for split in state.pending if split.position is None)
