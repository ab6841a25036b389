"""Verification of checkpoint files: on a schedule, on request, in parts, and with concurrent changes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.backend.conftest import Login
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import CrashingStorage, StoredJob
from tests.unit.storage.storage_builders import retired

from weir.errors import StorageError
from weir.protocol.events import CheckpointCompleted, CheckpointTriggered
from weir.protocol.ids import CheckpointId, Generation
from weir.storage.base import CheckpointStorage
from weir.storage.local import LocalStorage
from weir_backend.checkpoints import verification
from weir_backend.checkpoints.verification_rules import RETRY
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import VERIFY
from weir_backend.models import AuditEntry, Checkpoint, Operation, Role, Verification
from weir_workers.tasks.verification import verify_checkpoint

DAY = timedelta(days=1)


def take_requests(platform: Platform) -> list[tuple[int | str, ...]]:
    """Remove and return the enqueued verifications."""
    found = [arguments for name, arguments in platform.tasks.enqueued if name == VERIFY]
    platform.tasks.enqueued[:] = [one for one in platform.tasks.enqueued if one[0] != VERIFY]
    return found


def verify_all(job: StoredJob, storage: CheckpointStorage | None = None, **bounds: Any) -> int:
    """Execute verifications until none is enqueued. Return the number of executed parts."""
    parts = 0
    while requests := take_requests(job.platform):
        for checkpoint_id, claim, files_done in requests:
            parts += 1
            verify_checkpoint(
                job.context, int(checkpoint_id), int(claim), int(files_done),
                open_=lambda _: storage or LocalStorage(job.directory), **bounds,
            )  # fmt: skip
    return parts


def schedule(platform: Platform, after: timedelta = timedelta()) -> list[int]:
    """Enqueue all verifications that are due. Return the numbers of the enqueued checkpoints."""
    with platform.database.session() as session:
        verification.enqueue_due(session, platform.settings, platform.tasks, now() + after)
    with platform.database.session() as session:
        ids = [int(arguments[0]) for name, arguments in platform.tasks.enqueued if name == VERIFY]
        numbers = {row.id: row.number for row in session.scalars(select(Checkpoint))}
    return sorted(numbers[one] for one in ids)


def verifications(platform: Platform) -> int:
    with platform.database.session() as session:
        return len(session.scalars(select(Verification)).all())


def damage(path: str) -> None:
    """Flip one bit of the file."""
    data = bytearray(Path(path).read_bytes())
    data[3] ^= 1
    Path(path).write_bytes(data)


# ---- on request --------------------------------------------------------------------------------


def test_a_requested_verification_reports_an_intact_checkpoint(platform: Platform) -> None:
    job = StoredJob.running(platform, 2)
    operation = job.send("POST", 1, "/verify", status=202)
    assert operation["kind"] == "verify" and operation["state"] == "RUNNING"
    assert verify_all(job) == 1
    ended = platform.operation(operation["id"])
    assert ended["state"] == "SUCCEEDED"
    assert ended["result"] == {"checkpoint": 1, "intact": True, "damage": None, "files": 1, "bytes": 10}
    row = job.row(1)
    assert row.verified_at is not None and row.damage is None and verifications(platform) == 0
    assert job.events_of("CheckpointDamaged") == []
    with platform.database.session() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.resource == "checkpoint")).one()
    assert entry.action == "verify"


def test_plans_refuse_a_damaged_checkpoint_until_it_is_repaired(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    content = Path(job.path_of(1)).read_bytes()
    damage(job.path_of(1))
    operation = job.send("POST", 1, "/verify", status=202)
    verify_all(job)
    ended = platform.operation(operation["id"])
    assert ended["state"] == "SUCCEEDED" and ended["result"]["intact"] is False
    shown = platform.send("GET", f"/checkpoints/{job.row(1).id}", status=200)
    assert "is damaged" in shown["damage"] and shown["verified_at"] is not None
    assert [event["checkpoint"] for event in job.events_of("CheckpointDamaged")] == [1]
    request = {"request": {"kind": "rollback", "checkpoint": 1}}
    refused = platform.send("POST", f"/jobs/{job.job_id}/plans", status=409, json=request)
    assert refused["code"] == "damaged" and shown["damage"] in refused["detail"]
    job.send("POST", 1, "/verify", status=202)
    verify_all(job)
    assert len(job.events_of("CheckpointDamaged")) == 1, "the same damage is reported only once"
    Path(job.path_of(1)).write_bytes(content)
    job.send("POST", 1, "/verify", status=202)
    verify_all(job)
    assert job.row(1).damage is None and [event["checkpoint"] for event in job.events_of("CheckpointIntact")] == [1]
    platform.send("POST", f"/jobs/{job.job_id}/plans", status=201, json=request)


def test_the_newest_checkpoint_without_known_damage_is_kept_while_the_job_is_not_running(platform: Platform) -> None:
    job = StoredJob.running(platform, 3, retained=1)
    damage(job.path_of(3))
    job.send("POST", 3, "/verify", status=202)
    verify_all(job)

    def kept_because() -> list[str]:
        found: list[str] = platform.send("GET", f"/checkpoints/{job.row(2).id}", status=200)["kept_because"]
        return found

    assert kept_because() == [], (
        "while the job runs, nothing keeps the checkpoint, because its driver does not know the results of verifications"
    )
    job.suspend()
    assert kept_because() == ["This checkpoint is the newest checkpoint without known damage."]
    refused = job.send("DELETE", 2, status=409)
    assert (refused["code"], refused["next_step"]) == ("newest", "Choose another checkpoint.")
    job.collect_garbage()
    assert job.kept() == [2, 3]


def test_a_missing_file_or_manifest_or_job_log_counts_as_damage(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    Path(job.path_of(1)).unlink()
    Path(job.directory, "orders", "checkpoints", "2", "manifest-g1.json").unlink()
    for number in (1, 2):
        job.send("POST", number, "/verify", status=202)
    verify_all(job)
    assert "is missing" in (job.row(1).damage or "") and "manifest" in (job.row(2).damage or "")
    Path(job.directory).rename(Path(job.directory).with_name("moved"))
    job.send("POST", 3, "/verify", status=202)
    verify_all(job)
    assert "check that the right directory is mounted" in (job.row(3).damage or "") and job.row(3).discarded_at is None


def test_verification_requires_an_existing_checkpoint_and_the_permission_to_operate(platform: Platform, login: Login) -> None:
    job = StoredJob.running(platform, 2)
    assert job.send("POST", 9, "/verify", status=404)["code"] == "no-checkpoint"
    with platform.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(discarded_at=now()))
    assert job.send("POST", 1, "/verify", status=409)["code"] == "discarded"
    platform.headers = login(Role.VIEWER)
    assert job.send("POST", 2, "/verify", status=403)["code"] == "forbidden"


def test_a_request_repeated_with_its_idempotency_key_creates_one_operation(platform: Platform) -> None:
    job = StoredJob.running(platform, 1)
    first = job.send("POST", 1, "/verify", status=202, headers={"Idempotency-Key": "k"})
    assert job.send("POST", 1, "/verify", status=202, headers={"Idempotency-Key": "k"})["id"] == first["id"]
    assert len(take_requests(platform)) == 1


# ---- concurrent changes ------------------------------------------------------------------------


def test_a_checkpoint_that_is_retired_during_verification_is_not_damaged(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)

    class Retiring(CrashingStorage):
        """The driver retires checkpoint 1 after the worker has read the job log and before the worker reads the files."""

        def get(self, path: str) -> memoryview:
            if "manifest" in path and 1 in job.kept():
                job.run.append(retired(job.run.generation, 1))
                job.run.storage.delete([job.run.layout.absolute(one) for one in job.files_of(1)])
            return super().get(path)

    operation = job.send("POST", 1, "/verify", status=202)
    verify_all(job, Retiring(LocalStorage(job.directory)))
    row = job.row(1)
    assert row.damage is None and row.discarded_at is not None and row.verified_at is None
    assert platform.operation(operation["id"])["state"] == "FAILED"
    assert "was retired" in platform.operation(operation["id"])["problem"] and job.events_of("CheckpointDamaged") == []


def test_a_verification_is_retried_after_a_storage_error(platform: Platform) -> None:
    job = StoredJob.running(platform, 1)

    class UnreachableStorage(CrashingStorage):
        def get(self, path: str) -> memoryview:
            raise StorageError("storage does not respond")

    operation = job.send("POST", 1, "/verify", status=202)
    verify_all(job, UnreachableStorage(LocalStorage(job.directory)))
    assert job.row(1).damage is None and job.row(1).verified_at is None
    waiting = platform.operation(operation["id"])
    assert waiting["ended_at"] is None and "storage does not respond" in waiting["steps"][-1]["text"]
    assert schedule(platform) == [], "no verification is due, because the first worker may still read the checkpoint"
    assert schedule(platform, RETRY * 2) == [1]
    verify_all(job)
    assert platform.operation(operation["id"])["state"] == "SUCCEEDED"


def test_a_verification_in_parts_continues_after_a_worker_is_lost(platform: Platform) -> None:
    job = StoredJob.running(platform, 1)
    others = [job.run.write_state(2, attempt=f"part{number}") for number in range(4)]
    job.run.complete(2, also=tuple(others))
    _report_checkpoint(job, 2)
    _completed_at(platform, now())
    operation = job.send("POST", 2, "/verify", status=202)
    [first] = take_requests(platform)
    verify_checkpoint(job.context, *map(int, first), bytes_max=1)
    [first_worker] = take_requests(platform)
    assert first_worker[2] == 1, "one file is done"
    assert schedule(platform, RETRY / 2) == [] and schedule(platform, RETRY * 2) == [2]
    [second_worker] = take_requests(platform)
    assert second_worker[2] == 1 and second_worker[1] != first_worker[1], "a second worker continues after the first file"
    verify_checkpoint(job.context, *map(int, first_worker), bytes_max=1)
    assert take_requests(platform) == [], "a worker that lost its claim does not enqueue the next part of the verification"
    verify_checkpoint(job.context, *map(int, second_worker), bytes_max=1)
    verify_checkpoint(job.context, *map(int, second_worker), bytes_max=1)
    requests = take_requests(platform)
    assert len(requests) == 1, "a part that is executed twice enqueues the next part only once"
    platform.tasks.enqueued.extend((VERIFY, one) for one in requests)
    assert verify_all(job, bytes_max=1) == 3
    assert platform.operation(operation["id"])["result"]["files"] == 5


def _report_checkpoint(job: StoredJob, number: int) -> None:
    first = CheckpointTriggered(CheckpointId(number), Generation(1), "periodic", 0)
    last = CheckpointCompleted(CheckpointId(number), Generation(1), "periodic", 5, 9, ())
    assert job.driver.send_events(first, last) == 200


def test_a_request_restarts_a_scheduled_verification_from_the_first_file(platform: Platform) -> None:
    job = StoredJob.running(platform, 1)
    job.run.complete(2, also=(job.run.write_state(2, attempt="other"),))
    _report_checkpoint(job, 2)
    _completed_at(platform, now())
    schedule(platform)
    [first] = take_requests(platform)
    verify_checkpoint(job.context, *map(int, first), bytes_max=1)
    [remaining] = take_requests(platform)
    operation = job.send("POST", 2, "/verify", status=202)
    verify_checkpoint(job.context, *map(int, remaining))
    assert platform.operation(operation["id"])["ended_at"] is None
    verify_all(job)
    assert platform.operation(operation["id"])["result"]["files"] == 2


def test_the_operation_fails_if_no_worker_reads_the_files_in_time(platform: Platform) -> None:
    job = StoredJob.running(platform, 1)
    operation = job.send("POST", 1, "/verify", status=202)
    with platform.database.session() as session:
        session.execute(update(Operation).where(Operation.id == operation["id"]).values(deadline_at=now()))
    platform.reconcile(job.job_id)
    assert "not all files were read" in platform.operation(operation["id"])["problem"]


# ---- schedule ----------------------------------------------------------------------------------


def test_the_newest_checkpoint_of_a_job_is_verified_first_and_each_checkpoint_is_verified_once_a_day(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    _completed_at(platform, now())
    assert schedule(platform) == [3], "no checkpoint of this job was ever verified"
    verify_all(job)
    assert schedule(platform) == []
    job.complete(4)
    _completed_at(platform, now())
    assert schedule(platform) == [], "nothing is due, because a checkpoint of this job was verified today"
    _completed_at(platform, now() - 2 * DAY)
    with platform.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 2).values(completed_at=now() - 3 * DAY))
    assert schedule(platform) == [1, 2, 4], "all checkpoints that were completed more than a day ago and not verified yet are due"
    verify_all(job)
    assert schedule(platform) == []
    assert schedule(platform, timedelta(hours=25)) == [1, 2, 3, 4], "after a day, all checkpoints are due again"


def _completed_at(platform: Platform, moment: Any) -> None:
    with platform.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.completed_at.is_not(None)).values(completed_at=moment))


def test_the_number_of_concurrent_verifications_is_limited(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    job = StoredJob.running(platform, 5)
    monkeypatch.setattr(verification, "RUNNING_MAX", 2)
    _completed_at(platform, now() - 2 * DAY)
    with platform.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(completed_at=now() - 9 * DAY))
    assert schedule(platform) == [1, 5], "the newest checkpoint and the checkpoint that has waited longest are verified first"
    take_requests(platform)
    assert schedule(platform) == [], "both verifications are running"
    assert len(schedule(platform, RETRY * 3)) == 2, "the verification of a lost worker is enqueued again"
    verify_all(job)
    while schedule(platform):
        verify_all(job)
    assert verifications(platform) == 0 and all(job.row(number).verified_at for number in range(1, 6))


def test_verifications_that_wait_for_a_retry_do_not_delay_other_verifications(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    class UnreachableStorage(CrashingStorage):
        def get(self, path: str) -> memoryview:
            raise StorageError("storage does not respond")

    job = StoredJob.running(platform, 4)
    monkeypatch.setattr(verification, "RUNNING_MAX", 2)
    _completed_at(platform, now() - 2 * DAY)
    assert schedule(platform) == [1, 4]
    verify_all(job, UnreachableStorage(LocalStorage(job.directory)))
    assert schedule(platform) == [2, 3], "checkpoints 2 and 3 are verified while checkpoints 1 and 4 wait for a retry"
    assert schedule(platform) == [2, 3], "the verifications of checkpoints 2 and 3 are running"


def test_discarded_checkpoints_and_checkpoints_of_deleted_jobs_are_not_verified(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 3)
    _completed_at(platform, now() - 2 * DAY)
    with platform.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(discarded_at=now()))
    job.send("DELETE", 2, status=202)
    assert schedule(platform) == [3]
    take_requests(platform)
    platform.send("DELETE", f"/jobs/{job.job_id}", status=204, headers={"If-Match": "*"})
    assert schedule(platform, DAY) == []
