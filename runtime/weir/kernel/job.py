"""The job master: the lifecycle of a job from its first generation to its end, including recovery. Pure.

Each generation passes through STARTING -> PREPARING -> ALLOCATING -> DEPLOYING -> RUNNING. After a failure, the job passes
through CANCELLING and returns to STARTING with the next generation. The surviving slots then restore the whole job from the last
completed checkpoint. A slot that exchanges no records with other slots is replaced alone, and the job stays RUNNING. The restore
point is chosen only while no append to the job log is open, because only the log decides which checkpoints are completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import assert_never

from weir.errors import RestoreError
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import (
    Aborted,
    AllAcknowledged,
    CheckpointCoordinator,
    CheckpointEffect,
    CheckpointKind,
    CommitPermit,
    Completed,
    LastCheckpoint,
    ManifestWritten,
    TooManyFailures,
    Trigger,
)
from weir.kernel.config import JobConfig
from weir.kernel.effects import (
    DiscardOutput,
    Discover,
    DropSlot,
    Effect,
    Finish,
    JobOutcome,
    LogRequest,
    RecordCompleted,
    Report,
    Send,
    StartGeneration,
    WriteManifest,
)
from weir.kernel.failover import Backoff, HeartbeatMonitor, RestartPolicy
from weir.kernel.profiles import Profiles
from weir.kernel.replacement import Replacements
from weir.kernel.requests import CommitQueue, PendingAppend, Preparation
from weir.kernel.restore import RestorePoint, plan_restore
from weir.kernel.slots import Deployment, Slot, SlotPhase, SlotTable, Stall
from weir.kernel.split_assigner import SLOW_MS, UNASSIGNED_MAX, Assignment, SplitAssigner, SplitDiscovery, SplitList
from weir.kernel.stack_sample import decode_sample, describe_stall
from weir.protocol.channel_state import EdgeChannels
from weir.protocol.events import RecoveryStrategy
from weir.protocol.ids import CheckpointId, CommandId, Generation, OperatorUid, SlotIncarnation, SlotIndex
from weir.protocol.manifest import AssignerState, CheckpointStatistics, count_finished
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancelled,
    Decline,
    Deployed,
    FromSlot,
    Heartbeat,
    Lease,
    NotifyCheckpointAborted,
    NotifyCheckpointPublished,
    ProfileAnswer,
    Register,
    RequestSplit,
    Restoring,
    SlotMetrics,
    StackSample,
    Stop,
    SubtaskEnded,
    SubtaskFailed,
    TriggerCheckpoint,
)
from weir.protocol.snapshots import JsonValue

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
"""The phases in which slots run the generation or are about to run it.

If a slot fails in the phase DEPLOYING or RUNNING, the generation fails.
"""


_ENDING = "The job is stopping."


class JobMaster:
    """Call ``start`` once, then pass in events and results. Every method returns the effects to execute, in order.

    ``generation`` and ``next_checkpoint`` are the first unused numbers of the job log. ``restore`` is the checkpoint to
    start from, or None to start without state. ``discover_every_ms``: for each followed source, the time between two discoveries
    of new splits.
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
        discover_every_ms: Mapping[OperatorUid, int] | None = None,
    ) -> None:
        self._graph = graph
        self._config = config
        self._sources = tuple(sources)
        self._discover_every_ms = discover_every_ms or {}
        self._generation = generation
        self._next_checkpoint = next_checkpoint
        self._restore = restore
        self._slots = SlotTable(graph.slots)
        self._deployment = Deployment(self._slots, graph, self._sources)
        self._replacements = Replacements()
        self._profiles = Profiles(self._slots, required=graph.slots)
        self._heartbeats = HeartbeatMonitor(
            config.heartbeat_timeout_ms, stuck_timeout_ms=config.stuck_timeout_ms, call_timeout_ms=config.call_timeout_ms
        )
        self._restarts = RestartPolicy(config.restarts)
        self._phase = JobPhase.CREATED
        self._phase_since_ms = 0
        self._preparation: Preparation | None = None
        self._checkpoints: CheckpointCoordinator | None = None
        self._assigners: dict[OperatorUid, SplitAssigner] = {}
        self._discoveries: dict[OperatorUid, SplitDiscovery] = {}
        self._assigners_at: dict[CheckpointId, Mapping[OperatorUid, AssignerState]] = {}
        self._append = PendingAppend(attempts_max=config.log_attempts_max, retry_ms=config.storage_retry_ms)
        self._commits = CommitQueue(attempts_max=config.commit_attempts_max)
        self._last = LastCheckpoint(graph.subtasks())
        self._last_loss: str | None = None
        """The reason that Spark has reported for the most recent slot that ended early.

        None if no slot has ended early since the last deployment.
        """
        self._warned_of_slots = False
        """Whether the current wait for slots has been reported."""
        self._requested: CheckpointKind | None = None
        """The checkpoint that a user has requested. The request survives a recovery."""
        self._ending: Finish | None = None
        """The outcome with which the job will end as soon as no append and no commit is open."""

    # ---- state -------------------------------------------------------------------

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

    @property
    def trigger_ms(self) -> int | None:
        """The time of the next periodic checkpoint, or None while no checkpoint can be triggered."""
        return (
            self._checkpoints.due_ms if self._checkpoints is not None and self._may_trigger and not self._commits_full else None
        )

    @property
    def _may_trigger(self) -> bool:
        """Whether all slots run, so that a checkpoint can complete."""
        return self._phase is JobPhase.RUNNING and self._ending is None and not self._replacements

    @property
    def _commits_full(self) -> bool:
        return len(self._commits) >= self._config.commits_waiting_max

    # ---- commands ------------------------------------------------------------------------

    def start(self, now_ms: int) -> list[Effect]:
        return self._start_generation(now_ms)

    def suspend(self, now_ms: int) -> list[Effect]:
        """Take a last checkpoint, commit it and stop. During a recovery, the request waits until the job runs again."""
        self._last.suspend()
        return self._advance_end(now_ms)

    def cancel(self, now_ms: int) -> list[Effect]:
        """Stop without a checkpoint. Completed checkpoints stay."""
        return self._end(Finish(JobOutcome.CANCELED, "cancelled on request"), now_ms)

    def superseded(self, reason: str, now_ms: int) -> list[Effect]:
        """Stop without a checkpoint, because another driver has taken over the job.

        The log possibly does not contain the other driver's generation yet. An open append can still succeed, so the job ends
        only after this append has ended. In contrast, ``on_log_superseded`` drops the open append, because this append cannot
        succeed any more. The job does not wait for an open commit, because the next generation repeats this commit.
        """
        return self._end(Finish(JobOutcome.SUPERSEDED, reason, "Superseded"), now_ms)

    def fail(self, reason: str, kind: str, now_ms: int) -> list[Effect]:
        """Fail the job without a restart.

        The coordinator also calls this method for causes outside the kernel, such as the loss of Spark.
        """
        return self._end(Finish(JobOutcome.FAILED, reason, kind), now_ms)

    def savepoint(self, now_ms: int) -> list[Effect]:
        """Trigger a savepoint as soon as the job is running and no checkpoint is pending.

        An aborted savepoint is reported and not retried.
        """
        return self._request(CheckpointKind.SAVEPOINT, now_ms)

    def checkpoint(self, now_ms: int) -> list[Effect]:
        """Like ``savepoint``. If a checkpoint and a savepoint are requested, one savepoint serves both requests."""
        return self._request(self._requested or CheckpointKind.MANUAL, now_ms)

    def profile(self, command: CommandId, slot: SlotIndex, seconds: int, now_ms: int) -> list[Effect]:
        """Take a profile of a slot. The request ends with a report of the kind PROFILE_ENDED."""
        if self._ending is not None:
            return [Report.profile_ended(command, None, _ENDING)]
        return self._profiles.begin(command, slot, seconds, now_ms)

    def _request(self, kind: CheckpointKind, now_ms: int) -> list[Effect]:
        self._requested = kind if self._ending is None else None
        return self._trigger_requested(now_ms)

    def _trigger_requested(self, now_ms: int) -> list[Effect]:
        """Trigger the requested checkpoint if the job is running and no other checkpoint is pending."""
        if self._requested is None or not self._may_trigger or self._checkpoints is None or self._checkpoints.pending:
            return []
        kind, self._requested = self._requested, None
        return self._checkpoint_effects(self._checkpoints.trigger(kind, now_ms=now_ms), now_ms)

    # ---- slots -----------------------------------------------------------------------------

    def on_slot_ended_early(self, reason: str, now_ms: int) -> list[Effect]:
        """Record Spark's reason. If the slot had a connection, ``on_slot_lost`` handles the loss when the connection closes."""
        self._last_loss = reason
        return []

    def on_slot_lost(self, incarnation: SlotIncarnation, reason: str, now_ms: int) -> list[Effect]:
        slot = self._slots.get(incarnation)
        return [] if slot is None else self._remove(slot, f"{_name(slot)} was lost: {reason}", now_ms)

    def _remove(self, slot: Slot, failure: str, now_ms: int) -> list[Effect]:
        self._slots.remove(slot.incarnation)
        if slot.phase is SlotPhase.IDLE or self._phase is JobPhase.ENDED:
            return []
        if self._phase is JobPhase.CANCELLING:
            return self._restart_when_cancelled(now_ms)
        if self._is_cancelling_for_replacement(slot):
            return self._deploy_replacements(now_ms)
        return self._recover(slot, failure, "SlotError", now_ms)

    def on_message(self, incarnation: SlotIncarnation, message: FromSlot, now_ms: int) -> list[Effect]:
        if self._ending is not None:
            return [Send(incarnation, Stop("the job has ended"))] if isinstance(message, Register) else []
        if isinstance(message, Register):
            self._slots.add(message, now_ms=now_ms)
            effects: list[Effect] = [Send(incarnation, Lease(self._config.lease_ms))]
            return [*effects, *self._deploy_when_allocated(now_ms), *self._deploy_replacements(now_ms)]
        slot = self._slots.get(incarnation)
        if slot is None:
            return []
        slot.last_heard_ms = now_ms
        if isinstance(message, Heartbeat):
            slot.on_heartbeat(message, now_ms)
            return [Send(incarnation, Lease(self._config.lease_ms))]
        if isinstance(message, StackSample):
            slot.on_sample(decode_sample(message.dump))
            return []
        if isinstance(message, ProfileAnswer):
            return self._profiles.on_answer(slot, message)
        slot.turned_ms = now_ms  # The slot's loop sends all messages except heartbeats, samples and profiles.
        if message.generation != self._generation:
            return []
        match message:
            case Restoring():
                self._deployment.on_restoring(slot, message, now_ms)
                return []
            case Deployed():
                return self._on_deployed(slot, now_ms)
            case Cancelled():
                if not self._deployment.on_cancelled(slot):
                    return []
                return [*self._restart_when_cancelled(now_ms), *self._deploy_replacements(now_ms)]
            case SubtaskFailed():
                if self._phase not in _DEPLOYED or slot.phase is SlotPhase.CANCELLING:
                    return []
                if not message.restartable:
                    return self.fail(message.reason, message.kind, now_ms)
                return self._recover(slot, message.reason, message.kind, now_ms)
            case SlotMetrics():
                return []
            case Acknowledge() | Decline() | SubtaskEnded() | RequestSplit():
                is_running = self._phase is JobPhase.RUNNING and slot.phase is SlotPhase.RUNNING
                return self._on_running(slot, message, now_ms) if is_running else []
            case _:
                assert_never(message)

    def _on_running(self, slot: Slot, message: Acknowledge | Decline | SubtaskEnded | RequestSplit, now_ms: int) -> list[Effect]:
        assert self._checkpoints is not None
        match message:
            case Acknowledge(_, checkpoint, snapshots):
                return self._checkpoint_effects(self._checkpoints.acknowledge(checkpoint, snapshots, now_ms=now_ms), now_ms)
            case Decline(_, checkpoint, subtask, reason):
                return self._checkpoint_effects(self._checkpoints.decline(checkpoint, subtask, reason, now_ms=now_ms), now_ms)
            case SubtaskEnded(_, subtask):
                self._last.subtask_ended(subtask)
                return self._advance_end(now_ms)
            case RequestSplit(_, operator, subtask_index):
                request = self._assigners[operator].request(subtask_index, self._checkpoints.next_checkpoint)
                return self._send_splits(operator, request)
            case _:
                assert_never(message)

    # ---- splits ----------------------------------------------------------------------------

    def _send_splits(self, source: OperatorUid, assignments: Iterable[Assignment]) -> list[Effect]:
        assert self._checkpoints is not None
        precedes = self._checkpoints.next_checkpoint
        return [
            effect
            for one in assignments
            for effect in self._deployment.send_to(
                one.subtask, AssignSplit(self._generation, source, one.subtask, one.split, precedes)
            )
        ]

    def _start_discoveries(self, now_ms: int) -> list[Effect]:
        """Return an effect for each source that must be listed again, and a report for each listing that takes long."""
        effects: list[Effect] = []
        for uid, discovery in self._discoveries.items():
            assigner = self._assigners[uid]
            if discovery.is_slow(now_ms):
                slow = f"Source {uid!r} has been listing its input for {SLOW_MS // 1_000} s. The job continues with the input that it has found"
                effects.append(Report.warning(self._generation, slow))
            if discovery.is_due(now_ms) and assigner.unassigned < UNASSIGNED_MAX:
                discovery.start(now_ms)
                effects.append(Discover(self._generation, uid, assigner.known, assigner.end))
        return effects

    def on_discovered(
        self,
        generation: Generation,
        source: OperatorUid,
        known: JsonValue,
        splits: SplitList | None,
        now_ms: int,
        warnings: Iterable[str] = (),
    ) -> list[Effect]:
        """``known`` and ``splits``: see ``SplitAssigner.discovered``. ``warnings``: sentences for the user about the input."""
        if not self._discovers(generation):
            return []
        assigner, discovery = self._assigners[source], self._discoveries[source]
        reports = [Report.warning(generation, warning) for warning in warnings]
        if discovery.succeeded(now_ms):
            reports.append(Report.warning(generation, f"Source {source!r} can list its input again"))
        assert self._checkpoints is not None
        precedes = self._checkpoints.next_checkpoint
        assignments = assigner.discovered(known, splits, precedes)
        if discovery.every_ms is None:
            assignments += assigner.stop_growing(precedes)
        return [*reports, *self._send_splits(source, assignments)]

    def on_discovery_failed(self, generation: Generation, source: OperatorUid, reason: str, now_ms: int) -> list[Effect]:
        """Retry later. The job continues to read the splits that it knows."""
        if not self._discovers(generation) or not self._discoveries[source].failed(reason, now_ms):
            return []
        failed = f"Source {source!r} cannot list its input: {reason.rstrip('.')}. The job continues, and Weir retries"
        return [Report.warning(generation, failed)]

    def _discovers(self, generation: Generation) -> bool:
        return generation == self._generation and self._phase is JobPhase.RUNNING and self._ending is None

    # ---- time ------------------------------------------------------------------------------

    def tick(self, now_ms: int) -> list[Effect]:
        """Call this method at least every 100 ms and at ``trigger_ms``, after passing all received messages to the job master."""
        if self._ending is not None:
            return []
        effects = [*self._check_slots(now_ms), *self._profiles.check(now_ms)]
        waited_ms = now_ms - self._phase_since_ms
        match self._phase:
            case JobPhase.ALLOCATING:
                effects += self._deploy_when_allocated(now_ms)
                if self._phase is JobPhase.ALLOCATING:
                    effects += self._wait_for_slots(waited_ms, now_ms)
            case JobPhase.DEPLOYING:
                effects += self._fail_stalled_deployment(now_ms)
            case JobPhase.RUNNING:
                assert self._checkpoints is not None
                # A requested checkpoint precedes a periodic checkpoint that is also due, so that periodic checkpoints cannot
                # delay the request indefinitely.
                effects += self._trigger_requested(now_ms)
                may_trigger = self._may_trigger and not self._commits_full
                effects += self._checkpoint_effects(self._checkpoints.tick(now_ms, may_trigger=may_trigger), now_ms)
                effects += self._advance_replacements(now_ms)
                effects += self._advance_end(now_ms)
                effects += self._start_discoveries(now_ms)
            case JobPhase.CANCELLING if waited_ms >= self._config.cancel_timeout_ms:
                for slot in self._deployment.evict():
                    effects += self._drop_unresponsive(slot, waited_ms, now_ms)
                effects += self._restart_when_cancelled(now_ms)
            case _:
                pass
        return effects

    def _fail_stalled_deployment(self, now_ms: int) -> list[Effect]:
        slot = self._deployment.stalled(now_ms, timeout_ms=self._config.deploy_timeout_ms)
        if slot is None:
            return []
        restored = f". The slot has restored {slot.restored_bytes} of {slot.total_bytes} bytes" if slot.total_bytes else ""
        reason = (
            f"the deployment to slot {slot.index} (pid {slot.registration.pid}) has made no progress for "
            f"{(now_ms - slot.progress_ms) / 1000:g} s{restored}"
        )
        return self._fail_over(reason, "SlotError", now_ms)

    def _wait_for_slots(self, waited_ms: int, now_ms: int) -> list[Effect]:
        """Report missing slots, but only once. If a timeout is set, fail the job after the timeout."""
        if not self._restarts.may_deploy(now_ms):
            return []
        timeout_ms = self._config.slots_timeout_ms
        if timeout_ms is not None and waited_ms >= timeout_ms:
            return self.fail(self._too_few_slots(waited_ms), "SlotError", now_ms)
        if waited_ms < self._config.slots_warning_ms or self._warned_of_slots:
            return []
        self._warned_of_slots = True
        return [Report.waiting_for_slots(self._generation, self._too_few_slots(waited_ms))]

    def _too_few_slots(self, waited_ms: int) -> str:
        required = self._graph.slots
        few = f"only {len(self._slots)} of {required} slots registered in {waited_ms / 1000:g} s. "
        if self._last_loss is not None:
            return f"{few}Other slots started but ended early. Spark reported for the newest of these slots: {self._last_loss}"
        return f"{few}Give Spark at least {required} free cores, or lower the parallelism"

    def _check_slots(self, now_ms: int) -> list[Effect]:
        effects: list[Effect] = []
        for slot, silent_ms in self._heartbeats.silent(self._slots, now_ms):
            reason = f"no message for {silent_ms} ms"
            effects.append(DropSlot(slot.incarnation, reason))
            effects += self.on_slot_lost(slot.incarnation, reason, now_ms)
        for slot, stall, timeout_ms in self._heartbeats.stalled(self._slots, now_ms):
            if self._slots.get(slot.incarnation) is None:
                continue  # this slot was already removed: its step and its blocking call both exceeded their timeouts
            reason = self._describe_stall(slot, stall, timeout_ms, now_ms)
            effects += [DropSlot(slot.incarnation, reason), *self._remove(slot, reason, now_ms)]
        if any(slot.end_warning() for slot in self._slots):
            effects.append(Report.slow(self._generation, ""))
        for slot, stall, timeout_ms in self._heartbeats.slow(self._slots, now_ms):
            effects.append(Report.slow(self._generation, self._describe_stall(slot, stall, timeout_ms, now_ms)))
        return effects

    def _describe_stall(self, slot: Slot, stall: Stall, timeout_ms: int, now_ms: int) -> str:
        where = self._running_code(slot, in_call=stall.in_call)
        what, option = ("blocking call", "--call-timeout") if stall.in_call else ("step", "--stuck-timeout")
        took = f"{_name(slot)} has been in one {what} for {(now_ms - stall.since_ms) / 1000:.3g} s{where}. "
        limit = f"Weir replaces a slot that has been in one {what} for {timeout_ms / 1000:g} s. "
        return f"{took}{limit}If a {what} is expected to take longer, increase {option}"

    def _drop_unresponsive(self, slot: Slot, waited_ms: int, now_ms: int) -> list[Effect]:
        """Drop a slot that has not cancelled its subtasks in time. The slot's loop is in a long step, or waits until background
        calls have ended."""
        in_call = slot.heartbeat.calls % 2 == 1
        if in_call or now_ms - slot.turned_ms >= waited_ms // 2:
            where = self._running_code(slot, in_call=in_call)
        else:
            where = ": the slot is still writing a snapshot, restoring state, or writing output"
        reason = f"did not cancel its subtasks in {waited_ms / 1000:.3g} s{where}"
        report = f"{_name(slot)} {reason}. Weir replaces the slot"
        return [DropSlot(slot.incarnation, reason), Report.slow(self._generation, report)]

    def _running_code(self, slot: Slot, *, in_call: bool) -> str:
        sample = slot.sample_of(in_call=in_call)
        described = describe_stall(self._graph, chain=slot.heartbeat.chain, in_call=in_call, sample=sample)
        return f": {described}" if described else ""

    # ---- generations -------------------------------------------------------------------

    def _start_generation(self, now_ms: int) -> list[Effect]:
        self._move(JobPhase.STARTING, now_ms)
        records = self._restore.records if self._restore is not None else 0
        return [
            Report.starting(self._generation, records=records),
            self._append.append(StartGeneration(self._generation, self._restored, self._next_checkpoint)),
        ]

    def _prepare(self, now_ms: int) -> list[Effect]:
        self._move(JobPhase.PREPARING, now_ms)
        backoff = Backoff(attempts_max=self._config.commit_attempts_max, first_delay_ms=self._config.storage_retry_ms)
        self._preparation = Preparation(self._generation, self._restore, self._sources, backoff)
        return [self._preparation.start()]

    def on_prepared(
        self, split_lists: Mapping[OperatorUid, Sequence[SplitList]], now_ms: int, warnings: Iterable[str] = ()
    ) -> list[Effect]:
        """``split_lists``: the split lists of each source, oldest first. ``warnings``: sentences for the user about the
        preparation.
        """
        if self._phase is not JobPhase.PREPARING or self._preparation is None or self._ending is not None:
            return []
        self._assigners = self._preparation.assigners(split_lists)
        self._discoveries.clear()
        for uid, assigner in self._assigners.items():
            every_ms = self._discover_every_ms.get(uid)
            # A source that was followed before the restore is listed once more, because the checkpoint does not contain the
            # splits that would have been discovered later.
            assigner.may_grow = every_ms is not None or assigner.known is not None
            if assigner.may_grow:
                self._discoveries[uid] = SplitDiscovery(every_ms)
        self._move(JobPhase.ALLOCATING, now_ms)
        self._warned_of_slots = False
        reports = [Report.warning(self._generation, warning) for warning in warnings]
        return [*reports, *self._deploy_when_allocated(now_ms)]

    def on_prepare_failed(self, reason: str, kind: str, retry: bool, now_ms: int) -> list[Effect]:
        """Retry the preparation, whose steps are idempotent. ``retry`` is False if a retry cannot help."""
        if self._phase is not JobPhase.PREPARING or self._preparation is None or self._ending is not None:
            return []
        again = self._preparation.retry() if retry else None
        if again is not None:
            return [again, self._retrying(f"generation {self._generation} cannot be prepared: {reason}")]
        return self.fail(reason, kind, now_ms)

    def _deploy_when_allocated(self, now_ms: int) -> list[Effect]:
        if self._phase is not JobPhase.ALLOCATING or not self._restarts.may_deploy(now_ms):
            return []
        allocated = self._slots.allocate()
        if allocated is None:
            return []
        try:
            restores = plan_restore(self._graph, self._restore)
        except RestoreError as error:
            return self.fail(str(error), "RestoreError", now_ms)
        self._move(JobPhase.DEPLOYING, now_ms)
        if self._restore is not None:
            self._restore = self._restore.with_splits_returned()  # ``on_prepared`` has returned them to the assigners
        return self._deployment.deploy(
            allocated,
            restores,
            generation=self._generation,
            restored_checkpoint=self._restored,
            next_checkpoint=self._next_checkpoint,
            now_ms=now_ms,
        )

    def _on_deployed(self, slot: Slot, now_ms: int) -> list[Effect]:
        is_last = self._deployment.on_deployed(slot)
        if self._phase is JobPhase.RUNNING and slot.phase is SlotPhase.DEPLOYED:
            return self._on_replaced(slot, now_ms)
        if self._phase is not JobPhase.DEPLOYING or not is_last:
            return []
        self._last_loss = None
        self._move(JobPhase.RUNNING, now_ms)
        self._last.generation_started()
        self._checkpoints = CheckpointCoordinator(
            self._config.checkpoints,
            generation=self._generation,
            subtasks=self._graph.subtasks(),
            next_checkpoint=self._next_checkpoint,
            now_ms=now_ms,
        )
        effects = self._deployment.start(self._slots.deployed(), self._generation)
        took_ms = self._restarts.on_running(now_ms)
        if took_ms is not None:
            effects.append(Report.recovered(self._generation, self._restored, took_ms=took_ms))
        return [*effects, *self._advance_end(now_ms)]

    # ---- failure -------------------------------------------------------------------------------

    def _recover(self, slot: Slot, reason: str, kind: str, now_ms: int) -> list[Effect]:
        """Replace the failed slot alone if possible. Otherwise, recover the whole job. If the process of the slot is lost, ``slot`` is no
        longer in the table of slots."""
        index = slot.index
        if (
            self._config.recovery is RecoveryStrategy.FULL
            or self._phase is not JobPhase.RUNNING
            or self._ending is not None
            or index is None
            or index in self._replacements
            or self._graph.exchanges()
        ):
            return self._fail_over(reason, kind, now_ms)
        assert self._checkpoints is not None
        effects, may_restart = self._on_failure(reason, kind, now_ms)
        if not may_restart:
            return effects
        if self._slots.get(slot.incarnation) is not None:
            effects += self._deployment.cancel_one(slot, self._generation, self._replacements.attempt(index))
        self._replacements.start(index, now_ms)
        self._warned_of_slots = False
        self._last.slot_restarted(index)
        for assigner in self._assigners.values():
            assigner.on_subtask_lost(index)
        aborted = self._checkpoints.abort_all(f"slot {index} is being replaced", now_ms=now_ms)
        return [*effects, *self._checkpoint_effects(aborted, now_ms), *self._deploy_replacements(now_ms)]

    def _is_cancelling_for_replacement(self, slot: Slot) -> bool:
        return self._phase is JobPhase.RUNNING and slot.phase is SlotPhase.CANCELLING

    def _deploy_replacements(self, now_ms: int) -> list[Effect]:
        """Deploy each replacement whose failed attempt is cancelled. Do nothing while a log entry is being written, because it decides
        which checkpoint is the newest, or while no slot is free."""
        effects: list[Effect] = []
        if self._phase is not JobPhase.RUNNING or self._ending is not None or self._append.is_open:
            return effects
        for replacement in self._replacements.waiting:
            index = replacement.slot
            if not self._restarts.may_deploy(now_ms) or any(slot.index == index for slot in self._slots.deployed()):
                continue
            slot = self._slots.allocate_one(index)
            if slot is not None:
                effects += self._deploy_replacement(slot, index, self._replacements.deploy(replacement), now_ms)
        return effects

    def _deploy_replacement(self, slot: Slot, index: SlotIndex, attempt: int, now_ms: int) -> list[Effect]:
        assert self._checkpoints is not None
        precedes, restored = self._checkpoints.next_checkpoint, self._restored or CheckpointId(0)
        restore = plan_restore(self._graph, self._restore)[index]
        mine = self._restore.splits_of(index) if self._restore is not None else {}
        effects: list[Effect] = [
            DiscardOutput(self._generation, index, attempt, restored),
            *self._deployment.deploy(
                [slot],
                [restore],
                generation=self._generation,
                restored_checkpoint=self._restored,
                next_checkpoint=precedes,
                now_ms=now_ms,
                attempt=attempt,
            ),
        ]
        for uid, assigner in self._assigners.items():
            splits, records = (mine[uid].splits, mine[uid].records) if uid in mine else ((), 0)
            effects += self._send_splits(
                uid, assigner.take_back(index, splits, records=records, restored=restored, precedes=precedes)
            )
        if self._restore is not None:
            self._restore = self._restore.with_splits_returned(index)
        read = sum(snapshot.records for snapshot in mine.values())
        return [Report.replacing(self._generation, index, restored, records=read), *effects]

    def _on_replaced(self, slot: Slot, now_ms: int) -> list[Effect]:
        assert slot.index is not None
        self._replacements.end(slot.index)
        effects = self._deployment.start([slot], self._generation)
        if self._replacements:
            return effects
        took_ms = self._restarts.on_running(now_ms)
        assert took_ms is not None, "a failure precedes each replacement"
        recovered = Report.recovered(self._generation, self._restored, took_ms=took_ms, strategy=RecoveryStrategy.REGIONAL)
        return [*effects, recovered, *self._advance_end(now_ms)]

    def _advance_replacements(self, now_ms: int) -> list[Effect]:
        """Deploy the replacements that can be deployed now, and handle the replacements that have waited too long."""
        effects = self._deploy_replacements(now_ms)
        if not self._replacements:
            return effects
        for replacement in self._replacements.waiting:
            waited_ms = now_ms - replacement.since_ms
            cancelling = [slot for slot in self._slots.deployed() if slot.index == replacement.slot]
            if not cancelling and len(self._slots) < self._graph.slots:
                effects += self._wait_for_slots(waited_ms, now_ms)
            elif cancelling and waited_ms >= self._config.cancel_timeout_ms:
                for slot in cancelling:
                    self._slots.remove(slot.incarnation)
                    effects += self._drop_unresponsive(slot, waited_ms, now_ms)
        return [*effects, *self._fail_stalled_deployment(now_ms)]

    def _on_failure(self, reason: str, kind: str, now_ms: int) -> tuple[list[Effect], bool]:
        """Return effects, and whether the job may restart. If not, the job has failed."""
        effects: list[Effect] = [Report.failure(self._generation, reason)]
        if self._restarts.on_failure(now_ms):
            return effects, True
        restarts = "1 restart" if self._restarts.restarts == 1 else f"{self._restarts.restarts} restarts"
        gave_up = f"failed after {restarts} without a completed checkpoint; the last failure: {reason}"
        return [*effects, *self.fail(gave_up, kind, now_ms)], False

    def _fail_over(self, reason: str, kind: str, now_ms: int) -> list[Effect]:
        """Recover the whole job."""
        if self._phase not in _DEPLOYED or self._ending is not None:
            return []
        effects, may_restart = self._on_failure(reason, kind, now_ms)
        if not may_restart:
            return effects
        self._replacements.generation_ended()
        effects += self._leave_running("the job is recovering", now_ms)
        self._move(JobPhase.CANCELLING, now_ms)
        return [*effects, *self._deployment.cancel(self._generation), *self._restart_when_cancelled(now_ms)]

    def _leave_running(self, reason: str, now_ms: int) -> list[Effect]:
        """Abort pending checkpoints, and keep the number of the next checkpoint for the next generation."""
        if self._checkpoints is None:
            return []
        self._next_checkpoint = self._checkpoints.next_checkpoint
        effects = self._checkpoints.abort_all(reason, now_ms=now_ms)
        return [Report.aborted(effect.checkpoint, effect.reason) for effect in effects if isinstance(effect, Aborted)]

    def _restart_when_cancelled(self, now_ms: int) -> list[Effect]:
        """Start the next generation when all slots have cancelled their subtasks, and all appends and commits have ended. A new
        generation fences older generations, which can then no longer record in the job log that a checkpoint is published."""
        if self._phase is not JobPhase.CANCELLING or not self._deployment.is_cancelled or self._append.is_open or self._commits:
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
                    effects += self._deployment.send_to_sources(TriggerCheckpoint(self._generation, checkpoint))
                    effects.append(Report.triggered(checkpoint, kind))
                case AllAcknowledged(pending):
                    assigners = count_finished(self._assigners_at[pending.checkpoint], pending.operators())
                    self._assigners_at[pending.checkpoint] = assigners
                    effects.append(WriteManifest(self._generation, pending, assigners))
                case ManifestWritten(pending):
                    effects.append(self._append.append(RecordCompleted(self._generation, pending)))
                case Completed():
                    effects += self._completed(decision, now_ms)
                case Aborted(checkpoint, _, reason):
                    self._assigners_at.pop(checkpoint, None)
                    effects.append(Report.aborted(checkpoint, reason))
                    effects += self._deployment.broadcast(NotifyCheckpointAborted(self._generation, checkpoint))
                case TooManyFailures(reason):
                    effects += self._fail_over(reason, "CheckpointError", now_ms)
                case _:
                    assert_never(decision)
        return effects

    def _completed(self, decision: Completed, now_ms: int) -> list[Effect]:
        pending = decision.pending
        self._restarts.on_checkpoint_completed()
        assigners = self._assigners_at.pop(pending.checkpoint)
        for uid, state in assigners.items():
            self._assigners[uid].on_completed(pending.checkpoint, state.split_lists)
        self._restore = RestorePoint.of_pending(pending, self._graph, assigners)
        return [
            *self._commits.add(decision.permit, pending.committables()),
            Report.completed(self._generation, pending, records=self._restore.records, now_ms=now_ms),
        ]

    def on_manifest_written(
        self,
        generation: Generation,
        checkpoint: CheckpointId,
        channels: tuple[EdgeChannels, ...],
        statistics: CheckpointStatistics,
        now_ms: int,
    ) -> list[Effect]:
        """``channels`` and ``statistics`` are those in the manifest."""
        if generation != self._generation or self._checkpoints is None or self._phase is not JobPhase.RUNNING:
            return []
        return self._checkpoint_effects(self._checkpoints.manifest_written(checkpoint, channels, statistics), now_ms)

    def on_manifest_failed(self, generation: Generation, checkpoint: CheckpointId, reason: str, now_ms: int) -> list[Effect]:
        if generation != self._generation or self._checkpoints is None:
            return []
        return self._checkpoint_effects(self._checkpoints.manifest_failed(checkpoint, reason, now_ms=now_ms), now_ms)

    # ---- the job log -----------------------------------------------------------------------------

    def on_log_created(self, request: LogRequest, now_ms: int) -> list[Effect]:
        self._append.created(request)
        match request:
            case StartGeneration():
                return self._prepare(now_ms) if self._ending is None else self._end_when_idle(now_ms)
            case RecordCompleted(_, pending):
                assert self._checkpoints is not None
                effects = self._checkpoint_effects(self._checkpoints.entry_created(pending.checkpoint, now_ms=now_ms), now_ms)
                return [*effects, *self._resume(now_ms)]
            case _:
                assert_never(request)

    def on_log_superseded(self, reason: str, now_ms: int) -> list[Effect]:
        """Stop, because another process runs the job now (see ``reason``)."""
        self._append.drop()
        self._commits.drop_all()
        return self._end(Finish(JobOutcome.SUPERSEDED, reason, "Superseded"), now_ms)

    def on_log_failed(self, request: LogRequest, reason: str, now_ms: int) -> list[Effect]:
        """Storage could not confirm the entry, so it is unknown whether the entry exists.

        Retry the same append, or fail the job.
        """
        again = self._append.retry(request)
        if again is not None:
            return [again, self._retrying(f"the job log cannot be written: {reason}")]
        failed = f"the job log could not be written after {self._config.log_attempts_max} attempts: {reason}"
        return self.fail(failed, "StorageError", now_ms)

    # ---- commits ---------------------------------------------------------------------------------

    def on_committed(self, permit: CommitPermit, now_ms: int) -> list[Effect]:
        """The output of the checkpoint is published, and the job log records the publication."""
        effects: list[Effect] = [*self._commits.done(permit)]
        if permit.generation == self._generation and self._phase is JobPhase.RUNNING:
            effects += self._deployment.broadcast(NotifyCheckpointPublished(self._generation, permit.checkpoint))
        return [*effects, *self._resume(now_ms)]

    def on_commit_failed(self, permit: CommitPermit, reason: str, retry: bool, now_ms: int) -> list[Effect]:
        """Retry the commit, or fail the job. The output stays staged, and the next start commits it first."""
        if permit not in self._commits:
            return []
        again = self._commits.retry(permit) if retry else None
        if again is not None:
            return [again, self._retrying(f"checkpoint {permit.checkpoint} cannot be committed: {reason}")]
        self._commits.drop_all()
        failed = f"checkpoint {permit.checkpoint} is completed but could not be committed: {reason}"
        return self.fail(failed, "SinkError", now_ms)

    # ---- the end -----------------------------------------------------------------------------------

    def _advance_end(self, now_ms: int) -> list[Effect]:
        """Trigger the last checkpoint when the job is ending. End the job when this checkpoint is completed and committed."""
        if not self._may_trigger or self._checkpoints is None:
            return []
        kind = self._last.kind
        if kind is None:
            return []
        self._checkpoints.stop_periodic()
        if any(pending.kind is kind for pending in self._checkpoints.pending):
            return []
        if self._last.is_completed(self._generation, self._restored):
            return (
                []
                if self._commits
                else self._end(Finish(JobOutcome.FINISHED if kind is CheckpointKind.FINAL else JobOutcome.SUSPENDED), now_ms)
            )
        if self._checkpoints.pending:
            return []
        self._last.expect(self._generation, self._checkpoints.next_checkpoint)
        return self._checkpoint_effects(self._checkpoints.trigger(kind, now_ms=now_ms), now_ms)

    def _end(self, finish: Finish, now_ms: int) -> list[Effect]:
        if self._phase is JobPhase.ENDED:
            return []
        effects: list[Effect] = []
        if self._ending is None:
            effects += self._leave_running("the job is ending", now_ms)
            effects += self._profiles.end_all(_ENDING)
            effects += [Send(slot.incarnation, Stop(finish.outcome)) for slot in self._slots]
        if self._ending is None or finish.outcome is JobOutcome.SUPERSEDED:
            self._ending = finish
        return [*effects, *self._end_when_idle(now_ms)]

    def _end_when_idle(self, now_ms: int) -> list[Effect]:
        """End the job when no append and no commit is open, so that neither is interrupted.

        A superseded job does not wait for commits.
        """
        assert self._ending is not None
        if self._append.is_open or (self._commits and self._ending.outcome is not JobOutcome.SUPERSEDED):
            return []
        self._move(JobPhase.ENDED, now_ms)
        return [self._ending]

    def _resume(self, now_ms: int) -> list[Effect]:
        """Take the steps that were waiting for an append or a commit."""
        if self._ending is not None:
            return self._end_when_idle(now_ms)
        return [*self._advance_end(now_ms), *self._restart_when_cancelled(now_ms), *self._deploy_replacements(now_ms)]

    def _retrying(self, reason: str) -> Report:
        return Report.retrying(self._generation, reason)

    @property
    def _restored(self) -> CheckpointId | None:
        return self._restore.checkpoint if self._restore else None

    def _move(self, phase: JobPhase, now_ms: int) -> None:
        assert phase in LEGAL[self._phase], f"job: {self._phase} -> {phase}"
        self._phase = phase
        self._phase_since_ms = now_ms


def _name(slot: Slot) -> str:
    which = f"slot {slot.index}" if slot.index is not None else "an idle slot"
    return f"{which} (pid {slot.registration.pid})"
