"""What a job's log says of a checkpoint that the database calls completed. Pure."""

from __future__ import annotations

from enum import Enum, auto

from weir.protocol.ids import CheckpointId
from weir.protocol.logview import LogView


class Presence(Enum):
    KEPT = auto()
    RETIRED = auto()
    """Whoever ran the job has let go of it: that its files are missing is as it should be."""
    UNKNOWN = auto()
    """The log has never heard of it: it is not the log that it was, or it is not there."""


def presence(view: LogView, number: int, generation: int) -> Presence:
    """``generation``: the runtime's that has completed it."""
    if view.find(CheckpointId(number)) is not None:
        return Presence.KEPT
    reaches = number <= view.highest_checkpoint and generation <= view.generation
    return Presence.RETIRED if reaches else Presence.UNKNOWN
