"""Tokens are made for oneself, with no more than one has; revoked by their owner or by an administrator."""

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
from weir_backend.kit.wakeups import ACCOUNTS, wake
from weir_backend.models import Role, Token, TokenKind

LIVE_MAX = 100
"""Tokens of one user."""


def of(session: Session, caller: Caller, wanted: Listing, response: Response) -> Sequence[Token]:
    """The caller's own; of others for an administrator who names them by the filter ``user_id``, or wants those of everybody."""
    others = Permission.ADMINISTER in caller.permissions and (
        "user_id" in wanted.filter or wanted.filter.get("everybody") is True
    )
    return repository.tokens(session, wanted, response, of_user=None if others else caller.user_id)


def get(session: Session, caller: Caller, token_id: int) -> Token:
    """Raises NotFound, also for a token that is none of the caller's business."""
    token = repository.token(session, token_id)
    if token is None or (token.user_id != caller.user_id and Permission.ADMINISTER not in caller.permissions):
        raise NotFound("not-found", f"there is no token {token_id} of yours")
    return token


def create(
    session: Session, caller: Caller, name: str, role: Role, *, rollback: bool, expires_in: timedelta
) -> tuple[str, Token]:
    """The secret, and what is kept. Raises Forbidden, Conflict."""
    missing = permissions_of(role, rollback=rollback) - caller.permissions
    if missing:
        raise Forbidden(
            "forbidden",
            f"a token can do no more than {caller.name} with the one he called with: that one lacks {', '.join(sorted(missing))}",
            "take a lesser role, or leave rollback off",
        )
    assert caller.user_id is not None
    if repository.locked_user(session, caller.user_id) is None:
        raise Unauthenticated("unauthenticated", "the account has just been deleted")
    if repository.live_tokens(session, caller.user_id, TokenKind.API) >= LIVE_MAX:
        raise Conflict("too-many-tokens", f"{caller.name} has {LIVE_MAX} tokens that are valid", "revoke those that nobody needs")
    expires_at = now() + expires_in
    own = repository.token(session, caller.token_id) if caller.token_id is not None else None
    if own is not None and own.kind is TokenKind.API and expires_at > own.expires_at:
        raise Forbidden(
            "outlives",
            f"a token that is made with a token cannot outlive that one, which expires at {own.expires_at:%Y-%m-%d %H:%M} UTC",
            "log in to make it, or let it expire earlier",
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
    """Again: nothing happens. Raises NotFound, Forbidden for a token that may more than the one that the caller came with."""
    token = get(session, caller, token_id)
    missing = permissions_of(token.role, rollback=token.rollback) - caller.permissions
    if missing and Permission.ADMINISTER not in caller.permissions and token.id != caller.token_id:
        raise Forbidden(
            "forbidden",
            f"token {token_id} may more than the one you came with: {', '.join(sorted(missing))}",
            "log in to revoke it",
        )
    if token.revoked_at is None:
        token.revoked_at = now()
        wake(session, ACCOUNTS)
        audit(session, caller, "revoke", "token", token.id, before={"name": token.name, "user_id": token.user_id})
