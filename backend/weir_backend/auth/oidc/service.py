"""Who a person is here whom the provider has confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import structlog
from sqlalchemy.orm import Session

from weir_backend.auth import repository
from weir_backend.auth.names import NAME_MAX, fits
from weir_backend.auth.sessions.service import Opened, open_session
from weir_backend.errors import Conflict, Forbidden
from weir_backend.kit.access import PLATFORM
from weir_backend.kit.audit import audit
from weir_backend.models import Role, User

log = structlog.get_logger(__name__)
_ORDER = [Role.ADMIN, Role.OPERATOR, Role.VIEWER]


def log_in(
    session: Session, claims: Mapping[str, Any], *, role_claim: str, anybody: bool, address: str | None, request_id: str | None
) -> Opened:
    """``claims``: verified. ``anybody``: who is new is let in, also if the claims say nothing of a role. Raises Forbidden, Conflict."""
    wanted = role_in(claims, role_claim)
    # An account with a password is never taken over: it is the provider's subject that counts, not a name that somebody chose there.
    subject = f"{claims['iss']} {claims['sub']}"
    user = repository.locked_user_of_subject(session, subject)
    if user is None:
        if wanted is None and not anybody:
            raise Forbidden(
                "unknown", "nobody here knows this person, and the provider says nothing of a role",
                f"have the provider give the claim {role_claim}, or set WEIR_OIDC_NEW_USERS=viewer",
            )  # fmt: skip
        user = User(name=_free_name(session, claims), role=wanted or Role.VIEWER, oidc_subject=subject)
        session.add(user)
        session.flush()  # two first log-ins at once: the second is told to try again
        audit(
            session,
            PLATFORM,
            "create",
            "user",
            user.id,
            after={"name": user.name, "role": user.role.value, "by": "OpenID Connect"},
        )
    elif user.disabled:
        log.warning("a log-in was refused", user_id=user.id, address=address)
        raise Forbidden("disabled", "this account is disabled", "ask an administrator")
    elif wanted is not None and wanted is not user.role:
        _change_role(session, user, wanted)
    return open_session(session, user, "OpenID Connect", address=address, request_id=request_id)


def role_in(claims: Mapping[str, Any], role_claim: str) -> Role | None:
    """The highest that the claim names. None: the provider says nothing of roles; viewer: it says something that we do not know."""
    said = claims.get(role_claim)
    if said is None:
        return None
    words = said if isinstance(said, list) else [said]
    return next((role for role in _ORDER if role.value in words), Role.VIEWER)


def _change_role(session: Session, user: User, wanted: Role) -> None:
    if user.role is Role.ADMIN and repository.locked_administrators(session) == {user.id}:
        log.warning("the last administrator stays one, whatever the provider says", user_id=user.id)
        return
    audit(session, PLATFORM, "update", "user", user.id, before={"role": user.role.value}, after={"role": wanted.value})
    user.role = wanted
    session.flush()


def _free_name(session: Session, claims: Mapping[str, Any]) -> str:
    for name in _names(claims):
        if fits(name) and not repository.is_taken(session, name):
            return name
    raise Conflict("name-taken", "every name that the provider has for this person is taken here", "ask an administrator")


def _names(claims: Mapping[str, Any]) -> Iterator[str]:
    host = urlsplit(claims["iss"]).hostname or "provider"
    for claim in ("preferred_username", "email"):
        name = claims.get(claim)
        if isinstance(name, str) and name.strip():
            yield name.strip()
            yield f"{name.strip()}@{host}"
    yield f"{claims['sub']}@{host}"[:NAME_MAX]
