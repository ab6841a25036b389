"""Decide what to record after a worker has read files of a checkpoint. The functions are pure: they use no clock, no database and
no files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, assert_never

from weir_backend.models import OperationState
from weir_backend.operations.lifecycle import OperationOutcome

RETRY = timedelta(minutes=3)
"""How long a worker holds its claim on one part of a checkpoint's files. Reading one part takes less time than ``RETRY``."""
RETRY_MAX = timedelta(hours=6)
PROBLEMS_MAX = 3


@dataclass(frozen=True, slots=True)
class VerificationProgress:
    """The files that were read so far are intact, and more files remain."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Intact:
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Damaged:
    """``problems`` contains at least one problem."""

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retired:
    """The checkpoint was retired, before or during the verification."""


@dataclass(frozen=True, slots=True)
class StorageUnavailable:
    """Storage did not answer, so it is unknown whether the files are intact."""

    reason: str


Outcome: TypeAlias = VerificationProgress | Intact | Damaged | Retired | StorageUnavailable


@dataclass(frozen=True, slots=True)
class VerificationOutcome:
    """The changes to record after a verification. ``event`` is the event to record, or None if the result is the same as before.
    ``over`` is the outcome of the open operations that verify the checkpoint."""

    verified: bool
    damage: str | None
    retired: bool
    event: str | None
    over: OperationOutcome


def retry_after(tries: int) -> timedelta:
    """Return the delay before the next attempt, after ``tries`` consecutive failures. The delay grows, so that an unreadable file does not keep
    workers busy."""
    times: int = 1 << min(tries, 16)
    return min(RETRY * times, RETRY_MAX)


def settle(number: int, found: Intact | Damaged | Retired, *, damage_before: str | None) -> VerificationOutcome:
    match found:
        case Intact(files, size):
            result = {"checkpoint": number, "intact": True, "damage": None, "files": files, "bytes": size}
            event = "CheckpointIntact" if damage_before is not None else None
            return VerificationOutcome(True, None, False, event, OperationOutcome(OperationState.SUCCEEDED, result=result))
        case Damaged(problems):
            damage = summarize(problems)
            damaged = {"checkpoint": number, "intact": False, "damage": damage}
            event = "CheckpointDamaged" if damage != damage_before else None
            return VerificationOutcome(True, damage, False, event, OperationOutcome(OperationState.SUCCEEDED, result=damaged))
        case Retired():
            problem = f"Checkpoint {number} was retired before all its files were read."
            return VerificationOutcome(False, damage_before, True, None, OperationOutcome(OperationState.FAILED, problem=problem))
        case _:
            assert_never(found)


def summarize(problems: tuple[str, ...]) -> str:
    more = len(problems) - PROBLEMS_MAX
    return "; ".join(problems[:PROBLEMS_MAX]) + (f"; and {more} more" if more > 0 else "")
