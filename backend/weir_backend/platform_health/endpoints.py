"""The endpoint of the platform's health. It answers within seconds, even while Postgres hangs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from weir_backend.errors import Unavailable
from weir_backend.kit.access import Caller, Permission, require_permission, waiting_caller
from weir_backend.kit.clock import now
from weir_backend.kit.dependencies import ServicesDep
from weir_backend.kit.problems import answers
from weir_backend.platform_health.checks import POSTGRES_NEXT_STEP
from weir_backend.platform_health.monitor import ANSWER_S_MAX, Component, ComponentStatus
from weir_backend.platform_health.schemas import ComponentHealthRead, PlatformHealthRead


async def require_postgres(services: ServicesDep) -> None:
    """FastAPI dependency: raises Unavailable if Postgres is down. It runs before the authentication, which would hang with Postgres."""
    (postgres,) = await services.platform_monitor.read(Component.POSTGRES)
    if postgres.status is ComponentStatus.DOWN:
        raise Unavailable("database", postgres.detail, postgres.next_step)


async def bounded_caller(request: Request, services: ServicesDep) -> Caller:
    """FastAPI dependency: the caller. Raises Unavailable if the authentication takes too long, because Postgres can freeze after its check."""
    authentication = asyncio.create_task(waiting_caller(request, services))
    done, _ = await asyncio.wait([authentication], timeout=ANSWER_S_MAX)
    if not done:
        authentication.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody awaits it any more
        raise Unavailable("database", f"Postgres has not answered for {ANSWER_S_MAX:.0f} s.", POSTGRES_NEXT_STEP)
    return authentication.result()


router = APIRouter(tags=["platform"], dependencies=[Depends(require_postgres)], responses=answers(401, 503))


@router.get("/platform", operation_id="get_platform_health")
async def get(
    services: ServicesDep, _: Annotated[Caller, Depends(require_permission(Permission.VIEW, bounded_caller))]
) -> PlatformHealthRead:
    """Return the health of Postgres, Redis, the workers, beat, the data directory and the connections of drivers. A component that hangs is down
    after two seconds. If Postgres is down, the answer is 503 with the code `database`."""
    moment = now()
    found = await services.platform_monitor.read()
    return PlatformHealthRead(
        components=[
            ComponentHealthRead.read(one, up_at=None if one.up_s is None else moment - timedelta(seconds=one.up_s))
            for one in found
        ]
    )
