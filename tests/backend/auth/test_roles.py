"""Calls every endpoint with every role, and checks who is allowed. New endpoints are found automatically."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import pytest
from fastapi import APIRouter, FastAPI
from tests.backend.auth.endpoints import Endpoint, endpoints_of, status_of
from tests.backend.conftest import Login, RecordedTasks

from weir_backend.app import create_app
from weir_backend.kit.access import OperatorCaller, Permission, ViewerCaller, permissions_of
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
"""Public endpoints. Add only endpoints that need no authentication."""
OF_DRIVERS = re.compile(r"\w+ /api/v1/runs/\{\}/(events|commands)(/\{\}(/\w+)?)?")
"""These endpoints require the token of a run, which no user has."""
CALLERS = {
    "viewer": (Role.VIEWER, False),
    "operator": (Role.OPERATOR, False),
    "operator who may roll back": (Role.OPERATOR, True),
    "administrator": (Role.ADMIN, False),
}


def unguarded(app: FastAPI) -> list[str]:
    return [
        one.name for one in endpoints_of(app) if not one.asks and one.name not in PUBLIC and not OF_DRIVERS.fullmatch(one.name)
    ]


async def wrongly_answered(app: FastAPI, login: Login) -> list[str]:
    found = []
    async with app.router.lifespan_context(app):
        for one in endpoints_of(app):
            if not one.asks:
                continue
            status = await status_of(app, one, {})
            if status != 401:
                found.append(f"{one.name}: {status} for nobody")
            for who, (role, rollback) in CALLERS.items():
                # A new token for each call, because some endpoints revoke the token they are called with.
                status = await status_of(app, one, login(role, rollback=rollback))
                may = one.asks <= permissions_of(role, rollback=rollback)
                if status >= 500 or (status in (401, 403) if may else status != 403):
                    found.append(f"{one.name}: {status} for {who}")
    return found


def test_every_endpoint_requires_a_permission_or_is_listed_as_public(settings: Settings, tasks: RecordedTasks) -> None:
    app = create_app(settings, tasks)
    assert unguarded(app) == []
    assert sum(1 for one in endpoints_of(app) if one.asks) >= 13, "the walk finds the endpoints"


def test_every_endpoint_allows_only_callers_with_its_permission(settings: Settings, tasks: RecordedTasks, login: Login) -> None:
    login(Role.VIEWER)  # number 1, whom the walk deletes
    assert asyncio.run(wrongly_answered(create_app(settings, tasks), login)) == []


def careless(router: APIRouter) -> None:
    @router.post("/thing/{thing_id}")
    def thing(thing_id: int) -> None:
        """No permission required."""


def too_lax(router: APIRouter) -> None:
    @router.post("/thing/{thing_id}")
    def thing(thing_id: int, caller: ViewerCaller) -> None:
        """The permission is checked in the body, where the walk cannot see it."""
        caller.require(Permission.ADMINISTER)


def failing(router: APIRouter) -> None:
    @router.post("/thing/{thing_id}")
    def thing(thing_id: int, _: OperatorCaller) -> None:
        raise RuntimeError("always")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (careless, ["POST /api/v1/thing/{}"]),
        (too_lax, [f"POST /api/v1/thing/{{}}: 403 for {who}" for who in CALLERS if who != "administrator"]),
        (failing, [f"POST /api/v1/thing/{{}}: 500 for {who}" for who in CALLERS if who != "viewer"]),
    ],
)
def test_the_walk_finds_unprotected_endpoints(
    make: Callable[[APIRouter], None], said: list[str], settings: Settings, tasks: RecordedTasks, login: Login
) -> None:
    router = APIRouter()
    make(router)
    app = create_app(settings, tasks, routers=[router])
    assert unguarded(app) + asyncio.run(wrongly_answered(app, login)) == said


def test_the_walk_reads_the_required_permissions(settings: Settings, tasks: RecordedTasks) -> None:
    found = {one.name: one for one in endpoints_of(create_app(settings, tasks, routers=ROUTERS))}
    assert found["GET /api/v1/users/{}"] == Endpoint("GET", "/api/v1/users/{}", frozenset({Permission.ADMINISTER}), True)
    assert found["GET /api/v1/session"].asks == {Permission.VIEW}
    assert found["GET /api/v1/session/status"].asks == frozenset()
    assert found["POST /api/v1/session"].asks == frozenset() and not found["POST /api/v1/session"].knows_caller
