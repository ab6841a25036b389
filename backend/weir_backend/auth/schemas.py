"""Requests and responses about users, sessions and tokens."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr, model_validator

from weir_backend.kit.access import PLATFORM, Permission
from weir_backend.kit.schemas import RequestModel, ResponseModel
from weir_backend.models import Role, TokenKind, User

NAME_PATTERN = r"^[\w.@+\-]+( [\w.@+\-]+)*$"
NAME_MAX = 100
PASSWORD_MIN, PASSWORD_MAX = 12, 1000
TOKEN_NAME = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"


def is_valid_user_name(name: str) -> bool:
    return len(name) <= NAME_MAX and re.fullmatch(NAME_PATTERN, name) is not None and name.lower() != PLATFORM.name


def _not_reserved(name: str) -> str:
    if name.lower() == PLATFORM.name:
        raise ValueError(f"the name {PLATFORM.name!r} is reserved for the platform")
    return name


def _encodable(password: SecretStr) -> SecretStr:
    try:
        password.get_secret_value().encode()
    except UnicodeEncodeError:
        raise ValueError("the password contains unpaired surrogates, which UTF-8 cannot encode") from None
    return password


UserName = Annotated[str, Field(min_length=1, max_length=NAME_MAX, pattern=NAME_PATTERN, examples=["alice"])]
NewUserName = Annotated[UserName, AfterValidator(_not_reserved)]
EnteredPassword = Annotated[SecretStr, Field(min_length=1, max_length=PASSWORD_MAX), AfterValidator(_encodable)]
NewPassword = Annotated[
    SecretStr,
    Field(min_length=PASSWORD_MIN, max_length=PASSWORD_MAX, description=f"At least {PASSWORD_MIN} characters"),
    AfterValidator(_encodable),
]


class UserRead(ResponseModel):
    """`has_password` and `has_oidc` say in which ways the user can log in."""

    id: int
    name: str
    role: Role
    rollback: bool
    disabled: bool
    has_password: bool
    has_oidc: bool
    version: int
    created_at: datetime

    @classmethod
    def of(cls, user: User) -> UserRead:
        return cls.read(user, has_password=user.password_hash is not None, has_oidc=user.oidc_subject is not None)


class UserCreate(RequestModel):
    """If `rollback` is true, the user may approve and apply plans that revoke committed output, start jobs with `revoke_unknown_output`, and delete
    savepoints. A user without a password cannot log in until an administrator sets a password."""

    name: NewUserName
    role: Role
    rollback: bool = False
    password: NewPassword | None = None


class UserUpdate(RequestModel):
    """Omitted fields keep their values."""

    role: Role | None = None
    rollback: bool | None = None
    disabled: bool | None = None
    password: NewPassword | None = None

    @model_validator(mode="before")
    @classmethod
    def _require_a_field(cls, values: Any) -> Any:
        if isinstance(values, dict) and not any(value is not None for value in values.values()):
            raise ValueError("the request changes nothing: set role, rollback, disabled or password")
        return values


class LoginRequest(RequestModel):
    name: UserName
    password: EnteredPassword


class SessionRead(ResponseModel):
    """The caller. `permissions` are the permissions of the token, which can be fewer than those of the user."""

    user_id: int
    name: str
    role: Role
    rollback: bool
    permissions: list[Permission]
    has_password: bool
    token_id: int
    token_kind: TokenKind
    expires_at: datetime


class SessionCreatedRead(SessionRead):
    """Only this response contains the `token`."""

    token: str


class OidcProviderRead(ResponseModel):
    """An OpenID Connect provider. `name` is the display name of the provider. To start a login, a browser opens
    `login_path` on this server."""

    name: str
    login_path: str


class LoginStatusRead(ResponseModel):
    """`session` is null if the caller is not logged in. `oidc` is null if users log in with name and password only."""

    session: SessionRead | None
    oidc: OidcProviderRead | None


class PasswordUpdate(RequestModel):
    old_password: EnteredPassword
    new_password: NewPassword


class TokenRead(ResponseModel):
    """A token is valid until it expires or is revoked. `last_used_at` has a resolution of one minute."""

    id: int
    user_id: int
    name: str
    kind: TokenKind
    role: Role
    rollback: bool
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class TokenCreatedRead(TokenRead):
    """Only this response contains the `token`."""

    token: str


class TokenCreate(RequestModel):
    """`role` and `rollback` must not exceed those of the caller."""

    name: Annotated[str, Field(max_length=100, pattern=TOKEN_NAME, examples=["deployments from CI"])]
    role: Role
    rollback: bool = False
    expires_in_days: Annotated[int, Field(ge=1, le=365)]
