"""Summary statistics. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from weir_backend.kit.schemas import ResponseModel


class StatsSummaryRead(ResponseModel):
    min: float
    max: float
    avg: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float


def summarize(values: Sequence[float]) -> StatsSummaryRead | None:
    """Return None if there are no values. Percentiles are interpolated between neighbouring values."""
    if not values:
        return None
    ordered = sorted(values)
    shares = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    percentiles = {name: percentile(ordered, share) for name, share in shares.items()}
    return StatsSummaryRead(min=ordered[0], max=ordered[-1], avg=sum(ordered) / len(ordered), **percentiles)


def percentile(ordered: Sequence[float], share: float) -> float:
    """``ordered`` contains at least one value, in ascending order."""
    rank = share * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)
