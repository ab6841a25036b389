"""Ids.

Each kind of id has a distinct type, so that the type checker rejects a mix-up. An id is parsed where it enters the process.
"""

from __future__ import annotations

from typing import NamedTuple, NewType

CheckpointId = NewType("CheckpointId", int)
"""Number of a checkpoint in its job. Each trigger uses the next number. No number is reused on any branch."""

Generation = NewType("Generation", int)
"""The fencing number of one deployment. Starts at 1."""


class Attempt(NamedTuple):
    """Attempt ``number`` of a slot in a generation. The first attempt is 0. If a slot is replaced while the other slots continue, its
    next attempt has the next number. Attempts are ordered, and a newer attempt replaces all older attempts of the slot.
    """

    generation: Generation
    number: int = 0

    def __str__(self) -> str:
        return f"{self.generation}.{self.number}" if self.number else str(self.generation)


OperatorUid = NewType("OperatorUid", str)
"""The stable identity of an operator. State belongs to a uid."""

SlotIndex = NewType("SlotIndex", int)
"""Index of a deployed slot, 0 to slots - 1. Slot i runs subtask i of every chain."""

SlotIncarnation = NewType("SlotIncarnation", str)
"""One process of a slot. If the slot is relaunched, its new process is another incarnation."""

KeyGroup = NewType("KeyGroup", int)
"""The unit in which keyed state moves when the parallelism changes."""

EventNumber = NewType("EventNumber", int)
"""Number of an event in its run, from 1 without gaps."""

CommandId = NewType("CommandId", int)
"""Number of a command to a run. The control plane assigns these numbers in ascending order."""


class SubtaskId(NamedTuple):
    """Subtask ``index`` of chain ``chain`` of the physical graph."""

    chain: int
    index: int  # type: ignore[assignment]  # shadows tuple.index, which is never needed on an id

    def __str__(self) -> str:
        return f"{self.chain}/{self.index}"


class ChannelId(NamedTuple):
    """The channel of edge ``edge`` from subtask index ``source`` to subtask index ``target``."""

    edge: int
    source: int
    target: int

    def __str__(self) -> str:
        return f"e{self.edge}:{self.source}>{self.target}"
