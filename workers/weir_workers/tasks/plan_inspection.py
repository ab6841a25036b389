"""Inspect checkpoint storage for the preview of a plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy.orm import Session

from weir_backend.checkpoints import repository as checkpoints
from weir_backend.checkpoints import verification
from weir_backend.job_manifests import repository as job_manifests
from weir_backend.job_manifests import service as job_manifest_service
from weir_backend.jobs import repository as jobs
from weir_backend.kit.advisory_lock import LockKind, try_advisory_lock
from weir_backend.kit.tasks import RECONCILE
from weir_backend.models import Graph, RecoveryPlan, Spec, SpecCheck, SpecState
from weir_backend.recovery import repository, service
from weir_backend.recovery.external_path import allowed_roots
from weir_backend.runs.service import checkpoint_directory
from weir_workers.checkpoints.compatibility import Version
from weir_workers.checkpoints.inspection import InspectionRequest, VerificationResult, inspect_storage, invalid, newest_of
from weir_workers.context import Context, current
from weir_workers.task import task

VERIFIED_BEFORE = timedelta(hours=1)
"""A plan accepts a verification that is at most this much older than the plan, because users often verify a checkpoint before they plan a
rollback to it."""


@task("weir.inspect", time_limit_s=115)
def inspect(plan_id: int) -> None:
    """Check whether the checkpoint of the plan is intact and compatible. Find the checkpoints and the input that the plan affects."""
    context = current()
    # The task can be enqueued again while it is still running.
    with try_advisory_lock(context.database, LockKind.INSPECT, plan_id) as locked:
        if locked:
            inspect_plan(context, plan_id)


def inspect_plan(context: Context, plan_id: int) -> None:
    """Inspect storage for one plan.

    Does nothing while the version of the plan is being compiled, because the task is enqueued again later.
    """
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
                subject = replace(
                    subject, maker=_version_that_took(session, plan.job_id, number), verified=_verified(session, plan)
                )
        inspected = inspect_storage(subject)
        if inspected is None:
            # The inspection is enqueued again after the verification.
            with context.database.session() as session:
                verification.request_verification(session, context.tasks, plan.job_id, plan.preview["checkpoint"])
            return
        found = inspected
    with context.database.session() as session:
        waiting_job = service.record_inspection(session, context.settings, plan_id, found)
    if waiting_job is not None:
        context.tasks.enqueue(RECONCILE, waiting_job)


@task("weir.inspect_spec", time_limit_s=115)
def inspect_spec(check_id: int) -> None:
    """Compare the graph of a spec that is being checked with the newest checkpoint of the job. The task needs no lock, because it only reads."""
    inspect_checked_spec(current(), check_id)


def inspect_checked_spec(context: Context, check_id: int) -> None:
    """Inspect the checkpoint storage in the same way as for a plan that upgrades the job to the spec."""
    with context.database.session() as session:
        check = job_manifests.find_check_by_id(session, check_id)
        job = jobs.find(session, check.job_id) if check is not None and check.job_id is not None else None
        if check is None or job is None or check.state is not SpecState.COMPILING:
            return
        subject = InspectionRequest(
            directory=checkpoint_directory(context.settings, job, check),
            wanted=_version(session, check),
            checkpoint=None,
            without_state=False,
            path=None,
            checkpoint_at_path=None,
            allowed=(),
        )
    number = newest_of(subject)
    if number is not None:
        with context.database.session() as session:
            subject = replace(subject, maker=_version_that_took(session, job.id, number))
    found = inspect_storage(subject)
    assert found is not None, "the inspection of the newest checkpoint verifies no files"
    with context.database.session() as session:
        job_manifest_service.record_inspection(session, check_id, found)


def _subject(context: Context, session: Session, plan: RecoveryPlan, spec: Spec) -> InspectionRequest:
    job = jobs.find(session, plan.job_id)
    assert job is not None, "a plan keeps its job"
    # A preview that an older version of Weir stored does not always contain every key (see ``recovery.start_point``).
    resolved = (plan.preview["inspection"] or {}).get("external_checkpoint")
    return InspectionRequest(
        directory=checkpoint_directory(context.settings, job, spec),
        wanted=_version(session, spec),
        checkpoint=plan.preview["checkpoint"],
        without_state=plan.preview.get("without_state", False),
        path=plan.preview.get("path"),
        # Keep the checkpoint that the user approved, even if a newer one exists now.
        checkpoint_at_path=resolved["checkpoint"] if resolved is not None else plan.request.get("checkpoint"),
        allowed=allowed_roots(context.settings.data_dir, context.settings.restore_roots),
    )


def _version(session: Session, spec: Spec | SpecCheck) -> Version | None:
    graph = session.get(Graph, spec.graph_id) if spec.graph_id is not None else None
    if graph is None:
        return None
    return Version(graph.body, spec.body.get("parallelism", 1), spec.body.get("allow_non_restored_state", False))


def _verified(session: Session, plan: RecoveryPlan) -> VerificationResult | None:
    """Return the verification of the checkpoint if it was made after the plan was proposed or shortly before. Otherwise, return None."""
    number = plan.preview["checkpoint"]
    checkpoint = jobs.completed(session, plan.job_id, number)
    if checkpoint is None or checkpoint.verified_at is None or checkpoint.verified_at < plan.created_at - VERIFIED_BEFORE:
        return None
    return VerificationResult(checkpoint.damage)


def _version_that_took(session: Session, job_id: int, number: int) -> Version | None:
    """Return the version of the spec that took the checkpoint, if known."""
    spec = checkpoints.spec_of(session, job_id, number)
    return _version(session, spec) if spec is not None else None
