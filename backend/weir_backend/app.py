"""The API as an ASGI application: its lifespan, its routers, and the middleware for all responses."""

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
from weir_backend.events.schemas import STREAM_MESSAGES
from weir_backend.kit import heartbeats, problems
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.db_gate import DatabaseGate
from weir_backend.kit.dependencies import Services, ServicesDep
from weir_backend.kit.notifications import Notifications
from weir_backend.kit.problems import ProblemDetails
from weir_backend.kit.rate_limits import RateLimiter
from weir_backend.kit.readiness import Readiness
from weir_backend.kit.single_flight import SingleFlight
from weir_backend.kit.subscribers import Subscribers
from weir_backend.kit.tasks import Tasks
from weir_backend.platform_health.checks import component_checks
from weir_backend.platform_health.monitor import PlatformMonitor
from weir_backend.routes import ROOT_ROUTERS, ROUTERS
from weir_backend.settings import Settings

log = structlog.get_logger(__name__)
API = "/api/v1"
BODY_BYTES_MAX = 1 << 20
"""Limit of JSON requests. FastAPI parses JSON before it authenticates the caller, and parsing blocks other requests. Endpoints that accept
bodies above this limit authenticate the caller before they parse the body."""
_HARDENING = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    # The Content-Security-Policy of API responses. ``ui.py`` sets the Content-Security-Policy of pages.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def create_app(settings: Settings, tasks: Tasks, *, routers: Sequence[APIRouter] = ROUTERS) -> FastAPI:
    """Create the application. The application serves requests after its lifespan has started. The database schema must already exist."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        settings: Settings = app.state.settings
        database = Database(settings.sqlalchemy_url, pool_size=settings.pool_size, name="weir api")
        checked_database = Database(settings.sqlalchemy_url, pool_size=1, name="weir api checks")
        notifications = Notifications(settings.database_url.get_secret_value())
        rate_limiter = RateLimiter(settings.redis_url.get_secret_value())
        subscribers = Subscribers(per_user_max=settings.streams_per_user, total_max=settings.streams_max)
        app.state.services = Services(
            settings,
            DatabaseGate(database, settings.pool_size),
            app.state.tasks,
            notifications,
            rate_limiter,
            SingleFlight(),
            subscribers,
            Readiness(database),
            PlatformMonitor(component_checks(settings, checked_database)),
        )
        background = [
            asyncio.create_task(notifications.run()),
            asyncio.create_task(subscribers.close_unauthorized(database, notifications)),
            asyncio.create_task(_send_heartbeats(database)),
        ]
        try:
            yield
        finally:
            for one in background:
                one.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            rate_limiter.close()
            database.close()
            checked_database.close()

    app = Api(
        title="Weir",
        summary="Operate checkpointed streaming jobs",
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        max_body_size=BODY_BYTES_MAX,
        redirect_slashes=False,  # a redirect would go to the host that the request names, and an attacker can choose this host
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
    """Set the settings and tasks that the next start of the lifespan uses. Discard what an earlier lifespan has stored in
    ``app.state``."""
    app.state = State()
    app.state.settings, app.state.tasks = settings, tasks


async def _send_heartbeats(database: Database) -> None:

    def record() -> None:
        with database.session() as session:
            heartbeats.record_heartbeat(session, heartbeats.Component.API, now())

    while True:
        try:
            await run_in_threadpool(record)
        except SQLAlchemyError as error:
            log.warning("cannot record a heartbeat of the API", problem=type(error).__name__)
        await asyncio.sleep(heartbeats.HEARTBEAT_INTERVAL_S)


class Api(FastAPI):
    def build_middleware_stack(self) -> ASGIApp:
        # ResponseMiddleware is the outermost middleware, so that it also handles error responses and bodies that are too large.
        return ResponseMiddleware(super().build_middleware_stack())


class ResponseMiddleware:
    """Adds a request id and security headers to every response, and turns a 413 response of FastAPI into a problem. The class is
    plain ASGI because function middleware of Starlette buffers streams."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id

        replaced = False

        async def send_response(message: Message) -> None:
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
            await self._app(scope, receive, send_response)


async def _too_large(scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
    answer = problems.problem_answer(
        413, "too-large", f"The request body is too large: the limit is {BODY_BYTES_MAX:,} bytes.", "Send a smaller request.",
        headers={"X-Request-Id": request_id, "Connection": "close", **_HARDENING},
    )  # fmt: skip
    await answer(scope, receive, send)


_health = APIRouter(tags=["health"])


@_health.get("/healthz")
async def alive() -> dict[str, str]:
    """Report that the process serves requests."""
    return {"status": "alive"}


@_health.get("/readyz", responses=problems.answers(503))
def ready(services: ServicesDep) -> dict[str, str]:
    """Report whether the database is reachable and has the schema of this version. The result of the check is at most one second old."""
    return {"status": "ready", "schema": services.readiness.schema()}


def _describe(app: FastAPI) -> None:
    """Add the schemas of problems and of stream messages to the OpenAPI document. FastAPI omits schemas that no endpoint returns
    as its body."""
    made = app.openapi

    def openapi() -> dict[str, object]:
        document = made()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        models: Sequence[type[BaseModel]] = (ProblemDetails, *STREAM_MESSAGES)
        for model in models:
            described = model.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
            schemas.update(described.pop("$defs", {}))
            schemas[model.__name__] = described
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to add to it
