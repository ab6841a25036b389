"""Rates from what slots had counted at moments. Pure.

Counters begin at zero with each deployment (generation) of a run, so only samples of one deployment are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

COUNTED = ("records_in", "records_out", "bytes_in", "bytes_out")
TIMES = ("busy", "idle", "backpressured", "queued")
LOW_ABOVE, HIGH_ABOVE = 0.10, 0.5


class BackpressureLevel(StrEnum):
    OK = "ok"
    LOW = "low"
    HIGH = "high"


def level_of(ratio: float) -> BackpressureLevel:
    """By the share of time that a subtask is back-pressured."""
    if ratio <= LOW_ABOVE:
        return BackpressureLevel.OK
    return BackpressureLevel.LOW if ratio <= HIGH_ABOVE else BackpressureLevel.HIGH


@dataclass(frozen=True, slots=True)
class Sample:
    """``metrics``: as ``SlotMetrics`` is written."""

    run_id: int
    slot: int
    at: datetime
    metrics: Mapping[str, Any]


@dataclass(slots=True)
class SubtaskSeries:
    """Point by point. ``per_s``: counted a second, by name. ``ms_per_s``: of a second, by kind of time; they add up to 1000."""

    chain: int
    index: int
    at: list[datetime] = field(default_factory=list)
    per_s: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in COUNTED})
    ms_per_s: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TIMES})
    backpressure: list[BackpressureLevel] = field(default_factory=list)


@dataclass(slots=True)
class SlotSeries:
    """``utilisation``: share of time in which the loop had something to do; None for the first point of a deployment."""

    slot: int
    at: list[datetime] = field(default_factory=list)
    rss_bytes: list[int] = field(default_factory=list)
    utilisation: list[float | None] = field(default_factory=list)
    gauges: dict[str, list[float | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Series:
    subtasks: list[SubtaskSeries]
    slots: list[SlotSeries]


def series_of(samples: Iterable[Sample], *, since: datetime) -> Series:
    """``samples``: ascending in time; those before ``since`` are only there to compare with."""
    subtasks: dict[tuple[int, int], SubtaskSeries] = {}
    slots: dict[int, SlotSeries] = {}
    last: dict[tuple[int, int], Sample] = {}
    for sample in samples:
        before = last.get((sample.run_id, sample.slot))
        last[sample.run_id, sample.slot] = sample
        if before is not None and not _follows(before, sample):
            before = None
        if sample.at < since:
            continue
        _add_slot(slots.setdefault(sample.slot, SlotSeries(sample.slot)), before, sample)
        if before is None:
            continue
        earlier = {(one["chain"], one["index"]): one for one in before.metrics["subtasks"]}
        for one in sample.metrics["subtasks"]:
            key = (one["chain"], one["index"])
            if key in earlier:
                _add_subtask(subtasks.setdefault(key, SubtaskSeries(*key)), earlier[key], one, before.at, sample.at)
    return Series([subtasks[key] for key in sorted(subtasks)], [slots[key] for key in sorted(slots)])


def _follows(before: Sample, sample: Sample) -> bool:
    """Both are of one deployment, and time has passed. Its counters grow; those of a slot that was replaced begin anew."""
    if before.metrics["generation"] != sample.metrics["generation"] or sample.at <= before.at:
        return False
    return bool(sample.metrics["loop_busy_us"] >= before.metrics["loop_busy_us"])


def _add_slot(series: SlotSeries, before: Sample | None, sample: Sample) -> None:
    series.at.append(sample.at)
    series.rss_bytes.append(sample.metrics["rss_bytes"])
    used = None
    if before is not None:
        busy_us = sample.metrics["loop_busy_us"] - before.metrics["loop_busy_us"]
        used = min(1.0, busy_us / 1e6 / (sample.at - before.at).total_seconds())
    series.utilisation.append(used)
    gauges = {name: value for name, value in sample.metrics["gauges"].items() if type(value) in (int, float)}
    for name in gauges.keys() - series.gauges.keys():
        series.gauges[name] = [None] * (len(series.at) - 1)
    for name, values in series.gauges.items():
        values.append(gauges.get(name))


def _add_subtask(
    series: SubtaskSeries, before: Mapping[str, int], now: Mapping[str, int], before_at: datetime, at: datetime
) -> None:
    took_s = (at - before_at).total_seconds()
    spent_us = {name: max(0, now[f"{name}_us"] - before[f"{name}_us"]) for name in TIMES}
    all_us = sum(spent_us.values())
    if all_us == 0 or any(now[name] < before[name] for name in COUNTED):
        return
    series.at.append(at)
    for name in COUNTED:
        series.per_s[name].append((now[name] - before[name]) / took_s)
    for name in TIMES:
        series.ms_per_s[name].append(1000 * spent_us[name] / all_us)
    series.backpressure.append(level_of(spent_us["backpressured"] / all_us))
