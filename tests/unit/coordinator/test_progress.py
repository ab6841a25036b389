"""The number of records that a job reports."""

from __future__ import annotations

import pytest

from weir.coordinator.progress import JobProgress
from weir.kernel.checkpoints import CheckpointKind, PendingCheckpoint
from weir.kernel.effects import Finish, JobOutcome, Report
from weir.kernel.job import JobPhase
from weir.protocol.ids import CheckpointId, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.snapshots import SubtaskSnapshot, SubtaskStatistics

ONE, TWO = Generation(1), Generation(2)


class Run:
    """A job with a source chain (chain 0) and another chain (chain 1)."""

    def __init__(self, *, restored: int = 0) -> None:
        self.progress = JobProgress(frozenset({0}))
        self.start(ONE, restored)

    def start(self, generation: Generation, restored: int) -> None:
        self.progress.on_report(Report.starting(generation, records=restored))
        self.progress.on_phase(JobPhase.RUNNING, generation)

    def read(self, generation: Generation, *records: int) -> int:
        """Let each slot report how many records its source has read since the deployment. Return the records of the job."""
        for slot, number in enumerate(records):
            subtasks = tuple(SubtaskMetrics(chain, slot, number, 0, 0, 0, 0, 0, 0, 0) for chain in (0, 1))
            self.progress.on_message(SlotMetrics(generation, SlotIndex(slot), 1, 1, subtasks, {}))
        return self.progress.snapshot().records

    def complete(self, records: int) -> int:
        snapshot = SubtaskSnapshot(0, 0, (), False, SubtaskStatistics())
        pending = PendingCheckpoint(CheckpointId(1), CheckpointKind.PERIODIC, 0, snapshots={SubtaskId(0, 0): snapshot})
        self.progress.on_report(Report.completed(ONE, pending, records=records, now_ms=1))
        return self.progress.snapshot().records


def test_the_records_are_those_of_the_restored_checkpoint_and_those_read_since_then() -> None:
    run = Run(restored=1_000)
    assert run.progress.snapshot().records == 1_000
    assert run.read(ONE, 10, 20) == 1_030


def test_after_a_recovery_the_records_continue_from_the_restored_checkpoint() -> None:
    run = Run()
    assert run.read(ONE, 500, 500) == 1_000
    run.start(TWO, 900)
    assert run.read(ONE, 600, 600) == 900, "a late report of the old generation has no effect"
    assert run.read(TWO, 1, 2) == 903


def test_the_records_of_a_replaced_slot_continue_from_the_restored_checkpoint() -> None:
    run = Run(restored=1_000)
    assert run.read(ONE, 500, 500) == 2_000
    run.progress.on_report(Report.replacing(ONE, SlotIndex(1), CheckpointId(1), records=400))
    assert run.progress.snapshot().records == 1_900
    assert run.read(ONE, 600, 7) == 2_007


def test_the_records_are_at_least_those_of_the_newest_checkpoint() -> None:
    run = Run(restored=100)
    run.read(ONE, 10)
    assert run.complete(150) == 150, "the report of the slot is older than the checkpoint"
    assert run.read(ONE, 60) == 160


@pytest.mark.parametrize("outcome", [JobOutcome.FINISHED, JobOutcome.SUSPENDED])
def test_the_records_of_an_ended_job_are_those_of_its_last_checkpoint(outcome: JobOutcome) -> None:
    run = Run()
    run.complete(150)
    run.read(ONE, 170)
    run.progress.on_finish(Finish(outcome))
    assert run.progress.snapshot().records == 150, "the next run reads the records after the checkpoint again"


def test_the_records_of_a_failed_job_are_those_that_it_has_read() -> None:
    run = Run()
    run.complete(150)
    run.read(ONE, 170)
    run.progress.on_finish(Finish(JobOutcome.FAILED))
    assert run.progress.snapshot().records == 170
