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
    session: Session, claims: Mapping[str, Any], *, role_claim: str, allow_new: bool, address: str | None, request_id: str | None
) -> Opened:
    """Open a session for the subject of verified ``claims``. A new user without a role in ``claims`` becomes a viewer if
    ``allow_new`` is True, and is refused otherwise. Raises Forbidden, Conflict."""
    wanted = role_in(claims, role_claim)
    # Match users by subject, never by name. If Weir matched users by name, a user could choose another user's name at the provider and log
    # in as that user.
    subject = f"{claims['iss']} {claims['sub']}"
    user = repository.locked_user_of_subject(session, subject)
    if user is None:
        if wanted is None and not allow_new:
            raise Forbidden(
                "unknown-user", f"This user is unknown, and the identity token has no claim {role_claim}.",
                "Configure the claim at the provider, or set WEIR_OIDC_NEW_USERS=viewer.",
            )  # fmt: skip
        user = User(name=_free_name(session, claims), role=wanted or Role.VIEWER, oidc_subject=subject)
        session.add(user)
        session.flush()  # of two concurrent first logins, the second fails with a conflict and can retry
        after = {"name": user.name, "role": user.role.value, "by": "OpenID Connect"}
        audit(session, PLATFORM, "create", "user", user.id, after=after)
    elif user.disabled:
        log.warning("login refused", user_id=user.id, address=address)
        raise Forbidden("disabled", "This account is disabled.", "Ask an administrator.")
    elif wanted is not None and wanted is not user.role:
        _change_role(session, user, wanted)
    return open_session(session, user, "OpenID Connect", address=address, request_id=request_id)


def role_in(claims: Mapping[str, Any], role_claim: str) -> Role | None:
    """Return the highest role in the claim, or None if the claim is missing. If the claim contains no known role, return viewer."""
    claim = claims.get(role_claim)
    if claim is None:
        return None
    values = claim if isinstance(claim, list) else [claim]
    return next((role for role in _ORDER if role.value in values), Role.VIEWER)


def _change_role(session: Session, user: User, wanted: Role) -> None:
    if user.role is Role.ADMIN and repository.locked_administrators(session) == {user.id}:
        log.warning("kept the role of the last administrator, although the provider names another role", user_id=user.id)
        return
    audit(session, PLATFORM, "update", "user", user.id, before={"role": user.role.value}, after={"role": wanted.value})
    user.role = wanted
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
