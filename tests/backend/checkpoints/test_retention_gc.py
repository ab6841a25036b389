"""Checkpoints of a job that does not run are let go of by age, with a real log and real files; and those of one that runs are left alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.backend.played import Stage, end_restart_delay
from tests.backend.stored import CrashingStorage, StoredJob
from tests.unit.storage.storage_builders import abandoned, retired, started

from weir.errors import Superseded
from weir.protocol.events import DriverState
from weir.protocol.ids import CheckpointId
from weir.protocol.job_log import Purpose
from weir.storage.inspection import verify
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
from weir_backend.checkpoints import retention_gc
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import COLLECT_GARBAGE
from weir_backend.models import Job, RecoveryPlan, Run
from weir_workers.checkpoints.retention_gc import collect, facts, open_job_storage


def assert_all_kept_are_whole(job: StoredJob) -> None:
    for number in job.kept():
        assert verify(LocalStorage(job.directory), JobLayout("played"), CheckpointId(number)).intact


def test_of_a_suspended_job_what_is_beyond_its_retention_goes_with_its_files(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    before = job.view()
    job.collect_garbage()
    assert job.kept() == [4, 5] and job.discarded() == [1, 2, 3]
    assert [job.files_of(number) for number in (1, 2, 3)] == [[], [], []] and len(job.files_of(4)) == 2
    assert_all_kept_are_whole(job)
    view = job.view()
    assert view.generations[-1].purpose is Purpose.MAINTENANCE and view.generation == 2
    assert (view.branch, view.abandonment_due, view.highest_checkpoint) == (before.branch, (), before.highest_checkpoint)
    assert job.events_of("CheckpointsDeleted") == [{"checkpoints": [1, 2, 3], "requested": [], "deletion_problem": None}]


def test_a_second_look_finds_nothing_to_do_and_takes_no_generation(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    job.collect_garbage()
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.view().generation == 2 and len(job.events_of("CheckpointsDeleted")) == 1


def test_of_a_running_job_nothing_is_touched_and_what_its_driver_retires_is_seen(stage: Stage) -> None:
    job = StoredJob.running(stage, 5, retained=2)
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.kept() == [1, 2, 3, 4, 5] and job.discarded() == []
    job.run.append(retired(job.run.generation, 1, 2))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.discarded() == [1, 2] and job.events_of("CheckpointsDeleted") == []


def test_a_driver_that_was_only_paused_can_complete_nothing_any_more(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    zombie = job.run
    job.collect_garbage()
    with pytest.raises(Superseded):
        zombie.complete(6)
    assert job.kept() == [4, 5]


def test_the_next_run_goes_on_from_the_newest_and_its_driver_takes_the_generation_after(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    job.collect_garbage()
    job.start_again()
    assert job.view().generation == 3 and job.view().abandoned_by(CheckpointId(5)) == ()
    job.complete(6)
    assert job.kept() == [4, 5, 6] and job.row(6).parent == 5
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [5, 6]


def test_a_pin_a_savepoint_and_a_plan_each_keep_one(stage: Stage) -> None:
    job = StoredJob.running(stage, 4, retained=1)
    job.complete(5, savepoint=True)
    for number in (6, 7):
        job.complete(number)
    job.pin(2)
    job.suspend()
    plan = {"request": {"kind": "rollback", "checkpoint": 3}}
    stage.send("POST", f"/jobs/{job.job_id}/plans", status=201, json=plan)
    job.collect_garbage()
    assert job.kept() == [2, 3, 5, 7], "the pinned one, the plan's, the savepoint and the newest"
    with stage.database.session() as session:
        session.execute(update(RecoveryPlan).values(created_at=now() - timedelta(days=2)))
    job.collect_garbage()
    assert job.kept() == [2, 5, 7], "a plan that is too old to be applied holds nothing"


def test_what_is_not_known_to_be_published_stays_until_it_is(stage: Stage) -> None:
    job = StoredJob.running(stage, 2, retained=1)
    job.run.published_up_to = 1
    job.complete(3)
    job.complete(4)
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [2, 3, 4]
    job.start_again()
    job.complete(5)
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [5]


def test_a_cancelled_job_keeps_what_a_suspended_one_does(stage: Stage) -> None:
    job = StoredJob.running(stage, 5, retained=2)
    stage.send("POST", f"/jobs/{job.job_id}/cancel", status=202)
    stage.reconcile(job.job_id)
    assert job.driver.commands() == ["Cancel"]
    job.driver.report_state(DriverState.CANCELED)
    job.collect_garbage()
    assert job.kept() == [4, 5]


def test_a_job_that_waits_for_its_restart_is_left_alone_and_one_that_gave_up_is_not(stage: Stage) -> None:
    job = StoredJob.running(stage, 5, retained=2)
    job.driver.crash()
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5]
    end_restart_delay(stage, job.job_id)
    stage.driver(job.job_id).report_state(DriverState.FAILED, "it does not fit", "RestoreError")
    assert stage.job(job.job_id)["health"] == "needs_attention"
    job.collect_garbage()
    assert job.kept() == [4, 5]


def test_the_checkpoint_that_an_undo_would_return_to_stays_until_it_is_undone(stage: Stage) -> None:
    job = StoredJob.running(stage, 3, retained=1)
    plan_id = stage.send(
        "POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": {"kind": "rollback", "checkpoint": 2}}
    )["id"]
    _apply(stage, job, plan_id, last=4)
    job.take_next_generation(restored_from=2)
    assert stage.send("GET", f"/plans/{plan_id}", status=200)["safety_checkpoint"] == 4
    for number in (5, 6):
        job.complete(number)
    # As the sinks have taken it back.
    job.run.append(abandoned(job.run.generation, "b1", 2, 3, 4))
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [2, 3, 4, 6], "the newest, all that was left behind, and where that branched off"
    assert job.send("DELETE", 4, status=409)["code"] == "referenced"
    undo = stage.send("POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": {"kind": "undo", "plan": plan_id}})
    assert undo["preview"]["checkpoint"] == 4


def _apply(stage: Stage, job: StoredJob, plan_id: int, *, last: int) -> None:
    """Up to where the run that goes back is begun."""
    stage.inspect(plan_id)
    stage.send("POST", f"/plans/{plan_id}/approve", status=200)
    stage.send("POST", f"/plans/{plan_id}/apply", status=202)
    stage.reconcile(job.job_id)
    stage.inspect(plan_id)
    assert job.driver.commands() == ["Suspend"]
    job.complete(last)
    job.driver.report_state(DriverState.SUSPENDED)


# ---- who comes in between ----------------------------------------------------------------------


def begun(job: StoredJob) -> tuple[retention_gc.GcTarget, retention_gc.GcWork]:
    """What a worker is to do who has got as far as that."""
    with job.stage.database.session() as session:
        at = retention_gc.gc_target(session, job.job_id)
    assert at is not None
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    found = facts(seen, retained=at.retained, asked=at.asked)
    with job.stage.database.session() as session:
        going = retention_gc.plan_gc(session, job.stage.settings, job.stage.tasks, job.job_id, at.place, found)
    assert going is not None
    return at, going


def test_a_job_that_is_started_meanwhile_begins_once_the_worker_is_done(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    at, going = begun(job)
    stage.send("POST", f"/jobs/{job.job_id}/start", status=202)
    stage.reconcile(job.job_id)
    assert stage.job(job.job_id)["run"]["number"] == 1, "it waits"
    with stage.database.session() as session:
        retention_gc.finish_gc(session, stage.tasks, job.job_id, at.place, going, gone=(), deletion_problem=None)
    stage.reconcile(job.job_id)
    assert stage.job(job.job_id)["run"]["number"] == 2


def test_a_job_whose_worker_has_died_begins_all_the_same(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    begun(job)
    stage.send("POST", f"/jobs/{job.job_id}/start", status=202)
    stage.reconcile(job.job_id)
    with stage.database.session() as session:
        waiting = session.get_one(Job, job.job_id)
        assert waiting.next_reconcile_at is not None and waiting.next_reconcile_at <= now() + retention_gc.GC_LEASE
    job.expire_lease()
    stage.reconcile(job.job_id)
    assert stage.job(job.job_id)["run"]["number"] == 2


def test_a_second_worker_does_nothing_while_the_first_is_at_it(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    begun(job)
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.kept() == [1, 2, 3, 4, 5]


def test_a_plan_cannot_go_back_to_what_is_leaving(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    begun(job)
    request = {"request": {"kind": "rollback", "checkpoint": 2}}
    assert stage.send("POST", f"/jobs/{job.job_id}/plans", status=409, json=request)["code"] == "being-deleted"
    assert job.pin(2, status=409)["code"] == "being-deleted"


def test_a_worker_that_was_paused_until_another_driver_has_the_job_deletes_nothing(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    at, going = begun(job)
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    job.expire_lease()
    job.start_again()
    before = job.run.paths()
    asked = 0

    def may_continue() -> bool:
        nonlocal asked
        asked += 1
        with stage.database.session() as session:
            return retention_gc.may_continue(session, job.job_id, going)

    assert collect(seen, going.decided, may_continue=may_continue).gone == frozenset() and asked == 1
    # Even one that did not ask: the log does not let it.
    assert collect(seen, going.decided, may_continue=lambda: True).gone == frozenset()
    assert job.run.paths() == before and job.kept() == [1, 2, 3, 4, 5]
    job.complete(6)


def test_an_entry_of_somebody_else_in_between_ends_it_before_anything_is_retired(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    at, going = begun(job)
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    times = 0

    def another_writes() -> bool:
        nonlocal times
        times += 1
        if times == 2:
            view, number = JobLog(LocalStorage(job.directory), JobLayout("played")).read()
            fence = started(view.generation + 1, restored_from=5, branch=view.branch, first_checkpoint=view.next_checkpoint)
            JobLog(LocalStorage(job.directory), JobLayout("played")).append(fence, at=number)
        return True

    found = collect(seen, going.decided, may_continue=another_writes)
    assert found.gone == frozenset() and job.kept() == [1, 2, 3, 4, 5]


def test_a_generation_that_nobody_has_told_of_is_not_fenced(stage: Stage) -> None:
    """Somebody runs the job by hand with the same directory."""
    job = StoredJob.suspended(stage, 5, retained=2)
    job.run.start(2, restored_from=5)
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5] and job.view().generation == 2


def test_two_jobs_with_one_log_are_left_alone(stage: Stage, tmp_path: Path) -> None:
    directory = str(tmp_path / "shared")
    job = StoredJob.suspended(stage, 5, retained=2, directory=directory)
    other = stage.deploy("other")["id"]
    stage.compile(other)
    with stage.database.session() as session:
        # Deploying it like that is refused; who moves directories about has it all the same.
        session.execute(update(Run).where(Run.job_id == other).values(checkpoint_directory=directory))
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5]
    assert "Job 'other'" in job.send("DELETE", 2, status=409)["detail"]


def test_a_directory_that_is_not_there_says_nothing_of_any_checkpoint(stage: Stage, tmp_path: Path) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    storage = CrashingStorage(LocalStorage(str(tmp_path / "not mounted")))
    job.collect_garbage(storage)
    assert job.discarded() == [] and storage.changes == 0


def test_a_log_that_cannot_be_read_lets_nothing_go(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    Path(job.directory, "played", "log", "00000003.json").write_text("{}")
    job.collect_garbage()
    assert job.discarded() == [] and all(len(job.files_of(number)) == 2 for number in range(1, 6))


def test_a_manifest_that_cannot_be_read_does_not_let_files_go_that_it_may_need(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    manifest = Path(job.directory, "played", "checkpoints", "4", "manifest-g1.json")
    whole = manifest.read_bytes()
    manifest.write_bytes(b"{")
    job.collect_garbage()
    assert job.kept() == [4, 5] and job.discarded() == [1, 2, 3]
    [said] = job.events_of("CheckpointsDeleted")
    assert "manifest" in said["deletion_problem"] and len(job.files_of(1)) == 2, "retired, and their files are there"
    manifest.write_bytes(whole)
    job.start_again()
    for number in (6, 7):
        job.complete(number)
    job.suspend()
    job.collect_garbage()
    assert [job.files_of(number) for number in (1, 2, 3, 4, 5)] == [[]] * 5
    assert_all_kept_are_whole(job)


# ---- who is asked ------------------------------------------------------------------------------


def test_each_job_is_looked_at_from_time_to_time_and_not_all_the_time(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 1)
    never_run = stage.deploy("idle")["id"]

    def asked(after: timedelta) -> list[tuple[int | str, ...]]:
        stage.tasks.enqueued.clear()
        with stage.database.session() as session:
            retention_gc.enqueue_due(session, stage.tasks, now() + after)
        return [arguments for name, arguments in stage.tasks.enqueued if name == COLLECT_GARBAGE]

    assert asked(timedelta()) == [(job.job_id,)] and never_run != job.job_id
    assert asked(timedelta()) == []
    assert asked(retention_gc.GC_INTERVAL + timedelta(seconds=1)) == [(job.job_id,)]


def test_a_row_of_another_directory_is_not_called_discarded(stage: Stage, tmp_path: Path) -> None:
    job = StoredJob.suspended(stage, 3, retained=3)
    job.start_again()
    job.complete(4)
    job.suspend()
    job.run.append(retired(job.run.generation, 1, 2))
    with stage.database.session() as session:
        session.execute(update(Run).where(Run.number == 1).values(checkpoint_directory=str(tmp_path / "elsewhere")))
    job.collect_garbage()
    assert job.discarded() == [], "these numbers of another log are not the ones that were completed there"
    assert job.send("DELETE", 3, status=409)["code"] == "directory-changed"
