"""``/alert-rules`` and ``/alerts``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from weir_backend.alerts import repository, service
from weir_backend.alerts.schemas import AlertShown, RuleChange, RuleDraft, RuleShown
from weir_backend.kit.access import Operator, Viewer
from weir_backend.kit.forms import Id
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import Listing, listing, page
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import SessionDep, TasksDep
from weir_backend.kit.versions import etag, if_match
from weir_backend.models import Alert

router = APIRouter(tags=["alerts"], route_class=IdempotentRoute, responses=answers(401, 403, 422))
IfMatch = Annotated[str | None, Depends(if_match)]


@router.get("/alert-rules", operation_id="list_alert_rules", response_model=list[RuleShown])
def list_rules(
    session: SessionDep, wanted: Annotated[Listing, Depends(listing)], response: Response, _: Viewer
) -> list[RuleShown]:
    """When somebody is to be told. Filters: id, job_id, name (a part of it), kind, webhook_id, enabled."""
    rows = page(session, repository.rules(), wanted, repository.RULES, response, unit="alert-rules")
    return [RuleShown.of(rule) for rule in rows]


@router.post("/alert-rules", operation_id="create_alert_rule", response_model=RuleShown, status_code=201, responses=answers(409))
def create_rule(draft: RuleDraft, session: SessionDep, caller: Operator, _once: Idempotent, response: Response) -> RuleShown:
    """Make a rule, for one job or for all. It is held against them every few seconds."""
    rule = service.create(session, caller, draft)
    etag(response, rule.version)
    response.headers["Location"] = f"/api/v1/alert-rules/{rule.id}"
    return RuleShown.of(rule)


@router.get("/alert-rules/{rule_id}", operation_id="get_alert_rule", response_model=RuleShown, responses=answers(404))
def get_rule(rule_id: Id, session: SessionDep, response: Response, _: Viewer) -> RuleShown:
    """One rule, with its ETag."""
    rule = service.get(session, rule_id)
    etag(response, rule.version)
    return RuleShown.of(rule)


@router.patch(
    "/alert-rules/{rule_id}", operation_id="update_alert_rule", response_model=RuleShown, responses=answers(404, 412, 428)
)
def change_rule(
    rule_id: Id, wanted: RuleChange, session: SessionDep, caller: Operator, response: Response, seen: IfMatch
) -> RuleShown:
    """Change a rule. What it is about (its kind and its job) stays; alerts that it does not call for any more are over soon."""
    rule = service.change(session, caller, rule_id, seen, wanted)
    etag(response, rule.version)
    return RuleShown.of(rule)


@router.delete("/alert-rules/{rule_id}", operation_id="delete_alert_rule", status_code=204, responses=answers(404, 409, 412, 428))
def delete_rule(rule_id: Id, session: SessionDep, tasks: TasksDep, caller: Operator, seen: IfMatch) -> None:
    """Delete a rule. Alerts of it that fire are over; what it has found stays to be read."""
    service.delete(session, tasks, caller, rule_id, seen)


@router.get("/alerts", operation_id="list_alerts", response_model=list[AlertShown])
def list_alerts(
    session: SessionDep, wanted: Annotated[Listing, Depends(listing)], response: Response, _: Viewer
) -> Sequence[Alert]:
    """What rules have found, newest first. Filters: id, job_id, rule_id, kind, state."""
    return page(session, repository.alerts(), wanted, repository.ALERTS, response, unit="alerts")


@router.get("/alerts/{alert_id}", operation_id="get_alert", response_model=AlertShown, responses=answers(404))
def get_alert(alert_id: Id, session: SessionDep, _: Viewer) -> Alert:
    """One alert: since when, until when, and why."""
    return service.get_alert(session, alert_id)
