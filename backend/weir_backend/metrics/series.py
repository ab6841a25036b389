"""Compute rates from the counters of slots. Pure.

The counters start at zero with each deployment (generation), so a rate is computed only from samples of the same deployment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

COUNTED = ("records_in", "records_out", "bytes_in", "bytes_out")
TIMES = ("busy", "idle", "backpressured", "queued")
LOW_ABOVE, HIGH_ABOVE = 0.10, 0.5
SLOT_IDLE_BELOW = 0.5
"""A slot idles if its loop has work for less than this share of the time."""
_FIELDS = ("chain", "index", *COUNTED, *(f"{name}_us" for name in TIMES))
_FIELDS_OF = itemgetter(*_FIELDS)
_COUNTED, _TIMES = slice(2, 2 + len(COUNTED)), slice(2 + len(COUNTED), len(_FIELDS))
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class BackpressureLevel(StrEnum):
    OK = "ok"
    LOW = "low"
    HIGH = "high"


def level_of(pressure: float) -> BackpressureLevel:
    """Return the backpressure level for the pressure of a subtask. See ``pressure_of``."""
    if pressure <= LOW_ABOVE:
        return BackpressureLevel.OK
    return BackpressureLevel.LOW if pressure <= HIGH_ABOVE else BackpressureLevel.HIGH


Shares = TypeVar("Shares", float, NDArray[np.float64])


def pressure_of(*, backpressured: Shares, queued: Shares, utilisation: Shares) -> Shares:
    """Return the time in which other subtasks keep a subtask from running. ``backpressured`` and ``queued`` have the same unit.
    ``utilisation`` is the utilisation of the slot of the subtask.

    Queued time counts like backpressured time: a subtask that waits for the loop of its slot is as slow as a subtask that waits for credit. Queued
    time does not count if the slot idles, because the subtask then waits only for single steps of other subtasks.
    """
    return backpressured + queued * (utilisation >= SLOT_IDLE_BELOW)


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of a slot. ``metrics``: ``SlotMetrics`` as JSON."""

    run_id: int
    slot: int
    at: datetime
    metrics: Mapping[str, Any]


@dataclass(slots=True)
class SubtaskSeries:
    """The series of a subtask, with one value per point. ``per_s`` contains the rate per second of each counter. ``ms_per_s`` contains the
    milliseconds per second that the subtask spends on each activity. The values of all activities add up to 1,000. ``pressure_ms_per_s``
    contains the pressure (see ``pressure_of``), and ``backpressure`` contains its level."""

    chain: int
    index: int
    at: list[datetime] = field(default_factory=list)
    per_s: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in COUNTED})
    ms_per_s: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TIMES})
    pressure_ms_per_s: list[float] = field(default_factory=list)
    backpressure: list[BackpressureLevel] = field(default_factory=list)


@dataclass(slots=True)
class SlotSeries:
    """The series of a slot. ``utilisation`` is the share of time in which the loop had work, or None for the first point of a deployment."""

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
    """Return the series. ``samples`` must be ordered by time. Samples before ``since`` yield no points, but the first points are
    computed as differences from these samples."""
    ordered = list(samples)
    before = _before(ordered)
    slots: dict[int, SlotSeries] = {}
    for sample, position in zip(ordered, before, strict=True):
        if sample.at >= since:
            _add_slot(slots.setdefault(sample.slot, SlotSeries(sample.slot)), None if position < 0 else ordered[position], sample)
    return Series(_subtasks(ordered, before, since), [slots[key] for key in sorted(slots)])


def _before(ordered: Sequence[Sample]) -> list[int]:
    """Return, for each sample, the index of the previous sample of the same slot and deployment, or -1 if no previous sample exists."""
    last: dict[tuple[int, int], int] = {}
    found = []
    for position, sample in enumerate(ordered):
        key = (sample.run_id, sample.slot)
        earlier = last.get(key, -1)
        last[key] = position
        found.append(earlier if earlier >= 0 and follows(ordered[earlier], sample) else -1)
    return found


def follows(before: Sample, sample: Sample) -> bool:
    """Return whether ``sample`` is later than ``before`` and from the same deployment. When a slot is replaced, its counters start at zero
    again."""
    if before.metrics["generation"] != sample.metrics["generation"] or sample.at <= before.at:
        return False
    return bool(sample.metrics["loop_busy_us"] >= before.metrics["loop_busy_us"])


def _subtasks(ordered: Sequence[Sample], before: Sequence[int], since: datetime) -> list[SubtaskSeries]:
    """Compute the series with numpy, in one table with a row per subtask and sample. Python without numpy would be slow, because the series of a
    large job contain a hundred thousand numbers."""
    counts = [len(sample.metrics["subtasks"]) for sample in ordered]
    rows = np.fromiter(
        chain.from_iterable(_FIELDS_OF(one) for sample in ordered for one in sample.metrics["subtasks"]),
        dtype=np.int64,
        count=sum(counts) * len(_FIELDS),
    ).reshape(-1, len(_FIELDS))
    sample_of = np.repeat(np.arange(len(ordered)), counts)
    # Sort the samples of each slot and subtask by time.
    slot_ids: dict[tuple[int, int], int] = {}
    slot_of = np.array([slot_ids.setdefault((sample.run_id, sample.slot), len(slot_ids)) for sample in ordered], dtype=np.int64)
    order = np.lexsort((sample_of, slot_of[sample_of], rows[:, 1], rows[:, 0]))
    rows, sample_of = rows[order], sample_of[order]
    now, earlier, at, at_before = rows[1:], rows[:-1], sample_of[1:], sample_of[:-1]
    compared = (now[:, :2] == earlier[:, :2]).all(axis=1) & (np.array(before, dtype=np.int64)[at] == at_before)
    compared &= np.array([sample.at >= since for sample in ordered], dtype=bool)[at]
    now, earlier, at, at_before = now[compared], earlier[compared], at[compared], at_before[compared]
    counted = now[:, _COUNTED] - earlier[:, _COUNTED]
    spent_us = np.maximum(0, now[:, _TIMES] - earlier[:, _TIMES])
    all_us = spent_us.sum(axis=1)
    shown = (all_us > 0) & (counted >= 0).all(axis=1)
    at_us = np.array([_us(sample.at) for sample in ordered], dtype=np.int64)
    took_s = (at_us[at] - at_us[at_before])[shown, None] / 1e6
    loop_us = np.array([sample.metrics["loop_busy_us"] for sample in ordered], dtype=np.int64)
    ms_per_s = 1000 * spent_us[shown] / all_us[shown, None]
    pressure: NDArray[np.float64] = pressure_of(
        backpressured=ms_per_s[:, TIMES.index("backpressured")],
        queued=ms_per_s[:, TIMES.index("queued")],
        utilisation=(loop_us[at] - loop_us[at_before])[shown] / 1e6 / took_s[:, 0],
    )
    table = _Table(now[shown, :2], at[shown], [sample.at for sample in ordered], counted[shown] / took_s, ms_per_s, pressure)
    return table.series()


@dataclass(frozen=True, slots=True)
class _Table:
    """A table with a row for each point of each subtask. ``keys`` contains the chain and the subtask index of each row. ``positions``
    contains, for each row, the index of its sample in ``at``. ``at`` contains the times of all samples."""

    keys: NDArray[np.int64]
    positions: NDArray[np.int64]
    at: list[datetime]
    per_s: NDArray[np.float64]
    ms_per_s: NDArray[np.float64]
    pressure_ms_per_s: NDArray[np.float64]

    def series(self) -> list[SubtaskSeries]:
        # A subtask has one series, even if the series covers several runs or the subtask moves to another slot.
        order = np.lexsort((self.positions, self.keys[:, 1], self.keys[:, 0]))
        keys = self.keys[order]
        begins: Sequence[int] = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)]).tolist() if len(keys) else []
        return [self._one(order[begin:end]) for begin, end in pairwise([*begins, len(keys)])]

    def _one(self, rows: NDArray[np.intp]) -> SubtaskSeries:
        chain_, index = self.keys[rows[0]].tolist()
        per_s, ms_per_s, pressure = self.per_s[rows], self.ms_per_s[rows], self.pressure_ms_per_s[rows].tolist()
        return SubtaskSeries(
            chain_,
            index,
            [self.at[position] for position in self.positions[rows].tolist()],
            {name: per_s[:, position].tolist() for position, name in enumerate(COUNTED)},
            {name: ms_per_s[:, position].tolist() for position, name in enumerate(TIMES)},
            pressure,
            [level_of(one / 1000) for one in pressure],
        )


def _us(moment: datetime) -> int:
    """Return whole microseconds since the epoch."""
    return (moment - _EPOCH) // _MICROSECOND


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
