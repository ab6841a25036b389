"""Sessions are tokens that a log-in makes, and that end by themselves."""

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
from weir_backend.kit.rates import Rate, Rates, origin
from weir_backend.kit.wakeups import ACCOUNTS, wake
from weir_backend.models import Token, TokenKind, User

log = structlog.get_logger(__name__)
LIFETIME = timedelta(hours=12)
OPEN_MAX = 50
"""Sessions of one user: the oldest ends when there is one more."""

LOGINS = Rate("logins", 30, 60, "tries to log in from this address")
NAMES = Rate("names", 10, 300, "tries to log in with this name from this address")
"""By address, so that nobody can lock out whoever has the name."""
NAMES_EVERYWHERE = Rate("names-everywhere", 500, 3600, "tries to log in with this name")
"""What a whole network of machines may guess."""


@dataclass(frozen=True, slots=True)
class Opened:
    secret: str
    user: User
    token: Token


def log_in(session: Session, rates: Rates, name: str, password: str, *, address: str | None, request_id: str | None) -> Opened:
    """Raises TooMany, Unauthenticated. What was wrong is not told, nor can it be timed."""
    # Tries are counted before they are made: however many come at once, no more than these are.
    rates.hit(LOGINS, origin(address))
    rates.hit(NAMES, _here(name, address))
    rates.hit(NAMES_EVERYWHERE, name)
    user = repository.locked_user_named(session, name)
    right = passwords.matches(password, user.password_hash if user is not None else None)
    if user is None or not right or user.disabled:
        # Not the name: what is typed there is a password now and then.
        log.warning("a log-in was refused", user_id=user.id if user is not None else None, address=address)
        raise Unauthenticated("login-refused", "name and password do not fit, or the account is disabled", "try again")
    rates.forget(NAMES, _here(name, address))
    if user.password_hash is not None and passwords.outdated(user.password_hash):
        repository.replace_hash(session, user.id, old=user.password_hash, new=passwords.hashed(password))
    return open_session(session, user, "password", address=address, request_id=request_id)


def _here(name: str, address: str | None) -> str:
    return f"{origin(address)} {name}"


def open_session(session: Session, user: User, how: str, *, address: str | None, request_id: str | None) -> Opened:
    """For who has shown who he is: ``user``, locked. The session may what he may now; a role given later needs a new one."""
    secret = new_secret()
    token = Token(
        user_id=user.id, name=f"log-in by {how}", kind=TokenKind.SESSION, role=user.role, rollback=user.rollback,
        digest=digest(secret), expires_at=now() + LIFETIME,
    )  # fmt: skip
    session.add(token)
    session.flush()
    repository.revoke_sessions(session, user.id, newest_kept=OPEN_MAX)
    caller = Caller(user.id, user.name, permissions_of(user.role, rollback=user.rollback), token.id, request_id, address)
    audit(session, caller, "log-in", "session", token.id, after={"by": how})
    return Opened(secret, user, token)


def current(session: Session, caller: Caller) -> tuple[User, Token]:
    """Of a caller who was let in by a token."""
    assert caller.user_id is not None and caller.token_id is not None
    user, token = repository.user(session, caller.user_id), repository.token(session, caller.token_id)
    assert user is not None and token is not None
    return user, token


def log_out(session: Session, caller: Caller) -> None:
    """Raises Conflict."""
    _, token = current(session, caller)
    if token.kind is not TokenKind.SESSION:
        raise Conflict("no-session", "this token was not made by logging in", f"revoke it: DELETE /api/v1/tokens/{token.id}")
    token.revoked_at = now()
    wake(session, ACCOUNTS)
    audit(session, caller, "log-out", "session", token.id)


def change_password(session: Session, rates: Rates, caller: Caller, old: str, new: str) -> None:
    """One's own; all other sessions end. Raises TooMany, Conflict, Invalid."""
    rates.hit(NAMES, _here(caller.name, caller.address))
    assert caller.user_id is not None
    user = repository.locked_user(session, caller.user_id)
    if user is None or user.password_hash is None:
        raise Conflict("no-password", "this account has no password", "an administrator can give it one")
    if not passwords.matches(old, user.password_hash):
        raise Invalid("wrong-password", "the old password is not right", "try again, or ask an administrator for a new one")
    rates.forget(NAMES, _here(caller.name, caller.address))
    user.password_hash = passwords.hashed(new)
    repository.revoke_sessions(session, user.id, except_token=caller.token_id)
    audit(session, caller, "change-password", "user", user.id)
