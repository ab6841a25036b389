"""A chosen checkpoint is deleted, or it is said what it is kept for; and whoever dies on the way is followed by somebody who finishes."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, update
from tests.backend.conftest import Login
from tests.backend.played import Stage
from tests.backend.stored import CrashingStorage, SimulatedCrash, StoredJob

from weir.errors import StorageError, Superseded
from weir.protocol.ids import CheckpointId
from weir.storage.inspection import verify
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import COLLECT_GARBAGE, PIN
from weir_backend.models import AuditEntry, Operation, Role


def test_a_chosen_one_goes_and_the_operation_says_so(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 4, retained=5)
    operation = job.send("DELETE", 2, status=202)
    assert operation["kind"] == "delete" and operation["request"] == {"checkpoint": 2}
    assert (COLLECT_GARBAGE, (job.job_id,)) in stage.tasks.enqueued
    assert job.send("DELETE", 2, status=202)["id"] == operation["id"], "asked for twice, done once"
    assert stage.send("GET", f"/checkpoints/{job.row(2).id}", status=200)["deleting_since"] is not None
    job.collect_garbage()
    assert job.kept() == [1, 3, 4] and job.discarded() == [2] and job.files_of(2) == []
    over = stage.operation(operation["id"])
    assert over["state"] == "SUCCEEDED" and over["result"] == {"checkpoint": 2}
    assert job.events_of("CheckpointsDeleted") == [{"checkpoints": [2], "requested": [2], "deletion_problem": None}]
    assert job.send("DELETE", 2, status=409)["code"] == "discarded"
    with stage.database.session() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.resource == "checkpoint")).one()
    assert (entry.action, entry.before) == ("delete", {"job": stage.job(job.job_id)["name"], "number": 2})


def test_a_savepoint_is_deleted_by_whoever_asks_for_it_and_by_nobody_else(stage: Stage) -> None:
    job = StoredJob.running(stage, 1, retained=1)
    job.complete(2, savepoint=True)
    job.complete(3)
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [2, 3]
    operation = job.send("DELETE", 2, status=202)
    job.collect_garbage()
    assert job.kept() == [3] and stage.operation(operation["id"])["state"] == "SUCCEEDED"


@pytest.mark.parametrize(("number", "code"), [(5, "newest"), (2, "pinned"), (3, "referenced"), (9, "no-checkpoint")])
def test_what_is_needed_stays_and_the_answer_names_why(stage: Stage, number: int, code: str) -> None:
    job = StoredJob.suspended(stage, 5)
    job.pin(2)
    stage.send("POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": {"kind": "rollback", "checkpoint": 3}})
    problem = job.send("DELETE", number, status=404 if number == 9 else 409)
    assert problem["code"] == code and str(number) in problem["detail"]
    if number < 9:
        assert job.row(number).deleting_since is None


def test_of_a_running_job_only_its_driver_deletes(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    problem = job.send("DELETE", 1, status=409)
    assert problem["code"] == "running" and problem["next_step"] == "Suspend the job first."
    assert stage.send("DELETE", "/jobs/999/checkpoints/1", status=404)["code"] == "no-job"


def test_what_only_the_log_knows_is_said_by_the_operation(stage: Stage) -> None:
    job = StoredJob.running(stage, 1, retained=5)
    job.run.published_up_to = 0
    job.complete(2)
    job.complete(3)
    job.suspend()
    operation = job.send("DELETE", 2, status=202)
    job.collect_garbage()
    over = stage.operation(operation["id"])
    assert over["state"] == "FAILED" and "committed again" in over["problem"]
    assert job.kept() == [1, 2, 3] and job.row(2).deleting_since is None, "it can be gone back to again"


def test_a_job_that_was_started_before_a_worker_came_keeps_it(stage: Stage) -> None:
    job = StoredJob.running(stage, 1, retained=5)
    job.complete(2, savepoint=True)
    job.complete(3)
    job.suspend()
    operation = job.send("DELETE", 2, status=202)
    job.start_again()
    job.collect_garbage()
    over = stage.operation(operation["id"])
    assert over["state"] == "FAILED" and "only its driver may delete" in over["problem"]
    assert job.row(2).deleting_since is None and job.kept() == [1, 2, 3]


def test_who_may_operate_may_delete_and_a_viewer_may_not(stage: Stage, login: Login) -> None:
    job = StoredJob.suspended(stage, 3)
    stage.headers = login(Role.VIEWER)
    assert job.send("DELETE", 1, status=403)["code"] == "forbidden"


def test_storage_that_does_not_answer_is_asked_again(stage: Stage) -> None:
    class Silent(CrashingStorage):
        def create(self, path: str, data: bytes) -> bool:
            raise StorageError("no answer")

    job = StoredJob.suspended(stage, 3)
    operation = job.send("DELETE", 1, status=202)
    job.collect_garbage(Silent(LocalStorage(job.directory)))
    assert stage.operation(operation["id"])["ended_at"] is None and job.kept() == [1, 2, 3]
    job.collect_garbage()
    assert stage.operation(operation["id"])["state"] == "SUCCEEDED" and job.kept() == [2, 3]


# ---- whoever dies on the way -------------------------------------------------------------------


def leaving_two(stage: Stage) -> tuple[StoredJob, int]:
    """A job of which 1 and 3 are to go by age, and savepoint 2 because somebody asks. With the operation."""
    job = StoredJob.running(stage, 1, retained=2)
    job.complete(2, savepoint=True)
    for number in (3, 4, 5):
        job.complete(number)
    job.suspend()
    return job, job.send("DELETE", 2, status=202)["id"]


STEPS = 10
"""A generation, an unpinning, two retirements (by age, and as asked for), and of three checkpoints state and manifest."""


def test_the_number_of_steps_is_known(stage: Stage) -> None:
    job, _ = leaving_two(stage)
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert job.kept() == [4, 5] and storage.changes == STEPS


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_step_it_harms_nothing_and_the_next_one_finishes(stage: Stage, after: bool) -> None:
    for lives in range(1, STEPS + 1):
        job, operation = leaving_two(stage)
        zombie = job.run
        with pytest.raises(SimulatedCrash):
            job.collect_garbage(CrashingStorage(LocalStorage(job.directory), lives, after))
        for number in job.kept():
            assert verify(LocalStorage(job.directory), JobLayout("played"), CheckpointId(number)).intact
        assert job.discarded() == [] and {4, 5} <= set(job.kept())
        job.collect_garbage()
        assert job.discarded() == [], "the one that has died may still be at it"
        job.expire_lease()
        job.collect_garbage()
        assert (job.kept(), job.discarded()) == ([4, 5], [1, 2, 3]), lives
        assert [job.files_of(number) for number in (1, 2, 3)] == [[]] * 3, lives
        assert stage.operation(operation)["state"] == "SUCCEEDED", lives
        with pytest.raises(Superseded):
            zombie.complete(6)
        quiet = CrashingStorage(LocalStorage(job.directory))
        job.collect_garbage(quiet)
        assert quiet.changes == 0


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_step_a_job_that_is_started_then_goes_on(stage: Stage, after: bool) -> None:
    for lives in range(1, STEPS + 1):
        job, operation = leaving_two(stage)
        with pytest.raises(SimulatedCrash):
            job.collect_garbage(CrashingStorage(LocalStorage(job.directory), lives, after))
        job.expire_lease()
        job.start_again()
        job.complete(6)
        stage.tasks.enqueued.clear()
        storage = CrashingStorage(LocalStorage(job.directory))
        job.collect_garbage(storage)
        assert storage.changes == 0, "the files that are left are its driver's to sweep"
        gone = {1, 2, 3} - set(job.kept())
        assert set(job.discarded()) == gone, lives
        assert all(job.row(number).deleting_since is None for number in job.kept())
        assert stage.operation(operation)["state"] == ("SUCCEEDED" if 2 in gone else "FAILED"), lives
        unpinned = 2 not in gone and CheckpointId(2) not in job.view().pinned
        asked = (PIN, (job.row(2).id,)) in stage.tasks.enqueued
        assert asked == unpinned, "a savepoint that was only unpinned is pinned again"


def test_one_that_died_before_it_could_say_so_is_believed(stage: Stage) -> None:
    """All was done in storage."""
    job, operation = leaving_two(stage)
    storage = CrashingStorage(LocalStorage(job.directory), STEPS, after=True)
    with pytest.raises(SimulatedCrash):
        job.collect_garbage(storage)
    assert job.kept() == [4, 5] and stage.operation(operation)["ended_at"] is None
    job.expire_lease()
    job.collect_garbage()
    assert stage.operation(operation)["state"] == "SUCCEEDED" and job.discarded() == [1, 2, 3]


def test_an_operation_that_ran_out_of_time_lets_its_checkpoint_be(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 3)
    operation = job.send("DELETE", 1, status=202)
    with stage.database.session() as session:
        session.execute(update(Operation).where(Operation.id == operation["id"]).values(deadline_at=now()))
    stage.reconcile(job.job_id)
    over: dict[str, Any] = stage.operation(operation["id"])
    assert over["state"] == "FAILED" and "no worker deleted the checkpoint" in over["problem"]
    job.collect_garbage()
    assert job.kept() == [1, 2, 3] and job.row(1).deleting_since is None
