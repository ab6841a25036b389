"""The lag of sources, computed from the gauges ``<uid>.lag_records`` and ``<uid>.lag_seconds`` of their slots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

LAG_RECORDS, LAG_SECONDS = ".lag_records", ".lag_seconds"


def source_lags(gauges: Iterable[Mapping[str, Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the lag in records and in seconds, by source uid. ``gauges``: of each slot.

    The lag in records is the sum over all subtasks. The lag in seconds is the maximum.
    """
    records: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for slot_gauges in gauges:
        for name, value in slot_gauges.items():
            if type(value) not in (int, float):
                continue
            uid, _, _ = name.rpartition(".")
            if name.endswith(LAG_RECORDS):
                records[uid] = records.get(uid, 0) + value
            elif name.endswith(LAG_SECONDS):
                seconds[uid] = max(seconds.get(uid, value), value)
    return records, seconds
