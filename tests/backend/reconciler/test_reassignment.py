"""Jobs of lost hosts are reassigned if their checkpoints can be read elsewhere. A host that may be reachable does not
count as lost."""

from __future__ import annotations

import shutil
import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.backend.fake_workers import Platform, end_restart_delay
from tests.backend.stored_job import StoredJob, lock_holder

from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import Component, delete_host_heartbeats, record_host_heartbeat
from weir_backend.kit.tasks import WATCH_DRIVERS
from weir_backend.models import DesiredState, Event, Failure, Heartbeat, Job, Run, RunState
from weir_backend.reconciler.decisions import FENCED_FOR, HOST_UNREACHABLE_AFTER
from weir_backend.reconciler.reassignment import reassign
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.tasks.driver_watch import watch_here
from weir_workers.tasks.lost_hosts import reassign_from_lost_hosts, watch_fenced_hosts
from weir_workers.tasks.submission import _claim

LONG_AGO = timedelta(hours=1)
ELSEWHERE = "0123456789abcdef"


def change(platform: Platform, run_id: int, **values: Any) -> None:
    with platform.database.session() as session:
        session.execute(update(Run).where(Run.id == run_id).values(**values))


def run_of(platform: Platform, run_id: int) -> Run:
    with platform.database.session() as session:
        return session.get_one(Run, run_id)


def job_on_lost_host(platform: Platform, checkpoints: int = 3) -> StoredJob:
    """Create a running job on another host that has been unreachable for an hour."""
    made = StoredJob.running(platform, checkpoints)
    past = now() - LONG_AGO
    change(platform, made.driver.run_id, host=ELSEWHERE, pid=7, created_at=past, last_contact_at=past)
    platform.record_heartbeats()
    return made


def blocked_reassignments(platform: Platform) -> list[dict[str, Any]]:
    with platform.database.session() as session:
        return [dict(one) for one in session.scalars(select(Event.fields).where(Event.kind == "ReassignmentBlocked"))]


def test_a_job_of_a_lost_host_is_reassigned_and_its_old_driver_is_fenced(platform: Platform) -> None:
    job = job_on_lost_host(platform)
    reassign_from_lost_hosts(job.context, now())
    run = run_of(platform, job.driver.run_id)
    assert run.state is RunState.FAILED and run.fenced_at is not None and ELSEWHERE in run.reason
    with platform.database.session() as session:
        assert [(one.kind, one.recovery) for one in session.scalars(select(Failure))] == [("DriverLost", "restart")]
    assert job.driver.send_events() == 410
    end_restart_delay(platform, job.job_id)
    next_driver = platform.driver(job.job_id)
    assert next_driver.start == {"mode": "resume"} and next_driver.run_id != job.driver.run_id
    reassign_from_lost_hosts(job.context, now())
    assert run_of(platform, next_driver.run_id).ended_at is None, "the new run is not reassigned, because it has no host yet"


def test_a_job_without_checkpoints_is_reassigned_without_reading_its_directory(platform: Platform) -> None:
    job = job_on_lost_host(platform, checkpoints=0)
    shutil.rmtree(job.directory)
    reassign_from_lost_hosts(job.context, now())
    assert run_of(platform, job.driver.run_id).ended_at is not None


def recent_heartbeat_of_a_worker(job: StoredJob) -> None:
    with job.platform.database.session() as session:
        record_host_heartbeat(session, ELSEWHERE, now() - HOST_UNREACHABLE_AFTER + timedelta(seconds=20))


def recent_contact_of_the_driver(job: StoredJob) -> None:
    change(job.platform, job.driver.run_id, last_contact_at=now() - HOST_UNREACHABLE_AFTER + timedelta(seconds=20))


def recently_created_run(job: StoredJob) -> None:
    change(
        job.platform, job.driver.run_id, last_contact_at=None, created_at=now() - HOST_UNREACHABLE_AFTER + timedelta(seconds=20)
    )


def recently_started_control_plane(job: StoredJob) -> None:
    job.platform.record_heartbeats(HOST_UNREACHABLE_AFTER - timedelta(seconds=20))


def unreachable_api(job: StoredJob) -> None:
    with job.platform.database.session() as session:
        session.execute(
            update(Heartbeat).where(Heartbeat.component == Component.API.value).values(seen_at=now() - timedelta(minutes=1))
        )


def run_on_this_host(job: StoredJob) -> None:
    change(job.platform, job.driver.run_id, host=job.context.host)


def run_without_a_host(job: StoredJob) -> None:
    change(job.platform, job.driver.run_id, host=None)


@pytest.mark.parametrize(
    "change_before",
    [
        recent_heartbeat_of_a_worker, recent_contact_of_the_driver, recently_created_run, recently_started_control_plane, unreachable_api,
        run_on_this_host, run_without_a_host,
    ],
)  # fmt: skip
def test_a_run_is_not_reassigned_if_its_host_is_possibly_reachable(platform: Platform, change_before: Any) -> None:
    job = job_on_lost_host(platform)
    change_before(job)
    reassign_from_lost_hosts(job.context, now())
    run = run_of(platform, job.driver.run_id)
    assert run.ended_at is None and run.reassignment_problem is None


def test_a_job_whose_checkpoints_are_on_the_lost_host_is_not_reassigned_and_is_reported_only_once(platform: Platform) -> None:
    job = job_on_lost_host(platform)
    shutil.move(job.directory, job.directory + ".elsewhere")
    for _ in range(2):
        reassign_from_lost_hosts(job.context, now())
    run = run_of(platform, job.driver.run_id)
    assert run.ended_at is None and run.reassignment_problem is not None
    assert "checkpoint 3" in run.reassignment_problem and job.directory in run.reassignment_problem
    assert [(one["run"], one["host"], one["reason"]) for one in blocked_reassignments(platform)] == [
        (run.number, ELSEWHERE, run.reassignment_problem)
    ]
    shown = platform.send("GET", f"/runs/{run.id}", status=200)
    assert shown["reassignment_problem"] == run.reassignment_problem

    recent_heartbeat_of_a_worker(job)
    reassign_from_lost_hosts(job.context, now())
    assert run_of(platform, run.id).reassignment_problem is None


def test_a_job_whose_job_log_cannot_be_read_is_not_reassigned(platform: Platform) -> None:
    job = job_on_lost_host(platform)
    for entry in Path(job.directory).rglob("log/*"):
        entry.write_bytes(b"no entry")
    reassign_from_lost_hosts(job.context, now())
    run = run_of(platform, job.driver.run_id)
    assert run.ended_at is None and run.reassignment_problem is not None and "cannot be read" in run.reassignment_problem


def test_a_cancelled_job_of_a_lost_host_ends_even_if_its_checkpoints_are_unreadable(platform: Platform) -> None:
    job = job_on_lost_host(platform)
    shutil.move(job.directory, job.directory + ".elsewhere")
    platform.send("POST", f"/jobs/{job.job_id}/cancel", status=202)
    platform.reconcile(job.job_id)
    reassign_from_lost_hosts(job.context, now())
    assert run_of(platform, job.driver.run_id).state is RunState.CANCELED
    with platform.database.session() as session:
        assert session.get_one(Job, job.job_id).desired_state is DesiredState.CANCELLED


def test_a_driver_that_reconnects_during_the_reassignment_keeps_its_job(platform: Platform) -> None:
    job = job_on_lost_host(platform)
    before = run_of(platform, job.driver.run_id)
    recent_contact_of_the_driver(job)
    with platform.database.session() as session:
        assert not reassign(session, before, None, since=now() - HOST_UNREACHABLE_AFTER)
        assert not reassign(session, before, "not found", since=now() - HOST_UNREACHABLE_AFTER)
    found = run_of(platform, before.id)
    assert found.ended_at is None and found.reassignment_problem is None


def test_an_error_for_one_run_does_not_delay_the_reassignment_of_other_runs(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = job_on_lost_host(platform), job_on_lost_host(platform)
    real_reassign = reassign

    def reassign_or_fail(session: Any, run: Run, *more: Any, **also: Any) -> bool:
        if run.id == first.driver.run_id:
            raise RuntimeError("test")
        return real_reassign(session, run, *more, **also)

    monkeypatch.setattr("weir_workers.tasks.lost_hosts.reassign", reassign_or_fail)
    reassign_from_lost_hosts(second.context, now())
    assert run_of(platform, first.driver.run_id).ended_at is None
    assert run_of(platform, second.driver.run_id).ended_at is not None


def test_a_host_records_a_heartbeat_when_it_claims_a_run_and_when_it_watches_drivers(platform: Platform) -> None:
    job_id = platform.deploy()["id"]
    platform.compile(job_id)
    driver = platform.driver(job_id)
    context = StoredJob.running(platform).context

    def has_heartbeat() -> bool:
        with platform.database.session() as session:
            return session.get(Heartbeat, f"m:{context.host}") is not None

    assert not has_heartbeat()
    assert _claim(context, driver.run_id) is not None
    assert has_heartbeat()
    with platform.database.session() as session:
        assert delete_host_heartbeats(session, now() + timedelta(seconds=1)) == 1
    assert not has_heartbeat()
    watch_here(context)
    assert has_heartbeat()


def test_a_host_that_is_reachable_again_kills_the_drivers_of_its_fenced_runs(platform: Platform) -> None:
    """Only the host itself can stop the driver. The API refuses the requests of the driver. No run fences the driver in the
    job log, because a cancelled job starts no further run."""
    job = job_on_lost_host(platform)
    platform.send("POST", f"/jobs/{job.job_id}/cancel", status=202)
    platform.reconcile(job.job_id)
    reassign_from_lost_hosts(job.context, now())
    run = run_of(platform, job.driver.run_id)
    assert run.state is RunState.CANCELED and run.fenced_at is not None
    platform.tasks.enqueued.clear()
    watch_fenced_hosts(job.context, now())
    assert platform.tasks.enqueued == [(WATCH_DRIVERS, ())]
    returned = replace(job.context, host=ELSEWHERE)
    directory = RunDirectory.of(returned.settings.data_dir, run.directory)
    with lock_holder(directory) as zombie:
        watch_here(returned)
        assert zombie.wait(timeout=60) == -signal.SIGKILL
    platform.tasks.enqueued.clear()
    watch_fenced_hosts(job.context, now() + FENCED_FOR)
    assert platform.tasks.enqueued == [], "a host gets no further watch task after ``FENCED_FOR``"


def test_a_host_with_live_runs_gets_no_additional_watch_task(platform: Platform) -> None:
    job, other = job_on_lost_host(platform), StoredJob.running(platform)
    change(platform, other.driver.run_id, host=ELSEWHERE)
    change(platform, job.driver.run_id, fenced_at=now(), ended_at=now())
    platform.tasks.enqueued.clear()
    watch_fenced_hosts(job.context, now())
    assert platform.tasks.enqueued == []
