"""Passwords and tokens appear in no response, log line, audit entry, Celery message or database row, even if a request fails."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from fastapi.testclient import TestClient
from sqlalchemy import text
from tests.backend.auth.users import SESSION, create_user, log_in
from tests.backend.conftest import Login

from weir_backend.auth import repository
from weir_backend.auth.sessions import service as sessions
from weir_backend.kit.database import Database
from weir_backend.models import Base, Role

USERS, TOKENS = "/api/v1/users", "/api/v1/tokens"


class Output:
    """Collects responses, log lines, printed output and database rows."""

    def __init__(self, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
        self.responses: list[str] = []
        self._caplog = caplog
        self._capfd = capfd
        self.log_entries: list[Any] = []

    def everything(self, database: Database) -> str:
        out, err = self._capfd.readouterr()
        with database.session() as session:
            rows = [str(row) for table in Base.metadata.tables for row in session.execute(text(f'SELECT * FROM "{table}"'))]
        return "\n".join([*self.responses, self._caplog.text, out, err, *map(str, self.log_entries), *rows])


@pytest.fixture
def output(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Output]:
    caplog.set_level(logging.DEBUG)
    found = Output(caplog, capfd)

    def record(_: Any, __: str, entry: Any) -> Any:
        found.log_entries.append(dict(entry))
        return entry

    # Capture all log lines, even if an earlier test changed the log level or closed the stream.
    before = structlog.get_config()
    structlog.configure(
        processors=[record, *before["processors"]],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.PrintLoggerFactory(),
    )
    yield found
    structlog.configure(**before)


@pytest.fixture
def failing_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make log-ins and password changes fail in the middle of the request."""

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("failure in the middle of the request")

    monkeypatch.setattr(sessions, "open_session", fail)
    monkeypatch.setattr(repository, "revoke_sessions", fail)


def new_password() -> str:
    return "password " + secrets.token_urlsafe(12)


def test_successful_requests_leak_no_secret(client: TestClient, database: Database, login: Login, output: Output) -> None:
    own, given, later = new_password(), new_password(), new_password()
    create_user(database, "root", Role.ADMIN, rollback=True, password=own)
    opened = log_in(client, "root", own)
    admin = {"Authorization": f"Bearer {opened.json()['token']}"}
    made = client.post(TOKENS, json={"name": "CI", "role": "viewer", "expires_in_days": 1}, headers=admin)
    bob = client.post(USERS, json={"name": "bob", "role": "viewer", "password": given}, headers=admin)
    bobs = f"{USERS}/{bob.json()['id']}"
    responses = [
        bob,
        client.patch(bobs, json={"password": later}, headers=admin | {"If-Match": "*"}),
        client.put(f"{SESSION}/password", json={"old_password": own, "new_password": given}, headers=admin),
        *(
            client.get(where, headers=admin)
            for where in (SESSION, USERS, bobs, TOKENS, f"{TOKENS}/{made.json()['id']}", "/api/v1/audit")
        ),
        client.delete(f"{TOKENS}/{made.json()['id']}", headers=admin),
        client.delete(bobs, headers=admin),
        client.delete(SESSION, headers=admin),
    ]
    assert all(one.status_code < 300 for one in responses)
    output.responses = [one.text + str(one.headers) for one in responses]
    everything = output.everything(database)
    assert "'log-in'" in everything and "$argon2id$" in everything, "the searched text must include the database rows"
    for secret in (own, given, later, opened.json()["token"], made.json()["token"]):
        assert secret not in everything


def test_refused_requests_leak_no_secret(client: TestClient, database: Database, login: Login, output: Output) -> None:
    own, other = new_password(), new_password()
    create_user(database, "root", Role.ADMIN, password=own)
    admin = login()
    unknown = {"Authorization": f"Bearer weir_{other}"}
    responses = [
        log_in(client, "root", other),
        log_in(client, other.replace(" ", "-"), own),
        client.post(SESSION, json={"name": {"x": own}, "password": [own]}),
        client.post(SESSION, json={"name": "root", "password": own, "more": own}),
        client.post(
            SESSION, content=f'{{"name": "root", "password": "{own}"'.encode(), headers={"Content-Type": "application/json"}
        ),
        client.get(SESSION, headers=unknown),
        client.get(SESSION, headers={"Cookie": f"weir_session={other.replace(' ', '')}"}),
        client.put(f"{SESSION}/password", json={"old_password": own, "new_password": other[:8]}, headers=admin),
        client.put(f"{SESSION}/password", json={"old_password": own, "new_password": other}, headers=admin),
        client.post(USERS, json={"name": "root", "role": "viewer", "password": other}, headers=admin),
        client.patch(f"{USERS}/999", json={"password": other}, headers=admin | {"If-Match": '"1"'}),
    ]
    assert all(400 <= one.status_code < 500 for one in responses)
    output.responses = [one.text for one in responses]
    everything = output.everything(database)
    assert "login refused" in everything, "the searched text must include the log"
    for secret in (own, other, other.replace(" ", "-"), other.replace(" ", "")):
        assert secret not in everything


def test_failing_requests_leak_no_secret(
    client: TestClient, database: Database, login: Login, output: Output, failing_sessions: None
) -> None:
    own, other = new_password(), new_password()
    user_id = create_user(database, "root", Role.ADMIN, password=own)
    responses = [
        log_in(client, "root", own),
        client.patch(f"{USERS}/{user_id}", json={"password": other}, headers=login() | {"If-Match": "*"}),
    ]
    assert [one.status_code for one in responses] == [500, 500]
    output.responses = [one.text for one in responses]
    everything = output.everything(database)
    assert "failure in the middle of the request" in everything, "the searched text must include the log"
    assert own not in everything and other not in everything


def test_database_errors_leak_no_hash(client: TestClient, database: Database, login: Login, output: Output) -> None:
    """Neither SQLAlchemy nor Postgres includes the values of the refused row in the error."""
    with database.session() as session:
        session.execute(text("ALTER TABLE users ADD CONSTRAINT never CHECK (name <> 'bob')"))
    response = client.post(USERS, json={"name": "bob", "role": "viewer", "password": new_password()}, headers=login())
    assert response.status_code == 500
    output.responses = [response.text]
    everything = output.everything(database)
    assert "violates check constraint" in everything and "argon2id" not in everything
