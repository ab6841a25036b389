"""The job master: the life of a job from its first generation to its end, full recovery included. Pure.

Each generation goes STARTING -> PREPARING -> ALLOCATING -> DEPLOYING -> RUNNING. Any failure goes through
CANCELLING back to STARTING with the next generation: the whole job returns to the last completed
checkpoint, inside the slots that live (runtime.md, section 5, "Full"). The restore point is only
chosen when no entry of the job's log is on its way, for only the log says what is completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from weir.errors import RestoreError
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import (
    Aborted,
    AllAcknowledged,
    CheckpointConfig,
    CheckpointCoordinator,
    CheckpointEffect,
    CheckpointKind,
    CommitPermit,
    Completed,
    Record,
    TooManyFailures,
    Trigger,
    permit_for_restore,
)
from weir.kernel.effects import (
    AppendLog,
    Commit,
    DropSlot,
    Effect,
    Finish,
    LogRequest,
    Outcome,
    Prepare,
    RecordCompleted,
    Report,
    ReportKind,
    Send,
    StartGeneration,
    WriteManifest,
)
from weir.kernel.restarts import RestartConfig, RestartStrategy
from weir.kernel.restore import RestorePoint, SlotRestore, plan_restore, restored_assigners
from weir.kernel.slots import Slot, SlotPhase, SlotTable
from weir.kernel.splits import SplitAssigner
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIncarnation, SubtaskId
from weir.protocol.manifest import AssignerState
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancel,
    Cancelled,
    CheckpointAborted,
    CheckpointCompleted,
    Decline,
    Deploy,
    Deployed,
    FromSlot,
    Heartbeat,
    Lease,
    Peer,
    Register,
    RequestSplit,
    SlotMetrics,
    Start,
    Stop,
    SubtaskEnded,
    SubtaskFailed,
    TriggerCheckpoint,
)
from weir.protocol.snapshots import Split


class JobPhase(StrEnum):
    CREATED = "created"
    STARTING = "starting"
    PREPARING = "preparing"
    ALLOCATING = "allocating"
    DEPLOYING = "deploying"
    RUNNING = "running"
    CANCELLING = "cancelling"
    ENDED = "ended"


LEGAL: dict[JobPhase, frozenset[JobPhase]] = {
    JobPhase.CREATED: frozenset({JobPhase.STARTING, JobPhase.ENDED}),
    JobPhase.STARTING: frozenset({JobPhase.PREPARING, JobPhase.ENDED}),
    JobPhase.PREPARING: frozenset({JobPhase.ALLOCATING, JobPhase.ENDED}),
    JobPhase.ALLOCATING: frozenset({JobPhase.DEPLOYING, JobPhase.ENDED}),
    JobPhase.DEPLOYING: frozenset({JobPhase.RUNNING, JobPhase.CANCELLING, JobPhase.ENDED}),
    JobPhase.RUNNING: frozenset({JobPhase.CANCELLING, JobPhase.ENDED}),
    JobPhase.CANCELLING: frozenset({JobPhase.STARTING, JobPhase.ENDED}),
    JobPhase.ENDED: frozenset(),
}


@dataclass(frozen=True, slots=True)
class JobConfig:
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    restarts: RestartConfig = field(default_factory=RestartConfig)
    heartbeat_timeout_ms: int = 5_000
    lease_ms: int = 10_000
    slots_timeout_ms: int = 60_000
    deploy_timeout_ms: int = 60_000
    cancel_timeout_ms: int = 3_000
    commit_attempts_max: int = 5
    commits_waiting_max: int = 4
    """No periodic checkpoint is triggered while so many completed ones wait to be committed."""
    log_attempts_max: int = 8
    storage_retry_ms: int = 250


class JobMaster:
    """Call ``start`` once, then feed events and results; every method returns effects to carry out in order.

    ``generation`` and ``next_checkpoint`` are the first free numbers of the job's log; ``restore`` is the
    checkpoint to begin with (None: from nothing).
    """

    def __init__(
        self,
        graph: PhysicalGraph,
        config: JobConfig,
        *,
        sources: Iterable[OperatorUid],
        generation: Generation,
        next_checkpoint: CheckpointId,
        restore: RestorePoint | None,
    ) -> None:
        self._graph = graph
        self._config = config
        self._sources = tuple(sources)
        self._generation = generation
        self._next_checkpoint = next_checkpoint
        self._restore = restore
        self._slots = SlotTable(graph.slots)
        self._restarts = RestartStrategy(config.restarts)
        self._phase = JobPhase.CREATED
        self._phase_since_ms = 0
        self._not_before_ms = 0
        self._last_tick_ms: int | None = None
        self._all_subtasks = frozenset(graph.subtasks())
        self._source_slots = frozenset(index for uid in self._sources for index in range(graph.chain_of(uid).parallelism))
        self._checkpoints: CheckpointCoordinator | None = None
        self._assigners: dict[OperatorUid, SplitAssigner] = {}
        self._assigners_at: dict[CheckpointId, Mapping[OperatorUid, AssignerState]] = {}
        self._ended: set[SubtaskId] = set()
        self._commits_open: dict[CheckpointId, Commit] = {}
        self._log_open: tuple[LogRequest, int] | None = None
        self._failed_at_ms: int | None = None
        self._suspend_wanted = False
        self._awaited: tuple[Generation, CheckpointId, CheckpointKind] | None = None
        """The checkpoint whose completion ends the job, once it was triggered."""
        self._prepare_attempts = 0
        self._ending: Finish | None = None
        """How the job ends once nothing is on its way any more."""

    # ---- what is shown -------------------------------------------------------------------

    @property
    def phase(self) -> JobPhase:
        return self._phase

    @property
    def generation(self) -> Generation:
        return self._generation

    @property
    def restore_point(self) -> RestorePoint | None:
        """The newest completed checkpoint of this branch."""
        return self._restore

    @property
    def slots(self) -> SlotTable:
        return self._slots

    # ---- commands ------------------------------------------------------------------------

    def start(self, now_ms: int) -> list[Effect]:
        return self._start_generation(now_ms)

    def suspend(self, now_ms: int) -> list[Effect]:
        """Take a last checkpoint, commit it, stop. While recovering: as soon as the job runs again."""
        self._suspend_wanted = True
        return self._pursue_end(now_ms)

    def cancel(self, now_ms: int) -> list[Effect]:
        """Stop without a checkpoint. What is completed stays."""
        return self._end(Finish(Outcome.CANCELED, "cancelled on request"), now_ms)

    def fail(self, reason: str, kind: str, now_ms: int) -> list[Effect]:
        """Something outside of the kernel's sight makes it pointless to go on (Spark is gone)."""
        return self._end(Finish(Outcome.FAILED, reason, kind), now_ms)

    def savepoint(self, now_ms: int) -> list[Effect]:
        """One checkpoint at a time: nothing is returned if the job is not running or one is pending; try again later."""
        if self._phase is not JobPhase.RUNNING or self._checkpoints is None or self._checkpoints.pending:
            return []
        return self._checkpoint_effects(self._checkpoints.trigger(CheckpointKind.SAVEPOINT, now_ms=now_ms), now_ms)

    # ---- slots -----------------------------------------------------------------------------

    def on_slot_lost(self, incarnation: SlotIncarnation, reason: str, now_ms: int) -> list[Effect]:
        slot = self._slots.remove(incarnation)
        if slot is None or slot.phase is SlotPhase.IDLE or self._phase is JobPhase.ENDED:
            return []
        if self._phase is JobPhase.CANCELLING:
            return self._proceed_when_cancelled(now_ms)
        return self._fail_over(f"slot {slot.index} (pid {slot.registration.pid}) was lost: {reason}", "SlotError", now_ms)

    def on_message(self, incarnation: SlotIncarnation, message: FromSlot, now_ms: int) -> list[Effect]:
        if self._ending is not None:
            return [Send(incarnation, Stop("the job has ended"))] if isinstance(message, Register) else []
        if isinstance(message, Register):
            self._slots.add(message, now_ms=now_ms)
            return [Send(incarnation, Lease(self._config.lease_ms)), *self._deploy_when_allocated(now_ms)]
        slot = self._slots.get(incarnation)
        if slot is None:
            return []
        slot.last_heard_ms = now_ms
        if isinstance(message, Heartbeat):
            return [Send(incarnation, Lease(self._config.lease_ms))]
        if message.generation != self._generation:
            return []
        return self._on_current(slot, message, now_ms)

    def _on_current(
        self,
        slot: Slot,
        message: Deployed | Acknowledge | Decline | SubtaskFailed | SubtaskEnded | RequestSplit | Cancelled | SlotMetrics,
        now_ms: int,
    ) -> list[Effect]:
        match message:
            case Deployed():
                return self._on_deployed(slot, now_ms)
            case Cancelled():
                return self._on_cancelled(slot, now_ms)
            case SubtaskFailed():
                return self._on_subtask_failed(slot, message, now_ms)
            case SlotMetrics():
                return []
            case Acknowledge() | Decline() | SubtaskEnded() | RequestSplit():
                return self._on_running(slot, message, now_ms) if self._phase is JobPhase.RUNNING else []
            case _:
                assert_never(message)

    def _on_running(self, slot: Slot, message: Acknowledge | Decline | SubtaskEnded | RequestSplit, now_ms: int) -> list[Effect]:
        assert self._checkpoints is not None
        match message:
            case Acknowledge(_, checkpoint, snapshot):
                return self._checkpoint_effects(self._checkpoints.acknowledge(checkpoint, snapshot, now_ms=now_ms), now_ms)
            case Decline(_, checkpoint, subtask, reason):
                return self._checkpoint_effects(self._checkpoints.decline(checkpoint, subtask, reason, now_ms=now_ms), now_ms)
            case SubtaskEnded(_, subtask):
                self._ended.add(subtask)
                return self._pursue_end(now_ms)
            case RequestSplit(_, operator, subtask_index):
                split = self._assigners[operator].request(subtask_index)
                precedes = self._checkpoints.next_checkpoint
                return [Send(slot.incarnation, AssignSplit(self._generation, operator, subtask_index, split, precedes))]
            case _:
                assert_never(message)

    def _on_subtask_failed(self, slot: Slot, message: SubtaskFailed, now_ms: int) -> list[Effect]:
        if self._phase not in (JobPhase.RUNNING, JobPhase.DEPLOYING):
            return []
        if message.restartable:
            return self._fail_over(message.reason, message.kind, now_ms)
        return self._end(Finish(Outcome.FAILED, message.reason, message.kind), now_ms)

    # ---- time ------------------------------------------------------------------------------

    def tick(self, now_ms: int) -> list[Effect]:
        """To be called at least every 100 ms, after everything that has arrived was fed in."""
        if self._ending is not None:
            return []
        effects = self._check_heartbeats(now_ms)
        match self._phase:
            case JobPhase.CANCELLING:
                effects += self._tick_cancelling(now_ms)
            case JobPhase.ALLOCATING:
                effects += self._tick_allocating(now_ms)
            case JobPhase.DEPLOYING:
                if now_ms - self._phase_since_ms >= self._config.deploy_timeout_ms:
                    effects += self._fail_over("deployment did not finish in time", "SlotError", now_ms)
            case JobPhase.RUNNING:
                assert self._checkpoints is not None
                commits_lag = len(self._commits_open) >= self._config.commits_waiting_max
                effects += self._checkpoint_effects(self._checkpoints.tick(now_ms, may_trigger=not commits_lag), now_ms)
                effects += self._pursue_end(now_ms)
            case _:
                pass
        return effects

    def _check_heartbeats(self, now_ms: int) -> list[Effect]:
        last_ms, self._last_tick_ms = self._last_tick_ms, now_ms
        if last_ms is not None and now_ms - last_ms > self._config.heartbeat_timeout_ms // 2:
            # This process itself was away: what the slots sent meanwhile may be anywhere. They get a fresh start.
            for slot in self._slots:
                slot.last_heard_ms = now_ms
            return []
        effects: list[Effect] = []
        for slot in self._slots:
            if now_ms - slot.last_heard_ms >= self._config.heartbeat_timeout_ms:
                reason = f"no sign of life for {now_ms - slot.last_heard_ms} ms"
                effects.append(DropSlot(slot.incarnation, reason))
                effects += self.on_slot_lost(slot.incarnation, reason, now_ms)
        return effects

    # ---- one generation after the other ------------------------------------------------------

    def _start_generation(self, now_ms: int) -> list[Effect]:
        self._move(JobPhase.STARTING, now_ms)
        return self._append(
            StartGeneration(self._generation, self._restore.checkpoint if self._restore else None, self._next_checkpoint)
        )

    def _prepare(self, now_ms: int) -> list[Effect]:
        self._move(JobPhase.PREPARING, now_ms)
        self._prepare_attempts = 0
        return [self._preparation(delay_ms=0)]

    def _preparation(self, *, delay_ms: int) -> Prepare:
        permit = permit_for_restore(self._restore.checkpoint, self._generation) if self._restore else None
        known = self._restore.assigners.keys() if self._restore else ()
        new_sources = tuple(uid for uid in self._sources if uid not in known)
        return Prepare(self._generation, permit, self._restore, new_sources, delay_ms)

    def on_prepared(self, enumerated: Mapping[OperatorUid, Iterable[Split]], now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.PREPARING:
            return []
        self._assigners = restored_assigners(self._restore) if self._restore else {}
        for uid, splits in enumerated.items():
            self._assigners[uid] = SplitAssigner(splits)
        self._move(JobPhase.ALLOCATING, now_ms)
        return self._deploy_when_allocated(now_ms)

    def on_prepare_failed(self, reason: str, kind: str, retry: bool, now_ms: int) -> list[Effect]:
        """Every step of it can be done again. ``retry`` False: doing so cannot help."""
        if self._phase is not JobPhase.PREPARING or self._ending is not None:
            return []
        self._prepare_attempts += 1
        if retry and self._prepare_attempts < self._config.commit_attempts_max:
            return [self._preparation(delay_ms=self._config.storage_retry_ms * 2 ** (self._prepare_attempts - 1))]
        return self._end(Finish(Outcome.FAILED, reason, kind), now_ms)

    def _deploy_when_allocated(self, now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.ALLOCATING or now_ms < self._not_before_ms:
            return []
        chosen = self._slots.allocate()
        if chosen is None:
            return []
        try:
            shares = plan_restore(self._graph, self._restore)
        except RestoreError as error:
            return self._end(Finish(Outcome.FAILED, str(error), "RestoreError"), now_ms)
        self._move(JobPhase.DEPLOYING, now_ms)
        graph = codec.to_json(self._graph)
        peers = tuple(
            Peer(slot.index, slot.registration.host, slot.registration.data_port) for slot in chosen if slot.index is not None
        )
        effects: list[Effect] = []
        for slot, share in zip(chosen, shares, strict=True):
            slot.move(SlotPhase.DEPLOYING)
            effects.append(Send(slot.incarnation, self._deploy_message(slot, share, graph, peers)))
        return effects

    def _deploy_message(self, slot: Slot, share: SlotRestore, graph: object, peers: tuple[Peer, ...]) -> Deploy:
        assert slot.index is not None
        return Deploy(
            generation=self._generation,
            slot=slot.index,
            graph=graph,  # type: ignore[arg-type]  # what to_json returned
            peers=peers,
            restored_checkpoint=self._restore.checkpoint if self._restore else None,
            operators=share.operators,
            channels=share.channels,
            ended=share.ended,
            next_checkpoint=self._next_checkpoint,
        )

    def _on_deployed(self, slot: Slot, now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.DEPLOYING or slot.phase is not SlotPhase.DEPLOYING:
            return []
        slot.move(SlotPhase.DEPLOYED)
        members = self._slots.deployed()
        if any(member.phase is not SlotPhase.DEPLOYED for member in members):
            return []
        self._move(JobPhase.RUNNING, now_ms)
        self._ended.clear()
        self._checkpoints = CheckpointCoordinator(
            self._config.checkpoints,
            generation=self._generation,
            subtasks=self._all_subtasks,
            next_checkpoint=self._next_checkpoint,
            now_ms=now_ms,
        )
        effects: list[Effect] = []
        for member in members:
            member.move(SlotPhase.RUNNING)
            effects.append(Send(member.incarnation, Start(self._generation)))
        if self._failed_at_ms is not None:
            took_ms = now_ms - self._failed_at_ms
            effects.append(
                Report(
                    ReportKind.RECOVERED,
                    f"running again from checkpoint {self._restore.checkpoint if self._restore else 'none'}",
                    generation=self._generation,
                    value_ms=took_ms,
                )
            )
            self._failed_at_ms = None
        return [*effects, *self._pursue_end(now_ms)]

    # ---- failure -------------------------------------------------------------------------------

    def _fail_over(self, reason: str, kind: str, now_ms: int) -> list[Effect]:
        if self._phase not in (JobPhase.RUNNING, JobPhase.DEPLOYING) or self._ending is not None:
            return []
        effects: list[Effect] = [Report(ReportKind.FAILURE, reason, generation=self._generation)]
        delay_ms = self._restarts.next_delay_ms()
        if delay_ms is None:
            gave_up = (
                f"gave up after {self._restarts.attempts - 1} restarts without a completed checkpoint; the last failure: {reason}"
            )
            return [*effects, *self._end(Finish(Outcome.FAILED, gave_up, kind), now_ms)]
        if self._failed_at_ms is None:
            self._failed_at_ms = now_ms
        self._not_before_ms = now_ms + delay_ms
        effects += self._leave_running("the job is recovering", now_ms)
        self._move(JobPhase.CANCELLING, now_ms)
        for slot in self._slots.deployed():
            slot.move(SlotPhase.CANCELLING)
            effects.append(Send(slot.incarnation, Cancel(self._generation)))
        return [*effects, *self._proceed_when_cancelled(now_ms)]

    def _leave_running(self, reason: str, now_ms: int) -> list[Effect]:
        """Abort what is pending; take the number of the next checkpoint along."""
        if self._checkpoints is None:
            return []
        self._next_checkpoint = self._checkpoints.next_checkpoint
        effects: list[Effect] = []
        for aborted in self._checkpoints.abort_all(reason, now_ms=now_ms):
            if isinstance(aborted, Aborted):
                self._assigners_at.pop(aborted.checkpoint, None)
                effects.append(Report(ReportKind.CHECKPOINT_ABORTED, aborted.reason, checkpoint=aborted.checkpoint))
        return effects

    def _on_cancelled(self, slot: Slot, now_ms: int) -> list[Effect]:
        if slot.phase is not SlotPhase.CANCELLING:
            return []
        slot.move(SlotPhase.IDLE)
        return self._proceed_when_cancelled(now_ms)

    def _proceed_when_cancelled(self, now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.CANCELLING or self._slots.deployed() or self._log_open is not None:
            return []
        self._checkpoints = None
        self._assigners_at.clear()
        self._generation = Generation(self._generation + 1)
        return self._start_generation(now_ms)

    def _tick_cancelling(self, now_ms: int) -> list[Effect]:
        if now_ms - self._phase_since_ms < self._config.cancel_timeout_ms:
            return []
        effects: list[Effect] = []
        for slot in self._slots.deployed():
            self._slots.remove(slot.incarnation)
            effects.append(DropSlot(slot.incarnation, "did not give up its subtasks in time"))
        return [*effects, *self._proceed_when_cancelled(now_ms)]

    def _tick_allocating(self, now_ms: int) -> list[Effect]:
        effects = self._deploy_when_allocated(now_ms)
        if self._phase is JobPhase.ALLOCATING and now_ms - self._phase_since_ms >= self._config.slots_timeout_ms:
            reason = (
                f"the job needs {self._graph.slots} slots and {len(self._slots)} registered within "
                f"{self._config.slots_timeout_ms // 1000} s: give Spark at least {self._graph.slots} free cores, or lower the parallelism"
            )
            effects += self._end(Finish(Outcome.FAILED, reason, "SlotError"), now_ms)
        return effects

    # ---- checkpoints ---------------------------------------------------------------------------

    def _checkpoint_effects(self, decided: Iterable[CheckpointEffect], now_ms: int) -> list[Effect]:
        effects: list[Effect] = []
        for decision in decided:
            match decision:
                case Trigger(checkpoint, kind):
                    effects += self._trigger(checkpoint, kind)
                case AllAcknowledged(pending):
                    assigners = self._assigners_at[pending.checkpoint]
                    effects.append(WriteManifest(self._generation, pending, assigners))
                case Record(pending):
                    effects += self._append(RecordCompleted(self._generation, pending))
                case Completed():
                    effects += self._completed(decision, now_ms)
                case Aborted(checkpoint, _, reason):
                    self._assigners_at.pop(checkpoint, None)
                    effects.append(Report(ReportKind.CHECKPOINT_ABORTED, reason, checkpoint=checkpoint))
                    notice = CheckpointAborted(self._generation, checkpoint)
                    effects += [Send(slot.incarnation, notice) for slot in self._slots.deployed()]
                case TooManyFailures(reason):
                    effects += self._fail_over(reason, "CheckpointError", now_ms)
                case _:
                    assert_never(decision)
        return effects

    def _trigger(self, checkpoint: CheckpointId, kind: CheckpointKind) -> list[Effect]:
        self._assigners_at[checkpoint] = {uid: assigner.snapshot() for uid, assigner in self._assigners.items()}
        message = TriggerCheckpoint(self._generation, checkpoint)
        sends: list[Effect] = [
            Send(slot.incarnation, message) for slot in self._slots.deployed() if slot.index in self._source_slots
        ]
        return [*sends, Report(ReportKind.CHECKPOINT_TRIGGERED, kind, checkpoint=checkpoint)]

    def _completed(self, decision: Completed, now_ms: int) -> list[Effect]:
        pending = decision.pending
        self._restarts.on_progress()
        self._restore = RestorePoint(
            pending.checkpoint,
            self._graph,
            tuple(snapshot for _, snapshot in sorted(pending.snapshots.items())),
            self._assigners_at.pop(pending.checkpoint),
        )
        commit = Commit(decision.permit, pending.committables())
        # One at a time: if a later one could succeed while an earlier one is being tried again, everything up to the later
        # one would count as published.
        commits = [] if self._commits_open else [commit]
        self._commits_open[pending.checkpoint] = commit
        notice = CheckpointCompleted(self._generation, pending.checkpoint)
        return [
            *commits,
            *(Send(slot.incarnation, notice) for slot in self._slots.deployed()),
            Report(
                ReportKind.CHECKPOINT_COMPLETED,
                pending.kind,
                checkpoint=pending.checkpoint,
                generation=self._generation,
                pending=pending,
                value_ms=now_ms - pending.triggered_ms,
            ),
        ]

    def on_manifest_written(self, generation: Generation, checkpoint: CheckpointId, now_ms: int) -> list[Effect]:
        if generation != self._generation or self._checkpoints is None or self._phase is not JobPhase.RUNNING:
            return []
        return self._checkpoint_effects(self._checkpoints.manifest_written(checkpoint), now_ms)

    def on_manifest_failed(self, generation: Generation, checkpoint: CheckpointId, reason: str, now_ms: int) -> list[Effect]:
        if generation != self._generation or self._checkpoints is None:
            return []
        return self._checkpoint_effects(self._checkpoints.manifest_failed(checkpoint, reason, now_ms=now_ms), now_ms)

    # ---- the job's log ---------------------------------------------------------------------------

    def _append(self, request: LogRequest, *, attempt: int = 1) -> list[Effect]:
        assert self._log_open is None or attempt > 1, "one entry at a time"
        self._log_open = (request, attempt)
        delay_ms = 0 if attempt == 1 else self._config.storage_retry_ms * 2 ** (attempt - 2)
        return [AppendLog(request, delay_ms)]

    def on_log_created(self, request: LogRequest, now_ms: int) -> list[Effect]:
        assert self._log_open is not None and self._log_open[0] is request
        self._log_open = None
        match request:
            case StartGeneration():
                return self._prepare(now_ms) if self._ending is None else self._end_when_quiet(now_ms)
            case RecordCompleted(_, pending):
                assert self._checkpoints is not None
                effects = self._checkpoint_effects(self._checkpoints.entry_created(pending.checkpoint, now_ms=now_ms), now_ms)
                if self._ending is not None:
                    return [*effects, *self._end_when_quiet(now_ms)]
                return [*effects, *self._pursue_end(now_ms), *self._proceed_when_cancelled(now_ms)]
            case _:
                assert_never(request)

    def on_log_superseded(self, generation: Generation, now_ms: int) -> list[Effect]:
        """A higher generation is in the log: nothing more of this process may have an effect."""
        self._log_open = None
        self._commits_open.clear()
        reason = f"generation {generation} runs the job now; this process (generation {self._generation}) stops for good"
        return self._end(Finish(Outcome.SUPERSEDED, reason, "Superseded"), now_ms)

    def on_log_failed(self, request: LogRequest, reason: str, now_ms: int) -> list[Effect]:
        """Storage could not say that the entry exists. Whether it does is for the log to decide: ask again, or stop."""
        assert self._log_open is not None and self._log_open[0] is request
        attempt = self._log_open[1]
        if attempt < self._config.log_attempts_max:
            return self._append(request, attempt=attempt + 1)
        self._log_open = None
        failed = f"the job's log could not be written after {attempt} attempts: {reason}"
        return self._end(Finish(Outcome.FAILED, failed, "StorageError"), now_ms)

    # ---- commits ---------------------------------------------------------------------------------

    def on_committed(self, permit: CommitPermit, now_ms: int) -> list[Effect]:
        done = self._commits_open.pop(permit.checkpoint, None)
        waiting = list(self._commits_open.values())
        following: list[Effect] = [waiting[0]] if done is not None and waiting else []
        if self._ending is not None:
            return [*following, *self._end_when_quiet(now_ms)]
        return [*following, *self._pursue_end(now_ms)]

    def on_commit_failed(self, permit: CommitPermit, reason: str, retry: bool, now_ms: int) -> list[Effect]:
        """Refused for good, or too often: the job fails loudly. The data stays staged; the next start commits it first."""
        commit = self._commits_open.get(permit.checkpoint)
        if commit is None:
            return []
        if retry and commit.attempt < self._config.commit_attempts_max:
            again = Commit(commit.permit, commit.committables, commit.attempt + 1)
            self._commits_open[permit.checkpoint] = again
            return [again]
        self._commits_open.clear()
        failed = f"checkpoint {permit.checkpoint} is completed but could not be committed: {reason}"
        return self._end(Finish(Outcome.FAILED, failed, "SinkError"), now_ms)

    # ---- the end -----------------------------------------------------------------------------------

    def _pursue_end(self, now_ms: int) -> list[Effect]:
        """Take the last checkpoint when it is time; end the job when it is completed and committed."""
        if self._phase is not JobPhase.RUNNING or self._checkpoints is None or self._ending is not None:
            return []
        all_ended = self._ended == self._all_subtasks
        if not all_ended and not self._suspend_wanted:
            return []
        kind = CheckpointKind.FINAL if all_ended else CheckpointKind.SUSPEND
        outcome = Outcome.FINISHED if all_ended else Outcome.SUSPENDED
        self._checkpoints.stop_periodic()
        last_wanted = [pending for pending in self._checkpoints.pending if pending.kind is kind]
        if last_wanted:
            return []
        if self._last_kind_completed(kind):
            return [] if self._commits_open else self._end(Finish(outcome), now_ms)
        if self._checkpoints.pending:
            return []
        self._awaited = (self._generation, self._checkpoints.next_checkpoint, kind)
        return self._checkpoint_effects(self._checkpoints.trigger(kind, now_ms=now_ms), now_ms)

    def _last_kind_completed(self, kind: CheckpointKind) -> bool:
        """The checkpoint that ends the job was triggered in this generation, and it is the newest completed one."""
        if self._awaited is None or self._awaited[0] != self._generation or self._awaited[2] is not kind:
            return False
        return self._restore is not None and self._restore.checkpoint == self._awaited[1]

    def _end(self, finish: Finish, now_ms: int) -> list[Effect]:
        if self._phase is JobPhase.ENDED:
            return []
        if self._ending is None:
            self._ending = finish
            effects = self._leave_running("the job is ending", now_ms)
            effects += [Send(slot.incarnation, Stop(finish.outcome)) for slot in self._slots]
        else:
            effects = []
            if finish.outcome is Outcome.SUPERSEDED:
                self._ending = finish
        return [*effects, *self._end_when_quiet(now_ms)]

    def _end_when_quiet(self, now_ms: int) -> list[Effect]:
        """An entry or a commit on its way is waited for: what it decides must not be left half done."""
        assert self._ending is not None
        if self._log_open is not None or (self._commits_open and self._ending.outcome is not Outcome.SUPERSEDED):
            return []
        self._move(JobPhase.ENDED, now_ms)
        return [self._ending]

    def _move(self, phase: JobPhase, now_ms: int) -> None:
        assert phase in LEGAL[self._phase], f"job: {self._phase} -> {phase}"
        self._phase = phase
        self._phase_since_ms = now_ms
