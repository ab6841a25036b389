"""Lists all endpoints of an application with the permission that each requires, read from their dependencies, and calls them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from starlette.types import Message

from weir_backend.kit.access import Permission, current_caller, required_permission

ANSWER_S = 15.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``path`` with ``{}`` for each parameter. ``asks`` empty: public."""

    method: str
    path: str
    asks: frozenset[Permission]
    knows_caller: bool
    """Whether the endpoint requires a caller, with any permissions."""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def endpoints_of(app: FastAPI) -> Iterator[Endpoint]:
    """Static files (mounts) are not included."""
    for route in iter_route_contexts(app.routes):
        if not route.methods or route.path is None:
            continue
        dependant: Dependant | None = getattr(route, "dependant", None)
        calls = list(_calls(dependant)) if dependant is not None else []
        asks = frozenset(found for call in calls if (found := required_permission(call)) is not None)
        for method in sorted(route.methods - {"HEAD"}):
            yield Endpoint(method, re.sub(r"\{[^}]*\}", "{}", route.path), asks, current_caller in calls)


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    for one in dependant.dependencies:
        if one.call is not None:
            yield one.call
        yield from _calls(one)


async def status_of(app: FastAPI, endpoint: Endpoint, headers: dict[str, str]) -> int:
    """Use 1 for each parameter and an empty object as the body. Do not wait for the rest of the response, which may be an endless
    stream."""
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    inbox.put_nowait({"type": "http.request", "body": json.dumps({}).encode(), "more_body": False})

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start" and not started.done():
            started.set_result(message["status"])

    path = endpoint.path.replace("{}", "1")
    sent = {"host": "testserver", "content-type": "application/json", **{name.lower(): value for name, value in headers.items()}}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": endpoint.method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("testserver", 80), "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
    }  # fmt: skip
    serving = asyncio.create_task(app(scope, inbox.get, send))
    either: set[asyncio.Future[Any]] = {serving, started}
    done, _ = await asyncio.wait(either, timeout=ANSWER_S, return_when=asyncio.FIRST_COMPLETED)
    assert done, f"{endpoint.name} does not begin to answer"
    inbox.put_nowait({"type": "http.disconnect"})
    await asyncio.wait({serving}, timeout=1)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    return started.result() if started.done() else 500
