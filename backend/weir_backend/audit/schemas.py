"""Responses about audit entries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from weir_backend.kit.schemas import ResponseModel


class AuditEntryRead(ResponseModel):
    """`user_name` is the name of the user at the time of the change, or `weir` for the platform itself. `resource_text` names the resource, such
    as `checkpoint 784 of job orders`. `job_id` is the job of the resource, or null if the resource does not belong to a job or the job is deleted.
    `before` and `after` are the changed values. `references` names the resources to which these values refer by id, such as
    `{"webhook_id 3": "webhook chat"}`. `token_text` names the token of the request."""

    id: int
    at: datetime
    user_id: int | None
    user_name: str
    token_id: int | None
    token_text: str | None
    action: str
    resource: str
    resource_id: int | None
    resource_text: str
    job_id: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    references: dict[str, str]
    request_id: str | None
    address: str | None
