"""Tables of operations and recovery plans."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class OperationKind(StrEnum):
    DEPLOY = "deploy"
    START = "start"
    SUSPEND = "suspend"
    CANCEL = "cancel"
    SAVEPOINT = "savepoint"
    CHECKPOINT = "checkpoint"
    VERIFY = "verify"
    APPLY_PLAN = "apply-plan"
    DELETE = "delete"


class OperationState(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SUPERSEDED = "SUPERSEDED"
    """A later operation replaced it."""


class Operation(Base):
    """``request`` and ``result`` follow the schema of the verb. ``steps``: the steps so far, with times, for display."""

    __tablename__ = "operations"
    __table_args__ = (
        Index("ix_operations_open", "job_id", postgresql_where=text("ended_at IS NULL")),
        Index(None, "job_id", "id"),
        Index(None, "created_at", postgresql_using="brin"),
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    kind: Mapped[OperationKind] = mapped_column(word(OperationKind, "kind"))
    state: Mapped[OperationState] = mapped_column(word(OperationState, "state"))
    request: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    result: Mapped[dict[str, Any] | None]
    problem: Mapped[str | None]
    steps: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    after_run: Mapped[int] = mapped_column(server_default=text("0"))
    """Number of the newest run that had ended when the operation was requested. Events of that run do not complete the operation.
    """
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    deadline_at: Mapped[datetime]
    """The operation succeeds or fails by this time."""
    ended_at: Mapped[datetime | None]


class PlanKind(StrEnum):
    RESTORE = "restore"
    ROLLBACK = "rollback"
    UNDO = "undo"
    UPGRADE = "upgrade"
    RESCALE = "rescale"


class PlanPhase(StrEnum):
    """Where a plan that is being applied has got to."""

    VERIFYING = "VERIFYING"
    STOPPING = "STOPPING"
    STARTING = "STARTING"
    REVERTING = "REVERTING"
    """Applying failed: the job is restored to its previous state."""


class PlanState(StrEnum):
    PROPOSED = "PROPOSED"
    APPROVED = "APPROVED"
    APPLYING = "APPLYING"
    APPLIED = "APPLIED"
    FAILED = "FAILED"
    DISCARDED = "DISCARDED"


class RecoveryPlan(Base):
    """A change to a job's state: computed, previewed, approved, then applied."""

    __tablename__ = "recovery_plans"
    __table_args__ = (
        Index(None, "job_id", "id"),
        Index(None, "operation_id"),
        Index("uq_recovery_plans_applying", "job_id", unique=True, postgresql_where=text("state = 'APPLYING'")),
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    kind: Mapped[PlanKind] = mapped_column(word(PlanKind, "kind"))
    state: Mapped[PlanState] = mapped_column(word(PlanState, "state"))
    job_version: Mapped[int]
    """The job's version when the plan was computed. The plan is refused if the version has changed."""
    request: Mapped[dict[str, Any]]
    preview: Mapped[dict[str, Any]]
    signature: Mapped[bytes] = mapped_column(LargeBinary(32))
    """HMAC-SHA-256 over all columns above. It ensures that the applied plan is the approved one."""
    phase: Mapped[PlanPhase | None] = mapped_column(word(PlanPhase, "phase"))
    target_intact: Mapped[bool | None]
    """The result of verifying the target's files. None: not known yet."""
    enqueued_at: Mapped[datetime | None]
    """When the verification was last enqueued again. Once the job is stopped: when pinning the checkpoints that an undo restores
    was enqueued."""
    undo_of: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="SET NULL"))
    safety_checkpoint: Mapped[int | None]
    """Number of the safety savepoint, which an undo restores."""
    problem: Mapped[str | None]
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id", ondelete="SET NULL"))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    approved_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    approved_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
