"""Checkpoints that the job log contains, but that a killed driver has not reported to the control plane."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import StoredJob

from weir.protocol.events import CheckpointTriggered, DriverState, RunStateChanged
from weir.protocol.ids import CheckpointId, Generation
from weir_backend.models import Checkpoint, CheckpointState, Event, Run, RunState
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.tasks.driver_watch import watch_here


def job_with_killed_driver(platform: Platform) -> StoredJob:
    """Create a job on this host, with checkpoints 1 to 3 reported. The process of the job's driver does not exist any more."""
    job = StoredJob.running(platform, 3)
    job.driver.send_events(RunStateChanged(DriverState.RUNNING, Generation(1), "", ""))
    with platform.database.session() as session:
        run = session.get_one(Run, job.driver.run_id)
        directory = RunDirectory.of(job.context.settings.data_dir, run.directory)
        directory.make()
        identity = {"pid": 2**22 - 3, "started": 7.0}
        directory.process.write_text(json.dumps(identity))
        run.host, run.pid, run.pid_started = job.context.host, identity["pid"], identity["started"]
    return job


def checkpoints(platform: Platform, job: StoredJob) -> dict[int, CheckpointState]:
    with platform.database.session() as session:
        found = session.execute(select(Checkpoint.number, Checkpoint.state).where(Checkpoint.job_id == job.job_id))
        return {row.number: row.state for row in found}


def completions(platform: Platform, job: StoredJob) -> list[dict[str, Any]]:
    with platform.database.session() as session:
        query = select(Event.fields).where(Event.job_id == job.job_id, Event.kind == "CheckpointCompleted").order_by(Event.number)
        return [dict(one) for one in session.scalars(query)]


def test_completed_checkpoints_in_the_job_log_are_added_to_the_database_and_the_events(platform: Platform) -> None:
    job = job_with_killed_driver(platform)
    job.driver.send_events(CheckpointTriggered(CheckpointId(4), Generation(1), "periodic", 1))
    job.run.complete(4)
    job.run.complete(5, savepoint=True)
    watch_here(job.context)
    assert checkpoints(platform, job) == dict.fromkeys(range(1, 6), CheckpointState.COMPLETED)
    reported = completions(platform, job)
    assert [(one["checkpoint"], one["trigger"]) for one in reported[-2:]] == [(4, "periodic"), (5, "savepoint")]
    with platform.database.session() as session:
        run = session.get_one(Run, job.driver.run_id)
        assert run.state is RunState.FAILED and run.missing_events == 0
        numbers = session.scalars(select(Event.run_event).where(Event.run_id == run.id, Event.run_event.is_not(None))).all()
        assert len(numbers) == len(set(numbers))
    watch_here(job.context)
    assert completions(platform, job) == reported, "each unreported checkpoint is added only once"


def test_known_checkpoints_and_checkpoints_of_other_generations_are_not_added(platform: Platform) -> None:
    job = job_with_killed_driver(platform)
    reported = completions(platform, job)
    with platform.database.session() as session:
        # The run has generation 2. The driver of generation 1 did not report that checkpoint 3 is completed.
        session.execute(update(Run).where(Run.id == job.driver.run_id).values(generation=2))
        session.execute(update(Checkpoint).where(Checkpoint.number == 3).values(state=CheckpointState.FAILED))
    watch_here(job.context)
    assert completions(platform, job) == reported


@pytest.mark.parametrize("missing", ["log", "manifest"])
def test_a_run_ends_even_if_its_job_log_or_a_manifest_is_missing(platform: Platform, missing: str) -> None:
    job = job_with_killed_driver(platform)
    job.run.complete(4)
    if missing == "log":
        Path(job.directory).rename(f"{job.directory}-elsewhere")
    else:
        for path in Path(job.directory).glob("*/checkpoints/4/manifest*"):
            path.unlink()
    watch_here(job.context)
    with platform.database.session() as session:
        assert session.get_one(Run, job.driver.run_id).state is RunState.FAILED
    assert 4 not in checkpoints(platform, job)
