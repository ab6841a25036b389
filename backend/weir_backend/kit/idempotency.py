"""``Idempotency-Key``: a request that may be sent again, because nobody knows whether its answer got lost, has its effect once.

The key is a row in the transaction of the effect, and the answer is stored in it before that commits: there is never one without
the other. A second request with the key gets the stored answer; while the first is still being served it waits a little for it.

    router = APIRouter(route_class=IdempotentRoute)

    @router.post("/jobs", responses=answers(409, 422, ...))
    def create_job(body: NewJob, caller: Operator, _: Idempotent, session: SessionDep) -> JobView: ...

``Idempotent`` comes after the caller, so that nobody is answered what he may not do (any more). Not for endpoints whose answer holds
a secret, nor for those that stream.
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
from weir_backend.kit.access import Caller, asked_by, current_caller
from weir_backend.kit.database import LOCK_TIMEOUT_MS
from weir_backend.kit.requests import SessionDep
from weir_backend.models import IdempotencyKey

REPLAYED = "Idempotency-Replayed"
FIRST_MS = 2_000
"""How long a second request waits for the first: it has a connection to the database meanwhile."""


class Replay(Exception):
    """The answer that was given before."""

    def __init__(self, kept: IdempotencyKey) -> None:
        super().__init__(kept.key)
        assert kept.status is not None and kept.headers is not None, "an answer is stored before its transaction commits"
        self.answer = Response(kept.body, kept.status, headers={**kept.headers, REPLAYED: "true"})


@dataclass(frozen=True, slots=True)
class _Kept:
    """That the answer to this request has to be kept, and where."""

    session: Session
    row_id: int


async def _digest(request: Request) -> bytes:
    """Of the request, as it came. The body has been read already, where an endpoint takes one."""
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
            description="Of your choice, for one request: sent again with it, the request has no second effect and gets the first "
            "answer. Forgotten after a day.",
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
        request.state.idempotency = _Kept(session, row_id)
        return
    kept = session.scalar(select(IdempotencyKey).where(IdempotencyKey.user_id == caller.user_id, IdempotencyKey.key == key))
    if kept is None:
        raise Conflict("idempotency-key", "this Idempotency-Key was forgotten just now", "send the request again")
    if kept.request_digest != digest:
        raise Invalid(
            "idempotency-key-reused",
            "this Idempotency-Key was sent before with another method, path or body",
            "take a new key for each request that is not the same",
        )
    raise Replay(kept)


Idempotent = Annotated[None, Depends(_idempotent)]


class IdempotentRoute(APIRoute):
    """Of endpoints with ``Idempotent``; without it nothing is different."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        calls = [one.call for one in self.dependant.dependencies]
        if _idempotent in calls:
            after = calls[calls.index(_idempotent) :]
            assert not any(call is not None and asked_by(call) for call in after), (
                f"{self.path}: Idempotent comes after the caller"
            )
            assert self.methods == {"POST"}, f"{self.path}: what is no POST is idempotent by itself"

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        original = super().get_route_handler()

        async def handler(request: Request) -> Response:
            # FastAPI leaves the dependencies of the scope "function", and so commits, after this has returned.
            try:
                answer = await original(request)
            except Replay as replay:
                return replay.answer
            kept = getattr(request.state, "idempotency", None)
            if kept is not None:
                await run_in_threadpool(_keep, kept, answer)
            return answer

        return handler


def _insert(session: Session, user_id: int, key: str, digest: bytes) -> int | None:
    """None: the key is there already. Raises Conflict if whoever inserts it takes too long."""
    row = insert(IdempotencyKey).values(user_id=user_id, key=key, request_digest=digest)
    _wait_at_most(session, FIRST_MS)
    try:
        row_id = session.scalar(row.on_conflict_do_nothing().returning(IdempotencyKey.id))
    except OperationalError as error:
        if isinstance(error.orig, LockNotAvailable):
            raise Conflict(
                "idempotency-key-busy",
                "the first request with this Idempotency-Key is still being served",
                "send it again in some seconds",
            ) from None
        raise
    _wait_at_most(session, LOCK_TIMEOUT_MS)
    return row_id


def _wait_at_most(session: Session, ms: int) -> None:
    session.execute(text("SELECT set_config('lock_timeout', :ms, true)"), {"ms": str(ms)})


def _keep(kept: _Kept, answer: Response) -> None:
    row = kept.session.get(IdempotencyKey, kept.row_id)
    assert row is not None
    if answer.status_code >= 400:
        kept.session.delete(row)  # only what has had its effect is answered again
        return
    assert hasattr(answer, "body"), "an answer that streams cannot be kept"
    assert "set-cookie" not in answer.headers, "an answer with a secret must not be kept"
    row.status = answer.status_code
    row.headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
    row.body = bytes(answer.body)
