"""Drivers that hang: the process exists, but it sends no events and completes no checkpoints."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select, update
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import StoredJob

from weir.protocol.events import DriverState, RunStateChanged
from weir.protocol.ids import Generation
from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import Component, record_heartbeat
from weir_backend.models import Event, Heartbeat, Run, RunState, Spec
from weir_backend.runs.reachability import UNREACHABLE_AFTER
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.tasks.driver_watch import watch_here

LONG_AGO = timedelta(hours=1)


@contextmanager
def driver_process(job: StoredJob) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process on this host that holds the lock of the run's directory and does nothing else."""
    with job.platform.database.session() as session:
        run = session.get_one(Run, job.driver.run_id)
    directory = RunDirectory.of(job.context.settings.data_dir, run.directory)
    directory.make()
    with subprocess.Popen(["flock", directory.lock, "sleep", "600"], start_new_session=True) as process:
        try:
            name = {"pid": process.pid, "started": psutil.Process(process.pid).create_time()}
            directory.process.write_text(json.dumps(name))
            while not (directory.lock.exists() and directory.is_alive()):
                assert process.poll() is None
                time.sleep(0.01)
            change(job, host=job.context.host, pid=name["pid"], pid_started=name["started"])
            yield process
        finally:
            process.kill()


def change(job: StoredJob, **values: Any) -> None:
    with job.platform.database.session() as session:
        session.execute(update(Run).where(Run.id == job.driver.run_id).values(**values))


def record_heartbeats(platform: Platform, since: timedelta = LONG_AGO) -> None:
    """Record heartbeats of all components of the control plane, as if they ran for the time ``since``."""
    moment = now()
    with platform.database.session() as session:
        for component in Component:
            record_heartbeat(session, component, moment)
        session.execute(
            update(Heartbeat)
            .where(Heartbeat.component.in_([component.value for component in Component]))
            .values(since=moment - since)
        )


def silent_job(platform: Platform, checkpoints: int = 3) -> StoredJob:
    """Create a running job whose checkpoints and last contact are an hour or more old."""
    job = StoredJob.running(platform, checkpoints)
    job.driver.send_events(RunStateChanged(DriverState.RUNNING, Generation(1), "", ""))
    change(job, last_contact_at=now() - LONG_AGO)
    record_heartbeats(platform)
    return job


def test_a_driver_that_hangs_is_killed_and_its_run_fails(platform: Platform) -> None:
    job = silent_job(platform)
    with driver_process(job) as process:
        watch_here(job.context)
        assert process.wait(timeout=60) == -signal.SIGKILL
    with platform.database.session() as session:
        (event,) = session.scalars(select(Event.fields).where(Event.kind == "DriverHung"))
    assert "the driver has sent nothing since" in event["reason"] and "its last checkpoint is from" in event["reason"]
    watch_here(job.context)
    with platform.database.session() as session:
        assert session.get_one(Run, job.driver.run_id).state is RunState.FAILED


def test_a_driver_without_contact_that_completes_checkpoints_is_not_killed(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = silent_job(platform)
    monkeypatch.setattr("tests.backend.stored_job.AT_MS", int(now().timestamp() * 1_000))
    job.run.complete(4)
    with driver_process(job) as process:
        watch_here(job.context)
        assert process.poll() is None


@pytest.mark.parametrize(
    "reason",
    [
        "recent contact",
        "recently started control plane",
        "no checkpoints",
        "long interval",
        "long pause",
        "long timeout",
        "missing job log",
    ],
)
def test_a_driver_that_is_possibly_healthy_is_not_killed(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    monkeypatch.setattr("tests.backend.stored_job.AT_MS", int((now() - LONG_AGO).timestamp() * 1_000))
    job = silent_job(platform)
    if reason == "recent contact":
        change(job, last_contact_at=now() - timedelta(minutes=4))
    elif reason == "recently started control plane":
        record_heartbeats(platform, timedelta(minutes=4))
    elif reason == "missing job log":
        Path(job.directory).rename(f"{job.directory}-elsewhere")
    else:
        options = {
            "no checkpoints": {"interval": "none"},
            "long interval": {"interval": "30m"},
            "long pause": {"min_pause": "30m"},
            "long timeout": {"timeout": "90m"},
        }[reason]
        with platform.database.session() as session:
            spec = session.scalars(select(Spec).where(Spec.job_id == job.job_id)).one()
            spec.body = spec.body | {"checkpointing": spec.body["checkpointing"] | options}
    with driver_process(job) as process:
        watch_here(job.context)
        assert process.poll() is None


def test_a_run_without_contact_is_shown_as_reconciling_until_its_next_contact(platform: Platform) -> None:
    job = silent_job(platform)

    def shown() -> tuple[str, str, str]:
        job_read = platform.send("GET", f"/jobs/{job.job_id}", status=200)
        run = platform.send("GET", f"/runs/{job.driver.run_id}", status=200)
        (listed,) = platform.send("GET", f'/runs?filter={{"job_id":{job.job_id}}}', status=200)
        assert run["state"] == listed["state"] == job_read["run"]["state"] == job_read["state"]
        return job_read["state"], job_read["health"], job_read["health_reason"]

    assert shown() == ("RECONCILING", "degraded", "The driver is unreachable; Weir is checking whether it still runs.")
    record_heartbeats(platform, UNREACHABLE_AFTER / 2)
    assert shown() == ("RUNNING", "healthy", ""), "the control plane was started too recently to tell"
    record_heartbeats(platform)
    change(job, last_contact_at=now())
    assert shown() == ("RUNNING", "healthy", "")
    platform.send("POST", f"/jobs/{job.job_id}/suspend", status=202)
    platform.reconcile(job.job_id)
    job.driver.send_events(RunStateChanged(DriverState.SUSPENDED, Generation(1), "", ""))
    change(job, last_contact_at=now() - LONG_AGO)
    assert shown()[0] == "SUSPENDED"
