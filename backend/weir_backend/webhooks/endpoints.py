"""``/webhooks``: administrators only write them, as they make workers call out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from weir_backend.kit.access import Administrator, Caller, Permission, Viewer
from weir_backend.kit.forms import Id
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import Listing, listing, page
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep, TasksDep
from weir_backend.kit.versions import etag, if_match
from weir_backend.models import Delivery, Webhook
from weir_backend.webhooks import repository, service
from weir_backend.webhooks.schemas import DeliveryShown, WebhookChange, WebhookDraft, WebhookShown

router = APIRouter(prefix="/webhooks", tags=["webhooks"], route_class=IdempotentRoute, responses=answers(401, 403, 422))
IfMatch = Annotated[str | None, Depends(if_match)]


def _shown(webhook: Webhook, caller: Caller) -> WebhookShown:
    return WebhookShown.of(webhook, whole=Permission.ADMINISTER in caller.permissions)


@router.get("", operation_id="list_webhooks", response_model=list[WebhookShown])
def list_(
    session: SessionDep, wanted: Annotated[Listing, Depends(listing)], response: Response, caller: Viewer
) -> list[WebhookShown]:
    """Where messages about alerts go. Filters: id, name (a part of it), enabled."""
    rows = page(session, repository.webhooks(), wanted, repository.WEBHOOKS, response, unit="webhooks")
    return [_shown(webhook, caller) for webhook in rows]


@router.post("", operation_id="create_webhook", response_model=WebhookShown, status_code=201, responses=answers(409))
def create(
    draft: WebhookDraft, session: SessionDep, caller: Administrator, _once: Idempotent, response: Response
) -> WebhookShown:
    """Make a webhook. Rules name it; `test` tells whether it works."""
    webhook = service.create(session, caller, draft)
    etag(response, webhook.version)
    response.headers["Location"] = f"/api/v1/webhooks/{webhook.id}"
    return _shown(webhook, caller)


@router.get("/{webhook_id}", operation_id="get_webhook", response_model=WebhookShown, responses=answers(404))
def get(webhook_id: Id, session: SessionDep, response: Response, caller: Viewer) -> WebhookShown:
    """One webhook, with its ETag."""
    webhook = service.get(session, webhook_id)
    etag(response, webhook.version)
    return _shown(webhook, caller)


@router.patch("/{webhook_id}", operation_id="update_webhook", response_model=WebhookShown, responses=answers(404, 409, 412, 428))
def change(
    webhook_id: Id, wanted: WebhookChange, session: SessionDep, caller: Administrator, response: Response, seen: IfMatch
) -> WebhookShown:
    """Change a webhook. Messages that wait are sent to where it points then."""
    webhook = service.change(session, caller, webhook_id, seen, wanted)
    etag(response, webhook.version)
    return _shown(webhook, caller)


@router.delete("/{webhook_id}", operation_id="delete_webhook", status_code=204, responses=answers(404, 409, 412, 428))
def delete(webhook_id: Id, session: SessionDep, caller: Administrator, seen: IfMatch) -> None:
    """Delete a webhook that no rule names, with the list of its deliveries."""
    service.delete(session, caller, webhook_id, seen)


@router.post(
    "/{webhook_id}/test", operation_id="test_webhook", response_model=DeliveryShown, status_code=202, responses=answers(404)
)
def test(
    webhook_id: Id, session: SessionDep, tasks: TasksDep, caller: Administrator, _once: Idempotent, response: Response
) -> Delivery:
    """Have a worker send a message now, also if the webhook is switched off. The delivery, at `Location`, tells what came of it: look
    until `ended_at` is set."""
    found = service.test(session, tasks, caller, webhook_id)
    response.headers["Location"] = f"/api/v1/webhooks/{webhook_id}/deliveries/{found.id}"
    return found


@router.get(
    "/{webhook_id}/deliveries", operation_id="list_deliveries", response_model=list[DeliveryShown], responses=answers(404)
)
def deliveries(
    webhook_id: Id, session: SessionDep, wanted: Annotated[Listing, Depends(listing)], response: Response, _: Viewer
) -> Sequence[Delivery]:
    """Messages to a webhook, newest first, and what came of them. Filters: id, alert_id, about, state."""
    service.get(session, webhook_id)
    return page(session, repository.deliveries_of(webhook_id), wanted, repository.DELIVERIES, response, unit="deliveries")


@router.get(
    "/{webhook_id}/deliveries/{delivery_id}",
    operation_id="get_delivery",
    response_model=DeliveryShown,
    responses=answers(404),
)
def delivery(webhook_id: Id, delivery_id: Id, session: SessionDep, _: Viewer) -> Delivery:
    """One message. It is over once `ended_at` is set."""
    return service.delivery(session, webhook_id, delivery_id)
