"""Tables of runs, commands, events, failures and metric samples."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, SmallInteger, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class RunState(StrEnum):
    """The state of a run."""

    CREATED = "CREATED"
    """The run exists, but its driver has not reported yet."""
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    FAILING = "FAILING"
    CANCELLING = "CANCELLING"
    RECONCILING = "RECONCILING"
    """The driver is unreachable, so the state of the run is unknown. The database never contains RECONCILING: ``runs.reachability`` computes this
    state."""
    FINISHED = "FINISHED"
    SUSPENDED = "SUSPENDED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"


class Run(Base):
    """One driver of a job. The runs of a job have consecutive numbers. All runs of a job except the newest have ended."""

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
    """The name of the run's directory on the host of its driver. The directory name contains random text, because a new database assigns the same
    ids again while the directories of the old database still exist."""
    spec_id: Mapped[int] = mapped_column(ForeignKey("specs.id"))
    graph_id: Mapped[int | None] = mapped_column(ForeignKey("graphs.id"))
    state: Mapped[RunState] = mapped_column(word(RunState, "state"))
    reason: Mapped[str] = mapped_column(server_default=text("''"))
    cause: Mapped[str] = mapped_column(server_default=text("''"))
    """Why the run was created, for example ``start``, ``restart`` or ``rollback``."""
    start: Mapped[dict[str, Any]]
    """The start point of the run: ``{"mode": "resume"}``, ``{"mode": "from", "checkpoint": N}`` or ``{"mode": "path", "path": ...}``. If N is 0,
    the run starts without state. With ``"revoke_unknown_output": true``, the run revokes published output that the job log does not contain."""
    failure_kind: Mapped[str] = mapped_column(server_default=text("''"))
    """The class of the error that made the run fail, or '' if the driver has reported no error class."""
    plan_id: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="SET NULL"))
    """The plan that started this run, if any."""
    checkpoint_directory: Mapped[str] = mapped_column(server_default=text("''"))
    token_digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    stored_event: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of the last stored event of this run."""
    missing_events: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of events of this run that are missing, because the driver could not send them."""
    last_command: Mapped[int] = mapped_column(server_default=text("0"))
    generation: Mapped[int] = mapped_column(server_default=text("0"))
    """The newest generation that the driver has reported. Each recovery increases the generation."""
    host: Mapped[str | None]
    """The id of the driver's host; the workers of the host read the queue ``host.ID``."""
    pid: Mapped[int | None]
    pid_started: Mapped[float | None]
    """The start time of the driver process, in seconds since 1970. ``pid`` and ``pid_started`` together identify the process."""
    last_contact_at: Mapped[datetime | None]
    """The time of the last request with the token of this run, accurate to a few seconds."""
    created_at: Mapped[Created]
    submitted_at: Mapped[datetime | None]
    """The time at which the start of the driver was last enqueued, or at which a worker last began to start the driver."""
    running_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    fenced_at: Mapped[datetime | None]
    """The time at which the control plane ended this run, although the driver had not reported the end. After ``fenced_at``, requests with the
    token of the run fail with HTTP status 410. If the driver reports the end of its run, the run is not fenced, because the driver may send its
    last batch of events again."""
    reassignment_problem: Mapped[str | None]
    """The reason why the job is not reassigned although its host is unreachable. ``reassignment_problem`` is None if the host is reachable, or if
    no worker has checked yet whether the job can be reassigned."""
    files_cleared_at: Mapped[datetime | None]
    """The time at which the directory of the run was deleted, together with the log of its driver."""


class Command(Base):
    """A command to a driver. The commands of a run have consecutive numbers."""

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
    """The number of the event that answers the command, counted within the run."""
    created_at: Mapped[Created]


class Event(Base):
    """An event of a job. The events of a job have consecutive numbers. Metric samples and the acknowledgements of subtasks are not stored as
    events: they are in the tables ``metric_samples`` and ``checkpoints``."""

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index(None, "received_at", postgresql_using="brin"),
        Index(None, "run_id", postgresql_using="brin"),  # for deleting a run
        # For lists without routine checkpoints. ``events.repository`` uses the same condition.
        Index(
            "ix_events_not_periodic", "job_id", "number",
            postgresql_where=text(
                "kind NOT IN ('CheckpointTriggered', 'CheckpointCompleted') OR fields ->> 'trigger' IS DISTINCT FROM 'periodic'"
            ),
        ),
    )  # fmt: skip

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    number: Mapped[int]
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    run_event: Mapped[int | None]
    """The number of the event within its run, or None if the event comes from the control plane and not from a driver."""
    kind: Mapped[str] = mapped_column(String(60))
    fields: Mapped[dict[str, Any]]
    at: Mapped[datetime]
    """The time of the event, by the clock of the process that reported the event."""
    received_at: Mapped[Created]


class Failure(Base):
    """A failure of a job, and how the job recovered."""

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
    """How the job recovered: a ``RecoveryStrategy`` (in the same driver), ``restart`` (with another driver) or ``none`` (the run ended).
    ``recovery`` is None if the outcome is not known yet."""
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
