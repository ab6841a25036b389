"""Barrier alignment of one subtask: Algorithm 1 of the ABS paper (Carbone et al., 2015), lines 8 to 15.

A channel that has delivered the barrier of the current checkpoint is blocked until all others have
(lines 9-10); then the subtask takes its snapshot and broadcasts the barrier (lines 12-13) and unblocks
all (lines 14-15). Beyond the paper: ids only grow, so an obsolete barrier neither blocks nor snapshots;
the first barrier of a newer checkpoint gives up the older one; end of input counts as a barrier.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from weir.protocol.ids import ChannelId, CheckpointId


class CheckpointMode(StrEnum):
    """What a barrier does to its channel. Further modes have their place in the aligner's one table."""

    EXACTLY_ONCE = "exactly_once"


BLOCKS_AT_BARRIER = {CheckpointMode.EXACTLY_ONCE: True}


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """All inputs have delivered it: snapshot now, then broadcast the barrier."""

    checkpoint: CheckpointId
    alignment_ns: int


@dataclass(frozen=True, slots=True)
class AlignmentGivenUp:
    """The checkpoint will not be taken here; its channels are unblocked."""

    checkpoint: CheckpointId


AlignmentEffect: TypeAlias = TakeSnapshot | AlignmentGivenUp


class Aligner:
    """``inputs``: all input channels of the subtask (at least one). ``last``: checkpoint it was restored from, or 0."""

    def __init__(self, inputs: Iterable[ChannelId], *, mode: CheckpointMode, last: CheckpointId) -> None:
        self._inputs = frozenset(inputs)
        self._blocks = BLOCKS_AT_BARRIER[mode]
        self._current: CheckpointId | None = None
        self._delivered: set[ChannelId] = set()
        self._ended: set[ChannelId] = set()
        self._last = last
        self._began_ns = 0

    @property
    def current(self) -> CheckpointId | None:
        return self._current

    @property
    def ended(self) -> frozenset[ChannelId]:
        return frozenset(self._ended)

    def is_blocked(self, channel: ChannelId) -> bool:
        return self._blocks and channel in self._delivered

    def missing(self) -> frozenset[ChannelId]:
        """Channels whose barrier the current alignment waits for."""
        return self._inputs - self._ended - self._delivered if self._current is not None else frozenset()

    def on_barrier(self, channel: ChannelId, checkpoint: CheckpointId, *, now_ns: int) -> list[AlignmentEffect]:
        assert channel in self._inputs
        effects: list[AlignmentEffect] = []
        if checkpoint <= self._last or (self._current is not None and checkpoint < self._current):
            return effects
        if self._current is not None and checkpoint > self._current:
            effects.extend(self._give_up(self._current))
        if self._current is None:
            self._current = checkpoint
            self._began_ns = now_ns
        self._delivered.add(channel)
        effects.extend(self._complete_if_aligned(now_ns))
        return effects

    def on_end(self, channel: ChannelId, *, now_ns: int) -> list[AlignmentEffect]:
        assert channel in self._inputs
        self._ended.add(channel)
        return self._complete_if_aligned(now_ns)

    def on_aborted(self, checkpoint: CheckpointId) -> list[AlignmentEffect]:
        """The coordinator has aborted it. Its barriers still on their way will be ignored."""
        if self._current is not None and self._current <= checkpoint:
            effects = self._give_up(self._current)
        else:
            effects = []
        self._last = max(self._last, checkpoint)
        return effects

    def _complete_if_aligned(self, now_ns: int) -> list[AlignmentEffect]:
        if self._current is None or self.missing():
            return []
        done = TakeSnapshot(self._current, now_ns - self._began_ns)
        self._clear(self._current)
        return [done]

    def _give_up(self, checkpoint: CheckpointId) -> list[AlignmentEffect]:
        self._clear(checkpoint)
        return [AlignmentGivenUp(checkpoint)]

    def _clear(self, checkpoint: CheckpointId) -> None:
        self._last = max(self._last, checkpoint)
        self._current = None
        self._delivered.clear()
