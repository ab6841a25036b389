"""Read and pin checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fastapi import Response
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from weir.protocol.ids import CheckpointId, Generation
from weir_backend.actions.rules import availability_refusal, checkpoint_refusal, enforce
from weir_backend.actions.schemas import Verb
from weir_backend.checkpoints import kept, repository, statistics
from weir_backend.checkpoints.kept import facts_of
from weir_backend.checkpoints.lineage import latest_restore
from weir_backend.checkpoints.location import location_of_run
from weir_backend.checkpoints.pins import pin_for_user, release_for_user
from weir_backend.checkpoints.schemas import (
    CheckpointCountsRead,
    CheckpointDetailRead,
    CheckpointOverviewRead,
    CheckpointPhaseSeriesRead,
    CheckpointRead,
    CheckpointSeriesPointRead,
    CheckpointSeriesRead,
    CheckpointStatisticsRead,
    CheckpointUpdate,
    RestoreRead,
)
from weir_backend.checkpoints.statistics import PHASES, PhaseMaxima, maxima_by_checkpoint, series_of_parts
from weir_backend.errors import NotFound, or_raise
from weir_backend.jobs import repository as jobs
from weir_backend.jobs.service import check_exists
from weir_backend.kit.access import Caller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.etags import check_if_match
from weir_backend.kit.listing import Listing, page
from weir_backend.kit.statistics import summarize
from weir_backend.kit.tasks import PIN, Tasks, enqueue_after_commit
from weir_backend.models import Checkpoint, CheckpointState, Job
from weir_backend.runs.graph import operators_by_chain
from weir_backend.settings import Settings


def list_checkpoints(
    session: Session, settings: Settings, caller: Caller, wanted: Listing, response: Response
) -> list[CheckpointRead]:
    found: Sequence[Checkpoint] = page(session, select(Checkpoint), wanted, repository.FIELDS, response, unit="checkpoints")
    return kept.read(session, settings, caller, found, now())


def read_checkpoint(session: Session, settings: Settings, caller: Caller, checkpoint: Checkpoint) -> CheckpointRead:
    return kept.read(session, settings, caller, [checkpoint], now())[0]


def detail(session: Session, settings: Settings, caller: Caller, checkpoint_id: int) -> CheckpointDetailRead:
    """Return one checkpoint with its statistics. Raises NotFound."""
    found = or_raise(repository.with_statistics(session, checkpoint_id), _not_found(checkpoint_id))
    names = operators_by_chain(repository.graph_of_run(session, found.run_id))
    subtasks = statistics.subtask_statistics(found.progress, found.statistics)
    triggered_ms = _ms(found.triggered_at)
    measured = CheckpointStatisticsRead(
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
        chains=statistics.chain_statistics(
            subtasks, names, triggered_ms=triggered_ms, is_completed=found.state is CheckpointState.COMPLETED
        ),
    )
    known = read_checkpoint(session, settings, caller, found)
    return CheckpointDetailRead(**dict(known), progress=found.progress, statistics=measured)


def _path_of(session: Session, checkpoint: Checkpoint) -> str | None:
    if checkpoint.state is not CheckpointState.COMPLETED:
        return None
    where = location_of_run(session, checkpoint.run_id)
    return where.manifest(CheckpointId(checkpoint.number), Generation(checkpoint.generation)) if where is not None else None


def summary(session: Session, settings: Settings, caller: Caller, job_id: int, last: int) -> CheckpointOverviewRead:
    """Return counts, summaries and the newest checkpoints of a job. Raises NotFound."""
    check_exists(session, job_id)
    job = session.get_one(Job, job_id)
    in_progress = repository.count_in_progress(session, job_id)
    rows = repository.last_completed(session, job_id, last)
    completed = repository.latest(session, job_id, CheckpointState.COMPLETED)
    failed = repository.latest(session, job_id, CheckpointState.FAILED)
    savepoint = repository.latest(session, job_id, CheckpointState.COMPLETED, Checkpoint.is_savepoint)
    rows_shown = [row for row in (completed, failed, savepoint) if row is not None]
    latest = {row.id: row for row in kept.read(session, settings, caller, rows_shown, now())}
    return CheckpointOverviewRead(
        counts=CheckpointCountsRead(
            in_progress=in_progress,
            completed=job.completed_checkpoints,
            failed=job.failed_checkpoints,
            savepoints=job.completed_savepoints,
            total=in_progress + job.completed_checkpoints + job.failed_checkpoints,
        ),
        summarized=len(rows),
        end_to_end_duration=summarize([row.end_to_end_ms for row in rows if row.end_to_end_ms is not None]),
        state_size=summarize([row.state_bytes for row in rows if row.state_bytes is not None]),
        checkpointed_size=summarize([row.checkpointed_bytes for row in rows if row.checkpointed_bytes is not None]),
        latest_completed=latest.get(completed.id) if completed else None,
        latest_failed=latest.get(failed.id) if failed else None,
        latest_savepoint=latest.get(savepoint.id) if savepoint else None,
        latest_restore=_restore(session, job_id),
    )


def _restore(session: Session, job_id: int) -> RestoreRead | None:
    found = latest_restore(session, job_id)
    if found is None:
        return None
    run, number = found.run, found.checkpoint
    assert run.running_at is not None
    checkpoint = jobs.completed(session, job_id, number)
    return RestoreRead(
        run_id=run.id,
        run=run.number,
        cause=run.cause,
        at=run.running_at,
        checkpoint=number,
        is_savepoint=checkpoint.is_savepoint if checkpoint is not None else None,
        path=found.path,
    )


def series(session: Session, job_id: int, last: int, chain: int | None, *, with_phases: bool) -> CheckpointSeriesRead:
    """Return sizes, durations and phases of the last completed checkpoints, as series. Raises NotFound."""
    check_exists(session, job_id)
    rows = repository.last_completed(session, job_id, last)[::-1]
    measured = [PhaseMaxima(**row._mapping) for row in repository.longest_phases(session, [row.id for row in rows], None)]
    longest = maxima_by_checkpoint(measured)
    return CheckpointSeriesRead(
        checkpoints=[CheckpointSeriesPointRead.read(row, **longest.get(row.id, dict.fromkeys(PHASES))) for row in rows],
        phases=_part_series(session, rows, measured, chain) if rows and with_phases else [],
    )


def _part_series(
    session: Session, rows: Sequence[Row[*tuple[Any, ...]]], measured: Sequence[PhaseMaxima], chain: int | None
) -> list[CheckpointPhaseSeriesRead]:
    """Return one series of phases per chain, or per subtask of ``chain`` if ``chain`` is not None. ``rows`` contains at least one
    row. ``measured`` contains the phases of all chains."""
    # Compare only checkpoints of the same graph, because the same chain number means different chains in different graphs.
    same_graph = {row.id for row in rows if row.graph_id == rows[-1].graph_id}
    parts = (
        measured
        if chain is None
        else [PhaseMaxima(**row._mapping) for row in repository.longest_phases(session, same_graph, chain)]
    )
    names = operators_by_chain(repository.graph_of_run(session, rows[-1].run_id))
    return series_of_parts([row.id for row in rows], [one for one in parts if one.checkpoint_id in same_graph], names)


def get_restorable(session: Session, job: Job, number: int) -> Checkpoint:
    """Return a completed checkpoint whose files exist. Raises NotFound, Conflict. The caller holds the lock on the job."""
    missing = NotFound("no-checkpoint", f"Job '{job.name}' has no checkpoint {number}.", "Choose one of the job's checkpoints.")
    found = or_raise(repository.by_number(session, job.id, number), missing)
    refusal = availability_refusal(facts_of(found, None, None))
    if refusal is not None and found.state is not CheckpointState.COMPLETED:
        raise NotFound(refusal.code, refusal.reason, refusal.next_step)
    enforce(refusal)
    return found


def pin(
    session: Session, tasks: Tasks, caller: Caller, checkpoint_id: int, seen: str | None, wanted: CheckpointUpdate
) -> Checkpoint:
    """Pin a checkpoint for the caller, or release the caller's pin. The pin is in force after a worker has written it to the job log. Raises
    NotFound, Conflict if the files are deleted or only other holders have pinned the checkpoint, and the errors of ``check_if_match``."""
    found = or_raise(repository.locked(session, checkpoint_id), _not_found(checkpoint_id))
    check_if_match(seen, found.version)
    enforce(checkpoint_refusal(Verb.PIN, facts_of(found, None, None)) if wanted.pinned else None)
    before = {"pinned": found.pinned, "pinned_reason": found.pinned_reason}
    if wanted.pinned:
        pin_for_user(session, found, caller, wanted.reason)
    else:
        release_for_user(session, found, caller)
    after = {"pinned": found.pinned, "pinned_reason": found.pinned_reason}
    audit(session, caller, "pin" if wanted.pinned else "unpin", "checkpoint", found.id, before=before, after=after)
    if found.pinned != found.pin_in_force and found.state is CheckpointState.COMPLETED:
        enqueue_after_commit(session, tasks, PIN, found.id)
    return found


def _not_found(checkpoint_id: int) -> NotFound:
    return NotFound("not-found", f"Checkpoint {checkpoint_id} does not exist.", "Choose an id from the list of checkpoints.")


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
