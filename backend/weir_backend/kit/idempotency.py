"""``Idempotency-Key``: a client may repeat a request whose response was lost. The request takes effect only once.

The key is stored as a row, in the same transaction as the changes that the request makes. Before the commit, the response is stored in the
row of the key. Therefore, the database contains either both the changes and the response, or neither. A second request with the same key
receives the stored response. While the first request is still being served, the second request waits briefly.

    router = APIRouter(route_class=IdempotentRoute)

    @router.post("/jobs", responses=answers(409, 422, ...))
    def create_job(body: JobCreate, caller: OperatorCaller, _: Idempotent, session: SessionDep) -> JobRead: ...

In the parameters of an endpoint, ``Idempotent`` comes after the caller, so that permissions are checked before a stored response is
returned. Do not use ``Idempotent`` on endpoints that stream or whose response contains a secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.routing import APIRoute
from psycopg.errors import LockNotAvailable
from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from weir_backend.errors import Conflict, Invalid
from weir_backend.kit.access import Caller, current_caller, required_permission
from weir_backend.kit.database import LOCK_TIMEOUT_MS
from weir_backend.kit.dependencies import SessionDep
from weir_backend.models import IdempotencyKey

REPLAYED = "Idempotency-Replayed"
FIRST_REQUEST_WAIT_MS = 2_000
"""How long a second request with the same key waits for the first request. The second request occupies a database connection while it waits."""


class RepeatedRequest(Exception):
    """Raised when a repeated request must receive the stored response."""

    def __init__(self, stored: IdempotencyKey) -> None:
        super().__init__(stored.key)
        assert stored.status is not None and stored.headers is not None, "a committed idempotency key has a stored response"
        self.response = Response(stored.body, stored.status, headers={**stored.headers, REPLAYED: "true"})


@dataclass(frozen=True, slots=True)
class _Pending:
    """The row in which the response to this request is stored."""

    session: Session
    row_id: int


async def _digest(request: Request) -> bytes:
    """Return the digest of the request. If the endpoint accepts a body, FastAPI has already read the body, and ``request.body()`` returns
    the same bytes again."""
    found = hashlib.sha256()
    for part in (request.method.encode(), request.url.path.encode(), request.url.query.encode(), await request.body()):
        found.update(len(part).to_bytes(8, "big") + part)
    return found.digest()


def _idempotent(
    request: Request,
    digest: Annotated[bytes, Depends(_digest)],
    caller: Annotated[Caller, Depends(current_caller)],
    session: SessionDep,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="A unique key chosen by the client. A request repeated with the same key has no second effect and returns the "
            "first response. Keys expire after a day.",
            max_length=200,
            pattern=r"^[!-~]+$",
        ),
    ] = None,
) -> None:
    assert isinstance(request.scope["route"], IdempotentRoute), "the router of this endpoint lacks route_class=IdempotentRoute"
    if key is None:
        return
    assert caller.user_id is not None
    row_id = _insert(session, caller.user_id, key, digest)
    if row_id is not None:
        request.state.idempotency = _Pending(session, row_id)
        return
    stored = session.scalar(select(IdempotencyKey).where(IdempotencyKey.user_id == caller.user_id, IdempotencyKey.key == key))
    if stored is None:
        raise Conflict("idempotency-key", "This Idempotency-Key has just expired.", "Send the request again.")
    if stored.request_digest != digest:
        raise Invalid(
            "idempotency-key-reused",
            "This Idempotency-Key was already used with another method, path or body.",
            "Use a new key for each distinct request.",
        )
    raise RepeatedRequest(stored)


Idempotent = Annotated[None, Depends(_idempotent)]


class IdempotentRoute(APIRoute):
    """Route class of endpoints with ``Idempotent``. The class does not affect endpoints without ``Idempotent``."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        calls = [one.call for one in self.dependant.dependencies]
        if _idempotent in calls:
            after = calls[calls.index(_idempotent) :]
            assert not any(call is not None and required_permission(call) for call in after), (
                f"{self.path}: the parameter of type Idempotent must come after the parameter for the caller"
            )
            assert self.methods == {"POST"}, f"{self.path}: only POST needs Idempotency-Key"

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        original = super().get_route_handler()

        async def handler(request: Request) -> Response:
            # The transaction commits only after this handler returns, because FastAPI then exits the dependencies with the scope
            # "function".
            try:
                response = await original(request)
            except RepeatedRequest as replay:
                return replay.response
            pending = getattr(request.state, "idempotency", None)
            if pending is not None:
                await run_in_threadpool(_store, pending, response)
            return response

        return handler


def _insert(session: Session, user_id: int, key: str, digest: bytes) -> int | None:
    """Insert the key and return its row id, or None if the key exists. Raises Conflict if the first request with the key takes too long."""
    row = insert(IdempotencyKey).values(user_id=user_id, key=key, request_digest=digest)
    _set_lock_timeout(session, FIRST_REQUEST_WAIT_MS)
    try:
        row_id = session.scalar(row.on_conflict_do_nothing().returning(IdempotencyKey.id))
    except OperationalError as error:
        if isinstance(error.orig, LockNotAvailable):
            raise Conflict(
                "idempotency-key-busy",
                "The first request with this Idempotency-Key is still being served.",
                "Send the request again in a few seconds.",
            ) from None
        raise
    _set_lock_timeout(session, LOCK_TIMEOUT_MS)
    return row_id


def _set_lock_timeout(session: Session, ms: int) -> None:
    session.execute(text("SELECT set_config('lock_timeout', :ms, true)"), {"ms": str(ms)})


def _store(pending: _Pending, response: Response) -> None:
    row = pending.session.get(IdempotencyKey, pending.row_id)
    assert row is not None
    if response.status_code >= 400:
        pending.session.delete(row)  # a failed request had no effect and may be repeated
        return
    assert hasattr(response, "body"), "a streaming response cannot be stored"
    assert "set-cookie" not in response.headers, "a response with a secret must not be stored"
    row.status = response.status_code
    row.headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    row.body = bytes(response.body)
