"""Drivers that hang: the process exists, but it sends no events and completes no checkpoints."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import StoredJob, lock_holder

from weir.protocol.events import DriverState, RunStateChanged
from weir.protocol.ids import Generation
from weir_backend.kit.clock import now
from weir_backend.models import Event, Run, RunState, Spec
from weir_backend.runs.reachability import RUN_UNREACHABLE_AFTER
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.tasks.driver_watch import watch_here

LONG_AGO = timedelta(hours=1)


@contextmanager
def driver_process(job: StoredJob) -> Iterator[subprocess.Popen[bytes]]:
    """Run an idle process on this host, and record it as the driver of the job."""
    with job.platform.database.session() as session:
        run = session.get_one(Run, job.driver.run_id)
    directory = RunDirectory.of(job.context.settings.data_dir, run.directory)
    with lock_holder(directory) as process:
        identity = directory.process_identity()
        assert identity is not None
        change(job, host=job.context.host, pid=identity.pid, pid_started=identity.started)
        yield process


def change(job: StoredJob, **values: Any) -> None:
    with job.platform.database.session() as session:
        session.execute(update(Run).where(Run.id == job.driver.run_id).values(**values))


def silent_job(platform: Platform, checkpoints: int = 3) -> StoredJob:
    """Create a running job whose newest checkpoint and last contact are at least an hour old."""
    job = StoredJob.running(platform, checkpoints)
    job.driver.send_events(RunStateChanged(DriverState.RUNNING, Generation(1), "", ""))
    change(job, last_contact_at=now() - LONG_AGO)
    platform.record_heartbeats()
    return job


def hung_drivers(platform: Platform) -> list[Any]:
    """Return the fields of the events about killed drivers. Tests check these events instead of the processes, because
    a killed process can still exist for a while."""
    with platform.database.session() as session:
        return list(session.scalars(select(Event.fields).where(Event.kind == "DriverHung")))


def test_a_driver_that_hangs_is_killed_and_its_run_fails(platform: Platform) -> None:
    job = silent_job(platform)
    with driver_process(job) as process:
        watch_here(job.context)
        assert process.wait(timeout=60) == -signal.SIGKILL
    (event,) = hung_drivers(platform)
    assert "the driver has sent nothing since" in event["reason"] and "has completed no checkpoint since" in event["reason"]
    watch_here(job.context)
    with platform.database.session() as session:
        assert session.get_one(Run, job.driver.run_id).state is RunState.FAILED


def test_an_unreachable_driver_is_not_killed_if_it_completes_checkpoints(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = silent_job(platform)
    monkeypatch.setattr("tests.backend.stored_job.AT_MS", int(now().timestamp() * 1_000))
    job.run.complete(4)
    with driver_process(job) as process:
        watch_here(job.context)
        assert process.poll() is None and hung_drivers(platform) == []


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
        platform.record_heartbeats(timedelta(minutes=4))
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
        assert process.poll() is None and hung_drivers(platform) == []


def test_a_run_without_contact_is_shown_as_reconciling_until_its_next_contact(platform: Platform) -> None:
    job = silent_job(platform)

    def shown() -> tuple[str, str, str]:
        job_read = platform.send("GET", f"/jobs/{job.job_id}", status=200)
        run = platform.send("GET", f"/runs/{job.driver.run_id}", status=200)
        (listed,) = platform.send("GET", f'/runs?filter={{"job_id":{job.job_id}}}', status=200)
        assert run["state"] == listed["state"] == job_read["run"]["state"] == job_read["state"]
        return job_read["state"], job_read["health"], job_read["health_reason"]

    assert shown() == ("RECONCILING", "degraded", "The driver is unreachable. Weir is checking whether the driver is running.")
    platform.record_heartbeats(RUN_UNREACHABLE_AFTER / 2)
    assert shown() == ("RUNNING", "healthy", ""), "a recently started control plane does not yet count a driver as unreachable"
    platform.record_heartbeats()
    change(job, last_contact_at=now())
    assert shown() == ("RUNNING", "healthy", "")
    platform.send("POST", f"/jobs/{job.job_id}/suspend", status=202)
    platform.reconcile(job.job_id)
    job.driver.send_events(RunStateChanged(DriverState.SUSPENDED, Generation(1), "", ""))
    change(job, last_contact_at=now() - LONG_AGO)
    assert shown()[0] == "SUSPENDED"
