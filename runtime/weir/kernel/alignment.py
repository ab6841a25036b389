"""Barrier alignment of one subtask: Algorithm 1 of the ABS paper (Carbone et al., 2015), lines 8 to 15.

A channel that has delivered the barrier of the current checkpoint is blocked until all other channels have delivered it (lines
9-10). Then the subtask takes its snapshot, broadcasts the barrier (lines 12-13) and unblocks all channels (lines 14-15). This
module adds three rules to the algorithm of the paper. Checkpoint ids only grow, so a stale barrier has no effect. The first
barrier of a newer checkpoint aborts the older alignment. The end of an input counts as its barrier.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from weir.protocol.ids import ChannelId, CheckpointId


class CheckpointMode(StrEnum):
    """How a barrier affects its channel. ``BLOCKS_AT_BARRIER`` has an entry for each mode."""

    EXACTLY_ONCE = "exactly_once"


BLOCKS_AT_BARRIER = {CheckpointMode.EXACTLY_ONCE: True}


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """All inputs have delivered the barrier: take the snapshot, then broadcast the barrier."""

    checkpoint: CheckpointId
    alignment_ns: int


@dataclass(frozen=True, slots=True)
class AlignmentAborted:
    """The subtask takes no snapshot for this checkpoint. Its channels are unblocked."""

    checkpoint: CheckpointId


AlignmentEffect: TypeAlias = TakeSnapshot | AlignmentAborted


class Aligner:
    """Aligns the barriers of one subtask.

    ``inputs`` are all input channels of the subtask (at least one). ``last`` is the restored checkpoint, or 0 if no checkpoint
    was restored.
    """

    def __init__(self, inputs: Iterable[ChannelId], *, mode: CheckpointMode, last: CheckpointId) -> None:
        self._inputs = frozenset(inputs)
        self._blocks = BLOCKS_AT_BARRIER[mode]
        self._current: CheckpointId | None = None
        self._delivered: set[ChannelId] = set()
        self._ended: set[ChannelId] = set()
        self._last = last
        self._started_ns = 0

    @property
    def current(self) -> CheckpointId | None:
        return self._current

    @property
    def ended(self) -> frozenset[ChannelId]:
        return frozenset(self._ended)

    def has_ended(self, channel: ChannelId) -> bool:
        return channel in self._ended

    def is_blocked(self, channel: ChannelId) -> bool:
        return self._blocks and channel in self._delivered

    def on_barrier(self, channel: ChannelId, checkpoint: CheckpointId, *, now_ns: int) -> list[AlignmentEffect]:
        assert channel in self._inputs
        effects: list[AlignmentEffect] = []
        if checkpoint <= self._last or (self._current is not None and checkpoint < self._current):
            return effects
        if self._current is not None and checkpoint > self._current:
            effects.extend(self._abort(self._current))
        if self._current is None:
            self._current = checkpoint
            self._started_ns = now_ns
        self._delivered.add(channel)
        effects.extend(self._complete_if_aligned(now_ns))
        return effects

    def on_end(self, channel: ChannelId, *, now_ns: int) -> list[AlignmentEffect]:
        assert channel in self._inputs
        self._ended.add(channel)
        return self._complete_if_aligned(now_ns)

    def on_aborted(self, checkpoint: CheckpointId) -> list[AlignmentEffect]:
        """The coordinator has aborted ``checkpoint``. Later barriers of this checkpoint are ignored."""
        if self._current is not None and self._current <= checkpoint:
            effects = self._abort(self._current)
        else:
            effects = []
        self._last = max(self._last, checkpoint)
        return effects

    def _complete_if_aligned(self, now_ns: int) -> list[AlignmentEffect]:
        if self._current is None or len(self._delivered) + len(self._ended - self._delivered) < len(self._inputs):
            return []
        effect = TakeSnapshot(self._current, now_ns - self._started_ns)
        self._clear(self._current)
        return [effect]

    def _abort(self, checkpoint: CheckpointId) -> list[AlignmentEffect]:
        self._clear(checkpoint)
        return [AlignmentAborted(checkpoint)]

    def _clear(self, checkpoint: CheckpointId) -> None:
        self._last = max(self._last, checkpoint)
        self._current = None
        self._delivered.clear()
