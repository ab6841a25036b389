"""Endpoints of alert rules and alerts."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response
from sqlalchemy import select

from weir_backend.alerts import repository, service
from weir_backend.alerts.schemas import AlertRead, AlertRuleCreate, AlertRuleRead, AlertRuleUpdate
from weir_backend.kit.access import OperatorCaller, ViewerCaller
from weir_backend.kit.dependencies import SessionDep, TasksDep
from weir_backend.kit.etags import IfMatch, set_etag
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Alert, AlertRule

router = APIRouter(tags=["alerts"], route_class=IdempotentRoute, responses=answers(401, 403, 422))


@router.get("/alert-rules", operation_id="list_alert_rules")
def list_rules(session: SessionDep, wanted: ListingDep, response: Response, _: ViewerCaller) -> list[AlertRuleRead]:
    """List alert rules. Filters: `id`, `job_id`, `name` (a part of it), `kind`, `webhook_id`, `enabled`."""
    rows = page(session, select(AlertRule), wanted, repository.RULES, response, unit="alert-rules")
    return [AlertRuleRead.of(rule) for rule in rows]


@router.post("/alert-rules", operation_id="create_alert_rule", status_code=201, responses=answers(409))
def create_rule(
    draft: AlertRuleCreate, session: SessionDep, caller: OperatorCaller, _once: Idempotent, response: Response
) -> AlertRuleRead:
    """Create a rule for one job or for all. Workers evaluate each rule every few seconds."""
    rule = service.create(session, caller, draft)
    set_etag(response, rule.version)
    response.headers["Location"] = f"/api/v1/alert-rules/{rule.id}"
    return AlertRuleRead.of(rule)


@router.get("/alert-rules/{rule_id}", operation_id="get_alert_rule", responses=answers(404))
def get_rule(rule_id: Id, session: SessionDep, response: Response, _: ViewerCaller) -> AlertRuleRead:
    """Return one rule, with its ETag."""
    rule = service.get(session, rule_id)
    set_etag(response, rule.version)
    return AlertRuleRead.of(rule)


@router.patch("/alert-rules/{rule_id}", operation_id="update_alert_rule", responses=answers(404, 412, 428))
def change_rule(
    rule_id: Id, wanted: AlertRuleUpdate, session: SessionDep, caller: OperatorCaller, response: Response, seen: IfMatch
) -> AlertRuleRead:
    """Update a rule. The kind and the job of a rule cannot change. An alert whose condition no longer holds is resolved within seconds."""
    rule = service.change(session, caller, rule_id, seen, wanted)
    set_etag(response, rule.version)
    return AlertRuleRead.of(rule)


@router.delete("/alert-rules/{rule_id}", operation_id="delete_alert_rule", status_code=204, responses=answers(404, 409, 412, 428))
def delete_rule(rule_id: Id, session: SessionDep, tasks: TasksDep, caller: OperatorCaller, seen: IfMatch) -> None:
    """Delete a rule and resolve its firing alerts. The alerts of a deleted rule are kept."""
    service.delete(session, tasks, caller, rule_id, seen)


@router.get("/alerts", operation_id="list_alerts", response_model=list[AlertRead])
def list_alerts(session: SessionDep, wanted: ListingDep, response: Response, _: ViewerCaller) -> Sequence[Alert]:
    """List alerts, newest first. Filters: `id`, `job_id`, `rule_id`, `kind`, `state`."""
    return page(session, select(Alert), wanted, repository.ALERTS, response, unit="alerts")


@router.get("/alerts/{alert_id}", operation_id="get_alert", response_model=AlertRead, responses=answers(404))
def get_alert(alert_id: Id, session: SessionDep, _: ViewerCaller) -> Alert:
    """Return one alert."""
    return service.get_alert(session, alert_id)
