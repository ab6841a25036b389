"""Identities. Each is a type of its own, parsed at the edge and never mixed up with its neighbours."""

from __future__ import annotations

from typing import NamedTuple, NewType

CheckpointId = NewType("CheckpointId", int)
"""Numbers checkpoints of a job. Grows by one a trigger and is never used again, on no branch."""

Generation = NewType("Generation", int)
"""The fencing number of one deployment attempt. Starts at 1."""

OperatorUid = NewType("OperatorUid", str)
"""What state hangs on: same uid, same state."""

SlotIndex = NewType("SlotIndex", int)
"""Which share of the job a slot does, 0 to slots - 1. Subtask i of every chain lives in slot i."""

SlotIncarnation = NewType("SlotIncarnation", str)
"""One process that is or was a slot. A replacement has another incarnation."""

KeyGroup = NewType("KeyGroup", int)
"""The unit by which keyed state moves."""


EventNumber = NewType("EventNumber", int)
"""Numbers the events of one run, from 1 on and without holes."""

CommandId = NewType("CommandId", int)
"""Numbers the commands to one run, ascending; given by the control plane."""


class SubtaskId(NamedTuple):
    """Subtask ``index`` of chain ``chain`` of the physical graph."""

    chain: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody calls on an identity

    def __str__(self) -> str:
        return f"{self.chain}/{self.index}"


class ChannelId(NamedTuple):
    """The ordered channel of edge ``edge`` from subtask ``source`` to subtask ``target`` (indices)."""

    edge: int
    source: int
    target: int

    def __str__(self) -> str:
        return f"e{self.edge}:{self.source}>{self.target}"
