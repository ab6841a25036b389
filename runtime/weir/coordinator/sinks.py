"""The coordinator's operations on sinks: commit, commit again after a restore, revoke, reinstate and abort.

All operations on sinks run in the sink executor, one after the other, with one exception: the sinks commit the epoch of a
checkpoint at the same time (``SinkCoordinator.commit``). This process can be paused between any two steps, while a newer generation
starts. Therefore each step passes the generation to the sink, which fences older generations (``Committer``). To avoid useless
work, ``prepare`` also reads the log again before it revokes, reinstates, commits or aborts output.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import structlog

from weir.connectors.base import Committer, Epochs, MissingOutput
from weir.connectors.registry import sink_from
from weir.coordinator.compiled_job import CompiledJob
from weir.errors import CheckpointError, Retry, SinkError, Superseded, WeirError
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CommitPermit, permit_for_restore
from weir.kernel.effects import DiscardOutput
from weir.protocol import codec
from weir.protocol.ids import Attempt, CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import BranchAbandoned, BranchReinstated, CheckpointPublished, Entry
from weir.protocol.log_view import AbandonedCheckpoint, LogView
from weir.protocol.manifest import Manifest, epoch_of
from weir.protocol.snapshots import Committable
from weir.storage.base import CheckpointStorage
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest

log = structlog.get_logger(__name__)

SHOWN = 10
"""The maximum number of checkpoints that a warning lists."""
_K = TypeVar("_K")
_T = TypeVar("_T")
CurrentView = Callable[[Generation], LogView]
"""Reads the log. Raises StorageError, or Superseded if the log contains a newer generation."""


class PendingResult(Protocol):
    def result(self) -> object:
        """Wait for the call, and return its result or raise its error."""
        ...


class Executor(Protocol):
    """The methods of an executor that the coordinator uses."""

    def submit(self, call: Callable[..., Any], /, *args: Any) -> PendingResult: ...

    def shutdown(self, wait: bool = True) -> None: ...


class SinkCoordinator:
    """Call ``prepare`` for each generation, then ``commit`` for each of its checkpoints, in order."""

    def __init__(
        self,
        plan: CompiledJob,
        storage: CheckpointStorage,
        *,
        commits: Executor,
        current_view: CurrentView,
        append: Callable[[Entry], None],
    ) -> None:
        """``commits`` is a pool, whose threads commit sinks at the same time. ``append`` appends an entry to the log. ``append``
        raises Superseded or StorageError, and CheckpointError for an invalid entry."""
        self._plan = plan
        self._storage = storage
        self._layout = JobLayout(plan.job)
        self._commits = commits
        self._current_view = current_view
        self._append = append
        self._committers: dict[OperatorUid, Committer] = {}
        """The committers of the running graph's sinks, and of sinks that only an earlier graph contains."""
        self.confirmed = CheckpointId(0)
        """All checkpoints of the current branch up to the checkpoint ``confirmed`` are known to be published. The log also
        records the publication of these checkpoints, except during a call of ``prepare``."""

    def commit(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        """Publish the epoch of a completed checkpoint, and record the publication in the log. Call ``commit`` in the order of
        the checkpoints.

        The sinks commit at the same time. If a sink fails, ``commit`` waits for the other sinks before it raises the error, so no
        commit is still running when the caller continues.

        Raises Superseded, SinkError, StorageError. After an error, the caller can repeat the call. The repeated call commits all
        sinks again, because the commit of a sink is idempotent.
        """
        self._publish(permit, epoch_of(committables, after=self.confirmed))
        self._confirm(permit)

    def _publish(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        """Raises Superseded, SinkError."""
        running = {
            sink: self._commits.submit(self._committers[sink].commit, permit, mine)
            for sink, mine in _by_sink(committables).items()
        }
        failures: dict[OperatorUid, BaseException] = {}
        for sink, call in running.items():
            try:
                call.result()
            except BaseException as error:  # noqa: BLE001  # raised below, after all sinks have ended
                failures[sink] = error
        if failures:
            raise _commit_error(failures)

    def _confirm(self, permit: CommitPermit) -> None:
        self._append(CheckpointPublished(permit.generation, permit.checkpoint, uuid.uuid4().hex, _wall_ms()))
        self.confirmed = permit.checkpoint

    def prepare(self, generation: Generation, permit: CommitPermit | None) -> tuple[str, ...]:
        """Prepare the sinks for a generation. Return warnings for the user about output that could not be revoked or
        reinstated.

        Every step is idempotent. Raises Superseded, SinkError, CheckpointError, StorageError.
        """
        view = self._current_view(generation)
        for sink, committer in self._plan.committers.items():
            self._claim(sink, committer, view)
        restored = permit.checkpoint if permit is not None else None
        # Revoke before committing, so that readers never see the output of two branches. Revoke before aborting, because an abort
        # deletes the staged output of completed checkpoints, and an undo can need this output.
        warnings = self._revoke_abandoned(generation, restored)
        if permit is not None:
            warnings += self._reinstate(generation, permit)
            self._commit_again(generation, permit)
        else:
            self.confirmed = CheckpointId(0)
        self._current_view(generation)
        for committer in self._committers.values():
            committer.abort_after(restored or CheckpointId(0), before=Attempt(generation))
        return tuple(warnings)

    def discard(self, effect: DiscardOutput) -> None:
        """Delete the staged output of a slot that is replaced."""
        attempt = Attempt(effect.generation, effect.attempt)
        for sink, committer in self._committers.items():
            try:
                committer.discard(effect.slot, attempt, after=effect.checkpoint)
            except Exception as error:  # noqa: BLE001  # the next generation deletes the output
                log.warning(
                    "cannot delete staged output of a replaced slot", sink=sink, slot=effect.slot, reason=error_text(error)
                )

    def _claim(self, sink: OperatorUid, committer: Committer, view: LogView) -> None:
        committer.claim(job=self._plan.job, sink=sink, history=view.history)
        self._committers[sink] = committer

    def _claim_former(self, manifest: Manifest, view: LogView) -> None:
        """Claim the sinks that the checkpoint's graph contains and the running graph does not.

        The output of these sinks is committed, revoked and reinstated like the output of current sinks.
        """
        for sink, committer in former_committers(manifest, self._committers).items():
            self._claim(sink, committer, view)

    # ---- committing again ------------------------------------------------------------------------

    def _commit_again(self, generation: Generation, permit: CommitPermit) -> None:
        """Commit each checkpoint in the ancestry of the restored checkpoint, unless the checkpoint is known to be published."""
        view = self._current_view(generation)
        record = view.restore_point(permit.checkpoint)
        restored = self._manifests(view, [permit.checkpoint])[permit.checkpoint]
        published = max(view.published_up_to(permit.checkpoint), restored.published_up_to)
        self.confirmed = published
        unpublished = [checkpoint for checkpoint in view.ancestry(permit.checkpoint) if checkpoint > published]
        for checkpoint, manifest in self._manifests(view, unpublished).items():
            epoch = epoch_of(manifest.committables(), after=self.confirmed)
            self._publish(permit_for_restore(checkpoint, generation), epoch)
            self.confirmed = checkpoint
        if not record.published:
            self._confirm(permit)

    def _manifests(self, view: LogView, checkpoints: Iterable[CheckpointId]) -> dict[CheckpointId, Manifest]:
        """Read manifests, and claim the sinks of their graphs. Raises CheckpointError, StorageError, SinkError."""
        manifests = {checkpoint: self._read(view, checkpoint) for checkpoint in checkpoints}
        for manifest in manifests.values():
            self._claim_former(manifest, view)
        return manifests

    def _read(self, view: LogView, checkpoint: CheckpointId) -> Manifest:
        return read_manifest(self._storage, self._layout, view.restore_point(checkpoint))

    # ---- rollback and undo -----------------------------------------------------------------------

    def _revoke_abandoned(self, generation: Generation, restored: CheckpointId | None) -> list[str]:
        """Revoke the output of abandoned checkpoints, so that readers no longer see it. Return warnings for the user."""
        warnings: list[str] = []
        while by_branch := _grouped((view := self._current_view(generation)).abandonment_due, _branch):
            branch, left = next(iter(by_branch.items()))
            epochs = {one.checkpoint: _by_sink(self._epoch(view, one.checkpoint)) for one in left}
            for sink, committer in self._revocable():
                mine: Epochs = {checkpoint: by_sink[sink] for checkpoint, by_sink in epochs.items() if sink in by_sink}
                missing = committer.revoke(
                    mine, ancestry=view.ancestry_limits(restored), branch=branch, before=Attempt(generation)
                )
                warnings += not_revoked(sink, committer, missing)
            after = min(one.after for one in left) or None
            entry = BranchAbandoned(generation, branch, after, _ids(left), uuid.uuid4().hex, _wall_ms())
            self._record(entry, lambda now: now.abandonment_due)
        return warnings

    def _reinstate(self, generation: Generation, permit: CommitPermit) -> list[str]:
        """Reinstate revoked output of checkpoints that are on the current branch again. Return warnings for the user.

        Append the log entry after all output is visible.
        """
        warnings: list[str] = []
        while by_branch := _grouped((view := self._current_view(generation)).reinstatement_due, _branch):
            branch, back = next(iter(by_branch.items()))
            self._manifests(view, _ids(back))
            for sink, committer in self._revocable():
                missing = committer.reinstate(
                    ancestry=view.ancestry_limits(permit.checkpoint), branch=branch, before=Attempt(generation)
                )
                warnings += not_reinstated(sink, committer, missing)
            entry = BranchReinstated(generation, branch, _ids(back), uuid.uuid4().hex, _wall_ms())
            self._record(entry, lambda now: now.reinstatement_due)
        return warnings

    def _record(
        self, entry: BranchAbandoned | BranchReinstated, due: Callable[[LogView], tuple[AbandonedCheckpoint, ...]]
    ) -> None:
        """Append ``entry``. If an earlier attempt appended the entry, but the answer was lost, do nothing."""
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


def _commit_error(failures: Mapping[OperatorUid, BaseException]) -> WeirError:
    """Return one error for the sinks that could not commit. A retry can help only if it can help all these sinks."""
    for error in failures.values():
        if isinstance(error, Superseded):
            return error
    text = "; ".join(f"sink '{sink}': {error_text(error)}" for sink, error in failures.items())
    return SinkError(text, retry=Retry.BACKOFF if all(map(may_retry, failures.values())) else Retry.NEVER)


def error_text(error: BaseException) -> str:
    """Return the text of an error for the user. Log the stack of an unexpected error."""
    if isinstance(error, WeirError):
        return str(error)
    log.error("cannot execute an effect", exc_info=error)
    return f"internal error: {type(error).__name__}: {error}"


def may_retry(error: BaseException) -> bool:
    return isinstance(error, WeirError) and error.retry is Retry.BACKOFF


def not_revoked(sink: OperatorUid, committer: Committer, missing: Sequence[MissingOutput]) -> list[str]:
    """Return at most one sentence about output that could not be revoked."""
    if not missing:
        return []
    reason = f"because a consumer has removed the files from {committer.target}"
    return [f"Sink '{sink}' could not revoke {_describe(missing)}, {reason}. The job publishes these records again."]


def not_reinstated(sink: OperatorUid, committer: Committer, missing: Sequence[MissingOutput]) -> list[str]:
    """Return at most one sentence about output that an undo could not publish again."""
    if not missing:
        return []
    reason = f"because a consumer had removed the files from {committer.target} before the rollback"
    return [f"Sink '{sink}' did not publish {_describe(missing)} again, {reason}."]


def _describe(missing: Sequence[MissingOutput]) -> str:
    checkpoints = ", ".join(str(one.checkpoint) for one in missing[:SHOWN]) + (", ..." if len(missing) > SHOWN else "")
    records, items = sum(one.records for one in missing), sum(one.items for one in missing)
    noun = "checkpoint" if len(missing) == 1 else "checkpoints"
    return f"{_count(records, 'record')} ({_count(items, 'file')}) of {noun} {checkpoints}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def former_committers(manifest: Manifest, current: Collection[OperatorUid]) -> dict[OperatorUid, Committer]:
    """Return the committers of the sinks in the checkpoint's graph, except for the sinks in ``current``. Return no committers for
    an imported checkpoint, because its sinks belong to another job."""
    if manifest.imported_from is not None:
        return {}
    graph = codec.from_json(PhysicalGraph, manifest.graph)
    return {
        operator.uid: sink_from(operator.config).committer()
        for operator in graph.logical.operators
        if operator.kind is OperatorKind.SINK and operator.uid not in current
    }


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
