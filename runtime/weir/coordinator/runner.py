"""Carries out what touches storage and sinks, beside the coordinator's loop.

Three lanes, each in order: the job's log; manifests; sinks (so that a recovery's preparation comes after
the commits before it). What follows from a result is decided by the job master, back in the loop.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

import structlog

from weir.connectors.base import Committer
from weir.coordinator.lanes import Lanes
from weir.coordinator.plan import JobPlan
from weir.coordinator.retention import SUMMARY_EVERY, Retention
from weir.errors import CheckpointError, Retry, Superseded, WeirError
from weir.kernel.checkpoints import CommitPermit
from weir.kernel.effects import AppendLog, Commit, Effect, LogRequest, Prepare, RecordCompleted, StartGeneration, WriteManifest
from weir.kernel.job import JobMaster
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.joblog import (
    BranchAbandoned,
    BranchReinstated,
    CheckpointCompleted,
    Entry,
    GenerationStarted,
)
from weir.protocol.logview import LeftBehind, LogView
from weir.protocol.manifest import Manifest, summarise
from weir.protocol.snapshots import Committable, Split
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import WrittenManifest, read_manifest, write_manifest

log = structlog.get_logger(__name__)

Event = Callable[[JobMaster, int], Sequence[Effect]]


@dataclass(slots=True)
class _OpenEntry:
    """An entry that is to be in the log, and the number under which it may be there already."""

    request: LogRequest | None
    entry: Entry
    number: int


class EffectRunner:
    """``start`` with a function that brings an event into the loop; ``submit`` from the loop; ``close`` waits for what runs."""

    def __init__(
        self,
        plan: JobPlan,
        storage: CheckpointStorage,
        job_log: JobLog,
        *,
        from_newest: bool = False,
        summary_every: int = SUMMARY_EVERY,
        lanes: Lanes | None = None,
    ) -> None:
        """``from_newest``: the first generation must not leave behind what is completed until it is in the log.

        ``summary_every``: how many entries the log grows by until they are summarised. ``lanes``: threads, if not given.
        """
        self._from_newest = from_newest
        self._plan = plan
        self._storage = storage
        self._layout = JobLayout(plan.job)
        self._log = job_log
        """Touched by the log's lane only; its view, which never changes, by all."""
        self._retention = Retention(storage, self._layout, job_log, keep=plan.retained, summary_every=summary_every)
        self._post: Callable[[Event], None] = lambda event: None
        self._lanes = lanes if lanes is not None else Lanes()
        self._open: _OpenEntry | None = None
        """From asked for to known to be in the log."""
        self._owned: Generation | None = None
        """The generation that this process has started last."""
        self._manifests: dict[CheckpointId, WrittenManifest] = {}
        """From written to recorded."""
        self._confirmed: CheckpointId = CheckpointId(0)
        """Everything on the current branch up to here is published: what may be retired."""
        self._swept = False

    def start(self, post: Callable[[Event], None]) -> None:
        self._post = post

    def close(self) -> None:
        self._lanes.close()

    def submit(self, effect: AppendLog | WriteManifest | Prepare | Commit) -> None:
        match effect:
            case AppendLog():
                self._lanes.log.submit(self._guarded, lambda: self._append(effect))
            case WriteManifest():
                self._lanes.manifests.submit(self._guarded, lambda: self._write_manifest(effect))
            case Prepare():
                self._lanes.sinks.submit(self._guarded, lambda: self._prepare(effect))
            case Commit():
                self._lanes.sinks.submit(self._guarded, lambda: self._commit(effect))
            case _:
                assert_never(effect)

    def _guarded(self, work: Callable[[], None]) -> None:
        """A bug here must end the job, not a thread."""
        try:
            work()
        except Exception as error:
            log.exception("an effect could not be carried out")
            reason, kind = f"internal error: {type(error).__name__}: {error}", type(error).__name__
            self._post(lambda master, now_ms: master.fail(reason, kind, now_ms))

    # ---- the job's log -----------------------------------------------------------------------

    def _append(self, effect: AppendLog) -> None:
        self._lanes.closing.wait(effect.delay_ms / 1_000)
        request = effect.request
        # The same entry (the same nonce) at every attempt: it may be in the log already, and must be known again there.
        if self._open is None or self._open.request is not request:
            self._open = _OpenEntry(request, self._entry(request), self._log.next_number)
        try:
            self._create(self._open)
        except Superseded:
            newer = self._log.view.generation
            self._post(lambda master, now_ms: master.on_log_superseded(newer, now_ms))
        except WeirError as error:
            reason = str(error)
            self._post(lambda master, now_ms: master.on_log_failed(request, reason, now_ms))
        else:
            self._open = None
            if isinstance(request, StartGeneration):
                self._owned = request.generation
            self._post(lambda master, now_ms: master.on_log_created(request, now_ms))

    def _entry(self, request: StartGeneration | RecordCompleted) -> Entry:
        view = self._log.view
        match request:
            case StartGeneration(generation, restored_from, first_checkpoint):
                return GenerationStarted(
                    generation=generation,
                    restored_from=restored_from,
                    branch=view.branch_after(restored_from, generation),
                    first_checkpoint=first_checkpoint,
                    nonce=uuid.uuid4().hex,
                    timestamp_ms=_wall_ms(),
                )
            case RecordCompleted(generation, pending):
                written = self._manifests[pending.checkpoint]
                return CheckpointCompleted(
                    generation=generation,
                    checkpoint=pending.checkpoint,
                    manifest_path=written.path,
                    manifest_checksum=written.checksum,
                    state_bytes=sum(snapshot.statistics.state_bytes for snapshot in pending.snapshots.values()),
                    nonce=uuid.uuid4().hex,
                    timestamp_ms=_wall_ms(),
                    is_savepoint=pending.kind.owned_by_user,
                )
            case _:
                assert_never(request)

    def _append_entry(self, entry: Entry) -> None:
        self._create(_OpenEntry(None, entry, self._log.next_number))

    def _create(self, open_entry: _OpenEntry) -> None:
        """Raises Superseded when a higher generation is in the log, StorageError when it is not known to be created."""
        while True:
            outcome = self._log.append(open_entry.entry, at=open_entry.number)
            if isinstance(outcome, Appended):
                return
            # Somebody else took the number. If that was a newer generation, the next try raises Superseded.
            open_entry.number = outcome.next_number
            if self._from_newest and isinstance(open_entry.entry, GenerationStarted):
                _refuse_leaving_behind(outcome.view, open_entry.entry)

    # ---- manifests -----------------------------------------------------------------------------

    def _write_manifest(self, effect: WriteManifest) -> None:
        pending, generation = effect.pending, effect.generation
        try:
            self._manifests[pending.checkpoint] = write_manifest(self._storage, self._layout, self._manifest(effect))
        except WeirError as error:
            reason = str(error)
            self._post(lambda master, now_ms: master.on_manifest_failed(generation, pending.checkpoint, reason, now_ms))
        else:
            self._post(lambda master, now_ms: master.on_manifest_written(generation, pending.checkpoint, now_ms))

    def _manifest(self, effect: WriteManifest) -> Manifest:
        pending = effect.pending
        subtasks = tuple(snapshot for _, snapshot in sorted(pending.snapshots.items()))
        took_ms = pending.latest_ack_ms - pending.triggered_ms
        view = self._log.view
        started = next(record for record in reversed(view.generations) if record.generation == effect.generation)
        return Manifest(
            job=self._plan.job,
            checkpoint=pending.checkpoint,
            generation=effect.generation,
            branch=view.branch,
            restored_from=started.restored_from,
            trigger_timestamp_ms=_wall_ms() - took_ms,
            completed_timestamp_ms=_wall_ms(),
            is_savepoint=pending.kind.owned_by_user,
            drained=pending.kind.drains,
            graph=codec.to_json(self._plan.graph),
            subtasks=subtasks,
            assigners=dict(effect.assigners),
            statistics=summarise(subtasks, end_to_end_ms=float(took_ms)),
            published_up_to=self._confirmed,
        )

    # ---- sinks -----------------------------------------------------------------------------------

    def _commit(self, effect: Commit) -> None:
        permit = effect.permit
        if effect.attempt > 1:
            self._lanes.closing.wait(0.2 * 2 ** (effect.attempt - 2))
        try:
            self._publish(permit, effect.committables)
        except WeirError as error:
            reason, retry = str(error), error.retry is Retry.BACKOFF
            self._post(lambda master, now_ms: master.on_commit_failed(permit, reason, retry, now_ms))
            return
        self._confirmed = max(self._confirmed, permit.checkpoint)
        self._post(lambda master, now_ms: master.on_committed(permit, now_ms))
        self._lanes.log.submit(self._guarded, self._retain)

    def _publish(self, permit: CommitPermit, committables: Iterable[Committable]) -> None:
        by_sink: dict[OperatorUid, list[Committable]] = defaultdict(list)
        for committable in committables:
            by_sink[committable.sink].append(committable)
        for uid, mine in by_sink.items():
            self._plan.committers[uid].commit(permit, mine)

    def _prepare(self, effect: Prepare) -> None:
        self._lanes.closing.wait(effect.delay_ms / 1_000)
        try:
            restored = effect.permit.checkpoint if effect.permit is not None else None
            if effect.permit is not None:
                self._commit_again(effect.permit)
            # Taking back comes before aborting: what is completed and not yet published is staged too, and may be wanted again.
            self._take_back(effect.generation, restored)
            for committer in self._plan.committers.values():
                committer.abort_after(restored or CheckpointId(0), before_generation=effect.generation)
            enumerated = self._enumerate(effect.enumerate_sources)
        except Superseded:
            newer = self._log.view.generation
            self._post(lambda master, now_ms: master.on_log_superseded(newer, now_ms))
            return
        except WeirError as error:
            reason, kind, retry = str(error), type(error).__name__, error.retry is Retry.BACKOFF
            self._post(lambda master, now_ms: master.on_prepare_failed(reason, kind, retry, now_ms))
            return
        self._confirmed = restored or CheckpointId(0)
        self._post(lambda master, now_ms: master.on_prepared(enumerated, now_ms))
        if not self._swept:
            self._swept = True
            self._lanes.log.submit(self._guarded, self._retention.sweep)

    def _commit_again(self, permit: CommitPermit) -> None:
        """Everything on the line up to the restored checkpoint that is not known to be published."""
        view = self._log.view
        published_up_to = self._read(view, permit.checkpoint).published_up_to
        for checkpoint in view.ancestry(permit.checkpoint):
            if checkpoint > published_up_to:
                self._publish(permit, self._committables(view, checkpoint))

    def _read(self, view: LogView, checkpoint: CheckpointId) -> Manifest:
        return read_manifest(self._storage, self._layout, view.restore_point(checkpoint))

    def _committables(self, view: LogView, checkpoint: CheckpointId) -> tuple[Committable, ...]:
        return self._read(view, checkpoint).committables()

    def _take_back(self, generation: Generation, restored: CheckpointId | None) -> None:
        """What a restore went back behind is taken back from the sinks, what it returned to is shown again (runtime.md, section 4)."""
        view = self._log.view
        line = view.line(restored)
        for branch, left in _by_branch(view.abandonment_due).items():
            committables = [committable for one in left for committable in self._left_behind(view, one.checkpoint)]
            for uid, committer in self._revocable():
                mine = [committable for committable in committables if committable.sink == uid]
                committer.abandon(mine, line=line, branch=branch)
            checkpoints = tuple(one.checkpoint for one in left)
            after = min(one.after for one in left) or None
            self._in_log_lane(BranchAbandoned(generation, branch, after, checkpoints, uuid.uuid4().hex, _wall_ms()))
        for branch, back in _by_branch(self._log.view.reinstatement_due).items():
            for _, committer in self._revocable():
                committer.reinstate(line=line, branch=branch)
            checkpoints = tuple(one.checkpoint for one in back)
            self._in_log_lane(BranchReinstated(generation, branch, checkpoints, uuid.uuid4().hex, _wall_ms()))

    def _left_behind(self, view: LogView, checkpoint: CheckpointId) -> tuple[Committable, ...]:
        """Of a damaged checkpoint none: what it published the sink finds itself, and going back behind it is the way out."""
        try:
            return self._committables(view, checkpoint)
        except CheckpointError as error:
            log.warning("a checkpoint that is left behind cannot be read", checkpoint=checkpoint, reason=str(error))
            return ()

    def _revocable(self) -> list[tuple[OperatorUid, Committer]]:
        return [(uid, committer) for uid, committer in self._plan.committers.items() if committer.revocable]

    def _in_log_lane(self, entry: Entry) -> None:
        self._lanes.log.submit(self._append_entry, entry).result()

    def _enumerate(self, uids: Iterable[OperatorUid]) -> dict[OperatorUid, tuple[Split, ...]]:
        graph = self._plan.graph
        return {uid: self._plan.sources[uid].splits(graph.chain_of(uid).parallelism) for uid in uids}

    # ---- retention ---------------------------------------------------------------------------------

    def _retain(self) -> None:
        """Only as long as this process runs the job, and not with an entry in doubt: a summary would hide whether it is there."""
        if self._lanes.closing.is_set() or self._log.view.generation != self._owned:
            return
        self._retention.retire(uncommitted_from=CheckpointId(self._confirmed + 1))
        if self._open is None:
            self._retention.summarise()


def _refuse_leaving_behind(view: LogView, start: GenerationStarted) -> None:
    """Between the look at the log and this entry another process went on: to take its output back is not what was asked for."""
    newest = view.newest.checkpoint if view.newest is not None else None
    if newest != start.restored_from:
        raise Superseded(
            f"another process completed checkpoint {newest} while this one was starting from {start.restored_from or 'nothing'}: "
            "it stops; start again with --resume"
        )


def _by_branch(many: Iterable[LeftBehind]) -> dict[str, list[LeftBehind]]:
    result: dict[str, list[LeftBehind]] = defaultdict(list)
    for one in many:
        result[one.branch].append(one)
    return result


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
