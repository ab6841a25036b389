"""Queries on alert rules and alerts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from weir_backend.kit.listing import Fields, contains, equals, one_of
from weir_backend.models import Alert, AlertKind, AlertRule, AlertState, Job

RULES = Fields(
    sortable={"id": AlertRule.id, "name": AlertRule.name, "created_at": AlertRule.created_at},
    filters={
        "id": equals(AlertRule.id, int),
        "job_id": equals(AlertRule.job_id, int),
        "name": contains(AlertRule.name),
        "kind": one_of(AlertRule.kind, AlertKind),
        "webhook_id": equals(AlertRule.webhook_id, int),
        "enabled": equals(AlertRule.enabled, bool),
    },
    default=("id", False),
    key=AlertRule.id,
)
ALERTS = Fields(
    sortable={"id": Alert.id, "since": Alert.since, "resolved_at": Alert.resolved_at},
    filters={
        "id": equals(Alert.id, int),
        "job_id": equals(Alert.job_id, int),
        "rule_id": equals(Alert.rule_id, int),
        "kind": one_of(Alert.kind, AlertKind),
        "state": one_of(Alert.state, AlertState),
    },
    default=("id", True),
    key=Alert.id,
)


def find_rule(session: Session, rule_id: int, *, lock: bool = False) -> AlertRule | None:
    query = select(AlertRule).where(AlertRule.id == rule_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def count_rules(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(AlertRule)) or 0


def rules_of_webhook(session: Session, webhook_id: int) -> Sequence[str]:
    """Return the names of the rules that use the webhook."""
    return session.scalars(select(AlertRule.name).where(AlertRule.webhook_id == webhook_id).order_by(AlertRule.id)).all()


def enabled_rules(session: Session) -> Sequence[AlertRule]:
    return session.scalars(select(AlertRule).where(AlertRule.enabled).order_by(AlertRule.id)).all()


def firing(
    session: Session, *, jobs: Collection[int] | None = None, rule_id: int | None = None
) -> Mapping[tuple[int | None, int], int]:
    """Return the ids of the firing alerts of ``jobs``, or of all jobs if ``jobs`` is None, by rule and job. If ``rule_id`` is not None,
    return only the alerts of this rule."""
    query = select(Alert.rule_id, Alert.job_id, Alert.id).where(Alert.state == AlertState.FIRING)
    if jobs is not None:
        query = query.where(Alert.job_id.in_(jobs))
    if rule_id is not None:
        query = query.where(Alert.rule_id == rule_id)
    return {(rule, job): alert for rule, job, alert in session.execute(query)}


def locked_jobs(session: Session, jobs: Collection[int], *, wait: bool) -> Sequence[Job]:
    """Lock the jobs, including deleted jobs, and return them in the order of their ids. If ``wait`` is False, skip jobs that are locked."""
    query = select(Job).where(Job.id.in_(jobs)).order_by(Job.id)
    return session.scalars(
        query.with_for_update(key_share=True, skip_locked=not wait).execution_options(populate_existing=True)
    ).all()


def open_alert(session: Session, rule: AlertRule, job_id: int, message: str, moment: datetime) -> int | None:
    """Insert a firing alert. Return the id of the alert, or None if an alert of this rule is already firing for the job."""
    row = insert(Alert).values(
        rule_id=rule.id,
        rule_name=rule.name,
        kind=rule.kind,
        job_id=job_id,
        state=AlertState.FIRING,
        message=message,
        since=moment,
    )
    free = row.on_conflict_do_nothing(
        index_elements=[Alert.rule_id, Alert.job_id], index_where=text("state = 'FIRING'")
    )  # fmt: skip
    return session.scalar(free.returning(Alert.id))
