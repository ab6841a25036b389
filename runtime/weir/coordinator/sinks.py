"""The coordinator's operations on sinks: commit, commit again after a restore, revoke, reinstate and abort.

All operations on sinks run in the sink executor. This process can be paused between any two steps, while a newer generation
starts. Therefore the process reads the log again before each step that changes the visible output, and passes the generation
to the sink (``Committer``).
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import structlog

from weir.connectors.base import Committer
from weir.connectors.registry import sink_from
from weir.coordinator.compiled_job import CompiledJob
from weir.errors import CheckpointError
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CommitPermit
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import BranchAbandoned, BranchReinstated, Entry
from weir.protocol.log_view import AbandonedCheckpoint, LogView
from weir.protocol.manifest import Manifest
from weir.protocol.snapshots import Committable
from weir.storage.base import CheckpointStorage
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest

log = structlog.get_logger(__name__)

_K = TypeVar("_K")
_T = TypeVar("_T")
CurrentView = Callable[[Generation], LogView]
"""Reads the log. Raises StorageError, or Superseded if the log contains a newer generation."""


class SinkCoordinator:
    """Call ``prepare`` for each generation, then ``commit`` for each of its checkpoints, in order."""

    def __init__(
        self,
        plan: CompiledJob,
        storage: CheckpointStorage,
        *,
        current_view: CurrentView,
        append: Callable[[Entry], None],
    ) -> None:
        """``append``: appends to the log.

        ``append`` raises Superseded or StorageError. For an invalid entry, it raises CheckpointError.
        """
        self._plan = plan
        self._storage = storage
        self._layout = JobLayout(plan.job)
        self._current_view = current_view
        self._append = append
        self._committers: dict[OperatorUid, Committer] = {}
        """The committers of the running graph's sinks, and of sinks that only an earlier graph contains."""
        self.confirmed = CheckpointId(0)
        """All checkpoints of the current branch up to this number are published."""

    def commit(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        """Raises SinkError. After an error, the checkpoint does not count as published, so the commit can be repeated."""
        self._publish(permit, committables)
        self.confirmed = max(self.confirmed, permit.checkpoint)

    def _publish(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        for sink, mine in _grouped(committables, lambda one: one.sink).items():
            self._committers[sink].commit(permit, mine)

    def prepare(self, generation: Generation, permit: CommitPermit | None) -> None:
        """Prepare the sinks for a generation.

        Every step is idempotent. Raises Superseded, SinkError, CheckpointError, StorageError.
        """
        view = self._current_view(generation)
        for sink, committer in self._plan.committers.items():
            self._claim(sink, committer, view)
        restored = permit.checkpoint if permit is not None else None
        if permit is not None:
            self._commit_again(view, permit)
        # Revoke before aborting. Otherwise, the abort would delete staged output of completed checkpoints, which an undo can
        # need.
        self._revoke_abandoned(generation, restored)
        if permit is not None:
            self._reinstate(generation, permit)
        self._current_view(generation)
        for committer in self._committers.values():
            committer.abort_after(restored or CheckpointId(0), before_generation=generation)
        self.confirmed = restored or CheckpointId(0)

    def _claim(self, sink: OperatorUid, committer: Committer, view: LogView) -> None:
        committer.claim(job=self._plan.job, sink=sink, history=view.history)
        self._committers[sink] = committer

    def _claim_former(self, manifest: Manifest, view: LogView) -> None:
        """Claim the sinks that the checkpoint's graph contains and the running graph does not.

        Their output is committed, revoked and reinstated like that of current sinks. The sinks of an imported checkpoint
        belong to another job and are not claimed.
        """
        if manifest.imported_from is not None:
            return
        graph = codec.from_json(PhysicalGraph, manifest.graph)
        for operator in graph.logical.operators:
            if operator.kind is OperatorKind.SINK and operator.uid not in self._committers:
                self._claim(operator.uid, sink_from(operator.config).committer(), view)

    # ---- committing again ------------------------------------------------------------------------

    def _commit_again(self, view: LogView, permit: CommitPermit) -> None:
        """Commit the checkpoints that the restored checkpoint descends from, unless they are known to be published."""
        restored = self._read(view, permit.checkpoint)
        for checkpoint in view.ancestry(permit.checkpoint):
            if checkpoint > restored.published_up_to:
                manifest = self._read(view, checkpoint)
                self._claim_former(manifest, view)
                self._publish(permit, manifest.committables())

    def _read(self, view: LogView, checkpoint: CheckpointId) -> Manifest:
        return read_manifest(self._storage, self._layout, view.restore_point(checkpoint))

    # ---- rollback and undo -----------------------------------------------------------------------

    def _revoke_abandoned(self, generation: Generation, restored: CheckpointId | None) -> None:
        """Revoke the output of abandoned checkpoints, so that readers no longer see it."""
        while by_branch := _grouped((view := self._current_view(generation)).abandonment_due, _branch):
            branch, left = next(iter(by_branch.items()))
            committables = [committable for one in left for committable in self._committables(view, one.checkpoint)]
            by_sink = _grouped(committables, lambda one: one.sink)
            for sink, committer in self._revocable():
                committer.revoke(
                    by_sink.get(sink, ()), ancestry=view.ancestry_limits(restored), branch=branch, before_generation=generation
                )
            after = min(one.after for one in left) or None
            entry = BranchAbandoned(generation, branch, after, _ids(left), uuid.uuid4().hex, _wall_ms())
            self._record(entry, lambda now: now.abandonment_due)

    def _reinstate(self, generation: Generation, permit: CommitPermit) -> None:
        """Reinstate revoked output of checkpoints that are on the current branch again.

        The log entry is appended when all output is visible.
        """
        while by_branch := _grouped((view := self._current_view(generation)).reinstatement_due, _branch):
            branch, back = next(iter(by_branch.items()))
            committables = [committable for one in back for committable in self._committables(view, one.checkpoint)]
            revocable = dict(self._revocable())
            for committer in revocable.values():
                committer.reinstate(ancestry=view.ancestry_limits(permit.checkpoint), branch=branch, before_generation=generation)
            self._publish(permit, [committable for committable in committables if committable.sink in revocable])
            entry = BranchReinstated(generation, branch, _ids(back), uuid.uuid4().hex, _wall_ms())
            self._record(entry, lambda now: now.reinstatement_due)

    def _record(
        self, entry: BranchAbandoned | BranchReinstated, due: Callable[[LogView], tuple[AbandonedCheckpoint, ...]]
    ) -> None:
        """Append ``entry``. Do nothing if an earlier attempt has appended the entry without receiving the answer."""
        try:
            self._append(entry)
        except CheckpointError:
            if set(entry.checkpoints) & set(_ids(due(self._current_view(entry.generation)))):
                raise

    def _committables(self, view: LogView, checkpoint: CheckpointId) -> tuple[Committable, ...]:
        """Return the committables of an abandoned checkpoint.

        Return an empty tuple if the manifest is damaged or missing. The sink needs no committables to find published output
        (see ``Committer.revoke``).
        """
        try:
            manifest = self._read(view, checkpoint)
        except CheckpointError as error:
            log.warning("cannot read an abandoned checkpoint", checkpoint=checkpoint, reason=str(error))
            return ()
        self._claim_former(manifest, view)
        return manifest.committables()

    def _revocable(self) -> list[tuple[OperatorUid, Committer]]:
        return [(sink, committer) for sink, committer in self._committers.items() if committer.revocable]


def _grouped(many: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, list[_T]]:
    result: dict[_K, list[_T]] = defaultdict(list)
    for one in many:
        result[key(one)].append(one)
    return result


def _branch(left: AbandonedCheckpoint) -> str:
    return left.branch


def _ids(many: Sequence[AbandonedCheckpoint]) -> tuple[CheckpointId, ...]:
    return tuple(one.checkpoint for one in many)


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
