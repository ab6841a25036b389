"""Carries out what touches storage and sinks, beside the coordinator's loop.

Three lanes, each in order: the job's log; manifests; sinks (so that a recovery's preparation comes after
the commits before it). What follows from a result is decided by the job master, back in the loop.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

import structlog

from weir.coordinator.lanes import Lanes
from weir.coordinator.plan import JobPlan
from weir.coordinator.publishing import Publishing
from weir.coordinator.retention import SUMMARY_EVERY, Retention
from weir.errors import Retry, Superseded, WeirError
from weir.kernel.effects import AppendLog, Commit, Effect, LogRequest, Prepare, RecordCompleted, StartGeneration, WriteManifest
from weir.kernel.job import JobMaster
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.joblog import (
    CheckpointCompleted,
    Entry,
    GenerationStarted,
)
from weir.protocol.logview import LogView
from weir.protocol.manifest import Manifest
from weir.protocol.snapshots import Split
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.manifests import WrittenManifest, statistics_of, write_manifest

log = structlog.get_logger(__name__)

Event = Callable[[JobMaster, int], Sequence[Effect]]


@dataclass(slots=True)
class _OpenEntry:
    """An entry that is to be in the log, and the number under which it may be there already."""

    request: LogRequest | None
    entry: Entry
    number: int


@dataclass(frozen=True, slots=True)
class _Unrecorded:
    """A manifest that is written and not yet in the log."""

    manifest: Manifest
    written: WrittenManifest


class EffectRunner:
    """``start`` with a function that brings an event into the loop; ``submit`` from the loop; ``close`` waits for what runs."""

    def __init__(
        self,
        plan: JobPlan,
        storage: CheckpointStorage,
        job_log: JobLog,
        *,
        may_leave_behind: frozenset[CheckpointId] | None = None,
        summary_every: int = SUMMARY_EVERY,
        lanes: Lanes | None = None,
    ) -> None:
        """``may_leave_behind``: completed checkpoints that a generation may go back behind; None: whatever there is.

        ``summary_every``: how many entries the log grows by until they are summarised. ``lanes``: threads, if not given.
        """
        self._may_leave_behind = may_leave_behind
        self._plan = plan
        self._graph = codec.to_json(plan.graph)
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
        self._manifests: dict[CheckpointId, _Unrecorded] = {}
        self._publishing = Publishing(plan, storage, current_view=self._current_view, append=self._append_in_lane)

    def start(self, post: Callable[[Event], None]) -> None:
        self._post = post

    def close(self) -> None:
        self._lanes.close()

    def successor(self) -> Generation | None:
        """The generation that has taken the job over from this process. None: none has, or nobody knows. After ``close``."""
        try:
            view, _ = self._log.read()
        except WeirError:
            return None
        return view.generation if self._owned is not None and view.generation > self._owned else None

    def submit(self, effect: AppendLog | WriteManifest | Prepare | Commit) -> None:
        match effect:
            case AppendLog():
                self._lanes.log.submit(self._append, effect)
            case WriteManifest():
                self._lanes.manifests.submit(self._write_manifest, effect)
            case Prepare():
                self._lanes.sinks.submit(self._prepare, effect)
            case Commit():
                self._lanes.sinks.submit(self._commit, effect)
            case _:
                assert_never(effect)

    # ---- the job's log -----------------------------------------------------------------------

    def _append(self, effect: AppendLog) -> None:
        self._lanes.closing.wait(effect.delay_ms / 1_000)
        request = effect.request
        # The same entry (the same nonce) at every attempt: it may be in the log already, and must be known again there.
        try:
            if self._open is None or self._open.request is not request:
                self._open = _OpenEntry(request, self._entry(request), self._log.next_number)
            self._create(self._open)
        except Superseded as error:
            reason = str(error)
            self._post(lambda master, now_ms: master.on_log_superseded(reason, now_ms))
        except BaseException as error:  # noqa: BLE001  # a bug must end the job with its name, not hang it
            reason = _reason(error)
            self._post(lambda master, now_ms: master.on_log_failed(request, reason, now_ms))
        else:
            self._open = None
            if isinstance(request, StartGeneration):
                self._owned = request.generation
            self._post(lambda master, now_ms: master.on_log_created(request, now_ms))
            if isinstance(request, RecordCompleted):
                _beside(lambda: self._recorded(request.pending.checkpoint))

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
                written = self._manifests[pending.checkpoint].written
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

    def _recorded(self, checkpoint: CheckpointId) -> None:
        self._retention.completed(self._manifests[checkpoint].manifest)
        for earlier in [one for one in tuple(self._manifests) if one <= checkpoint]:
            del self._manifests[earlier]

    def _read_log(self, generation: Generation) -> None:
        """Raises Superseded if a newer generation is in it."""
        view, _ = self._log.read()
        if view.generation > generation:
            raise Superseded(f"generation {view.generation} runs the job now, this process prepares generation {generation}")

    def _current_view(self, generation: Generation) -> LogView:
        """For the other lanes."""
        self._lanes.log.submit(self._read_log, generation).result()
        return self._log.view

    def _append_in_lane(self, entry: Entry) -> None:
        """For the other lanes."""
        self._lanes.log.submit(self._append_entry, entry).result()

    def _append_entry(self, entry: Entry) -> None:
        self._create(_OpenEntry(None, entry, self._log.next_number))

    def _create(self, open_entry: _OpenEntry) -> None:
        """Raises Superseded when a higher generation is in the log, StorageError when it is not known to be created."""
        while True:
            if isinstance(open_entry.entry, GenerationStarted):
                self._refuse_leaving_behind(open_entry.entry)
            outcome = self._log.append(open_entry.entry, at=open_entry.number)
            if isinstance(outcome, Appended):
                return
            # Somebody else took the number. If that was a newer generation, the next try raises Superseded.
            open_entry.number = outcome.next_number

    def _refuse_leaving_behind(self, start: GenerationStarted) -> None:
        """Between the look at the log and this entry another process went on: to take its output back is not what was asked for."""
        if self._may_leave_behind is None:
            return
        unforeseen = set(self._log.view.left_behind_by(start.restored_from)) - self._may_leave_behind
        if unforeseen:
            raise Superseded(
                f"another process completed checkpoint {max(unforeseen)} while this one was starting from "
                f"{start.restored_from or 'nothing'}: it stops, nothing is taken back; look at the checkpoints and start again"
            )

    # ---- manifests -----------------------------------------------------------------------------

    def _write_manifest(self, effect: WriteManifest) -> None:
        pending, generation = effect.pending, effect.generation
        try:
            manifest = self._manifest(effect)
            written = write_manifest(self._storage, self._layout, manifest)
            self._manifests[pending.checkpoint] = _Unrecorded(manifest, written)
        except BaseException as error:  # noqa: BLE001  # a bug must abort the checkpoint, not hang it
            reason = _reason(error)
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
            graph=self._graph,
            subtasks=subtasks,
            assigners=dict(effect.assigners),
            statistics=statistics_of(
                subtasks, checkpoint=pending.checkpoint, generation=effect.generation, end_to_end_ms=float(took_ms)
            ),
            published_up_to=self._publishing.confirmed,
        )

    # ---- sinks -----------------------------------------------------------------------------------

    def _commit(self, effect: Commit) -> None:
        permit = effect.permit
        if effect.attempt > 1:
            self._lanes.closing.wait(0.2 * 2 ** (effect.attempt - 2))
        try:
            self._publishing.commit(permit, effect.committables)
        except BaseException as error:  # noqa: BLE001  # a bug must end the job with its name, not hang it
            reason, retry = _reason(error), _may_retry(error)
            self._post(lambda master, now_ms: master.on_commit_failed(permit, reason, retry, now_ms))
            return
        # Asked for first: the last commit ends the job, and with it the lanes take no more work.
        self._lanes.log.submit(_beside, self._retain)
        self._post(lambda master, now_ms: master.on_committed(permit, now_ms))

    def _prepare(self, effect: Prepare) -> None:
        self._lanes.closing.wait(effect.delay_ms / 1_000)
        try:
            self._publishing.prepare(effect.generation, effect.permit)
            enumerated = self._enumerate(effect.enumerate_sources)
        except Superseded as error:
            reason = str(error)
            self._post(lambda master, now_ms: master.on_log_superseded(reason, now_ms))
            return
        except BaseException as error:  # noqa: BLE001  # a bug must end the job with its name, not hang it
            reason, kind, retry = _reason(error), type(error).__name__, _may_retry(error)
            self._post(lambda master, now_ms: master.on_prepare_failed(reason, kind, retry, now_ms))
            return
        self._post(lambda master, now_ms: master.on_prepared(enumerated, now_ms))
        # What the generation before it had on its way is nobody's now.
        self._lanes.log.submit(_beside, self._retention.sweep)

    def _enumerate(self, uids: Iterable[OperatorUid]) -> dict[OperatorUid, tuple[Split, ...]]:
        graph = self._plan.graph
        return {uid: self._plan.sources[uid].splits(graph.chain_of(uid).parallelism) for uid in uids}

    # ---- retention ---------------------------------------------------------------------------------

    def _retain(self) -> None:
        """Only of a job that is this process's own as far as it knows; if it is not, the log refuses the entry and nothing goes.

        Also while the lanes close, which wait for it: a job that ends keeps no more than one that runs. A summary can wait, and must
        as long as an entry is in doubt: it would hide whether that is there.
        """
        owned = self._owned
        if owned is None or self._log.view.generation != owned:
            return
        self._retention.retire(owned, uncommitted_from=CheckpointId(self._publishing.confirmed + 1))
        if self._open is None and not self._lanes.closing.is_set():
            self._retention.summarise(owned)


def _beside(work: Callable[[], None]) -> None:
    """For what nobody waits for and the next checkpoint does again."""
    try:
        work()
    except Exception:
        log.exception("the checkpoint directory could not be tidied")


def _reason(error: BaseException) -> str:
    if isinstance(error, WeirError):
        return str(error)
    log.error("an effect could not be carried out", exc_info=error)
    return f"internal error: {type(error).__name__}: {error}"


def _may_retry(error: BaseException) -> bool:
    return isinstance(error, WeirError) and error.retry is Retry.BACKOFF


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
