"""When a slot whose Spark job has ended is started again. Pure: the time lived comes in as an argument."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Ending(StrEnum):
    RETURNED = "returned"
    """The slot left by itself: told to, or its lease had run out."""
    RAISED = "raised"
    """Its code raised: trying again is likely to raise again."""
    LOST = "lost"
    """Its process or its executor died."""
    SPARK_GONE = "spark gone"
    """The application itself is over: nothing can be started any more."""


@dataclass(frozen=True, slots=True)
class Again:
    delay_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    pass


Decision: TypeAlias = Again | GiveUp

LONG_LIFE_S = 10.0
"""A slot that lived so long had started well; what ended it is new."""
RAISES_MAX = 3
_DELAY_MIN_S, _DELAY_MAX_S = 0.1, 5.0


class Restarts:
    """The history of one slot. A slot that dies is started again at once, one that keeps dying ever later (at most 5 s),
    one that keeps raising right after its start (RAISES_MAX times in a row) not at all."""

    def __init__(self) -> None:
        self._short_lives = 0
        self._raises = 0

    def decide(self, ending: Ending, *, lived_s: float) -> Decision:
        if ending is Ending.SPARK_GONE:
            return GiveUp()
        if lived_s >= LONG_LIFE_S:
            self._short_lives = self._raises = 0
        self._raises = self._raises + 1 if ending is Ending.RAISED else 0
        if self._raises >= RAISES_MAX:
            return GiveUp()
        delay_s = 0.0 if self._short_lives == 0 else min(_DELAY_MAX_S, _DELAY_MIN_S * 2 ** (self._short_lives - 1))
        self._short_lives = min(self._short_lives + 1, 10)
        return Again(delay_s)
