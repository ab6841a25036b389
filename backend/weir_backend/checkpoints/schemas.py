"""Checkpoints as people read them. Statistics are in the words of the field: durations in milliseconds, sizes in bytes, timestamps in
milliseconds since 1970. Null: not measured, or not yet."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from weir_backend.models import CheckpointState


class CheckpointBody(BaseModel):
    """``number``: its id in the job's log. ``parent``: number of the one it goes on from. ``state_bytes``: of all files that it needs;
    ``checkpointed_bytes``: of those that it wrote itself. ``version``: of its pin, for If-Match.
    ``pin_in_force``: the job's log says that it is
    pinned, so nobody retires it. ``leaving_at``: it is being deleted. ``discarded_at``: it was found retired, and its files are gone.
    ``damage``: what reading its files has found, at ``verified_at``."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    job_id: int
    run_id: int
    number: int
    generation: int
    state: CheckpointState
    trigger: str
    is_savepoint: bool
    parent: int | None
    triggered_at: datetime
    latest_ack_at: datetime | None
    completed_at: datetime | None
    failed_at: datetime | None
    failure: str | None
    end_to_end_ms: int | None
    state_bytes: int | None
    checkpointed_bytes: int | None
    subtasks: int
    acknowledged: int
    version: int
    pinned: bool
    pinned_reason: str
    pin_in_force: bool
    leaving_at: datetime | None
    discarded_at: datetime | None
    verified_at: datetime | None
    damage: str | None


class SummaryBody(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    min: float
    max: float
    avg: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float


class PhasesBody(BaseModel):
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    sync: float
    async_: float = Field(alias="async")


class AlignmentBody(BaseModel):
    """Alignment here is aligned: nothing is persisted, and what was buffered or processed meanwhile is not counted."""

    buffered: int | None = None
    processed: int | None = None
    persisted: int = 0
    duration: float


class SubtaskBody(BaseModel):
    """``straggler``: it took at least the 95th percentile and half as long again as the median, of all subtasks of a checkpoint that is
    completed."""

    index: int
    status: str
    ack_timestamp: int | None
    end_to_end_duration: float | None
    state_size: int | None
    checkpoint: PhasesBody | None
    alignment: AlignmentBody | None
    start_delay: float | None
    unaligned_checkpoint: bool = False
    aborted: bool = False
    straggler: bool = False


class MeasuredBody(BaseModel):
    """Summaries over subtasks; null where nothing was measured."""

    end_to_end_duration: SummaryBody | None
    state_size: SummaryBody | None
    sync: SummaryBody | None
    async_: SummaryBody | None = Field(alias="async")
    alignment: SummaryBody | None
    start_delay: SummaryBody | None

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


class OperatorNameBody(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    uid: str
    name: str


class ChainStatisticsBody(BaseModel):
    """Of operators that run in one subtask. ``operators`` is empty if the graph of the run is not known."""

    chain: int
    operators: list[OperatorNameBody]
    num_subtasks: int
    summary: MeasuredBody
    subtasks: list[SubtaskBody]


class CheckpointStatisticsBody(BaseModel):
    """``state_size``: of all files that it needs; ``checkpointed_size``: of those that it wrote itself. ``external_path``: of its manifest,
    once it is completed; without what may be a secret in the address of a storage."""

    id: int
    status: CheckpointState
    is_savepoint: bool
    trigger_timestamp: int
    latest_ack_timestamp: int | None
    checkpointed_size: int | None
    state_size: int | None
    end_to_end_duration: int | None
    alignment_buffered: int | None = None
    processed_data: int | None = None
    persisted_data: int = 0
    num_subtasks: int
    num_acknowledged_subtasks: int
    external_path: str | None
    discarded: bool
    failure_timestamp: int | None
    failure_message: str | None
    summary: MeasuredBody
    chains: list[ChainStatisticsBody]


class CheckpointDetailBody(CheckpointBody):
    """``progress``: `[chain, index, after_ms]` of each acknowledgement in its order, so that it can be played again."""

    progress: list[list[int]]
    statistics: CheckpointStatisticsBody


class CountsBody(BaseModel):
    in_progress: int
    completed: int
    failed: int
    savepoints: int
    total: int


class RestoreBody(BaseModel):
    """What a run went on from, and when it ran with that. ``cause``: why the run was begun: restart, rollback, ... ``checkpoint``: number of
    one of the job; ``is_savepoint`` is null if nothing else is known of it any more. ``path``: instead of that, of one that was elsewhere."""

    run_id: int
    run: int
    cause: str
    at: datetime
    checkpoint: int | None
    is_savepoint: bool | None
    path: str | None


class JobSummaryBody(BaseModel):
    """``counts``: of all that are kept. Summaries: over the last completed ones. ``latest_restore``: of the newest run that has come to run;
    null if that began without state."""

    counts: CountsBody
    over: int
    end_to_end_duration: SummaryBody | None
    state_size: SummaryBody | None
    checkpointed_size: SummaryBody | None
    latest_completed: CheckpointBody | None
    latest_failed: CheckpointBody | None
    latest_savepoint: CheckpointBody | None
    latest_restore: RestoreBody | None


class CheckpointPointBody(BaseModel):
    """Of a completed one. ``start_delay_ms`` and the like: of the subtask that took longest; null where nothing was measured."""

    id: int
    number: int
    triggered_at: datetime
    is_savepoint: bool
    end_to_end_ms: int | None
    state_bytes: int | None
    checkpointed_bytes: int | None
    start_delay_ms: float | None
    alignment_ms: float | None
    sync_ms: float | None
    async_ms: float | None


class PartSeriesBody(BaseModel):
    """Of a subtask, or of the slowest subtask of a chain (``index`` null): a value for each checkpoint. Null: not measured, or with another graph."""

    chain: int
    index: int | None
    operators: list[OperatorNameBody]
    start_delay_ms: list[float | None]
    alignment_ms: list[float | None]
    sync_ms: list[float | None]
    async_ms: list[float | None]


class CheckpointSeriesBody(BaseModel):
    """``checkpoints``: oldest first. ``parts``: of the graph that the newest of them was taken with."""

    checkpoints: list[CheckpointPointBody]
    parts: list[PartSeriesBody]


def _kept(text: str) -> str:
    if "\x00" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise ValueError("a text has no U+0000 and no half of a character in it")
    return text


class CheckpointPatch(BaseModel):
    """Retention never takes a pinned one, once that is in force."""

    model_config = ConfigDict(extra="forbid")

    pinned: bool
    reason: Annotated[str, Field(max_length=500), AfterValidator(_kept)] = ""
