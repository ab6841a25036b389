"""Looking into checkpoint storage for what a plan would do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy.orm import Session

from weir_backend.checkpoints import repository as checkpoints
from weir_backend.jobs import repository as jobs
from weir_backend.kit.alone import Work, alone
from weir_backend.kit.tasks import RECONCILE
from weir_backend.models import RecoveryPlan, Spec, SpecState
from weir_backend.reconciling import runs
from weir_backend.recovery import repository, service
from weir_backend.recovery.elsewhere import roots
from weir_backend.verification import service as verification
from weir_workers.checkpoints.fitting import Version
from weir_workers.checkpoints.inspecting import Subject, Verified, invalid, look_into, newest_of
from weir_workers.context import Context, current
from weir_workers.task import task

VERIFIED_BEFORE = timedelta(hours=1)
"""A plan was made. Who goes back in the night has often just had it verified."""


@task("weir.inspect", time_limit_s=115)
def inspect(plan_id: int) -> None:
    """Whether its checkpoint is whole and fits, what would be left behind, what would be read again."""
    context = current()
    # It may take longer than somebody waits who asks again.
    with alone(context.database, Work.INSPECT, plan_id) as ours:
        if ours:
            inspect_plan(context, plan_id)


def inspect_plan(context: Context, plan_id: int) -> None:
    """Nothing is said of a plan whose version is not compiled yet: that is asked for again once it is."""
    with context.database.session() as session:
        plan = repository.find(session, plan_id)
        spec = jobs.find_spec(session, plan.job_id, plan.request["spec"]) if plan is not None else None
        if plan is None or spec is None or spec.state is SpecState.COMPILING:
            return
        subject = _subject(context, session, plan, spec)
        problem = spec.problem if spec.state is SpecState.INVALID else None
    if problem is not None:
        found = invalid(subject, f"version {spec.number} does not compile: {problem}")
    else:
        number = newest_of(subject)
        if number is not None:
            with context.database.session() as session:
                subject = replace(subject, maker=_maker(session, plan.job_id, number), verified=_verified(session, plan))
        looked = look_into(subject)
        if looked is None:
            # Whoever sees that nobody has looked asks again.
            with context.database.session() as session:
                verification.want(session, context.tasks, plan.job_id, plan.preview["checkpoint"])
            return
        found = looked
    with context.database.session() as session:
        waiting = service.inspected(session, context.settings, plan_id, found)
    if waiting is not None:
        context.tasks.enqueue(RECONCILE, waiting)


def _subject(context: Context, session: Session, plan: RecoveryPlan, spec: Spec) -> Subject:
    job = jobs.find(session, plan.job_id)
    assert job is not None, "a plan keeps its job"
    said = plan.preview["inspection"]
    resolved = said["origin"] if said is not None else None
    return Subject(
        directory=runs.directory(context.settings, job, spec),
        wanted=_version(session, spec),
        checkpoint=plan.preview["checkpoint"],
        anew=plan.preview["anew"],
        origin=plan.preview["origin"],
        # What was approved is the one that was found, not whichever is the newest by now.
        origin_checkpoint=resolved["checkpoint"] if resolved is not None else plan.request.get("checkpoint"),
        allowed=roots(context.settings.data_dir, context.settings.restore_roots),
    )


def _version(session: Session, spec: Spec) -> Version | None:
    graph = jobs.find_graph(session, spec.graph_id) if spec.graph_id is not None else None
    if graph is None:
        return None
    return Version(graph.body, spec.body.get("parallelism", 1), spec.body.get("allow_non_restored_state", False))


def _verified(session: Session, plan: RecoveryPlan) -> Verified | None:
    """For this plan, or shortly before it was made."""
    number = plan.preview["checkpoint"]
    checkpoint = jobs.completed(session, plan.job_id, number) if number is not None else None
    if checkpoint is None or checkpoint.verified_at is None or checkpoint.verified_at < plan.created_at - VERIFIED_BEFORE:
        return None
    return Verified(checkpoint.damage)


def _maker(session: Session, job_id: int, number: int) -> Version | None:
    spec = checkpoints.spec_of(session, job_id, number)
    return _version(session, spec) if spec is not None else None
