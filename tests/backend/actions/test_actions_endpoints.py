"""Actions in the responses of the API."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform

from weir_backend.kit.database import Database
from weir_backend.models import Role
from weir_backend.settings import Settings


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR, rollback=True))


def reasons(body: dict[str, Any]) -> dict[str, str | None]:
    assert all(action["allowed"] == (action["reason"] is None) for action in body["actions"])
    return {action["verb"]: action["reason"] for action in body["actions"]}


def test_the_reason_why_an_action_is_not_allowed_equals_the_error_of_the_refused_request(
    platform: Platform, login: Login
) -> None:
    job_id, driver = platform.running()
    driver.checkpoint(2)
    job = platform.job(job_id)
    assert reasons(job)["suspend"] is None and "start" not in reasons(job)
    refusal = platform.send("DELETE", f"/jobs/{job_id}", status=409, headers={"If-Match": f'"{job["version"]}"'})
    assert reasons(job)["delete"] == f"{refusal['detail']} {refusal['next_step']}"
    (listed,) = platform.send("GET", "/jobs", status=200)
    assert listed["actions"] == job["actions"]

    newest, older = platform.send("GET", "/checkpoints", status=200, params={"filter": f'{{"job_id": {job_id}}}'})
    assert newest["kept_because"] == ["The job resumes from this checkpoint, because it is the newest."]
    assert older["kept_because"] == ["This checkpoint is one of the newest 3 checkpoints, which the job retains."]
    assert reasons(older)["roll_back"] is None and list(reasons(older)) == ["roll_back", "pin", "verify", "delete"]
    refusal = platform.send("DELETE", f"/jobs/{job_id}/checkpoints/1", status=409)
    assert reasons(older)["delete"] == f"{refusal['detail']} {refusal['next_step']}"
    assert platform.send("GET", f"/checkpoints/{older['id']}", status=200)["actions"] == older["actions"]

    plan = platform.send("POST", f"/jobs/{job_id}/plans", status=201, json={"request": {"kind": "rollback", "checkpoint": 1}})
    refusal = platform.approve(plan["id"], status=409)
    assert reasons(plan)["approve"] == f"{refusal['detail']} {refusal['next_step']}" and reasons(plan)["discard"] is None
    held = platform.send("GET", f"/checkpoints/{older['id']}", status=200)
    assert held["kept_because"][0] == f"Plan {plan['id']} is proposed and would restore this checkpoint."
    viewer = platform.client.get(f"/api/v1/plans/{plan['id']}", headers=login(Role.VIEWER)).json()
    assert reasons(viewer)["discard"] == "This needs the permission 'operate'. Ask an administrator for this permission."
    assert [one["actions"] for one in platform.send("GET", "/plans", status=200)] == [plan["actions"]]
    assert reasons(platform.send("POST", f"/plans/{plan['id']}/discard", status=200)) == {}
