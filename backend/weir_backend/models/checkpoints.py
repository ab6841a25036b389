"""Every checkpoint of every job, for longer than the runtime keeps it."""

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
    """``number``: its id in the job's log, never used twice in one job. That it is subsumed, discarded, verified are facts of a completed one."""

    __tablename__ = "checkpoints"
    __table_args__ = (
        UniqueConstraint("job_id", "number"),
        Index(None, "job_id", "id"),
        Index(None, "run_id", postgresql_using="brin"),  # for who forgets a run: seldom, and not worth a lookup at each insertion
        Index("ix_checkpoints_in_progress", "run_id", postgresql_where=text("state = 'IN_PROGRESS'")),
        Index("ix_checkpoints_completed", "job_id", "number", postgresql_where=text("state = 'COMPLETED'")),
        Index("ix_checkpoints_there", "job_id", "number", postgresql_where=text("state = 'COMPLETED' AND discarded_at IS NULL")),
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
    """Number of the completed checkpoint that this one goes on from: the lineage."""
    triggered_at: Mapped[datetime]
    triggered_event: Mapped[int | None]
    """Number of the run's event that told it. None: that event is missing."""
    latest_ack_at: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]
    failed_at: Mapped[datetime | None]
    failure: Mapped[str | None]
    end_to_end_ms: Mapped[int | None]
    state_bytes: Mapped[int | None]
    checkpointed_bytes: Mapped[int | None]
    """Of the files that it wrote itself. None: its driver did not say."""
    subtasks: Mapped[int]
    acknowledged: Mapped[int] = mapped_column(server_default=text("0"))
    # These two are heavy: they are loaded when somebody asks for them, and never by a list.
    progress: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"), deferred=True)
    """``[chain, index, after_ms]`` of each acknowledgement, in the order in which they came."""
    statistics: Mapped[list[Any] | None] = mapped_column(deferred=True)
    """``[chain, index, {...}]`` of each subtask, of a completed one."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    """Grows whenever somebody, a plan included, pins it or lets go of it: what If-Match compares."""
    pinned: Mapped[bool] = mapped_column(server_default=text("false"))
    pinned_reason: Mapped[str] = mapped_column(server_default=text("''"))
    pin_in_force: Mapped[bool] = mapped_column(server_default=text("false"))
    """That it is pinned is in the job's log, too: from then on nobody retires it, not even a driver that runs."""
    leaving_at: Mapped[datetime | None]
    """When it was decided that it goes: nothing may refer to it from then on. None again if nothing came of that."""
    discarded_at: Mapped[datetime | None]
    """When it was found retired in the job's log: its files are gone, or about to be."""
    verified_at: Mapped[datetime | None]
    damage: Mapped[str | None]
    """What verifying found. None: nothing, or not verified."""
    created_at: Mapped[Created]


class Verification(Base):
    """The files of a checkpoint are being read, or are to be. The row is gone once that is done.

    A part of them is read at a time. ``claim`` grows each time somebody sets out: who carries an older one out has been replaced.
    """

    __tablename__ = "verifications"

    checkpoint_id: Mapped[int] = mapped_column(ForeignKey("checkpoints.id", ondelete="CASCADE"), primary_key=True)
    claim: Mapped[int]
    wanted: Mapped[bool]
    """Somebody has asked for it, so it is done whatever was verified when."""
    files_done: Mapped[int] = mapped_column(server_default=text("0"))
    bytes_done: Mapped[int] = mapped_column(server_default=text("0"))
    tries: Mapped[int] = mapped_column(server_default=text("0"))
    """Since it last got on."""
    next_try_at: Mapped[datetime]
    """Who has set out has not got on by then: it is asked for again."""
    problem: Mapped[str | None]
    """Why the last try came to nothing."""
