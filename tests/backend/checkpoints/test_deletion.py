"""Deletion of single checkpoints by users, including refusals and crashes of the worker."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, update
from tests.backend.conftest import Login
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import CrashingStorage, SimulatedCrash, StoredJob

from weir.errors import StorageError, Superseded
from weir.protocol.ids import CheckpointId
from weir.storage.inspection import verify
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import COLLECT_GARBAGE, PIN
from weir_backend.models import AuditEntry, Operation, Role


def test_a_requested_deletion_removes_the_checkpoint_and_succeeds(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 4, retained=5)
    operation = job.send("DELETE", 2, status=202)
    assert operation["kind"] == "delete" and operation["request"] == {"checkpoint": 2}
    assert (COLLECT_GARBAGE, (job.job_id,)) in platform.tasks.enqueued
    assert job.send("DELETE", 2, status=202)["id"] == operation["id"], "a second request returns the same operation"
    assert platform.send("GET", f"/checkpoints/{job.row(2).id}", status=200)["deleting_since"] is not None
    job.collect_garbage()
    assert job.kept() == [1, 3, 4] and job.discarded() == [2] and job.files_of(2) == []
    ended = platform.operation(operation["id"])
    assert ended["state"] == "SUCCEEDED" and ended["result"] == {"checkpoint": 2}
    assert job.events_of("CheckpointsDeleted") == [{"checkpoints": [2], "requested": [2], "deletion_problem": None}]
    assert job.send("DELETE", 2, status=409)["code"] == "discarded"
    with platform.database.session() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.resource == "checkpoint")).one()
    assert (entry.action, entry.before) == ("delete", {"job": platform.job(job.job_id)["name"], "number": 2})


def test_a_savepoint_is_deleted_only_on_request(platform: Platform) -> None:
    job = StoredJob.running(platform, 1, retained=1)
    job.complete(2, savepoint=True)
    job.complete(3)
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [2, 3]
    operation = job.send("DELETE", 2, status=202)
    job.collect_garbage()
    assert job.kept() == [3] and platform.operation(operation["id"])["state"] == "SUCCEEDED"


@pytest.mark.parametrize(("number", "code"), [(5, "newest"), (2, "pinned"), (3, "referenced"), (9, "no-checkpoint")])
def test_the_deletion_of_a_needed_checkpoint_is_refused_and_the_error_names_the_reason(
    platform: Platform, number: int, code: str
) -> None:
    job = StoredJob.suspended(platform, 5)
    job.pin(2)
    platform.send("POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": {"kind": "rollback", "checkpoint": 3}})
    problem = job.send("DELETE", number, status=404 if number == 9 else 409)
    assert problem["code"] == code and str(number) in problem["detail"]
    if number < 9:
        assert job.row(number).deleting_since is None


def test_a_checkpoint_of_a_running_job_cannot_be_deleted(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    problem = job.send("DELETE", 1, status=409)
    assert problem["code"] == "running" and problem["next_step"] == "Suspend the job first."
    assert platform.send("DELETE", "/jobs/999/checkpoints/1", status=404)["code"] == "no-job"


def test_the_operation_fails_if_the_job_log_shows_that_the_checkpoint_is_needed(platform: Platform) -> None:
    job = StoredJob.running(platform, 1, retained=5)
    job.run.published_up_to = 0
    job.complete(2)
    job.complete(3)
    job.suspend()
    operation = job.send("DELETE", 2, status=202)
    job.collect_garbage()
    ended = platform.operation(operation["id"])
    assert ended["state"] == "FAILED" and "commit the output" in ended["problem"]
    assert job.kept() == [1, 2, 3] and job.row(2).deleting_since is None, "the checkpoint can be restored again"


def test_the_checkpoint_is_kept_if_the_job_starts_before_a_worker_deletes_it(platform: Platform) -> None:
    job = StoredJob.running(platform, 1, retained=5)
    job.complete(2, savepoint=True)
    job.complete(3)
    job.suspend()
    operation = job.send("DELETE", 2, status=202)
    job.start_again()
    job.collect_garbage()
    ended = platform.operation(operation["id"])
    assert ended["state"] == "FAILED" and "only its driver may delete checkpoints of this job" in ended["problem"]
    assert job.row(2).deleting_since is None and job.kept() == [1, 2, 3]


def test_a_viewer_cannot_delete_a_checkpoint(platform: Platform, login: Login) -> None:
    job = StoredJob.suspended(platform, 3)
    platform.headers = login(Role.VIEWER)
    assert job.send("DELETE", 1, status=403)["code"] == "forbidden"


def test_the_deletion_of_a_savepoint_needs_the_permission_to_roll_back(platform: Platform, login: Login) -> None:
    job = StoredJob.running(platform, 1, retained=3)
    job.complete(2, savepoint=True)
    job.complete(3)
    job.suspend()
    may_roll_back, platform.headers = platform.headers, login(Role.ADMIN, name="root")
    listed = platform.send("GET", f"/checkpoints/{job.row(2).id}", status=200)["actions"]
    assert [one["reason"] for one in listed if one["verb"] == "delete"] == [
        "This needs the permission 'rollback'. Ask an administrator for this permission."
    ]
    problem = job.send("DELETE", 2, status=403)
    assert problem["code"] == "forbidden" and "root does not have the permission 'rollback'" in problem["detail"]
    assert job.row(2).deleting_since is None
    job.send("DELETE", 1, status=202)
    platform.headers = may_roll_back
    job.send("DELETE", 2, status=202)


def test_a_deletion_is_retried_after_a_storage_error(platform: Platform) -> None:
    class UnreachableStorage(CrashingStorage):
        def create(self, path: str, data: bytes) -> bool:
            raise StorageError("storage does not respond")

    job = StoredJob.suspended(platform, 3)
    operation = job.send("DELETE", 1, status=202)
    job.collect_garbage(UnreachableStorage(LocalStorage(job.directory)))
    assert platform.operation(operation["id"])["ended_at"] is None and job.kept() == [1, 2, 3]
    job.collect_garbage()
    assert platform.operation(operation["id"])["state"] == "SUCCEEDED" and job.kept() == [2, 3]


# ---- crashes of the worker ---------------------------------------------------------------------


def suspended_with_deletion(platform: Platform) -> tuple[StoredJob, int]:
    """Create a suspended job whose checkpoints 1 and 3 have expired, and request the deletion of savepoint 2.

    Returns the job and the id of the operation.
    """
    job = StoredJob.running(platform, 1, retained=2)
    job.complete(2, savepoint=True)
    for number in (3, 4, 5):
        job.complete(number)
    job.suspend()
    return job, job.send("DELETE", 2, status=202)["id"]


CHANGES = 10
"""Number of storage changes: one new generation, one removed pin, two retirements, three state files and three manifests."""


def test_garbage_collection_makes_the_expected_number_of_changes(platform: Platform) -> None:
    job, _ = suspended_with_deletion(platform)
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert job.kept() == [4, 5] and storage.changes == CHANGES


@pytest.mark.parametrize("after", [False, True])
def test_after_a_crash_at_any_storage_change_the_next_worker_finishes_the_deletion(platform: Platform, after: bool) -> None:
    for crash_at in range(1, CHANGES + 1):
        job, operation = suspended_with_deletion(platform)
        zombie = job.run
        with pytest.raises(SimulatedCrash):
            job.collect_garbage(CrashingStorage(LocalStorage(job.directory), crash_at, after))
        for number in job.kept():
            assert verify(LocalStorage(job.directory), JobLayout("orders"), CheckpointId(number)).intact
        assert job.discarded() == [] and {4, 5} <= set(job.kept())
        job.collect_garbage()
        assert job.discarded() == [], "until its lease expires, the first worker counts as running"
        job.expire_lease()
        job.collect_garbage()
        assert (job.kept(), job.discarded()) == ([4, 5], [1, 2, 3]), crash_at
        assert [job.files_of(number) for number in (1, 2, 3)] == [[]] * 3, crash_at
        assert platform.operation(operation)["state"] == "SUCCEEDED", crash_at
        with pytest.raises(Superseded):
            zombie.complete(6)
        idle = CrashingStorage(LocalStorage(job.directory))
        job.collect_garbage(idle)
        assert idle.changes == 0


@pytest.mark.parametrize("after", [False, True])
def test_the_job_can_be_started_after_a_crash_at_any_storage_change(platform: Platform, after: bool) -> None:
    for crash_at in range(1, CHANGES + 1):
        job, operation = suspended_with_deletion(platform)
        with pytest.raises(SimulatedCrash):
            job.collect_garbage(CrashingStorage(LocalStorage(job.directory), crash_at, after))
        job.expire_lease()
        job.start_again()
        job.complete(6)
        platform.tasks.enqueued.clear()
        storage = CrashingStorage(LocalStorage(job.directory))
        job.collect_garbage(storage)
        assert storage.changes == 0, "the worker changes nothing, because the driver deletes the remaining files"
        deleted = {1, 2, 3} - set(job.kept())
        assert set(job.discarded()) == deleted, crash_at
        assert all(job.row(number).deleting_since is None for number in job.kept())
        assert platform.operation(operation)["state"] == ("SUCCEEDED" if 2 in deleted else "FAILED"), crash_at
        unpinned = 2 not in deleted and CheckpointId(2) not in job.view().pinned
        enqueued = (PIN, (job.row(2).id,)) in platform.tasks.enqueued
        assert enqueued == unpinned, "a savepoint that was unpinned but not deleted is pinned again"


def test_a_deletion_succeeds_if_its_worker_crashed_after_deleting_all_files(platform: Platform) -> None:
    job, operation = suspended_with_deletion(platform)
    storage = CrashingStorage(LocalStorage(job.directory), CHANGES, after=True)
    with pytest.raises(SimulatedCrash):
        job.collect_garbage(storage)
    assert job.kept() == [4, 5] and platform.operation(operation)["ended_at"] is None
    job.expire_lease()
    job.collect_garbage()
    assert platform.operation(operation)["state"] == "SUCCEEDED" and job.discarded() == [1, 2, 3]


def test_a_deletion_that_misses_its_deadline_keeps_the_checkpoint(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 3)
    operation = job.send("DELETE", 1, status=202)
    with platform.database.session() as session:
        session.execute(update(Operation).where(Operation.id == operation["id"]).values(deadline_at=now()))
    platform.reconcile(job.job_id)
    ended: dict[str, Any] = platform.operation(operation["id"])
    assert ended["state"] == "FAILED" and "no worker deleted the checkpoint" in ended["problem"]
    job.collect_garbage()
    assert job.kept() == [1, 2, 3] and job.row(1).deleting_since is None
