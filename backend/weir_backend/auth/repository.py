"""Users and tokens in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import Response
from sqlalchemy import ColumnElement, and_, func, select, true, update
from sqlalchemy.orm import Session

from weir_backend.errors import Invalid
from weir_backend.kit.clock import now
from weir_backend.kit.listing import Fields, Listing, contains, equals, flag, page
from weir_backend.kit.notifications import ACCOUNTS, publish
from weir_backend.models import Role, Token, TokenKind, User

USERS = Fields(
    sortable={"id": User.id, "name": User.name, "role": User.role, "created_at": User.created_at},
    filters={
        "id": equals(User.id, int),
        "name": contains(User.name),
        "role": equals(User.role, str),
        "rollback": equals(User.rollback, bool),
        "disabled": equals(User.disabled, bool),
    },
    default=("name", False),
    key=User.id,
)


def _live() -> ColumnElement[bool]:
    return and_(Token.revoked_at.is_(None), Token.expires_at > now())


def _everybody(value: Any) -> ColumnElement[bool]:
    """Match all tokens. ``tokens.service`` decides whose tokens a caller may list."""
    if type(value) is not bool:
        raise Invalid("invalid", "filter: everybody must be true or false.")
    return true()


TOKENS = Fields(
    sortable={
        "id": Token.id,
        "name": Token.name,
        "created_at": Token.created_at,
        "expires_at": Token.expires_at,
        "last_used_at": Token.last_used_at,
    },
    filters={
        "id": equals(Token.id, int),
        "user_id": equals(Token.user_id, int),
        "name": contains(Token.name),
        "kind": equals(Token.kind, str),
        "live": flag("live", _live),
        "everybody": _everybody,
    },
    default=("id", True),
    key=Token.id,
)


def any_user(session: Session) -> bool:
    return session.scalar(select(User.id).limit(1)) is not None


def locked_user(session: Session, user_id: int) -> User | None:
    """Lock the user against changes and logins until this transaction ends."""
    return session.scalar(
        select(User).where(User.id == user_id).with_for_update(key_share=True).execution_options(populate_existing=True)
    )


def locked_user_named(session: Session, name: str) -> User | None:
    return session.scalar(select(User).where(User.name == name).with_for_update(key_share=True))


def locked_user_of_subject(session: Session, subject: str) -> User | None:
    return session.scalar(select(User).where(User.oidc_subject == subject).with_for_update(key_share=True))


def locked_administrators(session: Session) -> set[int]:
    """Lock the enabled administrators and return their ids, so that two administrators cannot demote each other concurrently."""
    query = select(User.id).where(User.role == Role.ADMIN, ~User.disabled).order_by(User.id)
    return set(session.scalars(query.with_for_update(key_share=True)))


def is_taken(session: Session, name: str) -> bool:
    return session.scalar(select(User.id).where(User.name == name)) is not None


def replace_hash(session: Session, user_id: int, *, old: str, new: str) -> None:
    """Replace the hash ``old`` with ``new``, another hash of the same password. The column ``version`` of the user does not change."""
    session.execute(update(User).where(User.id == user_id, User.password_hash == old).values(password_hash=new))


def tokens(session: Session, wanted: Listing, response: Response, *, of_user: int | None) -> Sequence[Token]:
    """Return the tokens of the user ``of_user``, or of all users if ``of_user`` is None."""
    query = select(Token) if of_user is None else select(Token).where(Token.user_id == of_user)
    return page(session, query, wanted, TOKENS, response, unit="tokens")


def live_tokens(session: Session, user_id: int, kind: TokenKind) -> int:
    query = select(func.count()).where(
        Token.user_id == user_id, Token.kind == kind, Token.revoked_at.is_(None), Token.expires_at > now()
    )
    return session.scalar(query) or 0


def revoke_sessions(session: Session, user_id: int, *, except_token: int | None = None, newest_kept: int = 0) -> None:
    """Revoke the sessions of a user. The session ``except_token`` and the ``newest_kept`` newest other sessions remain valid."""
    live = select(Token.id).where(Token.user_id == user_id, Token.kind == TokenKind.SESSION, Token.revoked_at.is_(None))
    if except_token is not None:
        live = live.where(Token.id != except_token)
    session.execute(
        update(Token)
        .where(Token.id.in_(live.order_by(Token.id.desc()).offset(newest_kept)))
        .values(revoked_at=now())
        .execution_options(synchronize_session=False)
    )
    publish(session, ACCOUNTS)


def revoke_all_tokens(session: Session, user_id: int) -> bool:
    """Revoke the sessions and the API tokens of a user. Return whether the user had any."""
    revoked = session.scalars(
        update(Token)
        .where(Token.user_id == user_id, Token.revoked_at.is_(None))
        .values(revoked_at=now())
        .returning(Token.id)
        .execution_options(synchronize_session=False)
    ).all()
    publish(session, ACCOUNTS)
    return bool(revoked)
