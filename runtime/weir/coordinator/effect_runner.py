"""Executes the effects that access storage and sinks, in background executors.

Three executors run their calls in order: for the job log, for manifests and for sinks. The sink executor also prepares recoveries,
so the preparation of a recovery starts after all earlier commits. A pool of threads commits the sinks of one checkpoint at the same
time, while the sink executor waits for them. Discoveries of splits run in other threads, so that a slow directory delays no commit.
The job master handles the results, in the coordinator's loop.
"""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, assert_never

import structlog

from weir.connectors.base import Discovered
from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.garbage_collector import SUMMARY_EVERY, GarbageCollector
from weir.coordinator.sinks import Executor, PendingResult, SinkCoordinator, error_text, may_retry
from weir.errors import Superseded, WeirError
from weir.kernel.effects import (
    AppendLog,
    Commit,
    DiscardOutput,
    Discover,
    Effect,
    LogRequest,
    Prepare,
    RecordCompleted,
    StartGeneration,
    StorageEffect,
    WriteManifest,
)
from weir.kernel.job import JobMaster
from weir.kernel.split_assigner import SplitList, unlisted_splits
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import (
    CheckpointCompleted,
    Entry,
    GenerationStarted,
)
from weir.protocol.log_view import LogView
from weir.protocol.manifest import Manifest, SplitListFile, with_channels
from weir.protocol.snapshots import JsonValue, Split
from weir.storage.base import CheckpointStorage
from weir.storage.job_log import Appended, JobLog
from weir.storage.layout import JobLayout, pack_path, state_path
from weir.storage.manifests import WrittenManifest, checkpoint_statistics, write_manifest
from weir.storage.split_lists import read_split_list, write_split_list
from weir.storage.state_files import StateFiles, StateReader

log = structlog.get_logger(__name__)

MasterEvent = Callable[[JobMaster, int], Sequence[Effect]]
"""Passes an event to the job master, with the time in ms. Returns the effects to execute."""
COMMITS_AT_ONCE_MAX = 8
"""Maximum number of sinks that commit at the same time."""


class StopSignal(Protocol):
    """The methods of a ``threading.Event`` that the runner uses.

    A shutdown sets the event. A retry waits for the event instead of sleeping, so a shutdown ends the wait.
    """

    def is_set(self) -> bool: ...

    def set(self) -> None: ...

    def wait(self, timeout: float) -> bool: ...


class DaemonThreads:
    """An executor that runs each call in a new daemon thread. A call that never ends, for example a listing of a network file system
    that does not answer, does not keep the process alive."""

    def __init__(self, name: str) -> None:
        self._name = name

    def submit(self, call: Callable[..., Any], /, *args: Any) -> PendingResult:
        """``call`` must not raise errors."""
        result: Future[Any] = Future()
        threading.Thread(target=lambda: result.set_result(call(*args)), name=self._name, daemon=True).start()
        return result

    def shutdown(self, wait: bool = True) -> None:
        """Do nothing: the threads end with the process."""


@dataclass(frozen=True, slots=True)
class Executors:
    """One background executor for the job log, one for manifests and one for sinks. Each of them runs its calls in order.
    ``commits`` is a pool, and ``discovery`` runs discoveries of splits: both run calls at the same time."""

    log: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "weir-log"))
    manifests: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "weir-manifests"))
    sinks: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "weir-sinks"))
    stopping: StopSignal = field(default_factory=threading.Event)
    commits: Executor = field(default_factory=lambda: ThreadPoolExecutor(COMMITS_AT_ONCE_MAX, "weir-commits"))
    discovery: Executor = field(default_factory=lambda: DaemonThreads("weir-discovery"))

    def close(self) -> None:
        """Wait for all queued calls, except discoveries, whose results have no effect any more.

        The sink executor closes first, because its calls wait for calls of the pool and of the log executor.
        """
        self.stopping.set()
        for executor in (self.sinks, self.commits, self.manifests, self.log):
            executor.shutdown(wait=True)


@dataclass(slots=True)
class _UnconfirmedEntry:
    """An entry to append. If an earlier attempt has created the entry, ``number`` is the number of the entry in the log."""

    request: LogRequest | None
    entry: Entry
    number: int


class EffectRunner:
    """Call ``start`` with a function that posts events to the loop.

    Call ``submit`` from the loop. ``close`` waits for all calls.
    """

    def __init__(
        self,
        plan: CompiledJob,
        storage: CheckpointStorage,
        job_log: JobLog,
        *,
        abandonable: frozenset[CheckpointId] | None = None,
        summary_every: int = SUMMARY_EVERY,
        executors: Executors | None = None,
    ) -> None:
        """``abandonable``: the completed checkpoints that a generation is allowed to abandon. None allows all.

        ``summary_every``: number of log entries between summaries. ``executors``: threads by default.
        """
        self._abandonable = abandonable
        self._plan = plan
        self._graph = codec.to_json(plan.graph)
        self._storage = storage
        self._layout = JobLayout(plan.job)
        self._log = job_log
        """Only the log executor accesses the log. All executors share the immutable log view."""
        self._garbage = GarbageCollector(storage, self._layout, job_log, keep=plan.retained, summary_every=summary_every)
        self._post: Callable[[MasterEvent], None] = lambda event: None
        self._executors = executors if executors is not None else Executors()
        self._open: _UnconfirmedEntry | None = None
        """The entry whose append is not confirmed yet, or None."""
        self._owned: Generation | None = None
        """The newest generation that this process has started."""
        self._manifests: dict[CheckpointId, WrittenManifest] = {}
        """The durable manifests of checkpoints that have no entry in the log yet."""
        self._split_lists: dict[SplitListFile, SplitList] = {}
        """The split lists with which the newest generation was prepared."""
        self._numbers = itertools.count()
        self._sinks = SinkCoordinator(
            plan,
            storage,
            commits=self._executors.commits,
            current_view=self._current_view,
            append=self._append_in_executor,
        )

    def start(self, post: Callable[[MasterEvent], None]) -> None:
        self._post = post

    def close(self) -> None:
        self._executors.close()

    def successor(self) -> Generation | None:
        """Return the generation of another process that has taken over the job, or None if there is no such generation or the
        log is unreadable.

        Call after ``close``.
        """
        try:
            view, _ = self._log.read()
        except WeirError:
            return None
        return view.generation if self._owned is not None and view.generation > self._owned else None

    def submit(self, effect: StorageEffect) -> None:
        match effect:
            case AppendLog():
                self._executors.log.submit(self._append, effect)
            case WriteManifest():
                self._executors.manifests.submit(self._write_manifest, effect)
            case Prepare():
                self._executors.sinks.submit(self._prepare, effect)
            case Discover():
                self._executors.discovery.submit(self._discover, effect)
            case Commit():
                self._executors.sinks.submit(self._commit, effect)
            case DiscardOutput():
                self._executors.sinks.submit(self._sinks.discard, effect)
            case _:
                assert_never(effect)

    # ---- the job log -------------------------------------------------------------------------

    def _append(self, effect: AppendLog) -> None:
        self._executors.stopping.wait(effect.delay_ms / 1_000)
        request = effect.request
        # Every attempt uses the same entry with the same nonce, because an earlier attempt has possibly created the entry.
        try:
            if self._open is None or self._open.request is not request:
                self._open = _UnconfirmedEntry(request, self._entry(request), self._log.next_number)
            self._create(self._open)
        except Superseded as error:
            reason = str(error)
            self._post(lambda master, now_ms: master.on_log_superseded(reason, now_ms))
        except BaseException as error:  # noqa: BLE001  # a bug must fail the job, not hang it
            reason = error_text(error)
            self._post(lambda master, now_ms: master.on_log_failed(request, reason, now_ms))
        else:
            self._open = None
            if isinstance(request, StartGeneration):
                self._owned = request.generation
            self._post(lambda master, now_ms: master.on_log_created(request, now_ms))
            if isinstance(request, RecordCompleted):
                _best_effort(lambda: self._recorded(request.pending.checkpoint))

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
                    state_bytes=pending.statistics.state_bytes,
                    nonce=uuid.uuid4().hex,
                    timestamp_ms=_wall_ms(),
                    is_savepoint=pending.kind.owned_by_user,
                )
            case _:
                assert_never(request)

    def _recorded(self, checkpoint: CheckpointId) -> None:
        self._garbage.completed(self._manifests[checkpoint].manifest)
        for earlier in [one for one in tuple(self._manifests) if one <= checkpoint]:
            del self._manifests[earlier]

    def _read_log(self, generation: Generation) -> None:
        """Raises Superseded if the log contains a newer generation."""
        view, _ = self._log.read()
        if view.generation > generation:
            raise Superseded(f"generation {view.generation} runs the job now, but this process prepares generation {generation}")

    def _current_view(self, generation: Generation) -> LogView:
        """For the other executors."""
        self._executors.log.submit(self._read_log, generation).result()
        return self._log.view

    def _append_in_executor(self, entry: Entry) -> None:
        """For the other executors."""
        self._executors.log.submit(self._append_entry, entry).result()

    def _append_entry(self, entry: Entry) -> None:
        self._create(_UnconfirmedEntry(None, entry, self._log.next_number))

    def _create(self, open_entry: _UnconfirmedEntry) -> None:
        """Raises Superseded if the log contains a newer generation, and StorageError if it cannot determine whether
        the entry exists.
        """
        while True:
            if isinstance(open_entry.entry, GenerationStarted):
                self._check_abandoned(open_entry.entry)
            outcome = self._log.append(open_entry.entry, at=open_entry.number)
            if isinstance(outcome, Appended):
                return
            # Another process has created the entry with this number. If the other process has started a newer generation, the
            # next attempt raises Superseded.
            open_entry.number = outcome.next_number

    def _check_abandoned(self, start: GenerationStarted) -> None:
        """Raises Superseded if another process has completed checkpoints that the user has not agreed to abandon."""
        if self._abandonable is None:
            return
        unexpected = set(self._log.view.abandoned_by(start.restored_from)) - self._abandonable
        if unexpected:
            raise Superseded(
                f"another process completed checkpoint {max(unexpected)} while this process was starting from checkpoint "
                f"{start.restored_from or 'none'}. This process stops and revokes nothing. Check the checkpoints and start again"
            )

    # ---- manifests -----------------------------------------------------------------------------

    def _write_manifest(self, effect: WriteManifest) -> None:
        pending, generation = effect.pending, effect.generation
        try:
            manifest = self._manifest(effect)
            self._manifests[pending.checkpoint] = write_manifest(self._storage, self._layout, manifest)
        except BaseException as error:  # noqa: BLE001  # a bug must abort the checkpoint, not hang it
            reason = error_text(error)
            self._post(lambda master, now_ms: master.on_manifest_failed(generation, pending.checkpoint, reason, now_ms))
        else:
            self._post(
                lambda master, now_ms: master.on_manifest_written(
                    generation, pending.checkpoint, manifest.channels, manifest.statistics, now_ms
                )
            )

    def _manifest(self, effect: WriteManifest) -> Manifest:
        pending = effect.pending
        subtasks = pending.ordered_snapshots()
        took_ms = pending.latest_ack_ms - pending.triggered_ms
        view = self._log.view
        started = next(record for record in reversed(view.generations) if record.generation == effect.generation)
        manifest = Manifest(
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
            subtasks=tuple(subtasks),
            assigners=dict(effect.assigners),
            statistics=checkpoint_statistics(
                subtasks, checkpoint=pending.checkpoint, generation=effect.generation, end_to_end_ms=float(took_ms)
            ),
            published_up_to=self._sinks.confirmed,
        )
        return with_channels(manifest)

    # ---- sinks -----------------------------------------------------------------------------------

    def _commit(self, effect: Commit) -> None:
        permit = effect.permit
        if effect.attempt > 1:
            self._executors.stopping.wait(0.2 * 2 ** (effect.attempt - 2))
        try:
            self._sinks.commit(permit, effect.committables)
        except Superseded as error:
            superseded = str(error)
            self._post(lambda master, now_ms: master.on_log_superseded(superseded, now_ms))
            return
        except BaseException as error:  # noqa: BLE001  # a bug must fail the job, not hang it
            reason, retry = error_text(error), may_retry(error)
            self._post(lambda master, now_ms: master.on_commit_failed(permit, reason, retry, now_ms))
            return
        # Submit ``_retain`` before reporting the commit, because the executors accept no calls after the last commit of the job.
        self._executors.log.submit(_best_effort, self._retain)
        self._post(lambda master, now_ms: master.on_committed(permit, now_ms))

    def _prepare(self, effect: Prepare) -> None:
        self._executors.stopping.wait(effect.delay_ms / 1_000)
        try:
            warnings = [*self._sinks.prepare(effect.generation, effect.permit)]
            split_lists = self._list_splits(effect, warnings)
        except Superseded as error:
            reason = str(error)
            self._post(lambda master, now_ms: master.on_log_superseded(reason, now_ms))
            return
        except BaseException as error:  # noqa: BLE001  # a bug must fail the job, not hang it
            reason, kind, retry = error_text(error), type(error).__name__, may_retry(error)
            self._post(lambda master, now_ms: master.on_prepare_failed(reason, kind, retry, now_ms))
            return
        self._post(lambda master, now_ms: master.on_prepared(split_lists, now_ms, warnings))
        # From now on, no checkpoint can refer to files that earlier generations wrote for unfinished checkpoints.
        self._executors.log.submit(_best_effort, self._garbage.delete_orphans)

    # ---- splits ----------------------------------------------------------------------------------

    def _list_splits(self, effect: Prepare, warnings: list[str]) -> dict[OperatorUid, tuple[SplitList, ...]]:
        """Return the split lists of each source, oldest first. Write the split lists of new sources, and of sources whose state an
        older version wrote without a split list. Read the other split lists from the checkpoint, unless this process has read
        them before.

        If a restored source begins to discover splits, add an empty split list that contains what the source knows. Warnings about
        the input are added to ``warnings``. The names of split
        lists contain the generation. Only one process runs a generation, so the names are unique.
        """
        graph, point = self._plan.graph, effect.point
        files = StateFiles(
            self._storage,
            self._layout,
            generation=effect.generation,
            checkpoint=self._log.view.next_checkpoint,
            attempt="splits",
            numbers=self._numbers,
        )
        lists: dict[OperatorUid, tuple[SplitList, ...]] = {}
        for uid in effect.enumerate_sources:
            source = self._plan.sources[uid]
            parallelism, known = graph.chain_of(uid).parallelism, self._known_after(uid, ())
            found = Discovered(source.splits(parallelism), None) if known is None else source.discover(known, parallelism)
            lists[uid] = (write_split_list(files, uid, found.splits, known=found.known),)
            warnings += found.warnings
        if point is not None:
            with StateReader(self._storage, self._layout, point.checkpoint) as reader:
                for uid, state in point.assigners.items():
                    read = (self._split_lists.get(one) or read_split_list(reader, one) for one in state.split_lists)
                    lists[uid] = tuple(read) or (write_split_list(files, uid, unlisted_splits(state)),)
            for uid in point.assigners:
                newest = lists[uid][-1]
                known = self._known_after(uid, newest.splits) if newest.known is None else None
                if known is not None:
                    lists[uid] += (write_split_list(files, uid, (), first=newest.first + len(newest.splits), known=known),)
        files.flush()
        self._split_lists = {one.reference: one for split_lists in lists.values() for one in split_lists}
        return lists

    def _known_after(self, uid: OperatorUid, splits: Sequence[Split]) -> JsonValue:
        """Return what a source knows that begins to discover splits after ``splits``, or None if the source is bounded."""
        source = self._plan.sources.get(uid)
        return None if source is None or source.discover_every_ms is None else source.known_after(splits)

    def _discover(self, effect: Discover) -> None:
        generation, uid = effect.generation, effect.source
        try:
            found = self._plan.sources[uid].discover(effect.known, self._plan.graph.chain_of(uid).parallelism)
            listed = self._write_discovered(effect, found) if found.splits else None
        except WeirError as error:
            reason = str(error)
            self._post(lambda master, now_ms: master.on_discovery_failed(generation, uid, reason, now_ms))
        except BaseException as error:  # noqa: BLE001  # a bug must fail the job, not hang it
            failed, kind = error_text(error), type(error).__name__
            self._post(lambda master, now_ms: master.fail(failed, kind, now_ms))
        else:
            self._post(lambda master, now_ms: master.on_discovered(generation, uid, found.known, listed, now_ms, found.warnings))

    def _write_discovered(self, effect: Discover, found: Discovered) -> SplitList:
        """Write the split list of a discovery. The list is durable on return. No checkpoint refers to the list yet, so the garbage
        collector must know its name before the file exists. Raises StorageError."""
        generation, checkpoint, number = effect.generation, self._log.view.next_checkpoint, next(self._numbers)
        attempt = f"splits.{number}"
        paths = (
            pack_path(generation=generation, checkpoint=checkpoint, attempt=attempt),
            state_path(effect.source, generation=generation, checkpoint=checkpoint, subtask=0, attempt=attempt),
        )
        self._garbage.protect(effect.source, paths)
        files = StateFiles(
            self._storage, self._layout, generation=generation, checkpoint=checkpoint, attempt="splits", numbers=iter((number,))
        )
        listed = write_split_list(files, effect.source, found.splits, first=effect.first, known=found.known)
        files.flush()
        assert listed.file.path in paths
        return listed

    # ---- retention ---------------------------------------------------------------------------------

    def _retain(self) -> None:
        """Retire old checkpoints and summarise the log, unless a newer generation owns the job.

        If a newer generation exists that this process does not know yet, the log refuses the entry, and nothing is deleted.
        Checkpoints are also retired while the executors close, so that an ended job retains no more checkpoints than a running
        job. If the outcome of an append is unknown, the coordinator writes no summary, because the trim could delete the appended
        entry before the coordinator has found it.
        """
        owned = self._owned
        if owned is None or self._log.view.generation != owned:
            return
        self._garbage.retire(owned, uncommitted_from=CheckpointId(self._sinks.confirmed + 1))
        if self._open is None and not self._executors.stopping.is_set():
            self._garbage.summarise(owned)


def _best_effort(work: Callable[[], None]) -> None:
    """Run ``work`` and log its errors. No caller needs the result, and the next checkpoint repeats the work."""
    try:
        work()
    except Exception:
        log.exception("garbage collection of the checkpoint directory failed")


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
