"""What subtasks measured of a checkpoint, put in order for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weir_backend.checkpoints.schemas import (
    AlignmentBody,
    ChainStatisticsBody,
    MeasuredBody,
    OperatorNameBody,
    PhasesBody,
    SubtaskBody,
    SummaryBody,
)
from weir_backend.graphs.names import OperatorName
from weir_backend.kit.summaries import percentile, summary_of


@dataclass(frozen=True, slots=True)
class Subtask:
    """``after_ms`` None: it has not acknowledged. ``measured``: as ``SubtaskStatistics`` is written."""

    chain: int
    index: int
    after_ms: int | None
    measured: Mapping[str, Any] | None


def subtasks_of(progress: Sequence[Any], statistics: Sequence[Any] | None) -> list[Subtask]:
    """By chain and index: those that have acknowledged or of which there are statistics."""
    acknowledged = {(chain, index): after_ms for chain, index, after_ms in progress}
    measured = {(chain, index): found for chain, index, found in statistics or ()}
    return [
        Subtask(chain, index, acknowledged.get((chain, index)), measured.get((chain, index)))
        for chain, index in sorted(acknowledged.keys() | measured.keys())
    ]


def straggler_limit_ms(durations_ms: Iterable[float]) -> float | None:
    """From this on it is one. None: there is nobody to compare with."""
    ordered = sorted(durations_ms)
    if len(ordered) < 2:
        return None
    return max(percentile(ordered, 0.95), 1.5 * percentile(ordered, 0.5))


def chains_of(
    subtasks: Sequence[Subtask], names: Mapping[int, Sequence[OperatorName]], *, triggered_ms: int, is_completed: bool
) -> list[ChainStatisticsBody]:
    # Of any other checkpoint those are missing that hold it up: the slowest of the rest is not to blame.
    durations_ms = [one.after_ms for one in subtasks if one.after_ms is not None] if is_completed else []
    limit_ms = straggler_limit_ms(durations_ms)
    return [
        ChainStatisticsBody(
            chain=chain,
            operators=[OperatorNameBody.model_validate(name) for name in names.get(chain, ())],
            num_subtasks=len(own),
            summary=summary(own),
            subtasks=[_subtask(one, limit_ms, triggered_ms) for one in own],
        )
        for chain in sorted({one.chain for one in subtasks})
        for own in [[one for one in subtasks if one.chain == chain]]
    ]


def summary(subtasks: Sequence[Subtask]) -> MeasuredBody:
    measured = [one.measured for one in subtasks if one.measured is not None]
    return MeasuredBody(
        end_to_end_duration=_summary([one.after_ms for one in subtasks if one.after_ms is not None]),
        state_size=_summary([one["state_bytes"] for one in measured]),
        sync=_summary([one["sync_us"] / 1000 for one in measured]),
        async_=_summary([one["async_ms"] for one in measured]),
        alignment=_summary([one["alignment_ms"] for one in measured]),
        start_delay=_summary([one["start_delay_ms"] for one in measured]),
    )


def _summary(values: Sequence[float]) -> SummaryBody | None:
    found = summary_of(values)
    return SummaryBody.model_validate(found) if found is not None else None


def _subtask(one: Subtask, limit_ms: float | None, triggered_ms: int) -> SubtaskBody:
    measured = one.measured
    return SubtaskBody(
        index=one.index,
        status="COMPLETED",
        ack_timestamp=triggered_ms + one.after_ms if one.after_ms is not None else None,
        end_to_end_duration=one.after_ms,
        state_size=measured["state_bytes"] if measured else None,
        checkpoint=PhasesBody(sync=measured["sync_us"] / 1000, async_=measured["async_ms"]) if measured else None,
        alignment=AlignmentBody(duration=measured["alignment_ms"]) if measured else None,
        start_delay=measured["start_delay_ms"] if measured else None,
        straggler=limit_ms is not None and one.after_ms is not None and one.after_ms >= limit_ms,
    )
