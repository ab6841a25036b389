"""The job master: the life of a job from its first generation to its end, full recovery included. Pure.

Each generation goes STARTING -> PREPARING -> ALLOCATING -> DEPLOYING -> RUNNING. Any failure goes through
CANCELLING back to STARTING with the next generation: the whole job returns to the last completed
checkpoint, inside the slots that live (runtime.md, section 5, "Full"). The restore point is only
chosen when no entry of the job's log is on its way, for only the log says what is completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import assert_never

from weir.errors import RestoreError
from weir.graph.physical import PhysicalGraph
from weir.kernel import reports
from weir.kernel.checkpoints import (
    Aborted,
    AllAcknowledged,
    CheckpointCoordinator,
    CheckpointEffect,
    CheckpointKind,
    CommitPermit,
    Completed,
    Record,
    TooManyFailures,
    Trigger,
)
from weir.kernel.commits import CommitQueue
from weir.kernel.config import JobConfig
from weir.kernel.deployment import Deployment
from weir.kernel.effects import (
    DropSlot,
    Effect,
    Finish,
    LogRequest,
    Outcome,
    RecordCompleted,
    Send,
    StartGeneration,
    WriteManifest,
)
from weir.kernel.ending import LastCheckpoint
from weir.kernel.heartbeats import Heartbeats
from weir.kernel.log_entry import OpenEntry
from weir.kernel.preparation import Preparation
from weir.kernel.recovery import Recovery
from weir.kernel.restore import RestorePoint, plan_restore
from weir.kernel.retries import Retries
from weir.kernel.slots import Slot, SlotPhase, SlotTable
from weir.kernel.splits import SplitAssigner
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIncarnation
from weir.protocol.manifest import AssignerState
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancelled,
    CheckpointAborted,
    CheckpointCompleted,
    Decline,
    Deployed,
    FromSlot,
    Heartbeat,
    Lease,
    Register,
    RequestSplit,
    SlotMetrics,
    Stop,
    SubtaskEnded,
    SubtaskFailed,
    TriggerCheckpoint,
)
from weir.protocol.snapshots import Split

__all__ = ["LEGAL", "JobConfig", "JobMaster", "JobPhase"]


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

_DEPLOYED = frozenset({JobPhase.DEPLOYING, JobPhase.RUNNING})
"""Slots have their share of the generation, or are about to: a failure of one is a failure of all."""


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
        self._deployment = Deployment(self._slots, graph, self._sources)
        self._heartbeats = Heartbeats(config.heartbeat_timeout_ms)
        self._recovery = Recovery(config.restarts)
        self._phase = JobPhase.CREATED
        self._phase_since_ms = 0
        self._preparation: Preparation | None = None
        self._checkpoints: CheckpointCoordinator | None = None
        self._assigners: dict[OperatorUid, SplitAssigner] = {}
        self._assigners_at: dict[CheckpointId, Mapping[OperatorUid, AssignerState]] = {}
        self._entry = OpenEntry(attempts_max=config.log_attempts_max, retry_ms=config.storage_retry_ms)
        self._commits = CommitQueue(attempts_max=config.commit_attempts_max)
        self._last = LastCheckpoint(graph.subtasks())
        self._last_loss: str | None = None
        """What Spark said of the last slot that ended early, since the slots were last complete."""
        self._wanted: CheckpointKind | None = None
        """What somebody has asked for. Stays wanted over a recovery."""
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
        self._last.suspend()
        return self._pursue_end(now_ms)

    def cancel(self, now_ms: int) -> list[Effect]:
        """Stop without a checkpoint. What is completed stays."""
        return self._end(Finish(Outcome.CANCELED, "cancelled on request"), now_ms)

    def taken(self, reason: str, now_ms: int) -> list[Effect]:
        """Stop as in ``cancel``, since the job was taken from this process by who may do that. Unlike ``on_log_superseded`` the log may not
        say so yet: an entry on its way is waited for. A commit is not; whoever starts next does it first."""
        return self._end(Finish(Outcome.SUPERSEDED, reason, "Superseded"), now_ms)

    def fail(self, reason: str, kind: str, now_ms: int) -> list[Effect]:
        """It is pointless to go on; also if only somebody outside of the kernel knows (Spark is gone)."""
        return self._end(Finish(Outcome.FAILED, reason, kind), now_ms)

    def savepoint(self, now_ms: int) -> list[Effect]:
        """One checkpoint at a time: at once if none is pending and the job runs, else as soon as that is so. One that is
        aborted is not taken again: whoever asked is told."""
        return self._want(CheckpointKind.SAVEPOINT, now_ms)

    def checkpoint(self, now_ms: int) -> list[Effect]:
        """As ``savepoint``, which does for this as well if both are wanted."""
        return self._want(self._wanted or CheckpointKind.MANUAL, now_ms)

    def _want(self, kind: CheckpointKind, now_ms: int) -> list[Effect]:
        self._wanted = kind if self._ending is None else None
        return self._take_wanted(now_ms)

    def _take_wanted(self, now_ms: int) -> list[Effect]:
        """If one is, and now is the time."""
        if self._wanted is None or self._phase is not JobPhase.RUNNING or self._ending is not None:
            return []
        if self._checkpoints is None or self._checkpoints.pending:
            return []
        kind, self._wanted = self._wanted, None
        return self._checkpoint_effects(self._checkpoints.trigger(kind, now_ms=now_ms), now_ms)

    # ---- slots -----------------------------------------------------------------------------

    def on_slot_ended_early(self, reason: str, now_ms: int) -> list[Effect]:
        """What Spark says of it. That it is gone is known by its connection, if it ever had one."""
        self._last_loss = reason
        return []

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
        match message:
            case Deployed():
                return self._on_deployed(slot, now_ms)
            case Cancelled():
                return self._proceed_when_cancelled(now_ms) if self._deployment.on_cancelled(slot) else []
            case SubtaskFailed():
                react = self._fail_over if message.restartable else self.fail
                return react(message.reason, message.kind, now_ms) if self._phase in _DEPLOYED else []
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
                self._last.subtask_ended(subtask)
                return self._pursue_end(now_ms)
            case RequestSplit(_, operator, subtask_index):
                split = self._assigners[operator].request(subtask_index)
                precedes = self._checkpoints.next_checkpoint
                return [Send(slot.incarnation, AssignSplit(self._generation, operator, subtask_index, split, precedes))]
            case _:
                assert_never(message)

    # ---- time ------------------------------------------------------------------------------

    def tick(self, now_ms: int) -> list[Effect]:
        """To be called at least every 100 ms, after everything that has arrived was fed in."""
        if self._ending is not None:
            return []
        effects = self._drop_silent(now_ms)
        waited_ms = now_ms - self._phase_since_ms
        match self._phase:
            case JobPhase.ALLOCATING:
                effects += self._deploy_when_allocated(now_ms)
                if self._phase is JobPhase.ALLOCATING and waited_ms >= self._config.slots_timeout_ms:
                    few = reports.too_few_slots(
                        self._graph.slots, len(self._slots), waited_ms=self._config.slots_timeout_ms, last_loss=self._last_loss
                    )
                    effects += self.fail(few, "SlotError", now_ms)
            case JobPhase.DEPLOYING if waited_ms >= self._config.deploy_timeout_ms:
                effects += self._fail_over("deployment did not finish in time", "SlotError", now_ms)
            case JobPhase.RUNNING:
                assert self._checkpoints is not None
                # Before a periodic one that is due as well, or it might wait for ever.
                effects += self._take_wanted(now_ms)
                commits_lag = len(self._commits) >= self._config.commits_waiting_max
                effects += self._checkpoint_effects(self._checkpoints.tick(now_ms, may_trigger=not commits_lag), now_ms)
                effects += self._pursue_end(now_ms)
            case JobPhase.CANCELLING if waited_ms >= self._config.cancel_timeout_ms:
                effects += [*self._deployment.evict(), *self._proceed_when_cancelled(now_ms)]
            case _:
                pass
        return effects

    def _drop_silent(self, now_ms: int) -> list[Effect]:
        effects: list[Effect] = []
        for slot, silent_ms in self._heartbeats.silent(self._slots, now_ms):
            reason = f"no sign of life for {silent_ms} ms"
            effects.append(DropSlot(slot.incarnation, reason))
            effects += self.on_slot_lost(slot.incarnation, reason, now_ms)
        return effects

    # ---- one generation after the other ------------------------------------------------------

    def _start_generation(self, now_ms: int) -> list[Effect]:
        self._move(JobPhase.STARTING, now_ms)
        return [self._entry.append(StartGeneration(self._generation, self._restored, self._next_checkpoint))]

    def _prepare(self, now_ms: int) -> list[Effect]:
        self._move(JobPhase.PREPARING, now_ms)
        retries = Retries(attempts_max=self._config.commit_attempts_max, first_delay_ms=self._config.storage_retry_ms)
        self._preparation = Preparation(self._generation, self._restore, self._sources, retries)
        return [self._preparation.first()]

    def on_prepared(self, enumerated: Mapping[OperatorUid, Iterable[Split]], now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.PREPARING or self._preparation is None or self._ending is not None:
            return []
        self._assigners = self._preparation.assigners(enumerated)
        self._move(JobPhase.ALLOCATING, now_ms)
        return self._deploy_when_allocated(now_ms)

    def on_prepare_failed(self, reason: str, kind: str, retry: bool, now_ms: int) -> list[Effect]:
        """Every step of it can be done again. ``retry`` False: doing so cannot help."""
        if self._phase is not JobPhase.PREPARING or self._preparation is None or self._ending is not None:
            return []
        again = self._preparation.again() if retry else None
        if again is not None:
            return [again]
        return self.fail(reason, kind, now_ms)

    def _deploy_when_allocated(self, now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.ALLOCATING or not self._recovery.may_deploy(now_ms):
            return []
        chosen = self._slots.allocate()
        if chosen is None:
            return []
        try:
            shares = plan_restore(self._graph, self._restore)
        except RestoreError as error:
            return self.fail(str(error), "RestoreError", now_ms)
        self._move(JobPhase.DEPLOYING, now_ms)
        return self._deployment.deploy(
            chosen, shares, generation=self._generation, restored_checkpoint=self._restored, next_checkpoint=self._next_checkpoint
        )

    def _on_deployed(self, slot: Slot, now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.DEPLOYING or not self._deployment.on_deployed(slot):
            return []
        self._last_loss = None
        self._move(JobPhase.RUNNING, now_ms)
        self._last.generation_runs()
        self._checkpoints = CheckpointCoordinator(
            self._config.checkpoints,
            generation=self._generation,
            subtasks=self._graph.subtasks(),
            next_checkpoint=self._next_checkpoint,
            now_ms=now_ms,
        )
        effects = self._deployment.start(self._generation)
        took_ms = self._recovery.on_running(now_ms)
        if took_ms is not None:
            effects.append(reports.recovered(self._generation, self._restored, took_ms=took_ms))
        return [*effects, *self._pursue_end(now_ms)]

    # ---- failure -------------------------------------------------------------------------------

    def _fail_over(self, reason: str, kind: str, now_ms: int) -> list[Effect]:
        if self._phase not in _DEPLOYED or self._ending is not None:
            return []
        effects: list[Effect] = [reports.failure(self._generation, reason)]
        if not self._recovery.on_failure(now_ms):
            gave_up = reports.gave_up(self._recovery.restarts, reason)
            return [*effects, *self.fail(gave_up, kind, now_ms)]
        effects += self._leave_running("the job is recovering", now_ms)
        self._move(JobPhase.CANCELLING, now_ms)
        return [*effects, *self._deployment.cancel(self._generation), *self._proceed_when_cancelled(now_ms)]

    def _leave_running(self, reason: str, now_ms: int) -> list[Effect]:
        """Abort what is pending; take the number of the next checkpoint along."""
        if self._checkpoints is None:
            return []
        self._next_checkpoint = self._checkpoints.next_checkpoint
        decided = self._checkpoints.abort_all(reason, now_ms=now_ms)
        return [reports.aborted(one.checkpoint, one.reason) for one in decided if isinstance(one, Aborted)]

    def _proceed_when_cancelled(self, now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.CANCELLING or not self._deployment.is_over or self._entry.is_open:
            return []
        self._checkpoints = None
        self._assigners_at.clear()
        self._generation = Generation(self._generation + 1)
        return self._start_generation(now_ms)

    # ---- checkpoints ---------------------------------------------------------------------------

    def _checkpoint_effects(self, decided: Iterable[CheckpointEffect], now_ms: int) -> list[Effect]:
        effects: list[Effect] = []
        for decision in decided:
            match decision:
                case Trigger(checkpoint, kind):
                    self._assigners_at[checkpoint] = {uid: assigner.snapshot() for uid, assigner in self._assigners.items()}
                    effects += self._deployment.tell_sources(TriggerCheckpoint(self._generation, checkpoint))
                    effects.append(reports.triggered(checkpoint, kind))
                case AllAcknowledged(pending):
                    assigners = self._assigners_at[pending.checkpoint]
                    effects.append(WriteManifest(self._generation, pending, assigners))
                case Record(pending):
                    effects.append(self._entry.append(RecordCompleted(self._generation, pending)))
                case Completed():
                    effects += self._completed(decision, now_ms)
                case Aborted(checkpoint, _, reason):
                    self._assigners_at.pop(checkpoint, None)
                    effects.append(reports.aborted(checkpoint, reason))
                    effects += self._deployment.tell(CheckpointAborted(self._generation, checkpoint))
                case TooManyFailures(reason):
                    effects += self._fail_over(reason, "CheckpointError", now_ms)
                case _:
                    assert_never(decision)
        return effects

    def _completed(self, decision: Completed, now_ms: int) -> list[Effect]:
        pending = decision.pending
        self._recovery.on_progress()
        self._restore = RestorePoint.taken(pending, self._graph, self._assigners_at.pop(pending.checkpoint))
        return [
            *self._commits.add(decision.permit, pending.committables()),
            *self._deployment.tell(CheckpointCompleted(self._generation, pending.checkpoint)),
            reports.completed(self._generation, pending, now_ms=now_ms),
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

    def on_log_created(self, request: LogRequest, now_ms: int) -> list[Effect]:
        self._entry.created(request)
        match request:
            case StartGeneration():
                return self._prepare(now_ms) if self._ending is None else self._end_when_quiet(now_ms)
            case RecordCompleted(_, pending):
                assert self._checkpoints is not None
                effects = self._checkpoint_effects(self._checkpoints.entry_created(pending.checkpoint, now_ms=now_ms), now_ms)
                return [*effects, *self._go_on(now_ms)]
            case _:
                assert_never(request)

    def on_log_superseded(self, reason: str, now_ms: int) -> list[Effect]:
        """Another process runs the job now, as ``reason`` says: nothing more of this one may have an effect."""
        self._entry.drop()
        self._commits.drop_all()
        return self._end(Finish(Outcome.SUPERSEDED, reason, "Superseded"), now_ms)

    def on_log_failed(self, request: LogRequest, reason: str, now_ms: int) -> list[Effect]:
        """Storage could not say that the entry exists. Whether it does is for the log to decide: ask again, or stop."""
        again = self._entry.again(request)
        if again is not None:
            return [again]
        failed = f"the job's log could not be written after {self._config.log_attempts_max} attempts: {reason}"
        return self.fail(failed, "StorageError", now_ms)

    # ---- commits ---------------------------------------------------------------------------------

    def on_committed(self, permit: CommitPermit, now_ms: int) -> list[Effect]:
        return [*self._commits.done(permit), *self._go_on(now_ms)]

    def on_commit_failed(self, permit: CommitPermit, reason: str, retry: bool, now_ms: int) -> list[Effect]:
        """Refused for good, or too often: the job fails loudly. The data stays staged; the next start commits it first."""
        if permit not in self._commits:
            return []
        again = self._commits.again(permit) if retry else None
        if again is not None:
            return [again]
        self._commits.drop_all()
        failed = f"checkpoint {permit.checkpoint} is completed but could not be committed: {reason}"
        return self.fail(failed, "SinkError", now_ms)

    # ---- the end -----------------------------------------------------------------------------------

    def _pursue_end(self, now_ms: int) -> list[Effect]:
        """Take the last checkpoint when it is time; end the job when it is completed and committed."""
        if self._phase is not JobPhase.RUNNING or self._checkpoints is None or self._ending is not None:
            return []
        kind = self._last.kind
        if kind is None:
            return []
        self._checkpoints.stop_periodic()
        if any(pending.kind is kind for pending in self._checkpoints.pending):
            return []
        if self._last.is_completed(self._generation, self._restored):
            return [] if self._commits else self._end(Finish(self._last.outcome), now_ms)
        if self._checkpoints.pending:
            return []
        self._last.awaits(self._generation, self._checkpoints.next_checkpoint)
        return self._checkpoint_effects(self._checkpoints.trigger(kind, now_ms=now_ms), now_ms)

    def _end(self, finish: Finish, now_ms: int) -> list[Effect]:
        if self._phase is JobPhase.ENDED:
            return []
        effects: list[Effect] = []
        if self._ending is None:
            effects += self._leave_running("the job is ending", now_ms)
            effects += [Send(slot.incarnation, Stop(finish.outcome)) for slot in self._slots]
        if self._ending is None or finish.outcome is Outcome.SUPERSEDED:
            self._ending = finish
        return [*effects, *self._end_when_quiet(now_ms)]

    def _end_when_quiet(self, now_ms: int) -> list[Effect]:
        """An entry or a commit on its way is waited for: what it decides must not be left half done."""
        assert self._ending is not None
        if self._entry.is_open or (self._commits and self._ending.outcome is not Outcome.SUPERSEDED):
            return []
        self._move(JobPhase.ENDED, now_ms)
        return [self._ending]

    def _go_on(self, now_ms: int) -> list[Effect]:
        """An entry or a commit that was on its way has arrived: what has waited for it is due."""
        if self._ending is not None:
            return self._end_when_quiet(now_ms)
        return [*self._pursue_end(now_ms), *self._proceed_when_cancelled(now_ms)]

    @property
    def _restored(self) -> CheckpointId | None:
        return self._restore.checkpoint if self._restore else None

    def _move(self, phase: JobPhase, now_ms: int) -> None:
        assert phase in LEGAL[self._phase], f"job: {self._phase} -> {phase}"
        self._phase = phase
        self._phase_since_ms = now_ms
