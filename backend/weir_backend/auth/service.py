"""Creation of the first administrator."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

from weir_backend.auth import passwords, repository
from weir_backend.auth.schemas import PASSWORD_MAX, PASSWORD_MIN, is_valid_user_name
from weir_backend.errors import Invalid
from weir_backend.kit.access import PLATFORM
from weir_backend.kit.audit import audit
from weir_backend.models import Role, User

_LOCK = 0x75736572
"""The key of the advisory lock that makes concurrent calls wait for each other. A second call waits, and then finds the user
that the first call has created."""


def create_first_administrator(session: Session, name: str, password: str) -> bool:
    """Create an administrator with the permission to roll back. Return False if any user exists. Raises Invalid."""
    session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    if repository.any_user(session):
        return False
    if not is_valid_user_name(name):
        raise Invalid("invalid", f"{name!r} is not a valid user name.", "Use letters, digits and . @ + - _")
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise Invalid("invalid", f"The password must have {PASSWORD_MIN} to {PASSWORD_MAX} characters.")
    user = User(name=name, role=Role.ADMIN, rollback=True, password_hash=passwords.hashed(password))
    session.add(user)
    session.flush()
    audit(session, PLATFORM, "create", "user", user.id, after={"name": name, "role": Role.ADMIN.value, "rollback": True})
    return True
