"""``/artifacts``: files of user code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import StringConstraints

from weir_backend.artifacts import repository, service
from weir_backend.artifacts.schemas import ArtifactRead
from weir_backend.kit.access import OperatorCaller, Permission, ViewerCaller, current_caller
from weir_backend.kit.dependencies import ServicesDep, SessionDep
from weir_backend.kit.listing import ListingDep, page
from weir_backend.kit.problems import answers
from weir_backend.kit.schemas import Id
from weir_backend.models import Artifact

READ_BYTES_MAX = 1 << 30
"""If a file exceeds ``artifact_bytes_max``, the API still reads the rest of the body, up to ``READ_BYTES_MAX``. Clients read the response (413)
only after they have sent the whole body."""

router = APIRouter(prefix="/artifacts", tags=["artifacts"], responses=answers(401, 403, 422))


async def _content(request: Request, services: ServicesDep) -> bytes:
    """Authenticate the caller, then read the body. This dependency runs before the other dependencies of the endpoint, so the
    request occupies no database connection while the body is read. Raises Unauthenticated, Forbidden, TooLarge."""
    await services.db_gate.run(lambda session: current_caller(request, session, services).require(Permission.OPERATE))
    return await service.receive(request.stream(), bytes_max=services.settings.artifact_bytes_max)


@router.post(
    "",
    operation_id="upload_artifact",
    response_model=ArtifactRead,
    status_code=201,
    responses={200: {"model": ArtifactRead, "description": "The content already exists"}, **answers(413)},
    max_body_size=READ_BYTES_MAX,
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The file",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
def upload(
    data: Annotated[bytes, Depends(_content)],
    name: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._+-]*\.(py|zip|whl)$", max_length=200),
        Query(description="The file name, ending in .py, .zip or .whl"),
    ],
    session: SessionDep,
    caller: OperatorCaller,
    response: Response,
) -> Artifact:
    """Upload a file of user code. Uploading existing content returns the existing artifact with status 200."""
    found, new = service.upload(session, caller, name=name, data=data)
    if not new:
        response.status_code = 200
    return found


@router.get("", operation_id="list_artifacts", response_model=list[ArtifactRead])
def list_(session: SessionDep, wanted: ListingDep, response: Response, _: ViewerCaller) -> Sequence[Artifact]:
    """List artifacts. Filters: `id`, `digest`, `name`, `q` (part of the name)."""
    return page(session, repository.listed(), wanted, repository.FIELDS, response, unit="artifacts")


@router.get("/{artifact_id}", operation_id="get_artifact", response_model=ArtifactRead, responses=answers(404))
def get(artifact_id: Id, session: SessionDep, _: ViewerCaller) -> Artifact:
    """Get an artifact, without its content."""
    return service.get(session, artifact_id)


@router.get(
    "/{artifact_id}/content",
    operation_id="download_artifact",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **answers(404)},
)
def download(artifact_id: Id, session: SessionDep, _: ViewerCaller) -> Response:
    """Download the content of an artifact."""
    found = service.get(session, artifact_id)
    headers = {"Content-Disposition": f'attachment; filename="{found.name}"', "ETag": f'"{found.digest}"'}
    return Response(repository.content(session, artifact_id), media_type="application/octet-stream", headers=headers)
