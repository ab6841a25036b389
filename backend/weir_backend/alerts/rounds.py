"""A round: hold all rules against all jobs, open what holds and end what does not any more.

``look`` only reads, in a few queries whatever there is, and mostly finds nothing to change. What is to be changed is decided once more
under the locks on those jobs, so two rounds at once, or one that was cut off, do no harm. Jobs that somebody holds are left for the next.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

import structlog
from sqlalchemy.orm import Session

from weir_backend.alerts import facts, repository
from weir_backend.alerts.decide import CONDITIONS, Clear, Holds, judge
from weir_backend.jobs.history import record
from weir_backend.kit.presence import there_since
from weir_backend.kit.tasks import Tasks
from weir_backend.models import Alert, AlertKind, AlertRule, AlertState, Job
from weir_backend.webhooks import outbox

log = structlog.get_logger(__name__)
JOBS_AT_ONCE = 100
"""That are locked in one transaction."""


@dataclass(frozen=True, slots=True)
class Open:
    job_id: int
    rule: AlertRule
    message: str


@dataclass(frozen=True, slots=True)
class End:
    job_id: int
    alert_id: int
    why: str


Change: TypeAlias = Open | End


def look(session: Session, moment: datetime) -> list[int]:
    """Jobs of which an alert begins or ends, by id."""
    return sorted({change.job_id for change in _changes(session, moment, None)})


def carry_out(session: Session, tasks: Tasks, moment: datetime, jobs: Collection[int]) -> None:
    """For those of ``jobs`` that nobody holds. At most ``JOBS_AT_ONCE``."""
    locked = {job.id: job for job in repository.locked_jobs(session, jobs, wait=False)}
    if not locked:
        return
    for change in _changes(session, moment, locked.keys()):
        job = locked[change.job_id]
        match change:
            case Open(_, rule, message):
                _open(session, tasks, job, rule, message, moment)
            case End(_, alert_id, why):
                alert = repository.find_alert(session, alert_id)
                assert alert is not None, "alerts of jobs are deleted with them only"
                end(session, tasks, job, alert, why, moment)


def _changes(session: Session, moment: datetime, jobs: Collection[int] | None) -> list[Change]:
    """``jobs`` None: all."""
    rules = repository.enabled_rules(session)
    firing = repository.firing(session, jobs=jobs)
    there = there_since(session, moment)
    found = facts.of_jobs(session, moment, jobs=jobs, lags=any(rule.kind is AlertKind.LAG for rule in rules))
    changes: list[Change] = []
    judged: set[tuple[int | None, int]] = set()
    for rule in rules:
        condition = CONDITIONS[rule.kind](**rule.parameters)
        for job_id in found if rule.job_id is None else {rule.job_id} & found.keys():
            key = (rule.id, job_id)
            judged.add(key)
            alert_id = firing.get(key)
            verdict = judge(condition, found[job_id], there_since=there, firing=alert_id is not None, now=moment)
            if isinstance(verdict, Holds) and alert_id is None:
                changes.append(Open(job_id, rule, verdict.message))
            elif isinstance(verdict, Clear) and alert_id is not None:
                changes.append(End(job_id, alert_id, verdict.why))
    for (rule_id, job_id), alert_id in firing.items():
        if (rule_id, job_id) not in judged:
            changes.append(End(job_id, alert_id, "its rule is switched off" if job_id in found else "the job is deleted"))
    return changes


def _open(session: Session, tasks: Tasks, job: Job, rule: AlertRule, message: str, moment: datetime) -> None:
    alert_id = repository.open_alert(session, rule, job.id, message, moment)
    if alert_id is None:
        return
    log.info("alert", job=job.name, rule=rule.name, message=message)
    record(session, job, "AlertFired", alert=alert_id, rule=rule.name, about=rule.kind.value, message=message)
    if rule.webhook_id is not None:
        outbox.tell_firing(session, tasks, alert_id, rule.webhook_id)


def end(session: Session, tasks: Tasks, job: Job, alert: Alert, why: str, moment: datetime) -> None:
    """Under the lock on the job. Whoever was told that it fires is told."""
    assert alert.state is AlertState.FIRING, f"alert {alert.id} is over"
    alert.state, alert.resolved_at, alert.resolution = AlertState.RESOLVED, moment, why
    log.info("alert is over", job=job.name, rule=alert.rule_name, why=why)
    record(session, job, "AlertResolved", alert=alert.id, rule=alert.rule_name, about=alert.kind.value, why=why)
    outbox.tell_resolved(session, tasks, alert.id)
