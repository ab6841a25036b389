"""Webhooks over the API. All users can list webhooks, but only administrators can change webhooks or see complete URLs."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.backend.conftest import Login, RecordedTasks

from weir_backend.kit.database import Database
from weir_backend.kit.tasks import DELIVER
from weir_backend.models import AuditEntry, Role
from weir_backend.webhooks import service

WEBHOOKS = "/api/v1/webhooks"
SECRET_PATH = "/services/T024/B17/as-good-as-a-password"
OPS = {"name": "ops", "url": f"https://hooks.example.com{SECRET_PATH}", "secret_reference": "env:WEIR_WEBHOOK_KEY_OPS"}


@pytest.fixture
def admin(login: Login) -> dict[str, str]:
    return login(Role.ADMIN, name="anna")


def create_webhook(client: TestClient, headers: dict[str, str], **more: Any) -> dict[str, Any]:
    answer = client.post(WEBHOOKS, json={**OPS, **more}, headers=headers)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_only_administrators_see_the_complete_url(client: TestClient, admin: dict[str, str], login: Login) -> None:
    webhook = create_webhook(client, admin)
    assert webhook["url"] == OPS["url"] and webhook["receiver"] == "https://hooks.example.com" and webhook["enabled"]
    url = f"{WEBHOOKS}/{webhook['id']}"
    assert client.get(url, headers=admin).json() == webhook
    for role in (Role.VIEWER, Role.OPERATOR):
        reader = login(role)
        for path in (url, WEBHOOKS):
            answer = client.get(path, headers=reader)
            assert answer.status_code == 200 and SECRET_PATH not in answer.text
        assert client.get(url, headers=reader).json() == {**webhook, "url": None}


def test_only_administrators_can_change_webhooks(client: TestClient, admin: dict[str, str], login: Login) -> None:
    webhook, operator = create_webhook(client, admin), login(Role.OPERATOR, rollback=True)
    url = f"{WEBHOOKS}/{webhook['id']}"
    for method, path, body in (
        ("POST", WEBHOOKS, {**OPS, "name": "mine"}), ("PATCH", url, {"enabled": False}), ("DELETE", url, None), ("POST", f"{url}/test", None),
    ):  # fmt: skip
        answer = client.request(method, path, json=body, headers={**operator, "If-Match": "*"})
        assert answer.status_code == 403, f"{method} {path}"


@pytest.mark.parametrize(
    "invalid",
    [
        {"url": "ftp://h/x"},
        {"url": "https://user:password@h/x"},
        {"url": "http://169.254.169.254/latest/meta-data/"},
        {"url": "https://h/\r\nX: y"},
        {"url": "https://h/" + "x" * 2_000},
        {"secret_reference": "a key in clear"},
        {"secret_reference": "env:WEIR_SECRET_KEY"},
        {"secret_reference": "env:PATH"},
        {"secret_reference": "file:/etc/passwd"},
        {"secret_reference": "file:../ops"},
        {"secret_reference": "file:a/b"},
        {"name": "a b"},
        {"key": "x"},
    ],
)
def test_the_error_for_an_unsafe_webhook_does_not_contain_its_secrets(
    client: TestClient, admin: dict[str, str], invalid: Any
) -> None:
    answer = client.post(WEBHOOKS, json={**OPS, **invalid}, headers=admin)
    assert answer.status_code == 422, answer.text
    assert "user:password" not in answer.text and SECRET_PATH not in answer.text


def test_audit_entries_contain_no_secret_part_of_the_url(client: TestClient, database: Database, admin: dict[str, str]) -> None:
    webhook = create_webhook(client, admin)
    url, any_version = f"{WEBHOOKS}/{webhook['id']}", {**admin, "If-Match": "*"}
    assert client.patch(url, json={"url": OPS["url"] + "2"}, headers=any_version).json()["version"] == 2
    client.patch(url, json={"secret_reference": None, "enabled": True}, headers=any_version)
    assert client.delete(url, headers=any_version).status_code == 204
    with database.session() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.resource == "webhook").order_by(AuditEntry.id)).all()
    assert [one.action for one in entries] == ["create", "update", "update", "delete"]
    assert all("password" not in f"{one.before}{one.after}" for one in entries)
    assert entries[1].after == {"receiver": "https://hooks.example.com"}
    assert (entries[2].before, entries[2].after) == ({"secret_reference": "env:WEIR_WEBHOOK_KEY_OPS"}, {"secret_reference": None})


def test_a_change_requires_the_current_version_and_a_unique_name(client: TestClient, admin: dict[str, str]) -> None:
    webhook, _ = create_webhook(client, admin), create_webhook(client, admin, name="other")
    url = f"{WEBHOOKS}/{webhook['id']}"
    assert client.patch(url, json={"enabled": False}, headers=admin).status_code == 428
    answer = client.patch(url, json={"enabled": False}, headers={**admin, "If-Match": '"1"'})
    assert answer.json() == {**webhook, "enabled": False, "version": 2}
    assert client.patch(url, json={"enabled": True}, headers={**admin, "If-Match": '"1"'}).status_code == 412
    answer = client.patch(url, json={"name": "other"}, headers={**admin, "If-Match": "*"})
    assert answer.status_code == 409 and answer.json()["code"] == "name-taken"
    assert client.patch(url, json={"name": "ops"}, headers={**admin, "If-Match": "*"}).status_code == 200
    assert client.patch(url, json={}, headers={**admin, "If-Match": "*"}).status_code == 422
    assert client.post(WEBHOOKS, json=OPS, headers=admin).json()["code"] == "name-taken"


def test_a_webhook_that_a_rule_uses_cannot_be_deleted(client: TestClient, admin: dict[str, str]) -> None:
    webhook = create_webhook(client, admin)
    condition = {"kind": "failures", "count": 3}
    rule = client.post(
        "/api/v1/alert-rules", json={"name": "r", "condition": condition, "webhook_id": webhook["id"]}, headers=admin
    ).json()
    assert rule["webhook_id"] == webhook["id"]
    url, any_version = f"{WEBHOOKS}/{webhook['id']}", {**admin, "If-Match": "*"}
    answer = client.delete(url, headers=any_version)
    assert answer.status_code == 409 and "'r'" in answer.json()["detail"]
    detached = client.patch(f"/api/v1/alert-rules/{rule['id']}", json={"webhook_id": None}, headers=any_version)
    assert detached.json()["webhook_id"] is None
    assert client.delete(url, headers=any_version).status_code == 204


def test_a_webhook_has_a_format_and_events(client: TestClient, admin: dict[str, str]) -> None:
    default = create_webhook(client, admin)
    assert (default["format"], default["events"]) == ("weir", ["alerts"])
    chat = create_webhook(client, admin, name="chat", format="slack", events=["plans", "operations", "plans"])
    assert (chat["format"], chat["events"]) == ("slack", ["operations", "plans"])
    assert client.get(WEBHOOKS, params={"filter": '{"format": "slack"}'}, headers=admin).json() == [chat]
    any_version = {**admin, "If-Match": "*"}
    changed = client.patch(f"{WEBHOOKS}/{chat['id']}", json={"format": "teams", "events": ["plans"]}, headers=any_version)
    assert (changed.json()["format"], changed.json()["events"]) == ("teams", ["plans"])
    refused: tuple[dict[str, Any], ...] = ({"format": "irc"}, {"events": []}, {"events": ["runs"]})
    for invalid in refused:
        assert client.post(WEBHOOKS, json={**OPS, "name": "x", **invalid}, headers=admin).status_code == 422


def test_a_webhook_of_pagerduty_needs_a_routing_key(client: TestClient, admin: dict[str, str]) -> None:
    without_key = {**OPS, "format": "pagerduty", "secret_reference": None}
    answer = client.post(WEBHOOKS, json=without_key, headers=admin)
    assert answer.status_code == 422 and answer.json()["code"] == "no-routing-key"
    url = f"{WEBHOOKS}/{create_webhook(client, admin, format='pagerduty')['id']}"
    any_version = {**admin, "If-Match": "*"}
    answer = client.patch(url, json={"secret_reference": None}, headers=any_version)
    assert answer.status_code == 422 and answer.json()["code"] == "no-routing-key"
    unsigned = client.patch(url, json={"secret_reference": None, "format": "weir"}, headers=any_version)
    assert unsigned.status_code == 200
    assert client.patch(url, json={"format": "pagerduty"}, headers=any_version).json()["code"] == "no-routing-key"


def test_a_webhook_of_a_rule_receives_alerts(client: TestClient, admin: dict[str, str]) -> None:
    plans = create_webhook(client, admin, events=["plans"])
    rule = {"name": "r", "condition": {"kind": "failures", "count": 3}, "webhook_id": plans["id"]}
    answer = client.post("/api/v1/alert-rules", json=rule, headers=admin)
    assert answer.status_code == 422 and answer.json()["code"] == "no-alerts"
    url, any_version = f"{WEBHOOKS}/{plans['id']}", {**admin, "If-Match": "*"}
    assert client.patch(url, json={"events": ["alerts", "plans"]}, headers=any_version).status_code == 200
    assert client.post("/api/v1/alert-rules", json=rule, headers=admin).status_code == 201
    answer = client.patch(url, json={"events": ["plans"]}, headers=any_version)
    assert answer.status_code == 409 and "'r'" in answer.json()["detail"]


def test_two_requests_for_a_test_message_create_one_delivery(
    client: TestClient, tasks: RecordedTasks, admin: dict[str, str], login: Login
) -> None:
    webhook = create_webhook(client, admin, enabled=False)
    url = f"{WEBHOOKS}/{webhook['id']}"
    answer = client.post(f"{url}/test", headers=admin)
    assert answer.status_code == 202 and tasks.enqueued == [(DELIVER, ())]
    delivery = answer.json()
    assert (delivery["message_kind"], delivery["state"], delivery["tries"], delivery["alert_id"]) == ("TEST", "PENDING", 0, None)
    assert client.post(f"{url}/test", headers=admin).json()["id"] == delivery["id"]
    viewer = login(Role.VIEWER)
    assert client.get(answer.headers["Location"], headers=viewer).json() == delivery
    assert client.get(f"{url}/deliveries", params={"filter": '{"message_kind": "TEST"}'}, headers=viewer).json() == [delivery]
    other = create_webhook(client, admin, name="other")
    assert client.get(f"{WEBHOOKS}/{other['id']}/deliveries/{delivery['id']}", headers=viewer).status_code == 404
    assert client.get(f"{WEBHOOKS}/999/deliveries", headers=viewer).status_code == 404


def test_the_number_of_webhooks_is_limited(client: TestClient, admin: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "WEBHOOKS_MAX", 1)
    create_webhook(client, admin)
    answer = client.post(WEBHOOKS, json={**OPS, "name": "other"}, headers=admin)
    assert answer.status_code == 409 and answer.json()["code"] == "too-many-webhooks"
