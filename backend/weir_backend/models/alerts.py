"""Who is told when a job needs a person."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class AlertKind(StrEnum):
    NO_CHECKPOINT = "no-checkpoint"
    """None completed for ``minutes``."""
    FAILURES = "failures"
    """``count`` failures or failed checkpoints in a row."""
    LAG = "lag"
    """A source is ``records`` behind, or ``seconds`` of event time."""
    RESTARTS = "restarts"
    """``count`` restarts within ``minutes``."""


class AlertState(StrEnum):
    FIRING = "FIRING"
    RESOLVED = "RESOLVED"


class Webhook(Base):
    """``secret_reference``: the name of an environment variable or file of the worker that holds the key of its signatures."""

    __tablename__ = "webhooks"

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(String(100), unique=True)
    url: Mapped[str]
    secret_reference: Mapped[str | None]
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    version: Mapped[int] = mapped_column(server_default=text("1"))
    created_at: Mapped[Created]

    __mapper_args__ = {"version_id_col": version}  # SQLAlchemy reads it off the class


class AlertRule(Base):
    """Of one job, or (``job_id`` None) of all."""

    __tablename__ = "alert_rules"

    id: Mapped[Key]
    job_id: Mapped[int | None] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[AlertKind] = mapped_column(word(AlertKind, "kind"))
    parameters: Mapped[dict[str, Any]]
    webhook_id: Mapped[int | None] = mapped_column(ForeignKey("webhooks.id", ondelete="SET NULL"))
    enabled: Mapped[bool] = mapped_column(server_default=text("true"))
    version: Mapped[int] = mapped_column(server_default=text("1"))
    created_at: Mapped[Created]

    __mapper_args__ = {"version_id_col": version}  # SQLAlchemy reads it off the class


class Alert(Base):
    """A rule that holds for a job, from when to when. At most one of a rule and a job is firing."""

    __tablename__ = "alerts"
    __table_args__ = (
        Index("uq_alerts_firing", "rule_id", "job_id", unique=True, postgresql_where=text("state = 'FIRING'")),
        Index(None, "job_id", "since"),
    )

    id: Mapped[Key]
    rule_id: Mapped[int] = mapped_column(ForeignKey("alert_rules.id", ondelete="CASCADE"))
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    state: Mapped[AlertState] = mapped_column(word(AlertState, "state"))
    message: Mapped[str]
    since: Mapped[datetime]
    resolved_at: Mapped[datetime | None]


class Delivery(Base):
    """A message to a webhook: kept until it has arrived, or was tried often enough."""

    __tablename__ = "deliveries"
    __table_args__ = (
        UniqueConstraint("alert_id", "webhook_id", "about"),
        Index("ix_deliveries_open", "next_try_at", postgresql_where=text("ended_at IS NULL")),
    )

    id: Mapped[Key]
    alert_id: Mapped[int] = mapped_column(ForeignKey("alerts.id", ondelete="CASCADE"))
    webhook_id: Mapped[int] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    about: Mapped[AlertState] = mapped_column(word(AlertState, "about"))
    tries: Mapped[int] = mapped_column(server_default=text("0"))
    problem: Mapped[str | None]
    next_try_at: Mapped[datetime]
    created_at: Mapped[Created]
    ended_at: Mapped[datetime | None]
