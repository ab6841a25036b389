"""Evaluate all rules against all jobs, raise alerts and resolve them.

``find_changed_jobs`` only reads, and mostly finds no change. The number of queries does not depend on the number of jobs.
``apply_changes`` locks the changed jobs and evaluates their rules again, so that concurrent and interrupted evaluations do no harm.
Jobs that other transactions have locked are skipped until the next evaluation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

import structlog
from sqlalchemy.orm import Session

from weir_backend.alerts import facts, repository
from weir_backend.alerts.conditions import CONDITIONS, Firing, NotFiring, evaluate
from weir_backend.jobs.event_log import record_event
from weir_backend.kit.heartbeats import alive_since
from weir_backend.kit.tasks import Tasks
from weir_backend.models import Alert, AlertKind, AlertRule, AlertState, Job
from weir_backend.webhooks import outbox

log = structlog.get_logger(__name__)
JOBS_PER_TRANSACTION = 100
"""The maximum number of jobs that one transaction locks."""


@dataclass(frozen=True, slots=True)
class OpenAlert:
    job_id: int
    rule: AlertRule
    message: str


@dataclass(frozen=True, slots=True)
class ResolveAlert:
    job_id: int
    alert_id: int
    why: str


Change: TypeAlias = OpenAlert | ResolveAlert


def find_changed_jobs(session: Session, moment: datetime) -> list[int]:
    """Return the ids of the jobs for which an alert is raised or resolved."""
    return sorted({change.job_id for change in _changes(session, moment, None)})


def apply_changes(session: Session, tasks: Tasks, moment: datetime, jobs: Collection[int]) -> None:
    """Raise and resolve the alerts of ``jobs``, which contains at most ``JOBS_PER_TRANSACTION`` jobs. Jobs that other transactions
    have locked are skipped."""
    locked = {job.id: job for job in repository.locked_jobs(session, jobs, wait=False)}
    if not locked:
        return
    for change in _changes(session, moment, locked.keys()):
        job = locked[change.job_id]
        match change:
            case OpenAlert(_, rule, message):
                _open(session, tasks, job, rule, message, moment)
            case ResolveAlert(_, alert_id, why):
                alert = session.get(Alert, alert_id)
                assert alert is not None, "alerts are deleted only with their jobs"
                resolve(session, tasks, job, alert, why, moment)


def _changes(session: Session, moment: datetime, jobs: Collection[int] | None) -> list[Change]:
    """Return the alerts to raise and to resolve for ``jobs``, or for all jobs if ``jobs`` is None."""
    rules = repository.enabled_rules(session)
    firing = repository.firing(session, jobs=jobs)
    available = alive_since(session, moment)
    kinds = {rule.kind for rule in rules}
    found = facts.load_facts(session, moment, jobs=jobs, lags=AlertKind.LAG in kinds, diagnoses=AlertKind.HEALTH in kinds)
    changes: list[Change] = []
    evaluated: set[tuple[int | None, int]] = set()
    for rule in rules:
        condition = CONDITIONS[rule.kind](**rule.parameters)
        for job_id in found if rule.job_id is None else {rule.job_id} & found.keys():
            key = (rule.id, job_id)
            evaluated.add(key)
            alert_id = firing.get(key)
            verdict = evaluate(condition, found[job_id], available_since=available, firing=alert_id is not None, now=moment)
            if isinstance(verdict, Firing) and alert_id is None:
                changes.append(OpenAlert(job_id, rule, verdict.message))
            elif isinstance(verdict, NotFiring) and alert_id is not None:
                changes.append(ResolveAlert(job_id, alert_id, verdict.why))
    for (rule_id, job_id), alert_id in firing.items():
        if (rule_id, job_id) not in evaluated:
            changes.append(ResolveAlert(job_id, alert_id, "its rule is disabled" if job_id in found else "the job is deleted"))
    return changes


def _open(session: Session, tasks: Tasks, job: Job, rule: AlertRule, message: str, moment: datetime) -> None:
    alert_id = repository.open_alert(session, rule, job.id, message, moment)
    if alert_id is None:
        return
    log.info("alert", job=job.name, rule=rule.name, message=message)
    record_event(session, job, "AlertFired", alert=alert_id, rule=rule.name, rule_kind=rule.kind.value, message=message)
    if rule.webhook_id is not None:
        outbox.add_firing(session, tasks, alert_id, rule.webhook_id)


def resolve(session: Session, tasks: Tasks, job: Job, alert: Alert, why: str, moment: datetime) -> None:
    """Resolve the alert and notify its webhooks. The caller holds the lock on the job."""
    assert alert.state is AlertState.FIRING, f"alert {alert.id} is resolved"
    alert.state, alert.resolved_at, alert.resolution = AlertState.RESOLVED, moment, why
    log.info("alert resolved", job=job.name, rule=alert.rule_name, why=why)
    record_event(session, job, "AlertResolved", alert=alert.id, rule=alert.rule_name, rule_kind=alert.kind.value, resolution=why)
    outbox.add_resolved(session, tasks, alert.id)
