"""Tables of jobs, specs, artifacts and graphs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class DesiredState(StrEnum):
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    CANCELLED = "CANCELLED"


class SpecState(StrEnum):
    """The state of a version of a spec. A worker compiles the user code; only a valid version can run."""

    COMPILING = "COMPILING"
    VALID = "VALID"
    INVALID = "INVALID"


class ArtifactKind(StrEnum):
    PYTHON = "py"
    ZIP = "zip"
    WHEEL = "whl"


class Artifact(Base):
    """A file of user code, identified by its content. It is stored in the database, so that a backup of the database includes it."""

    __tablename__ = "artifacts"

    id: Mapped[Key]
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256, hexadecimal."""
    kind: Mapped[ArtifactKind] = mapped_column(word(ArtifactKind, "kind"))
    name: Mapped[str] = mapped_column(String(200))
    """File name at the first upload."""
    size: Mapped[int]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    uploaded_at: Mapped[Created]
    """The time of the last upload. Artifacts that no job uses are kept for some days after it."""
    removed_at: Mapped[datetime | None]
    """When the content was deleted. It is deleted when only deleted jobs use it. Another upload restores it."""


class ArtifactContent(Base):
    """The content of an artifact, in its own table, so that lists do not read it."""

    __tablename__ = "artifact_contents"

    artifact_id: Mapped[int] = mapped_column(ForeignKey("artifacts.id", ondelete="CASCADE"), primary_key=True)
    data: Mapped[bytes]


class Job(Base):
    """A job. ``version`` increases with every change by a user or a plan; If-Match and plans compare it.

    A transaction that changes a job, its runs or its checkpoints locks this row, so the events of a job are totally ordered.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("uq_jobs_name", "name", unique=True, postgresql_where=text("deleted_at IS NULL")),
        Index(None, "next_reconcile_at"),
        Index("ix_jobs_next_retention_at", "next_retention_at", postgresql_where=text("deleted_at IS NULL")),
    )

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(String(100))
    description: Mapped[str] = mapped_column(server_default=text("''"))
    labels: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    desired_state: Mapped[DesiredState] = mapped_column(word(DesiredState, "desired_state"))
    spec_number: Mapped[int]
    """Number of the current spec."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    run_number: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of the newest run. Older runs are fenced."""
    lineage: Mapped[int] = mapped_column(server_default=text("1"))
    """Incremented when the job starts without state, so that the job gets a new checkpoint directory."""
    next_start: Mapped[dict[str, Any] | None]
    """Where the next runs start. With ``{"checkpoint": N, "after_run": K}``, runs after number K restore checkpoint N, or start without state if N
    is 0. With a ``"path"`` instead, they restore the checkpoint at that path. The value is cleared when one of these runs is RUNNING."""
    event_number: Mapped[int] = mapped_column(server_default=text("0"))
    """Number of the newest event of the job."""
    checkpoint_reported_at: Mapped[datetime | None]
    """When a completed checkpoint was last reported, by the clock of the control plane. Drivers' clocks may be wrong."""
    restarts: Mapped[int] = mapped_column(server_default=text("0"))
    """Consecutive restarts. The count is reset when a run has been RUNNING for ``restart.reset_after_s``."""
    pruned_recoveries: Mapped[int] = mapped_column(server_default=text("0"))
    """Recoveries from failures whose rows are deleted, so that the counter of recoveries never decreases."""
    pruned_downtime_ms: Mapped[int] = mapped_column(server_default=text("0"))
    restart_at: Mapped[datetime | None]
    """When the job restarts after a failure."""
    restarts_stopped_reason: Mapped[str | None]
    """Why Weir does not restart the job. None if Weir restarts it; a start by a user resets the value to None."""
    next_reconcile_at: Mapped[datetime | None]
    """When the job is reconciled next, unless an event triggers a reconciliation earlier. None if only an event triggers it."""
    next_retention_at: Mapped[Created]
    """When a worker next garbage-collects the checkpoints of the job."""
    retention_until: Mapped[datetime | None]
    """A worker is deleting checkpoints. No run starts until this time, or until the worker has finished."""
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    updated_at: Mapped[Created]
    deleted_at: Mapped[datetime | None]


class Spec(Base):
    """A numbered version of a job's definition. The user's input never changes; compilation sets the rest once."""

    __tablename__ = "specs"
    __table_args__ = (UniqueConstraint("job_id", "number"), Index(None, "artifact_id"))

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    number: Mapped[int]
    artifact_id: Mapped[int] = mapped_column(ForeignKey("artifacts.id"))
    body: Mapped[dict[str, Any]]
    """The fields of ``jobs.spec.JobSpec``."""
    state: Mapped[SpecState] = mapped_column(word(SpecState, "state"))
    problem: Mapped[str | None]
    """Why the spec is invalid, as shown to the user."""
    graph_id: Mapped[int | None] = mapped_column(ForeignKey("graphs.id"))
    enqueued_at: Mapped[datetime | None]
    """When the compilation was last enqueued again."""
    comment: Mapped[str] = mapped_column(server_default=text("''"))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]


class Graph(Base):
    """A physical graph with its logical graph, identified by its content."""

    __tablename__ = "graphs"

    id: Mapped[Key]
    digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    body: Mapped[dict[str, Any]]
    created_at: Mapped[Created]
