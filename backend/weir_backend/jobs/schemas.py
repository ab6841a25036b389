"""What is said of jobs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from weir_backend.jobs.spec import SpecBody, whole
from weir_backend.kit.forms import Form, LongText, Name, ShortText, Shown
from weir_backend.models import DesiredState, OperationKind, OperationState, RunState, SpecState

Labels = Annotated[dict[Name, ShortText], Field(max_length=50)]


class Health(StrEnum):
    OK = "ok"
    WORKING = "working"
    """On its way to where it is wanted."""
    PERSON = "needs a person"


class JobDraft(Form):
    """``start`` False: it waits until somebody starts it."""

    name: Name
    description: LongText = ""
    labels: Labels = {}
    spec: SpecBody
    comment: LongText = ""
    start: bool = True


class JobChange(Form):
    """What is left out stays."""

    description: LongText | None = None
    labels: Labels | None = None


class SpecDraft(Form):
    """A new version. It runs once an upgrade to it is asked for."""

    spec: SpecBody
    comment: LongText = ""


class OperationShown(Shown):
    """Something that takes its time. ``steps``: what was done so far; ``problem``: why it failed."""

    id: int
    job_id: int
    kind: OperationKind
    state: OperationState
    request: dict[str, Any]
    result: dict[str, Any] | None
    problem: str | None
    steps: list[Any]
    created_by: int | None
    created_at: datetime
    deadline_at: datetime
    ended_at: datetime | None


class CheckpointBrief(Shown):
    id: int
    number: int
    completed_at: datetime
    is_savepoint: bool
    end_to_end_ms: int | None
    state_bytes: int | None


class RunBrief(Shown):
    """``graph_id`` null: it has not told its graph yet, so there is none to be asked for."""

    id: int
    number: int
    state: RunState
    reason: str
    cause: str
    generation: int
    graph_id: int | None
    created_at: datetime
    running_at: datetime | None
    ended_at: datetime | None
    last_contact_at: datetime | None


class JobShown(Shown):
    """``state``: of the newest run; a job that has none yet has the state CREATED. ``version`` is that of If-Match."""

    id: int
    name: str
    description: str
    labels: dict[str, str]
    desired_state: DesiredState
    state: RunState
    health: Health
    why: str
    """What keeps it from where it is wanted; '' if nothing does."""
    spec_number: int
    spec_state: SpecState
    version: int
    restarts: int
    not_before: datetime | None
    run: RunBrief | None
    last_checkpoint: CheckpointBrief | None
    operation: OperationShown | None
    """The newest one that is not over."""
    created_at: datetime
    updated_at: datetime


class SpecShown(Shown):
    id: int
    job_id: int
    number: int
    artifact_id: int
    body: Annotated[dict[str, Any], AfterValidator(whole)]
    state: SpecState
    problem: str | None
    graph_id: int | None
    comment: str
    created_by: int | None
    created_at: datetime


class Change(Shown):
    """``path``: of the field, with dots. ``before`` or ``after`` None: it was not there, or is not any more."""

    path: str
    before: Any
    after: Any


class SpecDiff(Shown):
    """From one version to another. ``code``: unified diff of the job's file, where both are text."""

    before: int
    after: int
    changes: list[Change]
    code: str | None
    operators_added: list[str]
    operators_removed: list[str]
    operators_changed: list[str]


class GraphShown(Shown):
    """``body``: the physical graph, the logical one in it, as ``weir graph --json`` prints it."""

    id: int
    body: dict[str, Any]
