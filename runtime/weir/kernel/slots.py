"""The coordinator's table of slots: who is registered, which share of the job each does, who is alive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from weir.protocol.ids import SlotIncarnation, SlotIndex
from weir.protocol.messages import Register


class SlotPhase(StrEnum):
    IDLE = "idle"
    DEPLOYING = "deploying"
    DEPLOYED = "deployed"
    RUNNING = "running"
    CANCELLING = "cancelling"


LEGAL: dict[SlotPhase, frozenset[SlotPhase]] = {
    SlotPhase.IDLE: frozenset({SlotPhase.DEPLOYING}),
    SlotPhase.DEPLOYING: frozenset({SlotPhase.DEPLOYED, SlotPhase.CANCELLING}),
    SlotPhase.DEPLOYED: frozenset({SlotPhase.RUNNING, SlotPhase.CANCELLING}),
    SlotPhase.RUNNING: frozenset({SlotPhase.CANCELLING}),
    SlotPhase.CANCELLING: frozenset({SlotPhase.IDLE}),
}


@dataclass(slots=True)
class Slot:
    registration: Register
    last_heard_ms: int
    index: SlotIndex | None = None
    """Kept over a recovery, so that a slot that lives gets its old share again."""
    phase: SlotPhase = SlotPhase.IDLE

    @property
    def incarnation(self) -> SlotIncarnation:
        return self.registration.incarnation

    def move(self, phase: SlotPhase) -> None:
        assert phase in LEGAL[self.phase], f"slot {self.incarnation}: {self.phase} -> {phase}"
        self.phase = phase


class SlotTable:
    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._slots: dict[SlotIncarnation, Slot] = {}

    def __iter__(self) -> Iterator[Slot]:
        return iter(list(self._slots.values()))

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, incarnation: SlotIncarnation) -> Slot | None:
        return self._slots.get(incarnation)

    def add(self, registration: Register, *, now_ms: int) -> None:
        self._slots[registration.incarnation] = Slot(registration, now_ms)

    def remove(self, incarnation: SlotIncarnation) -> Slot | None:
        return self._slots.pop(incarnation, None)

    def deployed(self) -> list[Slot]:
        """Slots that are part of the running deployment, by index."""
        members = [slot for slot in self._slots.values() if slot.phase is not SlotPhase.IDLE]
        return sorted(members, key=lambda slot: slot.index if slot.index is not None else -1)

    def allocate(self) -> list[Slot] | None:
        """One idle slot for each index, by index; None while there are too few.

        A slot keeps its index; a new one gets the number of its Spark task where that is free.
        """
        idle = [slot for slot in self._slots.values() if slot.phase is SlotPhase.IDLE]
        if len(idle) < self._wanted:
            return None
        chosen: dict[int, Slot] = {}
        for slot in idle:
            if slot.index is not None and slot.index < self._wanted and slot.index not in chosen:
                chosen[slot.index] = slot
        taken = {slot.incarnation for slot in chosen.values()}
        rest = sorted((slot for slot in idle if slot.incarnation not in taken), key=lambda slot: slot.registration.task)
        for slot in list(rest):
            if slot.registration.task < self._wanted and slot.registration.task not in chosen:
                chosen[slot.registration.task] = slot
                rest.remove(slot)
        for index in range(self._wanted):
            if index not in chosen:
                chosen[index] = rest.pop(0)
        for slot in self._slots.values():
            slot.index = None if slot.phase is SlotPhase.IDLE else slot.index
        for index, slot in chosen.items():
            slot.index = SlotIndex(index)
        return [chosen[index] for index in range(self._wanted)]
