"""No response, log line, audit entry, Celery message or row contains a password or a token, whatever the outcome of a request."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from fastapi.testclient import TestClient
from sqlalchemy import text
from tests.backend.auth.users import SESSION, log_in, person
from tests.backend.conftest import Login

from weir_backend.auth import repository
from weir_backend.auth.sessions import service as sessions
from weir_backend.kit.database import Database
from weir_backend.models import Base, Role

USERS, TOKENS = "/api/v1/users", "/api/v1/tokens"


class Told:
    """Everything that was written anywhere."""

    def __init__(self, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
        self.answers: list[str] = []
        self._caplog = caplog
        self._capfd = capfd
        self.lines: list[Any] = []

    def everything(self, database: Database) -> str:
        out, err = self._capfd.readouterr()
        with database.session() as session:
            rows = [str(row) for table in Base.metadata.tables for row in session.execute(text(f'SELECT * FROM "{table}"'))]
        return "\n".join([*self.answers, self._caplog.text, out, err, *map(str, self.lines), *rows])


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Told]:
    caplog.set_level(logging.DEBUG)
    found = Told(caplog, capfd)

    def keep(_: Any, __: str, line: Any) -> Any:
        found.lines.append(dict(line))
        return line

    # Capture everything, regardless of what an earlier test configured (levels, a closed stream).
    before = structlog.get_config()
    structlog.configure(
        processors=[keep, *before["processors"]],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.PrintLoggerFactory(),
    )
    yield found
    structlog.configure(**before)


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every login and every change of a password fails in the middle."""

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("in the middle of it")

    monkeypatch.setattr(sessions, "open_session", fail)
    monkeypatch.setattr(repository, "revoke_sessions", fail)


def new_password() -> str:
    return "password " + secrets.token_urlsafe(12)


def test_successful_requests_leak_no_secret(client: TestClient, database: Database, login: Login, told: Told) -> None:
    own, given, later = new_password(), new_password(), new_password()
    person(database, "root", Role.ADMIN, rollback=True, password=own)
    opened = log_in(client, "root", own)
    admin = {"Authorization": f"Bearer {opened.json()['token']}"}
    made = client.post(TOKENS, json={"name": "CI", "role": "viewer", "expires_in_days": 1}, headers=admin)
    bob = client.post(USERS, json={"name": "bob", "role": "viewer", "password": given}, headers=admin)
    bobs = f"{USERS}/{bob.json()['id']}"
    answers = [
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
    assert all(one.status_code < 300 for one in answers)
    told.answers = [one.text + str(one.headers) for one in answers]
    everything = told.everything(database)
    assert "'log-in'" in everything and "$argon2id$" in everything, "the rows are looked at"
    for secret in (own, given, later, opened.json()["token"], made.json()["token"]):
        assert secret not in everything


def test_refused_requests_leak_no_secret(client: TestClient, database: Database, login: Login, told: Told) -> None:
    own, other = new_password(), new_password()
    person(database, "root", Role.ADMIN, password=own)
    admin = login()
    stray = {"Authorization": f"Bearer weir_{other}"}
    answers = [
        log_in(client, "root", other),
        log_in(client, other.replace(" ", "-"), own),
        client.post(SESSION, json={"name": {"x": own}, "password": [own]}),
        client.post(SESSION, json={"name": "root", "password": own, "more": own}),
        client.post(
            SESSION, content=f'{{"name": "root", "password": "{own}"'.encode(), headers={"Content-Type": "application/json"}
        ),
        client.get(SESSION, headers=stray),
        client.get(SESSION, headers={"Cookie": f"weir_session={other.replace(' ', '')}"}),
        client.put(f"{SESSION}/password", json={"old_password": own, "new_password": other[:8]}, headers=admin),
        client.put(f"{SESSION}/password", json={"old_password": own, "new_password": other}, headers=admin),
        client.post(USERS, json={"name": "root", "role": "viewer", "password": other}, headers=admin),
        client.patch(f"{USERS}/999", json={"password": other}, headers=admin | {"If-Match": '"1"'}),
    ]
    assert all(400 <= one.status_code < 500 for one in answers)
    told.answers = [one.text for one in answers]
    everything = told.everything(database)
    assert "login refused" in everything, "the log is inspected"
    for secret in (own, other, other.replace(" ", "-"), other.replace(" ", "")):
        assert secret not in everything


def test_failing_requests_leak_no_secret(
    client: TestClient, database: Database, login: Login, told: Told, careless: None
) -> None:
    own, other = new_password(), new_password()
    user_id = person(database, "root", Role.ADMIN, password=own)
    answers = [
        log_in(client, "root", own),
        client.patch(f"{USERS}/{user_id}", json={"password": other}, headers=login() | {"If-Match": "*"}),
    ]
    assert [one.status_code for one in answers] == [500, 500]
    told.answers = [one.text for one in answers]
    everything = told.everything(database)
    assert "in the middle of it" in everything, "the log is looked at"
    assert own not in everything and other not in everything


def test_database_errors_leak_no_hash(client: TestClient, database: Database, login: Login, told: Told) -> None:
    """SQLAlchemy does not name the values, and Postgres does not name the refused row."""
    with database.session() as session:
        session.execute(text("ALTER TABLE users ADD CONSTRAINT never CHECK (name <> 'bob')"))
    answer = client.post(USERS, json={"name": "bob", "role": "viewer", "password": new_password()}, headers=login())
    assert answer.status_code == 500
    told.answers = [answer.text]
    everything = told.everything(database)
    assert "violates check constraint" in everything and "argon2id" not in everything
