"""What is said of webhooks and of the messages to them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, StringConstraints, model_validator

from weir_backend.kit.forms import Form, Name, Shown
from weir_backend.models import DeliveryState, MessageAbout, Webhook
from weir_backend.webhooks.addresses import URL_CHARACTERS_MAX, receiver_of


def _url(url: str) -> str:
    receiver_of(url)
    return url


Url = Annotated[str, StringConstraints(max_length=URL_CHARACTERS_MAX), AfterValidator(_url)]
KEY_REFERENCE = r"^(env:WEIR_WEBHOOK_KEY_[A-Z0-9_]{1,80}|file:[A-Za-z0-9][A-Za-z0-9._-]{0,99})$"
KeyReference = Annotated[str, StringConstraints(pattern=KEY_REFERENCE)]


class WebhookDraft(Form):
    """`url`: http or https, without user and password. `secret_reference`: where workers find the key that messages are signed with:
    `env:WEIR_WEBHOOK_KEY_OPS`, a variable of theirs, or `file:ops`, a file in their directory of keys; null: messages are not signed."""

    name: Name
    url: Url
    secret_reference: KeyReference | None = None
    enabled: bool = True


class WebhookChange(Form):
    """What is left out stays. `secret_reference` null: messages are not signed any more. A webhook that is switched off gives up what it has
    not sent yet."""

    name: Name | None = None
    url: Url | None = None
    secret_reference: KeyReference | None = None
    enabled: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _something(cls, given: Any) -> Any:
        if isinstance(given, dict) and not given:
            raise ValueError("nothing is to be changed: give one of name, url, secret_reference, enabled")
        return given


class WebhookShown(Shown):
    """`receiver`: scheme, host and port of the URL. `url`: all of it, shown to administrators only, as with some services it is as good as a
    password; null for everybody else."""

    id: int
    name: str
    receiver: str
    url: str | None
    secret_reference: str | None
    enabled: bool
    version: int
    created_at: datetime

    @classmethod
    def of(cls, webhook: Webhook, *, whole: bool) -> WebhookShown:
        return cls(
            id=webhook.id,
            name=webhook.name,
            receiver=receiver_of(webhook.url).shown,
            url=webhook.url if whole else None,
            secret_reference=webhook.secret_reference,
            enabled=webhook.enabled,
            version=webhook.version,
            created_at=webhook.created_at,
        )


class DeliveryShown(Shown):
    """A message. `message_id`: what its receiver knows it by. `problem` and `status` (of HTTP): of the last try; `status` null: it was not
    answered. It is over once `ended_at` is set. `alert_id` null: of a test."""

    id: int
    message_id: UUID
    webhook_id: int
    alert_id: int | None
    about: MessageAbout
    state: DeliveryState
    tries: int
    status: int | None
    problem: str | None
    next_try_at: datetime
    created_at: datetime
    ended_at: datetime | None
