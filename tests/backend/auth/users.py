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


def create_user(
    database: Database, name: str = "alice", role: Role = Role.VIEWER, *, rollback: bool = False, password: str = PASSWORD
) -> int:
    """Create a user with a password, and return its id."""
    with database.session() as session:
        user = User(name=name, role=role, rollback=rollback, password_hash=hashed(password))
        session.add(user)
        session.flush()
        return user.id


def log_in(client: TestClient, name: str = "alice", password: str = PASSWORD) -> Response:
    return client.post(SESSION, json={"name": name, "password": password})


def session_headers(client: TestClient, name: str = "alice", password: str = PASSWORD) -> dict[str, str]:
    """Log in, and return the headers that a program sends in this session. The client keeps no cookie."""
    answer = log_in(client, name, password)
    assert answer.status_code == 201, answer.text
    client.cookies.clear()
    return {"Authorization": f"Bearer {answer.json()['token']}"}


def audit_entries(database: Database) -> list[tuple[str, str, str]]:
    """Return the user, action and resource of each audit entry, oldest first."""
    with database.session() as session:
        found = session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [(one.user_name, one.action, one.resource) for one in found]
