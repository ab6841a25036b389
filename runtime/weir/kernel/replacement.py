"""The replacement of single slots while the other slots of the job continue.

A slot can be replaced alone if it exchanges no records with other slots. Otherwise, its replacement would have to send the same
records again in the same order, and Weir cannot do this yet.

    WAITING -> DEPLOYING -> over

A replacement waits until the failed attempt is cancelled, the log entry that is being written is confirmed, and a slot is free. If the
replacement also fails, the whole job recovers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from weir.protocol.ids import SlotIndex


class ReplacementPhase(StrEnum):
    WAITING = "waiting"
    DEPLOYING = "deploying"


@dataclass(slots=True)
class Replacement:
    """``since_ms``: the time of the failure."""

    slot: SlotIndex
    since_ms: int
    phase: ReplacementPhase = ReplacementPhase.WAITING


class Replacements:
    """The slots of the current generation that are being replaced. Falsy if there are none."""

    def __init__(self) -> None:
        self._open: dict[SlotIndex, Replacement] = {}
        self._attempts: dict[SlotIndex, int] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def __contains__(self, slot: SlotIndex) -> bool:
        return slot in self._open

    def __iter__(self) -> Iterator[Replacement]:
        return iter(list(self._open.values()))

    @property
    def waiting(self) -> list[Replacement]:
        return [one for one in self if one.phase is ReplacementPhase.WAITING]

    def attempt(self, slot: SlotIndex) -> int:
        """Return the number of the current attempt of the slot, from 0."""
        return self._attempts.get(slot, 0)

    def start(self, slot: SlotIndex, now_ms: int) -> None:
        assert slot not in self._open, f"slot {slot} is already being replaced"
        self._open[slot] = Replacement(slot, now_ms)

    def deploy(self, replacement: Replacement) -> int:
        """Return the number of the new attempt."""
        assert replacement.phase is ReplacementPhase.WAITING
        replacement.phase = ReplacementPhase.DEPLOYING
        self._attempts[replacement.slot] = self.attempt(replacement.slot) + 1
        return self._attempts[replacement.slot]

    def end(self, slot: SlotIndex) -> None:
        del self._open[slot]

    def generation_ended(self) -> None:
        """Forget all replacements, because all slots are deployed again."""
        self._open.clear()
        self._attempts.clear()
