"""Sessions: tokens created by logging in, with a fixed lifetime."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import structlog
from sqlalchemy.orm import Session

from weir_backend.auth import passwords, repository
from weir_backend.errors import Conflict, Invalid, Unauthenticated
from weir_backend.kit.access import Caller, digest, new_secret, permissions_of
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.notifications import ACCOUNTS, publish
from weir_backend.kit.rate_limits import RateLimit, RateLimiter, origin
from weir_backend.models import Token, TokenKind, User

log = structlog.get_logger(__name__)
LIFETIME = timedelta(hours=12)
OPEN_MAX = 50
"""The maximum number of sessions per user. If a user already has ``OPEN_MAX`` sessions, the next login ends the oldest session."""

LOGINS = RateLimit("logins", 30, 60, "failed login attempts from this address")
NAMES = RateLimit("names", 10, 300, "failed login attempts for this user from this address")
"""There is no limit per user over all addresses, because any client could then lock out a user."""


@dataclass(frozen=True, slots=True)
class Opened:
    secret: str
    user: User
    token: Token


def log_in(
    session: Session, rates: RateLimiter, name: str, password: str, *, address: str | None, request_id: str | None
) -> Opened:
    """Raises TooMany, Unauthenticated. Neither the error nor its timing reveals whether the user name is unknown, the password is
    incorrect, or the account is disabled."""
    # Count only failed attempts. An attempt is counted after its password has been compared. Concurrent attempts can therefore exceed the limit by
    # the number of passwords that the API hashes at the same time.
    rates.check(LOGINS, origin(address))
    rates.check(NAMES, _per_address(name, address))
    user = repository.locked_user_named(session, name)
    correct = passwords.matches(password, user.password_hash if user is not None else None)
    if user is None or not correct or user.disabled:
        # The user name is not logged, because users sometimes type their password into the field for the user name.
        log.warning("login refused", user_id=user.id if user is not None else None, address=address)
        rates.hit(LOGINS, origin(address))
        rates.hit(NAMES, _per_address(name, address))
        raise Unauthenticated(
            "login-refused",
            "Incorrect user name or password.",
            "Try again, or ask an administrator whether the account is disabled.",
        )
    rates.reset(NAMES, _per_address(name, address))
    if user.password_hash is not None and passwords.is_outdated(user.password_hash):
        repository.replace_hash(session, user.id, old=user.password_hash, new=passwords.hashed(password))
    return open_session(session, user, "password", address=address, request_id=request_id)


def _per_address(name: str, address: str | None) -> str:
    return f"{origin(address)} {name}"


def open_session(session: Session, user: User, how: str, *, address: str | None, request_id: str | None) -> Opened:
    """Open a session for an authenticated user. The caller holds the lock on ``user``. A session never has more permissions than
    the role at login; after a promotion, the user must log in again."""
    secret = new_secret()
    token = Token(
        user_id=user.id, name=f"login by {how}", kind=TokenKind.SESSION, role=user.role, rollback=user.rollback,
        digest=digest(secret), expires_at=now() + LIFETIME,
    )  # fmt: skip
    session.add(token)
    session.flush()
    repository.revoke_sessions(session, user.id, newest_kept=OPEN_MAX)
    caller = Caller(user.id, user.name, permissions_of(user.role, rollback=user.rollback), token.id, request_id, address)
    audit(session, caller, "log-in", "session", token.id, after={"by": how})
    return Opened(secret, user, token)


def current(session: Session, caller: Caller) -> tuple[User, Token]:
    """Return the user and the token of a caller."""
    assert caller.user_id is not None and caller.token_id is not None
    user, token = session.get(User, caller.user_id), session.get(Token, caller.token_id)
    assert user is not None and token is not None
    return user, token


def log_out(session: Session, caller: Caller) -> None:
    """Raises Conflict."""
    _, token = current(session, caller)
    if token.kind is not TokenKind.SESSION:
        raise Conflict("no-session", "This token is not a session.", f"Revoke the token with DELETE /api/v1/tokens/{token.id}.")
    token.revoked_at = now()
    publish(session, ACCOUNTS)
    audit(session, caller, "log-out", "session", token.id)


def change_password(session: Session, rates: RateLimiter, caller: Caller, old: str, new: str) -> None:
    """Change the password of the caller and end their other sessions. Raises TooMany, Conflict, Invalid."""
    rates.check(NAMES, _per_address(caller.name, caller.address))
    assert caller.user_id is not None
    user = repository.locked_user(session, caller.user_id)
    if user is None or user.password_hash is None:
        raise Conflict("no-password", "This account has no password.", "Ask an administrator to set a password.")
    if not passwords.matches(old, user.password_hash):
        rates.hit(NAMES, _per_address(caller.name, caller.address))
        raise Invalid(
            "wrong-password", "The old password is incorrect.", "Try again, or ask an administrator for a new password."
        )
    rates.reset(NAMES, _per_address(caller.name, caller.address))
    user.password_hash = passwords.hashed(new)
    repository.revoke_sessions(session, user.id, except_token=caller.token_id)
    audit(session, caller, "change-password", "user", user.id)
