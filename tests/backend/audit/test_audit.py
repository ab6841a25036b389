from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete, event, select, update
from tests.backend.conftest import Login
from tests.backend.jobs import completed, new_job, new_run, store_events, triggered

from weir_backend.kit.access import PLATFORM
from weir_backend.kit.audit import audit
from weir_backend.kit.audited_resources import resource_texts
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.models import (
    AlertKind,
    AlertRule,
    Artifact,
    AuditEntry,
    Checkpoint,
    Job,
    OperationKind,
    PlanKind,
    PlanState,
    RecoveryPlan,
    Role,
    Spec,
)

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


def texts_of(client: TestClient, headers: dict[str, str]) -> dict[str, tuple[str, int | None]]:
    """For each audit entry, return the name and the job id of its resource. The keys are pairs of action and kind of resource."""
    answer = client.get(AUDIT, params={"range": "[0,99]"}, headers=headers)
    assert answer.status_code == 200, answer.text
    return {f"{one['action']} {one['resource']}": (one["resource_text"], one["job_id"]) for one in answer.json()}


def test_entries_name_their_resources(client: TestClient, database: Database, login: Login) -> None:
    run = new_run(database, new_job(database, "orders"))
    store_events(database, run, triggered(784), completed(784))
    with database.session() as session:
        job = session.get_one(Job, run.job_id)
        spec, artifact = session.scalars(select(Spec.id)).one(), session.scalars(select(Artifact.id)).one()
        checkpoint = session.scalars(select(Checkpoint.id)).one()
        plan = RecoveryPlan(
            job_id=job.id, kind=PlanKind.ROLLBACK, job_version=1, request={}, preview={}, signature=b"x", state=PlanState.PROPOSED
        )  # fmt: skip
        rule = AlertRule(name="late", kind=AlertKind.FAILURES, parameters={"count": 3})
        session.add_all([plan, rule])
        session.flush()
        named = [
            ("job", job.id),
            ("spec", spec),
            ("checkpoint", checkpoint),
            ("plan", plan.id),
            ("artifact", artifact),
            ("alert-rule", rule.id),
        ]
        for resource, key in named:
            audit(session, PLATFORM, "update", resource, key)
        audit(session, PLATFORM, "log-in", "session", 77)
        plan_id = plan.id
    expected = {
        "update job": ("job orders", run.job_id),
        "update spec": ("version 1 of job orders", run.job_id),
        "update checkpoint": ("checkpoint 784 of job orders", run.job_id),
        "update plan": (f"plan {plan_id} of job orders", run.job_id),
        "update artifact": ("artifact job.py", None),
        "update alert-rule": ("alert rule late", None),
        "log-in session": ("session", None),
    }
    admin = login()
    assert texts_of(client, admin) == expected
    # Older versions of Weir wrote entries without a text.
    with database.session() as session:
        session.execute(update(AuditEntry).values(resource_text=None))
    assert texts_of(client, admin) == expected


def test_entries_name_the_resources_to_which_their_values_refer(client: TestClient, database: Database, login: Login) -> None:
    job_id = new_job(database, "orders")
    admin = login(name="root")
    webhook = client.post("/api/v1/webhooks", json={"name": "chat", "url": "https://hooks.example.com"}, headers=admin).json()[
        "id"
    ]
    rule = {"name": "late", "condition": {"kind": "failures", "count": 3}, "job_id": job_id, "webhook_id": webhook}
    assert client.post("/api/v1/alert-rules", json=rule, headers=admin).status_code == 201
    with database.session() as session:
        audit(session, PLATFORM, "revoke", "token", 9, before={"name": "CI", "user_id": 999})
    revoked, created = client.get(AUDIT, headers=admin).json()[:2]
    assert created["references"] == {f"job_id {job_id}": "job orders", f"webhook_id {webhook}": "webhook chat"}
    assert revoked["references"] == {}, "the user is deleted"


def test_entries_keep_the_names_of_renamed_and_deleted_resources(client: TestClient, database: Database, login: Login) -> None:
    run = new_run(database, new_job(database, "orders"))
    store_events(database, run, triggered(784), completed(784))
    with database.session() as session:
        checkpoint = session.scalars(select(Checkpoint.id)).one()
        audit(session, PLATFORM, "pin", "checkpoint", checkpoint, after={"pinned": True})
        audit(session, PLATFORM, "suspend", "job", run.job_id)
    with database.session() as session:
        job = session.get_one(Job, run.job_id)
        job.name, job.deleted_at = "parcels", now()
        session.execute(delete(Checkpoint))
    assert texts_of(client, login()) == {
        "pin checkpoint": ("checkpoint 784 of job orders", None),
        "suspend job": ("job orders", None),
    }


@pytest.mark.parametrize(
    ("resource", "fields", "expected"),
    [
        ("user", {"name": "bob", "role": "viewer"}, "user bob"),
        ("checkpoint", {"job": "orders", "number": 784}, "checkpoint 784 of job orders"),
        ("spec", {"job": "orders", "number": 3, "spec": {}}, "version 3 of job orders"),
        ("plan", {"job": "orders"}, "plan 9 of job orders"),
        ("alert-rule", {"enabled": False}, "alert rule 9 (deleted)"),
        ("session", {"by": "password"}, "session"),
    ],
)
def test_an_older_entry_of_a_deleted_resource_is_readable(
    client: TestClient, database: Database, login: Login, resource: str, fields: dict[str, Any], expected: str
) -> None:
    with database.session() as session:
        session.add(AuditEntry(user_name="root", action="update", resource=resource, resource_id=9, before=fields))
    assert texts_of(client, login()) == {f"update {resource}": (expected, None)}


def test_a_page_of_entries_reads_all_names_with_one_query(client: TestClient, database: Database, login: Login) -> None:
    admin = login(name="root")
    for number in range(3):
        assert client.post("/api/v1/users", json={"name": f"user{number}-x", "role": "viewer"}, headers=admin).status_code == 201
        assert (
            client.post(
                "/api/v1/webhooks", json={"name": f"hook{number}", "url": "https://hooks.example.com"}, headers=admin
            ).status_code
            == 201
        )
    entries = client.get(AUDIT, headers=admin).json()
    assert [one["resource_text"] for one in entries] == [
        text for number in (2, 1, 0) for text in (f"webhook hook{number}", f"user user{number}-x")
    ]
    assert {one["token_text"] for one in entries} == {"token tests"}
    statements: list[str] = []

    def record(*arguments: Any) -> None:
        statements.append(arguments[2])

    with database.session() as session:
        event.listen(database.engine, "before_cursor_execute", record)
        resource_texts(session, [(one["resource"], one["resource_id"]) for one in entries])
        event.remove(database.engine, "before_cursor_execute", record)
    assert len(statements) == 1


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
