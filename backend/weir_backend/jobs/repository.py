"""Jobs and their specs in the database."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, union
from sqlalchemy.orm import Session, defer

from weir_backend.checkpoints.place import name_in_code
from weir_backend.errors import Invalid
from weir_backend.kit.listing import Fields, contains, equals
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


def _needs_person(value: Any) -> ColumnElement[bool]:
    """What ``jobs.state.standing`` says of one job, said of all of them: it cannot be read from a page of them."""
    if not isinstance(value, bool):
        raise Invalid("invalid", "filter: needs_person is true or false")
    invalid = exists().where(Spec.job_id == Job.id, Spec.number == Job.spec_number, Spec.state == SpecState.INVALID)
    needs = and_(Job.desired_state == DesiredState.RUNNING, or_(Job.gave_up.is_not(None), and_(Job.run_number == 0, invalid)))
    return needs if value else ~needs


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
        "desired_state": lambda value: Job.desired_state.in_(_words(value, DesiredState)),
        "needs_person": _needs_person,
    },
    default=("name", False),
    key=Job.id,
)


def _words(value: Any, words: type[DesiredState]) -> list[DesiredState]:
    try:
        return [words(one) for one in (value if isinstance(value, list) else [value])]
    except ValueError:
        raise Invalid("invalid", f"filter: desired_state is one of {', '.join(words)}") from None


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


def find_spec_by_id(session: Session, spec_id: int) -> Spec:
    return session.scalars(select(Spec).where(Spec.id == spec_id)).one()


def newest_spec_number(session: Session, job_id: int) -> int:
    return session.scalar(select(Spec.number).where(Spec.job_id == job_id).order_by(Spec.number.desc()).limit(1)) or 0


def newest_runs(session: Session, job_ids: Sequence[int]) -> dict[int, Run]:
    """Of each job the newest run, in one query whatever the number of jobs."""
    rows = session.scalars(
        select(Run).join(Job, (Job.id == Run.job_id) & (Job.run_number == Run.number)).where(Job.id.in_(job_ids))
    )
    return {run.job_id: run for run in rows}


def last_completed(session: Session, job_ids: Sequence[int]) -> dict[int, Checkpoint]:
    """Of each job the checkpoint that completed last, without its heavy columns."""
    newest = (
        select(Checkpoint)
        .where(Checkpoint.job_id == Job.id, Checkpoint.state == CheckpointState.COMPLETED)
        .order_by(Checkpoint.number.desc())
        .limit(1)
        .lateral()
    )
    found = select(newest.c.id).select_from(Job).join(newest, Job.id == newest.c.job_id).where(Job.id.in_(job_ids))
    rows = session.scalars(
        select(Checkpoint).where(Checkpoint.id.in_(found)).options(defer(Checkpoint.statistics), defer(Checkpoint.progress))
    )
    return {checkpoint.job_id: checkpoint for checkpoint in rows}


def spec_states(session: Session, jobs: Sequence[Job]) -> dict[int, SpecState]:
    rows = session.execute(
        select(Spec.job_id, Spec.state)
        .join(Job, (Job.id == Spec.job_id) & (Job.spec_number == Spec.number))
        .where(Job.id.in_([job.id for job in jobs]))
    )
    return {job_id: state for job_id, state in rows}  # noqa: C416  # dict() takes rows, but has no type for them


def spec_problems(session: Session, jobs: Sequence[Job]) -> dict[int, str]:
    rows = session.execute(
        select(Spec.job_id, Spec.problem)
        .join(Job, (Job.id == Spec.job_id) & (Job.spec_number == Spec.number))
        .where(Job.id.in_([job.id for job in jobs]), Spec.problem.is_not(None))
    )
    return {job_id: problem for job_id, problem in rows if problem is not None}


def open_operations(session: Session, job_ids: Sequence[int]) -> dict[int, Operation]:
    """Of each job the newest operation that is not over."""
    rows = session.scalars(
        select(Operation).where(Operation.job_id.in_(job_ids), Operation.ended_at.is_(None)).order_by(Operation.id)
    )
    return {operation.job_id: operation for operation in rows}


def find_graph(session: Session, graph_id: int) -> Graph | None:
    return session.get(Graph, graph_id)


def name_of_graph(session: Session, graph_id: int) -> str | None:
    """Of the job, as its code calls it."""
    return session.scalar(select(name_in_code()).where(Graph.id == graph_id))


def neighbour(session: Session, job_id: int, directory: str, name: str) -> str | None:
    """Another job that has its checkpoints in this directory under this name, or is to. Whoever asks next waits until this transaction
    is over: of two that want the same place one is the first."""
    place = _normal(directory)
    session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"{place} {name}", 0))))
    asked = Spec.body["checkpointing"]["directory"].astext
    wanted = (
        select(Job.name, asked)
        .join(Spec, (Spec.job_id == Job.id) & (Spec.number == Job.spec_number))
        .join(Graph, Graph.id == Spec.graph_id)
        .where(Job.id != job_id, Job.deleted_at.is_(None), asked.is_not(None), name_in_code() == name)
    )
    used = (
        select(Job.name, Run.checkpoint_directory)
        .join(Run, (Run.job_id == Job.id) & (Run.number == Job.run_number))
        .join(Spec, Spec.id == Run.spec_id)
        .join(Graph, Graph.id == func.coalesce(Run.graph_id, Spec.graph_id))
        .where(Job.id != job_id, Job.deleted_at.is_(None), name_in_code() == name)
    )
    rows = session.execute(union(wanted, used)).all()
    return next((other for other, where in rows if _normal(where) == place), None)


def _normal(directory: str) -> str:
    return posixpath.normpath(directory) if directory.startswith("/") else directory.rstrip("/")


def completed(session: Session, job_id: int, number: int) -> Checkpoint | None:
    return session.scalar(
        select(Checkpoint)
        .where(Checkpoint.job_id == job_id, Checkpoint.number == number, Checkpoint.state == CheckpointState.COMPLETED)
        .options(defer(Checkpoint.statistics), defer(Checkpoint.progress))
    )
