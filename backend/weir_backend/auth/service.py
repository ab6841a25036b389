"""What the platform itself does with accounts."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

from weir_backend.auth import passwords, repository
from weir_backend.auth.names import PASSWORD_MAX, PASSWORD_MIN, fits
from weir_backend.errors import Invalid
from weir_backend.kit.access import PLATFORM
from weir_backend.kit.audit import audit
from weir_backend.models import Role, User

_LOCK = 0x75736572
"""Two that find no user: the second waits, and finds the one that the first has made."""


def create_first_administrator(session: Session, name: str, password: str) -> bool:
    """He may roll back, too. False, and nothing is done, if there is any user. Raises Invalid."""
    session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    if repository.any_user(session):
        return False
    if not fits(name):
        raise Invalid("invalid", f"{name!r} is no name for a user", "take letters, digits and . @ + - _")
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise Invalid("invalid", f"a password has at least {PASSWORD_MIN} characters and at most {PASSWORD_MAX}")
    user = User(name=name, role=Role.ADMIN, rollback=True, password_hash=passwords.hashed(password))
    session.add(user)
    session.flush()
    audit(session, PLATFORM, "create", "user", user.id, after={"name": name, "role": Role.ADMIN.value, "rollback": True})
    return True
