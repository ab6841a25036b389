"""Schemas of checkpoints in API requests and responses. Durations are in milliseconds, sizes in bytes, timestamps in milliseconds
since 1970. A value is null if it was not measured, or if it is not measured yet."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from weir_backend.actions.schemas import ActionRead
from weir_backend.kit.schemas import ResponseModel
from weir_backend.kit.statistics import StatsSummaryRead
from weir_backend.models import CheckpointState, PinHolder
from weir_backend.runs.schemas import OperatorNameRead


class PinRead(ResponseModel):
    """A pin of a checkpoint. The holder is a user, a plan that restores the checkpoint (`plan`), or an applied plan whose undo restores the
    checkpoint (`undo`). `name` is the name of the holder. If an older version of Weir has set the pin, `user_id` is null, and `since` is null or the
    time of the upgrade."""

    holder: PinHolder
    user_id: int | None
    plan_id: int | None
    name: str
    reason: str
    since: datetime | None


class CheckpointRead(ResponseModel):
    """`number` is the id of the checkpoint in the job log. `parent` is the number of the previous checkpoint on its branch. `state_bytes` is the size
    of all files that the checkpoint references. `checkpointed_bytes` is the size of the files that the checkpoint wrote. `version` is the version of
    the pin, for If-Match. If `pin_in_force` is true, the job log contains the pin, so no driver retires the checkpoint. `deleting_since` is the time
    at which the deletion of the checkpoint began. `discarded_at` is the time at which a worker found that the checkpoint is retired. The files of a
    discarded checkpoint are deleted. `damage` describes the damage that the verification at `verified_at` found."""

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
    pins: list[PinRead]
    pin_in_force: bool
    deleting_since: datetime | None
    discarded_at: datetime | None
    verified_at: datetime | None
    damage: str | None
    actions: list[ActionRead]
    kept_because: list[str]
    """The reasons why the files are kept, as sentences, with the strongest reason first. The list contains only reasons that are stored in the
    database. If the list is empty, Weir can delete the files, unless the job log contains a reason to keep the files. The list is also
    empty after Weir has deleted the files."""


class PhaseDurationsRead(BaseModel):
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    sync: float
    async_: float = Field(alias="async")


class AlignmentRead(BaseModel):
    """Alignment of a subtask. `persisted` is always 0, because checkpoints are aligned. `buffered` and `processed` are null, because they are not
    measured."""

    buffered: int | None = None
    processed: int | None = None
    persisted: int = 0
    duration: float


class SubtaskStatisticsRead(BaseModel):
    """`straggler` is true if the checkpoint is completed and the subtask acknowledged late. An acknowledgement is late if its duration is at least
    the 95th percentile and at least 1.5 times the median of all subtasks."""

    index: int
    status: str
    ack_timestamp: int | None
    end_to_end_duration: float | None
    state_size: int | None
    checkpoint: PhaseDurationsRead | None
    alignment: AlignmentRead | None
    start_delay: float | None
    unaligned_checkpoint: bool = False
    aborted: bool = False
    straggler: bool = False


class SubtaskStatsSummaryRead(BaseModel):
    """Summaries over subtasks. A summary is null if nothing was measured."""

    end_to_end_duration: StatsSummaryRead | None
    state_size: StatsSummaryRead | None
    sync: StatsSummaryRead | None
    async_: StatsSummaryRead | None = Field(alias="async")
    alignment: StatsSummaryRead | None
    start_delay: StatsSummaryRead | None

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


class ChainStatisticsRead(BaseModel):
    """Statistics of a chain. `operators` is empty if the graph of the run is unknown."""

    chain: int
    operators: list[OperatorNameRead]
    num_subtasks: int
    summary: SubtaskStatsSummaryRead
    subtasks: list[SubtaskStatisticsRead]


class CheckpointStatisticsRead(BaseModel):
    """Statistics of a checkpoint. `state_size` is the size of all files that the checkpoint references. `checkpointed_size` is the size of the files
    that the checkpoint wrote. `external_path` is the path of the manifest without credentials, or null until the checkpoint is completed."""

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
    summary: SubtaskStatsSummaryRead
    chains: list[ChainStatisticsRead]


class CheckpointDetailRead(CheckpointRead):
    """A checkpoint with its statistics. `progress` contains `[chain, index, after_ms]` for each acknowledgement, in order."""

    progress: list[list[int]]
    statistics: CheckpointStatisticsRead


class CheckpointCountsRead(BaseModel):
    in_progress: int
    completed: int
    failed: int
    savepoints: int
    total: int


class RestoreRead(BaseModel):
    """The checkpoint that a run has restored. `at` is the time at which the run reached RUNNING. `cause` is the reason why the run was created, for
    example restart or rollback. `checkpoint` is the number of a checkpoint of the job. `is_savepoint` is null if the database does not contain this
    checkpoint any more. `path` is the path of an external checkpoint."""

    run_id: int
    run: int
    cause: str
    at: datetime
    checkpoint: int | None
    is_savepoint: bool | None
    path: str | None


class CheckpointOverviewRead(BaseModel):
    """An overview of the checkpoints of a job. `counts` covers all checkpoints since the job was created, including checkpoints whose rows are
    deleted. The summaries cover the last `summarized` completed checkpoints whose rows are stored. The rows of the last 500 completed checkpoints are
    always stored. `latest_restore` describes the restore of the newest run that has reached RUNNING, or is null if that run started without state."""

    counts: CheckpointCountsRead
    summarized: int
    end_to_end_duration: StatsSummaryRead | None
    state_size: StatsSummaryRead | None
    checkpointed_size: StatsSummaryRead | None
    latest_completed: CheckpointRead | None
    latest_failed: CheckpointRead | None
    latest_savepoint: CheckpointRead | None
    latest_restore: RestoreRead | None


class CheckpointSeriesPointRead(ResponseModel):
    """A completed checkpoint. The fields from `start_delay_ms` to `async_ms` are maximums over all subtasks, or null if they were not measured."""

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


class CheckpointPhaseSeriesRead(BaseModel):
    """The durations of the phases of a subtask, with one value per checkpoint. If `index` is null, the values are the maximums over
    the subtasks of the chain. A value is null if it was not measured, or if the graph of the checkpoint differs from the graph of
    the newest checkpoint."""

    chain: int
    index: int | None
    operators: list[OperatorNameRead]
    start_delay_ms: list[float | None]
    alignment_ms: list[float | None]
    sync_ms: list[float | None]
    async_ms: list[float | None]


class CheckpointSeriesRead(BaseModel):
    """`checkpoints` contains the last completed checkpoints, oldest first. `phases` contains the phases of the chains, or of the subtasks of one
    chain, in the graph of the newest checkpoint."""

    checkpoints: list[CheckpointSeriesPointRead]
    phases: list[CheckpointPhaseSeriesRead]


def _kept(text: str) -> str:
    if "\x00" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise ValueError("The text must not contain U+0000 or unpaired surrogates.")
    return text


class CheckpointUpdate(BaseModel):
    """Pin a checkpoint for the caller, or release the pin of the caller. A checkpoint is kept until each holder has released its pin. An
    administrator who has not pinned the checkpoint releases the pins of all users."""

    model_config = ConfigDict(extra="forbid")

    pinned: bool
    reason: Annotated[str, Field(max_length=500), AfterValidator(_kept)] = ""
