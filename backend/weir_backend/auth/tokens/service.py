"""API tokens. Users create tokens only for themselves. A token has at most the permissions of the session or token that creates it. The owner
or an administrator can revoke a token."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from fastapi import Response
from sqlalchemy.orm import Session

from weir_backend.auth import repository
from weir_backend.errors import Conflict, Forbidden, NotFound, Unauthenticated
from weir_backend.kit.access import Caller, Permission, digest, new_secret, permissions_of
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.listing import Listing
from weir_backend.kit.notifications import ACCOUNTS, publish
from weir_backend.models import Role, Token, TokenKind

LIVE_MAX = 100
"""Limit of valid tokens per user."""


def list_tokens(session: Session, caller: Caller, wanted: Listing, response: Response) -> Sequence[Token]:
    """List the tokens of the caller. Administrators list the tokens of other users with the filter ``user_id`` or ``everybody``."""
    others = Permission.ADMINISTER in caller.permissions and (
        "user_id" in wanted.filter or wanted.filter.get("everybody") is True
    )
    return repository.tokens(session, wanted, response, of_user=None if others else caller.user_id)


def get(session: Session, caller: Caller, token_id: int) -> Token:
    """Raises NotFound, also for tokens that the caller may not see."""
    token = session.get(Token, token_id)
    if token is None or (token.user_id != caller.user_id and Permission.ADMINISTER not in caller.permissions):
        raise NotFound("not-found", f"You have no token {token_id}.")
    return token


def create(
    session: Session, caller: Caller, name: str, role: Role, *, rollback: bool, expires_in: timedelta
) -> tuple[str, Token]:
    """Create a token. Return the secret and the row of the token. Raises Forbidden, Conflict."""
    missing = permissions_of(role, rollback=rollback) - caller.permissions
    if missing:
        raise Forbidden(
            "forbidden",
            f"The new token would have permissions that the current token lacks: {', '.join(sorted(missing))}.",
            "Choose a lower role, or omit rollback.",
        )
    assert caller.user_id is not None
    if repository.locked_user(session, caller.user_id) is None:
        raise Unauthenticated("unauthenticated", "The user has just been deleted.")
    if repository.live_tokens(session, caller.user_id, TokenKind.API) >= LIVE_MAX:
        raise Conflict(
            "too-many-tokens", f"{caller.name} already has {LIVE_MAX} valid tokens, the limit.", "Revoke unused tokens."
        )
    expires_at = now() + expires_in
    own = session.get(Token, caller.token_id) if caller.token_id is not None else None
    if own is not None and own.kind is TokenKind.API and expires_at > own.expires_at:
        raise Forbidden(
            "expiry-too-late",
            f"The new token cannot outlive the token that creates it, which expires at {own.expires_at:%Y-%m-%d %H:%M} UTC.",
            "Log in to create the token, or choose an earlier expiry.",
        )
    secret = new_secret()
    token = Token(
        user_id=caller.user_id, name=name, kind=TokenKind.API, role=role, rollback=rollback, digest=digest(secret),
        expires_at=expires_at,
    )  # fmt: skip
    session.add(token)
    session.flush()
    after = {"name": name, "role": role.value, "rollback": rollback, "expires_at": token.expires_at.isoformat()}
    audit(session, caller, "create", "token", token.id, after=after)
    return secret, token


def revoke(session: Session, caller: Caller, token_id: int) -> None:
    """Revoke a token; idempotent. Raises NotFound, and Forbidden if the token has more permissions than the caller's token."""
    token = get(session, caller, token_id)
    missing = permissions_of(token.role, rollback=token.rollback) - caller.permissions
    if missing and Permission.ADMINISTER not in caller.permissions and token.id != caller.token_id:
        raise Forbidden(
            "forbidden",
            f"Token {token_id} has permissions that the current token lacks: {', '.join(sorted(missing))}.",
            "Log in to revoke the token.",
        )
    if token.revoked_at is None:
        token.revoked_at = now()
        publish(session, ACCOUNTS)
        audit(session, caller, "revoke", "token", token.id, before={"name": token.name, "user_id": token.user_id})
