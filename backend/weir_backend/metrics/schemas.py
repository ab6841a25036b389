"""Time series and rates. The lists of a series have the same length, one value per point."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from weir_backend.metrics.series import BackpressureLevel
from weir_backend.runs.schemas import OperatorNameRead


class SubtaskSeriesRead(BaseModel):
    """The four times add up to 1000 ms per second. `operators`: the operators of the chain, if the graph is known."""

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
    backpressure: list[BackpressureLevel]


class SlotSeriesRead(BaseModel):
    """`gauges`: values of operators by `<uid>.<name>`, such as lag. Null: no value at that time."""

    slot: int
    at: list[datetime]
    rss_bytes: list[int]
    utilisation: list[float | None]
    gauges: dict[str, list[float | None]]


class MetricsRead(BaseModel):
    """`step_s`: the interval between points. It is larger than requested if there would be too many points."""

    since: datetime
    until: datetime
    step_s: float
    subtasks: list[SubtaskSeriesRead]
    slots: list[SlotSeriesRead]


class JobRatesRead(BaseModel):
    """Current rates of a job. `records_per_s`: read by its sources. `lag_records`: the sum over all sources. `lag_seconds`: the maximum over
    all sources. Null: no source reports it. `backpressure`: of the worst subtask. `at`: the time of the newest sample."""

    job_id: int
    at: datetime
    records_per_s: float | None
    lag_records: float | None
    lag_seconds: float | None
    backpressure: BackpressureLevel | None
