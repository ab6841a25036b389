"""Garbage collection of expired checkpoints by a worker, with a real job log and real files. Garbage collection skips running jobs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.backend.fake_workers import Platform, end_restart_delay
from tests.backend.stored_job import CrashingStorage, StoredJob
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
        assert verify(LocalStorage(job.directory), JobLayout("orders"), CheckpointId(number)).intact


def test_expired_checkpoints_of_a_suspended_job_are_deleted_with_their_files(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    before = job.view()
    job.collect_garbage()
    assert job.kept() == [4, 5] and job.discarded() == [1, 2, 3]
    assert [job.files_of(number) for number in (1, 2, 3)] == [[], [], []] and len(job.files_of(4)) == 2
    assert_all_kept_are_intact(job)
    view = job.view()
    assert view.generations[-1].purpose is Purpose.MAINTENANCE and view.generation == 2
    assert (view.branch, view.abandonment_due, view.highest_checkpoint) == (before.branch, (), before.highest_checkpoint)
    assert job.events_of("CheckpointsDeleted") == [{"checkpoints": [1, 2, 3], "requested": [], "deletion_problem": None}]


def test_a_second_garbage_collection_changes_nothing(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    job.collect_garbage()
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.view().generation == 2 and len(job.events_of("CheckpointsDeleted")) == 1


def test_only_the_driver_of_a_running_job_deletes_checkpoints_of_this_job(platform: Platform) -> None:
    job = StoredJob.running(platform, 5, retained=2)
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.kept() == [1, 2, 3, 4, 5] and job.discarded() == []
    job.run.append(retired(job.run.generation, 1, 2))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.discarded() == [1, 2] and job.events_of("CheckpointsDeleted") == []


def test_garbage_collection_fences_a_paused_driver(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    zombie = job.run
    job.collect_garbage()
    with pytest.raises(Superseded):
        zombie.complete(6)
    assert job.kept() == [4, 5]


def test_the_next_run_resumes_from_the_newest_checkpoint_with_the_next_generation(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    job.collect_garbage()
    job.start_again()
    assert job.view().generation == 3 and job.view().abandoned_by(CheckpointId(5)) == ()
    job.complete(6)
    assert job.kept() == [4, 5, 6] and job.row(6).parent == 5
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [5, 6]


def test_pinned_checkpoints_savepoints_and_targets_of_plans_are_kept(platform: Platform) -> None:
    job = StoredJob.running(platform, 4, retained=1)
    job.complete(5, savepoint=True)
    for number in (6, 7):
        job.complete(number)
    job.pin(2)
    job.suspend()
    plan = {"request": {"kind": "rollback", "checkpoint": 3}}
    platform.send("POST", f"/jobs/{job.job_id}/plans", status=201, json=plan)
    job.collect_garbage()
    assert job.kept() == [2, 3, 5, 7], (
        "the pinned checkpoint, the plan's target, the savepoint and the newest checkpoint are kept"
    )
    with platform.database.session() as session:
        session.execute(update(RecoveryPlan).values(created_at=now() - timedelta(days=2)))
    job.collect_garbage()
    assert job.kept() == [2, 5, 7], "the target of a plan that is too old to be applied is not kept"


def test_a_checkpoint_is_kept_until_its_output_is_known_to_be_published(platform: Platform) -> None:
    job = StoredJob.running(platform, 2, retained=1)
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


def test_expired_checkpoints_of_a_cancelled_job_are_deleted(platform: Platform) -> None:
    job = StoredJob.running(platform, 5, retained=2)
    platform.send("POST", f"/jobs/{job.job_id}/cancel", status=202)
    platform.reconcile(job.job_id)
    assert job.driver.commands() == ["Cancel"]
    job.driver.report_state(DriverState.CANCELED)
    job.collect_garbage()
    assert job.kept() == [4, 5]


def test_checkpoints_are_kept_while_a_restart_is_scheduled_but_not_after_restarts_have_stopped(platform: Platform) -> None:
    job = StoredJob.running(platform, 5, retained=2)
    job.driver.crash()
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5]
    end_restart_delay(platform, job.job_id)
    platform.driver(job.job_id).report_state(DriverState.FAILED, "the state is not compatible", "RestoreError")
    assert platform.job(job.job_id)["health"] == "needs_attention"
    job.collect_garbage()
    assert job.kept() == [4, 5]


def test_the_checkpoint_that_an_undo_would_restore_is_kept(platform: Platform) -> None:
    job = StoredJob.running(platform, 3, retained=1)
    plan_id = platform.send(
        "POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": {"kind": "rollback", "checkpoint": 2}}
    )["id"]
    _apply(platform, job, plan_id, last=4)
    job.take_next_generation(restored_from=2)
    assert platform.send("GET", f"/plans/{plan_id}", status=200)["safety_checkpoint"] == 4
    for number in (5, 6):
        job.complete(number)
    # The sinks have revoked the output of checkpoints 3 and 4.
    job.run.append(abandoned(job.run.generation, "b1", 2, 3, 4))
    job.suspend()
    job.collect_garbage()
    assert job.kept() == [2, 3, 4, 6], "the newest checkpoint, the abandoned branch and its branch point are kept"
    assert job.send("DELETE", 4, status=409)["code"] == "referenced"
    undo = platform.send("POST", f"/jobs/{job.job_id}/plans", status=201, json={"request": {"kind": "undo", "plan": plan_id}})
    assert undo["preview"]["checkpoint"] == 4


def _apply(platform: Platform, job: StoredJob, plan_id: int, *, last: int) -> None:
    """Apply the plan until the job is suspended. The suspension takes checkpoint ``last``."""
    platform.inspect(plan_id)
    platform.approve(plan_id)
    platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job.job_id)
    platform.inspect(plan_id)
    assert job.driver.commands() == ["Suspend"]
    job.complete(last)
    job.driver.report_state(DriverState.SUSPENDED)


# ---- concurrent changes ------------------------------------------------------------------------


def plan_gc(job: StoredJob) -> tuple[retention_gc.GcTarget, retention_gc.GcWork]:
    """Plan a garbage collection as a worker does, but do not execute the plan. Return the ``GcTarget`` and the
    ``GcWork`` of the collection."""
    with job.platform.database.session() as session:
        at = retention_gc.gc_target(session, job.job_id)
    assert at is not None
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    found = facts(seen, retained=at.retained, asked=at.asked)
    with job.platform.database.session() as session:
        work = retention_gc.plan_gc(session, job.platform.settings, job.platform.tasks, job.job_id, at.place, found)
    assert work is not None
    return at, work


def test_a_start_of_a_job_during_garbage_collection_waits_until_the_garbage_collection_ends(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    at, work = plan_gc(job)
    platform.send("POST", f"/jobs/{job.job_id}/start", status=202)
    platform.reconcile(job.job_id)
    assert platform.job(job.job_id)["run"]["number"] == 1, "the start waits for the garbage collection"
    with platform.database.session() as session:
        retention_gc.finish_gc(session, platform.tasks, job.job_id, at.place, work, retired=(), deletion_problem=None)
    platform.reconcile(job.job_id)
    assert platform.job(job.job_id)["run"]["number"] == 2


def test_a_job_starts_after_the_lease_of_a_crashed_worker_has_expired(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    plan_gc(job)
    platform.send("POST", f"/jobs/{job.job_id}/start", status=202)
    platform.reconcile(job.job_id)
    with platform.database.session() as session:
        waiting = session.get_one(Job, job.job_id)
        assert waiting.next_reconcile_at is not None and waiting.next_reconcile_at <= now() + retention_gc.GC_LEASE
    job.expire_lease()
    platform.reconcile(job.job_id)
    assert platform.job(job.job_id)["run"]["number"] == 2


def test_a_second_worker_does_nothing_while_the_first_worker_collects_garbage(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    plan_gc(job)
    storage = CrashingStorage(LocalStorage(job.directory))
    job.collect_garbage(storage)
    assert storage.changes == 0 and job.kept() == [1, 2, 3, 4, 5]


def test_a_checkpoint_that_is_being_deleted_cannot_be_restored_or_pinned(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    plan_gc(job)
    request = {"request": {"kind": "rollback", "checkpoint": 2}}
    assert platform.send("POST", f"/jobs/{job.job_id}/plans", status=409, json=request)["code"] == "being-deleted"
    assert job.pin(2, status=409)["code"] == "being-deleted"


def test_a_worker_deletes_nothing_if_the_job_was_started_again_while_the_worker_was_paused(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    at, work = plan_gc(job)
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    job.expire_lease()
    job.start_again()
    before = job.run.paths()
    asked = 0

    def may_continue() -> bool:
        nonlocal asked
        asked += 1
        with platform.database.session() as session:
            return retention_gc.may_continue(session, job.job_id, work)

    assert collect(seen, work.decided, may_continue=may_continue).retired == frozenset() and asked == 1
    # The job log fences the worker even if may_continue returns True.
    assert collect(seen, work.decided, may_continue=lambda: True).retired == frozenset()
    assert job.run.paths() == before and job.kept() == [1, 2, 3, 4, 5]
    job.complete(6)


def test_garbage_collection_retires_nothing_if_another_process_has_appended_to_the_job_log(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    at, work = plan_gc(job)
    seen = open_job_storage(LocalStorage(job.directory), at.place)
    calls = 0

    def append_other_entry() -> bool:
        nonlocal calls
        calls += 1
        if calls == 2:
            view, number = JobLog(LocalStorage(job.directory), JobLayout("orders")).read()
            fence = started(view.generation + 1, restored_from=5, branch=view.branch, first_checkpoint=view.next_checkpoint)
            JobLog(LocalStorage(job.directory), JobLayout("orders")).append(fence, at=number)
        return True

    found = collect(seen, work.decided, may_continue=append_other_entry)
    assert found.retired == frozenset() and job.kept() == [1, 2, 3, 4, 5]


def test_a_generation_that_is_unknown_to_the_control_plane_is_not_fenced(platform: Platform) -> None:
    """A user runs the job without the control plane, with the same checkpoint directory."""
    job = StoredJob.suspended(platform, 5, retained=2)
    job.run.start(2, restored_from=5)
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5] and job.view().generation == 2


def test_checkpoints_of_two_jobs_that_share_a_job_log_are_kept(platform: Platform, tmp_path: Path) -> None:
    directory = str(tmp_path / "shared")
    job = StoredJob.suspended(platform, 5, retained=2, directory=directory)
    other = platform.deploy("other")["id"]
    platform.compile(other)
    with platform.database.session() as session:
        # The API refuses to deploy two jobs with the same directory. Two jobs can still share a directory
        # after the directory of one job was moved.
        session.execute(update(Run).where(Run.job_id == other).values(checkpoint_directory=directory))
    job.collect_garbage()
    assert job.kept() == [1, 2, 3, 4, 5]
    assert "Job 'other'" in job.send("DELETE", 2, status=409)["detail"]


def test_two_jobs_that_share_a_directory_are_detected_even_if_the_name_of_the_directory_begins_with_the_default_name(
    platform: Platform,
) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    other = platform.deploy("other")["id"]
    platform.compile(other)
    default = Path(job.directory)
    with platform.database.session() as session:
        directory = default.parent.with_name(f"{default.parent.name}-copy") / default.name
        session.execute(update(Run).where(Run.job_id.in_([job.job_id, other])).values(checkpoint_directory=str(directory)))
    assert "Job 'other'" in job.send("DELETE", 2, status=409)["detail"]


def test_checkpoints_are_not_marked_as_deleted_if_their_directory_is_missing(platform: Platform, tmp_path: Path) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    storage = CrashingStorage(LocalStorage(str(tmp_path / "not mounted")))
    job.collect_garbage(storage)
    assert job.discarded() == [] and storage.changes == 0


def test_no_checkpoint_is_deleted_if_the_job_log_cannot_be_read(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    Path(job.directory, "orders", "log", "00000003.json").write_text("{}")
    job.collect_garbage()
    assert job.discarded() == [] and all(len(job.files_of(number)) == 2 for number in range(1, 6))


def test_files_are_kept_while_a_manifest_that_possibly_references_them_cannot_be_read(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 5, retained=2)
    manifest = Path(job.directory, "orders", "checkpoints", "4", "manifest-g1.json")
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


def test_garbage_collection_of_a_job_is_enqueued_at_most_once_per_interval(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 1)
    never_run = platform.deploy("idle")["id"]

    def enqueued(after: timedelta) -> list[tuple[int | str, ...]]:
        platform.tasks.enqueued.clear()
        with platform.database.session() as session:
            retention_gc.enqueue_due(session, platform.tasks, now() + after)
        return [arguments for name, arguments in platform.tasks.enqueued if name == COLLECT_GARBAGE]

    assert enqueued(timedelta()) == [(job.job_id,)] and never_run != job.job_id
    assert enqueued(timedelta()) == []
    assert enqueued(retention_gc.GC_INTERVAL + timedelta(seconds=1)) == [(job.job_id,)]


def test_checkpoints_in_another_directory_are_not_marked_as_deleted(platform: Platform, tmp_path: Path) -> None:
    job = StoredJob.suspended(platform, 3, retained=3)
    job.start_again()
    job.complete(4)
    job.suspend()
    job.run.append(retired(job.run.generation, 1, 2))
    with platform.database.session() as session:
        session.execute(update(Run).where(Run.number == 1).values(checkpoint_directory=str(tmp_path / "elsewhere")))
    job.collect_garbage()
    assert job.discarded() == [], "the checkpoints of run 1 are in another directory with another job log"
    assert job.send("DELETE", 3, status=409)["code"] == "directory-changed"
