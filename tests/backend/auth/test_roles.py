"""Calls every endpoint with every role and compares the status with the permissions. Includes new endpoints automatically."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from tests.backend.auth.endpoints import Endpoint, endpoints_of, status_of
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform
from tests.backend.stored_job import StoredJob

from weir_backend.app import create_app
from weir_backend.kit.access import OperatorCaller, Permission, ViewerCaller, permissions_of
from weir_backend.kit.database import Database
from weir_backend.models import Role
from weir_backend.routes import ROUTERS
from weir_backend.settings import Settings

PUBLIC = {
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
    "GET /api/v1/openapi.json",
    "POST /api/v1/session",
    "GET /api/v1/session/status",
    "GET /api/v1/session/oidc",
    "GET /api/v1/session/oidc/callback",
}
"""Public endpoints. Add an endpoint to this list only if it needs no authentication."""
DRIVER_ENDPOINTS = re.compile(r"\w+ /api/v1/runs/\{\}/(events|commands)(/\{\}(/\w+)?)?")
"""Endpoints for drivers. These endpoints require the token of a run, which no user has."""
CALLERS = {
    "viewer": (Role.VIEWER, False),
    "operator": (Role.OPERATOR, False),
    "operator with the permission to roll back": (Role.OPERATOR, True),
    "administrator": (Role.ADMIN, False),
}


def without_permission(app: FastAPI) -> list[str]:
    not_guarded = (endpoint.name for endpoint in endpoints_of(app) if not endpoint.required)
    return [name for name in not_guarded if name not in PUBLIC and not DRIVER_ENDPOINTS.fullmatch(name)]


async def wrong_statuses(app: FastAPI, login: Login) -> list[str]:
    found = []
    async with app.router.lifespan_context(app):
        for endpoint in endpoints_of(app):
            if not endpoint.required:
                continue
            status = await status_of(app, endpoint, {})
            if status != 401:
                found.append(f"{endpoint.name}: {status} without a token")
            for caller, (role, rollback) in CALLERS.items():
                # Each call uses a new token, because some endpoints revoke the token of the call.
                status = await status_of(app, endpoint, login(role, rollback=rollback))
                allowed = endpoint.required <= permissions_of(role, rollback=rollback)
                if status >= 500 or (status in (401, 403) if allowed else status != 403):
                    found.append(f"{endpoint.name}: {status} for {caller}")
    return found


def test_every_endpoint_requires_a_permission_or_is_listed_as_public(settings: Settings, tasks: RecordedTasks) -> None:
    app = create_app(settings, tasks)
    assert without_permission(app) == []
    assert sum(1 for endpoint in endpoints_of(app) if endpoint.required) >= 13, "at least 13 endpoints require a permission"


def test_every_endpoint_allows_only_callers_with_its_permission(settings: Settings, tasks: RecordedTasks, login: Login) -> None:
    # The test calls every endpoint with 1 for each parameter, so it also deletes the user with id 1. Create
    # an additional user first, so that this user, and not a caller of the test, gets the id 1.
    login(Role.VIEWER)
    assert asyncio.run(wrong_statuses(create_app(settings, tasks), login)) == []


def test_the_permission_for_some_requests_depends_on_the_checkpoint_or_the_plan(
    client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login
) -> None:
    platform = Platform(client, database, settings, tasks, login(Role.OPERATOR, rollback=True))
    stored = StoredJob.running(platform, len(CALLERS))
    savepoint = len(CALLERS) + 1
    for number in range(len(CALLERS)):
        stored.complete(savepoint + number, savepoint=True)
    stored.complete(savepoint + len(CALLERS))
    stored.suspend()
    running_id, _ = platform.running("running")
    rollback, rescale = (
        platform.send("POST", f"/jobs/{running_id}/plans", status=201, json={"request": request})["id"]
        for request in ({"kind": "rollback", "checkpoint": 1}, {"kind": "rescale", "parallelism": 3})
    )
    platform.compile(running_id, 2)
    for plan in (rollback, rescale):
        platform.inspect(plan)
    found: dict[str, list[int]] = {}
    for number, (role, has_rollback) in enumerate(CALLERS.values()):
        platform.headers = login(role, rollback=has_rollback)
        digests = {plan: platform.send("GET", f"/plans/{plan}", status=200)["digest"] for plan in (rollback, rescale)}
        requests: dict[str, tuple[str, str, Any]] = {
            "delete a checkpoint": ("DELETE", f"/jobs/{stored.job_id}/checkpoints/{1 + number}", None),
            "delete a savepoint": ("DELETE", f"/jobs/{stored.job_id}/checkpoints/{savepoint + number}", None),
            "repeat the deletion of a savepoint": ("DELETE", f"/jobs/{stored.job_id}/checkpoints/{savepoint + 2}", None),
            "approve a rollback": ("POST", f"/plans/{rollback}/approve", {"digest": digests[rollback]}),
            "approve a rescale": ("POST", f"/plans/{rescale}/approve", {"digest": digests[rescale]}),
        }
        for name, (method, path, body) in requests.items():
            answer = client.request(method, f"/api/v1{path}", headers=platform.headers, json=body)
            found.setdefault(name, []).append(answer.status_code)
    # The callers are a viewer, an operator, an operator with the permission to roll back, and an administrator without this permission.
    assert found == {
        "delete a checkpoint": [403, 202, 202, 202],
        "delete a savepoint": [403, 403, 202, 403],
        "repeat the deletion of a savepoint": [403, 403, 202, 403],
        "approve a rollback": [403, 403, 200, 403],
        "approve a rescale": [403, 200, 200, 200],
    }


def public_endpoint(router: APIRouter) -> None:
    @router.post("/thing/{thing_id}")
    def thing(thing_id: int) -> None:
        """Require no permission."""


def endpoint_with_weak_permission(router: APIRouter) -> None:
    @router.post("/thing/{thing_id}")
    def thing(thing_id: int, caller: ViewerCaller) -> None:
        """Check the permission in the function body, which ``endpoints_of`` does not read."""
        caller.require(Permission.ADMINISTER)


def failing_endpoint(router: APIRouter) -> None:
    @router.post("/thing/{thing_id}")
    def thing(thing_id: int, _: OperatorCaller) -> None:
        raise RuntimeError("always")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (public_endpoint, ["POST /api/v1/thing/{}"]),
        (
            endpoint_with_weak_permission,
            [f"POST /api/v1/thing/{{}}: 403 for {caller}" for caller in CALLERS if caller != "administrator"],
        ),
        (failing_endpoint, [f"POST /api/v1/thing/{{}}: 500 for {caller}" for caller in CALLERS if caller != "viewer"]),
    ],
)
def test_the_test_of_all_endpoints_reports_unprotected_and_failing_endpoints(
    make: Callable[[APIRouter], None], expected: list[str], settings: Settings, tasks: RecordedTasks, login: Login
) -> None:
    router = APIRouter()
    make(router)
    app = create_app(settings, tasks, routers=[router])
    assert without_permission(app) + asyncio.run(wrong_statuses(app, login)) == expected


def test_the_required_permissions_of_each_endpoint_are_found(settings: Settings, tasks: RecordedTasks) -> None:
    found = {endpoint.name: endpoint for endpoint in endpoints_of(create_app(settings, tasks, routers=ROUTERS))}
    assert found["GET /api/v1/users/{}"] == Endpoint("GET", "/api/v1/users/{}", frozenset({Permission.ADMINISTER}), True)
    assert found["GET /api/v1/session"].required == {Permission.VIEW}
    assert found["GET /api/v1/session/status"].required == frozenset()
    assert found["POST /api/v1/session"].required == frozenset() and not found["POST /api/v1/session"].needs_caller
