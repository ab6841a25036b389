"""What is to run."""

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
    """Of a version of a job's spec: user code is loaded and compiled by a worker before it may run."""

    COMPILING = "COMPILING"
    VALID = "VALID"
    INVALID = "INVALID"


class ArtifactKind(StrEnum):
    PYTHON = "py"
    ZIP = "zip"
    WHEEL = "whl"


class Artifact(Base):
    """A file of user code, named by its content. Kept in the database, so that a backup of that is whole."""

    __tablename__ = "artifacts"

    id: Mapped[Key]
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256, hexadecimal."""
    kind: Mapped[ArtifactKind] = mapped_column(word(ArtifactKind, "kind"))
    name: Mapped[str] = mapped_column(String(200))
    """Of the file as it was first uploaded."""
    size: Mapped[int]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    uploaded_at: Mapped[Created]
    """Last: whoever has just uploaded it again is about to use it."""
    removed_at: Mapped[datetime | None]
    """Its content is gone, as only jobs that were deleted had used it. Uploaded again it is there again."""


class ArtifactContent(Base):
    """Apart from ``Artifact``, so that no list ever reads it."""

    __tablename__ = "artifact_contents"

    artifact_id: Mapped[int] = mapped_column(ForeignKey("artifacts.id", ondelete="CASCADE"), primary_key=True)
    data: Mapped[bytes]


class Job(Base):
    """``version`` grows with every change by a person or a plan: what If-Match and plans compare.

    Whoever changes anything of a job, its runs or its checkpoints holds a lock on this row, so all that is told of one job has an order.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("uq_jobs_name", "name", unique=True, postgresql_where=text("deleted_at IS NULL")),
        Index(None, "next_look_at"),
        Index("ix_jobs_storage_look_at", "storage_look_at", postgresql_where=text("deleted_at IS NULL")),
    )

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(String(100))
    description: Mapped[str] = mapped_column(server_default=text("''"))
    labels: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    desired_state: Mapped[DesiredState] = mapped_column(word(DesiredState, "desired_state"))
    spec_number: Mapped[int]
    """The version of the spec that is to run."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    run_number: Mapped[int] = mapped_column(server_default=text("0"))
    """Of the newest run; the next one takes the next number. This is the control plane's generation: it fences runs."""
    history: Mapped[int] = mapped_column(server_default=text("1"))
    """Grows when the job is begun anew without its state: then it gets another directory of checkpoints."""
    next_start: Mapped[dict[str, Any] | None]
    """``{"checkpoint": N, "after_run": K}``: runs after number K go back to checkpoint N (0: to the beginning), or, with a ``"path"``, begin
    with the checkpoint there; until one of them has run."""
    event_number: Mapped[int] = mapped_column(server_default=text("0"))
    """Of the newest event of this job."""
    checkpoint_told_at: Mapped[datetime | None]
    """When it was last told that one of its checkpoints is completed, by our clock: those of drivers do what they like."""
    restarts: Mapped[int] = mapped_column(server_default=text("0"))
    """In a row: since a run of this job last was well for long enough."""
    recoveries_forgotten: Mapped[int] = mapped_column(server_default=text("0"))
    """Of failures that are not kept any more: what is counted of a job never goes back."""
    downtime_forgotten_ms: Mapped[int] = mapped_column(server_default=text("0"))
    not_before: Mapped[datetime | None]
    """The next restart waits until then."""
    gave_up: Mapped[str | None]
    """Why no further restart is tried until a person starts the job again."""
    next_look_at: Mapped[datetime | None]
    """When reconciling has something to do for this job at the latest. None: nothing until something happens."""
    storage_look_at: Mapped[Created]
    """When a worker looks into its checkpoint storage next."""
    tidied_until: Mapped[datetime | None]
    """A worker lets go of checkpoints: until then, or until it has said that it is done, no run is begun."""
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    updated_at: Mapped[Created]
    deleted_at: Mapped[datetime | None]


class Spec(Base):
    """A numbered version of what a job is. What the user said never changes; that it compiles is found out once."""

    __tablename__ = "specs"
    __table_args__ = (UniqueConstraint("job_id", "number"), Index(None, "artifact_id"))

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    number: Mapped[int]
    artifact_id: Mapped[int] = mapped_column(ForeignKey("artifacts.id"))
    body: Mapped[dict[str, Any]]
    """As ``jobs.schemas.SpecBody`` writes it."""
    state: Mapped[SpecState] = mapped_column(word(SpecState, "state"))
    problem: Mapped[str | None]
    """Of an invalid one: what the user is told."""
    graph_id: Mapped[int | None] = mapped_column(ForeignKey("graphs.id"))
    asked_at: Mapped[datetime | None]
    """When a worker was last asked again to compile it."""
    comment: Mapped[str] = mapped_column(server_default=text("''"))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]


class Graph(Base):
    """A physical graph, the logical one included, named by its content."""

    __tablename__ = "graphs"

    id: Mapped[Key]
    digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    body: Mapped[dict[str, Any]]
    created_at: Mapped[Created]
