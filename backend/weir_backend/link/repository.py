"""Database access for the ingestion of events. For speed, the queries use columns and bulk statements instead of an object per row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, LiteralString, cast

import psycopg
from sqlalchemy import Row, Table, and_, bindparam, insert, or_, select, update
from sqlalchemy.orm import Session

from weir.protocol.events import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    CommandAnswered,
    FailureOccurred,
    MetricsSampled,
    NumberedEvent,
    ProfileEnded,
    Recovered,
    RunStateChanged,
    SubtasksAcknowledged,
)
from weir_backend.checkpoints.lineage import newest_completed
from weir_backend.errors import Unavailable
from weir_backend.kit.jsonb import dumps
from weir_backend.link.changes import Changes, CheckpointRow, CommandRow, FailureRow, OperationEnd, RunFacts, RunRow
from weir_backend.link.projection import FULFILLED_COMMANDS, SAVEPOINT_TRIGGERS
from weir_backend.models import Checkpoint, CheckpointState, Command, Failure, Job, Operation, Run, RunState
from weir_backend.runs.repository import store_graph
from weir_backend.webhooks import outbox

COMMANDS_MAX = 100
"""The largest number of commands in one response."""
_RUNS, _JOBS, _CHECKPOINTS, _FAILURES, _COMMANDS, _OPERATIONS = (
    cast(Table, one.__table__) for one in (Run, Job, Checkpoint, Failure, Command, Operation)
)
_OF_RUN = tuple(one.name for one in fields(RunRow) if one.name not in ("id", "job_id"))
_OF_FAILURE = ("kind", "recovered_at", "downtime_ms", "recovery")
"""The columns of a failure that can change after the driver has reported the failure."""
_AT_ONCE = ("number", "generation", "trigger", "triggered_at", "triggered_event", "subtasks")
_LATER = (
    "state", "parent", "latest_ack_at", "completed_at", "failed_at", "failure", "end_to_end_ms", "state_bytes",
    "checkpointed_bytes", "acknowledged", "progress", "statistics",
)  # fmt: skip
"""The columns of a checkpoint that can change after the checkpoint was triggered."""
_UPDATE_CHECKPOINT = (
    update(_CHECKPOINTS).where(_CHECKPOINTS.c.id == bindparam("row")).values({name: bindparam(f"new_{name}") for name in _LATER})
)
_UPDATE_FAILURE = (
    update(_FAILURES).where(_FAILURES.c.id == bindparam("row")).values({name: bindparam(f"new_{name}") for name in _OF_FAILURE})
)


# The following statements are built only once, because every batch uses them, and building a statement takes longer than executing it.
_AUTHENTICATION = select(Run.job_id, Run.token_digest, Run.fenced_at, Run.ended_at, Run.last_command, Run.last_contact_at).where(
    Run.id == bindparam("run_id")
)
_LOCKED = (
    # One query locks the job and then the run, because Postgres locks the rows of a join in the order of the tables. After waiting for the
    # lock of a row, Postgres reads the row again, so the values are current.
    select(Job.event_number, *(getattr(Run, name) for name in _OF_RUN), Run.fenced_at)
    .join_from(Job, Run, Run.job_id == Job.id)
    .where(Job.id == bindparam("job_id"), Run.id == bindparam("run_id"))
    .with_for_update(key_share=True, of=(Job, Run))
)
_AFFECTED_CHECKPOINTS = select(
    # Do not load the statistics of checkpoints, because the statistics are large, and only the event that completes a checkpoint sets them.
    Checkpoint.run_id, *(getattr(Checkpoint, one.name) for one in fields(CheckpointRow) if one.name != "statistics")
).where(
    or_(
        and_(Checkpoint.job_id == bindparam("job_id"), Checkpoint.number.in_(bindparam("numbers", expanding=True))),
        and_(Checkpoint.run_id == bindparam("run_id"), Checkpoint.state == CheckpointState.IN_PROGRESS),
    )
)  # fmt: skip


def authentication_row(
    session: Session, run_id: int
) -> Row[int, bytes, datetime | None, datetime | None, int, datetime | None] | None:
    """Return the columns that authentication needs, or None if the run does not exist."""
    return session.execute(_AUTHENTICATION, {"run_id": run_id}).one_or_none()


def locked(session: Session, job_id: int, run_id: int) -> tuple[int, RunRow, bool]:
    """Lock the job, then the run. Return three values: the number of the job's newest event, the run, and whether the run is fenced."""
    values = dict(session.execute(_LOCKED, {"job_id": job_id, "run_id": run_id}).mappings().one())
    event_number, fenced = values.pop("event_number"), values.pop("fenced_at") is not None
    return event_number, RunRow(run_id, job_id, **values), fenced


def facts_for(session: Session, event_number: int, run: RunRow, events: Sequence[NumberedEvent]) -> RunFacts:
    """Load only the facts that the projection of ``events`` needs, because most batches contain only samples and acknowledgements. The
    caller holds the locks on the job and the run."""
    needs = _needs(events)
    gap = events[0].number > run.stored_event + 1
    checkpoints: dict[int, CheckpointRow] = {}
    taken: frozenset[int] = frozenset()
    if needs.checkpoints or needs.in_progress or gap:
        checkpoints, taken = _checkpoints(session, run, needs.checkpoints)
    requested = needs.requested or any(row.trigger in FULFILLED_COMMANDS for row in checkpoints.values())
    return RunFacts(
        event_number,
        run,
        checkpoints,
        taken,
        newest_completed(session, run.job_id, run.id) if needs.newest_completed else None,
        _open_failures(session, run) if needs.failures else [],
        _commands(session, run.id, needs.commands) if needs.commands or requested else {},
    )


@dataclass(slots=True)
class _Needs:
    checkpoints: set[int] = field(default_factory=set)
    commands: set[int] = field(default_factory=set)
    in_progress: bool = False
    requested: bool = False
    """Whether the batch can contain a checkpoint that a user has requested."""
    newest_completed: bool = False
    failures: bool = False


def _needs(events: Sequence[NumberedEvent]) -> _Needs:
    needs = _Needs()
    for numbered in events:
        match numbered.event:
            case MetricsSampled():
                pass
            case SubtasksAcknowledged(checkpoint) | CheckpointFailed(checkpoint):
                needs.checkpoints.add(checkpoint)
            case CheckpointTriggered(checkpoint, trigger=trigger) | CheckpointCompleted(checkpoint, trigger=trigger):
                needs.checkpoints.add(checkpoint)
                needs.newest_completed = True
                needs.requested |= trigger in FULFILLED_COMMANDS
            case CommandAnswered(command) | ProfileEnded(command):
                needs.commands.add(command)
            case RunStateChanged():
                needs.in_progress = needs.failures = True
            case FailureOccurred() | Recovered():
                needs.failures = True
            case _:
                pass
    return needs


def _checkpoints(session: Session, run: RunRow, numbers: Iterable[int]) -> tuple[dict[int, CheckpointRow], frozenset[int]]:
    parameters = {"job_id": run.job_id, "run_id": run.id, "numbers": sorted(numbers)}
    own: dict[int, CheckpointRow] = {}
    taken: set[int] = set()
    for run_id, *values in session.execute(_AFFECTED_CHECKPOINTS, parameters):
        row = CheckpointRow(*values)
        if run_id == run.id:
            own[row.number] = row
        else:
            taken.add(row.number)
    return own, frozenset(taken)


def _open_failures(session: Session, run: RunRow) -> list[FailureRow]:
    query = (
        select(Failure.generation, Failure.reason, Failure.at, Failure.kind, Failure.id)
        .where(Failure.job_id == run.job_id, Failure.run_id == run.id, Failure.recovery.is_(None))
        .order_by(Failure.id)
    )
    return [FailureRow(*values) for values in session.execute(query)]


def _commands(session: Session, run_id: int, answered: Iterable[int]) -> dict[int, CommandRow]:
    """Return the commands whose number is in ``answered``, and the commands whose operation is open."""
    query = (
        select(
            Command.number, Command.kind, Operation.id, Command.outcome, Command.reason, Command.answered_event
        )
        .outerjoin(Operation, and_(Operation.id == Command.operation_id, Operation.ended_at.is_(None)))
        .where(Command.run_id == run_id, or_(Command.number.in_(sorted(answered)), Operation.id.is_not(None)))
    )  # fmt: skip
    return {row.number: row for row in (CommandRow(*values) for values in session.execute(query))}


# ---- writing -----------------------------------------------------------------------------------


def write(session: Session, changes: Changes, *, moment: datetime, contact: bool) -> None:
    """Write the changes. If ``contact`` is True, also record ``moment`` as the time of the driver's last contact. Raises Unavailable if the
    database connection is lost."""
    run = changes.run
    graph_ids = {one.digest: store_graph(session, one) for one in changes.graphs}
    _write_events(session, changes, graph_ids)
    _copy(
        session,
        "COPY metric_samples (run_id, slot, at, metrics) FROM STDIN",
        [(run.id, one.slot, one.at, dumps(one.metrics)) for one in changes.samples],
    )
    _write_checkpoints(session, run, changes.checkpoints.values())
    _write_failures(session, run, changes.failures)
    _write_commands(session, run.id, changes.commands.values())
    _end_operations(session, changes.operations, moment)
    values: dict[str, Any] = {name: getattr(run, name) for name in _OF_RUN}
    if changes.graphs:
        values["graph_id"] = graph_ids[changes.graphs[-1].digest]
    if contact:
        values["last_contact_at"] = moment
    changed = update(_RUNS).where(_RUNS.c.id == run.id).values(values)
    if changes.events:
        # Update the run and the job in one statement, because the time for a small batch depends mainly on the number of statements.
        of_job: dict[str, Any] = {"event_number": changes.event_number}
        if changes.state_changed or changes.operations:
            # Store in the database that the reconciliation of the job is due, because a notification can be lost.
            of_job["next_reconcile_at"] = moment
        if any(row.state is CheckpointState.COMPLETED for row in changes.checkpoints.values()):
            of_job["checkpoint_reported_at"] = moment
        job = update(_JOBS).where(_JOBS.c.id == run.job_id).values(of_job)
        changed = changed.add_cte(job.cte("job"))
    session.connection().execute(changed)


def touch(session: Session, run_id: int, moment: datetime) -> None:
    session.connection().execute(update(_RUNS).where(_RUNS.c.id == run_id).values(last_contact_at=moment))


def _write_events(session: Session, changes: Changes, graph_ids: Mapping[bytes, int]) -> None:
    run = changes.run
    rows = []
    for one in changes.events:
        fields = one.fields if one.graph is None else {**one.fields, "graph_id": graph_ids[one.graph.digest]}
        rows.append((run.job_id, one.number, run.id, one.run_event, one.kind, dumps(fields), one.at))
    _copy(session, "COPY events (job_id, number, run_id, run_event, kind, fields, at) FROM STDIN", rows)


def _write_checkpoints(session: Session, run: RunRow, rows: Iterable[CheckpointRow]) -> None:
    new, known = [], []
    for row in rows:
        values = {name: getattr(row, name) for name in _LATER}
        if row.id is None:
            values |= {name: getattr(row, name) for name in _AT_ONCE}
            values |= {"job_id": run.job_id, "run_id": run.id, "is_savepoint": row.trigger in SAVEPOINT_TRIGGERS}
            new.append(values)
        else:
            known.append({f"new_{name}": value for name, value in values.items()} | {"row": row.id})
    if new:
        session.connection().execute(insert(_CHECKPOINTS), new)
    if known:
        session.connection().execute(_UPDATE_CHECKPOINT, known)


def _write_failures(session: Session, run: RunRow, rows: Sequence[FailureRow]) -> None:
    of_run = {"job_id": run.job_id, "run_id": run.id}
    new = [{name: value for name, value in asdict(row).items() if name != "id"} | of_run for row in rows if row.id is None]
    known = [{f"new_{name}": getattr(row, name) for name in _OF_FAILURE} | {"row": row.id} for row in rows if row.id is not None]
    if new:
        session.connection().execute(insert(_FAILURES), new)
    if known:
        session.connection().execute(_UPDATE_FAILURE, known)


def _write_commands(session: Session, run_id: int, rows: Iterable[CommandRow]) -> None:
    for row in rows:
        session.connection().execute(
            update(_COMMANDS)
            .where(_COMMANDS.c.run_id == run_id, _COMMANDS.c.number == row.number)
            .values(outcome=row.outcome, reason=row.reason, answered_event=row.answered_event)
        )


def _end_operations(session: Session, ends: Sequence[OperationEnd], moment: datetime) -> None:
    for end in ends:
        session.connection().execute(
            update(_OPERATIONS)
            .where(_OPERATIONS.c.id == end.operation_id, _OPERATIONS.c.ended_at.is_(None))
            .values(state=end.state, result=end.result, problem=end.problem, profile=end.profile, ended_at=moment)
        )
    if ends:
        outbox.add_ended_operations(session, [end.operation_id for end in ends])


def _copy(session: Session, statement: LiteralString, rows: Sequence[tuple[Any, ...]]) -> None:
    if not rows:
        return
    connection = cast("psycopg.Connection[Any]", session.connection().connection.driver_connection)
    try:
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except psycopg.OperationalError as error:
        raise Unavailable("database", "The connection to the database was lost.", "Retry.") from error


# ---- commands ----------------------------------------------------------------------------------


def next_command(session: Session, run_id: int) -> int:
    """Lock the run, and return the number of its next command."""
    taken = update(_RUNS).where(_RUNS.c.id == run_id).values(last_command=_RUNS.c.last_command + 1)
    return int(session.connection().execute(taken.returning(_RUNS.c.last_command)).scalar_one())


def skip_commands(session: Session, run_id: int, up_to: int) -> None:
    session.connection().execute(
        update(_RUNS).where(_RUNS.c.id == run_id, _RUNS.c.last_command < up_to).values(last_command=up_to)
    )


def commands_of(session: Session, run_id: int, after: int) -> list[tuple[int, str, dict[str, Any]]]:
    query = (
        select(Command.number, Command.kind, Command.fields)
        .where(Command.run_id == run_id, Command.number > after)
        .order_by(Command.number)
        .limit(COMMANDS_MAX)
    )
    return [(number, kind, fields) for number, kind, fields in session.execute(query)]


# ---- fencing -----------------------------------------------------------------------------------


def fence(session: Session, run: RunRow, *, state: RunState, reason: str, recovery: str, moment: datetime) -> None:
    connection = session.connection()
    ended_at = run.ended_at or moment
    connection.execute(
        update(_RUNS).where(_RUNS.c.id == run.id).values(state=state, reason=reason, ended_at=ended_at, fenced_at=moment)
    )
    connection.execute(
        update(_CHECKPOINTS)
        .where(_CHECKPOINTS.c.run_id == run.id, _CHECKPOINTS.c.state == CheckpointState.IN_PROGRESS)
        .values(state=CheckpointState.FAILED, failed_at=moment, failure="the run ended before the checkpoint was completed")
    )
    connection.execute(
        update(_FAILURES)
        .where(_FAILURES.c.job_id == run.job_id, _FAILURES.c.run_id == run.id, _FAILURES.c.recovery.is_(None))
        .values(recovery=recovery)
    )
