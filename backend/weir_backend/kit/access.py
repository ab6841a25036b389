"""Authentication and permissions. Every endpoint requires a permission, except a few public endpoints."""

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
from weir_backend.kit.dependencies import ServicesDep, SessionDep, address_of, request_id_of
from weir_backend.kit.rate_limits import RateLimit, origin
from weir_backend.models import Role, Token, TokenKind, User

SESSION_COOKIE = "weir_session"
TOKEN_PREFIX = "weir_"
_LAST_USED_RESOLUTION = timedelta(minutes=1)
_INVALID_TOKENS = RateLimit("tokens", 120, 60, "requests with an invalid token")
"""The limit applies per IP address, and only to requests with invalid tokens. Valid tokens keep working while an attacker sends
invalid tokens from the same IP address."""


class Permission(StrEnum):
    VIEW = "view"
    OPERATE = "operate"
    """Deploy, start, stop, take savepoints and profiles, propose plans."""
    ROLLBACK = "rollback"
    """Approve and apply plans that revoke committed output, start jobs with ``revoke_unknown_output``, and delete savepoints."""
    ADMINISTER = "administer"
    """Manage users, all tokens, webhooks and secrets, and read the audit log."""


_OF_ROLE = {
    Role.VIEWER: {Permission.VIEW},
    Role.OPERATOR: {Permission.VIEW, Permission.OPERATE},
    Role.ADMIN: {Permission.VIEW, Permission.OPERATE, Permission.ADMINISTER},
}


@dataclass(frozen=True, slots=True)
class Caller:
    """The user or token behind a request. ``user_id`` is None for the platform itself."""

    user_id: int | None
    name: str
    permissions: frozenset[Permission]
    token_id: int | None = None
    request_id: str | None = None
    address: str | None = None

    def require(self, permission: Permission) -> None:
        """Raises Forbidden."""
        if permission not in self.permissions:
            raise Forbidden(
                "forbidden",
                f"{self.name} does not have the permission '{permission}', which this request requires.",
                "Ask an administrator for the permission.",
            )


PLATFORM = Caller(None, "weir", frozenset(Permission))


def new_secret() -> str:
    """Return a new token: 32 random bytes."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """Return the stored form of a token. A hash without salt suffices, because tokens are random."""
    return hashlib.sha256(secret.encode()).digest()


def permissions_of(role: Role, *, rollback: bool) -> frozenset[Permission]:
    return frozenset(_OF_ROLE[role] | ({Permission.ROLLBACK} if rollback else set()))


def caller_of(session: Session, secret: str, *, request_id: str | None = None, address: str | None = None) -> Caller:
    """Return the caller. Raises Unauthenticated. The error may say that the token has expired, but it reveals no other reason."""
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
    if token.last_used_at is None or token.last_used_at < moment - _LAST_USED_RESOLUTION:
        # Skip locked rows, because concurrent requests with one token must not wait for each other's transactions.
        free = select(Token.id).where(Token.id == token.id).with_for_update(skip_locked=True)
        session.execute(
            update(Token).where(Token.id.in_(free)).values(last_used_at=moment).execution_options(synchronize_session=False)
        )
    granted = permissions_of(user.role, rollback=user.rollback) & permissions_of(token.role, rollback=token.rollback)
    return Caller(user.id, user.name, granted, token.id, request_id, address)


def bearer(request: Request) -> str | None:
    """Return the token in the Authorization header."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" and value.strip() else None


def current_caller(request: Request, session: SessionDep, services: ServicesDep) -> Caller:
    """FastAPI dependency: the caller. A request that changes data and contains only the session cookie must come from the web UI of
    Weir."""
    secret = bearer(request)
    if secret is None:
        secret = request.cookies.get(SESSION_COOKIE)
        if secret is not None and request.method not in ("GET", "HEAD", "OPTIONS") and not _is_same_origin(request):
            raise Forbidden(
                "cross-site",
                "The request comes from another site. Requests with the session cookie must come from the web UI of Weir.",
            )
    if secret is None:
        raise Unauthenticated(
            "unauthenticated", "This request requires a token.", "Send the header 'Authorization: Bearer TOKEN', or log in."
        )
    try:
        return caller_of(session, secret, request_id=request_id_of(request), address=address_of(request))
    except Unauthenticated:
        services.rate_limiter.hit(_INVALID_TOKENS, origin(address_of(request)))
        raise


async def waiting_caller(request: Request, services: ServicesDep) -> Caller:
    """FastAPI dependency: the caller of a request that can wait. The transaction of ``waiting_caller`` ends before the request waits, so that a
    waiting request holds no database connection."""
    return await services.db_gate.run(lambda session: current_caller(request, session, services))


def visitor(request: Request, session: SessionDep, services: ServicesDep) -> Caller | None:
    """FastAPI dependency: the caller, or None if the request has no valid token."""
    try:
        return current_caller(request, session, services)
    except Unauthenticated:
        return None


def _is_same_origin(request: Request) -> bool:
    """Check the headers in which browsers name the origin of a request, because scripts of other sites cannot change these
    headers."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] == request.headers.get("host")


def _expired(token: Token) -> Unauthenticated:
    """Return the error for an expired token. The caller has sent the correct token, so the error may reveal when the token expired. From
    the expiry time, a user can see that a pipeline stopped working because its token expired."""
    detail = f"The token '{token.name}' expired at {token.expires_at:%Y-%m-%d %H:%M} UTC."
    if token.kind is TokenKind.API:
        detail += " Create a token with weir tokens create, and store it in place of the expired token (such as in WEIR_TOKEN)."
    return Unauthenticated("expired", detail, "Log in again, or create a new token.")


INVALID_TOKEN = ("unauthenticated", "The token is not valid.", "Log in again, or create a new token.")
"""``code``, ``detail`` and ``next_step`` of the problem that reports an invalid token."""


def _unauthenticated() -> Unauthenticated:
    return Unauthenticated(*INVALID_TOKEN)


_CHECKS: dict[Callable[..., Any], Permission] = {}


@cache
def require_permission(
    permission: Permission, authenticate: Callable[..., Any] = current_caller
) -> Callable[[Caller], Awaitable[Caller]]:
    """Return a FastAPI dependency that returns the caller. The dependency raises Forbidden if the caller lacks the permission."""

    # FastAPI resolves ``Annotated`` in the globals of this module, so it would not find the parameter ``authenticate``.
    async def check(caller: Caller = Depends(authenticate)) -> Caller:  # noqa: B008  # FastAPI evaluates the default for each request
        caller.require(permission)
        return caller

    _CHECKS[check] = permission
    return check


def required_permission(dependency: Callable[..., Any]) -> Permission | None:
    """Return the permission that ``dependency`` checks, if ``require_permission`` has created it, else None."""
    return _CHECKS.get(dependency)


OptionalCaller = Annotated[Caller | None, Depends(visitor)]
ViewerCaller = Annotated[Caller, Depends(require_permission(Permission.VIEW))]
OperatorCaller = Annotated[Caller, Depends(require_permission(Permission.OPERATE))]
WaitingViewerCaller = Annotated[Caller, Depends(require_permission(Permission.VIEW, waiting_caller))]
WaitingOperatorCaller = Annotated[Caller, Depends(require_permission(Permission.OPERATE, waiting_caller))]
AdministratorCaller = Annotated[Caller, Depends(require_permission(Permission.ADMINISTER))]
