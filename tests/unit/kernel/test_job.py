"""The lifecycle of a job in the job master."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from kernel_cases import SOURCE, graph, graph_without_shuffles, register, restore_point, snapshot, split_list

from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CheckpointKind, CommitPermit
from weir.kernel.config import CheckpointConfig, RestartConfig
from weir.kernel.effects import (
    AppendLog,
    Commit,
    DiscardOutput,
    Discover,
    DropSlot,
    Effect,
    Finish,
    JobOutcome,
    Prepare,
    RecordCompleted,
    Report,
    ReportKind,
    Send,
    StartGeneration,
    WriteManifest,
)
from weir.kernel.job import JobConfig, JobMaster, JobPhase
from weir.kernel.split_assigner import SLOW_MS, UNASSIGNED_MAX, SplitList
from weir.protocol.events import RecoveryStrategy
from weir.protocol.ids import CheckpointId, CommandId, Generation, SlotIndex, SubtaskId
from weir.protocol.manifest import AssignerState, CheckpointStatistics
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancelled,
    CancelSubtasks,
    Decline,
    Deploy,
    Deployed,
    FromSlot,
    Heartbeat,
    Lease,
    NotifyCheckpointAborted,
    NotifyCheckpointPublished,
    ProfileAnswer,
    RequestSplit,
    Restoring,
    StackSample,
    Start,
    Stop,
    SubtaskEnded,
    SubtaskFailed,
    TakeProfile,
    TriggerCheckpoint,
)
from weir.protocol.snapshots import Split

T = TypeVar("T")
ONE = Generation(1)
SLOTS = 2
SPLITS = split_list("split0", "split1")
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
    """Return the kind of each triggered checkpoint."""
    return [report.text for report in only(Report, effects) if report.kind is ReportKind.CHECKPOINT_TRIGGERED]


class Job:
    """A job master, and methods that simulate the answers of the coordinator and the slots."""

    def __init__(
        self,
        config: JobConfig = CONFIG,
        *,
        splits: SplitList = SPLITS,
        every_ms: int | None = None,
        of: PhysicalGraph | None = None,
    ) -> None:
        self.graph = of or graph(SLOTS)
        self.splits = splits
        self.subtasks = tuple(self.graph.subtasks())
        self.master = JobMaster(
            self.graph,
            config,
            sources=[SOURCE],
            generation=Generation(1),
            next_checkpoint=CheckpointId(1),
            restore=None,
            discover_every_ms={} if every_ms is None else {SOURCE: every_ms},
        )
        self.log: StartGeneration | RecordCompleted | None = None
        self.observe(self.master.start(0))

    @property
    def generation(self) -> Generation:
        return self.master.generation

    def observe(self, effects: Sequence[Effect]) -> list[Effect]:
        for append in only(AppendLog, effects):
            self.log = append.request
        return list(effects)

    def log_created(self, now_ms: int = 0) -> list[Effect]:
        request, self.log = self.log, None
        assert request is not None
        return self.observe(self.master.on_log_created(request, now_ms))

    def receive(self, slot: int, message: FromSlot, now_ms: int = 0) -> list[Effect]:
        return self.observe(self.master.on_message(register(slot).incarnation, message, now_ms))

    def running(self, now_ms: int = 0) -> Job:
        self.log_created(now_ms)
        self.observe(self.master.on_prepared({SOURCE: (self.splits,)}, now_ms))
        for slot in range(SLOTS):
            self.receive(slot, register(slot), now_ms)
        for slot in range(SLOTS):
            self.receive(slot, Deployed(self.generation), now_ms)
        assert self.master.phase is JobPhase.RUNNING
        return self

    def acknowledged(self, checkpoint: int, now_ms: int = 0, *, ended: bool = False, records: int = 0) -> list[Effect]:
        effects: list[Effect] = []
        for subtask in self.subtasks:
            taken = snapshot(self.graph, subtask, checkpoint=checkpoint, ended=ended, records=records)
            effects += self.receive(subtask.index, Acknowledge(self.generation, CheckpointId(checkpoint), (taken,)), now_ms)
        return effects

    def completed(self, checkpoint: int, now_ms: int = 0, *, records: int = 0) -> list[Effect]:
        self.acknowledged(checkpoint, now_ms, records=records)
        self.observe(
            self.master.on_manifest_written(
                self.generation, CheckpointId(checkpoint), restore_point(self.graph).channels, CheckpointStatistics(), now_ms
            )
        )
        return self.log_created(now_ms)

    def all_ended(self, now_ms: int = 0) -> list[Effect]:
        return [
            effect
            for subtask in self.subtasks
            for effect in self.receive(subtask.index, SubtaskEnded(self.generation, subtask), now_ms)
        ]


def test_a_job_appends_its_start_to_the_log_before_it_deploys_and_starts_all_slots() -> None:
    job = Job()
    assert job.log == StartGeneration(Generation(1), None, CheckpointId(1))
    assert only(Prepare, job.log_created()) == [Prepare(Generation(1), None, None, (SOURCE,))]
    job.master.on_prepared({SOURCE: (SPLITS,)}, 0)
    assert sent(Lease, job.receive(0, register(0)))
    deploys = sent(Deploy, job.receive(1, register(1)))
    assert [deploy.slot for deploy in deploys] == [0, 1]
    assert job.receive(0, Deployed(Generation(1))) == []
    assert len(sent(Start, job.receive(1, Deployed(Generation(1))))) == 2


def test_each_request_for_a_split_gets_a_split_until_all_splits_are_assigned() -> None:
    job = Job().running()
    answers = [sent(AssignSplit, job.receive(0, RequestSplit(job.generation, SOURCE, 0)))[0] for _ in range(3)]
    assert [answer.split and answer.split.id for answer in answers] == ["split0", "split1", None]
    assert {answer.precedes for answer in answers} == {1}


FOLLOWED = split_list(known=0)


def discoveries(job: Job, now_ms: int) -> list[Discover]:
    return only(Discover, job.observe(job.master.tick(now_ms)))


def test_the_source_of_a_followed_job_gets_splits_that_are_discovered_while_it_waits() -> None:
    job = Job(splits=FOLLOWED, every_ms=50).running()
    assert discoveries(job, 0) == [Discover(Generation(1), SOURCE, 0, 0)]
    assert discoveries(job, 60) == [], "the first discovery is running"
    assert [job.receive(slot, RequestSplit(job.generation, SOURCE, slot)) for slot in range(SLOTS)] == [[], []]
    job.master.on_discovered(job.generation, SOURCE, 0, None, 60)
    assert discoveries(job, 109) == []
    assert discoveries(job, 600) == [Discover(Generation(1), SOURCE, 0, 0)]
    found = split_list("a", known=1)
    effects = job.observe(job.master.on_discovered(job.generation, SOURCE, 1, found, 600, ["b.txt has changed"]))
    assert sent(AssignSplit, effects) == [AssignSplit(job.generation, SOURCE, 0, found.splits[0], CheckpointId(1))]
    assert [report.text for report in only(Report, effects)] == ["b.txt has changed"]
    assert discoveries(job, 650) == [Discover(Generation(1), SOURCE, 1, 1)]


def test_a_split_that_is_discovered_after_the_trigger_is_not_in_the_checkpoint() -> None:
    job = Job(splits=FOLLOWED, every_ms=50).running()
    discoveries(job, 0)
    assert sent(TriggerCheckpoint, job.observe(job.master.savepoint(0)))
    found = split_list("a", known=1)
    job.master.on_discovered(job.generation, SOURCE, 1, found, 10)
    (manifest,) = only(WriteManifest, job.acknowledged(1, ended=True))
    assert manifest.assigners[SOURCE] == AssignerState((), 0, (FOLLOWED.reference,), 0)


def test_the_result_of_a_discovery_of_an_older_generation_is_dropped() -> None:
    job = Job(splits=FOLLOWED, every_ms=50).running()
    discoveries(job, 0)
    for slot in range(SLOTS):
        job.receive(slot, SubtaskFailed(job.generation, None, "UserCodeError", "failed", True))
    for slot in range(SLOTS):
        job.receive(slot, Cancelled(Generation(1)))
    job.log_created()
    job.observe(job.master.on_prepared({SOURCE: (FOLLOWED,)}, 0))
    for slot in range(SLOTS):
        job.receive(slot, Deployed(job.generation))
    assert job.master.on_discovered(Generation(1), SOURCE, 1, split_list("a", known=1), 10) == []
    assert job.master.on_discovery_failed(Generation(1), SOURCE, "gone", 10) == []
    assert discoveries(job, 20) == [Discover(Generation(2), SOURCE, 0, 0)]


def test_a_failed_discovery_is_reported_and_the_job_continues() -> None:
    job = Job(splits=FOLLOWED, every_ms=50).running()
    discoveries(job, 0)
    (report,) = job.master.on_discovery_failed(job.generation, SOURCE, "/in: Permission denied.", 0)
    assert isinstance(report, Report) and report.kind is ReportKind.WARNING
    assert report.text == ("Source 'source' cannot list its input: /in: Permission denied. The job continues, and Weir retries")
    assert job.master.phase is JobPhase.RUNNING
    assert discoveries(job, 5_000)
    assert job.master.on_discovery_failed(job.generation, SOURCE, "/in: Permission denied.", 5_000) == []
    assert discoveries(job, 20_000)
    (report,) = job.master.on_discovered(job.generation, SOURCE, 0, None, 20_000)
    assert isinstance(report, Report) and report.text == "Source 'source' can list its input again"


def test_a_discovery_that_takes_long_is_reported() -> None:
    job = Job(splits=FOLLOWED, every_ms=50).running()
    discoveries(job, 0)
    warnings = [one.text for one in only(Report, job.master.tick(SLOW_MS)) if one.kind is ReportKind.WARNING]
    assert warnings == ["Source 'source' has been listing its input for 60 s. The job continues with the input that it has found"]


def test_a_restored_source_that_is_no_longer_followed_is_discovered_once_and_then_ends() -> None:
    job = Job(splits=FOLLOWED).running()
    assert discoveries(job, 0) == [Discover(Generation(1), SOURCE, 0, 0)]
    assert job.receive(0, RequestSplit(job.generation, SOURCE, 0)) == []
    assert job.receive(1, RequestSplit(job.generation, SOURCE, 1)) == []
    found = split_list("a", known=1)
    answers = sent(AssignSplit, job.master.on_discovered(job.generation, SOURCE, 1, found, 0))
    assert [(answer.subtask, answer.split and answer.split.id) for answer in answers] == [(0, "a"), (1, None)]
    assert discoveries(job, 10_000) == []


def test_no_splits_are_discovered_while_many_splits_are_unassigned() -> None:
    many = split_list(*map(str, range(UNASSIGNED_MAX)), known=0)
    job = Job(splits=many, every_ms=50).running()
    assert discoveries(job, 0) == []
    job.receive(0, RequestSplit(job.generation, SOURCE, 0))
    assert discoveries(job, 1) == [Discover(Generation(1), SOURCE, 0, UNASSIGNED_MAX)]


def test_a_checkpoint_is_committed_only_after_its_log_entry_exists() -> None:
    job = Job().running()
    assert sent(TriggerCheckpoint, job.observe(job.master.savepoint(0)))
    effects = job.acknowledged(1)
    (manifest,) = only(WriteManifest, effects)
    assert (manifest.assigners[SOURCE].next, manifest.assigners[SOURCE].split_lists) == (0, (SPLITS.reference,))
    assert not only(Commit, effects)
    effects = job.observe(job.master.on_manifest_written(job.generation, CheckpointId(1), (), CheckpointStatistics(), 0))
    assert isinstance(job.log, RecordCompleted)
    assert not only(Commit, effects)
    (commit,) = only(Commit, job.log_created())
    assert commit.permit == CommitPermit(CheckpointId(1), Generation(1))
    assert len(commit.committables) == SLOTS


def test_a_savepoint_request_during_a_pending_checkpoint_is_executed_after_the_checkpoint() -> None:
    job = Job().running()
    assert sent(TriggerCheckpoint, job.observe(job.master.savepoint(0)))
    assert not sent(TriggerCheckpoint, job.observe(job.master.savepoint(0))), "only one checkpoint is pending at a time"
    assert not sent(TriggerCheckpoint, job.observe(job.master.tick(10)))
    job.completed(1)
    assert {one.checkpoint for one in sent(TriggerCheckpoint, job.observe(job.master.tick(20)))} == {2}
    job.completed(2)
    assert not sent(TriggerCheckpoint, job.observe(job.master.tick(30)))


def test_a_savepoint_request_during_a_recovery_is_executed_when_the_job_runs_again() -> None:
    job = Job().running()
    job.master.on_slot_lost(register(1).incarnation, "killed", 10)
    assert not sent(TriggerCheckpoint, job.observe(job.master.savepoint(15)))
    job.receive(0, Cancelled(Generation(1)), 20)
    job.log_created(30)
    job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, 40))
    job.receive(5, register(5), 50)
    for slot in (0, 5):
        job.receive(slot, Deployed(Generation(2)), 60)
    assert {one.checkpoint for one in sent(TriggerCheckpoint, job.observe(job.master.tick(70)))} == {1}


def test_a_savepoint_also_completes_a_pending_checkpoint_request() -> None:
    job = Job().running()
    assert triggered(job.observe(job.master.checkpoint(0))) == [CheckpointKind.MANUAL]
    assert not triggered(job.observe(job.master.checkpoint(0))), "only one checkpoint is pending at a time"
    assert not triggered(job.observe(job.master.savepoint(0)))
    assert not triggered(job.observe(job.master.checkpoint(0)))
    job.completed(1)
    assert triggered(job.observe(job.master.tick(10))) == [CheckpointKind.SAVEPOINT]
    job.completed(2)
    assert not triggered(job.observe(job.master.tick(20))), "no second checkpoint is triggered"


def test_the_coordinator_knows_when_the_next_checkpoint_is_due() -> None:
    job = Job(JobConfig(checkpoints=CheckpointConfig(interval_ms=1_000), commits_waiting_max=1))
    assert job.master.trigger_ms is None
    job.running(5)
    assert job.master.trigger_ms == 1_005
    assert triggered(job.observe(job.master.tick(1_005)))
    assert job.master.trigger_ms is None, "a checkpoint is pending"
    (commit,) = only(Commit, job.completed(1, 1_010))
    assert job.master.trigger_ms is None, "a commit is waiting"
    job.observe(job.master.on_committed(commit.permit, 1_020))
    assert job.master.trigger_ms == 2_005
    job.observe(job.master.savepoint(1_100))
    job.observe(job.master.cancel(1_200))
    assert job.master.trigger_ms is None, "the job has ended"


def test_a_commit_waits_for_all_earlier_commits() -> None:
    job = Job().running()
    job.observe(job.master.savepoint(0))
    (first,) = only(Commit, job.completed(1))
    job.observe(job.master.savepoint(0))
    assert only(Commit, job.completed(2)) == []
    again, retrying = job.master.on_commit_failed(first.permit, "no answer", True, 0)
    assert retrying == Report.retrying(Generation(1), "checkpoint 1 cannot be committed: no answer")
    assert isinstance(again, Commit)
    assert (again.permit, again.attempt) == (first.permit, 2)
    (second,) = only(Commit, job.master.on_committed(first.permit, 0))
    assert second.permit.checkpoint == 2
    assert only(Commit, job.master.on_committed(second.permit, 0)) == []


def test_slots_are_notified_of_a_published_checkpoint_only_while_its_generation_runs() -> None:
    job = Job().running()
    job.observe(job.master.savepoint(0))
    (commit,) = only(Commit, job.completed(1))
    assert [one.checkpoint for one in sent(NotifyCheckpointPublished, job.master.on_committed(commit.permit, 0))] == [1] * SLOTS
    assert not sent(NotifyCheckpointPublished, job.master.on_committed(CommitPermit(CheckpointId(1), Generation(9)), 0))


def test_a_bounded_job_finishes_after_its_final_checkpoint_is_committed() -> None:
    job = Job().running()
    assert sent(TriggerCheckpoint, job.all_ended())
    assert not only(Finish, job.completed(1))
    effects = job.master.on_committed(CommitPermit(CheckpointId(1), job.generation), 0)
    assert only(Finish, effects) == [Finish(JobOutcome.FINISHED)]
    assert len(sent(Stop, effects)) == SLOTS
    assert job.master.phase is JobPhase.ENDED


def test_after_the_loss_of_a_slot_the_job_restores_the_last_completed_checkpoint() -> None:
    job = Job().running()
    for slot in range(SLOTS):
        job.receive(slot, RequestSplit(job.generation, SOURCE, slot))
    job.observe(job.master.savepoint(0))
    (commit,) = only(Commit, job.completed(1))
    job.observe(job.master.on_committed(commit.permit, 5))
    effects = job.master.on_slot_lost(register(1).incarnation, "killed", 10)
    assert [effect.to for effect in only(Send, effects) if isinstance(effect.message, CancelSubtasks)] == [
        register(0).incarnation
    ]
    job.receive(0, Cancelled(Generation(1)), 20)
    assert job.log == StartGeneration(Generation(2), CheckpointId(1), CheckpointId(2))
    (prepare,) = only(Prepare, job.log_created(30))
    assert prepare.permit == CommitPermit(CheckpointId(1), Generation(2))
    assert prepare.enumerate_sources == ()
    assert job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, 40)) == []
    deploys = sent(Deploy, job.receive(5, register(5), 50))
    assert [deploy.restored_checkpoint for deploy in deploys] == [1, 1]
    assert {deploy.next_checkpoint for deploy in deploys} == {2}


def test_a_recovery_continues_with_the_number_of_records_up_to_the_restored_checkpoint() -> None:
    def reported(kind: ReportKind, effects: Sequence[Effect]) -> list[int]:
        return [report.records for report in only(Report, effects) if report.kind is kind]

    job = Job().running()
    for slot in range(SLOTS):
        job.receive(slot, RequestSplit(job.generation, SOURCE, slot))
    for checkpoint, records in ((1, 20), (2, 50)):
        job.observe(job.master.savepoint(0))
        effects = job.completed(checkpoint, records=records)
        assert reported(ReportKind.CHECKPOINT_COMPLETED, effects) == [SLOTS * records]
        (commit,) = only(Commit, effects)
        job.observe(job.master.on_committed(commit.permit, 5))
    job.observe(job.master.on_slot_lost(register(1).incarnation, "killed", 10))
    assert reported(ReportKind.STARTING, job.receive(0, Cancelled(Generation(1)), 20)) == [SLOTS * 50]
    job.log_created(30)
    job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, 30))
    job.receive(1, register(1), 30)
    for slot in range(SLOTS):
        job.receive(slot, Deployed(Generation(2)), 30)
        job.receive(slot, RequestSplit(Generation(2), SOURCE, slot), 30)
    job.observe(job.master.savepoint(40))
    assert reported(ReportKind.CHECKPOINT_COMPLETED, job.completed(3, records=1)) == [SLOTS * 51]


def test_a_recovery_chooses_its_restore_point_only_after_the_open_append_and_the_open_commit_have_ended() -> None:
    job = Job().running()
    job.observe(job.master.savepoint(0))
    job.acknowledged(1)
    job.observe(job.master.on_manifest_written(job.generation, CheckpointId(1), (), CheckpointStatistics(), 0))
    job.receive(0, SubtaskFailed(job.generation, None, "InputError", "broken", True))
    for slot in range(SLOTS):
        job.receive(slot, Cancelled(Generation(1)))
    assert isinstance(job.log, RecordCompleted), "no second append is requested"
    (commit,) = only(Commit, job.log_created())
    assert job.log is None, "the next generation waits for the commit, because the log cannot record a fenced commit"
    job.observe(job.master.on_committed(commit.permit, 0))
    assert job.log == StartGeneration(Generation(2), CheckpointId(1), CheckpointId(2))


def test_messages_of_an_older_generation_have_no_effect() -> None:
    job = Job().running()
    job.receive(0, SubtaskFailed(job.generation, None, "InputError", "broken", True))
    for slot in range(SLOTS):
        job.receive(slot, Cancelled(Generation(1)))
    job.log_created()
    job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, 0))
    for slot in range(SLOTS):
        assert job.receive(slot, Deployed(Generation(1))) == []
    assert job.master.phase is JobPhase.DEPLOYING
    assert job.receive(0, SubtaskFailed(Generation(1), None, "InputError", "late", True)) == []


def test_a_failure_that_is_not_restartable_fails_the_job_with_its_cause() -> None:
    job = Job().running()
    effects = job.receive(0, SubtaskFailed(job.generation, SubtaskId(0, 0), "UserCodeError", "division by zero", False))
    assert only(Finish, effects) == [Finish(JobOutcome.FAILED, "division by zero", "UserCodeError")]


def test_a_job_fails_after_too_many_restarts_without_a_completed_checkpoint() -> None:
    job = Job().running()
    for now_ms in (0, 10_000):
        job.receive(0, SubtaskFailed(job.generation, None, "InputError", "broken", True), now_ms)
        for slot in range(SLOTS):
            job.receive(slot, Cancelled(job.generation), now_ms)
        job.log_created(now_ms)
        job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, now_ms))
        job.observe(job.master.tick(now_ms + 100))
        for slot in range(SLOTS):
            job.receive(slot, Deployed(job.generation), now_ms + 100)
        assert job.master.phase is JobPhase.RUNNING
    (finish,) = only(Finish, job.receive(0, SubtaskFailed(job.generation, None, "InputError", "broken", True), 20_000))
    assert finish.outcome is JobOutcome.FAILED
    assert "after 2 restarts" in finish.reason
    assert "broken" in finish.reason


def test_a_slot_that_does_not_confirm_a_cancel_in_time_is_dropped() -> None:
    job = Job().running()
    job.receive(0, SubtaskFailed(job.generation, None, "InputError", "broken", True), 0)
    job.receive(0, Cancelled(Generation(1)), 0)
    assert not only(DropSlot, job.observe(job.master.tick(99)))
    (dropped,) = only(DropSlot, job.observe(job.master.tick(100)))
    assert dropped.incarnation == register(1).incarnation
    assert job.log == StartGeneration(Generation(2), None, CheckpointId(1))


def test_a_slot_without_heartbeats_is_dropped_unless_the_coordinator_itself_was_paused() -> None:
    job = Job().running()
    assert job.master.tick(0) == []
    assert job.master.tick(5_000 - 4_000) != [], "the periodic checkpoint is due"
    assert not only(DropSlot, job.master.tick(9_000)), "the coordinator was paused for 8 s"
    job.receive(0, Heartbeat(1), 9_100)
    effects: list[Effect] = []
    for now_ms in range(9_050, 9_251, 50):
        effects += job.observe(job.master.tick(now_ms))
    assert [drop.incarnation for drop in only(DropSlot, effects)] == [register(1).incarnation]


STALLS = replace(CONFIG, stuck_timeout_ms=1_000, call_timeout_ms=2_000, checkpoints=CheckpointConfig(interval_ms=None))


def send_heartbeats(
    job: Job, *, until_ms: int, heartbeats: Callable[[int], tuple[Heartbeat, Heartbeat]], from_ms: int = 0
) -> list[Effect]:
    """Deliver heartbeats of both slots every 50 ms. Return the effects of all ticks."""
    effects: list[Effect] = []
    for now_ms in range(from_ms, until_ms + 1, 50):
        for slot, heartbeat in enumerate(heartbeats(now_ms)):
            job.receive(slot, heartbeat, now_ms)
        effects += job.observe(job.master.tick(now_ms))
    return effects


def test_a_stack_sample_that_arrives_in_two_messages_names_the_function_of_a_long_step() -> None:
    job = Job(STALLS).running()
    dump = (
        b'Thread 0x1 (most recent call first):\n  File "/jobs/flights.py", line 3 in parse\n'
        b'  File "/runtime/weir/operators/aggregate.py", line 9 in fold\n  File "/runtime/weir/subtask/process.py", line 1 in run\n'
    )
    for part in (b"Timeout!\n" + dump[:60], dump[60:]):
        job.receive(1, Heartbeat(7, chain=1), 100)
        job.receive(1, StackSample(part.hex()), 100)
    effects = send_heartbeats(
        job, from_ms=150, until_ms=700, heartbeats=lambda now_ms: (Heartbeat(now_ms), Heartbeat(7, chain=1))
    )
    (warning,) = [report for report in only(Report, effects) if report.kind is ReportKind.SLOW]
    assert "function parse (flights.py:3)" in warning.text


def test_a_slot_that_sends_heartbeats_but_takes_no_turns_is_replaced_after_the_stuck_timeout() -> None:
    job = Job(STALLS).running()
    job.receive(1, StackSample(b'Thread 0x1 (most recent call first):\n  File "/weir/subtask/process.py", line 1 in run'.hex()))

    def stuck(now_ms: int) -> tuple[Heartbeat, Heartbeat]:
        return Heartbeat(now_ms), Heartbeat(min(now_ms, 200), chain=1)

    effects = send_heartbeats(job, until_ms=1_150, heartbeats=stuck)
    (warning,) = [report for report in only(Report, effects) if report.kind is ReportKind.SLOW]
    assert "slot 1 (pid 1) has been in one step for 0.5 s: aggregate 'totals' or sink 'sink'" in warning.text
    assert not only(DropSlot, effects)
    effects = send_heartbeats(job, from_ms=1_200, until_ms=1_200, heartbeats=stuck)
    assert [drop.incarnation for drop in only(DropSlot, effects)] == [register(1).incarnation]
    (failure,) = [report for report in only(Report, effects) if report.kind is ReportKind.FAILURE]
    assert "has been in one step for 1 s" in failure.text
    assert "increase --stuck-timeout" in failure.text


def test_a_slot_with_a_blocking_call_that_does_not_end_is_replaced_after_the_call_timeout() -> None:
    job = Job(STALLS).running()

    def calling(now_ms: int) -> tuple[Heartbeat, Heartbeat]:
        # Slot 0 makes many short calls. Slot 1 makes one call that never ends.
        return Heartbeat(now_ms, calls=now_ms // 50), Heartbeat(now_ms, calls=1)

    assert not only(DropSlot, send_heartbeats(job, until_ms=1_950, heartbeats=calling))
    effects = send_heartbeats(job, from_ms=2_000, until_ms=2_000, heartbeats=calling)
    (dropped,) = only(DropSlot, effects)
    assert dropped.incarnation == register(1).incarnation
    assert "has been in one blocking call for 2 s" in dropped.reason
    assert "increase --call-timeout" in dropped.reason


def test_steps_and_blocking_calls_have_no_time_limit_if_both_timeouts_are_disabled() -> None:
    job = Job(replace(STALLS, stuck_timeout_ms=None, call_timeout_ms=None)).running()
    effects = send_heartbeats(job, until_ms=10_000, heartbeats=lambda now_ms: (Heartbeat(1), Heartbeat(now_ms, calls=1)))
    assert not only(DropSlot, effects)
    assert not only(Report, effects)


def test_a_long_step_that_ends_is_reported_as_slow_and_then_as_ended() -> None:
    job = Job(STALLS).running()
    effects = send_heartbeats(
        job, until_ms=2_000, heartbeats=lambda now_ms: (Heartbeat(now_ms), Heartbeat(min(now_ms // 700, 2)))
    )
    assert not only(DropSlot, effects)
    reports = [report.text for report in only(Report, effects) if report.kind is ReportKind.SLOW]
    assert [bool(text) for text in reports] == [True, False, True, False, True]


def test_a_long_step_and_a_long_call_of_one_slot_are_each_reported_once() -> None:
    job = Job(replace(STALLS, call_timeout_ms=1_000)).running()
    effects = send_heartbeats(job, until_ms=900, heartbeats=lambda now_ms: (Heartbeat(now_ms), Heartbeat(1, calls=1)))
    reports = [report.text for report in only(Report, effects) if report.kind is ReportKind.SLOW]
    assert ["in one step" in text for text in reports] == [True, False]
    effects = send_heartbeats(
        job, from_ms=950, until_ms=950, heartbeats=lambda now_ms: (Heartbeat(now_ms), Heartbeat(2, calls=1))
    )
    first, second = [report.text for report in only(Report, effects) if report.kind is ReportKind.SLOW]
    assert first == ""
    assert "in one blocking call" in second, "the blocking call is reported again, because it has not ended"


def test_a_slot_whose_step_and_call_exceed_their_timeouts_is_dropped_once() -> None:
    job = Job(replace(STALLS, call_timeout_ms=STALLS.stuck_timeout_ms)).running()
    effects = send_heartbeats(job, until_ms=1_000, heartbeats=lambda now_ms: (Heartbeat(now_ms), Heartbeat(0, calls=1)))
    assert [drop.incarnation for drop in only(DropSlot, effects)] == [register(1).incarnation]


def test_a_long_deployment_does_not_count_as_a_stuck_step() -> None:
    job = Job(replace(STALLS, deploy_timeout_ms=100_000))
    job.log_created()
    job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, 0))
    for slot in range(SLOTS):
        job.receive(slot, register(slot), 0)
    assert not only(DropSlot, send_heartbeats(job, until_ms=5_000, heartbeats=lambda now_ms: (Heartbeat(1), Heartbeat(1))))
    for slot in range(SLOTS):
        job.receive(slot, Deployed(job.generation), 5_000)
    assert job.master.phase is JobPhase.RUNNING
    assert not only(DropSlot, job.observe(job.master.tick(5_050)))


def test_a_pause_of_the_coordinator_does_not_count_as_a_stuck_step() -> None:
    job = Job(STALLS).running()
    send_heartbeats(job, until_ms=500, heartbeats=lambda now_ms: (Heartbeat(now_ms), Heartbeat(now_ms)))
    assert not only(DropSlot, job.observe(job.master.tick(9_000)))


def test_a_slot_that_waits_for_a_blocking_call_instead_of_cancelling_is_replaced() -> None:
    job = Job(STALLS).running()
    job.receive(1, Heartbeat(1, calls=1), 0)
    job.receive(0, SubtaskFailed(job.generation, None, "InputError", "broken", True), 0)
    job.receive(0, Cancelled(Generation(1)), 0)
    effects = job.observe(job.master.tick(100))
    (dropped,) = only(DropSlot, effects)
    assert dropped.incarnation == register(1).incarnation
    (report,) = [report for report in only(Report, effects) if report.kind is ReportKind.SLOW]
    assert "slot 1 (pid 1) did not cancel its subtasks in 0.1 s" in report.text


def test_the_reason_for_dropping_a_slot_that_does_not_cancel_in_time_lists_the_possible_causes() -> None:
    job = Job(STALLS).running()
    job.receive(0, SubtaskFailed(job.generation, None, "InputError", "broken", True), 0)
    job.receive(0, Cancelled(Generation(1)), 0)
    job.receive(1, Heartbeat(7), 90)
    (dropped,) = only(DropSlot, job.observe(job.master.tick(100)))
    expected = "did not cancel its subtasks in 0.1 s: the slot is still writing a snapshot, restoring state, or writing output"
    assert dropped.reason == expected


def test_a_suspended_job_ends_only_after_its_last_checkpoint_is_committed() -> None:
    job = Job().running()
    assert sent(TriggerCheckpoint, job.observe(job.master.suspend(0)))
    job.completed(1)
    effects = job.master.on_committed(CommitPermit(CheckpointId(1), job.generation), 0)
    assert only(Finish, effects) == [Finish(JobOutcome.SUSPENDED)]


def test_a_declined_suspend_checkpoint_is_retried() -> None:
    job = Job().running()
    job.observe(job.master.suspend(0))
    job.receive(0, Decline(job.generation, CheckpointId(1), SubtaskId(0, 0), "no"))
    assert {trigger.checkpoint for trigger in sent(TriggerCheckpoint, job.observe(job.master.tick(1)))} == {2}


def test_a_cancelled_job_stops_without_a_checkpoint() -> None:
    job = Job().running()
    effects = job.master.cancel(0)
    assert not sent(TriggerCheckpoint, effects)
    assert [finish.outcome for finish in only(Finish, effects)] == [JobOutcome.CANCELED]
    assert sent(Stop, job.receive(9, register(9))), "a slot that registers after the cancel is stopped"


def test_a_cancelled_job_ends_only_after_its_open_append_is_closed_and_the_appended_checkpoint_is_committed() -> None:
    job = Job().running()
    job.observe(job.master.savepoint(0))
    job.acknowledged(1)
    job.observe(job.master.on_manifest_written(job.generation, CheckpointId(1), (), CheckpointStatistics(), 0))
    assert not only(Finish, job.master.cancel(0))
    effects = job.log_created()
    (commit,) = only(Commit, effects)
    assert not only(Finish, effects)
    assert only(Finish, job.master.on_committed(commit.permit, 0))


def test_a_job_that_is_ending_does_not_deploy_a_prepared_generation() -> None:
    job = Job().running()
    job.observe(job.master.savepoint(0))
    (commit,) = only(Commit, job.completed(1))
    job.master.on_slot_lost(register(0).incarnation, "killed", 0)
    for slot in range(1, SLOTS):
        job.receive(slot, Cancelled(job.generation), 0)
    job.observe(job.master.on_committed(commit.permit, 0))
    assert job.master.phase is JobPhase.STARTING
    assert not only(Finish, job.master.cancel(0)), "the append is open"
    for slot in range(SLOTS):
        job.receive(slot, register(slot), 0)
    assert only(Finish, job.log_created())
    assert not sent(Deploy, job.master.on_prepared({SOURCE: (SPLITS,)}, 0))


def test_a_superseded_driver_stops_without_a_commit() -> None:
    job = Job().running()
    job.observe(job.master.savepoint(0))
    job.acknowledged(1)
    job.observe(job.master.on_manifest_written(job.generation, CheckpointId(1), (), CheckpointStatistics(), 0))
    effects = job.master.on_log_superseded("generation 7 runs the job", 0)
    assert [finish.outcome for finish in only(Finish, effects)] == [JobOutcome.SUPERSEDED]
    assert not only(Commit, effects)
    assert job.master.tick(10_000) == []


def test_a_driver_that_the_control_plane_supersedes_waits_only_for_an_open_append() -> None:
    job = Job().running()
    job.observe(job.master.savepoint(0))
    job.acknowledged(1)
    job.observe(job.master.on_manifest_written(job.generation, CheckpointId(1), (), CheckpointStatistics(), 0))
    assert not only(Finish, job.master.superseded("the control plane reports another driver", 0)), (
        "it is unknown whether the log has the entry"
    )
    (finish,) = only(Finish, job.log_created())
    assert finish == Finish(JobOutcome.SUPERSEDED, "the control plane reports another driver", "Superseded")
    assert job.master.tick(10_000) == []
    other = Job().running()
    assert only(Finish, other.master.superseded("the control plane reports another driver", 0))
    assert not only(Finish, other.master.superseded("the control plane reports another driver", 0)), "the job finishes only once"


def test_a_job_fails_if_all_attempts_of_an_append_fail() -> None:
    job = Job()
    request = job.log
    assert request is not None
    assert job.master.on_log_failed(request, "no answer", 0) == [
        AppendLog(request, 10),
        Report.retrying(Generation(1), "the job log cannot be written: no answer"),
    ]
    (finish,) = only(Finish, job.master.on_log_failed(request, "no answer", 0))
    assert (finish.outcome, finish.kind) == (JobOutcome.FAILED, "StorageError")


def test_a_permanently_failed_commit_fails_the_job_even_if_other_commits_are_waiting() -> None:
    job = Job().running()
    for checkpoint in (1, 2):
        job.observe(job.master.savepoint(0))
        job.completed(checkpoint)
    effects = job.master.on_commit_failed(CommitPermit(CheckpointId(1), Generation(1)), "disk missing", False, 0)
    (finish,) = only(Finish, effects)
    assert finish.outcome is JobOutcome.FAILED
    assert "checkpoint 1 is completed but could not be committed: disk missing" in finish.reason


def allocating(config: JobConfig = CONFIG) -> Job:
    """Return a job that waits for its slots. One of the two slots has registered."""
    job = Job(config)
    job.log_created()
    job.master.on_prepared({SOURCE: (SPLITS,)}, 0)
    job.receive(0, register(0))
    return job


def test_the_error_for_too_few_slots_shows_the_number_of_registered_slots() -> None:
    job = allocating()
    assert job.master.tick(50) == []
    job.receive(0, Heartbeat(1), 299)
    (finish,) = only(Finish, job.master.tick(300))
    assert finish.reason == "only 1 of 2 slots registered in 0.3 s. Give Spark at least 2 free cores, or lower the parallelism"


def test_the_job_fails_with_the_reason_from_spark_if_slots_end_before_they_register() -> None:
    job = allocating()
    assert job.master.on_slot_ended_early("Container killed for exceeding memory limits", 10) == []
    job.receive(0, Heartbeat(1), 299)
    (finish,) = only(Finish, job.master.tick(300))
    assert finish.reason.startswith("only 1 of 2 slots registered in 0.3 s. ")
    assert finish.reason.endswith("Container killed for exceeding memory limits")


def test_without_a_slots_timeout_a_job_waits_for_its_slots_until_it_is_cancelled() -> None:
    job = allocating(replace(CONFIG, slots_timeout_ms=None, slots_warning_ms=100, heartbeat_timeout_ms=10_000_000))
    assert job.master.tick(99) == []
    (warning,) = job.master.tick(100)
    assert isinstance(warning, Report) and warning.kind is ReportKind.WAITING_FOR_SLOTS
    assert warning.text == "only 1 of 2 slots registered in 0.1 s. Give Spark at least 2 free cores, or lower the parallelism"
    assert job.master.tick(101) == [], "one wait for slots causes only one warning"
    assert job.master.tick(3_600_000) == []
    job.receive(1, register(1), 3_600_001)
    assert job.master.phase is JobPhase.DEPLOYING

    waiting = allocating(replace(CONFIG, slots_timeout_ms=None))
    (finish,) = only(Finish, waiting.master.cancel(1_000))
    assert finish.outcome is JobOutcome.CANCELED


def test_each_wait_for_slots_causes_a_warning() -> None:
    config = replace(CONFIG, slots_timeout_ms=None, slots_warning_ms=100, heartbeat_timeout_ms=10_000_000)
    job = Job(config).running()
    for start_ms in (1_000, 2_000):
        job.observe(job.master.on_slot_lost(register(1).incarnation, "killed", start_ms))
        job.receive(0, Cancelled(job.generation), start_ms)
        job.log_created(start_ms)
        job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, start_ms))
        job.master.tick(start_ms + 50)
        (warning,) = only(Report, job.master.tick(start_ms + 150))
        assert warning.kind is ReportKind.WAITING_FOR_SLOTS
        job.receive(1, register(1), start_ms + 200)
        for slot in range(SLOTS):
            job.receive(slot, Deployed(job.generation), start_ms + 200)
        assert job.master.phase is JobPhase.RUNNING


def test_the_delay_before_a_restart_does_not_count_as_a_wait_for_slots() -> None:
    restarts = RestartConfig(attempts_max=9, initial_delay_ms=1_000, delay_max_ms=1_000)
    job = Job(replace(CONFIG, restarts=restarts, heartbeat_timeout_ms=10_000_000)).running()
    for _ in range(2):
        job.observe(
            job.master.on_message(register(0).incarnation, SubtaskFailed(job.generation, SubtaskId(0, 0), "E", "x", True), 0)
        )
        for slot in range(SLOTS):
            job.receive(slot, Cancelled(job.generation))
        job.log_created()
        job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, 0))
        for slot in range(SLOTS):
            job.receive(slot, Deployed(job.generation))
    assert job.master.phase is JobPhase.ALLOCATING
    assert job.master.tick(999) == []
    job.master.tick(1_000)
    assert job.master.phase is JobPhase.DEPLOYING


def _deploying() -> Job:
    job = Job()
    job.log_created()
    job.master.on_prepared({SOURCE: (SPLITS,)}, 0)
    for slot in range(SLOTS):
        job.receive(slot, register(slot))
    assert job.master.phase is JobPhase.DEPLOYING
    return job


def test_a_deployment_that_makes_no_progress_is_cancelled() -> None:
    job = _deploying()
    assert sent(CancelSubtasks, job.master.tick(150))
    assert job.master.phase is JobPhase.CANCELLING


def test_a_restore_that_makes_progress_can_take_longer_than_the_deployment_timeout() -> None:
    job = _deploying()
    job.receive(1, Deployed(job.generation), 50)
    for now_ms in range(0, 1_000, 100):
        job.receive(0, Restoring(job.generation, SlotIndex(0), now_ms, 2_000), now_ms)
        job.receive(1, Heartbeat(now_ms), now_ms)
        assert job.master.tick(now_ms) == []
    job.receive(0, Deployed(job.generation), 1_000)
    assert job.master.phase is JobPhase.RUNNING


def test_a_restore_without_progress_fails_even_if_other_slots_make_progress() -> None:
    job = _deploying()
    for now_ms in range(0, 200, 50):
        job.receive(0, Restoring(job.generation, SlotIndex(0), min(now_ms, 50), 2_000), now_ms)
        job.receive(1, Restoring(job.generation, SlotIndex(1), now_ms, 2_000), now_ms)
        assert job.master.tick(now_ms) == []
    job.receive(1, Restoring(job.generation, SlotIndex(1), 200, 2_000), 200)
    effects = job.master.tick(200)
    (report,) = only(Report, effects)
    assert report.text == (
        "the deployment to slot 0 (pid 0) has made no progress for 0.15 s. The slot has restored 50 of 2000 bytes"
    )  # fmt: skip
    assert sent(CancelSubtasks, effects)


def test_a_job_fails_with_the_reason_if_all_attempts_of_a_preparation_fail() -> None:
    job = Job()
    job.log_created()
    delays = []
    for attempt in range(CONFIG.commit_attempts_max - 1):
        again, retrying = job.observe(job.master.on_prepare_failed("storage is unreachable", "StorageError", True, attempt))
        assert retrying == Report.retrying(Generation(1), "generation 1 cannot be prepared: storage is unreachable")
        assert isinstance(again, Prepare)
        delays.append(again.delay_ms)
    assert delays == sorted(delays) and delays[0] > 0
    (finish,) = only(Finish, job.observe(job.master.on_prepare_failed("storage is unreachable", "StorageError", True, 9)))
    assert (finish.outcome, finish.reason) == (JobOutcome.FAILED, "storage is unreachable")


def test_warnings_of_a_preparation_are_reported_with_their_generation() -> None:
    job = Job()
    job.log_created()
    text = "Sink 'out' could not revoke 3 records"
    (report,) = only(Report, job.observe(job.master.on_prepared({SOURCE: (SPLITS,)}, 0, (text,))))
    assert report == Report.warning(Generation(1), text)


def test_a_preparation_that_cannot_succeed_is_not_retried() -> None:
    job = Job()
    job.log_created()
    (finish,) = only(
        Finish, job.observe(job.master.on_prepare_failed("the output belongs to another job", "SinkError", False, 1))
    )
    assert finish.outcome is JobOutcome.FAILED


# ---- replacement of single slots -------------------------------------------------------------------


def independent(config: JobConfig = CONFIG, **options: Any) -> Job:
    """Return a running job of two slots that exchange no records. Each slot reads a split."""
    job = Job(config, of=graph_without_shuffles(SLOTS), **options).running()
    for slot in range(SLOTS):
        job.receive(slot, RequestSplit(job.generation, SOURCE, slot))
    return job


def lose(job: Job, slot: int, now_ms: int = 0) -> list[Effect]:
    return job.observe(job.master.on_slot_lost(register(slot).incarnation, "the connection closed", now_ms))


def assigned(effects: Sequence[Effect]) -> list[tuple[int, Split | None]]:
    return [(message.subtask, message.split) for message in sent(AssignSplit, effects)]


def test_a_lost_slot_that_exchanges_no_records_is_replaced_while_the_other_slots_continue() -> None:
    job = independent()
    job.observe(job.master.savepoint(0))
    job.completed(1, records=7)
    effects = lose(job, 0)
    assert [report.text for report in only(Report, effects)] == ["slot 0 (pid 0) was lost: the connection closed"]
    assert not only(Send, effects) and job.master.phase is JobPhase.RUNNING

    effects = job.receive(2, register(2))
    (deploy,) = only(Send, effects)[1:]
    assert deploy.to == register(2).incarnation and isinstance(deploy.message, Deploy)
    assert (deploy.message.slot, deploy.message.attempt, deploy.message.restored_checkpoint) == (0, 1, 1)
    assert only(DiscardOutput, effects) == [DiscardOutput(ONE, SlotIndex(0), 1, CheckpointId(1))]
    (replacing,) = only(Report, effects)
    assert (replacing.kind, replacing.slot, replacing.records) == (ReportKind.REPLACING, 0, 7)

    effects = job.receive(2, Deployed(ONE), 40)
    assert only(Send, effects) == [Send(register(2).incarnation, Start(ONE))]
    (recovered,) = only(Report, effects)
    assert (recovered.kind, recovered.strategy, recovered.value_ms) == (ReportKind.RECOVERED, RecoveryStrategy.REGIONAL, 40)
    assert assigned(job.receive(2, RequestSplit(ONE, SOURCE, 0))) == [(0, Split("split0", "payload of split0", 3, 0))]


def test_a_slot_is_replaced_from_the_start_if_no_checkpoint_is_completed() -> None:
    job = independent()
    lose(job, 1)
    effects = job.receive(2, register(2))
    (deploy,) = sent(Deploy, effects)
    assert (deploy.slot, deploy.attempt, deploy.restored_checkpoint, deploy.operators) == (1, 1, None, ())
    job.receive(2, Deployed(ONE))
    assert assigned(job.receive(2, RequestSplit(ONE, SOURCE, 1))) == [(1, SPLITS.splits[1])]


def test_the_splits_of_a_slot_that_is_lost_twice_are_assigned_once() -> None:
    job = independent()
    job.observe(job.master.savepoint(0))
    job.completed(1)
    for lost, replacement, now_ms in ((0, 2, 0), (2, 3, 100)):
        lose(job, lost)
        job.receive(replacement, register(replacement), now_ms)
        job.receive(replacement, Deployed(ONE), now_ms)
    answers = [assigned(job.receive(3, RequestSplit(ONE, SOURCE, 0))) for _ in range(2)]
    assert answers == [[(0, Split("split0", "payload of split0", 3, 0))], [(0, None)]]


def test_another_slot_that_waits_for_a_split_gets_the_split_of_a_lost_slot() -> None:
    job = independent(splits=split_list("split0", "split1", known=2), every_ms=50)
    assert assigned(job.receive(1, RequestSplit(ONE, SOURCE, 1))) == []
    lose(job, 0)
    assert assigned(job.receive(2, register(2))) == [(1, SPLITS.splits[0])]


def test_no_checkpoint_is_pending_or_triggered_during_a_replacement() -> None:
    job = independent(replace(CONFIG, slots_timeout_ms=None))
    job.observe(job.master.savepoint(0))
    effects = lose(job, 0)
    assert sent(NotifyCheckpointAborted, effects) == [NotifyCheckpointAborted(ONE, CheckpointId(1))]
    assert [send.to for send in only(Send, effects)] == [register(1).incarnation]
    job.master.checkpoint(10)
    job.receive(1, Heartbeat(1), 1_900)
    assert job.master.trigger_ms is None and not triggered(job.observe(job.master.tick(1_900)))
    job.receive(2, register(2), 1_910)
    job.receive(2, Deployed(ONE), 1_920)
    assert triggered(job.observe(job.master.tick(1_930))) == ["manual"]


def test_a_replacement_waits_until_it_is_known_whether_a_checkpoint_is_completed() -> None:
    job = independent()
    job.observe(job.master.savepoint(0))
    job.acknowledged(1)
    job.observe(job.master.on_manifest_written(ONE, CheckpointId(1), (), CheckpointStatistics(), 0))
    assert not sent(NotifyCheckpointAborted, lose(job, 0))
    assert not sent(Deploy, job.receive(2, register(2)))
    (deploy,) = sent(Deploy, job.log_created())
    assert (deploy.slot, deploy.restored_checkpoint) == (0, 1)


def test_a_failed_slot_whose_process_is_alive_is_cancelled_and_deployed_again() -> None:
    job = independent()
    effects = job.receive(0, SubtaskFailed(ONE, None, "ValueError", "bad record", restartable=True))
    assert only(Send, effects) == [Send(register(0).incarnation, CancelSubtasks(ONE, 0))]
    assert job.receive(0, SubtaskFailed(ONE, None, "ValueError", "bad record", restartable=True)) == []
    assert job.receive(0, RequestSplit(ONE, SOURCE, 0)) == [], "the attempt is cancelled"
    (deploy,) = sent(Deploy, job.receive(0, Cancelled(ONE)))
    assert (deploy.slot, deploy.attempt) == (0, 1)


def test_a_failed_slot_that_does_not_cancel_in_time_is_dropped() -> None:
    job = independent()
    job.receive(2, register(2))
    job.receive(0, SubtaskFailed(ONE, None, "ValueError", "bad record", restartable=True))
    effects = job.observe(job.master.tick(100))
    assert [drop.incarnation for drop in only(DropSlot, effects)] == [register(0).incarnation]
    (deploy,) = sent(Deploy, job.observe(job.master.tick(110)))
    assert (deploy.slot, deploy.attempt) == (0, 1), "the spare slot replaces it"


def test_the_job_recovers_fully_if_a_replacement_fails() -> None:
    job = independent()
    lose(job, 0)
    job.receive(2, register(2))
    effects = lose(job, 2)
    assert job.master.phase is JobPhase.CANCELLING
    assert only(Send, effects) == [Send(register(1).incarnation, CancelSubtasks(ONE))]


@pytest.mark.parametrize("config", [replace(CONFIG, recovery=RecoveryStrategy.FULL), CONFIG])
def test_the_job_recovers_fully_if_recovery_is_full_or_slots_exchange_records(config: JobConfig) -> None:
    job = independent(config) if config.recovery is RecoveryStrategy.FULL else Job(config).running()
    assert sent(CancelSubtasks, lose(job, 0)) == [CancelSubtasks(ONE)]
    assert job.master.phase is JobPhase.CANCELLING


def test_a_job_without_a_slot_for_a_replacement_fails_after_the_slots_timeout() -> None:
    job = independent()
    lose(job, 0)
    job.receive(1, Heartbeat(1), 290)
    (finish,) = only(Finish, job.observe(job.master.tick(300)))
    assert "only 1 of 2 slots registered in 0.3 s" in finish.reason


def test_a_replacement_that_waits_for_the_log_and_not_for_a_slot_does_not_fail_the_job() -> None:
    job = independent()
    job.receive(2, register(2))
    job.observe(job.master.savepoint(0))
    job.acknowledged(1)
    job.observe(job.master.on_manifest_written(ONE, CheckpointId(1), (), CheckpointStatistics(), 0))
    lose(job, 0)
    for slot in (1, 2):
        job.receive(slot, Heartbeat(1), 390)
    assert not only(Finish, job.observe(job.master.tick(400)))
    assert [deploy.slot for deploy in sent(Deploy, job.log_created(410))] == [0]


def test_replacements_count_as_restarts() -> None:
    job = independent()
    for slot in (0, 2):
        lose(job, slot)
        job.receive(slot + 2, register(slot + 2), 200)
        job.receive(slot + 2, Deployed(ONE), 200)
    (finish,) = only(Finish, lose(job, 4, 200))
    assert finish.reason.startswith("failed after 2 restarts without a completed checkpoint")


# ---- profiles --------------------------------------------------------------------------------------------


def ended_profiles(effects: Sequence[Effect]) -> list[tuple[int | None, str]]:
    """Return the command and the problem of each profile that ended."""
    return [(report.command, report.text) for report in only(Report, effects) if report.kind is ReportKind.PROFILE_ENDED]


def test_a_profile_of_a_slot_ends_with_its_answer() -> None:
    job = Job().running()
    assert sent(TakeProfile, job.master.profile(CommandId(7), SlotIndex(1), 10, 0)) == [TakeProfile(CommandId(7), 10)]
    assert ended_profiles(job.receive(1, ProfileAnswer(CommandId(7), None, "The profiler failed."))) == [
        (7, "The profiler failed.")
    ]


def test_a_profile_of_a_lost_slot_ends_at_the_next_tick() -> None:
    job = Job().running()
    job.master.profile(CommandId(7), SlotIndex(1), 10, 0)
    job.observe(job.master.on_slot_lost(register(1).incarnation, "connection reset", 10))
    assert ended_profiles(job.master.tick(20)) == [(7, "Slot 1 was lost during the profile. Retry when the job is running.")]


def test_a_job_that_stops_ends_its_profiles_and_takes_no_further_profile() -> None:
    job = Job().running()
    job.master.profile(CommandId(7), SlotIndex(1), 10, 0)
    assert ended_profiles(job.master.cancel(10)) == [(7, "The job is stopping.")]
    assert ended_profiles(job.master.profile(CommandId(8), SlotIndex(1), 10, 20)) == [(8, "The job is stopping.")]
