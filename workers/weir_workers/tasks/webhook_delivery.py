"""Deliver messages to webhooks."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import httpx2
import structlog

from weir.errors import ConfigError
from weir_backend.models import WebhookFormat
from weir_backend.webhooks import outbox
from weir_backend.webhooks.outbox import DeliveryFailure, DeliverySuccess, WebhookMessage
from weir_workers.context import Context, current
from weir_workers.task import task
from weir_workers.webhooks import signing
from weir_workers.webhooks.sender import Sender

log = structlog.get_logger(__name__)
WEBHOOKS_AT_ONCE = 8
ROUND_S = 15.0
"""A task that has run for this many seconds sends no further messages."""


@task("weir.deliver", time_limit_s=90)
def deliver() -> None:
    """Deliver messages to a few webhooks concurrently. Messages to one webhook stay in order."""
    context = current()
    deliver_due(context, lambda: Sender(context.settings.webhook_reach, httpx2.create_ssl_context()))


def deliver_due(context: Context, make_sender: Callable[[], Sender]) -> None:
    """``make_sender`` is slow, so it is called only if there is a message to send."""
    with context.database.session() as session:
        webhooks = outbox.claim_webhooks(session, WEBHOOKS_AT_ONCE)
    if webhooks:
        asyncio.run(_deliver(context, webhooks, make_sender()))


async def _deliver(context: Context, webhooks: Sequence[int], sender: Sender) -> None:
    until_s = time.monotonic() + ROUND_S
    outcomes = await asyncio.gather(*(_deliver_to(context, one, sender, until_s) for one in webhooks), return_exceptions=True)
    for webhook_id, error in zip(webhooks, outcomes, strict=True):
        if error is not None:
            # Keep the claim on the webhook until the claim expires, because an immediate retry would probably fail, too.
            log.error("cannot send messages to a webhook", webhook=webhook_id, exc_info=error)


async def _deliver_to(context: Context, webhook_id: int, sender: Sender, until_s: float) -> None:
    failed = False
    while not failed and time.monotonic() < until_s:
        message = await asyncio.to_thread(_claim, context, webhook_id)
        if message is None:
            break
        outcome = await _send(context, sender, message)
        failed = isinstance(outcome, DeliveryFailure)
        await asyncio.to_thread(_ended, context, message, outcome)
    await asyncio.to_thread(_release, context, webhook_id, failed)


async def _send(context: Context, sender: Sender, message: WebhookMessage) -> DeliverySuccess | DeliveryFailure:
    try:
        key = (
            signing.load_key(message.secret_reference, context.settings, os.environ)
            if message.secret_reference is not None
            else None
        )
    except ConfigError as error:
        # Do not send the message without a signature, because its receiver checks the signature. A later attempt can send the
        # message with a signature.
        return DeliveryFailure(str(error))
    if message.format is WebhookFormat.PAGERDUTY:
        if key is None:
            return DeliveryFailure("the webhook names no routing key of PagerDuty")
        # The key is a credential for PagerDuty, so it does not sign the message.
        return await sender.send(replace(message, body={"routing_key": key.decode(errors="replace"), **message.body}), None)
    return await sender.send(message, key)


def _claim(context: Context, webhook_id: int) -> WebhookMessage | None:
    with context.database.session() as session:
        return outbox.claim_message(session, webhook_id, context.settings.ui_url)


def _ended(context: Context, message: WebhookMessage, outcome: DeliverySuccess | DeliveryFailure) -> None:
    with context.database.session() as session:
        outbox.record_outcome(session, message, outcome)


def _release(context: Context, webhook_id: int, failed: bool) -> None:
    with context.database.session() as session:
        outbox.release_webhook(session, webhook_id, failed=failed)
