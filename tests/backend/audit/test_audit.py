from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login

from weir_backend.kit.access import PLATFORM
from weir_backend.kit.audit import audit
from weir_backend.kit.database import Database
from weir_backend.models import OperationKind, Role

ROOT = Path(__file__).parents[3]
BACKEND = ROOT / "backend" / "weir_backend"
AUDIT = "/api/v1/audit"


def test_an_audit_entry_contains_the_user_the_action_the_address_and_the_changed_fields(client: TestClient, login: Login) -> None:
    admin = login(name="root")
    made = client.post("/api/v1/users", json={"name": "bob", "role": "viewer"}, headers=admin)
    answer = client.get(AUDIT, headers=admin)
    assert answer.headers["Content-Range"] == "audit 0-0/1"
    entry = answer.json()[0]
    assert entry["user_name"] == "root" and (entry["action"], entry["resource"]) == ("create", "user")
    assert entry["resource_id"] == made.json()["id"] and entry["before"] is None
    assert entry["after"] == {"name": "bob", "role": "viewer", "rollback": False, "has_password": False}
    assert entry["request_id"] == made.headers["X-Request-Id"] and entry["address"] == "testclient"


def test_audit_entries_outlive_their_user(client: TestClient, login: Login) -> None:
    deleted_user, admin = login(name="former"), login(name="root")
    made = client.post("/api/v1/users", json={"name": "bob", "role": "viewer"}, headers=deleted_user).json()
    deleted_user_id = client.get("/api/v1/session", headers=deleted_user).json()["user_id"]
    assert client.delete(f"/api/v1/users/{deleted_user_id}", headers=admin).status_code == 204
    entry = client.get(AUDIT, params={"filter": f'{{"resource_id": {made["id"]}}}'}, headers=admin).json()[0]
    assert entry["user_name"] == "former" and entry["user_id"] is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [3, 2, 1]),
        ({"filter": '{"action": "b"}'}, [2]),
        ({"filter": '{"action": ["a", "b"], "resource": "job"}'}, [2, 1]),
        ({"filter": '{"resource_id": 3}'}, [3]),
        ({"filter": '{"user_name": "nobody"}'}, []),
        ({"sort": '["at","ASC"]', "range": "[1,1]"}, [2]),
    ],
)
def test_entries_can_be_filtered(
    client: TestClient, database: Database, login: Login, query: dict[str, Any], expected: list[int]
) -> None:
    with database.session() as session:
        for number, (action, resource) in enumerate([("a", "job"), ("b", "job"), ("a", "user")], start=1):
            audit(session, PLATFORM, action, resource, number)
            session.flush()
    answer = client.get(AUDIT, params=query, headers=login())
    assert [one["resource_id"] for one in answer.json()] == expected
    assert client.get(AUDIT, headers=login(Role.OPERATOR, rollback=True)).status_code == 403


def test_the_filters_of_the_audit_page_offer_each_audited_action_and_resource() -> None:
    """The test reads the actions and resources from all calls of ``audit`` and ``audit_changes`` in the source code."""
    actions, resources = {"update"}, set[str]()  # ``audit_changes`` stores the action "update".
    for path in set(BACKEND.rglob("*.py")) - {BACKEND / "kit" / "audit.py"}:
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "audit":
                actions |= _literals(call.args[2])
                resources |= _literals(call.args[3])
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "audit_changes":
                resources |= _literals(call.args[2])
    assert {"create", "pin", "unpin", "cancel", "checkpoint"} <= actions and "plan" in resources
    offered = (ROOT / "frontend" / "src" / "pages" / "audit" / "filterOptions.ts").read_text()
    assert actions == _offered(offered, "ACTIONS")
    assert resources == _offered(offered, "RESOURCES")


def _literals(argument: ast.expr) -> set[str]:
    match argument:
        case ast.Constant(value=str(literal)):
            return {literal}
        case ast.IfExp(body=body, orelse=orelse):
            return _literals(body) | _literals(orelse)
        case ast.Attribute(value=ast.Name(id="kind"), attr="value"):
            # ``kind.value`` stands for the kinds of operations that users request.
            source = (BACKEND / "jobs" / "service.py").read_text()
            return {
                OperationKind[name].value for name in re.findall(r"job(?:_id)?, OperationKind\.(\w+)", source) if name != "DEPLOY"
            }
    raise AssertionError(f"cannot find the values of the argument {ast.unparse(argument)}")


def _offered(source: str, name: str) -> set[str]:
    found = re.search(rf"{name} = \[(.*?)\]", source, re.DOTALL)
    assert found is not None
    return set(re.findall(r"'([^']+)'", found[1]))
