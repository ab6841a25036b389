"""Garbage collection of expired checkpoints by a worker, with a real job log and real files. Jobs that run are left out."""

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


def assert_all_kept_are_intact(job: StoredJob) -> None:
    for number in job.kept():
        assert verify(LocalStorage(job.directory), JobLayout("played"), CheckpointId(number)).intact


def test_expired_checkpoints_of_a_suspended_job_are_deleted_with_their_files(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    before = job.view()
    job.collect_garbage()
    assert job.kept() == [4, 5] and job.discarded() == [1, 2, 3]
    assert [job.files_of(number) for number in (1, 2, 3)] == [[], [], []] and len(job.files_of(4)) == 2
    assert_all_kept_are_intact(job)
    view = job.view()
    assert view.generations[-1].purpose is Purpose.MAINTENANCE and view.generation == 2
    assert (view.branch, view.abandonment_due, view.highest_checkpoint) == (before.branch, (), before.highest_checkpoint)
    assert job.events_of("CheckpointsDeleted") == [{"checkpoints": [1, 2, 3], "requested": [], "deletion_problem": None}]


def test_a_second_garbage_collection_changes_nothing(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    job.collect_garbage()
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.view().generation == 2 and len(job.events_of("CheckpointsDeleted")) == 1


def test_checkpoints_of_a_running_job_are_deleted_only_by_its_driver(stage: Stage) -> None:
    job = StoredJob.running(stage, 5, retained=2)
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.kept() == [1, 2, 3, 4, 5] and job.discarded() == []
    job.run.append(retired(job.run.generation, 1, 2))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.discarded() == [1, 2] and job.events_of("CheckpointsDeleted") == []


def test_a_paused_driver_is_fenced_by_the_garbage_collection(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    zombie = job.run
    job.collect_garbage()
    with pytest.raises(Superseded):
        zombie.complete(6)
    assert job.kept() == [4, 5]


def test_the_next_run_resumes_from_the_newest_checkpoint_with_the_next_generation(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    job.collect_garbage()
    job.start_again()
    assert job.view().generation == 3 and job.view().abandoned_by(CheckpointId(5)) == ()
    job.complete(6)
    assert job.kept() == [4, 5, 6] and job.row(6).parent == 5
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [5, 6]


def test_pinned_checkpoints_savepoints_and_targets_of_plans_are_kept(stage: Stage) -> None:
    job = StoredJob.running(stage, 4, retained=1)
    job.complete(5, savepoint=True)
    for number in (6, 7):
        job.complete(number)
    job.pin(2)
    job.suspend()
    plan = {"request": {"kind": "rollback", "checkpoint": 3}}
    stage.send("POST", f"/jobs/{job.job_id}/plans", status=201, json=plan)
    job.collect_garbage()
    assert job.kept() == [2, 3, 5, 7], "pin, target of the plan, savepoint and newest checkpoint are kept"
    with stage.database.session() as session:
        session.execute(update(RecoveryPlan).values(created_at=now() - timedelta(days=2)))
    job.collect_garbage()
    assert job.kept() == [2, 5, 7], "a plan that is too old to be applied keeps no checkpoint"


def test_a_checkpoint_is_kept_until_its_output_is_known_to_be_published(stage: Stage) -> None:
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


def test_expired_checkpoints_of_a_cancelled_job_are_deleted(stage: Stage) -> None:
    job = StoredJob.running(stage, 5, retained=2)
    stage.send("POST", f"/jobs/{job.job_id}/cancel", status=202)
    stage.reconcile(job.job_id)
    assert job.driver.commands() == ["Cancel"]
    job.driver.report_state(DriverState.CANCELED)
    job.collect_garbage()
    assert job.kept() == [4, 5]


def test_checkpoints_are_kept_while_a_restart_is_scheduled_but_not_after_restarts_stopped(stage: Stage) -> None:
    job = StoredJob.running(stage, 5, retained=2)
    job.driver.crash()
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5]
    end_restart_delay(stage, job.job_id)
    stage.driver(job.job_id).report_state(DriverState.FAILED, "the state is not compatible", "RestoreError")
    assert stage.job(job.job_id)["health"] == "needs_attention"
    job.collect_garbage()
    assert job.kept() == [4, 5]


def test_the_checkpoint_that_an_undo_would_restore_is_kept(stage: Stage) -> None:
    job = StoredJob.running(stage, 3, retained=1)
    plan_id = stage.send(
        "POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": {"kind": "rollback", "checkpoint": 2}}
    )["id"]
    _apply(stage, job, plan_id, last=4)
    job.take_next_generation(restored_from=2)
    assert stage.send("GET", f"/plans/{plan_id}", status=200)["safety_checkpoint"] == 4
    for number in (5, 6):
        job.complete(number)
    # The sinks have revoked the output of checkpoints 3 and 4.
    job.run.append(abandoned(job.run.generation, "b1", 2, 3, 4))
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [2, 3, 4, 6], "the newest checkpoint, the abandoned branch and its branch point are kept"
    assert job.send("DELETE", 4, status=409)["code"] == "referenced"
    undo = stage.send("POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": {"kind": "undo", "plan": plan_id}})
    assert undo["preview"]["checkpoint"] == 4


def _apply(stage: Stage, job: StoredJob, plan_id: int, *, last: int) -> None:
    """Apply the plan until its driver has suspended with checkpoint ``last``."""
    stage.inspect(plan_id)
    stage.send("POST", f"/plans/{plan_id}/approve", status=200)
    stage.send("POST", f"/plans/{plan_id}/apply", status=202)
    stage.reconcile(job.job_id)
    stage.inspect(plan_id)
    assert job.driver.commands() == ["Suspend"]
    job.complete(last)
    job.driver.report_state(DriverState.SUSPENDED)


# ---- concurrent changes ------------------------------------------------------------------------


def plan_gc(job: StoredJob) -> tuple[retention_gc.GcTarget, retention_gc.GcWork]:
    """Plan a garbage collection as a worker does, without executing it. Return its target and its work."""
    with job.stage.database.session() as session:
        at = retention_gc.gc_target(session, job.job_id)
    assert at is not None
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    found = facts(seen, retained=at.retained, asked=at.asked)
    with job.stage.database.session() as session:
        work = retention_gc.plan_gc(session, job.stage.settings, job.stage.tasks, job.job_id, at.place, found)
    assert work is not None
    return at, work


def test_a_job_that_is_started_during_garbage_collection_waits_for_its_end(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    at, work = plan_gc(job)
    stage.send("POST", f"/jobs/{job.job_id}/start", status=202)
    stage.reconcile(job.job_id)
    assert stage.job(job.job_id)["run"]["number"] == 1, "the start waits for the garbage collection"
    with stage.database.session() as session:
        retention_gc.finish_gc(session, stage.tasks, job.job_id, at.place, work, retired=(), deletion_problem=None)
    stage.reconcile(job.job_id)
    assert stage.job(job.job_id)["run"]["number"] == 2


def test_a_job_whose_worker_crashed_starts_after_the_lease(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    plan_gc(job)
    stage.send("POST", f"/jobs/{job.job_id}/start", status=202)
    stage.reconcile(job.job_id)
    with stage.database.session() as session:
        waiting = session.get_one(Job, job.job_id)
        assert waiting.next_reconcile_at is not None and waiting.next_reconcile_at <= now() + retention_gc.GC_LEASE
    job.expire_lease()
    stage.reconcile(job.job_id)
    assert stage.job(job.job_id)["run"]["number"] == 2


def test_a_second_worker_does_nothing_while_the_first_collects_garbage(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    plan_gc(job)
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.kept() == [1, 2, 3, 4, 5]


def test_a_checkpoint_that_is_being_deleted_cannot_be_restored_or_pinned(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    plan_gc(job)
    request = {"request": {"kind": "rollback", "checkpoint": 2}}
    assert stage.send("POST", f"/jobs/{job.job_id}/plans", status=409, json=request)["code"] == "being-deleted"
    assert job.pin(2, status=409)["code"] == "being-deleted"


def test_a_worker_that_was_paused_until_the_job_runs_again_deletes_nothing(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    at, work = plan_gc(job)
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    job.expire_lease()
    job.start_again()
    before = job.run.paths()
    asked = 0

    def may_continue() -> bool:
        nonlocal asked
        asked += 1
        with stage.database.session() as session:
            return retention_gc.may_continue(session, job.job_id, work)

    assert collect(seen, work.decided, may_continue=may_continue).retired == frozenset() and asked == 1
    # The job log also fences a worker that does not call may_continue.
    assert collect(seen, work.decided, may_continue=lambda: True).retired == frozenset()
    assert job.run.paths() == before and job.kept() == [1, 2, 3, 4, 5]
    job.complete(6)


def test_a_concurrent_log_entry_ends_the_garbage_collection_before_a_retirement(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    at, work = plan_gc(job)
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    calls = 0

    def append_other_entry() -> bool:
        nonlocal calls
        calls += 1
        if calls == 2:
            view, number = JobLog(LocalStorage(job.directory), JobLayout("played")).read()
            fence = started(view.generation + 1, restored_from=5, branch=view.branch, first_checkpoint=view.next_checkpoint)
            JobLog(LocalStorage(job.directory), JobLayout("played")).append(fence, at=number)
        return True

    found = collect(seen, work.decided, may_continue=append_other_entry)
    assert found.retired == frozenset() and job.kept() == [1, 2, 3, 4, 5]


def test_a_generation_that_is_unknown_to_the_control_plane_is_not_fenced(stage: Stage) -> None:
    """A user runs the job without the control plane, with the same checkpoint directory."""
    job = StoredJob.suspended(stage, 5, retained=2)
    job.run.start(2, restored_from=5)
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5] and job.view().generation == 2


def test_checkpoints_of_two_jobs_that_share_a_job_log_are_kept(stage: Stage, tmp_path: Path) -> None:
    directory = str(tmp_path / "shared")
    job = StoredJob.suspended(stage, 5, retained=2, directory=directory)
    other = stage.deploy("other")["id"]
    stage.compile(other)
    with stage.database.session() as session:
        # Such a deployment is refused, but moved directories can have the same effect.
        session.execute(update(Run).where(Run.job_id == other).values(checkpoint_directory=directory))
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5]
    assert "Job 'other'" in job.send("DELETE", 2, status=409)["detail"]


def test_a_missing_directory_does_not_mark_checkpoints_as_deleted(stage: Stage, tmp_path: Path) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    storage = CrashingStorage(LocalStorage(str(tmp_path / "not mounted")))
    job.collect_garbage(storage)
    assert job.discarded() == [] and storage.changes == 0


def test_no_checkpoint_is_deleted_if_the_job_log_cannot_be_read(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    Path(job.directory, "played", "log", "00000003.json").write_text("{}")
    job.collect_garbage()
    assert job.discarded() == [] and all(len(job.files_of(number)) == 2 for number in range(1, 6))


def test_files_are_kept_while_a_manifest_that_possibly_references_them_cannot_be_read(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 5, retained=2)
    manifest = Path(job.directory, "played", "checkpoints", "4", "manifest-g1.json")
    content = manifest.read_bytes()
    manifest.write_bytes(b"{")
    job.collect_garbage()
    assert job.kept() == [4, 5] and job.discarded() == [1, 2, 3]
    [event] = job.events_of("CheckpointsDeleted")
    assert "manifest" in event["deletion_problem"] and len(job.files_of(1)) == 2, "checkpoint 1 is retired, but its files remain"
    manifest.write_bytes(content)
    job.start_again()
    for number in (6, 7):
        job.complete(number)
    job.suspend()
    job.collect_garbage()
    assert [job.files_of(number) for number in (1, 2, 3, 4, 5)] == [[]] * 5
    assert_all_kept_are_intact(job)


# ---- schedule ----------------------------------------------------------------------------------


def test_garbage_collection_of_a_job_is_enqueued_once_per_interval(stage: Stage) -> None:
    job = StoredJob.suspended(stage, 1)
    never_run = stage.deploy("idle")["id"]

    def enqueued(after: timedelta) -> list[tuple[int | str, ...]]:
        stage.tasks.enqueued.clear()
        with stage.database.session() as session:
            retention_gc.enqueue_due(session, stage.tasks, now() + after)
        return [arguments for name, arguments in stage.tasks.enqueued if name == COLLECT_GARBAGE]

    assert enqueued(timedelta()) == [(job.job_id,)] and never_run != job.job_id
    assert enqueued(timedelta()) == []
    assert enqueued(retention_gc.GC_INTERVAL + timedelta(seconds=1)) == [(job.job_id,)]


def test_checkpoints_of_another_directory_are_not_marked_as_deleted(stage: Stage, tmp_path: Path) -> None:
    job = StoredJob.suspended(stage, 3, retained=3)
    job.start_again()
    job.complete(4)
    job.suspend()
    job.run.append(retired(job.run.generation, 1, 2))
    with stage.database.session() as session:
        session.execute(update(Run).where(Run.number == 1).values(checkpoint_directory=str(tmp_path / "elsewhere")))
    job.collect_garbage()
    assert job.discarded() == [], "the checkpoints of run 1 are in another directory with another job log"
    assert job.send("DELETE", 3, status=409)["code"] == "directory-changed"
