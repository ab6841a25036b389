"""Compute statistics of checkpoints, by subtask and as series. The functions are pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weir_backend.checkpoints.schemas import (
    AlignmentRead,
    ChainStatisticsRead,
    CheckpointPhaseSeriesRead,
    PhaseDurationsRead,
    SubtaskStatisticsRead,
    SubtaskStatsSummaryRead,
)
from weir_backend.kit.statistics import percentile, summarize
from weir_backend.runs.graph import OperatorName
from weir_backend.runs.schemas import OperatorNameRead


@dataclass(frozen=True, slots=True)
class Subtask:
    """A subtask in a checkpoint. ``after_ms`` is the time from the trigger to the acknowledgement of the subtask, or None if it has not acknowledged.
    ``measured`` contains the ``SubtaskStatistics`` of the subtask as JSON."""

    chain: int
    index: int
    after_ms: int | None
    measured: Mapping[str, Any] | None


def subtask_statistics(progress: Sequence[Any], statistics: Sequence[Any] | None) -> list[Subtask]:
    """Return the subtasks that have acknowledged or have statistics, by chain and index."""
    acknowledged = {(chain, index): after_ms for chain, index, after_ms in progress}
    measured = {(chain, index): found for chain, index, found in statistics or ()}
    return [
        Subtask(chain, index, acknowledged.get((chain, index)), measured.get((chain, index)))
        for chain, index in sorted(acknowledged.keys() | measured.keys())
    ]


def straggler_limit_ms(durations_ms: Iterable[float]) -> float | None:
    """Return the shortest duration with which a subtask counts as a straggler, or None if there are fewer than two subtasks."""
    ordered = sorted(durations_ms)
    if len(ordered) < 2:
        return None
    return max(percentile(ordered, 0.95), 1.5 * percentile(ordered, 0.5))


def chain_statistics(
    subtasks: Sequence[Subtask], names: Mapping[int, Sequence[OperatorName]], *, triggered_ms: int, is_completed: bool
) -> list[ChainStatisticsRead]:
    # An incomplete checkpoint has no stragglers, because the subtasks that delay it have not acknowledged yet.
    durations_ms = [one.after_ms for one in subtasks if one.after_ms is not None] if is_completed else []
    limit_ms = straggler_limit_ms(durations_ms)
    return [
        ChainStatisticsRead(
            chain=chain,
            operators=[OperatorNameRead.model_validate(name) for name in names.get(chain, ())],
            num_subtasks=len(own),
            summary=summary(own),
            subtasks=[_subtask(one, limit_ms, triggered_ms) for one in own],
        )
        for chain in sorted({one.chain for one in subtasks})
        for own in [[one for one in subtasks if one.chain == chain]]
    ]


def summary(subtasks: Sequence[Subtask]) -> SubtaskStatsSummaryRead:
    measured = [one.measured for one in subtasks if one.measured is not None]
    return SubtaskStatsSummaryRead(
        end_to_end_duration=summarize([one.after_ms for one in subtasks if one.after_ms is not None]),
        state_size=summarize([one["state_bytes"] for one in measured]),
        sync=summarize([one["sync_us"] / 1000 for one in measured]),
        async_=summarize([one["async_ms"] for one in measured]),
        alignment=summarize([one["alignment_ms"] for one in measured]),
        start_delay=summarize([one["start_delay_ms"] for one in measured]),
    )


def _subtask(one: Subtask, limit_ms: float | None, triggered_ms: int) -> SubtaskStatisticsRead:
    measured = one.measured
    return SubtaskStatisticsRead(
        index=one.index,
        status="COMPLETED",
        ack_timestamp=triggered_ms + one.after_ms if one.after_ms is not None else None,
        end_to_end_duration=one.after_ms,
        state_size=measured["state_bytes"] if measured else None,
        checkpoint=PhaseDurationsRead(sync=measured["sync_us"] / 1000, async_=measured["async_ms"]) if measured else None,
        alignment=AlignmentRead(duration=measured["alignment_ms"]) if measured else None,
        start_delay=measured["start_delay_ms"] if measured else None,
        straggler=limit_ms is not None and one.after_ms is not None and one.after_ms >= limit_ms,
    )


PHASES = ("start_delay_ms", "alignment_ms", "sync_ms", "async_ms")


@dataclass(frozen=True, slots=True)
class PhaseMaxima:
    """The duration of each phase of a subtask in one checkpoint, or the maximum over the subtasks of a chain. ``index`` is None for a chain."""

    checkpoint_id: int
    chain: int
    index: int | None
    start_delay_ms: float | None
    alignment_ms: float | None
    sync_ms: float | None
    async_ms: float | None


def maxima_by_checkpoint(found: Iterable[PhaseMaxima]) -> dict[int, dict[str, float | None]]:
    """Return, by checkpoint, the maximum of each phase over all chains or subtasks."""
    longest: dict[int, dict[str, float | None]] = {}
    for one in found:
        before = longest.setdefault(one.checkpoint_id, dict.fromkeys(PHASES))
        for phase in PHASES:
            values = [value for value in (before[phase], getattr(one, phase)) if value is not None]
            before[phase] = max(values, default=None)
    return longest


def series_of_parts(
    checkpoint_ids: Sequence[int], found: Iterable[PhaseMaxima], names: Mapping[int, Sequence[OperatorName]]
) -> list[CheckpointPhaseSeriesRead]:
    """Return one series per chain or subtask. The values are in the order of ``checkpoint_ids``. Checkpoints that are not in ``checkpoint_ids`` are
    ignored."""
    position_of = {checkpoint_id: position for position, checkpoint_id in enumerate(checkpoint_ids)}
    parts: dict[tuple[int, int | None], dict[str, list[float | None]]] = {}
    for one in found:
        if one.checkpoint_id not in position_of:
            continue
        series = parts.setdefault((one.chain, one.index), {phase: [None] * len(position_of) for phase in PHASES})
        for phase in PHASES:
            series[phase][position_of[one.checkpoint_id]] = getattr(one, phase)
    return [
        CheckpointPhaseSeriesRead(
            chain=chain,
            index=index,
            operators=[OperatorNameRead.model_validate(name) for name in names.get(chain, ())],
            **parts[chain, index],
        )
        for chain, index in sorted(parts, key=lambda key: (key[0], key[1] or 0))
    ]
