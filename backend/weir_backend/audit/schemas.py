"""Responses about audit entries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from weir_backend.kit.schemas import ResponseModel


class AuditEntryRead(ResponseModel):
    """`user_name` is the name of the user at the time of the change, or `weir` for the platform itself. `before` and `after` are the changed
    values."""

    id: int
    at: datetime
    user_id: int | None
    user_name: str
    token_id: int | None
    action: str
    resource: str
    resource_id: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    request_id: str | None
    address: str | None
