"""Jobs and their specs in the database."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, tuple_, union
from sqlalchemy.orm import Session

from weir_backend.checkpoints.location import job_name_in_graph
from weir_backend.errors import Invalid
from weir_backend.kit.jsonb import clean
from weir_backend.kit.listing import Fields, contains, equals, flag
from weir_backend.models import (
    Checkpoint,
    CheckpointState,
    DesiredState,
    Graph,
    Job,
    Operation,
    Run,
    Spec,
    SpecState,
)


def _needs_attention() -> ColumnElement[bool]:
    """Return the SQL condition for jobs that only a user can bring to their desired state. The condition must agree with
    ``jobs.health.job_health``."""
    invalid = exists().where(Spec.job_id == Job.id, Spec.number == Job.spec_number, Spec.state == SpecState.INVALID)
    stopped = or_(Job.restarts_stopped_reason.is_not(None), and_(Job.run_number == 0, invalid))
    return and_(Job.desired_state == DesiredState.RUNNING, stopped)


def _has_labels(value: Any) -> ColumnElement[bool]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()) or clean(value) != value:
        raise Invalid("invalid", 'filter: labels must be an object of strings, such as {"team": "etl"}.')
    return Job.labels.contains(value)


FIELDS = Fields(
    sortable={
        "id": Job.id,
        "name": Job.name,
        "created_at": Job.created_at,
        "updated_at": Job.updated_at,
        "desired_state": Job.desired_state,
    },
    filters={
        "id": equals(Job.id, int),
        "name": equals(Job.name, str),
        "q": contains(Job.name),
        "desired_state": lambda value: Job.desired_state.in_(_enum_values(value, DesiredState)),
        "labels": _has_labels,
        "needs_attention": flag("needs_attention", _needs_attention),
    },
    default=("name", False),
    key=Job.id,
)


def _enum_values(value: Any, enum: type[DesiredState]) -> list[DesiredState]:
    try:
        return [enum(one) for one in (value if isinstance(value, list) else [value])]
    except ValueError:
        raise Invalid("invalid", f"filter: desired_state must be one of {', '.join(enum)}.") from None


def listed() -> Select[Job]:
    return select(Job).where(Job.deleted_at.is_(None))


def find(session: Session, job_id: int, *, lock: bool = False) -> Job | None:
    query = listed().where(Job.id == job_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def find_by_name(session: Session, name: str) -> Job | None:
    return session.scalar(listed().where(Job.name == name))


def specs_of(job_id: int) -> Select[Spec]:
    return select(Spec).where(Spec.job_id == job_id)


SPEC_FIELDS = Fields(
    sortable={"id": Spec.id, "number": Spec.number, "created_at": Spec.created_at},
    filters={"number": equals(Spec.number, int)},
    default=("number", True),
    key=Spec.id,
)


def find_spec(session: Session, job_id: int, number: int) -> Spec | None:
    return session.scalar(specs_of(job_id).where(Spec.number == number))


def specs_by_number(session: Session, keys: Collection[tuple[int, int]]) -> dict[tuple[int, int], Spec]:
    """Return versions of specs, by job and number."""
    rows = session.scalars(select(Spec).where(tuple_(Spec.job_id, Spec.number).in_(keys)))
    return {(spec.job_id, spec.number): spec for spec in rows}


def find_spec_by_id(session: Session, spec_id: int) -> Spec:
    return session.scalars(select(Spec).where(Spec.id == spec_id)).one()


def newest_spec_number(session: Session, job_id: int) -> int:
    return session.scalar(select(Spec.number).where(Spec.job_id == job_id).order_by(Spec.number.desc()).limit(1)) or 0


def last_completed(session: Session, job_ids: Sequence[int]) -> dict[int, Checkpoint]:
    """Return the newest completed checkpoint of each job, without the large columns of the checkpoints."""
    newest = (
        select(Checkpoint)
        .where(Checkpoint.job_id == Job.id, Checkpoint.state == CheckpointState.COMPLETED)
        .order_by(Checkpoint.number.desc())
        .limit(1)
        .lateral()
    )
    found = select(newest.c.id).select_from(Job).join(newest, Job.id == newest.c.job_id).where(Job.id.in_(job_ids))
    return {checkpoint.job_id: checkpoint for checkpoint in session.scalars(select(Checkpoint).where(Checkpoint.id.in_(found)))}


def spec_states(session: Session, job_ids: Sequence[int]) -> dict[int, tuple[SpecState, str | None]]:
    """Return, for each job, the state and the problem of the current version of its spec."""
    of_job = (Job.id == Spec.job_id) & (Job.spec_number == Spec.number)
    rows = session.execute(select(Spec.job_id, Spec.state, Spec.problem).join(Job, of_job).where(Job.id.in_(job_ids)))
    return {job_id: (state, problem) for job_id, state, problem in rows}


def open_operations(session: Session, job_ids: Sequence[int]) -> dict[int, Operation]:
    """Return the newest open operation of each job."""
    rows = session.scalars(
        select(Operation).where(Operation.job_id.in_(job_ids), Operation.ended_at.is_(None)).order_by(Operation.id)
    )
    return {operation.job_id: operation for operation in rows}


def name_of_graph(session: Session, graph_id: int) -> str | None:
    """Return the name that the user code gives to the job in ``Job(...)``."""
    return session.scalar(select(job_name_in_graph()).where(Graph.id == graph_id))


def find_directory_user(session: Session, job_id: int, directory: str, name: str) -> str | None:
    """Return the name of another job with this checkpoint directory and with ``name`` in its code, or None. A job has a checkpoint directory if
    its newest run uses the directory or the current version of its spec sets the directory. An advisory lock makes concurrent callers wait
    until this transaction ends, so that two jobs never get the same directory."""
    normal = _normal(directory)
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"{normal} {name}", 0))))
    configured = Spec.body["checkpointing"]["directory"].astext
    planned = (
        select(Job.name, configured)
        .join(Spec, (Spec.job_id == Job.id) & (Spec.number == Job.spec_number))
        .join(Graph, Graph.id == Spec.graph_id)
        .where(Job.id != job_id, Job.deleted_at.is_(None), configured.is_not(None), job_name_in_graph() == name)
    )
    used = (
        select(Job.name, Run.checkpoint_directory)
        .join(Run, (Run.job_id == Job.id) & (Run.number == Job.run_number))
        .join(Spec, Spec.id == Run.spec_id)
        .join(Graph, Graph.id == func.coalesce(Run.graph_id, Spec.graph_id))
        .where(Job.id != job_id, Job.deleted_at.is_(None), job_name_in_graph() == name)
    )
    rows = session.execute(union(planned, used)).all()
    return next((other for other, path in rows if _normal(path) == normal), None)


def _normal(directory: str) -> str:
    return posixpath.normpath(directory) if directory.startswith("/") else directory.rstrip("/")


def completed(session: Session, job_id: int, number: int | None) -> Checkpoint | None:
    """Return a completed checkpoint, or None if ``number`` is None or no such checkpoint exists."""
    found = (Checkpoint.job_id == job_id, Checkpoint.number == number, Checkpoint.state == CheckpointState.COMPLETED)
    return session.scalar(select(Checkpoint).where(*found)) if number is not None else None
