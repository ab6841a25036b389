"""Tables of checkpoints and their verification."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, SmallInteger, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class CheckpointState(StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class Checkpoint(Base):
    """A checkpoint. ``number`` is the id of the checkpoint in the job log, and is unique within the job. The row is kept when the files of the
    checkpoint are deleted. Later, ``housekeeping.history`` thins the rows.

    Triggers of the table update the counters of the job when a row is inserted or its state changes. So the counters are also correct while
    an older version of Weir, which does not know the counters, writes rows."""

    __tablename__ = "checkpoints"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index(None, "job_id", "id"),
        # Use a BRIN index, because a B-tree index would slow down each insertion. Postgres uses the index only when runs are
        # deleted, which is rare.
        Index(None, "run_id", postgresql_using="brin"),
        Index("ix_checkpoints_in_progress", "run_id", postgresql_where=text("state = 'IN_PROGRESS'")),
        Index("ix_checkpoints_completed", "job_id", "number", postgresql_where=text("state = 'COMPLETED'")),
        Index(
            "ix_checkpoints_not_discarded",
            "job_id",
            "number",
            postgresql_where=text("state = 'COMPLETED' AND discarded_at IS NULL"),
        ),
        Index("ix_checkpoints_pins", "id", postgresql_where=text("pinned <> pin_in_force AND discarded_at IS NULL")),
        Index("ix_checkpoints_discarded", "discarded_at", postgresql_where=text("discarded_at IS NOT NULL")),
        # The newest failed checkpoint and the newest savepoint can be much older than thousands of other checkpoints.
        Index("ix_checkpoints_notable", "job_id", "number", postgresql_where=text("state = 'FAILED' OR is_savepoint")),
        Index(
            "ix_checkpoints_history",
            "history_level",
            "job_id",
            "completed_at",
            postgresql_where=text("state = 'COMPLETED' AND discarded_at IS NOT NULL AND NOT is_savepoint"),
        ),
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    number: Mapped[int]
    generation: Mapped[int]
    state: Mapped[CheckpointState] = mapped_column(word(CheckpointState, "state"))
    trigger: Mapped[str] = mapped_column(String(20))
    is_savepoint: Mapped[bool]
    parent: Mapped[int | None]
    """The number of the previous completed checkpoint on the same branch."""
    triggered_at: Mapped[datetime]
    triggered_event: Mapped[int | None]
    """The number of the event ``CheckpointTriggered`` of the checkpoint, counted within the run. ``triggered_event`` is None if the
    control plane has not received ``CheckpointTriggered``."""
    latest_ack_at: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]
    failed_at: Mapped[datetime | None]
    failure: Mapped[str | None]
    end_to_end_ms: Mapped[int | None]
    state_bytes: Mapped[int | None]
    checkpointed_bytes: Mapped[int | None]
    """The size of the files that the checkpoint wrote, or None if the driver did not report the size."""
    subtasks: Mapped[int]
    acknowledged: Mapped[int] = mapped_column(server_default=text("0"))
    # SQLAlchemy loads the large columns ``progress`` and ``statistics`` only on access, and lists never access these columns.
    progress: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"), deferred=True)
    """``[chain, index, after_ms]`` of each acknowledgement, in order of arrival."""
    statistics: Mapped[list[Any] | None] = mapped_column(deferred=True)
    """``[chain, index, {...}]`` of each subtask of a completed checkpoint."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    """Weir increments ``version`` when a user or a plan pins or unpins the checkpoint. The header If-Match of a request must contain the
    ``version`` of the checkpoint."""
    pinned: Mapped[bool] = mapped_column(server_default=text("false"))
    pinned_reason: Mapped[str] = mapped_column(server_default=text("''"))
    pin_in_force: Mapped[bool] = mapped_column(server_default=text("false"))
    """Whether the job log contains the pin. If the job log contains the pin, no driver retires the checkpoint."""
    deleting_since: Mapped[datetime | None]
    """The time at which a user or a worker decided to delete the checkpoint. After ``deleting_since``, no new reference to the checkpoint may be
    created. If the deletion is cancelled, ``deleting_since`` becomes None again."""
    discarded_at: Mapped[datetime | None]
    """The time at which a worker found in the job log that the checkpoint is retired. The files of a retired checkpoint are deleted, or will be
    deleted soon."""
    history_level: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    """The level at which ``housekeeping.history_rules`` has last decided to keep the row. 0 means that the row was not judged yet."""
    verified_at: Mapped[datetime | None]
    damage: Mapped[str | None]
    """The damage that the last verification found, or None if the files are intact or were never verified."""
    created_at: Mapped[Created]


class PinHolder(StrEnum):
    """The kind of holder of a pin."""

    USER = "user"
    PLAN = "plan"
    """A plan that is being applied, and that restores the checkpoint."""
    UNDO = "undo"
    """An applied plan, whose undo restores the checkpoint."""


class CheckpointPin(Base):
    """A pin of a checkpoint. A checkpoint is pinned while at least one row exists. ``Checkpoint.pinned`` and ``Checkpoint.pinned_reason`` summarize
    the rows. An older version of Weir reads and writes only the summary, so the summary takes precedence if it contradicts the rows."""

    __tablename__ = "checkpoint_pins"
    __table_args__ = (Index(None, "checkpoint_id"), Index(None, "user_id"), Index(None, "plan_id"))

    id: Mapped[Key]
    checkpoint_id: Mapped[int] = mapped_column(ForeignKey("checkpoints.id", ondelete="CASCADE"))
    holder: Mapped[PinHolder] = mapped_column(word(PinHolder, "holder"))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    """The user who holds the pin. None if the user was deleted, or if an older version of Weir, which did not store the user, has set the pin."""
    plan_id: Mapped[int | None] = mapped_column(ForeignKey("recovery_plans.id", ondelete="CASCADE"))
    user_name: Mapped[str] = mapped_column(server_default=text("''"))
    """The name of the user when the user set the pin."""
    reason: Mapped[str] = mapped_column(server_default=text("''"))
    created_at: Mapped[Created]


class Verification(Base):
    """A pending or running verification of a checkpoint. The row of a verification is deleted when the verification ends.

    Each Celery task verifies some of the files of the checkpoint. ``claim`` increases when a worker starts the verification, so that
    reports with an older claim are ignored.
    """

    __tablename__ = "verifications"

    checkpoint_id: Mapped[int] = mapped_column(ForeignKey("checkpoints.id", ondelete="CASCADE"), primary_key=True)
    claim: Mapped[int]
    requested: Mapped[bool]
    """Whether a user or a plan requested the verification. A requested verification runs even if the checkpoint was verified before."""
    files_done: Mapped[int] = mapped_column(server_default=text("0"))
    bytes_done: Mapped[int] = mapped_column(server_default=text("0"))
    tries: Mapped[int] = mapped_column(server_default=text("0"))
    """The number of attempts to verify the checkpoint since the verification last made progress."""
    next_try_at: Mapped[datetime]
    """If the worker has made no progress by ``next_try_at``, the verification is enqueued again."""
    problem: Mapped[str | None]
    """Why the last attempt to verify the checkpoint failed."""
