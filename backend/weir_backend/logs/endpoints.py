"""Reading a driver's log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from weir_backend.kit.access import Viewer
from weir_backend.kit.forms import Id
from weir_backend.kit.listing import BIGINT_MAX
from weir_backend.kit.problems import answers
from weir_backend.kit.requests import ServicesDep, SessionDep
from weir_backend.logs import service

router = APIRouter(prefix="/runs", tags=["runs"], responses=answers(401, 403, 404, 409, 410, 422))


@router.get(
    "/{run_id}/log",
    operation_id="read_log",
    response_class=Response,
    responses={
        200: {
            "content": {"text/plain": {}},
            "headers": {
                "X-Log-Size": {"schema": {"type": "integer"}, "description": "Bytes that the log has now"},
                "X-Log-Next": {"schema": {"type": "integer"}, "description": "The offset to go on with"},
            },
        }
    },
)
def read(
    run_id: Id,
    session: SessionDep,
    services: ServicesDep,
    _: Viewer,
    offset: Annotated[
        int, Query(ge=-BIGINT_MAX, le=BIGINT_MAX, description="Bytes from the beginning; negative: from the end")
    ] = 0,
) -> Response:
    """A piece of what the run's driver has said, at most 256 KiB."""
    found = service.piece(session, services.settings.data_dir, run_id, offset)
    return Response(found.data, media_type="text/plain", headers={"X-Log-Size": str(found.size), "X-Log-Next": str(found.next)})
