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
    PROFILE = "profile"


class OperationState(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SUPERSEDED = "SUPERSEDED"
    """A later operation replaced it."""


class Operation(Base):
    """An operation. The fields in ``request`` and ``result`` depend on the kind of the operation. ``steps`` contains the steps that the operation
    has begun so far, with their times, for display."""

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
    profile: Mapped[dict[str, Any] | None] = mapped_column(deferred=True)
    """The profile of a slot. A query does not load this column unless it names it, because a profile can have hundreds of kilobytes."""
    problem: Mapped[str | None]
    steps: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    after_run: Mapped[int] = mapped_column(server_default=text("0"))
    """Only runs whose number is larger than ``after_run`` can complete the operation. A run that is live when the operation begins can usually
    complete it, so ``after_run`` is then the number of the previous run."""
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    deadline_at: Mapped[datetime]
    """The operation fails if it has not ended by ``deadline_at``."""
    ended_at: Mapped[datetime | None]


class PlanKind(StrEnum):
    RESTORE = "restore"
    ROLLBACK = "rollback"
    UNDO = "undo"
    UPGRADE = "upgrade"
    RESCALE = "rescale"


class PlanPhase(StrEnum):
    """The phase of a plan that is being applied."""

    VERIFYING = "VERIFYING"
    STOPPING = "STOPPING"
    STARTING = "STARTING"
    REVERTING = "REVERTING"
    """The job did not start as planned. Weir restores the desired state and the version of the spec that the job had before the plan."""


class PlanState(StrEnum):
    PROPOSED = "PROPOSED"
    APPROVED = "APPROVED"
    APPLYING = "APPLYING"
    APPLIED = "APPLIED"
    FAILED = "FAILED"
    DISCARDED = "DISCARDED"


class RecoveryPlan(Base):
    """A plan: a previewed and signed change to a job. Weir applies the plan after a user has approved it."""

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
    """The version of the job when the plan was proposed. If the version of the job has changed since the proposal, Weir refuses to apply the
    plan."""
    request: Mapped[dict[str, Any]]
    preview: Mapped[dict[str, Any]]
    signature: Mapped[bytes] = mapped_column(LargeBinary(32))
    """HMAC-SHA-256 over the content of the plan. Weir does not apply a plan whose content does not match its signature."""
    phase: Mapped[PlanPhase | None] = mapped_column(word(PlanPhase, "phase"))
    target_intact: Mapped[bool | None]
    """Whether the plan can restore its checkpoint: the files are intact, and the graph is compatible with the state. ``target_intact`` is None until
    a worker has inspected the checkpoint."""
    enqueued_at: Mapped[datetime | None]
    """Until a worker has inspected the checkpoint, ``enqueued_at`` is the time at which the inspection was last enqueued again. From phase
    STARTING on, ``enqueued_at`` is the time at which the pin of the safety savepoint was requested."""
    undo_of: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="SET NULL"))
    safety_checkpoint: Mapped[int | None]
    """The number of the safety savepoint. An undo of the plan restores this savepoint."""
    problem: Mapped[str | None]
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id", ondelete="SET NULL"))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    approved_by: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    created_at: Mapped[Created]
    approved_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
