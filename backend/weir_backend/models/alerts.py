"""Tables of webhooks, alert rules, alerts and deliveries."""

from __future__ import annotations

import uuid
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, SmallInteger, String, UniqueConstraint, Uuid, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class AlertKind(StrEnum):
    NO_CHECKPOINT = "no-checkpoint"
    """No checkpoint has completed for ``minutes`` minutes."""
    FAILURES = "failures"
    """The job has had ``count`` consecutive failures or failed checkpoints."""
    LAG = "lag"
    """A source is behind its input by more than ``records``, or by more than ``seconds`` of event time."""
    RESTARTS = "restarts"
    """``count`` restarts within ``minutes``."""
    HEALTH = "health"
    """The job is running and degraded for ``reason``, or for any reason."""


class AlertState(StrEnum):
    FIRING = "FIRING"
    RESOLVED = "RESOLVED"


class WebhookFormat(StrEnum):
    """The format of the messages to a webhook."""

    WEIR = "weir"
    """The JSON body that docs/control-plane.md documents."""
    SLACK = "slack"
    """An incoming webhook of Slack."""
    TEAMS = "teams"
    """A workflow of Microsoft Teams that is triggered by a webhook request."""
    PAGERDUTY = "pagerduty"
    """The Events API v2 of PagerDuty."""


class WebhookEvent(StrEnum):
    """A group of events that a webhook can receive."""

    ALERTS = "alerts"
    """An alert fires or is resolved. The webhook receives the alerts of the rules that name it."""
    OPERATIONS = "operations"
    """An operation of a job succeeds or fails. Operations that apply a plan belong to PLANS, and superseded operations cause no message."""
    PLANS = "plans"
    """A plan is proposed, approved, applied or discarded, or fails."""


class MessageKind(StrEnum):
    """What a message to a webhook reports about its alert, operation or plan."""

    FIRING = "FIRING"
    RESOLVED = "RESOLVED"
    TEST = "TEST"
    """A test message. A test message belongs to no alert, operation or plan, and Weir makes only one attempt to deliver it."""
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    PROPOSED = "PROPOSED"
    APPROVED = "APPROVED"
    APPLIED = "APPLIED"
    DISCARDED = "DISCARDED"


class DeliveryState(StrEnum):
    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"


class Webhook(Base):
    """``secret_reference`` names the environment variable or the file from which workers read the signing key or, if the format is PAGERDUTY, the
    routing key."""

    __tablename__ = "webhooks"

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(String(100), unique=True)
    url: Mapped[str]
    secret_reference: Mapped[str | None]
    format: Mapped[WebhookFormat] = mapped_column(word(WebhookFormat, "format"), server_default=text("'weir'"))
    events: Mapped[list[Any]] = mapped_column(server_default=text("'[\"alerts\"]'"))
    """The values of the ``WebhookEvent`` groups that the webhook receives, in the order of ``WebhookEvent``."""
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    not_before: Mapped[datetime | None]
    """No worker claims the webhook before ``not_before``. A worker sets ``not_before`` when it claims the webhook, and again after a message to the
    webhook has failed."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    created_at: Mapped[Created]

    __mapper_args__ = {"version_id_col": version}  # SQLAlchemy reads ``__mapper_args__`` from the class


class AlertRule(Base):
    """A rule for one job, or for all jobs if ``job_id`` is None."""

    __tablename__ = "alert_rules"
    __table_args__ = (Index(None, "webhook_id"),)

    id: Mapped[Key]
    job_id: Mapped[int | None] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[AlertKind] = mapped_column(word(AlertKind, "kind"))
    parameters: Mapped[dict[str, Any]]
    """The fields of ``alerts.schemas.Condition``, without the kind."""
    webhook_id: Mapped[int | None] = mapped_column(ForeignKey("webhooks.id", ondelete="SET NULL"))
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    version: Mapped[int] = mapped_column(server_default=text("1"))
    created_at: Mapped[Created]

    __mapper_args__ = {"version_id_col": version}  # SQLAlchemy reads ``__mapper_args__`` from the class


class Alert(Base):
    """A period in which a rule holds for a job. At most one alert per rule and job is firing. An alert is kept when its rule is deleted."""

    __tablename__ = "alerts"
    __table_args__ = (
        Index("uq_alerts_firing", "rule_id", "job_id", unique=True, postgresql_where=text("state = 'FIRING'")),
        Index(None, "job_id", "since"),
        Index(None, "rule_id"),
    )

    id: Mapped[Key]
    rule_id: Mapped[int | None] = mapped_column(ForeignKey("alert_rules.id", ondelete="SET NULL"))
    """The id of the rule, or None if the rule has been deleted."""
    rule_name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[AlertKind] = mapped_column(word(AlertKind, "kind"))
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    state: Mapped[AlertState] = mapped_column(word(AlertState, "state"))
    message: Mapped[str]
    since: Mapped[datetime]
    resolved_at: Mapped[datetime | None]
    resolution: Mapped[str | None]
    """Why the alert was resolved."""


class Delivery(Base):
    """A message to a webhook about an alert, an operation or a plan. At most one of ``alert_id``, ``operation_id`` and ``plan_id`` is set; a test
    message has none of them. The delivery is pending until the message is delivered or the retries are exhausted."""

    __tablename__ = "deliveries"
    __table_args__ = (
        UniqueConstraint("alert_id", "webhook_id", "message_kind"),
        UniqueConstraint("operation_id", "webhook_id"),
        UniqueConstraint("plan_id", "webhook_id", "message_kind"),
        Index("ix_deliveries_open", "webhook_id", "next_try_at", postgresql_where=text("ended_at IS NULL")),
        Index(None, "webhook_id", "id"),
    )

    id: Mapped[Key]
    message_id: Mapped[uuid.UUID] = mapped_column(Uuid, server_default=text("gen_random_uuid()"))
    """Identifies the message to receivers. The id is random, because a database that was restored from a backup would assign consecutive ids
    again."""
    alert_id: Mapped[int | None] = mapped_column(ForeignKey("alerts.id", ondelete="CASCADE"))
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id", ondelete="CASCADE"))
    plan_id: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="CASCADE"))
    webhook_id: Mapped[int] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    message_kind: Mapped[MessageKind] = mapped_column(word(MessageKind, "message_kind"))
    state: Mapped[DeliveryState] = mapped_column(word(DeliveryState, "state"), server_default=text("'PENDING'"))
    tries: Mapped[int] = mapped_column(server_default=text("0"))
    http_status: Mapped[int | None] = mapped_column(SmallInteger)
    """The HTTP status of the last attempt, or None if there was no response."""
    problem: Mapped[str | None]
    """Why the last attempt to send the message failed."""
    next_try_at: Mapped[datetime]
    created_at: Mapped[Created]
    ended_at: Mapped[datetime | None]
