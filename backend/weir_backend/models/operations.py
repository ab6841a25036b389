"""What somebody has asked for and takes its time."""

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
    ABANDONED = "ABANDONED"
    """Something later made it pointless."""


class Operation(Base):
    """``request`` and ``result`` are as the verb's schema says; ``steps`` are what was done, with times, for people who watch."""

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
    """Number of the newest run that was over when this was asked for: what it said is no answer to this."""
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    deadline_at: Mapped[datetime]
    """By then it has succeeded or failed."""
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
    RETURNING = "RETURNING"
    """It could not be carried out: the job is brought back to where it was."""


class PlanState(StrEnum):
    PROPOSED = "PROPOSED"
    APPROVED = "APPROVED"
    APPLYING = "APPLYING"
    APPLIED = "APPLIED"
    FAILED = "FAILED"
    WITHDRAWN = "WITHDRAWN"


class RecoveryPlan(Base):
    """What is to be done to a job's state, computed, shown, approved and only then done."""

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
    """The job as the plan was computed from it: once that has moved, the plan is refused."""
    request: Mapped[dict[str, Any]]
    preview: Mapped[dict[str, Any]]
    signature: Mapped[bytes] = mapped_column(LargeBinary(32))
    """HMAC-SHA-256 over all of the above: what is applied is what was approved."""
    phase: Mapped[PlanPhase | None] = mapped_column(word(PlanPhase, "phase"))
    target_whole: Mapped[bool | None]
    """What verifying the files of the target has found. None: nothing yet."""
    asked_at: Mapped[datetime | None]
    """When a worker was last asked again to look into storage for it; once the job is stopped, when one was asked to pin what an undo would
    return to."""
    undo_of: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="SET NULL"))
    safety_checkpoint: Mapped[int | None]
    """Number of the checkpoint that the job was stopped with: what an undo goes back to."""
    problem: Mapped[str | None]
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id", ondelete="SET NULL"))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    approved_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    approved_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
