"""Files of checkpoints are read and compared: on a schedule, when somebody asks, in parts, and whatever comes in between."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.backend.conftest import Login
from tests.backend.played import Stage
from tests.backend.stored import CrashingStorage, StoredJob
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


def asked(stage: Stage) -> list[tuple[int | str, ...]]:
    """What workers are to do, once."""
    found = [arguments for name, arguments in stage.tasks.enqueued if name == VERIFY]
    stage.tasks.enqueued[:] = [one for one in stage.tasks.enqueued if one[0] != VERIFY]
    return found


def work(job: StoredJob, storage: CheckpointStorage | None = None, **bounds: Any) -> int:
    """Until nothing is asked for any more. How many parts that were."""
    parts = 0
    while wanted := asked(job.stage):
        for checkpoint_id, claim, files_done in wanted:
            parts += 1
            verify_checkpoint(
                job.context, int(checkpoint_id), int(claim), int(files_done),
                open_=lambda _: storage or LocalStorage(job.directory), **bounds,
            )  # fmt: skip
    return parts


def set_out(stage: Stage, after: timedelta = timedelta()) -> list[int]:
    """Numbers of the checkpoints that are asked for."""
    with stage.database.session() as session:
        verification.enqueue_due(session, stage.settings, stage.tasks, now() + after)
    with stage.database.session() as session:
        ids = [int(arguments[0]) for name, arguments in stage.tasks.enqueued if name == VERIFY]
        numbers = {row.id: row.number for row in session.scalars(select(Checkpoint))}
    return sorted(numbers[one] for one in ids)


def verifications(stage: Stage) -> int:
    with stage.database.session() as session:
        return len(session.scalars(select(Verification)).all())


def hurt(path: str) -> None:
    """One bit of it."""
    data = bytearray(Path(path).read_bytes())
    data[3] ^= 1
    Path(path).write_bytes(data)


# ---- as asked for ------------------------------------------------------------------------------


def test_whoever_asks_hears_that_it_is_whole(stage: Stage) -> None:
    job = StoredJob.running(stage, 2)
    operation = job.send("POST", 1, "/verify", status=202)
    assert operation["kind"] == "verify" and operation["state"] == "RUNNING"
    assert work(job) == 1
    over = stage.operation(operation["id"])
    assert over["state"] == "SUCCEEDED"
    assert over["result"] == {"checkpoint": 1, "intact": True, "damage": None, "files": 1, "bytes": 10}
    row = job.row(1)
    assert row.verified_at is not None and row.damage is None and verifications(stage) == 0
    assert job.events_of("CheckpointDamaged") == []
    with stage.database.session() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.resource == "checkpoint")).one()
    assert entry.action == "verify"


def test_damage_is_shown_told_and_keeps_plans_away_until_it_is_mended(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    whole = Path(job.path_of(1)).read_bytes()
    hurt(job.path_of(1))
    operation = job.send("POST", 1, "/verify", status=202)
    work(job)
    over = stage.operation(operation["id"])
    assert over["state"] == "SUCCEEDED" and over["result"]["intact"] is False
    shown = stage.send("GET", f"/checkpoints/{job.row(1).id}", status=200)
    assert "is damaged" in shown["damage"] and shown["verified_at"] is not None
    assert [event["checkpoint"] for event in job.events_of("CheckpointDamaged")] == [1]
    request = {"request": {"kind": "rollback", "checkpoint": 1}}
    refused = stage.send("POST", f"/jobs/{job.job_id}/plans", status=409, json=request)
    assert refused["code"] == "damaged" and shown["damage"] in refused["detail"]
    job.send("POST", 1, "/verify", status=202)
    work(job)
    assert len(job.events_of("CheckpointDamaged")) == 1, "told once"
    Path(job.path_of(1)).write_bytes(whole)
    job.send("POST", 1, "/verify", status=202)
    work(job)
    assert job.row(1).damage is None and [event["checkpoint"] for event in job.events_of("CheckpointIntact")] == [1]
    stage.send("POST", f"/jobs/{job.job_id}/plans", status=201, json=request)


def test_a_missing_file_a_missing_manifest_and_a_missing_log_are_damage(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    Path(job.path_of(1)).unlink()
    Path(job.directory, "played", "checkpoints", "2", "manifest-g1.json").unlink()
    for number in (1, 2):
        job.send("POST", number, "/verify", status=202)
    work(job)
    assert "is missing" in (job.row(1).damage or "") and "manifest" in (job.row(2).damage or "")
    Path(job.directory).rename(Path(job.directory).with_name("moved"))
    job.send("POST", 3, "/verify", status=202)
    work(job)
    assert "check that the right directory is mounted" in (job.row(3).damage or "") and job.row(3).discarded_at is None


def test_what_is_not_there_is_not_verified(stage: Stage, login: Login) -> None:
    job = StoredJob.running(stage, 2)
    assert job.send("POST", 9, "/verify", status=404)["code"] == "no-checkpoint"
    with stage.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(discarded_at=now()))
    assert job.send("POST", 1, "/verify", status=409)["code"] == "discarded"
    stage.headers = login(Role.VIEWER)
    assert job.send("POST", 2, "/verify", status=403)["code"] == "forbidden"


def test_sent_again_with_its_key_it_is_one_operation(stage: Stage) -> None:
    job = StoredJob.running(stage, 1)
    first = job.send("POST", 1, "/verify", status=202, headers={"Idempotency-Key": "k"})
    assert job.send("POST", 1, "/verify", status=202, headers={"Idempotency-Key": "k"})["id"] == first["id"]
    assert len(asked(stage)) == 1


# ---- what comes in between ---------------------------------------------------------------------


def test_one_that_its_driver_retires_meanwhile_is_not_damaged(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)

    class Retiring(CrashingStorage):
        """The driver lets go of it between the look into the log and the look at its files."""

        def get(self, path: str) -> memoryview:
            if "manifest" in path and 1 in job.kept():
                job.run.append(retired(job.run.generation, 1))
                job.run.storage.delete([job.run.layout.absolute(one) for one in job.files_of(1)])
            return super().get(path)

    operation = job.send("POST", 1, "/verify", status=202)
    work(job, Retiring(LocalStorage(job.directory)))
    row = job.row(1)
    assert row.damage is None and row.discarded_at is not None and row.verified_at is None
    assert stage.operation(operation["id"])["state"] == "FAILED"
    assert "was retired" in stage.operation(operation["id"])["problem"] and job.events_of("CheckpointDamaged") == []


def test_storage_that_does_not_answer_says_nothing_and_is_asked_again(stage: Stage) -> None:
    job = StoredJob.running(stage, 1)

    class Silent(CrashingStorage):
        def get(self, path: str) -> memoryview:
            raise StorageError("no answer")

    operation = job.send("POST", 1, "/verify", status=202)
    work(job, Silent(LocalStorage(job.directory)))
    assert job.row(1).damage is None and job.row(1).verified_at is None
    waiting = stage.operation(operation["id"])
    assert waiting["ended_at"] is None and "no answer" in waiting["steps"][-1]["text"]
    assert set_out(stage) == [], "somebody may still be at it"
    assert set_out(stage, RETRY * 2) == [1]
    work(job)
    assert stage.operation(operation["id"])["state"] == "SUCCEEDED"


def test_it_is_read_in_parts_and_whoever_dies_is_followed_where_he_was(stage: Stage) -> None:
    job = StoredJob.running(stage, 1)
    others = [job.run.write_state(2, attempt=f"part{number}") for number in range(4)]
    job.run.complete(2, also=tuple(others))
    _tell_of(job, 2)
    _completed_at(stage, now())
    operation = job.send("POST", 2, "/verify", status=202)
    [first] = asked(stage)
    verify_checkpoint(job.context, *map(int, first), bytes_max=1)
    [lost] = asked(stage)
    assert lost[2] == 1, "one file is done"
    assert set_out(stage, RETRY / 2) == [] and set_out(stage, RETRY * 2) == [2]
    [again] = asked(stage)
    assert again[2] == 1 and again[1] != lost[1], "goes on where it was, in the hands of another"
    verify_checkpoint(job.context, *map(int, lost), bytes_max=1)
    assert asked(stage) == [], "who was taken for dead asks for nothing"
    verify_checkpoint(job.context, *map(int, again), bytes_max=1)
    verify_checkpoint(job.context, *map(int, again), bytes_max=1)
    wanted = asked(stage)
    assert len(wanted) == 1, "a part that is handed out twice is done once"
    stage.tasks.enqueued.extend((VERIFY, one) for one in wanted)
    assert work(job, bytes_max=1) == 3
    assert stage.operation(operation["id"])["result"]["files"] == 5


def _tell_of(job: StoredJob, number: int) -> None:
    first = CheckpointTriggered(CheckpointId(number), Generation(1), "periodic", 0)
    last = CheckpointCompleted(CheckpointId(number), Generation(1), "periodic", 5, 9, ())
    assert job.driver.send_events(first, last) == 200


def test_who_asks_while_it_is_half_done_has_it_begun_anew(stage: Stage) -> None:
    job = StoredJob.running(stage, 1)
    job.run.complete(2, also=(job.run.write_state(2, attempt="other"),))
    _tell_of(job, 2)
    _completed_at(stage, now())
    set_out(stage)
    [first] = asked(stage)
    verify_checkpoint(job.context, *map(int, first), bytes_max=1)
    [half] = asked(stage)
    operation = job.send("POST", 2, "/verify", status=202)
    verify_checkpoint(job.context, *map(int, half))
    assert stage.operation(operation["id"])["ended_at"] is None
    work(job)
    assert stage.operation(operation["id"])["result"]["files"] == 2


def test_one_that_nobody_could_read_in_time_fails_its_operation(stage: Stage) -> None:
    job = StoredJob.running(stage, 1)
    operation = job.send("POST", 1, "/verify", status=202)
    with stage.database.session() as session:
        session.execute(update(Operation).where(Operation.id == operation["id"]).values(deadline_at=now()))
    stage.reconcile(job.job_id)
    assert "not all files were read" in stage.operation(operation["id"])["problem"]


# ---- the schedule ------------------------------------------------------------------------------


def test_of_each_job_the_newest_is_verified_first_and_the_others_once_they_are_old(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    _completed_at(stage, now())
    assert set_out(stage) == [3], "nothing of this job was ever verified"
    work(job)
    assert set_out(stage) == []
    job.complete(4)
    _completed_at(stage, now())
    assert set_out(stage) == [], "one of this job was verified today"
    _completed_at(stage, now() - 2 * DAY)
    with stage.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 2).values(completed_at=now() - 3 * DAY))
    assert set_out(stage) == [1, 2, 4], "all that are older than a day and were not verified since"
    work(job)
    assert set_out(stage) == []
    assert set_out(stage, timedelta(hours=25)) == [1, 2, 3, 4], "and again when a day has passed"


def _completed_at(stage: Stage, moment: Any) -> None:
    with stage.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.completed_at.is_not(None)).values(completed_at=moment))


def test_no_more_are_under_way_than_workers_and_storage_can_bear(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    job = StoredJob.running(stage, 5)
    monkeypatch.setattr(verification, "RUNNING_MAX", 2)
    _completed_at(stage, now() - 2 * DAY)
    with stage.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(completed_at=now() - 9 * DAY))
    assert set_out(stage) == [1, 5], "the newest of the job, and the one that waits longest"
    asked(stage)
    assert set_out(stage) == [], "these two are under way"
    assert len(set_out(stage, RETRY * 3)) == 2, "whoever was at it has died"
    work(job)
    while set_out(stage):
        work(job)
    assert verifications(stage) == 0 and all(job.row(number).verified_at for number in range(1, 6))


def test_those_whose_storage_does_not_answer_hold_up_no_others(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(CrashingStorage):
        def get(self, path: str) -> memoryview:
            raise StorageError("no answer")

    job = StoredJob.running(stage, 4)
    monkeypatch.setattr(verification, "RUNNING_MAX", 2)
    _completed_at(stage, now() - 2 * DAY)
    assert set_out(stage) == [1, 4]
    work(job, Silent(LocalStorage(job.directory)))
    assert set_out(stage) == [2, 3], "1 and 4 wait to be tried again, and nobody is at work"
    assert set_out(stage) == [2, 3], "those two are under way"


def test_what_is_gone_leaving_or_of_a_deleted_job_is_not_looked_at(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 3)
    _completed_at(stage, now() - 2 * DAY)
    with stage.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(discarded_at=now()))
    job.send("DELETE", 2, status=202)
    assert set_out(stage) == [3]
    asked(stage)
    stage.send("DELETE", f"/jobs/{job.job_id}", status=204, headers={"If-Match": "*"})
    assert set_out(stage, DAY) == []
