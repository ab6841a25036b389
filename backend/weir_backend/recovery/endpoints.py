"""Endpoints of plans: propose, read, approve, apply, discard."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy import select

from weir_backend.kit.access import OperatorCaller, ViewerCaller
from weir_backend.kit.dependencies import ServicesDep, SessionDep, TasksDep
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Operation, RecoveryPlan
from weir_backend.operations.endpoints import ACCEPTED
from weir_backend.recovery import coverage, repository, service
from weir_backend.recovery.schemas import CoverageRead, PlanApproval, PlanCreate, PlanRead

router = APIRouter(tags=["recovery"], route_class=IdempotentRoute, responses=answers(401, 403, 422))


@router.post(
    "/jobs/{job_id}/plans",
    operation_id="propose_plan",
    status_code=201,
    responses={200: {"model": PlanRead, "description": "A dry run"}, **answers(404, 409)},
)
def propose(
    job_id: Id,
    draft: PlanCreate,
    session: SessionDep,
    services: ServicesDep,
    tasks: TasksDep,
    caller: OperatorCaller,
    _once: Idempotent,
    response: Response,
) -> PlanRead:
    """Propose a rollback, a restore from a path, an undo, an upgrade or a rescale. A proposal does not change the job. A worker inspects the
    checkpoint and completes the preview. The response to a dry run has the status 200, and the plan is not saved."""
    plan = service.propose(session, services.settings, tasks, caller, job_id, draft)
    if draft.dry_run:
        response.status_code = 200
    return service.read(session, services.settings, caller, [plan])[0]


@router.get("/jobs/{job_id}/coverage", operation_id="get_coverage", responses=answers(404))
def get_coverage(job_id: Id, session: SessionDep, caller: ViewerCaller) -> CoverageRead:
    """Return how the job would recover if one of its slots failed now. If a second slot fails before the job has recovered, all slots restore the
    checkpoint."""
    return coverage.read(session, job_id)


@router.get("/plans", operation_id="list_plans")
def list_(
    session: SessionDep, services: ServicesDep, wanted: ListingDep, response: Response, caller: ViewerCaller
) -> list[PlanRead]:
    """List plans, newest first. Filters: `id`, `job_id`, `state`."""
    rows = page(session, select(RecoveryPlan), wanted, repository.FIELDS, response, unit="plans")
    return service.read(session, services.settings, caller, rows)


@router.get("/plans/{plan_id}", operation_id="get_plan", responses=answers(404))
def get(plan_id: Id, session: SessionDep, services: ServicesDep, caller: ViewerCaller) -> PlanRead:
    """Return one plan. The preview of a plan is complete when `preview.inspection` is set."""
    return service.read(session, services.settings, caller, [service.get(session, plan_id)])[0]


@router.post("/plans/{plan_id}/approve", operation_id="approve_plan", responses=answers(404, 409, 412))
def approve(
    plan_id: Id, body: PlanApproval, session: SessionDep, services: ServicesDep, caller: OperatorCaller, _once: Idempotent
) -> PlanRead:
    """Approve the preview of a plan. The status is 412 if the preview has changed since the user read it. If the plan revokes committed output, the
    caller needs the permission `rollback`."""
    plan = service.approve(session, services.settings, caller, plan_id, body.digest)
    return service.read(session, services.settings, caller, [plan])[0]


@router.post("/plans/{plan_id}/apply", operation_id="apply_plan", **ACCEPTED)
def apply(
    plan_id: Id, session: SessionDep, services: ServicesDep, tasks: TasksDep, caller: OperatorCaller, _once: Idempotent
) -> Operation:
    """Apply an approved plan. The API refuses to apply a plan if the job has changed since the plan was proposed."""
    return service.apply(session, services.settings, tasks, caller, plan_id)


@router.post("/plans/{plan_id}/discard", operation_id="discard_plan", responses=answers(404, 409))
def discard(plan_id: Id, session: SessionDep, services: ServicesDep, caller: OperatorCaller, _once: Idempotent) -> PlanRead:
    """Discard a plan that is not applied."""
    plan = service.discard(session, services.settings, caller, plan_id)
    return service.read(session, services.settings, caller, [plan])[0]
