"""Tables of checkpoints and their verification. Rows outlive the files."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from weir_backend.models.base import Base, Created, Key, word


class CheckpointState(StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


class Checkpoint(Base):
    """``number``: the id in the job log, unique within the job. A completed checkpoint may also be subsumed, discarded or
    verified."""

    __tablename__ = "checkpoints"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index(None, "job_id", "id"),
        Index(
            None, "run_id", postgresql_using="brin"
        ),  # for deleting a run, which is rare and not worth a lookup at each insertion
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
    """Number of the completed checkpoint that this one descends from (the lineage)."""
    triggered_at: Mapped[datetime]
    triggered_event: Mapped[int | None]
    """Number of the run's event that reported the trigger. None: that event is missing."""
    latest_ack_at: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]
    failed_at: Mapped[datetime | None]
    failure: Mapped[str | None]
    end_to_end_ms: Mapped[int | None]
    state_bytes: Mapped[int | None]
    checkpointed_bytes: Mapped[int | None]
    """Size of the files that this checkpoint wrote. None: the driver did not report it."""
    subtasks: Mapped[int]
    acknowledged: Mapped[int] = mapped_column(server_default=text("0"))
    # The next two columns are large. They are loaded only on access, and never by a list.
    progress: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"), deferred=True)
    """``[chain, index, after_ms]`` of each acknowledgement, in order of arrival."""
    statistics: Mapped[list[Any] | None] = mapped_column(deferred=True)
    """``[chain, index, {...}]`` of each subtask of a completed checkpoint."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    """Incremented when a user or a plan pins or unpins the checkpoint. If-Match compares it."""
    pinned: Mapped[bool] = mapped_column(server_default=text("false"))
    pinned_reason: Mapped[str] = mapped_column(server_default=text("''"))
    pin_in_force: Mapped[bool] = mapped_column(server_default=text("false"))
    """The job log contains the pin, so no driver retires the checkpoint."""
    deleting_since: Mapped[datetime | None]
    """When its expiry was decided: no new reference to it may be created after that. None again if the expiry was cancelled."""
    discarded_at: Mapped[datetime | None]
    """When it was found retired in the job log: its files are deleted, or about to be."""
    verified_at: Mapped[datetime | None]
    damage: Mapped[str | None]
    """The damage that verification found. None: none, or not verified."""
    created_at: Mapped[Created]


class Verification(Base):
    """A pending or running verification of a checkpoint's files. The row is deleted at the end.

    Each Celery task reads a part of the files. ``claim`` is incremented when a worker starts, so a worker with an older claim
    knows that it was replaced.
    """

    __tablename__ = "verifications"

    checkpoint_id: Mapped[int] = mapped_column(ForeignKey("checkpoints.id", ondelete="CASCADE"), primary_key=True)
    claim: Mapped[int]
    requested: Mapped[bool]
    """A user requested the verification, so it runs even if the checkpoint was verified before."""
    files_done: Mapped[int] = mapped_column(server_default=text("0"))
    bytes_done: Mapped[int] = mapped_column(server_default=text("0"))
    tries: Mapped[int] = mapped_column(server_default=text("0"))
    """Tries since the last progress."""
    next_try_at: Mapped[datetime]
    """If the worker makes no progress until this time, the verification is enqueued again."""
    problem: Mapped[str | None]
    """Why the last try failed."""
