"""Outstanding requests to storage and sinks: the job log append, the preparation of a generation, and commits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from weir.kernel.checkpoints import CommitPermit, permit_for_restore
from weir.kernel.effects import AppendLog, Commit, LogRequest, Prepare
from weir.kernel.failover import Backoff
from weir.kernel.restore import RestorePoint, restored_assigners
from weir.kernel.split_assigner import SplitAssigner, SplitList
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import Committable


class PendingAppend:
    """The append to the job log that has not been answered yet. At most one append is open.

    Call ``append``, then ``created`` or ``retry`` for each answer. While an append is open, the content of the log is
    unknown, so the job must not choose a restore point and must not end.
    """

    def __init__(self, *, attempts_max: int, retry_ms: int) -> None:
        self._attempts_max = attempts_max
        self._retry_ms = retry_ms
        self._open: tuple[LogRequest, Backoff] | None = None

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def append(self, request: LogRequest) -> AppendLog:
        assert self._open is None, "one append at a time"
        self._open = (request, Backoff(attempts_max=self._attempts_max, first_delay_ms=self._retry_ms))
        return AppendLog(request)

    def created(self, request: LogRequest) -> None:
        """The entry is in the log, so close the append."""
        self._backoff(request)
        self._open = None

    def retry(self, request: LogRequest) -> AppendLog | None:
        """Storage could not confirm the entry.

        Return the effect that repeats the append. After the last attempt, close the append and return None.
        """
        delay_ms = self._backoff(request).next_delay_ms()
        if delay_ms is None:
            self._open = None
            return None
        return AppendLog(request, delay_ms)

    def drop(self) -> None:
        """Close the append without waiting for the answer. If an answer arrives after this call, do not pass the answer to
        ``created`` or ``retry``."""
        self._open = None

    def _backoff(self, request: LogRequest) -> Backoff:
        assert self._open is not None and self._open[0] is request, "answer to a request that is not open"
        return self._open[1]


class Preparation:
    """The steps before a generation is deployed: commit and revoke output, and provide the split lists of the sources. Every step
    is idempotent.

    If ``point`` is None, the job starts without state. Only the splits of sources that ``point`` does not contain are enumerated.
    All other sources continue with the split lists of the checkpoint.
    """

    def __init__(
        self, generation: Generation, point: RestorePoint | None, sources: Iterable[OperatorUid], backoff: Backoff
    ) -> None:
        self._generation = generation
        self._point = point
        restored = point.assigners.keys() if point else ()
        self._new_sources = tuple(uid for uid in sources if uid not in restored)
        self._backoff = backoff

    def start(self) -> Prepare:
        return self._prepare(delay_ms=0)

    def retry(self) -> Prepare | None:
        """Call after a failure. Return None after the last attempt."""
        delay_ms = self._backoff.next_delay_ms()
        return None if delay_ms is None else self._prepare(delay_ms=delay_ms)

    def assigners(self, split_lists: Mapping[OperatorUid, Sequence[SplitList]]) -> dict[OperatorUid, SplitAssigner]:
        """Return the assigners of all sources: restored from the checkpoint, or new."""
        restored = restored_assigners(self._point, split_lists) if self._point else {}
        return restored | {uid: SplitAssigner(split_lists[uid]) for uid in self._new_sources}

    def _prepare(self, *, delay_ms: int) -> Prepare:
        permit = permit_for_restore(self._point.checkpoint, self._generation) if self._point else None
        return Prepare(self._generation, permit, self._point, self._new_sources, delay_ms)


class CommitQueue:
    """The commits of completed checkpoints, in order and one at a time.

    Call ``add`` for each completed checkpoint, then ``done`` or ``retry`` for each answer. Only the first commit in the queue is
    running. If two commits ran at once, the later commit could succeed while the earlier commit is still being retried. If only
    the later commit succeeded, both checkpoints would count as published, because the coordinator stores only the number of
    the newest published checkpoint.
    """

    def __init__(self, *, attempts_max: int) -> None:
        self._attempts_max = attempts_max
        self._open: dict[CheckpointId, Commit] = {}

    def __len__(self) -> int:
        """Number of running and waiting commits."""
        return len(self._open)

    def __contains__(self, permit: CommitPermit) -> bool:
        return permit.checkpoint in self._open

    def add(self, permit: CommitPermit, committables: tuple[Committable, ...]) -> list[Commit]:
        """Return the commit to run now. The result is empty while a commit is running."""
        commit = Commit(permit, committables)
        runnable = [] if self._open else [commit]
        self._open[permit.checkpoint] = commit
        return runnable

    def done(self, permit: CommitPermit) -> list[Commit]:
        """Return the commit to run next, if any. An answer for an unknown permit has no effect."""
        if self._open.pop(permit.checkpoint, None) is None:
            return []
        return list(self._open.values())[:1]

    def retry(self, permit: CommitPermit) -> Commit | None:
        """Return the next attempt of a failed commit, or None after the last attempt. The commit must be in the queue."""
        commit = self._open[permit.checkpoint]
        if commit.attempt >= self._attempts_max:
            return None
        commit = Commit(commit.permit, commit.committables, commit.attempt + 1)
        self._open[permit.checkpoint] = commit
        return commit

    def drop_all(self) -> None:
        """Start no more commits in this process. Staged output stays, and the next start commits it first."""
        self._open.clear()
