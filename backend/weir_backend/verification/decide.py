"""What follows from a look at the files of a checkpoint. No clock, no database, no files: what was found in, what is to be kept out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, assert_never

from weir_backend.models import OperationState
from weir_backend.operations.lifecycle import Over

RETRY = timedelta(minutes=3)
"""Longer than a part of the work may take: until then whoever has set out is taken to be at it."""
RETRY_MAX = timedelta(hours=6)
PROBLEMS_TOLD = 3


@dataclass(frozen=True, slots=True)
class GotOn:
    """All is well so far; there is more."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Whole:
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Damaged:
    """``problems``: at least one."""

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retired:
    """It was let go of, before or meanwhile."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Storage did not answer: that says nothing about the files."""

    reason: str


Found: TypeAlias = GotOn | Whole | Damaged | Retired | Unclear


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of the checkpoint. ``event``: what its job's history says, None: nothing new. ``over``: of who has asked."""

    verified: bool
    damage: str | None
    retired: bool
    event: str | None
    over: Over


def retry_after(tries: int) -> timedelta:
    """``tries``: that came to nothing, in a row. A file so large that no try ever gets past it is not read all day long."""
    times: int = 1 << min(tries, 16)
    return min(RETRY * times, RETRY_MAX)


def settle(number: int, found: Whole | Damaged | Retired, *, damage_before: str | None) -> Settled:
    match found:
        case Whole(files, size):
            result = {"checkpoint": number, "whole": True, "damage": None, "files": files, "bytes": size}
            event = "CheckpointFoundWhole" if damage_before is not None else None
            return Settled(True, None, False, event, Over(OperationState.SUCCEEDED, result=result))
        case Damaged(problems):
            damage = told(problems)
            damaged = {"checkpoint": number, "whole": False, "damage": damage}
            event = "CheckpointDamaged" if damage != damage_before else None
            return Settled(True, damage, False, event, Over(OperationState.SUCCEEDED, result=damaged))
        case Retired():
            problem = f"checkpoint {number} was retired before all of its files were read: there is nothing left to verify"
            return Settled(False, damage_before, True, None, Over(OperationState.FAILED, problem=problem))
        case _:
            assert_never(found)


def told(problems: tuple[str, ...]) -> str:
    more = len(problems) - PROBLEMS_TOLD
    return "; ".join(problems[:PROBLEMS_TOLD]) + (f"; and {more} more" if more > 0 else "")
