"""FastAPI dependencies: the services of the process, database sessions and the task queue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from weir_backend.kit.db_gate import DatabaseGate
from weir_backend.kit.notifications import Notifications
from weir_backend.kit.rate_limits import RateLimiter
from weir_backend.kit.readiness import Readiness
from weir_backend.kit.single_flight import SingleFlight
from weir_backend.kit.subscribers import Subscribers
from weir_backend.kit.tasks import Tasks
from weir_backend.platform_health.monitor import PlatformMonitor
from weir_backend.settings import Settings


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one API process."""

    settings: Settings
    db_gate: DatabaseGate
    tasks: Tasks
    notifications: Notifications
    rate_limiter: RateLimiter
    single_flight: SingleFlight
    subscribers: Subscribers
    readiness: Readiness
    platform_monitor: PlatformMonitor


# The dependencies in this module are coroutines, because they do not block. FastAPI would run ordinary functions in a thread, which takes
# longer than the functions themselves.


async def services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


ServicesDep = Annotated[Services, Depends(services)]


async def session(found: ServicesDep) -> AsyncIterator[Session]:
    async with found.db_gate.session() as opened:
        yield opened


# The transaction commits before the response is sent, so a client that receives a response knows that its changes are stored.
SessionDep = Annotated[Session, Depends(session, scope="function")]


async def tasks(found: ServicesDep) -> Tasks:
    return found.tasks


TasksDep = Annotated[Tasks, Depends(tasks)]


def request_id_of(request: Request) -> str | None:
    return cast("str | None", getattr(request.state, "request_id", None))


def address_of(request: Request) -> str | None:
    return request.client.host if request.client is not None else None
