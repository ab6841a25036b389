"""What letting go of checkpoints needs of the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import and_, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from weir_backend.checkpoints.place import Place, name_in_code
from weir_backend.models import (
    Checkpoint,
    CheckpointState,
    Graph,
    Job,
    Operation,
    OperationKind,
    PlanKind,
    PlanState,
    RecoveryPlan,
    Run,
    Spec,
)
from weir_backend.retention.decide import PlanFacts
from weir_backend.retention.pins import UNDO_PIN


def due(session: Session, moment: datetime, *, limit: int) -> Sequence[int]:
    """Jobs into whose storage nobody has looked for long. Those that somebody works at are left for the next time."""
    return session.scalars(
        select(Job.id)
        .where(Job.storage_look_at <= moment, Job.deleted_at.is_(None), Job.run_number > 0)
        .order_by(Job.storage_look_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def look_later(session: Session, job_ids: Collection[int], moment: datetime) -> None:
    session.execute(update(Job).where(Job.id.in_(job_ids)).values(storage_look_at=moment))


def rows(session: Session, job_id: int, place: Place) -> Sequence[Checkpoint]:
    """Completed ones in this directory that are not known to be retired, locked. A run may have had another directory."""
    return session.scalars(
        select(Checkpoint)
        .join(Run, Run.id == Checkpoint.run_id)
        .where(
            Checkpoint.job_id == job_id,
            Checkpoint.state == CheckpointState.COMPLETED,
            Checkpoint.discarded_at.is_(None),
            Run.checkpoint_directory == place.directory,
        )
        .order_by(Checkpoint.number)
        .with_for_update(of=Checkpoint, key_share=True)
        .execution_options(populate_existing=True)
    ).all()


def asked(session: Session, job_id: int) -> Sequence[Operation]:
    """Those who want a checkpoint deleted."""
    return session.scalars(
        select(Operation)
        .where(Operation.job_id == job_id, Operation.kind == OperationKind.DELETE, Operation.ended_at.is_(None))
        .order_by(Operation.id)
    ).all()


def discarded(session: Session, job_id: int, numbers: Collection[int]) -> frozenset[int]:
    found = session.scalars(
        select(Checkpoint.number).where(
            Checkpoint.job_id == job_id, Checkpoint.number.in_(numbers), Checkpoint.discarded_at.is_not(None)
        )
    )
    return frozenset(found)


def known_generation(session: Session, job_id: int, place: Place) -> int:
    """The newest of the runtime's that a run of this job in this directory has told of."""
    query = select(func.max(Run.generation)).where(Run.job_id == job_id, Run.checkpoint_directory == place.directory)
    return session.scalar(query) or 0


def neighbour(session: Session, job_id: int, place: Place) -> str | None:
    """Another job that has run with the same log."""
    return session.scalar(
        select(Job.name)
        .join(Run, Run.job_id == Job.id)
        .join(Spec, Spec.id == Run.spec_id)
        .join(Graph, Graph.id == func.coalesce(Run.graph_id, Spec.graph_id))
        .where(
            Run.checkpoint_directory == place.directory,
            Run.job_id != job_id,
            Job.deleted_at.is_(None),
            name_in_code() == place.name,
        )
        .limit(1)
    )


def plans(session: Session, job_id: int) -> list[PlanFacts]:
    """Those that may refer to a checkpoint."""
    undo = aliased(RecoveryPlan)
    undone = (
        select(undo.id)
        .where(undo.undo_of == RecoveryPlan.id, undo.kind == PlanKind.UNDO, undo.state == PlanState.APPLIED)
        .exists()
    )
    open_or_applied = (PlanState.PROPOSED, PlanState.APPROVED, PlanState.APPLYING, PlanState.APPLIED)
    query = select(RecoveryPlan, undone).where(
        RecoveryPlan.job_id == job_id,
        RecoveryPlan.state.in_(open_or_applied),
        or_(RecoveryPlan.safety_checkpoint.is_not(None), RecoveryPlan.state != PlanState.APPLIED),
    )
    return [
        PlanFacts(
            id=plan.id,
            kind=plan.kind,
            state=plan.state,
            target=plan.preview["checkpoint"],
            safety=plan.safety_checkpoint,
            created_at=plan.created_at,
            ended_at=plan.ended_at,
            undone=was_undone,
        )
        for plan, was_undone in session.execute(query)
    ]


def old_ways_back(session: Session, before: datetime, *, limit: int) -> Sequence[RecoveryPlan]:
    """Plans that were applied before then, and still have the checkpoint pinned that an undo would return to."""
    pinned = and_(
        Checkpoint.job_id == RecoveryPlan.job_id,
        Checkpoint.number == RecoveryPlan.safety_checkpoint,
        Checkpoint.state == CheckpointState.COMPLETED,
        Checkpoint.pinned.is_(True),
        Checkpoint.pinned_reason.startswith(UNDO_PIN),
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


def unsettled_pins(session: Session, *, limit: int) -> Sequence[int]:
    """Checkpoints of which the job's log does not say yet what was asked for. By chance, so that those whose storage does not
    answer hold up no others for good."""
    return session.scalars(
        select(Checkpoint.id)
        .join(Job, Job.id == Checkpoint.job_id)
        .where(
            Job.deleted_at.is_(None),
            Checkpoint.pinned != Checkpoint.pin_in_force,
            Checkpoint.discarded_at.is_(None),
            Checkpoint.state == CheckpointState.COMPLETED,
        )
        .order_by(func.random())
        .limit(limit)
    ).all()
