"""Accounts as they are told and changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from weir_backend.auth.names import NewPassword, NewUserName
from weir_backend.models import Role, User


class UserView(BaseModel):
    """``has_password``, ``has_oidc``: how he can log in."""

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
    def of(cls, user: User) -> UserView:
        return cls(
            id=user.id,
            name=user.name,
            role=user.role,
            rollback=user.rollback,
            disabled=user.disabled,
            has_password=user.password_hash is not None,
            has_oidc=user.oidc_subject is not None,
            version=user.version,
            created_at=user.created_at,
        )


class NewUser(BaseModel):
    """``rollback``: may approve and apply plans that abandon what was committed. Without a password he cannot log in until he is given one."""

    model_config = ConfigDict(extra="forbid")

    name: NewUserName
    role: Role
    rollback: bool = False
    password: NewPassword | None = None


class UserChange(BaseModel):
    """What is not given stays as it is."""

    model_config = ConfigDict(extra="forbid")

    role: Role | None = None
    rollback: bool | None = None
    disabled: bool | None = None
    password: NewPassword | None = None

    @model_validator(mode="before")
    @classmethod
    def _something(cls, given: Any) -> Any:
        if isinstance(given, dict) and not any(value is not None for value in given.values()):
            raise ValueError("nothing is to be changed: give one of role, rollback, disabled, password")
        return given
