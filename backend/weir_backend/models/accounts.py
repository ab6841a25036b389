"""Tables of users, tokens, the audit log and idempotency keys."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class Role(StrEnum):
    """The role of a user or a token. Each role includes the permissions of the roles that are listed before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


class TokenKind(StrEnum):
    API = "api"
    """A token that a user creates for a program."""
    SESSION = "session"
    """The session of a logged-in browser or terminal."""


class User(Base):
    """A user. If ``rollback`` is True and the role allows plans, the user may approve and apply plans that revoke committed output, and delete
    savepoints."""

    __tablename__ = "users"

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(String(100), unique=True)
    role: Mapped[Role] = mapped_column(word(Role, "role"))
    rollback: Mapped[bool] = mapped_column(server_default=text("false"))
    disabled: Mapped[bool] = mapped_column(server_default=text("false"))
    password_hash: Mapped[str | None]
    """The Argon2id hash of the password, or None if the user logs in only by OpenID Connect."""
    oidc_subject: Mapped[str | None] = mapped_column(unique=True)
    """``<issuer> <subject>``."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    created_at: Mapped[Created]

    __mapper_args__ = {"version_id_col": version}  # SQLAlchemy reads ``__mapper_args__`` from the class


class Token(Base):
    """A token. ``digest`` is the SHA-256 of the token. The token itself is returned once and not stored."""

    __tablename__ = "tokens"
    __table_args__ = (Index(None, "user_id"),)

    id: Mapped[Key]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[TokenKind] = mapped_column(word(TokenKind, "kind"))
    role: Mapped[Role] = mapped_column(word(Role, "role"))
    """The token has only the permissions that both ``role`` and the role of the user include."""
    rollback: Mapped[bool] = mapped_column(server_default=text("false"))
    digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    created_at: Mapped[Created]
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    """The time of the last use, with a precision of one minute."""
    revoked_at: Mapped[datetime | None]


class AuditEntry(Base):
    """A change that a user or a token made, with the values before and after it. Entries never change, and housekeeping deletes
    entries after ``audit_kept_days``."""

    __tablename__ = "audit_entries"
    __table_args__ = (Index(None, "resource", "resource_id"), Index(None, "user_id"), Index(None, "at", postgresql_using="brin"))

    id: Mapped[Key]
    at: Mapped[Created]
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    user_name: Mapped[str]
    """The user's name at the time of the change, or ``weir`` if the platform made the change."""
    token_id: Mapped[int | None]
    action: Mapped[str]
    resource: Mapped[str]
    resource_id: Mapped[int | None]
    resource_text: Mapped[str | None]
    """The name of the resource at the time of the change, such as ``checkpoint 784 of job orders``. None if an older version wrote the entry."""
    before: Mapped[dict[str, Any] | None]
    after: Mapped[dict[str, Any] | None]
    request_id: Mapped[str | None]
    address: Mapped[str | None]


class IdempotencyKey(Base):
    """The stored response to a request with an idempotency key."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (UniqueConstraint("user_id", "key"), Index(None, "created_at"))

    id: Mapped[Key]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(String(200))
    request_digest: Mapped[bytes] = mapped_column(LargeBinary(32))
    """SHA-256 of method, path and body. A request with the same key and a different digest is refused."""
    status: Mapped[int | None]
    """The HTTP status of the response, or None while the first request is being processed."""
    headers: Mapped[dict[str, Any] | None]
    body: Mapped[bytes | None]
    created_at: Mapped[Created]
