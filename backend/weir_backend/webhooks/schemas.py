"""Webhooks and deliveries as the API accepts and returns them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, StringConstraints, model_validator

from weir_backend.kit.schemas import Name, RequestModel, ResponseModel
from weir_backend.models import DeliveryState, MessageKind, Webhook
from weir_backend.webhooks.addresses import URL_CHARACTERS_MAX, receiver_of


def _url(url: str) -> str:
    receiver_of(url)
    return url


Url = Annotated[str, StringConstraints(max_length=URL_CHARACTERS_MAX), AfterValidator(_url)]
KEY_REFERENCE = r"^(env:WEIR_WEBHOOK_KEY_[A-Z0-9_]{1,80}|file:[A-Za-z0-9][A-Za-z0-9._-]{0,99})$"
KeyReference = Annotated[str, StringConstraints(pattern=KEY_REFERENCE)]


class WebhookCreate(RequestModel):
    """A webhook to create. `url` is an http or https URL without user and password. `secret_reference` says where workers find the key that signs
    messages, for example `env:WEIR_WEBHOOK_KEY_OPS` (an environment variable) or `file:ops` (a file in their key directory). If
    `secret_reference` is null, messages are not signed."""

    name: Name
    url: Url
    secret_reference: KeyReference | None = None
    enabled: bool = True


class WebhookUpdate(RequestModel):
    """Changes to a webhook. Omitted fields keep their values. If `secret_reference` is null, messages are no longer signed. If a webhook is
    disabled, its pending messages fail, except test messages."""

    name: Name | None = None
    url: Url | None = None
    secret_reference: KeyReference | None = None
    enabled: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _something(cls, given: Any) -> Any:
        if isinstance(given, dict) and not given:
            raise ValueError("Set at least one of name, url, secret_reference, enabled.")
        return given


class WebhookRead(ResponseModel):
    """A webhook. `receiver` contains scheme, host and port of the URL. `url` is the full URL for administrators, and null for other users, because
    it can contain a secret."""

    id: int
    name: str
    receiver: str
    url: str | None
    secret_reference: str | None
    enabled: bool
    version: int
    created_at: datetime

    @classmethod
    def of(cls, webhook: Webhook, *, with_url: bool) -> WebhookRead:
        return cls.read(webhook, receiver=receiver_of(webhook.url).shown, url=webhook.url if with_url else None)


class DeliveryRead(ResponseModel):
    """A message to a webhook. `message_id` is the id that the receiver sees. `alert_id` is null for a test message. `problem` and `http_status` are
    those of the last attempt; `http_status` is null if there was no response. The delivery has ended when `ended_at` is set."""

    id: int
    message_id: UUID
    webhook_id: int
    alert_id: int | None
    message_kind: MessageKind
    state: DeliveryState
    tries: int
    http_status: int | None
    problem: str | None
    next_try_at: datetime
    created_at: datetime
    ended_at: datetime | None
