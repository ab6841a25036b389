"""Who is calling, and what he may do. Every endpoint but the few that say so asks for a permission here."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from weir_backend.errors import Forbidden, Unauthenticated
from weir_backend.kit.clock import now
from weir_backend.kit.rates import Rate, origin
from weir_backend.kit.requests import ServicesDep, SessionDep, address_of, request_id_of
from weir_backend.models import Role, Token, TokenKind, User

SESSION_COOKIE = "weir_session"
TOKEN_PREFIX = "weir_"
_USED_AGAIN = timedelta(minutes=1)
_INVALID_TOKENS = Rate("tokens", 120, 60, "requests with a token that is not valid")
"""Of an address. A valid token is taken all the same: nobody locks out those who share his address."""


class Permission(StrEnum):
    VIEW = "view"
    OPERATE = "operate"
    """Deploy, start, stop, take savepoints, propose plans."""
    ROLLBACK = "rollback"
    """Approve and apply plans that abandon what was committed."""
    ADMINISTER = "administer"
    """Users, everybody's tokens, webhooks, audit."""


_OF_ROLE = {
    Role.VIEWER: {Permission.VIEW},
    Role.OPERATOR: {Permission.VIEW, Permission.OPERATE},
    Role.ADMIN: {Permission.VIEW, Permission.OPERATE, Permission.ADMINISTER},
}


@dataclass(frozen=True, slots=True)
class Caller:
    """``user_id`` None: the platform itself."""

    user_id: int | None
    name: str
    permissions: frozenset[Permission]
    token_id: int | None = None
    request_id: str | None = None
    address: str | None = None

    def needs(self, permission: Permission) -> None:
        """Raises Forbidden."""
        if permission not in self.permissions:
            raise Forbidden(
                "forbidden", f"{self.name} may not do this: it needs the permission '{permission}'", "ask an administrator for it"
            )


PLATFORM = Caller(None, "weir", frozenset(Permission))


def new_secret() -> str:
    """A token: 32 random bytes. Shown once."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """As tokens are kept. A plain hash is enough for what nobody can guess."""
    return hashlib.sha256(secret.encode()).digest()


def permissions_of(role: Role, *, rollback: bool) -> frozenset[Permission]:
    return frozenset(_OF_ROLE[role] | ({Permission.ROLLBACK} if rollback else set()))


def caller_of(session: Session, secret: str, *, request_id: str | None = None, address: str | None = None) -> Caller:
    """Raises Unauthenticated; which of the reasons it was is not told, unless it is that the token has expired."""
    found = session.execute(
        select(Token, User).join(User, Token.user_id == User.id).where(Token.digest == digest(secret))
    ).one_or_none()
    moment = now()
    if found is None:
        raise _unauthenticated()
    token, user = found
    if token.revoked_at is None and not user.disabled and token.expires_at <= moment:
        raise _expired(token)
    if token.revoked_at is not None or token.expires_at <= moment or user.disabled:
        raise _unauthenticated()
    if token.last_used_at is None or token.last_used_at < moment - _USED_AGAIN:
        # Waiting for nobody: requests with one token come at the same time, and each holds its locks to its end.
        free = select(Token.id).where(Token.id == token.id).with_for_update(skip_locked=True)
        session.execute(
            update(Token).where(Token.id.in_(free)).values(last_used_at=moment).execution_options(synchronize_session=False)
        )
    granted = permissions_of(user.role, rollback=user.rollback) & permissions_of(token.role, rollback=token.rollback)
    return Caller(user.id, user.name, granted, token.id, request_id, address)


def bearer(request: Request) -> str | None:
    """The token in the Authorization header."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" and value.strip() else None


def current_caller(request: Request, session: SessionDep, services: ServicesDep) -> Caller:
    """A dependency. From a browser the token comes in a cookie: then a change has to come from a page of ours."""
    secret = bearer(request)
    if secret is None:
        secret = request.cookies.get(SESSION_COOKIE)
        if secret is not None and request.method not in ("GET", "HEAD", "OPTIONS") and not _from_our_pages(request):
            raise Forbidden("cross-site", "a change with a cookie has to come from a page of the control plane itself")
    if secret is None:
        raise Unauthenticated("unauthenticated", "this needs a token", "send 'Authorization: Bearer TOKEN', or log in")
    try:
        return caller_of(session, secret, request_id=request_id_of(request), address=address_of(request))
    except Unauthenticated:
        services.rates.hit(_INVALID_TOKENS, origin(address_of(request)))
        raise


def visitor(request: Request, session: SessionDep, services: ServicesDep) -> Caller | None:
    """A dependency. Whoever calls; None: nobody that is known, be it without a token or with one that is not valid (any more)."""
    try:
        return current_caller(request, session, services)
    except Unauthenticated:
        return None


def _from_our_pages(request: Request) -> bool:
    """Browsers say where a request comes from, and pages cannot make them lie."""
    said = request.headers.get("sec-fetch-site")
    if said is not None:
        return said == "same-origin"
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] == request.headers.get("host")


def _expired(token: Token) -> Unauthenticated:
    """To whoever has it that is no secret, and the pipeline that stood still for months is mended by it."""
    said = f"the token '{token.name}' expired at {token.expires_at:%Y-%m-%d %H:%M} UTC"
    if token.kind is TokenKind.API:
        said += ": weir tokens create makes a new one, which goes where this one came from (WEIR_TOKEN, say)"
    return Unauthenticated("expired", said, "log in again, or make a new token")


NOT_VALID = ("unauthenticated", "the token is not valid, or not any more", "log in again, or make a new token")
"""Code, detail and next step."""


def _unauthenticated() -> Unauthenticated:
    return Unauthenticated(*NOT_VALID)


_CHECKS: dict[Callable[..., Any], Permission] = {}


@cache
def may(permission: Permission) -> Callable[[Caller], Awaitable[Caller]]:
    """For ``Depends``: whoever calls, if he has the permission."""

    async def check(caller: Annotated[Caller, Depends(current_caller)]) -> Caller:
        caller.needs(permission)
        return caller

    _CHECKS[check] = permission
    return check


def asked_by(dependency: Callable[..., Any]) -> Permission | None:
    """The permission that a dependency made by ``may`` asks for: so the endpoints themselves can be asked who may call them."""
    return _CHECKS.get(dependency)


Visitor = Annotated[Caller | None, Depends(visitor)]
Viewer = Annotated[Caller, Depends(may(Permission.VIEW))]
Operator = Annotated[Caller, Depends(may(Permission.OPERATE))]
Rollbacker = Annotated[Caller, Depends(may(Permission.ROLLBACK))]
Administrator = Annotated[Caller, Depends(may(Permission.ADMINISTER))]

__all__ = [
    "NOT_VALID",
    "PLATFORM",
    "SESSION_COOKIE",
    "Administrator",
    "Caller",
    "Operator",
    "Permission",
    "Rollbacker",
    "Viewer",
    "Visitor",
    "asked_by",
    "bearer",
    "caller_of",
    "current_caller",
    "digest",
    "may",
    "new_secret",
    "permissions_of",
    "visitor",
]
