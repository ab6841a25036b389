"""Lists the endpoints of an application with the permissions that they require, and calls them.

The permissions are read from the dependencies of the endpoints.
"""

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

RESPONSE_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    """The path of the endpoint, with ``{}`` in place of each path parameter."""
    required: frozenset[Permission]
    """The permissions that the endpoint requires. The set is empty if the endpoint is public."""
    needs_caller: bool
    """Whether the endpoint requires an authenticated caller, even if it requires no permission."""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def endpoints_of(app: FastAPI) -> Iterator[Endpoint]:
    """Yield all endpoints except mounted static files."""
    for route in iter_route_contexts(app.routes):
        if not route.methods or route.path is None:
            continue
        dependant: Dependant | None = getattr(route, "dependant", None)
        calls = list(_calls(dependant)) if dependant is not None else []
        required = frozenset(found for call in calls if (found := required_permission(call)) is not None)
        for method in sorted(route.methods - {"HEAD"}):
            yield Endpoint(method, re.sub(r"\{[^}]*\}", "{}", route.path), required, current_caller in calls)


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    for dependency in dependant.dependencies:
        if dependency.call is not None:
            yield dependency.call
        yield from _calls(dependency)


async def status_of(app: FastAPI, endpoint: Endpoint, headers: dict[str, str]) -> int:
    """Call the endpoint with 1 for each parameter and an empty object as the body, and return the status.

    The function does not wait for the end of the response, because some responses are endless streams.
    """
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    inbox.put_nowait({"type": "http.request", "body": json.dumps({}).encode(), "more_body": False})

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start" and not started.done():
            started.set_result(message["status"])

    path = endpoint.path.replace("{}", "1")
    all_headers = {
        "host": "testserver",
        "content-type": "application/json",
        **{name.lower(): value for name, value in headers.items()},
    }
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": endpoint.method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("testserver", 80), "headers": [(name.encode(), value.encode()) for name, value in all_headers.items()],
    }  # fmt: skip
    request = asyncio.create_task(app(scope, inbox.get, send))
    request_or_response: set[asyncio.Future[Any]] = {request, started}
    done, _ = await asyncio.wait(request_or_response, timeout=RESPONSE_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
    assert done, f"{endpoint.name} did not start to respond"
    inbox.put_nowait({"type": "http.disconnect"})
    await asyncio.wait({request}, timeout=1)
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    return started.result() if started.done() else 500
