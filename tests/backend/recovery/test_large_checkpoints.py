"""A checkpoint that is too large to be read in one go is verified in parts before a plan goes back to it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.played import Stage
from tests.backend.stored import StoredJob

from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import VERIFY
from weir_backend.models import Checkpoint, Role
from weir_backend.settings import Settings
from weir_workers.checkpoints import inspection
from weir_workers.checkpoints.compatibility import CompatibilityResult
from weir_workers.tasks.plan_inspection import VERIFIED_BEFORE, inspect_plan
from weir_workers.tasks.verification import verify_checkpoint


@pytest.fixture
def stage(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Stage:
    return Stage(client, database, settings, tasks, login(Role.ADMIN, rollback=True))


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "BYTES_AT_ONCE", 1)
    # Graphs of played jobs are none.
    monkeypatch.setattr(inspection, "fit", lambda *_, **__: CompatibilityResult(None))


def plan(job: StoredJob, number: int) -> int:
    request = {"request": {"kind": "rollback", "checkpoint": number}}
    made: int = job.stage.send("POST", f"/jobs/{job.job_id}/plans", status=201, json=request)["id"]
    job.stage.tasks.enqueued.clear()
    return made


def asked(stage: Stage) -> list[Any]:
    return [arguments for name, arguments in stage.tasks.enqueued if name == VERIFY]


def inspection_of(stage: Stage, plan_id: int) -> Any:
    return stage.send("GET", f"/plans/{plan_id}", status=200)["preview"]["inspection"]


def test_it_is_verified_once_for_all_that_ask_and_then_the_plan_knows(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    plan_id = plan(job, 1)
    for _ in range(3):
        inspect_plan(job.context, plan_id)
    assert inspection_of(stage, plan_id) is None
    (wanted,) = asked(stage)
    verify_checkpoint(job.context, *map(int, wanted))
    inspect_plan(job.context, plan_id)
    found = inspection_of(stage, plan_id)
    assert (found["intact"], found["files"], found["bytes"], found["abandoned"]) == (True, 1, 10, [2, 3])
    assert len(asked(stage)) == 1, "it is not read again"


def test_damage_that_is_found_keeps_the_plan_from_being_approved(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    plan_id = plan(job, 1)
    path = Path(job.path_of(1))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    inspect_plan(job.context, plan_id)
    verify_checkpoint(job.context, *map(int, asked(stage)[0]))
    inspect_plan(job.context, plan_id)
    found = inspection_of(stage, plan_id)
    assert found["intact"] is False and path.name in found["damage"]
    assert stage.send("POST", f"/plans/{plan_id}/approve", status=409)["code"] == "damaged"


def test_what_was_verified_lately_is_not_verified_again_and_what_was_long_ago_is(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    for number, before in ((1, VERIFIED_BEFORE / 2), (2, VERIFIED_BEFORE + timedelta(minutes=1))):
        with stage.database.session() as session:
            session.execute(update(Checkpoint).where(Checkpoint.number == number).values(verified_at=now() - before))
    first, second = plan(job, 1), plan(job, 2)
    inspect_plan(job.context, first)
    assert inspection_of(stage, first)["intact"] is True and asked(stage) == []
    inspect_plan(job.context, second)
    assert inspection_of(stage, second) is None and len(asked(stage)) == 1


def test_of_one_that_is_gone_nothing_is_read(stage: Stage) -> None:
    job = StoredJob.running(stage, 3)
    plan_id = plan(job, 1)
    with stage.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(discarded_at=now()))
    inspect_plan(job.context, plan_id)
    assert asked(stage) == [], "there is nothing left to be verified"
