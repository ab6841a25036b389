"""A driver that hangs on a machine that is well: its process is there, and nothing comes of it."""

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
from tests.backend.played import Stage
from tests.backend.stored import StoredJob

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
def its_process(job: StoredJob) -> Iterator[subprocess.Popen[bytes]]:
    """On this machine, with the lock of the run's directory, and deaf."""
    with job.stage.database.session() as session:
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


def change(job: StoredJob, **what: Any) -> None:
    with job.stage.database.session() as session:
        session.execute(update(Run).where(Run.id == job.driver.run_id).values(**what))


def there(stage: Stage, since: timedelta = LONG_AGO) -> None:
    """The control plane."""
    moment = now()
    with stage.database.session() as session:
        for part in Component:
            record_heartbeat(session, part, moment)
        session.execute(
            update(Heartbeat).where(Heartbeat.component.in_([part.value for part in Component])).values(since=moment - since)
        )


def quiet(stage: Stage, checkpoints: int = 3) -> StoredJob:
    """Its checkpoints are of long ago (see ``stored``), and so is its last word."""
    job = StoredJob.running(stage, checkpoints)
    job.driver.send_events(RunStateChanged(DriverState.RUNNING, Generation(1), "", ""))
    change(job, last_contact_at=now() - LONG_AGO)
    there(stage)
    return job


def test_it_is_killed_and_another_one_goes_on(stage: Stage) -> None:
    job = quiet(stage)
    with its_process(job) as process:
        watch_here(job.context)
        assert process.wait(timeout=60) == -signal.SIGKILL
    with stage.database.session() as session:
        (told,) = session.scalars(select(Event.fields).where(Event.kind == "DriverHung"))
    assert "the driver has sent nothing since" in told["reason"] and "its last checkpoint is from" in told["reason"]
    watch_here(job.context)
    with stage.database.session() as session:
        assert session.get_one(Run, job.driver.run_id).state is RunState.FAILED


def test_one_that_completes_checkpoints_only_cannot_be_heard(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    job = quiet(stage)
    monkeypatch.setattr("tests.backend.stored.AT_MS", int(now().timestamp() * 1_000))
    job.run.complete(4)
    with its_process(job) as process:
        watch_here(job.context)
        assert process.poll() is None


@pytest.mark.parametrize(
    "why",
    ["it was heard", "nobody was there", "takes no checkpoints", "long interval", "long pause", "long timeout", "log is gone"],
)
def test_who_may_be_well_is_left_alone(stage: Stage, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    monkeypatch.setattr("tests.backend.stored.AT_MS", int((now() - LONG_AGO).timestamp() * 1_000))
    job = quiet(stage)
    if why == "it was heard":
        change(job, last_contact_at=now() - timedelta(minutes=4))
    elif why == "nobody was there":
        there(stage, timedelta(minutes=4))
    elif why == "log is gone":
        Path(job.directory).rename(f"{job.directory}-elsewhere")
    else:
        chosen = {
            "takes no checkpoints": {"interval": "none"},
            "long interval": {"interval": "30m"},
            "long pause": {"min_pause": "30m"},
            "long timeout": {"timeout": "90m"},
        }[why]
        with stage.database.session() as session:
            spec = session.scalars(select(Spec).where(Spec.job_id == job.job_id)).one()
            spec.body = spec.body | {"checkpointing": spec.body["checkpointing"] | chosen}
    with its_process(job) as process:
        watch_here(job.context)
        assert process.poll() is None


def test_a_run_of_which_nothing_is_heard_is_shown_as_such_until_it_is_heard_again(stage: Stage) -> None:
    job = quiet(stage)

    def shown() -> tuple[str, str, str]:
        seen = stage.send("GET", f"/jobs/{job.job_id}", status=200)
        run = stage.send("GET", f"/runs/{job.driver.run_id}", status=200)
        (listed,) = stage.send("GET", f'/runs?filter={{"job_id":{job.job_id}}}', status=200)
        assert run["state"] == listed["state"] == seen["run"]["state"] == seen["state"]
        return seen["state"], seen["health"], seen["health_reason"]

    assert shown() == ("RECONCILING", "degraded", "The driver is unreachable; Weir is checking whether it still runs.")
    there(stage, UNREACHABLE_AFTER / 2)
    assert shown() == ("RUNNING", "healthy", ""), "it may not have had the time to record_heartbeat something"
    there(stage)
    change(job, last_contact_at=now())
    assert shown() == ("RUNNING", "healthy", "")
    stage.send("POST", f"/jobs/{job.job_id}/suspend", status=202)
    stage.reconcile(job.job_id)
    job.driver.send_events(RunStateChanged(DriverState.SUSPENDED, Generation(1), "", ""))
    change(job, last_contact_at=now() - LONG_AGO)
    assert shown()[0] == "SUSPENDED"
