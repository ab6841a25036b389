"""The API as an ASGI application: what it is made of, and what every answer has."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence

import structlog
from fastapi import APIRouter, FastAPI
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders, State
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weir_backend import ui
from weir_backend.events.schemas import NEWS
from weir_backend.kit import presence, problems
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.followers import Followers
from weir_backend.kit.problems import ProblemBody
from weir_backend.kit.rates import Rates
from weir_backend.kit.readiness import Readiness
from weir_backend.kit.requests import Services, ServicesDep
from weir_backend.kit.sharing import SharedReads
from weir_backend.kit.tasks import Tasks
from weir_backend.kit.turns import Turns
from weir_backend.kit.wakeups import Wakeups
from weir_backend.routes import ROOT_ROUTERS, ROUTERS
from weir_backend.settings import Settings

log = structlog.get_logger(__name__)
API = "/api/v1"
BODY_BYTES_MAX = 1 << 20
"""Of requests in JSON. They are parsed before it is known who is calling, and nobody else is served meanwhile: larger ones have endpoints
of their own, which look at the token first."""
_HARDENING = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # Of what is data, and draws nothing. Pages have a policy of their own: ui.py.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def create_app(settings: Settings, tasks: Tasks, *, routers: Sequence[APIRouter] = ROUTERS) -> FastAPI:
    """Serves once its lifespan has begun. The schema has to be there already."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        settings: Settings = app.state.settings
        database = Database(settings.sqlalchemy_url, pool_size=settings.pool_size, name="weir api")
        wakeups = Wakeups(settings.database_url.get_secret_value())
        rates = Rates(settings.redis_url.get_secret_value())
        followers = Followers(per_user_max=settings.streams_per_user, in_all_max=settings.streams_max)
        app.state.services = Services(
            settings,
            Turns(database, settings.pool_size),
            app.state.tasks,
            wakeups,
            rates,
            SharedReads(),
            followers,
            Readiness(database),
        )
        background = [
            asyncio.create_task(wakeups.run()),
            asyncio.create_task(followers.look_after(database, wakeups)),
            asyncio.create_task(_say_that_it_serves(database)),
        ]
        try:
            yield
        finally:
            for one in background:
                one.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            rates.close()
            database.close()

    app = Api(
        title="Weir",
        summary="Operate checkpointed streaming jobs",
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        max_body_size=BODY_BYTES_MAX,
        redirect_slashes=False,  # a redirect goes to the host that the request names, which may be anybody's
        separate_input_output_schemas=False,
    )
    configure(app, settings, tasks)
    problems.install(app)
    for router in routers:
        app.include_router(router, prefix=API)
    for router in (_health, *ROOT_ROUTERS):
        app.include_router(router)
    app.router.default = ui.Ui(ui.directory(settings.ui_dir))
    _describe(app)
    return app


def configure(app: FastAPI, settings: Settings, tasks: Tasks) -> None:
    """What it has to do with from the next beginning of its lifespan on. Nothing of an earlier one is left."""
    app.state = State()
    app.state.settings, app.state.tasks = settings, tasks


async def _say_that_it_serves(database: Database) -> None:
    """Again and again: see ``kit.presence``."""

    def say() -> None:
        with database.session() as session:
            presence.say(session, presence.Part.API, now())

    while True:
        try:
            await run_in_threadpool(say)
        except SQLAlchemyError as error:
            log.warning("it cannot be said that the API is there", problem=type(error).__name__)
        await asyncio.sleep(presence.SAY_EVERY_S)


class Api(FastAPI):
    def build_middleware_stack(self) -> ASGIApp:
        # Around everything, what answers for errors and for bodies that are too large included.
        return EveryAnswer(super().build_middleware_stack())


class EveryAnswer:
    """An id for each request, the headers of every answer, and problems in the one form. Not a middleware of functions: those hold up
    streams."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id

        replaced = False

        async def answer(message: Message) -> None:
            nonlocal replaced
            if replaced:
                return
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if message["status"] == 413 and headers.get("Content-Type") != problems.MEDIA_TYPE:
                    replaced = True
                    await _too_large(scope, receive, send, request_id)
                    return
                headers["X-Request-Id"] = request_id
                for name, value in _HARDENING.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(API):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._app(scope, receive, answer)


async def _too_large(scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
    """What the framework says of it in words of its own."""
    answer = problems.problem_answer(
        413, "too-large", f"the request is too large: at most {BODY_BYTES_MAX:,} bytes are taken here", "leave something out",
        headers={"X-Request-Id": request_id, "Connection": "close", **_HARDENING},
    )  # fmt: skip
    await answer(scope, receive, send)


_health = APIRouter(tags=["health"])


@_health.get("/healthz")
async def alive() -> dict[str, str]:
    """The process serves."""
    return {"status": "alive"}


@_health.get("/readyz", responses=problems.answers(503))
def ready(services: ServicesDep) -> dict[str, str]:
    """The database is there, with the schema of this version: as it was a second ago at most."""
    return {"status": "ready", "schema": services.readiness.schema()}


def _describe(app: FastAPI) -> None:
    """Schemas that no endpoint returns as its body: that of problems is named by many answers, those of news come in streams."""
    made = app.openapi

    def openapi() -> dict[str, object]:
        document = made()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        models: Sequence[type[BaseModel]] = (ProblemBody, *NEWS)
        for model in models:
            described = model.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
            schemas.update(described.pop("$defs", {}))
            schemas[model.__name__] = described
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to add to it
