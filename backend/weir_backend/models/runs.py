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
    """The driver has not reported yet."""
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    FAILING = "FAILING"
    CANCELLING = "CANCELLING"
    RECONCILING = "RECONCILING"
    """The driver is unreachable, so its state is unknown. This state is never stored: see ``runs.reachability``."""
    FINISHED = "FINISHED"
    SUSPENDED = "SUSPENDED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"


class Run(Base):
    """One driver of a job. ``number`` counts the runs of the job. Only the newest run of a job can be a run that has not ended."""

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
    """The name of the directory of the run on the host of its driver. The name contains random text, because a new database uses the same ids again
    while old directories remain."""
    spec_id: Mapped[int] = mapped_column(ForeignKey("specs.id"))
    graph_id: Mapped[int | None] = mapped_column(ForeignKey("graphs.id"))
    state: Mapped[RunState] = mapped_column(word(RunState, "state"))
    reason: Mapped[str] = mapped_column(server_default=text("''"))
    cause: Mapped[str] = mapped_column(server_default=text("''"))
    """Why the run was created, for example ``start``, ``restart`` or ``rollback``."""
    start: Mapped[dict[str, Any]]
    """Where the run starts: ``{"mode": "resume"}``, ``{"mode": "from", "checkpoint": N}`` (without state if N is 0) or ``{"mode": "path", "path":
    ...}``."""
    failure_kind: Mapped[str] = mapped_column(server_default=text("''"))
    """The class of the error that made the run fail, as the driver reported it. Empty: not reported."""
    plan_id: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="SET NULL"))
    """The plan that started this run, if any."""
    checkpoint_directory: Mapped[str] = mapped_column(server_default=text("''"))
    token_digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    stored_event: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of the last stored event of this run."""
    missing_events: Mapped[int] = mapped_column(server_default=text("0"))
    """How many events the driver could no longer send."""
    last_command: Mapped[int] = mapped_column(server_default=text("0"))
    generation: Mapped[int] = mapped_column(server_default=text("0"))
    """The newest generation of the runtime that the driver has reported. Each recovery increases it."""
    host: Mapped[str | None]
    """The id of the driver's host; its workers read the queue ``host.ID``."""
    pid: Mapped[int | None]
    pid_started: Mapped[float | None]
    """The start time of the process, in seconds since 1970. Together with ``pid`` it identifies the process."""
    last_contact_at: Mapped[datetime | None]
    """The time of the last request with the token of this run, with a precision of some seconds."""
    created_at: Mapped[Created]
    submitted_at: Mapped[datetime | None]
    """When a worker began to start the driver."""
    running_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    fenced_at: Mapped[datetime | None]
    """When the control plane ended this run without its driver. From then on, requests with its token fail with 410. A run whose driver reported the
    end is not fenced: the driver may repeat its last batch."""
    reassignment_problem: Mapped[str | None]
    """Why the job is not reassigned although its host is unreachable. None if the host is reachable, or if this was not checked yet."""
    files_cleared_at: Mapped[datetime | None]
    """When the directory of the run was deleted. From then on, the log of the driver cannot be read."""


class Command(Base):
    """A command to a driver. ``number`` is consecutive within the run."""

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
    """The number of the event of the run that answered the command."""
    created_at: Mapped[Created]


class Event(Base):
    """An event of a job. ``number`` is consecutive within the job. Samples and acknowledgements of subtasks are not events; they are stored in
    ``metric_samples`` and ``checkpoints``."""

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
    """The number of the event in its run. None if the control plane wrote the event."""
    kind: Mapped[str] = mapped_column(String(60))
    fields: Mapped[dict[str, Any]]
    at: Mapped[datetime]
    """The time of the event, by the clock of the process that reported it."""
    received_at: Mapped[Created]


RECOVERED = ("full", "restart")
"""The values of ``Failure.recovery`` with which a job has recovered: in the same driver, or with another driver."""


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
    """How the job recovered: ``full`` (in the same driver), ``restart`` (with another driver) or ``none`` (the run ended). None: not known yet."""
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
