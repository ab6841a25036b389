"""Webhooks and deliveries as the API accepts and returns them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from weir_backend.kit.schemas import Name, RequestModel, ResponseModel
from weir_backend.models import DeliveryState, MessageKind, Webhook, WebhookEvent, WebhookFormat
from weir_backend.webhooks.addresses import URL_CHARACTERS_MAX, receiver_of


def _url(url: str) -> str:
    receiver_of(url)
    return url


Url = Annotated[str, StringConstraints(max_length=URL_CHARACTERS_MAX), AfterValidator(_url)]
KEY_REFERENCE = r"^(env:WEIR_WEBHOOK_KEY_[A-Z0-9_]{1,80}|file:[A-Za-z0-9][A-Za-z0-9._-]{0,99})$"
KeyReference = Annotated[str, StringConstraints(pattern=KEY_REFERENCE)]


def _ordered(events: list[WebhookEvent]) -> list[WebhookEvent]:
    return [event for event in WebhookEvent if event in events]


Events = Annotated[list[WebhookEvent], Field(min_length=1), AfterValidator(_ordered)]


class WebhookCreate(RequestModel):
    """A webhook to create. `url` is an http or https URL without user and password. `secret_reference` says where workers find the key that signs
    messages, for example `env:WEIR_WEBHOOK_KEY_OPS` (an environment variable) or `file:ops` (a file in their key directory). If
    `secret_reference` is null, messages are not signed. With the format `pagerduty`, the key is the routing key of the integration, and
    `secret_reference` is required.

    `events` are the events that the webhook receives: the `alerts` of the rules that name the webhook, the outcomes of `operations`, and changes
    of `plans`. With the format `pagerduty`, only failed operations and failed plans cause a message."""

    name: Name
    url: Url
    secret_reference: KeyReference | None = None
    format: WebhookFormat = WebhookFormat.WEIR
    events: Events = [WebhookEvent.ALERTS]
    enabled: bool = True


class WebhookUpdate(RequestModel):
    """Changes to a webhook. Omitted fields keep their values. If `secret_reference` is null, messages are no longer signed. If a webhook is
    disabled, its pending messages fail, except test messages."""

    name: Name | None = None
    url: Url | None = None
    secret_reference: KeyReference | None = None
    format: WebhookFormat | None = None
    events: Events | None = None
    enabled: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _something(cls, given: Any) -> Any:
        if isinstance(given, dict) and not given:
            raise ValueError("Set at least one of name, url, secret_reference, format, events, enabled.")
        return given


class WebhookRead(ResponseModel):
    """A webhook. `receiver` contains scheme, host and port of the URL. `url` is the full URL for administrators, and null for other users, because
    it can contain a secret."""

    id: int
    name: str
    receiver: str
    url: str | None
    secret_reference: str | None
    format: WebhookFormat
    events: list[WebhookEvent]
    enabled: bool
    version: int
    created_at: datetime

    @classmethod
    def of(cls, webhook: Webhook, *, with_url: bool) -> WebhookRead:
        return cls.read(webhook, receiver=receiver_of(webhook.url).shown, url=webhook.url if with_url else None)


class DeliveryRead(ResponseModel):
    """A message to a webhook. `message_id` is the id that the receiver sees. A message about an alert, an operation or a plan has
    `alert_id`, `operation_id` or `plan_id`; a test message has none of them. `problem` and `http_status` are
    those of the last attempt; `http_status` is null if there was no response. The delivery has ended when `ended_at` is set."""

    id: int
    message_id: UUID
    webhook_id: int
    alert_id: int | None
    operation_id: int | None
    plan_id: int | None
    message_kind: MessageKind
    state: DeliveryState
    tries: int
    http_status: int | None
    problem: str | None
    next_try_at: datetime
    created_at: datetime
    ended_at: datetime | None
