"""The life of a job, walked through by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from kernel_cases import SOURCE, graph, register, snapshot

from weir.kernel.checkpoints import CheckpointConfig, CheckpointKind, CommitPermit
from weir.kernel.effects import (
    AppendLog,
    Commit,
    DropSlot,
    Effect,
    Finish,
    Outcome,
    Prepare,
    RecordCompleted,
    Report,
    ReportKind,
    Send,
    StartGeneration,
    WriteManifest,
)
from weir.kernel.job import JobConfig, JobMaster, JobPhase
from weir.kernel.restarts import RestartConfig
from weir.protocol.ids import CheckpointId, Generation, SubtaskId
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancel,
    Cancelled,
    Decline,
    Deploy,
    Deployed,
    FromSlot,
    Heartbeat,
    Lease,
    RequestSplit,
    Start,
    Stop,
    SubtaskEnded,
    SubtaskFailed,
    TriggerCheckpoint,
)
from weir.protocol.snapshots import Split

T = TypeVar("T")
SLOTS = 2
CONFIG = JobConfig(
    checkpoints=CheckpointConfig(interval_ms=1_000, timeout_ms=500),
    restarts=RestartConfig(attempts_max=2),
    heartbeat_timeout_ms=200,
    cancel_timeout_ms=100,
    slots_timeout_ms=300,
    deploy_timeout_ms=150,
    commit_attempts_max=2,
    log_attempts_max=2,
    storage_retry_ms=10,
)


def only(kind: type[T], effects: Sequence[Effect]) -> list[T]:
    return [effect for effect in effects if isinstance(effect, kind)]


def sent(kind: type[T], effects: Sequence[Effect]) -> list[T]:
    return [effect.message for effect in effects if isinstance(effect, Send) and isinstance(effect.message, kind)]


def triggered(effects: Sequence[Effect]) -> list[str]:
    """What kinds of checkpoints."""
    return [report.text for report in only(Report, effects) if report.kind is ReportKind.CHECKPOINT_TRIGGERED]


class Walk:
    """A job master and what the world would answer it."""

    def __init__(self, config: JobConfig = CONFIG) -> None:
        self.graph = graph(SLOTS)
        self.subtasks = tuple(self.graph.subtasks())
        self.master = JobMaster(
            self.graph, config, sources=[SOURCE], generation=Generation(1), next_checkpoint=CheckpointId(1), restore=None
        )
        self.log: StartGeneration | RecordCompleted | None = None
        self.seen(self.master.start(0))

    @property
    def generation(self) -> Generation:
        return self.master.generation

    def seen(self, effects: Sequence[Effect]) -> list[Effect]:
        for append in only(AppendLog, effects):
            self.log = append.request
        return list(effects)

    def log_created(self, now_ms: int = 0) -> list[Effect]:
        request, self.log = self.log, None
        assert request is not None
        return self.seen(self.master.on_log_created(request, now_ms))

    def says(self, slot: int, message: FromSlot, now_ms: int = 0) -> list[Effect]:
        return self.seen(self.master.on_message(register(slot).incarnation, message, now_ms))

    def running(self, now_ms: int = 0) -> Walk:
        self.log_created(now_ms)
        self.seen(self.master.on_prepared({SOURCE: (Split("split0", None), Split("split1", None))}, now_ms))
        for slot in range(SLOTS):
            self.says(slot, register(slot), now_ms)
        for slot in range(SLOTS):
            self.says(slot, Deployed(self.generation), now_ms)
        assert self.master.phase is JobPhase.RUNNING
        return self

    def acknowledged(self, checkpoint: int, now_ms: int = 0, *, ended: bool = False) -> list[Effect]:
        effects: list[Effect] = []
        for subtask in self.subtasks:
            taken = snapshot(self.graph, subtask, checkpoint=checkpoint, ended=ended)
            effects += self.says(subtask.index, Acknowledge(self.generation, CheckpointId(checkpoint), taken), now_ms)
        return effects

    def completed(self, checkpoint: int, now_ms: int = 0) -> list[Effect]:
        self.acknowledged(checkpoint, now_ms)
        self.seen(self.master.on_manifest_written(self.generation, CheckpointId(checkpoint), now_ms))
        return self.log_created(now_ms)

    def all_ended(self, now_ms: int = 0) -> list[Effect]:
        return [
            effect
            for subtask in self.subtasks
            for effect in self.says(subtask.index, SubtaskEnded(self.generation, subtask), now_ms)
        ]


def test_a_job_starts_by_fencing_then_prepares_then_deploys_then_starts_all_slots_at_once() -> None:
    walk = Walk()
    assert walk.log == StartGeneration(Generation(1), None, CheckpointId(1))
    assert only(Prepare, walk.log_created()) == [Prepare(Generation(1), None, None, (SOURCE,))]
    walk.master.on_prepared({SOURCE: ()}, 0)
    assert sent(Lease, walk.says(0, register(0)))
    deploys = sent(Deploy, walk.says(1, register(1)))
    assert [deploy.slot for deploy in deploys] == [0, 1]
    assert walk.says(0, Deployed(Generation(1))) == []
    assert len(sent(Start, walk.says(1, Deployed(Generation(1))))) == 2


def test_splits_are_dealt_out_on_request_and_an_empty_answer_ends_the_asking() -> None:
    walk = Walk().running()
    answers = [sent(AssignSplit, walk.says(0, RequestSplit(walk.generation, SOURCE, 0)))[0] for _ in range(3)]
    assert [answer.split and answer.split.id for answer in answers] == ["split0", "split1", None]
    assert {answer.precedes for answer in answers} == {1}


def test_a_checkpoint_commits_only_once_its_entry_is_in_the_log() -> None:
    walk = Walk().running()
    assert sent(TriggerCheckpoint, walk.seen(walk.master.savepoint(0)))
    effects = walk.acknowledged(1)
    (manifest,) = only(WriteManifest, effects)
    assert manifest.assigners[SOURCE].pending == (Split("split0", None), Split("split1", None))
    assert not only(Commit, effects)
    effects = walk.seen(walk.master.on_manifest_written(walk.generation, CheckpointId(1), 0))
    assert isinstance(walk.log, RecordCompleted)
    assert not only(Commit, effects)
    (commit,) = only(Commit, walk.log_created())
    assert commit.permit == CommitPermit(CheckpointId(1), Generation(1))
    assert len(commit.committables) == SLOTS


def test_a_savepoint_that_is_wanted_while_a_checkpoint_is_pending_is_taken_next_and_once() -> None:
    walk = Walk().running()
    assert sent(TriggerCheckpoint, walk.seen(walk.master.savepoint(0)))
    assert not sent(TriggerCheckpoint, walk.seen(walk.master.savepoint(0))), "one at a time"
    assert not sent(TriggerCheckpoint, walk.seen(walk.master.tick(10)))
    walk.completed(1)
    assert {one.checkpoint for one in sent(TriggerCheckpoint, walk.seen(walk.master.tick(20)))} == {2}
    walk.completed(2)
    assert not sent(TriggerCheckpoint, walk.seen(walk.master.tick(30)))


def test_a_savepoint_that_is_wanted_during_a_recovery_is_taken_once_the_job_runs_again() -> None:
    walk = Walk().running()
    walk.master.on_slot_lost(register(1).incarnation, "killed", 10)
    assert not sent(TriggerCheckpoint, walk.seen(walk.master.savepoint(15)))
    walk.says(0, Cancelled(Generation(1)), 20)
    walk.log_created(30)
    walk.seen(walk.master.on_prepared({SOURCE: ()}, 40))
    walk.says(5, register(5), 50)
    for slot in (0, 5):
        walk.says(slot, Deployed(Generation(2)), 60)
    assert {one.checkpoint for one in sent(TriggerCheckpoint, walk.seen(walk.master.tick(70)))} == {1}


def test_a_checkpoint_that_is_asked_for_is_of_its_own_kind_unless_a_savepoint_does_for_it() -> None:
    walk = Walk().running()
    assert triggered(walk.seen(walk.master.checkpoint(0))) == [CheckpointKind.MANUAL]
    assert not triggered(walk.seen(walk.master.checkpoint(0))), "one at a time"
    assert not triggered(walk.seen(walk.master.savepoint(0)))
    assert not triggered(walk.seen(walk.master.checkpoint(0)))
    walk.completed(1)
    assert triggered(walk.seen(walk.master.tick(10))) == [CheckpointKind.SAVEPOINT]
    walk.completed(2)
    assert not triggered(walk.seen(walk.master.tick(20))), "once"


def test_a_later_commit_waits_until_the_earlier_one_is_done() -> None:
    walk = Walk().running()
    walk.seen(walk.master.savepoint(0))
    (first,) = only(Commit, walk.completed(1))
    walk.seen(walk.master.savepoint(0))
    assert only(Commit, walk.completed(2)) == []
    (again,) = only(Commit, walk.master.on_commit_failed(first.permit, "no answer", True, 0))
    assert (again.permit, again.attempt) == (first.permit, 2)
    (second,) = only(Commit, walk.master.on_committed(first.permit, 0))
    assert second.permit.checkpoint == 2
    assert only(Commit, walk.master.on_committed(second.permit, 0)) == []


def test_a_bounded_job_finishes_with_a_final_checkpoint_that_is_committed() -> None:
    walk = Walk().running()
    assert sent(TriggerCheckpoint, walk.all_ended())
    assert not only(Finish, walk.completed(1))
    effects = walk.master.on_committed(CommitPermit(CheckpointId(1), walk.generation), 0)
    assert only(Finish, effects) == [Finish(Outcome.FINISHED)]
    assert len(sent(Stop, effects)) == SLOTS
    assert walk.master.phase is JobPhase.ENDED


def test_a_lost_slot_sends_the_whole_job_back_to_the_last_completed_checkpoint() -> None:
    walk = Walk().running()
    for slot in range(SLOTS):
        walk.says(slot, RequestSplit(walk.generation, SOURCE, slot))
    walk.seen(walk.master.savepoint(0))
    walk.completed(1)
    effects = walk.master.on_slot_lost(register(1).incarnation, "killed", 10)
    assert [effect.to for effect in only(Send, effects) if isinstance(effect.message, Cancel)] == [register(0).incarnation]
    walk.says(0, Cancelled(Generation(1)), 20)
    assert walk.log == StartGeneration(Generation(2), CheckpointId(1), CheckpointId(2))
    (prepare,) = only(Prepare, walk.log_created(30))
    assert prepare.permit == CommitPermit(CheckpointId(1), Generation(2))
    assert prepare.enumerate_sources == ()
    assert walk.seen(walk.master.on_prepared({}, 40)) == []
    deploys = sent(Deploy, walk.says(5, register(5), 50))
    assert [deploy.restored_checkpoint for deploy in deploys] == [1, 1]
    assert {deploy.next_checkpoint for deploy in deploys} == {2}


def test_the_restore_point_is_not_chosen_while_an_entry_is_on_its_way() -> None:
    walk = Walk().running()
    walk.seen(walk.master.savepoint(0))
    walk.acknowledged(1)
    walk.seen(walk.master.on_manifest_written(walk.generation, CheckpointId(1), 0))
    walk.says(0, SubtaskFailed(walk.generation, None, "InputError", "broken", True))
    for slot in range(SLOTS):
        walk.says(slot, Cancelled(Generation(1)))
    assert isinstance(walk.log, RecordCompleted), "nothing else is asked of the log"
    effects = walk.log_created()
    assert only(Commit, effects)
    assert walk.log == StartGeneration(Generation(2), CheckpointId(1), CheckpointId(2))


def test_messages_of_an_older_generation_have_no_effect() -> None:
    walk = Walk().running()
    walk.says(0, SubtaskFailed(walk.generation, None, "InputError", "broken", True))
    for slot in range(SLOTS):
        walk.says(slot, Cancelled(Generation(1)))
    walk.log_created()
    walk.seen(walk.master.on_prepared({SOURCE: ()}, 0))
    for slot in range(SLOTS):
        assert walk.says(slot, Deployed(Generation(1))) == []
    assert walk.master.phase is JobPhase.DEPLOYING
    assert walk.says(0, SubtaskFailed(Generation(1), None, "InputError", "late", True)) == []


def test_a_failure_that_trying_again_cannot_help_ends_the_job_with_its_cause() -> None:
    walk = Walk().running()
    effects = walk.says(0, SubtaskFailed(walk.generation, SubtaskId(0, 0), "UserCodeError", "division by zero", False))
    assert only(Finish, effects) == [Finish(Outcome.FAILED, "division by zero", "UserCodeError")]


def test_a_job_that_fails_again_and_again_without_progress_gives_up() -> None:
    walk = Walk().running()
    for now_ms in (0, 10_000):
        walk.says(0, SubtaskFailed(walk.generation, None, "InputError", "broken", True), now_ms)
        for slot in range(SLOTS):
            walk.says(slot, Cancelled(walk.generation), now_ms)
        walk.log_created(now_ms)
        walk.seen(walk.master.on_prepared({SOURCE: ()}, now_ms))
        walk.seen(walk.master.tick(now_ms + 100))
        for slot in range(SLOTS):
            walk.says(slot, Deployed(walk.generation), now_ms + 100)
        assert walk.master.phase is JobPhase.RUNNING
    (finish,) = only(Finish, walk.says(0, SubtaskFailed(walk.generation, None, "InputError", "broken", True), 20_000))
    assert finish.outcome is Outcome.FAILED
    assert "after 2 restarts" in finish.reason
    assert "broken" in finish.reason


def test_a_slot_that_does_not_obey_a_cancel_in_time_is_dropped() -> None:
    walk = Walk().running()
    walk.says(0, SubtaskFailed(walk.generation, None, "InputError", "broken", True), 0)
    walk.says(0, Cancelled(Generation(1)), 0)
    assert not only(DropSlot, walk.seen(walk.master.tick(99)))
    (dropped,) = only(DropSlot, walk.seen(walk.master.tick(100)))
    assert dropped.incarnation == register(1).incarnation
    assert walk.log == StartGeneration(Generation(2), None, CheckpointId(1))


def test_a_silent_slot_is_dropped_but_not_by_a_coordinator_that_was_itself_away() -> None:
    walk = Walk().running()
    assert walk.master.tick(0) == []
    assert walk.master.tick(5_000 - 4_000) != [], "the periodic checkpoint is due"
    assert not only(DropSlot, walk.master.tick(9_000)), "it was away for eight seconds"
    walk.says(0, Heartbeat(1), 9_100)
    effects: list[Effect] = []
    for now_ms in range(9_050, 9_251, 50):
        effects += walk.seen(walk.master.tick(now_ms))
    assert [drop.incarnation for drop in only(DropSlot, effects)] == [register(1).incarnation]


def test_suspending_takes_a_last_checkpoint_and_ends_once_it_is_committed() -> None:
    walk = Walk().running()
    assert sent(TriggerCheckpoint, walk.seen(walk.master.suspend(0)))
    walk.completed(1)
    effects = walk.master.on_committed(CommitPermit(CheckpointId(1), walk.generation), 0)
    assert only(Finish, effects) == [Finish(Outcome.SUSPENDED)]


def test_a_suspend_whose_checkpoint_is_declined_tries_again() -> None:
    walk = Walk().running()
    walk.seen(walk.master.suspend(0))
    walk.says(0, Decline(walk.generation, CheckpointId(1), SubtaskId(0, 0), "no"))
    assert {trigger.checkpoint for trigger in sent(TriggerCheckpoint, walk.seen(walk.master.tick(1)))} == {2}


def test_a_cancelled_job_stops_without_a_checkpoint() -> None:
    walk = Walk().running()
    effects = walk.master.cancel(0)
    assert not sent(TriggerCheckpoint, effects)
    assert [finish.outcome for finish in only(Finish, effects)] == [Outcome.CANCELED]
    assert sent(Stop, walk.says(9, register(9))), "who registers now is told"


def test_an_ending_waits_for_the_entry_that_is_on_its_way_and_for_its_commit() -> None:
    walk = Walk().running()
    walk.seen(walk.master.savepoint(0))
    walk.acknowledged(1)
    walk.seen(walk.master.on_manifest_written(walk.generation, CheckpointId(1), 0))
    assert not only(Finish, walk.master.cancel(0))
    effects = walk.log_created()
    (commit,) = only(Commit, effects)
    assert not only(Finish, effects)
    assert only(Finish, walk.master.on_committed(commit.permit, 0))


def test_a_job_that_is_ending_does_not_deploy_what_was_being_prepared() -> None:
    walk = Walk().running()
    walk.seen(walk.master.savepoint(0))
    (commit,) = only(Commit, walk.completed(1))
    walk.master.on_slot_lost(register(0).incarnation, "killed", 0)
    for slot in range(1, SLOTS):
        walk.says(slot, Cancelled(walk.generation), 0)
    assert walk.master.phase is JobPhase.STARTING
    walk.log_created()
    assert not only(Finish, walk.master.cancel(0)), "the commit of the generation before is on its way"
    for slot in range(SLOTS):
        walk.says(slot, register(slot), 0)
    assert not sent(Deploy, walk.master.on_prepared({}, 0))
    assert only(Finish, walk.master.on_committed(commit.permit, 0))


def test_a_superseded_process_stops_for_good_and_commits_nothing_more() -> None:
    walk = Walk().running()
    walk.seen(walk.master.savepoint(0))
    walk.acknowledged(1)
    walk.seen(walk.master.on_manifest_written(walk.generation, CheckpointId(1), 0))
    effects = walk.master.on_log_superseded("generation 7 runs the job", 0)
    assert [finish.outcome for finish in only(Finish, effects)] == [Outcome.SUPERSEDED]
    assert not only(Commit, effects)
    assert walk.master.tick(10_000) == []


def test_a_process_that_the_job_was_taken_from_waits_for_its_entry_and_for_nothing_else() -> None:
    walk = Walk().running()
    walk.seen(walk.master.savepoint(0))
    walk.acknowledged(1)
    walk.seen(walk.master.on_manifest_written(walk.generation, CheckpointId(1), 0))
    assert not only(Finish, walk.master.taken("the control plane says so", 0)), "it may be in the log"
    (finish,) = only(Finish, walk.log_created())
    assert finish == Finish(Outcome.SUPERSEDED, "the control plane says so", "Superseded")
    assert walk.master.tick(10_000) == []
    other = Walk().running()
    assert only(Finish, other.master.taken("the control plane says so", 0))
    assert not only(Finish, other.master.taken("the control plane says so", 0)), "said twice"


def test_an_entry_that_cannot_be_written_is_asked_for_again_and_then_ends_the_job() -> None:
    walk = Walk()
    request = walk.log
    assert request is not None
    assert walk.master.on_log_failed(request, "no answer", 0) == [AppendLog(request, 10)]
    (finish,) = only(Finish, walk.master.on_log_failed(request, "no answer", 0))
    assert (finish.outcome, finish.kind) == (Outcome.FAILED, "StorageError")


def test_a_commit_refused_for_good_fails_the_job_loudly_whatever_else_waits() -> None:
    walk = Walk().running()
    for checkpoint in (1, 2):
        walk.seen(walk.master.savepoint(0))
        walk.completed(checkpoint)
    effects = walk.master.on_commit_failed(CommitPermit(CheckpointId(1), Generation(1)), "disk gone", False, 0)
    (finish,) = only(Finish, effects)
    assert finish.outcome is Outcome.FAILED
    assert "checkpoint 1 is completed but could not be committed: disk gone" in finish.reason


def test_too_few_slots_fail_the_job_and_say_how_many_there_were() -> None:
    walk = Walk()
    walk.log_created()
    walk.master.on_prepared({SOURCE: ()}, 0)
    walk.says(0, register(0))
    assert walk.master.tick(50) == []
    walk.says(0, Heartbeat(1), 299)
    (finish,) = only(Finish, walk.master.tick(300))
    assert "needs 2 slots and 1 registered" in finish.reason
    assert "free cores" in finish.reason


def test_slots_that_end_as_they_start_are_told_with_what_spark_says_of_them() -> None:
    walk = Walk()
    walk.log_created()
    walk.master.on_prepared({SOURCE: ()}, 0)
    walk.says(0, register(0))
    assert walk.master.on_slot_ended_early("Container killed for exceeding memory limits", 10) == []
    walk.says(0, Heartbeat(1), 299)
    (finish,) = only(Finish, walk.master.tick(300))
    assert "needs 2 slots and 1 registered" in finish.reason
    assert finish.reason.endswith("Container killed for exceeding memory limits")


def test_a_deployment_that_takes_too_long_is_tried_again() -> None:
    walk = Walk()
    walk.log_created()
    walk.master.on_prepared({SOURCE: ()}, 0)
    for slot in range(SLOTS):
        walk.says(slot, register(slot))
    assert sent(Cancel, walk.master.tick(150))
    assert walk.master.phase is JobPhase.CANCELLING


def test_a_preparation_that_fails_is_tried_again_and_given_up_with_its_own_reason() -> None:
    walk = Walk()
    walk.log_created()
    delays = []
    for attempt in range(CONFIG.commit_attempts_max - 1):
        (again,) = only(Prepare, walk.seen(walk.master.on_prepare_failed("storage is away", "StorageError", True, attempt)))
        delays.append(again.delay_ms)
    assert delays == sorted(delays) and delays[0] > 0
    (finish,) = only(Finish, walk.seen(walk.master.on_prepare_failed("storage is away", "StorageError", True, 9)))
    assert (finish.outcome, finish.reason) == (Outcome.FAILED, "storage is away")


def test_a_preparation_that_cannot_succeed_is_not_tried_again() -> None:
    walk = Walk()
    walk.log_created()
    (finish,) = only(Finish, walk.seen(walk.master.on_prepare_failed("the output belongs to another job", "SinkError", False, 1)))
    assert finish.outcome is Outcome.FAILED
