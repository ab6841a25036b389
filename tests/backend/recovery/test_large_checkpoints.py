"""Large checkpoints are verified in parts before a plan restores them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import StoredJob

from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import VERIFY
from weir_backend.models import Checkpoint, RecoveryPlan, Role
from weir_backend.settings import Settings
from weir_workers.checkpoints import inspection
from weir_workers.checkpoints.compatibility import CompatibilityResult
from weir_workers.tasks.plan_inspection import VERIFIED_BEFORE, inspect_plan
from weir_workers.tasks.verification import verify_checkpoint


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.ADMIN, rollback=True))


@pytest.fixture(autouse=True)
def all_checkpoints_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "BYTES_AT_ONCE", 1)
    # Fake jobs have no real graphs.
    monkeypatch.setattr(inspection, "fit", lambda *_, **__: CompatibilityResult(None))


def propose(job: StoredJob, number: int) -> int:
    request = {"request": {"kind": "rollback", "checkpoint": number}}
    made: int = job.platform.send("POST", f"/jobs/{job.job_id}/plans", status=201, json=request)["id"]
    job.platform.tasks.enqueued.clear()
    return made


def verifications(platform: Platform) -> list[Any]:
    return [arguments for name, arguments in platform.tasks.enqueued if name == VERIFY]


def inspection_of(platform: Platform, plan_id: int) -> Any:
    return platform.send("GET", f"/plans/{plan_id}", status=200)["preview"]["inspection"]


def test_several_inspections_of_a_plan_share_one_verification(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    plan_id = propose(job, 1)
    for _ in range(3):
        inspect_plan(job.context, plan_id)
    assert inspection_of(platform, plan_id) is None
    (arguments,) = verifications(platform)
    verify_checkpoint(job.context, *map(int, arguments))
    inspect_plan(job.context, plan_id)
    found = inspection_of(platform, plan_id)
    assert (found["intact"], found["files"], found["bytes"], found["abandoned"]) == (True, 1, 10, [2, 3])
    assert len(verifications(platform)) == 1, "the checkpoint is not verified again"


def test_a_plan_for_a_damaged_checkpoint_cannot_be_approved(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    plan_id = propose(job, 1)
    path = Path(job.path_of(1))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    inspect_plan(job.context, plan_id)
    verify_checkpoint(job.context, *map(int, verifications(platform)[0]))
    inspect_plan(job.context, plan_id)
    found = inspection_of(platform, plan_id)
    assert found["intact"] is False and path.name in found["damage"]
    assert platform.approve(plan_id, status=409)["code"] == "damaged"


def test_a_checkpoint_is_verified_again_only_if_its_last_verification_is_old(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    for number, before in ((1, VERIFIED_BEFORE / 2), (2, VERIFIED_BEFORE + timedelta(minutes=1))):
        with platform.database.session() as session:
            session.execute(update(Checkpoint).where(Checkpoint.number == number).values(verified_at=now() - before))
    first, second = propose(job, 1), propose(job, 2)
    inspect_plan(job.context, first)
    assert inspection_of(platform, first)["intact"] is True and verifications(platform) == []
    inspect_plan(job.context, second)
    assert inspection_of(platform, second) is None and len(verifications(platform)) == 1


def test_a_discarded_checkpoint_is_not_verified(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    plan_id = propose(job, 1)
    with platform.database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(discarded_at=now()))
    inspect_plan(job.context, plan_id)
    assert verifications(platform) == [], "a discarded checkpoint has no files"


def test_a_plan_that_an_older_version_stored_is_inspected_even_if_the_plan_lacks_newer_fields(platform: Platform) -> None:
    job = StoredJob.running(platform, 3)
    with platform.database.session() as session:
        session.execute(update(Checkpoint).values(verified_at=now()))
    plan_id = propose(job, 1)
    with platform.database.session() as session:
        plan = session.get_one(RecoveryPlan, plan_id)
        preview = {name: value for name, value in plan.preview.items() if name not in ("path", "without_state")}
        plan.preview = preview | {"inspection": {"intact": True, "damage": None}}
    inspect_plan(job.context, plan_id)
    assert inspection_of(platform, plan_id)["abandoned"] == [2, 3]
