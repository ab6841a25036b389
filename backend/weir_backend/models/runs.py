"""What has run, and all that it told."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, SmallInteger, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class RunState(StrEnum):
    """Of a run as the control plane sees it. What the driver says of itself is ``weir.protocol.events.RunState``."""

    CREATED = "CREATED"
    """Minted; its driver has not said anything yet."""
    INITIALIZING = "INITIALIZING"
    RUNNING = "RUNNING"
    RESTARTING = "RESTARTING"
    FAILING = "FAILING"
    CANCELLING = "CANCELLING"
    RECONCILING = "RECONCILING"
    """Nothing is heard of it; whether it lives is being found out. Only shown (``runs.reach``): stored is what it told last."""
    FINISHED = "FINISHED"
    SUSPENDED = "SUSPENDED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"


class Run(Base):
    """One driver process of a job. ``number`` is the generation of the control plane: a job has one run that is not over, the newest."""

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
    """Name of the run's own on the machine of its driver, and of no other run of any database: ids begin anew with a new database, and
    directories do not."""
    spec_id: Mapped[int] = mapped_column(ForeignKey("specs.id"))
    graph_id: Mapped[int | None] = mapped_column(ForeignKey("graphs.id"))
    state: Mapped[RunState] = mapped_column(word(RunState, "state"))
    reason: Mapped[str] = mapped_column(server_default=text("''"))
    cause: Mapped[str] = mapped_column(server_default=text("''"))
    """Why this run was begun: deploy, start, restart, rollback, ..."""
    start: Mapped[dict[str, Any]]
    """How: ``{"mode": "fresh" | "resume" | "from", "checkpoint": N, ...}``."""
    failure_kind: Mapped[str] = mapped_column(server_default=text("''"))
    """Class of the error that it failed with, as its driver told; '' if it did not."""
    plan_id: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="SET NULL"))
    """The plan that this run carries out."""
    checkpoint_directory: Mapped[str] = mapped_column(server_default=text("''"))
    token_digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    stored_event: Mapped[int] = mapped_column(server_default=text("0"))
    """Number of the last event of this run that is stored."""
    missing_events: Mapped[int] = mapped_column(server_default=text("0"))
    """That the driver could not send any more when we asked for them."""
    last_command: Mapped[int] = mapped_column(server_default=text("0"))
    generation: Mapped[int] = mapped_column(server_default=text("0"))
    """Of the runtime, in the job's log: each recovery begins a new one."""
    host: Mapped[str | None]
    """Where the driver's process is: the name of a worker's queue."""
    pid: Mapped[int | None]
    pid_started: Mapped[float | None]
    """Seconds since 1970: with ``pid`` it names one process for good."""
    last_contact_at: Mapped[datetime | None]
    """To some seconds: the last request with this run's token."""
    created_at: Mapped[Created]
    submitted_at: Mapped[datetime | None]
    """When a worker set out to start the driver."""
    running_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    fenced_at: Mapped[datetime | None]
    """When the control plane took the job from this run (replaced it, or ended it over its head): from then on its token is answered
    410. A run that told its end itself is over (``ended_at``) and not fenced: its last batch may come again."""
    stranded: Mapped[str | None]
    """Why no other machine goes on with the job though nothing is heard of this run's own. None: something is, or nobody has looked yet."""
    files_cleared_at: Mapped[datetime | None]
    """When its directory was found to be gone: its log cannot be read any more."""


class Command(Base):
    """``number``: in the run, ascending without holes; taken under the lock on the run."""

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
    """Number of the run's event that told it."""
    created_at: Mapped[Created]


class Event(Base):
    """What happened to a job, in its order: ``number`` has no holes. Samples and single acknowledgements are not here but in
    ``metric_samples`` and ``checkpoints``."""

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index(None, "received_at", postgresql_using="brin"),
        Index(None, "run_id", postgresql_using="brin"),  # for who forgets a run
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    number: Mapped[int]
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    run_event: Mapped[int | None]
    """Its number in the run. None: of the control plane itself."""
    kind: Mapped[str] = mapped_column(String(60))
    fields: Mapped[dict[str, Any]]
    at: Mapped[datetime]
    """By the clock of whoever tells it."""
    received_at: Mapped[Created]


RECOVERED = ("full", "restart")
"""How a job came back from a failure: in the same driver, or with another one."""


class Failure(Base):
    """The history of exceptions of a job, with what recovery did."""

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
    """What one slot of a run had counted at a moment."""

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
