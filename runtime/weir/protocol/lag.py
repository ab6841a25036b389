"""How far sources are behind, as they tell it themselves: by the gauges ``<uid>.lag_records`` and ``<uid>.lag_seconds`` of their slots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

LAG_RECORDS, LAG_SECONDS = ".lag_records", ".lag_seconds"


def source_lags(gauges: Iterable[Mapping[str, Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """Records and seconds, by uid of the source. ``gauges``: of each slot. A source is behind by what all its subtasks have yet to read,
    and as long as the one that is furthest behind."""
    records: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for of_slot in gauges:
        for name, value in of_slot.items():
            if type(value) not in (int, float):
                continue
            uid, _, _ = name.rpartition(".")
            if name.endswith(LAG_RECORDS):
                records[uid] = records.get(uid, 0) + value
            elif name.endswith(LAG_SECONDS):
                seconds[uid] = max(seconds.get(uid, value), value)
    return records, seconds
