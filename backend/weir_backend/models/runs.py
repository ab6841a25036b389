"""Tables of runs, commands, events, failures and metric samples."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, SmallInteger, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class RunState(StrEnum):
    """The state of a run as the control plane sees it. ``DriverState`` is the state that the driver reports."""

    CREATED = "CREATED"
    """The row exists, but the driver has not reported yet."""
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    FAILING = "FAILING"
    CANCELLING = "CANCELLING"
    RECONCILING = "RECONCILING"
    """The driver is unreachable, and Weir is checking whether it runs. Only shown (``runs.reach``); the table keeps the last
    reported state."""
    FINISHED = "FINISHED"
    SUSPENDED = "SUSPENDED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"


class Run(Base):
    """One driver process of a job. ``number``: the control plane's generation. At most one run of a job has not ended: the
    newest."""

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index("uq_runs_live", "job_id", unique=True, postgresql_where=text("ended_at IS NULL")),
        Index("ix_runs_live_host", "host", postgresql_where=text("ended_at IS NULL")),
        Index(None, "checkpoint_directory"),
        Index("ix_runs_plan_id", "plan_id", postgresql_where=text("plan_id IS NOT NULL")),
        Index("ix_runs_files", "host", "id", postgresql_where=text("ended_at IS NOT NULL AND files_cleared_at IS NULL")),
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    number: Mapped[int]
    directory: Mapped[str] = mapped_column(server_default=text("(gen_random_uuid())::text"))
    """Name of the run's directory on the driver's host. Unique across databases: a new database reuses ids, but old directories
    remain."""
    spec_id: Mapped[int] = mapped_column(ForeignKey("specs.id"))
    graph_id: Mapped[int | None] = mapped_column(ForeignKey("graphs.id"))
    state: Mapped[RunState] = mapped_column(word(RunState, "state"))
    reason: Mapped[str] = mapped_column(server_default=text("''"))
    cause: Mapped[str] = mapped_column(server_default=text("''"))
    """Why the run was created: deploy, start, restart, rollback, ..."""
    start: Mapped[dict[str, Any]]
    """How the run starts: ``{"mode": "fresh" | "resume" | "from", "checkpoint": N, ...}``."""
    failure_kind: Mapped[str] = mapped_column(server_default=text("''"))
    """Class of the error with which the run failed, as reported by the driver. Empty: not reported."""
    plan_id: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="SET NULL"))
    """The plan that this run applies."""
    checkpoint_directory: Mapped[str] = mapped_column(server_default=text("''"))
    token_digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    stored_event: Mapped[int] = mapped_column(server_default=text("0"))
    """Number of the last stored event of this run."""
    missing_events: Mapped[int] = mapped_column(server_default=text("0"))
    """Number of events that the driver could no longer send."""
    last_command: Mapped[int] = mapped_column(server_default=text("0"))
    generation: Mapped[int] = mapped_column(server_default=text("0"))
    """The runtime's generation in the job log. Each recovery increments it."""
    host: Mapped[str | None]
    """Host of the driver: the name of a worker's queue."""
    pid: Mapped[int | None]
    pid_started: Mapped[float | None]
    """Seconds since the epoch. With ``pid`` it identifies a process uniquely."""
    last_contact_at: Mapped[datetime | None]
    """The last request with this run's token, with a precision of some seconds."""
    created_at: Mapped[Created]
    submitted_at: Mapped[datetime | None]
    """When a worker began to start the driver."""
    running_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    fenced_at: Mapped[datetime | None]
    """When the control plane fenced this run by replacing or ending it. From then on requests with its token fail with 410. A run
    that reported its own end has ``ended_at`` but is not fenced: its driver may repeat the last batch."""
    reassignment_problem: Mapped[str | None]
    """Why the job of an unreachable driver is not reassigned to another host. None: the driver is reachable, or this has not been
    checked yet."""
    files_cleared_at: Mapped[datetime | None]
    """When its directory was found deleted. Its log can no longer be read."""


class Command(Base):
    """``number``: ascending without gaps in the run, assigned under the lock on the run."""

    __tablename__ = "commands"
    __table_args__ = (
        UniqueConstraint("run_id", "number"),
        Index(None, "operation_id"),
        Index(None, "created_at", postgresql_using="brin"),
    )

    id: Mapped[Key]
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    number: Mapped[int]
    kind: Mapped[str] = mapped_column(String(40))
    fields: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id", ondelete="SET NULL"))
    outcome: Mapped[str | None] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(server_default=text("''"))
    answered_event: Mapped[int | None]
    """Number of the run's event that answered the command."""
    created_at: Mapped[Created]


class Event(Base):
    """The event log of a job: ``number`` has no gaps. Samples and single acknowledgements are in ``metric_samples`` and
    ``checkpoints`` instead."""

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index(None, "received_at", postgresql_using="brin"),
        Index(None, "run_id", postgresql_using="brin"),  # for deleting a run
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    number: Mapped[int]
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    run_event: Mapped[int | None]
    """Number of the event in its run. None: the control plane wrote it."""
    kind: Mapped[str] = mapped_column(String(60))
    fields: Mapped[dict[str, Any]]
    at: Mapped[datetime]
    """By the clock of the process that reported the event."""
    received_at: Mapped[Created]


RECOVERED = ("full", "restart")
"""How a job recovered from a failure: in the same driver, or with another one."""


class Failure(Base):
    """The failures of a job, and how it recovered."""

    __tablename__ = "failures"
    __table_args__ = (
        Index(None, "job_id", "at"),
        Index(None, "job_id", "run_id", "generation"),
        Index(None, "received_at", postgresql_using="brin"),
        Index(None, "run_id", postgresql_using="brin"),
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    generation: Mapped[int]
    kind: Mapped[str] = mapped_column(server_default=text("''"))
    reason: Mapped[str]
    at: Mapped[datetime]
    recovered_at: Mapped[datetime | None]
    downtime_ms: Mapped[int | None]
    recovery: Mapped[str | None] = mapped_column(String(20))
    """full, restart (another driver), none (the run ended). None: not known yet."""
    received_at: Mapped[Created]


class MetricSample(Base):
    """The counters of one slot of a run at one time."""

    __tablename__ = "metric_samples"
    __table_args__ = (
        Index(None, "run_id", "at"),
        Index(None, "run_id", "slot", "at"),
        Index(None, "at", postgresql_using="brin"),
    )

    id: Mapped[Key]
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    slot: Mapped[int] = mapped_column(SmallInteger)
    at: Mapped[datetime]
    metrics: Mapped[dict[str, Any]]
