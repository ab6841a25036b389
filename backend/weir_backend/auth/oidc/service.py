"""Users who log in by OpenID Connect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import structlog
from sqlalchemy.orm import Session

from weir_backend.auth import repository
from weir_backend.auth.schemas import NAME_MAX, is_valid_user_name
from weir_backend.auth.sessions.service import Opened, open_session
from weir_backend.errors import Conflict, Forbidden
from weir_backend.kit.access import PLATFORM
from weir_backend.kit.audit import audit
from weir_backend.models import Role, User

log = structlog.get_logger(__name__)
_ORDER = [Role.ADMIN, Role.OPERATOR, Role.VIEWER]


def log_in(
    session: Session,
    claims: Mapping[str, Any],
    *,
    role_claim: str,
    default: Role | None,
    address: str | None,
    request_id: str | None,
) -> Opened | Forbidden:
    """Open a session for the subject of verified ``claims``. If the claims contain no role, the user gets the role ``default``, or is refused if
    ``default`` is None. If ``role_claim`` is empty, administrators manage the roles in Weir, and only a new user gets the role ``default``.

    If a user has lost its role, return Forbidden instead of raising it, because an exception would roll back the removal of the user's permissions
    and tokens. Raises Forbidden, Conflict."""
    granted = role_in(claims, role_claim) or default
    # Match users by subject, never by name. If Weir matched users by name, a user could choose another user's name at the provider and log
    # in as that user.
    subject = f"{claims['iss']} {claims['sub']}"
    user = repository.locked_user_of_subject(session, subject)
    if user is None:
        if granted is None:
            raise _no_role(role_claim)
        user = User(name=_free_name(session, claims), role=granted, oidc_subject=subject)
        session.add(user)
        session.flush()  # of two concurrent first logins, the second fails with a conflict and can retry
        after = {"name": user.name, "role": user.role.value, "by": "OpenID Connect"}
        audit(session, PLATFORM, "create", "user", user.id, after=after)
    elif user.disabled:
        log.warning("login refused", user_id=user.id, address=address)
        raise Forbidden("disabled", "This account is disabled.", "Ask an administrator.")
    elif role_claim and not _is_last_administrator(session, user, granted):
        _set_role(session, user, granted)
        if granted is None:
            log.warning("login refused, because the provider names no role", user_id=user.id, address=address)
            return _no_role(role_claim)
    return open_session(session, user, "OpenID Connect", address=address, request_id=request_id)


def role_in(claims: Mapping[str, Any], role_claim: str) -> Role | None:
    """Return the highest role in the claim, or None if the claim is missing or contains no role of Weir."""
    claim = claims.get(role_claim)
    values = claim if isinstance(claim, list) else [claim]
    return next((role for role in _ORDER if role.value in values), None)


def _no_role(role_claim: str) -> Forbidden:
    if not role_claim:
        return Forbidden(
            "no-role", "This user has no account in Weir yet, and new users do not get a role at their first login.",
            "Ask an administrator to set WEIR_OIDC_USERS_WITHOUT_ROLE=viewer.",
        )  # fmt: skip
    return Forbidden(
        "no-role", f"The provider gives this user no role: the claim {role_claim} of the identity token contains no role of Weir.",
        f"Ask an administrator to set {role_claim} to viewer, operator or admin at the provider.",
    )  # fmt: skip


def _is_last_administrator(session: Session, user: User, granted: Role | None) -> bool:
    """Return whether no enabled administrator would remain if ``user`` got the role ``granted``."""
    if user.role is not Role.ADMIN or granted is Role.ADMIN or repository.locked_administrators(session) != {user.id}:
        return False
    log.warning("kept the role of the last administrator, although the provider names another role or none", user_id=user.id)
    return True


def _set_role(session: Session, user: User, granted: Role | None) -> None:
    """Give the user the role ``granted``. If ``granted`` is None, the user becomes a viewer, and all of its tokens are revoked. A viewer loses the
    permission ``rollback``, so that the permission does not return when the provider names a higher role again."""
    role = granted or Role.VIEWER
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    if user.role is not role:
        before["role"], after["role"] = user.role.value, role.value
        user.role = role
    if role is Role.VIEWER and user.rollback:
        before["rollback"], after["rollback"] = True, False
        user.rollback = False
    if granted is None and repository.revoke_all_tokens(session, user.id):
        after["tokens"] = "revoked"
    if after:
        audit(session, PLATFORM, "update", "user", user.id, before=before, after=after | {"by": "OpenID Connect"})
        session.flush()


def _free_name(session: Session, claims: Mapping[str, Any]) -> str:
    for name in _names(claims):
        if is_valid_user_name(name) and not repository.is_taken(session, name):
            return name
    raise Conflict("name-taken", "All names that the provider gives for this user are taken.", "Ask an administrator.")


def _names(claims: Mapping[str, Any]) -> Iterator[str]:
    host = urlsplit(claims["iss"]).hostname or "provider"
    for claim in ("preferred_username", "email"):
        name = claims.get(claim)
        if isinstance(name, str) and name.strip():
            yield name.strip()
            yield f"{name.strip()}@{host}"
    yield f"{claims['sub']}@{host}"[:NAME_MAX]
