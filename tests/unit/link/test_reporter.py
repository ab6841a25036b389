from __future__ import annotations

import pytest

from weir.kernel.checkpoints import CheckpointKind, PendingCheckpoint
from weir.kernel.effects import Finish, JobOutcome, Report
from weir.kernel.job import JobPhase
from weir.link.reporter import SAMPLE_EVERY_MS, Reporter
from weir.protocol.events import (
    AcknowledgedStatistics,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    DriverState,
    Event,
    FailureOccurred,
    GraphDeployed,
    MetricsSampled,
    ProfileEnded,
    Recovered,
    RecoveryStrategy,
    RunStateChanged,
    SubtasksAcknowledged,
    WarningReported,
)
from weir.protocol.ids import CheckpointId, CommandId, Generation, OperatorUid, SlotIndex, SubtaskId
from weir.protocol.manifest import CheckpointStatistics
from weir.protocol.messages import Acknowledge, Restoring, SlotMetrics, SubtaskMetrics
from weir.protocol.profiles import SlotProfile
from weir.protocol.snapshots import OperatorSnapshot, StateFile, SubtaskSnapshot, SubtaskStatistics

ONE, TWO, SEVEN = Generation(1), Generation(2), CheckpointId(7)
STATISTICS = SubtaskStatistics(sync_us=5, state_bytes=100)


class Recorder:
    def __init__(self) -> None:
        self.now_ms = 1_000
        self.events: list[Event] = []
        self.reporter = Reporter(self.events.append, graph={"slots": 1}, subtasks=3, now_ms=lambda: self.now_ms)
        assert self.new_events() == [GraphDeployed({"slots": 1})]

    def new_events(self) -> list[Event]:
        events, self.events[:] = list(self.events), []
        return events


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def acknowledge(checkpoint: CheckpointId = SEVEN, generation: Generation = ONE) -> Acknowledge:
    files = tuple(
        StateFile(f"state/u/g{generation}-c{one}-s1-a.arrow", size, "xxh3:00") for one, size in ((checkpoint, 60), (1, 40))
    )
    operators = (OperatorSnapshot(OperatorUid("u"), 1, files),)
    return Acknowledge(generation, checkpoint, (SubtaskSnapshot(2, 1, operators, False, STATISTICS),))


def running(recorder: Recorder, generation: Generation = ONE) -> None:
    recorder.reporter.on_phase(JobPhase.RUNNING, generation)
    recorder.new_events()


def test_a_start_is_reported_once(recorder: Recorder) -> None:
    for phase in (JobPhase.CREATED, JobPhase.STARTING, JobPhase.STARTING, JobPhase.PREPARING, JobPhase.ALLOCATING):
        recorder.reporter.on_phase(phase, ONE)
    for phase in (JobPhase.DEPLOYING, JobPhase.RUNNING, JobPhase.RUNNING):
        recorder.reporter.on_phase(phase, ONE)
    assert recorder.new_events() == [RunStateChanged(DriverState.INITIALIZING, ONE), RunStateChanged(DriverState.RUNNING, ONE)]


def test_a_wait_for_slots_is_reported_as_the_reason_of_the_run_state_until_the_next_phase(recorder: Recorder) -> None:
    recorder.reporter.on_phase(JobPhase.ALLOCATING, ONE)
    recorder.reporter.on_report(Report.waiting_for_slots(ONE, "only 1 of 2 slots registered in 60 s"))
    recorder.reporter.on_phase(JobPhase.ALLOCATING, ONE)  # the loop calls ``on_phase`` after every turn
    recorder.reporter.on_phase(JobPhase.DEPLOYING, ONE)
    recorder.reporter.on_phase(JobPhase.RUNNING, ONE)
    assert recorder.new_events() == [
        RunStateChanged(DriverState.INITIALIZING, ONE),
        RunStateChanged(DriverState.INITIALIZING, ONE, "waiting for slots: only 1 of 2 slots registered in 60 s"),
        RunStateChanged(DriverState.INITIALIZING, ONE),
        RunStateChanged(DriverState.RUNNING, ONE),
    ]


def test_the_reason_of_a_retry_is_reported_until_the_next_phase_but_not_for_a_running_job(recorder: Recorder) -> None:
    recorder.reporter.on_phase(JobPhase.STARTING, ONE)
    recorder.reporter.on_report(Report.retrying(ONE, "the job log cannot be written: the disk is full"))
    recorder.reporter.on_phase(JobPhase.PREPARING, ONE)
    recorder.reporter.on_phase(JobPhase.ALLOCATING, ONE)
    recorder.reporter.on_phase(JobPhase.RUNNING, ONE)
    recorder.reporter.on_report(Report.retrying(ONE, "checkpoint 1 cannot be committed: the disk is full"))
    assert recorder.new_events() == [
        RunStateChanged(DriverState.INITIALIZING, ONE),
        RunStateChanged(DriverState.INITIALIZING, ONE, "retrying: the job log cannot be written: the disk is full"),
        RunStateChanged(DriverState.INITIALIZING, ONE),
        RunStateChanged(DriverState.RUNNING, ONE),
    ]


def test_the_progress_of_a_long_restore_is_reported_as_the_reason_of_the_run_state(recorder: Recorder) -> None:
    recorder.reporter.on_phase(JobPhase.DEPLOYING, ONE)
    recorder.new_events()
    for second in range(13):
        for slot in range(2):
            recorder.reporter.on_message(Restoring(ONE, SlotIndex(slot), second * 100_000_000, 4_000_000_000))
        recorder.reporter.on_phase(JobPhase.DEPLOYING, ONE)  # the loop calls ``on_phase`` after every turn
        recorder.now_ms += 1_000
    (reported,) = recorder.new_events()
    assert reported == RunStateChanged(DriverState.INITIALIZING, ONE, "restoring 1.9 of 8.0 GB")
    recorder.reporter.on_phase(JobPhase.RUNNING, ONE)
    assert recorder.new_events() == [RunStateChanged(DriverState.RUNNING, ONE)]


def test_a_warning_is_reported_as_a_separate_event(recorder: Recorder) -> None:
    recorder.reporter.on_report(Report.warning(ONE, "Sink 'out' could not revoke 3 records"))
    assert recorder.new_events() == [WarningReported(ONE, "Sink 'out' could not revoke 3 records")]


def test_a_slow_slot_is_reported_as_the_reason_of_the_run_state_until_the_slot_continues(recorder: Recorder) -> None:
    recorder.reporter.on_phase(JobPhase.RUNNING, ONE)
    recorder.reporter.on_report(Report.slow(ONE, "slot 1 has been in one step for 30 s: map 'parse'"))
    recorder.reporter.on_report(Report.slow(ONE, ""))
    assert recorder.new_events() == [
        RunStateChanged(DriverState.RUNNING, ONE),
        RunStateChanged(DriverState.RUNNING, ONE, "slot 1 has been in one step for 30 s: map 'parse'"),
        RunStateChanged(DriverState.RUNNING, ONE, ""),
    ]


def test_the_end_of_a_slow_step_does_not_remove_the_reason_of_a_restart(recorder: Recorder) -> None:
    running(recorder)
    recorder.reporter.on_report(Report.failure(ONE, "slot 0 was lost"))
    recorder.reporter.on_phase(JobPhase.CANCELLING, ONE)
    recorder.reporter.on_report(Report.slow(ONE, "slot 1 has been in one step for 30 s: map 'parse'"))
    recorder.reporter.on_report(Report.slow(ONE, ""))
    reasons = [event.reason for event in recorder.new_events() if isinstance(event, RunStateChanged)]
    assert reasons == ["slot 0 was lost", "slot 1 has been in one step for 30 s: map 'parse'", "slot 0 was lost"]


def test_a_failure_is_reported_with_its_reason_and_a_recovery_is_reported_with_its_downtime(recorder: Recorder) -> None:
    running(recorder)
    recorder.reporter.on_report(Report.failure(ONE, "slot 1 was lost"))
    for phase, generation in ((JobPhase.CANCELLING, ONE), (JobPhase.STARTING, TWO), (JobPhase.RUNNING, TWO)):
        recorder.reporter.on_phase(phase, generation)
    recorder.reporter.on_report(Report.recovered(TWO, SEVEN, took_ms=150))
    assert recorder.new_events() == [
        FailureOccurred(ONE, "slot 1 was lost"),
        RunStateChanged(DriverState.RESTARTING, ONE, "slot 1 was lost"),
        RunStateChanged(DriverState.RESTARTING, TWO, "slot 1 was lost"),
        RunStateChanged(DriverState.RUNNING, TWO),
        Recovered(TWO, "slot 1 was lost", 150),
    ]


def test_a_job_whose_slot_is_replaced_stays_running_and_the_reason_names_the_slot(recorder: Recorder) -> None:
    running(recorder)
    recorder.reporter.on_report(Report.failure(ONE, "slot 1 was lost"))
    recorder.reporter.on_report(Report.replacing(ONE, SlotIndex(1), SEVEN, records=0))
    recorder.reporter.on_report(Report.recovered(ONE, SEVEN, took_ms=150, strategy=RecoveryStrategy.REGIONAL))
    assert recorder.new_events() == [
        FailureOccurred(ONE, "slot 1 was lost"),
        RunStateChanged(DriverState.RUNNING, ONE, "slot 1 restores checkpoint 7, and the other slots continue"),
        Recovered(ONE, "slot 1 was lost", 150, "regional"),
        RunStateChanged(DriverState.RUNNING, ONE, ""),
    ]


def test_a_cancel_that_the_user_requested_is_not_reported_as_a_restart(recorder: Recorder) -> None:
    running(recorder)
    recorder.reporter.on_phase(JobPhase.CANCELLING, ONE)
    recorder.reporter.on_phase(JobPhase.ENDED, ONE)
    recorder.reporter.on_finish(Finish(JobOutcome.CANCELED, "canceled"))
    assert recorder.new_events() == [
        RunStateChanged(DriverState.CANCELLING, ONE), RunStateChanged(DriverState.CANCELED, ONE, "canceled")
    ]  # fmt: skip


@pytest.mark.parametrize("outcome", JobOutcome)
def test_every_job_outcome_is_reported_as_a_final_state(recorder: Recorder, outcome: JobOutcome) -> None:
    recorder.reporter.on_finish(Finish(outcome, "reason", "Kind"))
    (event,) = recorder.new_events()
    assert isinstance(event, RunStateChanged) and event.state.final and (event.reason, event.kind) == ("reason", "Kind")


def test_trigger_and_acknowledgements_and_completion_of_a_checkpoint_are_reported(recorder: Recorder) -> None:
    running(recorder)
    recorder.reporter.on_report(Report.triggered(SEVEN, CheckpointKind.SAVEPOINT))
    recorder.now_ms += 12
    recorder.reporter.on_message(acknowledge())
    pending = PendingCheckpoint(SEVEN, CheckpointKind.SAVEPOINT, triggered_ms=1_000)
    (pending.snapshots[SubtaskId(2, 1)],) = acknowledge().snapshots
    pending.statistics = CheckpointStatistics(state_bytes=100, checkpointed_bytes=60)
    recorder.reporter.on_report(Report.completed(ONE, pending, records=9, now_ms=1_031))
    assert recorder.new_events() == [
        CheckpointTriggered(SEVEN, ONE, "savepoint", 3),
        SubtasksAcknowledged(SEVEN, (SubtaskId(2, 1),), 12),
        CheckpointCompleted(SEVEN, ONE, "savepoint", 31, 100, (AcknowledgedStatistics(SubtaskId(2, 1), STATISTICS),), 60),
    ]


def test_an_acknowledgement_of_an_old_generation_or_checkpoint_is_not_reported(recorder: Recorder) -> None:
    running(recorder, TWO)
    recorder.reporter.on_message(acknowledge(generation=TWO))
    recorder.reporter.on_report(Report.triggered(SEVEN, CheckpointKind.PERIODIC))
    recorder.reporter.on_message(acknowledge())
    recorder.reporter.on_message(acknowledge(CheckpointId(6), TWO))
    recorder.reporter.on_report(Report.aborted(SEVEN, "declined"))
    recorder.reporter.on_message(acknowledge(generation=TWO))
    assert recorder.new_events() == [CheckpointTriggered(SEVEN, TWO, "periodic", 3), CheckpointFailed(SEVEN, "declined")]


def test_metrics_of_each_slot_are_reported_every_two_seconds(recorder: Recorder) -> None:
    def report(slot: int) -> None:
        recorder.reporter.on_message(
            SlotMetrics(ONE, SlotIndex(slot), 1, 2, (SubtaskMetrics(0, slot, 1, 2, 3, 4, 5, 6, 7, 8),), {})
        )

    for _ in range(2 * SAMPLE_EVERY_MS // 500):
        report(0)
        report(1)
        recorder.now_ms += 500
    samples = [event for event in recorder.new_events() if isinstance(event, MetricsSampled)]
    assert [one.metrics.slot for one in samples] == [0, 1, 0, 1]
    assert (samples[1].metrics.subtasks[0].index, samples[1].metrics.subtasks[0].queued_us) == (1, 8)


def test_each_call_of_the_reporter_records_exactly_one_event(recorder: Recorder) -> None:
    report: Report = Report.triggered(SEVEN, CheckpointKind.PERIODIC)
    recorder.reporter.on_report(report)
    assert len(recorder.new_events()) == 1


def test_the_end_of_a_profile_is_reported_with_the_number_of_its_command(recorder: Recorder) -> None:
    profile = SlotProfile(10_000, 10, 1_000, 0, (), ())
    recorder.reporter.on_report(Report.profile_ended(CommandId(3), profile, ""))
    recorder.reporter.on_report(Report.profile_ended(CommandId(4), None, "The job is stopping."))
    assert recorder.new_events() == [
        ProfileEnded(CommandId(3), profile),
        ProfileEnded(CommandId(4), None, "The job is stopping."),
    ]
