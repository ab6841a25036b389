"""Users. Administrators manage users; the last enabled administrator cannot be removed."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.auth import repository
from weir_backend.errors import Conflict, NotFound, or_raise
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.etags import check_if_match
from weir_backend.kit.notifications import ACCOUNTS, publish
from weir_backend.models import Role, User


def get(session: Session, user_id: int) -> User:
    """Raises NotFound."""
    return _require(session.get(User, user_id), user_id)


def create(session: Session, caller: Caller, name: str, role: Role, *, rollback: bool, password_hash: str | None) -> User:
    """Raises Conflict."""
    if repository.is_taken(session, name):
        raise Conflict("name-taken", f"A user named {name!r} already exists.", "Choose another name.")
    user = User(name=name, role=role, rollback=rollback, password_hash=password_hash)
    session.add(user)
    session.flush()
    after = {"name": name, "role": role.value, "rollback": rollback, "has_password": password_hash is not None}
    audit(session, caller, "create", "user", user.id, after=after)
    return user


def change(
    session: Session, caller: Caller, user_id: int, version: str | None, wanted: dict[str, Any], *, password_hash: str | None
) -> User:
    """Update a user. ``wanted`` contains new values of role, rollback and disabled. Raises NotFound, Conflict, and the errors of
    ``check_if_match``."""
    removes_admin = wanted.get("role", Role.ADMIN) is not Role.ADMIN or wanted.get("disabled", False)
    administrators = repository.locked_administrators(session) if removes_admin else set()
    user = _require(repository.locked_user(session, user_id), user_id)
    check_if_match(version, user.version)
    if removes_admin:
        _check_not_last(administrators, user_id)
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for name, value in wanted.items():
        if getattr(user, name) != value:
            before[name], after[name] = getattr(user, name), value
            setattr(user, name, value)
    if password_hash is not None:
        user.password_hash = password_hash
        after["password"] = "changed"
    if password_hash is not None or after.get("disabled"):
        # A user who changes their own password keeps the current session.
        repository.revoke_sessions(session, user_id, except_token=caller.token_id if user_id == caller.user_id else None)
    if after:
        publish(session, ACCOUNTS)
        audit(session, caller, "update", "user", user_id, before=before, after=after)
    session.flush()
    return user


def delete(session: Session, caller: Caller, user_id: int, version: str | None) -> None:
    """Delete a user and their tokens. The audit log keeps the entries of the user. Raises NotFound, Conflict, PreconditionFailed, Invalid."""
    administrators = repository.locked_administrators(session)
    user = _require(repository.locked_user(session, user_id), user_id)
    if version is not None:
        check_if_match(version, user.version)
    _check_not_last(administrators, user_id)
    audit(session, caller, "delete", "user", user_id, before={"name": user.name, "role": user.role.value})
    session.flush()
    session.delete(user)
    publish(session, ACCOUNTS)


def _check_not_last(administrators: set[int], without: int) -> None:
    if administrators == {without}:
        raise Conflict(
            "last-administrator",
            "This is the last enabled administrator; without an administrator, users could not be managed.",
            "Make another user an administrator first.",
        )


def _require(user: User | None, user_id: int) -> User:
    return or_raise(user, NotFound("not-found", f"User {user_id} does not exist."))
