"""Alert rules over the API: creation, changes, deletion, and the rules of a new installation."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete, select
from tests.backend.conftest import Login
from tests.backend.jobs import new_job

from weir_backend.alerts import service
from weir_backend.kit.database import Database
from weir_backend.models import AlertRule, AuditEntry, Job, Role

RULES = "/api/v1/alert-rules"
LATE = {"name": "late", "condition": {"kind": "no-checkpoint", "minutes": 5}}


@pytest.fixture
def operator(login: Login) -> dict[str, str]:
    return login(Role.OPERATOR, name="olga")


def create_rule(client: TestClient, headers: dict[str, str], **more: Any) -> dict[str, Any]:
    answer = client.post(RULES, json={**LATE, **more}, headers=headers)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_new_installation_has_three_rules(client: TestClient, login: Login) -> None:
    answer = client.get(RULES, headers=login(Role.VIEWER))
    assert answer.headers["Content-Range"] == "alert-rules 0-2/3"
    assert [(one["name"], one["job_id"], one["enabled"], one["webhook_id"], one["condition"]) for one in answer.json()] == [
        ("No checkpoint for 10 minutes", None, True, None, {"kind": "no-checkpoint", "minutes": 10}),
        ("Failed three times in a row", None, True, None, {"kind": "failures", "count": 3}),
        ("Five restarts within ten minutes", None, True, None, {"kind": "restarts", "count": 5, "minutes": 10}),
    ]


@pytest.mark.parametrize(
    ("condition", "stored"),
    [
        ({"kind": "no-checkpoint", "minutes": 5}, None),
        ({"kind": "failures", "count": 1}, None),
        ({"kind": "restarts", "count": 4, "minutes": 60}, None),
        ({"kind": "health", "reason": "bottleneck"}, None),
        ({"kind": "health"}, {"kind": "health", "reason": None}),
        ({"kind": "lag", "seconds": 30.5}, {"kind": "lag", "records": None, "seconds": 30.5, "source": None}),
        ({"kind": "lag", "records": 7, "source": "in"}, {"kind": "lag", "records": 7, "seconds": None, "source": "in"}),
    ],
)
def test_a_rule_is_stored_as_it_was_sent(
    client: TestClient, database: Database, operator: dict[str, str], condition: Any, stored: Any
) -> None:
    job_id = new_job(database)
    rule = create_rule(client, operator, job_id=job_id, condition=condition, enabled=False)
    answer = client.get(f"{RULES}/{rule['id']}", headers=operator)
    assert answer.headers["ETag"] == '"1"' and answer.json() == rule
    assert rule["condition"] == (stored or condition) and rule["job_id"] == job_id and not rule["enabled"]


@pytest.mark.parametrize(
    "invalid",
    [
        {"condition": {"kind": "no-checkpoint"}},
        {"condition": {"kind": "no-checkpoint", "minutes": 0}},
        {"condition": {"kind": "no-checkpoint", "minutes": 5, "count": 3}},
        {"condition": {"kind": "failures", "minutes": 5}},
        {"condition": {"kind": "failures", "count": 101}},
        {"condition": {"kind": "lag"}},
        {"condition": {"kind": "lag", "records": None, "source": "in"}},
        {"condition": {"kind": "lag", "seconds": 0}},
        {"condition": {"kind": "unknown"}},
        {"condition": {"kind": "health", "reason": "unknown"}},
        {"condition": {"kind": "health", "reason": "compiling"}},
        {"name": ""},
        {"name": " "},
        {"name": "x" * 101},
        {"name": "a\x00b"},
        {"job_id": 999_999},
        {"webhook_id": 999_999},
        {"priority": 1},
    ],
)
def test_an_invalid_rule_is_refused(client: TestClient, operator: dict[str, str], invalid: Any) -> None:
    answer = client.post(RULES, json={**LATE, **invalid}, headers=operator)
    assert answer.status_code == 422, answer.text


def test_a_rule_for_a_deleted_job_is_refused(client: TestClient, database: Database, operator: dict[str, str]) -> None:
    job_id = new_job(database)
    with database.session() as session:
        session.get_one(Job, job_id).deleted_at = session.get_one(Job, job_id).created_at
    answer = client.post(RULES, json={**LATE, "job_id": job_id}, headers=operator)
    assert answer.status_code == 422 and answer.json()["code"] == "no-job"


def test_a_change_requires_the_current_version_and_changes_only_the_given_fields(
    client: TestClient, operator: dict[str, str]
) -> None:
    rule = create_rule(client, operator)
    url = f"{RULES}/{rule['id']}"
    assert client.patch(url, json={"enabled": False}, headers=operator).status_code == 428
    answer = client.patch(url, json={"enabled": False}, headers={**operator, "If-Match": '"1"'})
    assert answer.status_code == 200 and answer.headers["ETag"] == '"2"'
    assert answer.json() == {**rule, "enabled": False, "version": 2}
    assert client.patch(url, json={"enabled": True}, headers={**operator, "If-Match": '"1"'}).status_code == 412
    ten_minutes = {"kind": "no-checkpoint", "minutes": 10}
    answer = client.patch(url, json={"condition": ten_minutes, "name": "later"}, headers={**operator, "If-Match": "*"})
    assert answer.json() == {**rule, "enabled": False, "version": 3, "condition": ten_minutes, "name": "later"}
    another = {"condition": {"kind": "failures", "count": 3}}
    answer = client.patch(url, json=another, headers={**operator, "If-Match": "*"})
    assert answer.status_code == 422 and answer.json()["code"] == "kind-immutable"
    answer = client.patch(url, json={}, headers={**operator, "If-Match": "*"})
    assert answer.status_code == 200 and answer.headers["ETag"] == '"3"', "an empty change does not increase the version"


def test_audit_entries_of_rules_contain_the_changed_fields(
    client: TestClient, database: Database, operator: dict[str, str]
) -> None:
    rule = create_rule(client, operator)
    url, any_version = f"{RULES}/{rule['id']}", {**operator, "If-Match": "*"}
    client.patch(url, json={"enabled": False, "name": "late"}, headers=any_version)
    assert client.delete(url, headers=any_version).status_code == 204
    assert client.get(url, headers=operator).status_code == 404
    with database.session() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.resource == "alert-rule").order_by(AuditEntry.id)).all()
    assert [(one.user_name, one.action, one.resource_id) for one in entries] == [
        ("olga", "create", rule["id"]), ("olga", "update", rule["id"]), ("olga", "delete", rule["id"]),
    ]  # fmt: skip
    assert (entries[1].before, entries[1].after) == ({"enabled": True}, {"enabled": False})
    assert entries[2].before is not None and entries[2].before["condition"] == LATE["condition"]


def test_a_rule_sent_twice_with_an_idempotency_key_is_created_once(client: TestClient, operator: dict[str, str]) -> None:
    keyed = {**operator, "Idempotency-Key": "one"}
    assert create_rule(client, keyed) == create_rule(client, keyed)
    assert len(client.get(RULES, params={"filter": '{"name": "late"}'}, headers=operator).json()) == 1


def test_rules_can_be_filtered_and_sorted(client: TestClient, database: Database, operator: dict[str, str]) -> None:
    with database.session() as session:
        session.execute(delete(AlertRule))
    job_id = new_job(database)
    create_rule(client, operator, name="a")
    create_rule(client, operator, name="b", job_id=job_id, enabled=False)
    create_rule(client, operator, name="c", condition={"kind": "failures", "count": 2})

    def found(filter_: str) -> list[str]:
        answer = client.get(RULES, params={"filter": filter_, "sort": '["name","DESC"]'}, headers=operator)
        assert answer.status_code == 200, answer.text
        return [one["name"] for one in answer.json()]

    assert found("{}") == ["c", "b", "a"]
    assert found(f'{{"job_id": {job_id}}}') == ["b"] == found('{"enabled": false}')
    assert found('{"kind": ["failures", "lag"]}') == ["c"]
    assert client.get(RULES, params={"filter": '{"kind": "x"}'}, headers=operator).status_code == 422


def test_the_number_of_rules_is_limited(client: TestClient, operator: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "RULES_MAX", 4)
    create_rule(client, operator)
    answer = client.post(RULES, json=LATE, headers=operator)
    assert answer.status_code == 409 and answer.json()["code"] == "too-many-rules"


def test_viewers_can_read_rules_and_only_operators_can_change_them(
    client: TestClient, login: Login, operator: dict[str, str]
) -> None:
    rule, viewer = create_rule(client, operator), login(Role.VIEWER)
    url = f"{RULES}/{rule['id']}"
    assert client.get(url, headers=viewer).status_code == 200 == client.get("/api/v1/alerts", headers=viewer).status_code
    for method, path in (("POST", RULES), ("PATCH", url), ("DELETE", url)):
        answer = client.request(method, path, json=LATE if method != "DELETE" else None, headers={**viewer, "If-Match": "*"})
        assert answer.status_code == 403, f"{method} {path}"
