"""Secrets of the platform over the API: only administrators manage them, and no response, audit entry or row contains a value."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from sqlalchemy import select, text
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform

from weir.protocol.secret_references import VALUE_BYTES_MAX
from weir_backend.kit.database import Database
from weir_backend.models import AuditEntry, Base, Role, Secret
from weir_backend.secrets import repository, service
from weir_backend.secrets.encryption import decrypt, encrypt
from weir_backend.secrets.service import provide
from weir_backend.settings import Settings

SECRETS = "/api/v1/secrets"
VALUE = "planted-91ab-value"
KAFKA = {"name": "kafka", "value": VALUE, "description": "Password of the user orders"}


@pytest.fixture
def admin(login: Login) -> dict[str, str]:
    return login(Role.ADMIN, name="anna")


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR, name="olga"))


def create_secret(client: TestClient, headers: dict[str, str], **more: Any) -> dict[str, Any]:
    answer = client.post(SECRETS, json={**KAFKA, **more}, headers=headers)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def stored_rows(database: Database) -> str:
    with database.session() as session:
        return "\n".join(str(row) for table in Base.metadata.tables for row in session.execute(text(f'SELECT * FROM "{table}"')))


def provided(database: Database, settings: Settings, **parameters: Any) -> service.ProvidedSecrets:
    with database.session() as session:
        return provide(session, settings, parameters)


def test_no_response_row_or_audit_entry_contains_the_value(
    client: TestClient, database: Database, settings: Settings, admin: dict[str, str]
) -> None:
    secret = create_secret(client, admin)
    url = f"{SECRETS}/{secret['id']}"
    changed = client.patch(url, json={"value": f"{VALUE} 2"}, headers={**admin, "If-Match": "*"})
    responses = [changed, *(client.get(path, headers=admin) for path in (url, SECRETS, "/api/v1/audit"))]
    assert all(one.status_code == 200 for one in responses)
    assert secret.keys() == changed.json().keys() and "value" not in secret
    assert provided(database, settings, A="secret:kafka").values == {"kafka": f"{VALUE} 2"}
    everything = str(secret) + "".join(one.text for one in responses) + stored_rows(database)
    assert "Password of the user orders" in everything, "the searched text must include the rows"
    for form in (VALUE, base64.b64encode(VALUE.encode()).decode().rstrip("=")):
        assert form not in everything


def test_only_administrators_list_and_change_secrets(client: TestClient, admin: dict[str, str], login: Login) -> None:
    secret = create_secret(client, admin)
    url = f"{SECRETS}/{secret['id']}"
    for role in (Role.VIEWER, Role.OPERATOR):
        headers = {**login(role), "If-Match": "*"}
        for method, path, body in (
            ("GET", SECRETS, None), ("GET", url, None), ("POST", SECRETS, {**KAFKA, "name": "mine"}), ("PATCH", url, {"value": "x"}),
            ("DELETE", url, None),
        ):  # fmt: skip
            assert client.request(method, path, json=body, headers=headers).status_code == 403, f"{method} {path}"


def test_the_audit_log_records_who_replaced_a_value(client: TestClient, database: Database, admin: dict[str, str]) -> None:
    secret = create_secret(client, admin)
    url, headers = f"{SECRETS}/{secret['id']}", {**admin, "If-Match": "*"}
    assert client.patch(url, json={"value": "new"}, headers=headers).json()["version"] == secret["version"] + 1
    assert client.patch(url, json={"description": "old"}, headers=headers).json()["description"] == "old"
    assert client.delete(url, headers=headers).status_code == 204
    with database.session() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.resource == "secret").order_by(AuditEntry.id)).all()
        found = [(one.user_name, one.action, sorted(one.after or {}), one.resource_text) for one in entries]
    assert found == [
        ("anna", "create", ["description", "name", "value_changed_at"], "secret kafka"),
        ("anna", "update", ["value_changed_at"], "secret kafka"),
        ("anna", "update", ["description"], "secret kafka"),
        ("anna", "delete", [], "secret kafka"),
    ]


@pytest.mark.parametrize(
    "invalid", [{"name": "a b"}, {"name": ""}, {"name": "a/b"}, {"value": ""}, {"value": VALUE * 3_000}, {"value": "é" * 20_000}]
)
def test_the_error_for_an_invalid_secret_does_not_contain_the_value(
    client: TestClient, admin: dict[str, str], invalid: Any
) -> None:
    answer = client.post(SECRETS, json={**KAFKA, **invalid}, headers=admin)
    assert answer.status_code == 422 and VALUE not in answer.text, answer.text


def test_a_value_that_is_not_unicode_text_is_refused(client: TestClient, admin: dict[str, str]) -> None:
    body = b'{"name": "kafka", "value": "\\ud800 planted"}'
    answer = client.post(SECRETS, content=body, headers={**admin, "Content-Type": "application/json"})
    assert answer.status_code == 422 and "planted" not in answer.text


def test_the_longest_value_is_stored_and_a_taken_name_or_a_stale_version_is_refused(
    client: TestClient, database: Database, settings: Settings, admin: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = create_secret(client, admin, value="x" * VALUE_BYTES_MAX)
    assert provided(database, settings, A="secret:kafka").values == {"kafka": "x" * VALUE_BYTES_MAX}
    taken = client.post(SECRETS, json=KAFKA, headers=admin)
    assert taken.status_code == 409 and "A secret named 'kafka' already exists" in taken.text
    monkeypatch.setattr(service, "SECRETS_MAX", 1)
    full = client.post(SECRETS, json={**KAFKA, "name": "other"}, headers=admin)
    assert full.status_code == 409 and "There are already 1 secrets." in full.text
    url = f"{SECRETS}/{secret['id']}"
    assert client.patch(url, json={}, headers={**admin, "If-Match": "*"}).status_code == 422
    for method in ("PATCH", "DELETE"):
        stale = client.request(method, url, json={"value": "y"}, headers={**admin, "If-Match": '"99"'})
        assert stale.status_code == 412
    assert client.get(f"{SECRETS}/99", headers=admin).status_code == 404


def test_a_secret_cannot_be_deleted_while_the_current_version_of_a_job_refers_to_it(
    client: TestClient, database: Database, platform: Platform, admin: dict[str, str]
) -> None:
    secret = create_secret(client, admin)
    for name, reference in (
        ("orders", "secret:kafka"),
        ("billing", "secret:kafka"),
        ("other", "secret:kafka-2"),
        ("plain", "kafka"),
    ):
        platform.deploy(name, {"parameters": {"BROKER": reference, "rows": 5}}, start=False)
    refused = client.delete(f"{SECRETS}/{secret['id']}", headers={**admin, "If-Match": "*"})
    assert refused.status_code == 409
    assert refused.json()["detail"] == "The current versions of these jobs refer to secret 'kafka': 'billing', 'orders'."
    with database.session() as session:
        assert repository.jobs_that_use(session, "kafka-2") == ["other"]


def test_a_run_gets_only_the_secrets_to_which_its_parameters_refer(
    client: TestClient, database: Database, settings: Settings, admin: dict[str, str]
) -> None:
    for name in ("kafka", "s3"):
        create_secret(client, admin, name=name, value=f"value of {name}")
    assert provided(database, settings, rows=5, A="env:A") == service.ProvidedSecrets()
    found = provided(database, settings, A="secret:kafka", B="secret:kafka", C="file:/s3")
    assert found == service.ProvidedSecrets({"kafka": "value of kafka"}) and "value of" not in repr(found)
    missing = provided(database, settings, A="secret:kafka", B="secret:nowhere")
    assert missing.values == {} and missing.problem == (
        "Parameter 'B' refers to secret:nowhere, but the platform has no secret 'nowhere'. Ask an administrator to create it: "
        "weir secret set nowhere"
    )


def test_a_secret_cannot_be_decrypted_with_another_key_or_under_another_name(
    client: TestClient, database: Database, settings: Settings, admin: dict[str, str]
) -> None:
    create_secret(client, admin)
    other = settings.model_copy(update={"secret_key": SecretStr("another key of sufficient length")})
    problem = provided(database, other, A="secret:kafka").problem
    assert problem is not None and problem.startswith("Secret 'kafka' cannot be decrypted, because the secret key")
    encrypted = encrypt(settings, "kafka", VALUE)
    assert decrypt(settings, "kafka", encrypted) == VALUE and encrypt(settings, "kafka", VALUE) != encrypted
    assert [
        decrypt(settings, "s3", encrypted),
        decrypt(settings, "kafka", encrypted[:-6] + "AAAAAA"),
        decrypt(settings, "kafka", "x"),
    ] == [
        None,
        None,
        None,
    ]
    with database.session() as session:
        assert VALUE not in (session.scalar(select(Secret.encrypted)) or VALUE)


@pytest.mark.parametrize("value", ["env:KAFKA_PASSWORD", "secret:kafka", "file:/run/secrets/kafka", 5, True])
def test_a_parameter_whose_name_looks_like_a_secret_can_be_a_reference(platform: Platform, value: object) -> None:
    made = platform.deploy("orders", {"parameters": {"kafka_password": value}}, start=False)
    spec = platform.send("GET", f"/jobs/{made['id']}/specs/1", status=200)
    assert spec["body"]["parameters"] == {"kafka_password": value}


def test_a_plain_text_for_a_parameter_whose_name_looks_like_a_secret_is_not_stored(platform: Platform) -> None:
    spec = {"artifact": platform.upload(), "parameters": {"kafka_password": VALUE}}
    answer = platform.send("POST", "/jobs", status=422, json={"name": "orders", "spec": spec})
    assert "Write a reference: env:VARIABLE, file:/PATH or secret:NAME" in str(answer)
    assert VALUE not in str(answer) + stored_rows(platform.database)
