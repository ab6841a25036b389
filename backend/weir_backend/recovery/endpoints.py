"""Plans: propose, look, approve, apply, undo."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from weir_backend.jobs.schemas import OperationShown
from weir_backend.kit.access import Operator, Viewer
from weir_backend.kit.forms import Id
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.kit.listing import Listing, listing, page
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import ServicesDep, SessionDep, TasksDep
from weir_backend.models import Operation
from weir_backend.recovery import repository, service
from weir_backend.recovery.schemas import PlanDraft, PlanShown

router = APIRouter(tags=["recovery"], route_class=IdempotentRoute, responses=answers(401, 403, 422))


@router.post(
    "/jobs/{job_id}/plans",
    operation_id="propose_plan",
    response_model=PlanShown,
    status_code=201,
    responses={200: {"model": PlanShown, "description": "What would be done: a dry run"}, **answers(404, 409)},
)
def propose(
    job_id: Id,
    draft: PlanDraft,
    session: SessionDep,
    services: ServicesDep,
    tasks: TasksDep,
    caller: Operator,
    _once: Idempotent,
    response: Response,
) -> PlanShown:
    """Compute what a rollback, a restore from elsewhere, an undo, an upgrade or a rescale would do. Nothing is done yet; a worker looks
    into checkpoint storage and completes the preview. A dry run (answered with 200) is shown and not kept."""
    plan = service.propose(session, services.settings, tasks, caller, job_id, draft)
    if draft.dry_run:
        response.status_code = 200
    return PlanShown.model_validate(service.shown(plan))


@router.get("/plans", operation_id="list_plans", response_model=list[PlanShown])
def list_(session: SessionDep, wanted: Annotated[Listing, Depends(listing)], response: Response, _: Viewer) -> list[PlanShown]:
    """Plans, newest first. Filters: id, job_id, state."""
    rows = page(session, repository.listed(), wanted, repository.FIELDS, response, unit="plans")
    return [PlanShown.model_validate(service.shown(plan)) for plan in rows]


@router.get("/plans/{plan_id}", operation_id="get_plan", response_model=PlanShown, responses=answers(404))
def get(plan_id: Id, session: SessionDep, _: Viewer) -> PlanShown:
    """One plan. Its preview is complete once `preview.inspection` is there."""
    return PlanShown.model_validate(service.shown(service.get(session, plan_id)))


@router.post("/plans/{plan_id}/approve", operation_id="approve_plan", response_model=PlanShown, responses=answers(404, 409))
def approve(plan_id: Id, session: SessionDep, services: ServicesDep, caller: Operator, _once: Idempotent) -> PlanShown:
    """Agree to exactly what the plan says. A plan that goes back needs the permission `rollback`."""
    return PlanShown.model_validate(service.shown(service.approve(session, services.settings, caller, plan_id)))


@router.post(
    "/plans/{plan_id}/apply",
    operation_id="apply_plan",
    response_model=OperationShown,
    status_code=202,
    responses=answers(404, 409),
)
def apply(
    plan_id: Id, session: SessionDep, services: ServicesDep, tasks: TasksDep, caller: Operator, _once: Idempotent
) -> Operation:
    """Carry out an approved plan. Refused if the job has changed since it was made."""
    return service.apply(session, services.settings, tasks, caller, plan_id)


@router.post("/plans/{plan_id}/withdraw", operation_id="withdraw_plan", response_model=PlanShown, responses=answers(404, 409))
def withdraw(plan_id: Id, session: SessionDep, caller: Operator, _once: Idempotent) -> PlanShown:
    """Put a plan aside that was not applied."""
    return PlanShown.model_validate(service.shown(service.withdraw(session, caller, plan_id)))
