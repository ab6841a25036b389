"""Queries on checkpoints, their retention and verification. Only ``with_statistics`` loads the statistics of a checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    ColumnExpressionArgument,
    Row,
    and_,
    case,
    cast,
    column,
    delete,
    func,
    null,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import Session, aliased, undefer

from weir_backend.checkpoints.location import CheckpointLocation, job_name_in_graph
from weir_backend.checkpoints.retention_rules import UNDO_PIN, PlanReference
from weir_backend.jobs.spec import Checkpointing
from weir_backend.kit.database import pairs
from weir_backend.kit.listing import Fields, equals, flag, one_of
from weir_backend.models import (
    Checkpoint,
    CheckpointPin,
    CheckpointState,
    Graph,
    Job,
    PinHolder,
    PlanKind,
    PlanState,
    RecoveryPlan,
    Run,
    Spec,
    Verification,
)


def _kept() -> ColumnElement[bool]:
    """Return the SQL condition for completed checkpoints whose files are not deleted."""
    return (Checkpoint.state == CheckpointState.COMPLETED) & Checkpoint.discarded_at.is_(None)


FIELDS = Fields(
    sortable={
        "id": Checkpoint.id,
        "number": Checkpoint.number,
        "triggered_at": Checkpoint.triggered_at,
        "completed_at": Checkpoint.completed_at,
        "end_to_end_ms": Checkpoint.end_to_end_ms,
        "state_bytes": Checkpoint.state_bytes,
        "checkpointed_bytes": Checkpoint.checkpointed_bytes,
    },
    filters={
        "id": equals(Checkpoint.id, int),
        "job_id": equals(Checkpoint.job_id, int),
        "run_id": equals(Checkpoint.run_id, int),
        "number": equals(Checkpoint.number, int),
        "state": one_of(Checkpoint.state, CheckpointState),
        "trigger": equals(Checkpoint.trigger, str),
        "is_savepoint": equals(Checkpoint.is_savepoint, bool),
        "pinned": equals(Checkpoint.pinned, bool),
        "kept": flag("kept", _kept),
    },
    default=("id", True),
    key=Checkpoint.id,
)


def with_statistics(session: Session, checkpoint_id: int) -> Checkpoint | None:
    query = select(Checkpoint).where(Checkpoint.id == checkpoint_id)
    return session.scalar(query.options(undefer(Checkpoint.progress), undefer(Checkpoint.statistics)))


def locked(session: Session, checkpoint_id: int) -> Checkpoint | None:
    """Lock the job, then the checkpoint, and return the checkpoint."""
    job_id = session.scalar(select(Checkpoint.job_id).where(Checkpoint.id == checkpoint_id))
    if job_id is None:
        return None
    session.execute(select(Job.id).where(Job.id == job_id).with_for_update(key_share=True))
    found = select(Checkpoint).where(Checkpoint.id == checkpoint_id).with_for_update(key_share=True)
    return session.scalar(found.execution_options(populate_existing=True))


def pins(session: Session, checkpoint_ids: Collection[int]) -> dict[int, list[CheckpointPin]]:
    """Return the stored pins by checkpoint, oldest first."""
    found: dict[int, list[CheckpointPin]] = {}
    if checkpoint_ids:
        rows = select(CheckpointPin).where(CheckpointPin.checkpoint_id.in_(checkpoint_ids)).order_by(CheckpointPin.id)
        for pin in session.scalars(rows):
            found.setdefault(pin.checkpoint_id, []).append(pin)
    return found


def delete_pins(session: Session, checkpoint_ids: Collection[int]) -> None:
    session.execute(delete(CheckpointPin).where(CheckpointPin.checkpoint_id.in_(checkpoint_ids)))


def graph_of_run(session: Session, run_id: int) -> dict[str, Any] | None:
    return session.scalar(select(Graph.body).join(Run, Run.graph_id == Graph.id).where(Run.id == run_id))


def spec_of(session: Session, job_id: int, number: int) -> Spec | None:
    """Return the spec version of the run that took checkpoint ``number``. Return None if the job has no completed checkpoint with this number."""
    taken = (Checkpoint.job_id == job_id) & (Checkpoint.number == number) & (Checkpoint.state == CheckpointState.COMPLETED)
    return session.scalar(
        select(Spec).join(Run, Run.spec_id == Spec.id).join(Checkpoint, Checkpoint.run_id == Run.id).where(taken)
    )


def count_in_progress(session: Session, job_id: int) -> int:
    in_progress = (Checkpoint.job_id == job_id, Checkpoint.state == CheckpointState.IN_PROGRESS)
    return session.scalar(select(func.count()).select_from(Checkpoint).where(*in_progress)) or 0


def completed_since(session: Session, job_id: int, generation: int) -> frozenset[int]:
    """Return the numbers of the checkpoints that ``generation`` or a later generation of the runtime has completed."""
    taken = (Checkpoint.job_id == job_id, Checkpoint.state == CheckpointState.COMPLETED, Checkpoint.generation >= generation)
    return frozenset(session.scalars(select(Checkpoint.number).where(*taken)))


def last_completed(
    session: Session, job_id: int, count: int
) -> Sequence[Row[int, int, int, datetime, bool, int | None, int | None, int | None, int | None]]:
    """Return the last completed checkpoints and the graph of each, newest first."""
    return session.execute(
        select(
            Checkpoint.id,
            Checkpoint.number,
            Checkpoint.run_id,
            Checkpoint.triggered_at,
            Checkpoint.is_savepoint,
            Checkpoint.end_to_end_ms,
            Checkpoint.state_bytes,
            Checkpoint.checkpointed_bytes,
            Run.graph_id,
        )
        .join(Run, Run.id == Checkpoint.run_id)
        .where(Checkpoint.job_id == job_id, Checkpoint.completed_at.is_not(None))
        .order_by(Checkpoint.number.desc())
        .limit(count)
    ).all()


def longest_phases(session: Session, checkpoint_ids: Collection[int], chain: int | None) -> Sequence[Row[Any]]:
    """Return the longest duration of each phase, by checkpoint and chain. If ``chain`` is not None, return the durations of each phase by
    checkpoint and subtask of this chain. The database computes the maximums, because the statistics of a hundred checkpoints are a thousand times
    as large as the result."""
    listed = case((func.jsonb_typeof(Checkpoint.statistics) == "array", Checkpoint.statistics), else_=cast([], JSONB))
    one = func.jsonb_array_elements(listed).table_valued(column("value", JSONB), name="one", joins_implicitly=True)
    value: Any = one.c.value
    group, measured = [value[0].as_integer()], value[2]
    if chain is not None:
        group.append(value[1].as_integer())
    query = select(
        Checkpoint.id.label("checkpoint_id"),
        group[0].label("chain"),
        (group[1] if chain is not None else null()).label("index"),
        func.max(measured["start_delay_ms"].as_float()).label("start_delay_ms"),
        func.max(measured["alignment_ms"].as_float()).label("alignment_ms"),
        (func.max(measured["sync_us"].as_float()) / 1000).label("sync_ms"),
        func.max(measured["async_ms"].as_float()).label("async_ms"),
    ).where(Checkpoint.id.in_(checkpoint_ids))
    if chain is not None:
        query = query.where(group[0] == chain)
    return session.execute(query.group_by(Checkpoint.id, *group)).all()


def latest(session: Session, job_id: int, state: CheckpointState, *also: ColumnExpressionArgument[bool]) -> Checkpoint | None:
    query = select(Checkpoint).where(Checkpoint.job_id == job_id, Checkpoint.state == state, *also)
    return session.scalar(query.order_by(Checkpoint.number.desc()).limit(1))


@dataclass(frozen=True, slots=True)
class VerificationClaim:
    """The exclusive right of one worker to verify a checkpoint. The worker sends ``claim`` with each report. ``files_done`` is the number of
    files that are verified already."""

    checkpoint_id: int
    claim: int
    files_done: int


def verifications_running(session: Session, moment: datetime) -> int:
    """Return the number of verifications in progress. Do not count verifications that are waiting for a retry because storage did
    not answer."""
    in_progress = (Verification.next_try_at > moment, Verification.problem.is_(None))
    return session.scalar(select(func.count()).select_from(Verification).where(*in_progress)) or 0


def due_for_verification(session: Session, moment: datetime, *, cutoff: datetime, limit: int) -> Sequence[int]:
    """Return the checkpoints to verify, the most important first. Checkpoints whose verification a user or a plan has requested have the
    highest priority. The newest checkpoint of a job has the second priority if no checkpoint of this job was verified since ``cutoff``. All
    other checkpoints that were not verified since ``cutoff`` have the lowest priority, in the order of their last verification, or of their
    completion if they were never verified."""
    candidates = (
        select(
            Checkpoint.id,
            func.coalesce(Checkpoint.verified_at, Checkpoint.completed_at).label("seen_at"),
            func.row_number().over(partition_by=Checkpoint.job_id, order_by=Checkpoint.number.desc()).label("rank"),
            func.max(Checkpoint.verified_at).over(partition_by=Checkpoint.job_id).label("job_seen_at"),
        )
        .join(Job, Job.id == Checkpoint.job_id)
        .where(
            _kept(),
            Checkpoint.deleting_since.is_(None),
            Job.deleted_at.is_(None),
        )
        .subquery()
    )
    newest = and_(candidates.c.rank == 1, or_(candidates.c.job_seen_at.is_(None), candidates.c.job_seen_at < cutoff))
    requested = Verification.requested.is_(True)
    rank = case((requested, 0), (newest, 1), else_=2)
    return session.scalars(
        select(candidates.c.id)
        .outerjoin(Verification, Verification.checkpoint_id == candidates.c.id)
        .where(
            or_(requested, newest, candidates.c.seen_at < cutoff),
            or_(Verification.checkpoint_id.is_(None), Verification.next_try_at <= moment),
        )
        .order_by(rank, candidates.c.seen_at, candidates.c.id)
        .limit(limit)
    ).all()


def claim_verification(
    session: Session, checkpoint_id: int, moment: datetime, until: datetime, *, requested: bool
) -> VerificationClaim | None:
    """Claim the verification of a checkpoint. Return None if another worker has claimed the verification already. ``requested`` is
    True if a user or a plan requests the verification. A requested verification replaces an existing claim and starts from the
    first file. If the verification has made no progress by ``until``, it is enqueued again."""
    row = insert(Verification).values(checkpoint_id=checkpoint_id, claim=1, requested=requested, tries=1, next_try_at=until)
    changes: dict[str, Any] = {"claim": Verification.claim + 1, "next_try_at": until, "problem": None}
    if requested:
        changes |= {"requested": True, "files_done": 0, "bytes_done": 0, "tries": 1}
    else:
        changes |= {"tries": Verification.tries + 1}
    made = row.on_conflict_do_update(
        index_elements=[Verification.checkpoint_id], set_=changes, where=None if requested else Verification.next_try_at <= moment
    ).returning(Verification.checkpoint_id, Verification.claim, Verification.files_done)
    found = session.execute(made).one_or_none()
    return VerificationClaim(*found) if found is not None else None


def verification_tries(session: Session, checkpoint_ids: Sequence[int]) -> dict[int, int]:
    """Return the number of verification attempts for each checkpoint. Attempts before the last progress of the verification do not count."""
    return pairs(
        session, select(Verification.checkpoint_id, Verification.tries).where(Verification.checkpoint_id.in_(checkpoint_ids))
    )


def find_verification(session: Session, checkpoint_id: int, *, lock: bool = False) -> Verification | None:
    query = select(Verification).where(Verification.checkpoint_id == checkpoint_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True) if lock else query)


def end_verification(session: Session, checkpoint_id: int) -> None:
    session.execute(delete(Verification).where(Verification.checkpoint_id == checkpoint_id))


def jobs_due_for_gc(session: Session, moment: datetime, *, limit: int) -> Sequence[int]:
    """Return the jobs that are due for garbage collection. Jobs that another transaction has locked are left out."""
    return session.scalars(
        select(Job.id)
        .where(Job.next_retention_at <= moment, Job.deleted_at.is_(None), Job.run_number > 0)
        .order_by(Job.next_retention_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def postpone_gc(session: Session, job_ids: Collection[int], moment: datetime) -> None:
    session.execute(update(Job).where(Job.id.in_(job_ids)).values(next_retention_at=moment))


def kept_at(session: Session, job_id: int, place: CheckpointLocation) -> Sequence[Checkpoint]:
    """Lock and return the completed checkpoints that are not deleted and that are in the checkpoint directory of ``place``. Ignore
    runs of the job that used another checkpoint directory."""
    return session.scalars(
        select(Checkpoint)
        .join(Run, Run.id == Checkpoint.run_id)
        .where(
            Checkpoint.job_id == job_id,
            _kept(),
            Run.checkpoint_directory == place.directory,
        )
        .order_by(Checkpoint.number)
        .with_for_update(of=Checkpoint, key_share=True)
        .execution_options(populate_existing=True)
    ).all()


def discarded_among(session: Session, job_id: int, numbers: Collection[int]) -> frozenset[int]:
    discarded = (Checkpoint.job_id == job_id, Checkpoint.number.in_(numbers), Checkpoint.discarded_at.is_not(None))
    return frozenset(session.scalars(select(Checkpoint.number).where(*discarded)))


def known_generation(session: Session, job_id: int, place: CheckpointLocation) -> int:
    """Return the newest generation that a run of this job with this checkpoint directory has reported."""
    query = select(func.max(Run.generation)).where(Run.job_id == job_id, Run.checkpoint_directory == place.directory)
    return session.scalar(query) or 0


def job_sharing_log(session: Session, job_id: int, place: CheckpointLocation) -> str | None:
    """Return the name of another job that has run with the same job log, or None."""
    return session.scalar(
        select(Job.name)
        .join(Run, Run.job_id == Job.id)
        .join(Spec, Spec.id == Run.spec_id)
        .join(Graph, Graph.id == func.coalesce(Run.graph_id, Spec.graph_id))
        .where(
            Run.checkpoint_directory == place.directory,
            Run.job_id != job_id,
            Job.deleted_at.is_(None),
            job_name_in_graph() == place.name,
        )
        .limit(1)
    )


def plan_references(session: Session, job_ids: Collection[int]) -> dict[int, list[PlanReference]]:
    """Return the plans that can need a checkpoint, by job."""
    undo = aliased(RecoveryPlan)
    undone = (
        select(undo.id)
        .where(undo.undo_of == RecoveryPlan.id, undo.kind == PlanKind.UNDO, undo.state == PlanState.APPLIED)
        .exists()
    )
    open_or_applied = (PlanState.PROPOSED, PlanState.APPROVED, PlanState.APPLYING, PlanState.APPLIED)
    query = select(RecoveryPlan, undone).where(
        RecoveryPlan.job_id.in_(job_ids),
        RecoveryPlan.state.in_(open_or_applied),
        or_(RecoveryPlan.safety_checkpoint.is_not(None), RecoveryPlan.state != PlanState.APPLIED),
    )
    found: dict[int, list[PlanReference]] = {}
    for plan, was_undone in session.execute(query):
        reference = PlanReference(
            id=plan.id,
            state=plan.state,
            target=plan.preview["checkpoint"],
            safety=plan.safety_checkpoint,
            created_at=plan.created_at,
            ended_at=plan.ended_at,
            undone=was_undone,
        )
        found.setdefault(plan.job_id, []).append(reference)
    return found


def retained_of_jobs(session: Session, job_ids: Collection[int]) -> dict[int, int]:
    """Return how many checkpoints each job retains."""
    retained = func.coalesce(Spec.body["checkpointing"]["retained"].as_integer(), Checkpointing().retained)
    of_job = (Spec.job_id == Job.id) & (Spec.number == Job.spec_number)
    return pairs(session, select(Job.id, retained).join(Spec, of_job).where(Job.id.in_(job_ids)))


@dataclass(frozen=True, slots=True)
class KeptCheckpoint:
    """A checkpoint of a job. ``run`` is the number of the run that completed the checkpoint. ``undamaged`` is True if the files of
    the checkpoint exist and have no known damage."""

    run: int
    undamaged: bool


def kept_of_jobs(session: Session, job_ids: Collection[int], numbers: Collection[int]) -> dict[int, dict[int, KeptCheckpoint]]:
    """Return all checkpoints whose files exist, and the checkpoints in ``numbers``, by job id and checkpoint number."""
    rows = session.execute(
        select(
            Checkpoint.job_id,
            Checkpoint.number,
            Run.number,
            and_(Checkpoint.discarded_at.is_(None), Checkpoint.damage.is_(None)),
        )
        .join(Run, Run.id == Checkpoint.run_id)
        .where(
            Checkpoint.job_id.in_(job_ids),
            Checkpoint.state == CheckpointState.COMPLETED,
            or_(Checkpoint.discarded_at.is_(None), Checkpoint.number.in_(numbers)),
        )
    )
    found: dict[int, dict[int, KeptCheckpoint]] = {}
    for job_id, number, run, undamaged in rows:
        found.setdefault(job_id, {})[number] = KeptCheckpoint(run, undamaged)
    return found


def jobs_by_id(session: Session, job_ids: Collection[int]) -> Sequence[Job]:
    return session.scalars(select(Job).where(Job.id.in_(job_ids), Job.deleted_at.is_(None))).all()


def by_number(session: Session, job_id: int, number: int) -> Checkpoint | None:
    return session.scalar(select(Checkpoint).where(Checkpoint.job_id == job_id, Checkpoint.number == number))


def by_numbers(session: Session, keys: Collection[tuple[int, int]]) -> dict[tuple[int, int], Checkpoint]:
    """Return completed checkpoints by job and number."""
    completed = (tuple_(Checkpoint.job_id, Checkpoint.number).in_(keys), Checkpoint.state == CheckpointState.COMPLETED)
    return {(row.job_id, row.number): row for row in session.scalars(select(Checkpoint).where(*completed))}


def plans_with_expired_undo_pin(session: Session, before: datetime, *, limit: int) -> Sequence[RecoveryPlan]:
    """Return the plans that ended before ``before`` and whose safety savepoint is still pinned for an undo."""
    of_undo = (CheckpointPin.checkpoint_id == Checkpoint.id, CheckpointPin.holder == PinHolder.UNDO)
    pinned = and_(
        Checkpoint.job_id == RecoveryPlan.job_id,
        Checkpoint.number == RecoveryPlan.safety_checkpoint,
        Checkpoint.state == CheckpointState.COMPLETED,
        Checkpoint.pinned.is_(True),
        or_(  # an older version of Weir stores only the reason
            select(CheckpointPin.id).where(*of_undo, CheckpointPin.plan_id == RecoveryPlan.id).exists(),
            Checkpoint.pinned_reason.startswith(UNDO_PIN),
        ),
    )
    return session.scalars(
        select(RecoveryPlan)
        .join(Job, Job.id == RecoveryPlan.job_id)
        .where(
            RecoveryPlan.state == PlanState.APPLIED,
            RecoveryPlan.ended_at < before,
            select(Checkpoint.id).where(pinned).exists(),
            Job.deleted_at.is_(None),
        )
        .order_by(RecoveryPlan.id)
        .limit(limit)
    ).all()


def unconfirmed_pins(session: Session, *, limit: int) -> Sequence[int]:
    """Return checkpoints whose pin in the database differs from their pin in the job log. The order is random, so that jobs with unreachable storage
    do not block the others."""
    return session.scalars(
        select(Checkpoint.id)
        .join(Job, Job.id == Checkpoint.job_id)
        .where(
            Job.deleted_at.is_(None),
            Checkpoint.pinned != Checkpoint.pin_in_force,
            _kept(),
        )
        .order_by(func.random())
        .limit(limit)
    ).all()
