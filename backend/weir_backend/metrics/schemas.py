"""Time series and rates. All lists of a series have one value per point."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from weir_backend.kit.schemas import ResponseModel
from weir_backend.metrics.series import BackpressureLevel
from weir_backend.runs.schemas import OperatorNameRead


class SubtaskSeriesRead(BaseModel):
    """The series of a subtask. The busy, idle, backpressured and queued times add up to 1,000 ms per second. The pressure is the time in which
    other subtasks keep the subtask from running: the backpressured time and, unless its slot idles, the queued time. `backpressure` is the level
    of the pressure. `operators` contains the operators of the chain; it is empty if the graph is unknown."""

    chain: int
    index: int
    operators: list[OperatorNameRead]
    at: list[datetime]
    records_in_per_s: list[float]
    records_out_per_s: list[float]
    bytes_in_per_s: list[float]
    bytes_out_per_s: list[float]
    busy_ms_per_s: list[float]
    idle_ms_per_s: list[float]
    backpressured_ms_per_s: list[float]
    queued_ms_per_s: list[float]
    pressure_ms_per_s: list[float]
    backpressure: list[BackpressureLevel]


class SlotSeriesRead(BaseModel):
    """The series of a slot. `gauges` contains the gauges of operators, such as lag, by `<uid>.<name>`. A value is null if the gauge was not
    reported."""

    slot: int
    at: list[datetime]
    rss_bytes: list[int]
    utilisation: list[float | None]
    gauges: dict[str, list[float | None]]


class MetricsRead(BaseModel):
    """`step_s` is the interval between points. The interval is larger than requested if there would be too many points."""

    since: datetime
    until: datetime
    step_s: float
    subtasks: list[SubtaskSeriesRead]
    slots: list[SlotSeriesRead]


class JobRatesRead(ResponseModel):
    """Current rates of a job. `records_per_s` is the number of records per second that the sources read. `lag_records` is the sum of the lags of
    all sources, in records. `lag_seconds` is the largest lag of a source, in seconds. `lag_records` or `lag_seconds` is null if no source
    reports this lag. `backpressure` is the highest level of any subtask. `at` is the time of the newest sample."""

    job_id: int
    at: datetime
    records_per_s: float | None
    lag_records: float | None
    lag_seconds: float | None
    backpressure: BackpressureLevel | None
