"""Texts for the resources of audit entries, such as "checkpoint 784 of job orders"."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, case, cast, func, literal, null, select, union_all
from sqlalchemy.orm import InstrumentedAttribute, Session

from weir_backend.models import AlertRule, Artifact, Checkpoint, Job, RecoveryPlan, Secret, Spec, Token, User, Webhook

ResourceKey = tuple[str, int]
"""The kind of a resource in the audit log, such as ``alert-rule``, and its id."""


@dataclass(frozen=True, slots=True)
class ResourceText:
    """``text`` names the resource. ``job_id`` is the job to which the resource belongs, or None if the resource does not belong to a job or
    the job is deleted."""

    text: str
    job_id: int | None


_Key = InstrumentedAttribute[int]
_LIVE_JOB = case((Job.deleted_at.is_(None), Job.id))


def _query(kind: str, key: _Key, text: ColumnElement[str], job_id: ColumnElement[Any] | None = None) -> Select[Any]:
    no_job = cast(null(), BigInteger)
    return select(
        literal(kind).label("kind"), key.label("id"), text.label("text"), (no_job if job_id is None else job_id).label("job_id")
    )


def _named(kind: str, key: _Key, name: InstrumentedAttribute[str]) -> Select[Any]:
    return _query(kind, key, func.concat(_noun(kind), " ", name))


def _of_job(kind: str, key: _Key, number: _Key, job_id: _Key) -> Select[Any]:
    text = func.concat(_noun(kind), " ", number, " of job ", Job.name)
    return _query(kind, key, text, _LIVE_JOB).join(Job, job_id == Job.id)


def _noun(kind: str) -> str:
    return "version" if kind == "spec" else kind.replace("-", " ")


_QUERIES: Mapping[str, tuple[_Key, Select[Any]]] = {
    "job": (Job.id, _query("job", Job.id, func.concat("job ", Job.name), _LIVE_JOB)),
    "spec": (Spec.id, _of_job("spec", Spec.id, Spec.number, Spec.job_id)),
    "checkpoint": (Checkpoint.id, _of_job("checkpoint", Checkpoint.id, Checkpoint.number, Checkpoint.job_id)),
    "plan": (RecoveryPlan.id, _of_job("plan", RecoveryPlan.id, RecoveryPlan.id, RecoveryPlan.job_id)),
    "artifact": (Artifact.id, _named("artifact", Artifact.id, Artifact.name)),
    "alert-rule": (AlertRule.id, _named("alert-rule", AlertRule.id, AlertRule.name)),
    "webhook": (Webhook.id, _named("webhook", Webhook.id, Webhook.name)),
    "secret": (Secret.id, _named("secret", Secret.id, Secret.name)),
    "user": (User.id, _named("user", User.id, User.name)),
    "token": (Token.id, _named("token", Token.id, Token.name)),
}
"""For each kind of resource, its key and the query for its texts. Sessions are missing, because they have no name."""


def resource_texts(session: Session, resources: Collection[ResourceKey]) -> Mapping[ResourceKey, ResourceText]:
    """Return the texts of the resources that exist. The texts are read with a single query."""
    wanted = {
        kind: {key for other, key in resources if other == kind} for kind in {kind for kind, _ in resources} & set(_QUERIES)
    }
    if not wanted:
        return {}
    queries = [query.where(key.in_(wanted[kind])) for kind, (key, query) in _QUERIES.items() if kind in wanted]
    return {(row.kind, row.id): ResourceText(row.text, row.job_id) for row in session.execute(union_all(*queries))}


def recorded_text(kind: str, resource_id: int | None, fields: Mapping[str, Any]) -> str:
    """Return the text of a resource that is deleted, from the fields that its audit entry contains."""
    job, number, name = fields.get("job"), fields.get("number"), fields.get("name")
    if isinstance(name, str):
        return f"{_noun(kind)} {name}"
    if isinstance(job, str):
        return f"{_noun(kind)} {resource_id if number is None else number} of job {job}"
    return _noun(kind) if resource_id is None or kind == "session" else f"{_noun(kind)} {resource_id} (deleted)"
