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
    """A file of user code, identified by its content. The file is stored in the database, so that a backup of the database includes the file."""

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
    """The time of the last upload. An artifact that no job uses is kept for some days after its last upload."""
    removed_at: Mapped[datetime | None]
    """The time at which the content of the artifact was deleted. The content is deleted when only deleted jobs use the artifact. If a user
    uploads the same file again, the content is restored."""


class ArtifactContent(Base):
    """The content of an artifact, in its own table, so that lists do not read it."""

    __tablename__ = "artifact_contents"

    artifact_id: Mapped[int] = mapped_column(ForeignKey("artifacts.id", ondelete="CASCADE"), primary_key=True)
    data: Mapped[bytes]


class Job(Base):
    """A job. ``version`` increases with every change by a user or a plan. If-Match and plans use ``version`` to detect that the job has
    changed.

    Every transaction that changes a job, its runs or its checkpoints locks the row of the job, so that the events of the job are totally
    ordered.
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
    """The number of the current version of the spec."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    run_number: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of the newest run. Older runs are fenced."""
    lineage: Mapped[int] = mapped_column(server_default=text("1"))
    """Weir increments ``lineage`` when the job starts without state, so that the job gets a new checkpoint directory."""
    next_start: Mapped[dict[str, Any] | None]
    """The start point that a plan requested for the next runs. ``{"checkpoint": N, "after_run": K}`` means that runs after number K restore
    checkpoint N, or start without state if N is 0. If ``"path"`` is set, runs after number K restore the external checkpoint at this path.
    After a run with a number above ``after_run`` has reached RUNNING, ``next_start`` has no effect any more."""
    event_number: Mapped[int] = mapped_column(server_default=text("0"))
    """Number of the newest event of the job."""
    checkpoint_reported_at: Mapped[datetime | None]
    """When the control plane last received a report of a completed checkpoint. The time is from the clock of the control plane, because the
    clocks of drivers can be wrong."""
    restarts: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of consecutive restarts. If a run fails after it was RUNNING for at least ``restart.reset_after_s``, the count starts at
    zero again."""
    pruned_recoveries: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of recoveries from failures whose rows are deleted. The metrics include ``pruned_recoveries``, so that the counter of
    recoveries never decreases."""
    pruned_downtime_ms: Mapped[int] = mapped_column(server_default=text("0"))
    completed_checkpoints: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of checkpoints that the job has completed since it was created, including savepoints and checkpoints whose rows are deleted.
    Triggers of the table ``checkpoints`` maintain ``completed_checkpoints`` and the next two counters."""
    failed_checkpoints: Mapped[int] = mapped_column(server_default=text("0"))
    completed_savepoints: Mapped[int] = mapped_column(server_default=text("0"))
    restart_at: Mapped[datetime | None]
    """The time at which Weir restarts the job after a failure."""
    restarts_stopped_reason: Mapped[str | None]
    """The reason why Weir does not restart the job, or None if Weir may restart the job. ``restarts_stopped_reason`` becomes None
    when a user starts the job."""
    next_reconcile_at: Mapped[datetime | None]
    """The time of the next reconciliation of the job, unless an event triggers a reconciliation earlier. ``next_reconcile_at`` is None if only
    events trigger a reconciliation of the job."""
    next_retention_at: Mapped[Created]
    """The time at which a worker next garbage-collects the checkpoints of the job."""
    retention_until: Mapped[datetime | None]
    """While a worker garbage-collects checkpoints of the job, no run of the job starts before ``retention_until``. If the garbage collection
    finishes earlier, ``retention_until`` becomes None."""
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    updated_at: Mapped[Created]
    deleted_at: Mapped[datetime | None]


class Spec(Base):
    """A numbered version of a job's definition. The columns that the user sets never change. The result of the compilation sets
    ``state``, ``problem`` and ``graph_id`` once."""

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
    """When Weir last enqueued the compilation again, because the earlier task seemed lost."""
    comment: Mapped[str] = mapped_column(server_default=text("''"))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]


class SpecCheck(Base):
    """The check of a spec that is not stored as a version yet: a worker compiles the user code, and compares the graph with the newest checkpoint
    of the job. A request for the same spec uses the result of the check. Old checks are deleted."""

    __tablename__ = "spec_checks"
    __table_args__ = (Index(None, "created_at"), Index(None, "artifact_id"))

    id: Mapped[Key]
    digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    """SHA-256 of the job, its version and the spec. After a change of the job, a new check is necessary."""
    job_id: Mapped[int | None] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    """The job that will run the spec, or None if the job does not exist yet."""
    artifact_id: Mapped[int] = mapped_column(ForeignKey("artifacts.id", ondelete="CASCADE"))
    body: Mapped[dict[str, Any]]
    """The fields of ``jobs.spec.JobSpec``."""
    state: Mapped[SpecState] = mapped_column(word(SpecState, "state"))
    """The state is COMPILING until the whole check has ended."""
    problem: Mapped[str | None]
    """Why the code does not compile, as shown to the user."""
    graph_id: Mapped[int | None] = mapped_column(ForeignKey("graphs.id"))
    inspection: Mapped[dict[str, Any] | None]
    """The fields of ``recovery.schemas.PlanInspection``. The inspection is None if the job does not exist yet."""
    enqueued_at: Mapped[Created]
    """When Weir last enqueued the check. If the task of the check is lost, Weir enqueues the check again."""
    created_at: Mapped[Created]


class Graph(Base):
    """A physical graph with its logical graph, identified by its content."""

    __tablename__ = "graphs"

    id: Mapped[Key]
    digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    body: Mapped[dict[str, Any]]
    created_at: Mapped[Created]
