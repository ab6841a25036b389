"""Rules as people make, change and delete them; and reading alerts."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from weir_backend.alerts import repository, rounds
from weir_backend.alerts.schemas import RuleChange, RuleDraft, parameters_of
from weir_backend.errors import Conflict, Invalid, NotFound
from weir_backend.jobs import repository as jobs
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import Tasks
from weir_backend.kit.versions import check_version
from weir_backend.models import Alert, AlertKind, AlertRule
from weir_backend.webhooks import repository as webhooks

RULES_MAX = 500
"""Each is held against every job, every few seconds."""


def get(session: Session, rule_id: int) -> AlertRule:
    """Raises NotFound."""
    return _found(repository.find_rule(session, rule_id), rule_id)


def create(session: Session, caller: Caller, draft: RuleDraft) -> AlertRule:
    """Raises Conflict, Invalid."""
    if repository.count_rules(session) >= RULES_MAX:
        raise Conflict("too-many-rules", f"there are {RULES_MAX} rules", "delete those that nobody needs")
    if draft.job_id is not None and jobs.find(session, draft.job_id) is None:
        raise Invalid("no-job", f"job_id: there is no job {draft.job_id}")
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
    audit(session, caller, "create", "alert-rule", rule.id, after=_told(rule))
    return rule


def change(session: Session, caller: Caller, rule_id: int, seen: str | None, wanted: RuleChange) -> AlertRule:
    """Alerts of it that fire go on, and end with the next round if it does not hold any more. Raises NotFound, Invalid and what
    ``check_version`` raises."""
    rule = _found(repository.find_rule(session, rule_id, lock=True), rule_id)
    check_version(seen, rule.version)
    before = _told(rule)
    if wanted.name is not None:
        rule.name = wanted.name
    if wanted.condition is not None:
        if wanted.condition.kind != rule.kind.value:
            raise Invalid(
                "kind", f"condition: rule {rule_id} is of the kind '{rule.kind.value}'", "make another rule for another kind"
            )
        rule.parameters = parameters_of(wanted.condition)
    if "webhook_id" in wanted.model_fields_set:
        _check_webhook(session, wanted.webhook_id)
        rule.webhook_id = wanted.webhook_id
    if wanted.enabled is not None:
        rule.enabled = wanted.enabled
    after = _told(rule)
    if after != before:
        changed = {name for name in after if after[name] != before[name]}
        audit(
            session, caller, "update", "alert-rule", rule.id,
            before={name: before[name] for name in changed}, after={name: after[name] for name in changed},
        )  # fmt: skip
        session.flush()
    return rule


def delete(session: Session, tasks: Tasks, caller: Caller, rule_id: int, seen: str | None) -> None:
    """Its alerts stay; those that fire are over. Raises NotFound and what ``check_version`` raises."""
    check_version(seen, get(session, rule_id).version)
    # Jobs are locked before rules, as by a round.
    held = {
        job.id: job
        for job in repository.locked_jobs(session, {job for _, job in repository.firing(session, rule_id=rule_id)}, wait=True)
    }
    rule = _found(repository.find_rule(session, rule_id, lock=True), rule_id)
    check_version(seen, rule.version)
    for (_, job_id), alert_id in repository.firing(session, rule_id=rule_id, jobs=held.keys()).items():
        alert = repository.find_alert(session, alert_id)
        assert alert is not None
        rounds.end(session, tasks, held[job_id], alert, "its rule is deleted", now())
    audit(session, caller, "delete", "alert-rule", rule.id, before=_told(rule))
    session.flush()
    session.delete(rule)


def get_alert(session: Session, alert_id: int) -> Alert:
    """Raises NotFound."""
    found = repository.find_alert(session, alert_id)
    if found is None:
        raise NotFound("not-found", f"there is no alert {alert_id}")
    return found


def _check_webhook(session: Session, webhook_id: int | None) -> None:
    if webhook_id is not None and webhooks.find_webhook(session, webhook_id) is None:
        raise Invalid("no-webhook", f"webhook_id: there is no webhook {webhook_id}", "an administrator makes one")


def _told(rule: AlertRule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "job_id": rule.job_id,
        "condition": {"kind": rule.kind.value, **rule.parameters},
        "webhook_id": rule.webhook_id,
        "enabled": rule.enabled,
    }


def _found(rule: AlertRule | None, rule_id: int) -> AlertRule:
    if rule is None:
        raise NotFound("not-found", f"there is no alert rule {rule_id}")
    return rule
