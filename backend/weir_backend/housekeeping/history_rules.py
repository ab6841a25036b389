"""Decide which rows of the checkpoint history to delete. Pure.

The history consists of the completed checkpoints whose files are deleted. A level of the history divides time into steps, and keeps one
checkpoint per step. Level 0 keeps all checkpoints. When a checkpoint is old enough for the next level, the checkpoint is judged: its row is
deleted, or gets the next level. So each row is judged once per level, and the rows of all other checkpoints are never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from weir_backend.models import CheckpointState

NEWEST_KEPT = 500
"""The number of newest completed checkpoints of each job that are never deleted, so that the API returns the last 500 checkpoints of a job
without gaps, even if the job was suspended long ago."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class HistoryLevel:
    """A level keeps one checkpoint per ``step`` of the checkpoints that completed more than ``age`` ago."""

    number: int
    age: timedelta
    step: timedelta

    def begin_of_step(self, moment: datetime) -> datetime:
        return moment - (moment - _EPOCH) % self.step

    def end(self, moment: datetime) -> datetime:
        """Return the end of the last step in which all checkpoints are older than ``age`` at the time ``moment``."""
        return self.begin_of_step(moment - self.age)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A checkpoint of the history. ``level`` is the level at which the row was last judged. ``discarded`` is True if the files of the checkpoint are
    deleted. ``ends_generation`` is True if the next completed checkpoint of the job belongs to another run or generation, which may have restored
    this checkpoint."""

    id: int
    job_id: int
    number: int
    completed_at: datetime
    level: int
    state: CheckpointState = CheckpointState.COMPLETED
    is_savepoint: bool = False
    discarded: bool = True
    pinned: bool = False
    damaged: bool = False
    ends_generation: bool = False


@dataclass(frozen=True, slots=True)
class HistoryReferences:
    """The references to the checkpoints of one job: ``named`` contains the numbers of the checkpoints that a run, a plan or an operation names.
    ``newest`` is the lowest number of the ``NEWEST_KEPT`` newest completed checkpoints, or 0 if the job has fewer completed checkpoints."""

    named: frozenset[int]
    newest: int


@dataclass(frozen=True, slots=True)
class Thinning:
    """The ids of the rows to delete, and of the rows that get the level."""

    deleted: tuple[int, ...]
    kept: tuple[int, ...]


def is_protected(row: HistoryRow, references: HistoryReferences) -> bool:
    """Return whether the row must be kept, even if its step contains a newer checkpoint."""
    return (
        row.state is not CheckpointState.COMPLETED
        or not row.discarded
        or row.is_savepoint
        or row.pinned
        or row.damaged
        or row.ends_generation
        or row.number in references.named
        or row.number >= references.newest
    )


def thin(rows: Iterable[HistoryRow], references: HistoryReferences, level: HistoryLevel, moment: datetime) -> Thinning:
    """Judge rows of one job. In each step, keep the newest checkpoint and all protected checkpoints.

    ``rows`` contains rows of the previous level, and the rows of the same steps that have ``level`` already. ``rows`` need not contain all rows of a
    step: the rows that are judged later are compared with the row that was kept."""
    newest: dict[datetime, HistoryRow] = {}
    judged: list[HistoryRow] = []
    end = level.end(moment)
    for row in rows:
        if row.completed_at >= end or row.level > level.number:
            continue
        judged.append(row)
        step = level.begin_of_step(row.completed_at)
        if step not in newest or _order(newest[step]) < _order(row):
            newest[step] = row
    survivors = {row.id for row in newest.values()}
    deleted, kept = [], []
    for row in judged:
        if row.id not in survivors and not is_protected(row, references):
            deleted.append(row.id)
        elif row.level < level.number:
            kept.append(row.id)
    return Thinning(tuple(deleted), tuple(kept))


def steps_of(rows: Sequence[HistoryRow], level: HistoryLevel) -> set[tuple[int, datetime]]:
    """Return the job and the begin of each step that contains one of the rows."""
    return {(row.job_id, level.begin_of_step(row.completed_at)) for row in rows}


def _order(row: HistoryRow) -> tuple[datetime, int]:
    return row.completed_at, row.number
