"""Series of numbers for charts. Lists of one series belong together, point by point."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from weir_backend.metrics.series import BackpressureLevel


class OperatorNameBody(BaseModel):
    uid: str
    name: str


class SubtaskSeriesBody(BaseModel):
    """The four times add up to 1000 ms a second. ``operators``: that run in the subtask, if the graph is known."""

    chain: int
    index: int
    operators: list[OperatorNameBody]
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


class SlotSeriesBody(BaseModel):
    """``gauges``: what operators show (``<uid>.<name>``), among it lag where they know it. Null: not at that moment."""

    slot: int
    at: list[datetime]
    rss_bytes: list[int]
    utilisation: list[float | None]
    gauges: dict[str, list[float | None]]


class MetricsBody(BaseModel):
    """``step_s``: the distance of points; wider than asked for where there would be too many."""

    since: datetime
    until: datetime
    step_s: float
    subtasks: list[SubtaskSeriesBody]
    slots: list[SlotSeriesBody]


class JobRatesBody(BaseModel):
    """What a job does just now. ``records_per_s``: that its sources read. ``lag_records``: of all sources together, ``lag_seconds``: of the
    one that is most behind; null where none tells it. ``backpressure``: of its worst subtask. ``at``: when a slot last told something."""

    job_id: int
    at: datetime
    records_per_s: float | None
    lag_records: float | None
    lag_seconds: float | None
    backpressure: BackpressureLevel | None
