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

from weir.connectors.base import Committer, Epochs
from weir.connectors.registry import sink_from
from weir.coordinator.compiled_job import CompiledJob
from weir.errors import CheckpointError
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CommitPermit, epoch_of, permit_for_restore
from weir.protocol import codec
from weir.protocol.ids import Attempt, CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import BranchAbandoned, BranchReinstated, CheckpointPublished, Entry
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
        """All checkpoints of the current branch up to this number are published, and the log contains this fact."""

    def commit(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        """Publish the epoch of a completed checkpoint, and record it in the log. Call in the order of the checkpoints.

        Raises Superseded, SinkError, StorageError. After an error, the checkpoint does not count as published, so the commit can be
        repeated.
        """
        self._publish(permit, epoch_of(committables, after=self.confirmed))
        self._confirm(permit)

    def _publish(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        for sink, mine in _by_sink(committables).items():
            self._committers[sink].commit(permit, mine)

    def _confirm(self, permit: CommitPermit) -> None:
        self._append(CheckpointPublished(permit.generation, permit.checkpoint, uuid.uuid4().hex, _wall_ms()))
        self.confirmed = permit.checkpoint

    def prepare(self, generation: Generation, permit: CommitPermit | None) -> None:
        """Prepare the sinks for a generation.

        Every step is idempotent. Raises Superseded, SinkError, CheckpointError, StorageError.
        """
        view = self._current_view(generation)
        for sink, committer in self._plan.committers.items():
            self._claim(sink, committer, view)
        restored = permit.checkpoint if permit is not None else None
        # Revoke before committing, so that readers never see the output of two branches. Revoke before aborting, because an undo
        # can need the staged output of completed checkpoints, which the abort would delete.
        self._revoke_abandoned(generation, restored)
        if permit is not None:
            self._reinstate(generation, permit)
            self._commit_again(generation, permit)
        else:
            self.confirmed = CheckpointId(0)
        self._current_view(generation)
        for committer in self._committers.values():
            committer.abort_after(restored or CheckpointId(0), before=Attempt(generation))

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

    def _commit_again(self, generation: Generation, permit: CommitPermit) -> None:
        """Commit the checkpoints that the restored checkpoint descends from, unless they are known to be published."""
        view = self._current_view(generation)
        record = view.restore_point(permit.checkpoint)
        published = view.published_up_to(permit.checkpoint)
        if published < permit.checkpoint:
            published = max(published, self._read(view, permit.checkpoint).published_up_to)
        self.confirmed = published
        unpublished = [checkpoint for checkpoint in view.ancestry(permit.checkpoint) if checkpoint > published]
        for checkpoint, manifest in self._manifests(view, unpublished).items():
            epoch = epoch_of(manifest.committables(), after=self.confirmed)
            self._publish(permit_for_restore(checkpoint, generation), epoch)
            self.confirmed = checkpoint
        if not record.published:
            self._confirm(permit)

    def _manifests(self, view: LogView, checkpoints: Iterable[CheckpointId]) -> dict[CheckpointId, Manifest]:
        """Read manifests, and claim the sinks in them. Raises CheckpointError, StorageError, SinkError."""
        manifests = {checkpoint: self._read(view, checkpoint) for checkpoint in checkpoints}
        for manifest in manifests.values():
            self._claim_former(manifest, view)
        return manifests

    def _read(self, view: LogView, checkpoint: CheckpointId) -> Manifest:
        return read_manifest(self._storage, self._layout, view.restore_point(checkpoint))

    # ---- rollback and undo -----------------------------------------------------------------------

    def _revoke_abandoned(self, generation: Generation, restored: CheckpointId | None) -> None:
        """Revoke the output of abandoned checkpoints, so that readers no longer see it."""
        while by_branch := _grouped((view := self._current_view(generation)).abandonment_due, _branch):
            branch, left = next(iter(by_branch.items()))
            epochs = {one.checkpoint: _by_sink(self._epoch(view, one.checkpoint)) for one in left}
            for sink, committer in self._revocable():
                mine: Epochs = {checkpoint: by_sink[sink] for checkpoint, by_sink in epochs.items() if sink in by_sink}
                committer.revoke(mine, ancestry=view.ancestry_limits(restored), branch=branch, before=Attempt(generation))
            after = min(one.after for one in left) or None
            entry = BranchAbandoned(generation, branch, after, _ids(left), uuid.uuid4().hex, _wall_ms())
            self._record(entry, lambda now: now.abandonment_due)

    def _reinstate(self, generation: Generation, permit: CommitPermit) -> None:
        """Reinstate revoked output of checkpoints that are on the current branch again.

        The log entry is appended when all output is visible.
        """
        while by_branch := _grouped((view := self._current_view(generation)).reinstatement_due, _branch):
            branch, back = next(iter(by_branch.items()))
            self._manifests(view, _ids(back))
            for _, committer in self._revocable():
                committer.reinstate(ancestry=view.ancestry_limits(permit.checkpoint), branch=branch, before=Attempt(generation))
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

    def _epoch(self, view: LogView, checkpoint: CheckpointId) -> tuple[Committable, ...]:
        """Return the committables that the commit of an abandoned checkpoint publishes.

        Return an empty tuple if the manifest is damaged or missing. The sink needs no committables to find published output
        (see ``Committer.revoke``).
        """
        try:
            manifest = self._manifests(view, [checkpoint])[checkpoint]
        except CheckpointError as error:
            log.warning("cannot read an abandoned checkpoint", checkpoint=checkpoint, reason=str(error))
            return ()
        before = [one for one in view.ancestry(checkpoint) if one < checkpoint]
        return epoch_of(manifest.committables(), after=max(before, default=CheckpointId(0)))

    def _revocable(self) -> list[tuple[OperatorUid, Committer]]:
        return [(sink, committer) for sink, committer in self._committers.items() if committer.revocable]


def _grouped(many: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, list[_T]]:
    result: dict[_K, list[_T]] = defaultdict(list)
    for one in many:
        result[key(one)].append(one)
    return result


def _by_sink(committables: Iterable[Committable]) -> dict[OperatorUid, list[Committable]]:
    return _grouped(committables, lambda one: one.sink)


def _branch(left: AbandonedCheckpoint) -> str:
    return left.branch


def _ids(many: Sequence[AbandonedCheckpoint]) -> tuple[CheckpointId, ...]:
    return tuple(one.checkpoint for one in many)


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
