"""A machine that is gone for good: its jobs are gone on with by others, if they can, and nobody is taken for gone too early."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select, update
from tests.backend.played import Stage, end_restart_delay
from tests.backend.stored import StoredJob

from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import Component, delete_host_heartbeats, record_heartbeat, record_host_heartbeat
from weir_backend.kit.tasks import WATCH_DRIVERS
from weir_backend.models import DesiredState, Event, Failure, Heartbeat, Job, Run, RunState
from weir_backend.reconciler.decisions import FENCED_FOR, UNREACHABLE_AFTER
from weir_backend.reconciler.reassignment import reassign
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.tasks.driver_watch import watch_here
from weir_workers.tasks.lost_hosts import reassign_from_lost_hosts, watch_fenced_hosts
from weir_workers.tasks.submission import _claim

LONG_AGO = timedelta(hours=1)
ELSEWHERE = "0123456789abcdef"


def there(stage: Stage, *, since: timedelta = LONG_AGO) -> None:
    """The control plane."""
    moment = now()
    with stage.database.session() as session:
        for part in Component:
            record_heartbeat(session, part, moment)
        session.execute(
            update(Heartbeat).where(Heartbeat.component.in_([part.value for part in Component])).values(since=moment - since)
        )


def change(stage: Stage, run_id: int, **what: Any) -> None:
    with stage.database.session() as session:
        session.execute(update(Run).where(Run.id == run_id).values(**what))


def run_of(stage: Stage, run_id: int) -> Run:
    with stage.database.session() as session:
        return session.get_one(Run, run_id)


def silent(stage: Stage, checkpoints: int = 3) -> StoredJob:
    """On another machine, of which nothing was heard for long."""
    made = StoredJob.running(stage, checkpoints)
    past = now() - LONG_AGO
    change(stage, made.driver.run_id, host=ELSEWHERE, pid=7, created_at=past, last_contact_at=past)
    there(stage)
    return made


def strandings(stage: Stage) -> list[dict[str, Any]]:
    with stage.database.session() as session:
        return [dict(one) for one in session.scalars(select(Event.fields).where(Event.kind == "ReassignmentBlocked"))]


def test_its_job_is_gone_on_with_and_its_driver_is_not_listened_to_any_more(stage: Stage) -> None:
    job = silent(stage)
    reassign_from_lost_hosts(job.context, now())
    run = run_of(stage, job.driver.run_id)
    assert run.state is RunState.FAILED and run.fenced_at is not None and ELSEWHERE in run.reason
    with stage.database.session() as session:
        assert [(one.kind, one.recovery) for one in session.scalars(select(Failure))] == [("DriverLost", "restart")]
    assert job.driver.send_events() == 410
    end_restart_delay(stage, job.job_id)
    following = stage.driver(job.job_id)
    assert following.start == {"mode": "resume"} and following.run_id != job.driver.run_id
    reassign_from_lost_hosts(job.context, now())
    assert run_of(stage, following.run_id).ended_at is None, "the new one is on no machine yet"


def test_without_a_checkpoint_there_is_nothing_that_others_would_have_to_find(stage: Stage) -> None:
    job = silent(stage, checkpoints=0)
    shutil.rmtree(job.directory)
    reassign_from_lost_hosts(job.context, now())
    assert run_of(stage, job.driver.run_id).ended_at is not None


def a_worker_is_heard(job: StoredJob) -> None:
    with job.stage.database.session() as session:
        record_host_heartbeat(session, ELSEWHERE, now() - UNREACHABLE_AFTER + timedelta(seconds=20))


def its_driver_is_heard(job: StoredJob) -> None:
    change(job.stage, job.driver.run_id, last_contact_at=now() - UNREACHABLE_AFTER + timedelta(seconds=20))


def it_was_begun_just_now(job: StoredJob) -> None:
    change(job.stage, job.driver.run_id, last_contact_at=None, created_at=now() - UNREACHABLE_AFTER + timedelta(seconds=20))


def the_control_plane_was_away(job: StoredJob) -> None:
    there(job.stage, since=UNREACHABLE_AFTER - timedelta(seconds=20))


def the_api_is_away(job: StoredJob) -> None:
    with job.stage.database.session() as session:
        session.execute(
            update(Heartbeat).where(Heartbeat.component == Component.API.value).values(seen_at=now() - timedelta(minutes=1))
        )


def it_is_our_own(job: StoredJob) -> None:
    change(job.stage, job.driver.run_id, host=job.context.host)


def no_machine_has_it(job: StoredJob) -> None:
    change(job.stage, job.driver.run_id, host=None)


@pytest.mark.parametrize(
    "but",
    [
        a_worker_is_heard, its_driver_is_heard, it_was_begun_just_now, the_control_plane_was_away, the_api_is_away, it_is_our_own,
        no_machine_has_it,
    ],
)  # fmt: skip
def test_nothing_is_taken_from_it_if(stage: Stage, but: Any) -> None:
    job = silent(stage)
    but(job)
    reassign_from_lost_hosts(job.context, now())
    run = run_of(stage, job.driver.run_id)
    assert run.ended_at is None and run.reassignment_problem is None


def test_what_is_on_its_own_disk_is_waited_for_and_that_is_said_once(stage: Stage) -> None:
    job = silent(stage)
    shutil.move(job.directory, job.directory + ".elsewhere")
    for _ in range(2):
        reassign_from_lost_hosts(job.context, now())
    run = run_of(stage, job.driver.run_id)
    assert run.ended_at is None and run.reassignment_problem is not None
    assert "checkpoint 3" in run.reassignment_problem and job.directory in run.reassignment_problem
    assert [(one["run"], one["host"], one["reason"]) for one in strandings(stage)] == [
        (run.number, ELSEWHERE, run.reassignment_problem)
    ]
    shown = stage.send("GET", f"/runs/{run.id}", status=200)
    assert shown["reassignment_problem"] == run.reassignment_problem

    a_worker_is_heard(job)
    reassign_from_lost_hosts(job.context, now())
    assert run_of(stage, run.id).reassignment_problem is None


def test_a_log_that_cannot_be_read_from_here_is_an_obstacle_too(stage: Stage) -> None:
    job = silent(stage)
    for entry in Path(job.directory).rglob("log/*"):
        entry.write_bytes(b"no entry")
    reassign_from_lost_hosts(job.context, now())
    run = run_of(stage, job.driver.run_id)
    assert run.ended_at is None and run.reassignment_problem is not None and "cannot be read" in run.reassignment_problem


def test_who_was_told_to_cancel_has_done_so_wherever_its_checkpoints_are(stage: Stage) -> None:
    job = silent(stage)
    shutil.move(job.directory, job.directory + ".elsewhere")
    stage.send("POST", f"/jobs/{job.job_id}/cancel", status=202)
    stage.reconcile(job.job_id)
    reassign_from_lost_hosts(job.context, now())
    assert run_of(stage, job.driver.run_id).state is RunState.CANCELED
    with stage.database.session() as session:
        assert session.get_one(Job, job.job_id).desired_state is DesiredState.CANCELLED


def test_who_speaks_while_its_checkpoints_are_looked_for_keeps_its_job(stage: Stage) -> None:
    job = silent(stage)
    seen = run_of(stage, job.driver.run_id)
    its_driver_is_heard(job)
    with stage.database.session() as session:
        assert not reassign(session, seen, None, since=now() - UNREACHABLE_AFTER)
        assert not reassign(session, seen, "not found", since=now() - UNREACHABLE_AFTER)
    found = run_of(stage, seen.id)
    assert found.ended_at is None and found.reassignment_problem is None


def test_one_that_cannot_be_taken_over_does_not_hold_up_others(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = silent(stage), silent(stage)
    taking = reassign

    def fails_once(session: Any, run: Run, *more: Any, **also: Any) -> bool:
        if run.id == first.driver.run_id:
            raise RuntimeError("as if")
        return taking(session, run, *more, **also)

    monkeypatch.setattr("weir_workers.tasks.lost_hosts.reassign", fails_once)
    reassign_from_lost_hosts(second.context, now())
    assert run_of(stage, first.driver.run_id).ended_at is None
    assert run_of(stage, second.driver.run_id).ended_at is not None


def test_a_machine_says_that_it_is_there_when_it_takes_a_driver_and_while_it_looks_after_it(stage: Stage) -> None:
    job_id = stage.deploy()["id"]
    stage.compile(job_id)
    driver = stage.driver(job_id)
    context = StoredJob.running(stage).context

    def heard() -> bool:
        with stage.database.session() as session:
            return session.get(Heartbeat, f"m:{context.host}") is not None

    assert not heard()
    assert _claim(context, driver.run_id) is not None
    assert heard()
    with stage.database.session() as session:
        assert delete_host_heartbeats(session, now() + timedelta(seconds=1)) == 1
    assert not heard()
    watch_here(context)
    assert heard()


def test_a_machine_that_comes_back_ends_what_goes_on_there_though_its_job_was_taken_from_it(stage: Stage) -> None:
    """Nothing else would: its driver is not told to stop, as it is not listened to, and no other run has the job."""
    job = silent(stage)
    stage.send("POST", f"/jobs/{job.job_id}/cancel", status=202)
    stage.reconcile(job.job_id)
    reassign_from_lost_hosts(job.context, now())
    run = run_of(stage, job.driver.run_id)
    assert run.state is RunState.CANCELED and run.fenced_at is not None
    stage.tasks.enqueued.clear()
    watch_fenced_hosts(job.context, now())
    assert stage.tasks.enqueued == [(WATCH_DRIVERS, ())]
    back = replace(job.context, host=ELSEWHERE)
    directory = RunDirectory.of(back.settings.data_dir, run.directory)
    directory.make()
    with subprocess.Popen(["flock", directory.lock, "sleep", "600"], start_new_session=True) as zombie:
        try:
            started = psutil.Process(zombie.pid).create_time()
            directory.process.write_text(json.dumps({"pid": zombie.pid, "started": started}))
            for _ in range(1_000):
                if directory.lock.exists() and directory.is_alive():
                    break
                time.sleep(0.01)
            watch_here(back)
            assert zombie.wait(timeout=60) == -signal.SIGKILL
        finally:
            zombie.kill()
    stage.tasks.enqueued.clear()
    watch_fenced_hosts(job.context, now() + FENCED_FOR)
    assert stage.tasks.enqueued == [], "who is away for longer is not waited for"


def test_a_machine_with_other_drivers_is_asked_often_enough_as_it_is(stage: Stage) -> None:
    job, other = silent(stage), StoredJob.running(stage)
    change(stage, other.driver.run_id, host=ELSEWHERE)
    change(stage, job.driver.run_id, fenced_at=now(), ended_at=now())
    stage.tasks.enqueued.clear()
    watch_fenced_hosts(job.context, now())
    assert stage.tasks.enqueued == []
