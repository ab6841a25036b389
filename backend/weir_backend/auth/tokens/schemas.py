"""Tokens as they are told; the token itself only once."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from weir_backend.models import Role, TokenKind

TOKEN_NAME = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"


class TokenView(BaseModel):
    """``last_used_at``: to the minute. Valid until it is revoked or expires."""

    model_config = ConfigDict(from_attributes=True)

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


class CreatedToken(TokenView):
    """``token``: shown here and never again."""

    token: str


class NewToken(BaseModel):
    """``role`` and ``rollback``: no more than whoever makes it has."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=100, pattern=TOKEN_NAME, examples=["deployments from CI"])]
    role: Role
    rollback: bool = False
    expires_in_days: Annotated[int, Field(ge=1, le=365)]
