"""Accounts: made, changed and deleted by administrators, of whom one is always left."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.auth import repository
from weir_backend.errors import Conflict, NotFound
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.versions import check_version
from weir_backend.kit.wakeups import ACCOUNTS, wake
from weir_backend.models import Role, User


def get(session: Session, user_id: int) -> User:
    """Raises NotFound."""
    return _found(repository.user(session, user_id), user_id)


def create(session: Session, caller: Caller, name: str, role: Role, *, rollback: bool, password_hash: str | None) -> User:
    """Raises Conflict."""
    if repository.is_taken(session, name):
        raise Conflict("name-taken", f"there is a user called {name!r}", "take another name")
    user = User(name=name, role=role, rollback=rollback, password_hash=password_hash)
    session.add(user)
    session.flush()
    after = {"name": name, "role": role.value, "rollback": rollback, "has_password": password_hash is not None}
    audit(session, caller, "create", "user", user.id, after=after)
    return user


def change(
    session: Session, caller: Caller, user_id: int, version: str | None, wanted: dict[str, Any], *, password_hash: str | None
) -> User:
    """``wanted``: of role, rollback and disabled those that are to be. Raises NotFound, Conflict and what ``check_version`` raises."""
    takes_away = wanted.get("role", Role.ADMIN) is not Role.ADMIN or wanted.get("disabled", False)
    administrators = repository.locked_administrators(session) if takes_away else set()
    user = _found(repository.locked_user(session, user_id), user_id)
    check_version(version, user.version)
    if takes_away:
        _leave_one(administrators, user_id)
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
        # Whoever has changed his own password stays where he is.
        repository.revoke_sessions(session, user_id, except_token=caller.token_id if user_id == caller.user_id else None)
    if after:
        wake(session, ACCOUNTS)
        audit(session, caller, "update", "user", user_id, before=before, after=after)
    session.flush()
    return user


def delete(session: Session, caller: Caller, user_id: int, version: str | None) -> None:
    """His tokens go with him, what he did stays in the audit. Raises NotFound, Conflict, PreconditionFailed, Invalid."""
    administrators = repository.locked_administrators(session)
    user = _found(repository.locked_user(session, user_id), user_id)
    if version is not None:
        check_version(version, user.version)
    _leave_one(administrators, user_id)
    audit(session, caller, "delete", "user", user_id, before={"name": user.name, "role": user.role.value})
    session.flush()
    session.delete(user)
    wake(session, ACCOUNTS)


def _leave_one(administrators: set[int], without: int) -> None:
    if administrators == {without}:
        raise Conflict(
            "last-administrator",
            "this is the last administrator: without him nobody could manage users",
            "make another user an administrator first",
        )


def _found(user: User | None, user_id: int) -> User:
    if user is None:
        raise NotFound("not-found", f"there is no user {user_id}")
    return user
