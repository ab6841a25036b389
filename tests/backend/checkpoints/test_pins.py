"""A pin holds once the job's log says so: then a driver that runs keeps the checkpoint, too."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from tests.backend.played import Stage
from tests.backend.stored import CrashingStorage, StoredJob
from tests.unit.storage.storage_builders import retired

from weir.errors import StorageError
from weir.protocol.events import CheckpointTriggered
from weir.protocol.ids import CheckpointId, Generation
from weir.storage.base import CheckpointStorage
from weir.storage.garbage_collection import plan_retention, retire_and_delete
from weir.storage.job_log import JobLog, NumberTaken
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir_backend.checkpoints import retention_gc
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import PIN
from weir_backend.models import Checkpoint
from weir_workers.tasks.checkpoint_gc import pin_checkpoint


def work(job: StoredJob, storage: CheckpointStorage | None = None) -> int:
    """Whatever pins were asked for. How many that were."""
    asked = [arguments for name, arguments in job.stage.tasks.enqueued if name == PIN]
    job.stage.tasks.enqueued.clear()
    for (checkpoint_id,) in asked:
        pin_checkpoint(job.context, int(checkpoint_id), lambda _: storage or LocalStorage(job.directory))
    return len(asked)


def test_of_a_running_job_a_pin_is_in_force_once_it_is_in_the_log(stage: Stage) -> None:
    job = StoredJob.running(stage, 4)
    answer = job.pin(2)
    assert answer["pinned"] and not answer["pin_in_force"], "not yet, and it says so"
    assert work(job) == 1
    assert job.row(2).pin_in_force and job.view().pinned == (2,)
    assert job.events_of("CheckpointPinned") == [{"checkpoint": 2}]
    assert plan_retention(job.view(), keep=1) == (1, 3), "what its driver would retire"
    job.complete(5)
    job.pin(2, False)
    assert work(job) == 1 and not job.row(2).pin_in_force and job.view().pinned == ()
    assert job.events_of("CheckpointUnpinned") == [{"checkpoint": 2}]


def test_a_driver_that_has_not_heard_of_it_yet_does_not_retire_it_either(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    entry, at = retired(job.run.generation, 1), job.run.log.next_number
    job.pin(1)
    work(job)
    outcome = retire_and_delete(job.run.storage, job.run.layout, job.run.log, entry, at=at, references=job.run.references)
    assert isinstance(outcome, NumberTaken) and job.kept() == [1, 2, 3] and len(job.files_of(1)) == 2
    assert plan_retention(job.run.log.view, keep=1) == (2,), "it has read the pin by that"


def test_a_pin_that_comes_too_late_is_none(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    job.run.append(retired(job.run.generation, 1))
    job.pin(1)
    work(job)
    row = job.row(1)
    assert (row.pinned, row.pin_in_force) == (False, False) and row.discarded_at is not None
    assert job.events_of("PinsRejected") == [{"checkpoints": [1]}]
    job.pin(2)
    job.run.append(retired(job.run.generation, 2))
    job.collect_garbage()
    assert job.events_of("PinsRejected")[1:] == [{"checkpoints": [2]}] and not job.row(2).pinned


def test_a_pin_that_the_queue_has_lost_or_storage_did_not_take_is_written_later(stage: Stage) -> None:
    class Silent(CrashingStorage):
        def create(self, path: str, data: bytes) -> bool:
            raise StorageError("no answer")

    job = StoredJob.running(stage, 3)
    job.pin(1)
    work(job, Silent(LocalStorage(job.directory)))
    assert not job.row(1).pin_in_force
    with stage.database.session() as session:
        retention_gc.enqueue_due(session, stage.tasks, now())
    assert work(job) == 1 and job.row(1).pin_in_force
    with stage.database.session() as session:
        retention_gc.enqueue_due(session, stage.tasks, now())
    assert work(job) == 0


def test_of_a_deleted_job_nothing_is_pinned_and_it_takes_no_place_of_others(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_gc, "PINS_PER_ROUND", 1)
    gone = StoredJob.suspended(stage, 3)
    gone.pin(1)
    stage.send("DELETE", f"/jobs/{gone.job_id}", status=204, headers={"If-Match": "*"})
    job = StoredJob.running(stage, 3)
    job.pin(1)
    stage.tasks.enqueued.clear()
    for _ in range(2):
        with stage.database.session() as session:
            retention_gc.enqueue_due(session, stage.tasks, now())
    assert [arguments for name, arguments in stage.tasks.enqueued if name == PIN] == [(job.row(1).id,)] * 2


def test_done_twice_it_is_in_the_log_once(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    job.pin(1)
    stage.tasks.enqueued.extend([one for one in stage.tasks.enqueued if one[0] == PIN])
    number = JobLog(LocalStorage(job.directory), JobLayout("played")).read()[1]
    assert work(job) == 2
    assert JobLog(LocalStorage(job.directory), JobLayout("played")).read()[1] == number + 1


def test_a_savepoint_stays_pinned_in_the_log_whatever_becomes_of_its_pin(stage: Stage) -> None:
    job = StoredJob.running(stage, 1)
    job.complete(2, savepoint=True)
    for wanted in (True, False):
        job.pin(2, wanted)
        work(job)
        assert job.view().pinned == (2,) and job.row(2).pin_in_force is wanted


def test_a_log_that_is_changed_all_the_time_takes_a_pin_in_the_end(stage: Stage) -> None:
    """A driver begins a generation between the look and the entry: the entry is superseded, and written with the new one."""
    job = StoredJob.running(stage, 3)

    class Busy(CrashingStorage):
        def create(self, path: str, data: bytes) -> bool:
            if self.changes < 2:
                job.run.start(job.run.generation + 1, restored_from=3)
            return super().create(path, data)

    job.pin(1)
    work(job, Busy(LocalStorage(job.directory)))
    assert job.row(1).pin_in_force and job.view().pinned == (CheckpointId(1),) and job.view().generation == Generation(3)


def test_one_that_is_in_progress_is_pinned_once_it_is_completed(stage: Stage) -> None:
    job = StoredJob.running(stage, 1)
    assert job.driver.send_events(CheckpointTriggered(CheckpointId(2), Generation(1), "periodic", 0)) == 200
    job.pin(2)
    assert work(job) == 0
    job.complete(2)
    with stage.database.session() as session:
        retention_gc.enqueue_due(session, stage.tasks, now())
        assert session.scalars(select(Checkpoint.pinned).where(Checkpoint.number == 2)).one()
    assert work(job) == 1 and job.view().pinned == (2,)
