"""Time series and rates. All lists of a series have one value per point."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from weir_backend.kit.schemas import ResponseModel
from weir_backend.metrics.diagnosis import Cause, Diagnosis, bottleneck_sentence
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


class BottleneckRead(ResponseModel):
    """The chain that limits the throughput of a job. `sentence` describes the bottleneck. Weir measures the time of chains, not of the `operators` in
    a chain. If only a few of the `parallelism` subtasks are saturated, `subtasks` contains the indexes of these subtasks, and `cause` is the likely
    cause. If all subtasks are saturated, `subtasks` is empty and `cause` is null. `busy` is the share of time in which the saturated subtasks are
    busy, and `siblings_busy` is the same share for the other subtasks. If `slot_saturated` is true, the subtasks are saturated because their slots
    are saturated. `waiting_records` is the number of records that wait in the inputs, and `waiting_s` is the time that the chain needs to process
    these records; each is null if it is unknown. `lag_records` and `lag_seconds` are the lag of the sources, as in `JobRatesRead`."""

    sentence: str
    chain: int
    operators: list[str]
    is_source: bool
    is_sink: bool
    parallelism: int
    subtasks: list[int]
    cause: Cause | None
    busy: float
    siblings_busy: float | None
    slot_saturated: bool
    input_backpressured: bool
    waiting_records: int | None
    waiting_s: float | None
    since: datetime
    lag_records: float | None
    lag_seconds: float | None

    @classmethod
    def of(cls, diagnosis: Diagnosis, now: datetime) -> BottleneckRead | None:
        """Return the bottleneck of the diagnosis, or None if it contains no bottleneck."""
        if diagnosis.bottleneck is None:
            return None
        lag = {"lag_records": diagnosis.lag_records, "lag_seconds": diagnosis.lag_seconds}
        return cls.read(diagnosis.bottleneck, sentence=bottleneck_sentence(diagnosis, now), **lag)


class MetricsRead(BaseModel):
    """`step_s` is the interval between points. The interval is larger than requested if there would be too many points. `bottleneck` is the current
    bottleneck of the job. It does not depend on the requested range or on `chain`."""

    since: datetime
    until: datetime
    step_s: float
    subtasks: list[SubtaskSeriesRead]
    slots: list[SlotSeriesRead]
    bottleneck: BottleneckRead | None


class JobRatesRead(ResponseModel):
    """Current rates of a job. `records_per_s` is the number of records per second that the sources read. `lag_records` is the sum of the lags of
    all sources, in records. `lag_seconds` is the largest lag of a source, in seconds. `lag_records` or `lag_seconds` is null if no source
    reports this lag. `backpressure` is the highest backpressure level of any subtask. `at` is the time of the newest sample."""

    job_id: int
    at: datetime
    records_per_s: float | None
    lag_records: float | None
    lag_seconds: float | None
    backpressure: BackpressureLevel | None
