"""Reading checkpoints, and keeping them from being expired."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fastapi import Response
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from weir.protocol.ids import CheckpointId, Generation
from weir_backend.checkpoints import repository, statistics
from weir_backend.checkpoints.lines import restored_last
from weir_backend.checkpoints.place import place_of_run
from weir_backend.checkpoints.schemas import (
    CheckpointBody,
    CheckpointDetailBody,
    CheckpointPatch,
    CheckpointPointBody,
    CheckpointSeriesBody,
    CheckpointStatisticsBody,
    CountsBody,
    JobSummaryBody,
    PartSeriesBody,
    RestoreBody,
    SummaryBody,
)
from weir_backend.checkpoints.series import PHASES, Longest, longest_of_each, parts_of
from weir_backend.errors import Conflict, NotFound
from weir_backend.graphs.names import operators_by_chain
from weir_backend.jobs import repository as jobs
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.listing import Listing, page
from weir_backend.kit.summaries import summary_of
from weir_backend.kit.tasks import PIN, Tasks, ask
from weir_backend.kit.versions import check_version
from weir_backend.models import Checkpoint, CheckpointState, Job


def list_checkpoints(session: Session, wanted: Listing, response: Response) -> Sequence[Checkpoint]:
    found: Sequence[Checkpoint] = page(session, select(Checkpoint), wanted, repository.FIELDS, response, unit="checkpoints")
    return found


def detail(session: Session, checkpoint_id: int) -> CheckpointDetailBody:
    """Raises NotFound."""
    found = repository.with_statistics(session, checkpoint_id)
    if found is None:
        raise _none(checkpoint_id)
    names = operators_by_chain(repository.graph_of_run(session, found.run_id))
    subtasks = statistics.subtasks_of(found.progress, found.statistics)
    triggered_ms = _ms(found.triggered_at)
    measured = CheckpointStatisticsBody(
        id=found.number,
        status=found.state,
        is_savepoint=found.is_savepoint,
        trigger_timestamp=triggered_ms,
        latest_ack_timestamp=_ms(found.latest_ack_at) if found.latest_ack_at else None,
        checkpointed_size=found.checkpointed_bytes,
        state_size=found.state_bytes,
        end_to_end_duration=found.end_to_end_ms,
        num_subtasks=found.subtasks,
        num_acknowledged_subtasks=found.acknowledged,
        external_path=_path_of(session, found),
        discarded=found.discarded_at is not None,
        failure_timestamp=_ms(found.failed_at) if found.failed_at else None,
        failure_message=found.failure,
        summary=statistics.summary(subtasks),
        chains=statistics.chains_of(
            subtasks, names, triggered_ms=triggered_ms, is_completed=found.state is CheckpointState.COMPLETED
        ),
    )
    known = CheckpointBody.model_validate(found).model_dump()
    return CheckpointDetailBody(**known, progress=found.progress, statistics=measured)


def _path_of(session: Session, checkpoint: Checkpoint) -> str | None:
    if checkpoint.state is not CheckpointState.COMPLETED:
        return None
    where = place_of_run(session, checkpoint.run_id)
    return where.manifest(CheckpointId(checkpoint.number), Generation(checkpoint.generation)) if where is not None else None


def summary(session: Session, job_id: int, last: int) -> JobSummaryBody:
    """Raises NotFound."""
    if not repository.job_exists(session, job_id):
        raise NotFound("not-found", f"there is no job {job_id}")
    counted = repository.counts(session, job_id)
    by_state = {state: sum(count for one, _, count in counted if one is state) for state in CheckpointState}
    rows = repository.measured_of_last(session, job_id, last)
    durations = summary_of([row.end_to_end_ms for row in rows if row.end_to_end_ms is not None])
    sizes = summary_of([row.state_bytes for row in rows if row.state_bytes is not None])
    written = summary_of([row.checkpointed_bytes for row in rows if row.checkpointed_bytes is not None])
    completed = repository.latest(session, job_id, CheckpointState.COMPLETED)
    failed = repository.latest(session, job_id, CheckpointState.FAILED)
    savepoint = repository.latest(session, job_id, CheckpointState.COMPLETED, Checkpoint.is_savepoint.is_(True))
    return JobSummaryBody(
        counts=CountsBody(
            in_progress=by_state[CheckpointState.IN_PROGRESS],
            completed=by_state[CheckpointState.COMPLETED],
            failed=by_state[CheckpointState.FAILED],
            savepoints=sum(count for state, owned, count in counted if owned and state is CheckpointState.COMPLETED),
            total=sum(by_state.values()),
        ),
        over=len(rows),
        end_to_end_duration=SummaryBody.model_validate(durations) if durations else None,
        state_size=SummaryBody.model_validate(sizes) if sizes else None,
        checkpointed_size=SummaryBody.model_validate(written) if written else None,
        latest_completed=CheckpointBody.model_validate(completed) if completed else None,
        latest_failed=CheckpointBody.model_validate(failed) if failed else None,
        latest_savepoint=CheckpointBody.model_validate(savepoint) if savepoint else None,
        latest_restore=_restore(session, job_id),
    )


def _restore(session: Session, job_id: int) -> RestoreBody | None:
    found = restored_last(session, job_id)
    if found is None:
        return None
    run, number = found.run, found.checkpoint
    assert run.running_at is not None
    checkpoint = jobs.completed(session, job_id, number) if number is not None else None
    return RestoreBody(
        run_id=run.id,
        run=run.number,
        cause=run.cause,
        at=run.running_at,
        checkpoint=number,
        is_savepoint=checkpoint.is_savepoint if checkpoint is not None else None,
        path=found.path,
    )


def series(session: Session, job_id: int, last: int, chain: int | None, *, with_parts: bool) -> CheckpointSeriesBody:
    """Raises NotFound."""
    if not repository.job_exists(session, job_id):
        raise NotFound("not-found", f"there is no job {job_id}")
    rows = repository.completed_of_last(session, job_id, last)[::-1]
    measured = [Longest(**row._mapping) for row in repository.longest(session, [row.id for row in rows], None)]
    longest = longest_of_each(measured)
    return CheckpointSeriesBody(
        checkpoints=[
            CheckpointPointBody(
                id=row.id,
                number=row.number,
                triggered_at=row.triggered_at,
                is_savepoint=row.is_savepoint,
                end_to_end_ms=row.end_to_end_ms,
                state_bytes=row.state_bytes,
                checkpointed_bytes=row.checkpointed_bytes,
                **longest.get(row.id, dict.fromkeys(PHASES)),
            )
            for row in rows
        ],
        parts=_parts(session, rows, measured, chain) if rows and with_parts else [],
    )


def _parts(
    session: Session, rows: Sequence[Row[*tuple[Any, ...]]], measured: Sequence[Longest], chain: int | None
) -> list[PartSeriesBody]:
    """``rows``: at least one. ``measured``: by chain."""
    # A chain of another graph is another one, though its number be the same.
    alike = {row.id for row in rows if row.graph_id == rows[-1].graph_id}
    parts = measured if chain is None else [Longest(**row._mapping) for row in repository.longest(session, alike, chain)]
    names = operators_by_chain(repository.graph_of_run(session, rows[-1].run_id))
    return parts_of([row.id for row in rows], [one for one in parts if one.checkpoint_id in alike], names)


def completed_and_there(session: Session, job: Job, number: int) -> Checkpoint:
    """A checkpoint that something may refer to. Raises NotFound, Conflict. Under the lock on the job."""
    found = jobs.completed(session, job.id, number)
    if found is None:
        raise NotFound(
            "no-checkpoint", f"job '{job.name}' has no completed checkpoint {number}", "list its checkpoints, and choose one"
        )
    _there(found)
    return found


def _there(found: Checkpoint) -> None:
    if found.discarded_at is not None:
        raise Conflict(
            "discarded",
            f"the files of checkpoint {found.number} are gone since {found.discarded_at:%Y-%m-%d %H:%M} UTC",
            "choose another one",
        )
    if found.leaving_at is not None:
        raise Conflict(
            "being-deleted",
            f"checkpoint {found.number} is being deleted since {found.leaving_at:%Y-%m-%d %H:%M} UTC",
            "choose another one",
        )


def pin(
    session: Session, tasks: Tasks, caller: Caller, checkpoint_id: int, seen: str | None, wanted: CheckpointPatch
) -> Checkpoint:
    """It is in force once a worker has written it into the job's log. Raises NotFound, what ``check_version`` raises, and Conflict if there
    is nothing left to keep."""
    found = repository.locked(session, checkpoint_id)
    if found is None:
        raise _none(checkpoint_id)
    check_version(seen, found.version)
    if wanted.pinned:
        _there(found)
    before = {"pinned": found.pinned, "pinned_reason": found.pinned_reason}
    found.pinned, found.pinned_reason = wanted.pinned, wanted.reason if wanted.pinned else ""
    found.version += 1
    after = {"pinned": found.pinned, "pinned_reason": found.pinned_reason}
    audit(session, caller, "pin" if wanted.pinned else "unpin", "checkpoint", found.id, before=before, after=after)
    if found.pinned != found.pin_in_force and found.state is CheckpointState.COMPLETED:
        ask(session, tasks, PIN, found.id)
    return found


def _none(checkpoint_id: int) -> NotFound:
    return NotFound("not-found", f"there is no checkpoint {checkpoint_id}", "ids are in the list of checkpoints")


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
