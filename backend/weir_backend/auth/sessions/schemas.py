"""What is said of a log-in."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from weir_backend.auth.names import GivenPassword, NewPassword, UserName
from weir_backend.kit.access import Permission
from weir_backend.models import Role, TokenKind


class Login(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: UserName
    password: GivenPassword


class SessionView(BaseModel):
    """Who is calling. ``permissions``: of this token, which may be fewer than the user's."""

    user_id: int
    name: str
    role: Role
    rollback: bool
    permissions: list[Permission]
    has_password: bool
    token_id: int
    token_kind: TokenKind
    expires_at: datetime


class CreatedSession(SessionView):
    """``token``: shown here and never again."""

    token: str


class OidcView(BaseModel):
    """A provider of OpenID Connect. ``name``: what people know it by. ``begin``: where a browser goes to log in, a path of this server."""

    name: str
    begin: str


class VisitView(BaseModel):
    """``session`` null: nobody is logged in. ``oidc`` null: name and password are the only way to log in."""

    session: SessionView | None
    oidc: OidcView | None


class PasswordChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    old_password: GivenPassword
    new_password: NewPassword
