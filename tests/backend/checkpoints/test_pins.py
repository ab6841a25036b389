"""Pins take effect once they are in the job log. A running driver does not retire a checkpoint whose pin is in the job log."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, update
from tests.backend.conftest import Login
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import CrashingStorage, StoredJob
from tests.unit.storage.storage_builders import retired

from weir.errors import StorageError
from weir.protocol.events import CheckpointTriggered
from weir.protocol.ids import CheckpointId, Generation
from weir.storage.base import CheckpointStorage
from weir.storage.garbage_collection import plan_retention, retire_and_delete
from weir.storage.job_log import JobLog, NumberTaken
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir_backend.checkpoints import pins, retention_gc
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import PIN
from weir_backend.models import Checkpoint, PinHolder, RecoveryPlan, Role
from weir_workers.tasks.checkpoint_gc import pin_checkpoint


def write_pins(job: StoredJob, storage: CheckpointStorage | None = None) -> int:
    """Write the requested pins to the job log, as a worker does. Return the number of requested pins."""
    requested = [arguments for name, arguments in job.platform.tasks.enqueued if name == PIN]
    job.platform.tasks.enqueued.clear()
    for (checkpoint_id,) in requested:
        pin_checkpoint(job.context, int(checkpoint_id), lambda _: storage or LocalStorage(job.directory))
    return len(requested)


def test_a_pin_takes_effect_on_a_running_job_once_the_pin_is_in_the_job_log(platform: Platform) -> None:
    job = StoredJob.running(platform, 4)
    answer = job.pin(2)
    assert answer["pinned"] and not answer["pin_in_force"], "the pin is not in the job log yet"
    assert write_pins(job) == 1
    assert job.row(2).pin_in_force and job.view().pinned == (2,)
    assert job.events_of("CheckpointPinned") == [{"checkpoint": 2}]
    assert plan_retention(job.view(), keep=1) == (1, 3), "the driver would not retire the pinned checkpoint"
    job.complete(5)
    job.pin(2, False)
    assert write_pins(job) == 1 and not job.row(2).pin_in_force and job.view().pinned == ()
    assert job.events_of("CheckpointUnpinned") == [{"checkpoint": 2}]


def test_a_driver_does_not_retire_a_pinned_checkpoint_even_if_it_has_not_read_the_pin_yet(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    entry, at = retired(job.run.generation, 1), job.run.log.next_number
    job.pin(1)
    write_pins(job)
    outcome = retire_and_delete(job.run.storage, job.run.layout, job.run.log, entry, at=at, references=job.run.references)
    assert isinstance(outcome, NumberTaken) and job.kept() == [1, 2, 3] and len(job.files_of(1)) == 2
    assert plan_retention(job.run.log.view, keep=1) == (2,), (
        "the driver reads the pin when it cannot append its entry to the job log"
    )


def test_a_pin_of_a_retired_checkpoint_is_rejected(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    job.run.append(retired(job.run.generation, 1))
    job.pin(1)
    write_pins(job)
    row = job.row(1)
    assert (row.pinned, row.pin_in_force) == (False, False) and row.discarded_at is not None
    assert job.events_of("PinsRejected") == [{"checkpoints": [1]}]
    job.pin(2)
    job.run.append(retired(job.run.generation, 2))
    job.collect_garbage()
    assert job.events_of("PinsRejected")[1:] == [{"checkpoints": [2]}] and not job.row(2).pinned


def test_a_pin_that_could_not_be_written_is_retried(platform: Platform) -> None:
    class UnreachableStorage(CrashingStorage):
        def create(self, path: str, data: bytes) -> bool:
            raise StorageError("storage does not respond")

    job = StoredJob.running(platform, 3)
    job.pin(1)
    write_pins(job, UnreachableStorage(LocalStorage(job.directory)))
    assert not job.row(1).pin_in_force
    with platform.database.session() as session:
        retention_gc.enqueue_due(session, platform.tasks, now())
    assert write_pins(job) == 1 and job.row(1).pin_in_force
    with platform.database.session() as session:
        retention_gc.enqueue_due(session, platform.tasks, now())
    assert write_pins(job) == 0


def test_pins_of_a_deleted_job_are_not_written_and_do_not_delay_other_pins(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_gc, "PINS_PER_ROUND", 1)
    deleted = StoredJob.suspended(platform, 3)
    deleted.pin(1)
    platform.send("DELETE", f"/jobs/{deleted.job_id}", status=204, headers={"If-Match": "*"})
    job = StoredJob.running(platform, 3)
    job.pin(1)
    platform.tasks.enqueued.clear()
    for _ in range(2):
        with platform.database.session() as session:
            retention_gc.enqueue_due(session, platform.tasks, now())
    assert [arguments for name, arguments in platform.tasks.enqueued if name == PIN] == [(job.row(1).id,)] * 2


def test_a_pin_that_is_requested_twice_is_written_once(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    job.pin(1)
    platform.tasks.enqueued.extend([one for one in platform.tasks.enqueued if one[0] == PIN])
    number = JobLog(LocalStorage(job.directory), JobLayout("orders")).read()[1]
    assert write_pins(job) == 2
    assert JobLog(LocalStorage(job.directory), JobLayout("orders")).read()[1] == number + 1


def test_a_savepoint_stays_pinned_in_the_job_log_if_a_user_unpins_it(platform: Platform) -> None:
    job = StoredJob.running(platform, 1)
    job.complete(2, savepoint=True)
    for pinned in (True, False):
        job.pin(2, pinned)
        write_pins(job)
        assert job.view().pinned == (2,) and job.row(2).pin_in_force is pinned


def pins_of(platform: Platform, job: StoredJob, number: int) -> list[tuple[str, str, str]]:
    seen = platform.send("GET", f"/checkpoints/{job.row(number).id}", status=200)
    assert seen["pinned"] == bool(seen["pins"]) and all(one["since"] is not None for one in seen["pins"])
    return [(one["holder"], one["name"], one["reason"]) for one in seen["pins"]]


def verb_of(platform: Platform, job: StoredJob, number: int) -> str:
    actions = platform.send("GET", f"/checkpoints/{job.row(number).id}", status=200)["actions"]
    (verb,) = (one["verb"] for one in actions if one["verb"] in ("pin", "unpin"))
    return str(verb)


def patch(platform: Platform, job: StoredJob, number: int, *, status: int = 200, **wanted: Any) -> Any:
    path = f"/checkpoints/{job.row(number).id}"
    return platform.send("PATCH", path, status=status, json=wanted, headers={"If-Match": "*"})


def test_a_checkpoint_stays_pinned_until_each_user_has_unpinned_it(platform: Platform, login: Login) -> None:
    job = StoredJob.running(platform, 3)
    ann, bob, root = (
        login(role, name=name) for role, name in ((Role.OPERATOR, "ann"), (Role.OPERATOR, "bob"), (Role.ADMIN, "root"))
    )
    for headers, reason in ((ann, "draft"), (ann, "before the release"), (bob, "")):
        platform.headers = headers
        patch(platform, job, 1, pinned=True, reason=reason)
    write_pins(job)
    assert pins_of(platform, job, 1) == [("user", "ann", "before the release"), ("user", "bob", "")]
    assert platform.send("GET", f"/checkpoints/{job.row(1).id}", status=200)["kept_because"][:2] == [
        "This checkpoint is pinned by ann: before the release.", "This checkpoint is pinned by bob.",
    ]  # fmt: skip
    (listed,) = platform.send("GET", "/checkpoints", status=200, params={"filter": '{"pinned": true}'})
    assert [one["name"] for one in listed["pins"]] == ["ann", "bob"]
    assert verb_of(platform, job, 1) == "unpin"
    patch(platform, job, 1, pinned=False)
    write_pins(job)
    assert pins_of(platform, job, 1) == [("user", "ann", "before the release")] and job.view().pinned == (1,)

    refused = patch(platform, job, 1, pinned=False, status=409)
    assert refused["code"] == "pinned-by-others" and refused["detail"] == "Checkpoint 1 is pinned by ann."
    assert verb_of(platform, job, 1) == "pin", "another user can add a pin"
    platform.headers = root
    assert verb_of(platform, job, 1) == "unpin"
    patch(platform, job, 1, pinned=False)
    write_pins(job)
    assert pins_of(platform, job, 1) == [] and job.view().pinned == ()


def test_the_pins_of_users_and_plans_do_not_affect_each_other(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    patch(platform, job, 1, pinned=True, reason="mine")
    request = {"kind": "rollback", "checkpoint": 2}
    plan_id = platform.send("POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": request})["id"]
    with platform.database.session() as session:
        plan = session.get_one(RecoveryPlan, plan_id)
        found = session.get_one(Checkpoint, job.row(1).id)
        for holder in (PinHolder.PLAN, PinHolder.UNDO, PinHolder.UNDO):
            pins.set_pin(session, platform.tasks, found, holder, plan)
    assert [(holder, name) for holder, name, _ in pins_of(platform, job, 1)][1:] == [
        ("plan", f"plan {plan.id}"), ("undo", f"the undo of plan {plan.id}"),
    ]  # fmt: skip
    patch(platform, job, 1, pinned=False)
    refused = patch(platform, job, 1, pinned=False, status=409)
    assert refused["detail"] == f"Checkpoint 1 is pinned by plan {plan.id}, the undo of plan {plan.id}."
    patch(platform, job, 1, pinned=True, reason="again")
    with platform.database.session() as session:
        found = session.get_one(Checkpoint, job.row(1).id)
        pins.release_pin(session, found, PinHolder.PLAN, plan)
        pins.release_pin(session, found, PinHolder.UNDO, plan)
    assert [(holder, reason) for holder, _, reason in pins_of(platform, job, 1)] == [("user", "again")]


def test_pins_that_an_older_version_sets_and_releases_are_respected(platform: Platform) -> None:
    """An older version of Weir, which runs during an upgrade, changes only the columns of the checkpoint."""
    job = StoredJob.running(platform, 3)

    def store(**values: object) -> None:
        with platform.database.session() as session:
            session.execute(update(Checkpoint).where(Checkpoint.id == job.row(1).id).values(**values))

    store(pinned=True, pinned_reason="before the release")
    seen = platform.send("GET", f"/checkpoints/{job.row(1).id}", status=200)
    assert seen["pins"] == [
        {
            "holder": "user",
            "user_id": None,
            "plan_id": None,
            "name": "an unknown user",
            "reason": "before the release",
            "since": None,
        }
    ]
    assert "This checkpoint is pinned: before the release (not yet in the job log)." in seen["kept_because"]
    patch(platform, job, 1, pinned=True, reason="mine")
    patch(platform, job, 1, pinned=False)
    assert reasons_of(platform, job, 1) == ["before the release"], "the pin of an unknown user remains"
    patch(platform, job, 1, pinned=False)
    assert reasons_of(platform, job, 1) == [], "any user can release the pin of an unknown user"
    patch(platform, job, 1, pinned=True, reason="mine")
    store(pinned=False, pinned_reason="")
    assert pins_of(platform, job, 1) == []
    patch(platform, job, 1, pinned=True, reason="mine again")
    assert [reason for _, _, reason in pins_of(platform, job, 1)] == ["mine again"]
    patch(platform, job, 1, pinned=False)
    store(pinned=True, pinned_reason="an undo of plan 4 would return to it")
    assert verb_of(platform, job, 1) == "pin", "only Weir releases the pin of a plan"


def reasons_of(platform: Platform, job: StoredJob, number: int) -> list[str]:
    return [one["reason"] for one in platform.send("GET", f"/checkpoints/{job.row(number).id}", status=200)["pins"]]


def test_a_pin_is_written_even_if_the_job_log_changes_repeatedly(platform: Platform) -> None:
    """A driver starts a generation after the worker has read the log. The worker then writes the pin for the new generation."""
    job = StoredJob.running(platform, 3)

    class ChangingLog(CrashingStorage):
        def create(self, path: str, data: bytes) -> bool:
            if self.changes < 2:
                job.run.start(job.run.generation + 1, restored_from=3)
            return super().create(path, data)

    job.pin(1)
    write_pins(job, ChangingLog(LocalStorage(job.directory)))
    assert job.row(1).pin_in_force and job.view().pinned == (CheckpointId(1),) and job.view().generation == Generation(3)


def test_a_pin_of_a_checkpoint_in_progress_is_written_after_the_checkpoint_is_completed(platform: Platform) -> None:
    job = StoredJob.running(platform, 1)
    assert job.driver.send_events(CheckpointTriggered(CheckpointId(2), Generation(1), "periodic", 0)) == 200
    job.pin(2)
    assert write_pins(job) == 0
    job.complete(2)
    with platform.database.session() as session:
        retention_gc.enqueue_due(session, platform.tasks, now())
        assert session.scalars(select(Checkpoint.pinned).where(Checkpoint.number == 2)).one()
    assert write_pins(job) == 1 and job.view().pinned == (2,)
