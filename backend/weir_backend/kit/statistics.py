"""Summary statistics. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    min: float
    max: float
    avg: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float


def summarize(values: Sequence[float]) -> Summary | None:
    """Return None for no values. Percentiles are interpolated between neighbouring values."""
    if not values:
        return None
    ordered = sorted(values)
    p50, p90, p95, p99, p999 = (percentile(ordered, share) for share in (0.5, 0.9, 0.95, 0.99, 0.999))
    return Summary(ordered[0], ordered[-1], sum(ordered) / len(ordered), p50, p90, p95, p99, p999)


def percentile(ordered: Sequence[float], share: float) -> float:
    """``ordered``: at least one value, ascending."""
    rank = share * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)
