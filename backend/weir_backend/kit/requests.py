"""What an endpoint needs of the process that serves it: sessions, the port to the workers, settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from weir_backend.kit.followers import Followers
from weir_backend.kit.rates import Rates
from weir_backend.kit.readiness import Readiness
from weir_backend.kit.sharing import SharedReads
from weir_backend.kit.tasks import Tasks
from weir_backend.kit.turns import Turns
from weir_backend.kit.wakeups import Wakeups
from weir_backend.settings import Settings


@dataclass(frozen=True, slots=True)
class Services:
    """Of one API process."""

    settings: Settings
    turns: Turns
    tasks: Tasks
    wakeups: Wakeups
    rates: Rates
    reads: SharedReads
    followers: Followers
    readiness: Readiness


# Dependencies that wait for nothing are coroutines: a function would be called in a thread, and going there costs more than what it does.


async def services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


ServicesDep = Annotated[Services, Depends(services)]


async def session(found: ServicesDep) -> AsyncIterator[Session]:
    async with found.turns.session() as opened:
        yield opened


# Committed before the answer is sent: who has an answer can rely on it.
SessionDep = Annotated[Session, Depends(session, scope="function")]


async def tasks(found: ServicesDep) -> Tasks:
    return found.tasks


TasksDep = Annotated[Tasks, Depends(tasks)]


def request_id_of(request: Request) -> str | None:
    return cast("str | None", getattr(request.state, "request_id", None))


def address_of(request: Request) -> str | None:
    return request.client.host if request.client is not None else None
