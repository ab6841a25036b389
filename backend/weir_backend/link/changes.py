"""The state of a run before a batch of events, and the changes that the batch causes. Data only, no SQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from weir_backend.models import CheckpointState, OperationState, RunState
from weir_backend.runs.graph import GraphContent


@dataclass(slots=True)
class RunRow:
    id: int
    job_id: int
    state: RunState
    reason: str
    generation: int
    running_at: datetime | None
    ended_at: datetime | None
    stored_event: int
    missing_events: int
    failure_kind: str = ""
    """The class of the error that made the run fail."""


@dataclass(slots=True)
class CheckpointRow:
    """A checkpoint. ``id`` is None if the checkpoint is not in the table yet. ``parent`` is the number of the previous checkpoint on its branch."""

    number: int
    generation: int
    state: CheckpointState
    trigger: str
    parent: int | None
    triggered_at: datetime
    triggered_event: int | None
    subtasks: int
    id: int | None = None
    latest_ack_at: datetime | None = None
    completed_at: datetime | None = None
    failed_at: datetime | None = None
    failure: str | None = None
    end_to_end_ms: int | None = None
    state_bytes: int | None = None
    checkpointed_bytes: int | None = None
    acknowledged: int = 0
    progress: list[Any] = field(default_factory=list)
    statistics: list[Any] | None = None


@dataclass(slots=True)
class FailureRow:
    generation: int
    reason: str
    at: datetime
    kind: str = ""
    id: int | None = None
    recovered_at: datetime | None = None
    downtime_ms: int | None = None
    recovery: str | None = None


@dataclass(slots=True)
class CommandRow:
    """A command. ``operation_id`` is set only while the operation is open."""

    number: int
    kind: str
    operation_id: int | None
    outcome: str | None = None
    reason: str = ""
    answered_event: int | None = None


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event to store. If ``graph`` is set, the graph is stored before the event, and the id of the graph is added to the event as the field
    ``graph_id``."""

    number: int
    run_event: int | None
    kind: str
    fields: dict[str, Any]
    at: datetime
    graph: GraphContent | None = None


@dataclass(frozen=True, slots=True)
class SampleRow:
    slot: int
    at: datetime
    metrics: Any


@dataclass(frozen=True, slots=True)
class OperationEnd:
    operation_id: int
    state: OperationState
    result: dict[str, Any] | None = None
    problem: str | None = None
    profile: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The input of the projection. The projection changes the rows of its input in place, and ``Changes`` lists the changed rows.

    ``event_number`` is the number of the newest event of the job. ``checkpoints`` contains the checkpoints of this run that are in progress
    or that the batch refers to. ``taken`` contains those checkpoint numbers in the batch that already belong to other runs of the job.
    ``newest_completed`` is the newest completed checkpoint on the current branch of the job. ``failures`` contains the failures whose
    recovery is unknown. ``commands`` contains the commands that the batch answers, and the accepted commands whose operation is open."""

    event_number: int
    run: RunRow
    checkpoints: dict[int, CheckpointRow]
    taken: frozenset[int]
    newest_completed: int | None
    failures: list[FailureRow]
    commands: dict[int, CommandRow]


@dataclass(slots=True)
class Changes:
    """The changes to write in one transaction. ``checkpoints``, ``failures`` and ``commands`` contain new rows, which have no id, and changed
    rows."""

    run: RunRow
    state_changed: bool = False
    event_number: int = 0
    graphs: list[GraphContent] = field(default_factory=list)
    """The graphs in the batch, in order. The last graph in the batch is the graph that the run has deployed."""
    events: list[EventRow] = field(default_factory=list)
    samples: list[SampleRow] = field(default_factory=list)
    checkpoints: dict[int, CheckpointRow] = field(default_factory=dict)
    failures: list[FailureRow] = field(default_factory=list)
    commands: dict[int, CommandRow] = field(default_factory=dict)
    operations: list[OperationEnd] = field(default_factory=list)

    @property
    def visible(self) -> bool:
        """Whether event streams show at least one of the changes. Event streams contain no metric samples."""
        return bool(self.events or self.checkpoints or self.failures or self.operations)
