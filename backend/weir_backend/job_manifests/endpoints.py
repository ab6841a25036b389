"""``PUT /jobs/{name}``: apply a job manifest."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from weir_backend.errors import Conflict
from weir_backend.job_manifests import service
from weir_backend.job_manifests.schemas import JobManifest, ManifestAction, ManifestResultRead
from weir_backend.job_manifests.service import CheckFailed, CheckPending, DryRun
from weir_backend.kit.access import WaitingOperatorCaller
from weir_backend.kit.dependencies import ServicesDep
from weir_backend.kit.notifications import SPEC_CHECKS
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Name
from weir_backend.kit.waiting import WaitParam, read_until, wait_s

router = APIRouter(tags=["jobs"], responses=answers(401, 403, 422))
# The OpenAPI document allows only one name for the parameter of a path, and the other methods of this path call it ``job_id``.
JobName = Annotated[Name, Path(alias="job_id", description="The name of the job, not its id.")]


@router.put(
    "/jobs/{job_id}",
    operation_id="apply_job",
    responses={201: {"model": ManifestResultRead, "description": "The job was created"}, **answers(409)},
)
async def apply(
    request: Request,
    services: ServicesDep,
    name: JobName,
    manifest: JobManifest,
    caller: WaitingOperatorCaller,
    response: Response,
    dry_run: Annotated[bool, Query(description="Return what would be changed, and change nothing.")] = False,
    wait: WaitParam = "20s",
) -> ManifestResultRead:
    """Create a job, or change a job so that it equals the manifest. A repeated request changes nothing.

    If the spec is new, a worker first compiles the code, and compares its graph with the newest checkpoint of the job. If the code does not compile
    or cannot restore the checkpoint, nothing is changed. If the check does not end within `wait`, the status is 409 and the code is
    `still-checking`. A repeated request then continues to wait for the same check."""
    read = partial(
        service.apply,
        settings=services.settings,
        tasks=services.tasks,
        caller=caller,
        name=name,
        manifest=manifest,
        dry_run=dry_run,
    )

    def is_done(found: object) -> bool:
        return not isinstance(found, CheckPending)

    try:
        found = await read_until(request, services, SPEC_CHECKS, read, is_done, wait_s=wait_s(wait), caller=caller)
    except DryRun as ended:
        return ended.result
    match found:
        case CheckPending():
            raise Conflict("still-checking", f"The code of job '{name}' is still being checked.", "Send the request again.")
        case CheckFailed(problem):
            raise problem
    if ManifestAction.CREATE in found.actions:
        response.status_code = 201
    return found
