"""Apply job manifests. Before a job or a version is stored, a worker compiles the user code, and compares its graph with the newest checkpoint of
the job. A manifest whose code does not compile changes nothing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from weir_backend.errors import Conflict, Invalid, Problem
from weir_backend.job_manifests import repository
from weir_backend.job_manifests.schemas import JobManifest, ManifestAction, ManifestResultRead
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service as job_service
from weir_backend.jobs.diff import changes
from weir_backend.jobs.schemas import JobCreate, JobStart, JobUpdate, OperationRead, SpecCreate
from weir_backend.jobs.serializers import read_job
from weir_backend.kit.access import Caller
from weir_backend.kit.clock import now
from weir_backend.kit.jsonb import clean_text
from weir_backend.kit.notifications import SPEC_CHECKS, publish
from weir_backend.kit.tasks import CHECK_SPEC, INSPECT_SPEC, Tasks, enqueue_after_commit
from weir_backend.models import DesiredState, Job, Operation, RecoveryPlan, Spec, SpecCheck, SpecState
from weir_backend.recovery import repository as plan_rows
from weir_backend.recovery import service as plans
from weir_backend.recovery.schemas import PlanCreate, PlanInspection, UpgradeRequest
from weir_backend.recovery.signature import digest_of
from weir_backend.settings import Settings

REUSED_FOR = timedelta(minutes=10)
"""How long requests use the result of a check. The user code can depend on files that change, so an older result is discarded."""
REQUEUE_AFTER = timedelta(seconds=20)
"""How long to wait for a check before its task is enqueued again, because the earlier task may be lost."""


@dataclass(frozen=True, slots=True)
class CheckPending:
    """The check of the spec has not ended yet. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class CheckFailed:
    """The code does not compile. Nothing was changed."""

    problem: Problem


class DryRun(Exception):
    """Ends a dry run, and rolls back its transaction."""

    def __init__(self, result: ManifestResultRead) -> None:
        super().__init__()
        self.result = result


def apply(
    session: Session, *, settings: Settings, tasks: Tasks, caller: Caller, name: str, manifest: JobManifest, dry_run: bool
) -> ManifestResultRead | CheckPending | CheckFailed:
    """Create the job, or change the job so that it equals the manifest. If the spec is new, begin its check and return CheckPending. A later call
    makes the changes after the check has ended. To find the same problems, a dry run also makes all changes, and then raises DryRun. Raises Conflict,
    Forbidden, Invalid."""
    if dry_run:
        # A dry run can show an upgrade that another user must approve.
        settings = settings.model_copy(update={"separate_approver": False})
    job = repository.find_and_lock(session, name)
    version = repository.find_version(session, job, manifest.spec.model_dump(mode="json")) if job is not None else None
    check = None
    if job is None or version is None or (_runs(manifest) and version.number != _target_number(session, job)):
        found = _checked(session, tasks, name, job, manifest)
        if not isinstance(found, SpecCheck):
            return found
        check = found
    if job is None:
        assert check is not None, "the spec of a new job is always checked"
        result = _create(session, tasks, caller, name, manifest, check)
    else:
        result = _update(session, settings, tasks, caller, job, manifest, version, check)
    if dry_run:
        plan = (
            result.plan.model_copy(update={"id": None, "operation_id": None, "actions": []}) if result.plan is not None else None
        )
        raise DryRun(result.model_copy(update={"dry_run": True, "plan": plan, "operation": None, "job": None}))
    return result


def _runs(manifest: JobManifest) -> bool:
    return manifest.desired_state is DesiredState.RUNNING


def _create(
    session: Session, tasks: Tasks, caller: Caller, name: str, manifest: JobManifest, check: SpecCheck
) -> ManifestResultRead:
    draft = JobCreate(
        name=name,
        description=manifest.description or "",
        labels=manifest.labels or {},
        spec=manifest.spec,
        comment=manifest.comment,
        start=_runs(manifest),
    )
    job = job_service.create(session, tasks, caller, draft)
    spec = jobs.find_spec(session, job.id, job.spec_number)
    assert spec is not None
    _store_graph(session, tasks, spec, check)
    found = read_job(session, caller, job)
    return ManifestResultRead(
        name=name,
        dry_run=False,
        actions=[ManifestAction.CREATE],
        changes=[],
        spec=spec.number,
        spec_before=None,
        diff=None,
        plan=None,
        operation=found.operation,
        job=found,
    )


def _update(
    session: Session,
    settings: Settings,
    tasks: Tasks,
    caller: Caller,
    job: Job,
    manifest: JobManifest,
    version: Spec | None,
    check: SpecCheck | None,
) -> ManifestResultRead:
    actions: list[ManifestAction] = []
    before, spec_before = _fields(job, job.desired_state), _target_number(session, job)
    wanted = JobUpdate(description=manifest.description, labels=manifest.labels)
    if any(value != getattr(job, name) for name, value in wanted if value is not None):
        job_service.change(session, caller, job.id, "*", wanted)
        actions.append(ManifestAction.UPDATE)
    if version is None:
        assert check is not None, "a new version is always checked"
        draft = SpecCreate(spec=manifest.spec, comment=manifest.comment)
        version = job_service.add_spec(session, tasks, caller, job.id, "*", draft)
        _store_graph(session, tasks, version, check)
        if not _runs(manifest):
            actions.append(ManifestAction.ADD_VERSION)
    plan: RecoveryPlan | None = None
    operation: Operation | None = None
    after = job.desired_state
    if _runs(manifest) and version.number != _target_number(session, job):
        assert check is not None, "an upgrade is always checked"
        plan, operation = _upgrade(session, settings, tasks, caller, job, manifest, version, check)
        actions.append(ManifestAction.UPGRADE)
        after = DesiredState.RUNNING
    elif _runs(manifest) and version.number == job.spec_number and job.desired_state is not DesiredState.RUNNING:
        operation = job_service.start(session, tasks, caller, job.id, JobStart())
        actions.append(ManifestAction.START)
        after = DesiredState.RUNNING
    elif manifest.desired_state is DesiredState.SUSPENDED and job.desired_state is DesiredState.RUNNING:
        operation = job_service.suspend(session, tasks, caller, job.id)
        actions.append(ManifestAction.SUSPEND)
        after = DesiredState.SUSPENDED
    return ManifestResultRead(
        name=job.name,
        dry_run=False,
        actions=actions,
        changes=changes(before, _fields(job, after)),
        spec=version.number,
        spec_before=spec_before,
        diff=job_service.diff(session, job.id, spec_before, version.number) if version.number != spec_before else None,
        plan=plans.read(session, settings, caller, [plan])[0] if plan is not None else None,
        operation=OperationRead.model_validate(operation) if operation is not None else None,
        job=read_job(session, caller, job),
    )


def _target_number(session: Session, job: Job) -> int:
    """Return the number of the current version, or of the version to which a plan is upgrading the job."""
    applying = plan_rows.applying(session, job.id)
    number: int = applying.request["spec"] if applying is not None else job.spec_number
    return number


def _fields(job: Job, desired_state: DesiredState) -> dict[str, Any]:
    return {"description": job.description, "labels": dict(job.labels), "desired_state": desired_state.value}


def _upgrade(
    session: Session,
    settings: Settings,
    tasks: Tasks,
    caller: Caller,
    job: Job,
    manifest: JobManifest,
    version: Spec,
    check: SpecCheck,
) -> tuple[RecoveryPlan, Operation]:
    """Propose a plan, complete it with the inspection of the check, approve it, and begin to apply it. Raises Conflict, Forbidden."""
    if settings.separate_approver:
        raise Conflict(
            "own-plan", f"Another user must approve the upgrade of job '{job.name}' (WEIR_SEPARATE_APPROVER).",
            "Propose the upgrade in the web UI or with POST /jobs/{id}/plans, and ask another user to approve the plan.",
        )  # fmt: skip
    request = UpgradeRequest(kind="upgrade", spec=version.number, mode=manifest.upgrade_mode)
    plan = plans.propose(session, settings, tasks, caller, job.id, PlanCreate(request=request))
    assert check.inspection is not None, "the check of an existing job contains an inspection"
    plans.record_inspection(session, settings, plan.id, PlanInspection(**check.inspection))
    plans.approve(session, settings, caller, plan.id, digest_of(plan))
    return plan, plans.apply(session, settings, tasks, caller, plan.id)


# ---- checks of specs ---------------------------------------------------------------------------


def _checked(
    session: Session, tasks: Tasks, name: str, job: Job | None, manifest: JobManifest
) -> SpecCheck | CheckPending | CheckFailed:
    """Return the check of the spec, or begin it. Raises Invalid if the artifact does not exist."""
    artifact = job_service.artifact_of(session, manifest.spec)
    body = manifest.spec.model_dump(mode="json")
    key = json.dumps([name, job.id if job is not None else None, job.version if job is not None else None, body], sort_keys=True)
    digest, moment = hashlib.sha256(key.encode()).digest(), now()
    check = repository.find_check(session, digest)
    if check is not None and check.state is not SpecState.COMPILING and check.created_at < moment - REUSED_FOR:
        session.delete(check)
        session.flush()
        check = None
    if check is None:
        check = SpecCheck(
            digest=digest,
            job_id=job.id if job is not None else None,
            artifact_id=artifact.id,
            body=body,
            state=SpecState.COMPILING,
            enqueued_at=moment,
            created_at=moment,
        )
        session.add(check)
        session.flush()
        enqueue_after_commit(session, tasks, CHECK_SPEC, check.id)
    match check.state:
        case SpecState.VALID:
            return check
        case SpecState.INVALID:
            session.delete(
                check
            )  # the next request checks the spec again, because the problem can be in the environment of the worker
            detail = f"The code of job '{name}' does not compile: {check.problem}"
            return CheckFailed(Invalid("does-not-compile", detail, "Correct the code. Nothing was changed."))
        case SpecState.COMPILING:
            if check.enqueued_at < moment - REQUEUE_AFTER:
                check.enqueued_at = moment
                enqueue_after_commit(session, tasks, CHECK_SPEC if check.graph_id is None else INSPECT_SPEC, check.id)
            return CheckPending()


def _store_graph(session: Session, tasks: Tasks, spec: Spec, check: SpecCheck) -> None:
    """Store the graph of the check in the new version, so that no worker compiles the version again. Raises Conflict if another job uses the
    checkpoint directory."""
    job_service.compiled(session, tasks, spec, graph_id=check.graph_id, problem=None)
    if spec.state is SpecState.INVALID:
        raise Conflict("spec-not-valid", str(spec.problem))


def record_compilation(session: Session, tasks: Tasks, check_id: int, *, graph_id: int | None, problem: str | None) -> None:
    """Store the result of the compilation: ``graph_id``, or ``problem`` if the code does not compile. If the job exists, a worker then inspects its
    newest checkpoint. Repeated calls change nothing."""
    check = repository.find_check_by_id(session, check_id, lock=True)
    if check is None or check.state is not SpecState.COMPILING or check.graph_id is not None:
        return
    assert (graph_id is None) != (problem is None)
    check.graph_id = graph_id
    check.problem = clean_text(problem) if problem is not None else None  # the problem can contain output of user code
    if graph_id is not None and check.job_id is not None:
        enqueue_after_commit(session, tasks, INSPECT_SPEC, check.id)
        return
    check.state = SpecState.VALID if graph_id is not None else SpecState.INVALID
    publish(session, SPEC_CHECKS)


def record_inspection(session: Session, check_id: int, found: PlanInspection) -> None:
    """Store the inspection of the newest checkpoint, which ends the check. Repeated calls change nothing."""
    check = repository.find_check_by_id(session, check_id, lock=True)
    if check is None or check.state is not SpecState.COMPILING:
        return
    check.inspection = found.model_dump(mode="json")
    check.state = SpecState.VALID
    publish(session, SPEC_CHECKS)
