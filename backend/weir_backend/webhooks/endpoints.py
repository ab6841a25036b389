"""Endpoints of webhooks. Only administrators change webhooks, because webhooks make workers send requests."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response
from sqlalchemy import select

from weir_backend.kit.access import AdministratorCaller, Caller, Permission, ViewerCaller
from weir_backend.kit.dependencies import SessionDep, TasksDep
from weir_backend.kit.etags import IfMatch, set_etag
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Delivery, Webhook
from weir_backend.webhooks import repository, service
from weir_backend.webhooks.schemas import DeliveryRead, WebhookCreate, WebhookRead, WebhookUpdate

router = APIRouter(prefix="/webhooks", tags=["webhooks"], route_class=IdempotentRoute, responses=answers(401, 403, 422))


def _shown(webhook: Webhook, caller: Caller) -> WebhookRead:
    return WebhookRead.of(webhook, with_url=Permission.ADMINISTER in caller.permissions)


@router.get("", operation_id="list_webhooks")
def list_(session: SessionDep, wanted: ListingDep, response: Response, caller: ViewerCaller) -> list[WebhookRead]:
    """List webhooks. Filters: `id`, `name` (a part of it), `enabled`, `format`."""
    rows = page(session, select(Webhook), wanted, repository.WEBHOOKS, response, unit="webhooks")
    return [_shown(webhook, caller) for webhook in rows]


@router.post("", operation_id="create_webhook", status_code=201, responses=answers(409))
def create(
    draft: WebhookCreate, session: SessionDep, caller: AdministratorCaller, _once: Idempotent, response: Response
) -> WebhookRead:
    """Create a webhook. Use `test` to send a test message to the webhook."""
    webhook = service.create(session, caller, draft)
    set_etag(response, webhook.version)
    response.headers["Location"] = f"/api/v1/webhooks/{webhook.id}"
    return _shown(webhook, caller)


@router.get("/{webhook_id}", operation_id="get_webhook", responses=answers(404))
def get(webhook_id: Id, session: SessionDep, response: Response, caller: ViewerCaller) -> WebhookRead:
    """Return one webhook, with its ETag."""
    webhook = service.get(session, webhook_id)
    set_etag(response, webhook.version)
    return _shown(webhook, caller)


@router.patch("/{webhook_id}", operation_id="update_webhook", responses=answers(404, 409, 412, 428))
def change(
    webhook_id: Id, wanted: WebhookUpdate, session: SessionDep, caller: AdministratorCaller, response: Response, seen: IfMatch
) -> WebhookRead:
    """Update a webhook. If the URL changes, pending messages are sent to the new URL."""
    webhook = service.change(session, caller, webhook_id, seen, wanted)
    set_etag(response, webhook.version)
    return _shown(webhook, caller)


@router.delete("/{webhook_id}", operation_id="delete_webhook", status_code=204, responses=answers(404, 409, 412, 428))
def delete(webhook_id: Id, session: SessionDep, caller: AdministratorCaller, seen: IfMatch) -> None:
    """Delete a webhook and its deliveries. Fails if an alert rule uses the webhook."""
    service.delete(session, caller, webhook_id, seen)


@router.post(
    "/{webhook_id}/test", operation_id="test_webhook", response_model=DeliveryRead, status_code=202, responses=answers(404)
)
def test(
    webhook_id: Id, session: SessionDep, tasks: TasksDep, caller: AdministratorCaller, _once: Idempotent, response: Response
) -> Delivery:
    """Have a worker send a test message, even if the webhook is disabled. Read the delivery at `Location` until `ended_at` is set."""
    found = service.test(session, tasks, caller, webhook_id)
    response.headers["Location"] = f"/api/v1/webhooks/{webhook_id}/deliveries/{found.id}"
    return found


@router.get("/{webhook_id}/deliveries", operation_id="list_deliveries", response_model=list[DeliveryRead], responses=answers(404))
def deliveries(
    webhook_id: Id, session: SessionDep, wanted: ListingDep, response: Response, _: ViewerCaller
) -> Sequence[Delivery]:
    """List the deliveries of a webhook, newest first. Filters: `id`, `alert_id`, `operation_id`, `plan_id`, `message_kind`, `state`."""
    service.get(session, webhook_id)
    return page(session, repository.deliveries_of(webhook_id), wanted, repository.DELIVERIES, response, unit="deliveries")


@router.get(
    "/{webhook_id}/deliveries/{delivery_id}",
    operation_id="get_delivery",
    response_model=DeliveryRead,
    responses=answers(404),
)
def delivery(webhook_id: Id, delivery_id: Id, session: SessionDep, _: ViewerCaller) -> Delivery:
    """Return one delivery. The delivery has ended when `ended_at` is set."""
    return service.delivery(session, webhook_id, delivery_id)
