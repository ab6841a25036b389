"""Workers check the spec of a job manifest with a real compilation and a real checkpoint."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import StoredJob

from weir_backend.kit.database import Database
from weir_backend.models import Job, Role, SpecCheck
from weir_backend.settings import Settings
from weir_workers.tasks.compilation import compile_checked_spec
from weir_workers.tasks.plan_inspection import inspect_checked_spec

WORKING = b"""\
from weir import Job, sinks, sources

def job(params):
    job = Job("orders")
    job.read(sources.text("/nowhere"), uid="numbers").write(sinks.console(), uid="out")
    return job
"""
BROKEN = b"""\
from weir import Job

def job(params):
    return Job("orders").raed()
"""


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR))


def put(platform: Platform, name: str, code: bytes, status: int) -> Any:
    body = {"spec": {"artifact": platform.upload(code)}}
    return platform.send("PUT", f"/jobs/{name}", status=status, json=body, params={"wait": "0s"})


def newest_check(platform: Platform) -> SpecCheck:
    with platform.database.session() as session:
        return session.scalars(select(SpecCheck).order_by(SpecCheck.id.desc()).limit(1)).one()


def test_the_error_of_a_compilation_names_the_line_of_the_job_file(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 1)
    put(platform, "other", BROKEN, 409)
    compile_checked_spec(job.context, newest_check(platform).id)
    detail = put(platform, "other", BROKEN, 422)["detail"]
    assert "job.py:4: 'Job' object has no attribute 'raed'" in detail or "AttributeError at job.py:4" in detail, detail


def test_a_checked_spec_has_the_graph_of_its_code_and_the_inspection_of_the_newest_checkpoint(platform: Platform) -> None:
    job = StoredJob.suspended(platform, 2)
    with platform.database.session() as session:
        name = session.get_one(Job, job.job_id).name
    put(platform, name, WORKING, 409)
    check_id = newest_check(platform).id
    for _ in range(2):
        compile_checked_spec(job.context, check_id)
    assert newest_check(platform).state == "COMPILING", "the check continues with the inspection"
    for _ in range(2):
        inspect_checked_spec(job.context, check_id)
    check = newest_check(platform)
    assert check.state == "VALID" and check.inspection is not None and check.inspection["intact"] is True
    done = put(platform, name, WORKING, 200)
    assert done["actions"] == ["upgrade"] and done["diff"]["operators_added"] == ["numbers"]
