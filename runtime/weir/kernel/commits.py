"""The commits of completed checkpoints: one at a time, in order."""

from __future__ import annotations

from weir.kernel.checkpoints import CommitPermit
from weir.kernel.effects import Commit
from weir.protocol.ids import CheckpointId
from weir.protocol.snapshots import Committable


class CommitQueue:
    """Call ``add`` per completed checkpoint, then ``done`` or ``again`` for each answer.

    Only the first is under way. If a later one could succeed while an earlier one is being tried again, everything
    up to the later one would count as published.
    """

    def __init__(self, *, attempts_max: int) -> None:
        self._attempts_max = attempts_max
        self._open: dict[CheckpointId, Commit] = {}

    def __len__(self) -> int:
        """Commits that are under way or wait."""
        return len(self._open)

    def __contains__(self, permit: CommitPermit) -> bool:
        return permit.checkpoint in self._open

    def add(self, permit: CommitPermit, committables: tuple[Committable, ...]) -> list[Commit]:
        """What is to be carried out now: nothing while another is under way."""
        commit = Commit(permit, committables)
        now = [] if self._open else [commit]
        self._open[permit.checkpoint] = commit
        return now

    def done(self, permit: CommitPermit) -> list[Commit]:
        """What is to be carried out next. An answer that nobody waits for has no effect."""
        if self._open.pop(permit.checkpoint, None) is None:
            return []
        return list(self._open.values())[:1]

    def again(self, permit: CommitPermit) -> Commit | None:
        """It failed; the permit must be in the queue. None: it was tried often enough."""
        commit = self._open[permit.checkpoint]
        if commit.attempt >= self._attempts_max:
            return None
        again = Commit(commit.permit, commit.committables, commit.attempt + 1)
        self._open[permit.checkpoint] = again
        return again

    def drop_all(self) -> None:
        """Nothing more is committed by this process: what is staged stays, and the next start commits it first."""
        self._open.clear()
