"""Compute the current rates of a job. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from weir.protocol.lag import LAG_RECORDS, LAG_SECONDS
from weir_backend.metrics.series import BackpressureLevel, Series, SlotSeries

_ORDER = list(BackpressureLevel)


@dataclass(frozen=True, slots=True)
class JobRates:
    at: datetime
    records_per_s: float | None
    lag_records: float | None
    lag_seconds: float | None
    backpressure: BackpressureLevel | None


def rates_of(series: Series, edges: Any) -> JobRates | None:
    """Return the current rates, or None if no slot has reported metrics. ``edges`` are the edges of the physical graph. If the edges are
    unknown, only chain 0 counts as a source, because chain 0 is always a source."""
    moments = [slot.at[-1] for slot in series.slots if slot.at]
    if not moments:
        return None
    fed = {edge.get("target") for edge in edges if isinstance(edge, dict)} if isinstance(edges, list) else None
    newest = [one for one in series.subtasks if one.at]
    read = [one.per_s["records_in"][-1] for one in newest if (one.chain == 0 if fed is None else one.chain not in fed)]
    records = list(_gauges(series.slots, LAG_RECORDS))
    seconds = list(_gauges(series.slots, LAG_SECONDS))
    return JobRates(
        at=max(moments),
        records_per_s=sum(read) if read else None,
        lag_records=sum(records) if records else None,
        lag_seconds=max(seconds) if seconds else None,
        backpressure=max((one.backpressure[-1] for one in newest), key=_ORDER.index, default=None),
    )


def _gauges(slots: Iterable[SlotSeries], ending: str) -> Iterable[float]:
    for slot in slots:
        for name, values in slot.gauges.items():
            if name.endswith(ending) and values and values[-1] is not None:
                yield values[-1]
