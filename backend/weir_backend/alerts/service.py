"""Create, update and delete alert rules; read alerts."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.alerts import evaluation, repository
from weir_backend.alerts.schemas import AlertRuleCreate, AlertRuleUpdate, parameters_of
from weir_backend.errors import Conflict, Invalid, NotFound, or_raise
from weir_backend.jobs import repository as jobs
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit, audit_changes
from weir_backend.kit.clock import now
from weir_backend.kit.etags import check_if_match
from weir_backend.kit.tasks import Tasks
from weir_backend.models import Alert, AlertKind, AlertRule, WebhookEvent
from weir_backend.webhooks import repository as webhooks

RULES_MAX = 500
"""The number of rules is limited, because each rule is evaluated for every job every few seconds."""


def get(session: Session, rule_id: int) -> AlertRule:
    """Return a rule. Raises NotFound."""
    return _or_not_found(repository.find_rule(session, rule_id), rule_id)


def create(session: Session, caller: Caller, draft: AlertRuleCreate) -> AlertRule:
    """Create a rule. Raises Conflict if there are too many rules, and Invalid if the job or the webhook does not exist."""
    if repository.count_rules(session) >= RULES_MAX:
        raise Conflict("too-many-rules", f"There are already {RULES_MAX} rules.", "Delete rules that you do not need.")
    if draft.job_id is not None and jobs.find(session, draft.job_id) is None:
        raise Invalid("no-job", f"job_id: job {draft.job_id} does not exist.")
    _check_webhook(session, draft.webhook_id)
    rule = AlertRule(
        job_id=draft.job_id,
        name=draft.name,
        kind=AlertKind(draft.condition.kind),
        parameters=parameters_of(draft.condition),
        webhook_id=draft.webhook_id,
        enabled=draft.enabled,
        created_at=now(),
    )
    session.add(rule)
    session.flush()
    audit(session, caller, "create", "alert-rule", rule.id, after=_as_audited(rule))
    return rule


def change(session: Session, caller: Caller, rule_id: int, seen: str | None, wanted: AlertRuleUpdate) -> AlertRule:
    """Update a rule. The next evaluation resolves the alerts whose condition no longer holds. Raises NotFound, Invalid, and the
    errors of ``check_if_match``."""
    rule = _or_not_found(repository.find_rule(session, rule_id, lock=True), rule_id)
    check_if_match(seen, rule.version)
    before = _as_audited(rule)
    if wanted.name is not None:
        rule.name = wanted.name
    if wanted.condition is not None:
        if wanted.condition.kind != rule.kind.value:
            raise Invalid(
                "kind-immutable",
                f"condition: the kind of rule {rule_id} is '{rule.kind.value}' and cannot change.",
                "Create another rule.",
            )
        rule.parameters = parameters_of(wanted.condition)
    if "webhook_id" in wanted.model_fields_set:
        _check_webhook(session, wanted.webhook_id)
        rule.webhook_id = wanted.webhook_id
    if wanted.enabled is not None:
        rule.enabled = wanted.enabled
    audit_changes(session, caller, "alert-rule", rule.id, before, _as_audited(rule))
    session.flush()
    return rule


def delete(session: Session, tasks: Tasks, caller: Caller, rule_id: int, seen: str | None) -> None:
    """Delete a rule and resolve its firing alerts. Raises NotFound and the errors of ``check_if_match``."""
    check_if_match(seen, get(session, rule_id).version)
    # Lock jobs before rules, in the same order as an evaluation.
    locked = {
        job.id: job
        for job in repository.locked_jobs(session, {job for _, job in repository.firing(session, rule_id=rule_id)}, wait=True)
    }
    rule = _or_not_found(repository.find_rule(session, rule_id, lock=True), rule_id)
    check_if_match(seen, rule.version)
    for (_, job_id), alert_id in repository.firing(session, rule_id=rule_id, jobs=locked.keys()).items():
        alert = session.get(Alert, alert_id)
        assert alert is not None
        evaluation.resolve(session, tasks, locked[job_id], alert, "its rule is deleted", now())
    audit(session, caller, "delete", "alert-rule", rule.id, before=_as_audited(rule))
    session.flush()
    session.delete(rule)


def get_alert(session: Session, alert_id: int) -> Alert:
    """Return an alert. Raises NotFound."""
    return or_raise(session.get(Alert, alert_id), NotFound("not-found", f"Alert {alert_id} does not exist."))


def _check_webhook(session: Session, webhook_id: int | None) -> None:
    if webhook_id is None:
        return
    webhook = webhooks.find_webhook(session, webhook_id)
    if webhook is None:
        raise Invalid("no-webhook", f"webhook_id: webhook {webhook_id} does not exist.", "Ask an administrator for a webhook.")
    if WebhookEvent.ALERTS.value not in webhook.events:
        raise Invalid(
            "no-alerts",
            f"webhook_id: webhook '{webhook.name}' does not receive alerts.",
            "Choose a webhook that receives alerts.",
        )


def _as_audited(rule: AlertRule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "job_id": rule.job_id,
        "condition": {"kind": rule.kind.value, **rule.parameters},
        "webhook_id": rule.webhook_id,
        "enabled": rule.enabled,
    }


def _or_not_found(rule: AlertRule | None, rule_id: int) -> AlertRule:
    return or_raise(rule, NotFound("not-found", f"Alert rule {rule_id} does not exist."))
