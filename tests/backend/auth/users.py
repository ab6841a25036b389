"""Users with passwords, for tests of login."""

from __future__ import annotations

from fastapi.testclient import TestClient
from httpx2 import Response
from sqlalchemy import select

from weir_backend.auth.passwords import hashed
from weir_backend.kit.database import Database
from weir_backend.models import AuditEntry, Role, User

PASSWORD = "correct horse battery staple"
SESSION = "/api/v1/session"
LOGIN_STATUS = f"{SESSION}/status"


def person(
    database: Database, name: str = "alice", role: Role = Role.VIEWER, *, rollback: bool = False, password: str = PASSWORD
) -> int:
    """Return the user's id."""
    with database.session() as session:
        user = User(name=name, role=role, rollback=rollback, password_hash=hashed(password))
        session.add(user)
        session.flush()
        return user.id


def log_in(client: TestClient, name: str = "alice", password: str = PASSWORD) -> Response:
    return client.post(SESSION, json={"name": name, "password": password})


def headers(client: TestClient, name: str = "alice", password: str = PASSWORD) -> dict[str, str]:
    """Headers of a new session, as a program sends them. The cookie is not kept."""
    answer = log_in(client, name, password)
    assert answer.status_code == 201, answer.text
    client.cookies.clear()
    return {"Authorization": f"Bearer {answer.json()['token']}"}


def audited(database: Database) -> list[tuple[str, str, str]]:
    """User, action and resource of each audit entry, in order."""
    with database.session() as session:
        found = session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [(one.user_name, one.action, one.resource) for one in found]
