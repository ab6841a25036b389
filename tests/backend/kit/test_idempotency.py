"""Idempotency keys, tested with endpoints whose effects can be counted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Response
from fastapi.testclient import TestClient
from httpx2 import Response as Answer
from pydantic import BaseModel, Field
from sqlalchemy import event, func, select
from sqlalchemy.orm import Session
from tests.backend.conftest import Login, RecordedTasks

from weir_backend.app import create_app
from weir_backend.errors import Conflict
from weir_backend.housekeeping.repository import delete_idempotency_keys
from weir_backend.kit import idempotency
from weir_backend.kit.access import OperatorCaller
from weir_backend.kit.audit import audit
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.dependencies import SessionDep
from weir_backend.kit.etags import set_etag
from weir_backend.kit.idempotency import Idempotent, IdempotentRoute
from weir_backend.models import AuditEntry, IdempotencyKey, Role
from weir_backend.settings import Settings

THINGS = "/api/v1/things"


class Thing(BaseModel):
    name: Annotated[str, Field(max_length=20)]


class Gate:
    """Blocks requests with the name "slow" until ``open`` is set."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()


def things_router(gate: Gate) -> APIRouter:
    router = APIRouter(route_class=IdempotentRoute)

    @router.post("/things", status_code=201)
    def make(body: Thing, caller: OperatorCaller, _: Idempotent, session: SessionDep, response: Response) -> dict[str, Any]:
        audit(session, caller, "make", body.name, None)
        session.flush()
        if body.name == "slow":
            gate.entered.set()
            assert gate.open.wait(20)
        if body.name == "refused":
            raise Conflict("refused", "it is refused")
        if body.name == "error status":
            response.status_code = 409
        set_etag(response, 7)
        return {"number": session.scalar(select(func.count()).select_from(AuditEntry))}

    @router.post("/others", status_code=204)
    def other(caller: OperatorCaller, _: Idempotent, session: SessionDep) -> None:
        audit(session, caller, "other", "thing", None)

    @router.get("/things")
    def list_things(caller: OperatorCaller) -> None:
        pass

    return router


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def client(settings: Settings, tasks: RecordedTasks, gate: Gate) -> Iterator[TestClient]:
    with TestClient(create_app(settings, tasks, routers=[things_router(gate)]), raise_server_exceptions=False) as opened:
        yield opened


Send = Any


@pytest.fixture
def send(client: TestClient, login: Login) -> Send:
    default_user = login(Role.OPERATOR)

    def post(name: str = "a", key: str | None = "key", url: str = THINGS, user: dict[str, str] | None = None) -> Answer:
        headers = (user or default_user) | ({"Idempotency-Key": key} if key is not None else {})
        return client.post(url, json={"name": name}, headers=headers)

    return post


def effects(database: Database) -> int:
    with database.session() as session:
        return session.scalar(select(func.count()).select_from(AuditEntry)) or 0


def keys(database: Database) -> int:
    with database.session() as session:
        return session.scalar(select(func.count()).select_from(IdempotencyKey)) or 0


def test_a_repeated_request_has_one_effect_and_the_same_response(send: Send, database: Database) -> None:
    first, again, other = send(), send(), send(key="another")
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json() == {"number": 1} and other.json() == {"number": 2}
    assert again.headers["Idempotency-Replayed"] == "true" and "Idempotency-Replayed" not in first.headers
    assert again.headers["ETag"] == first.headers["ETag"] == '"7"' and again.headers["content-type"] == "application/json"
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert effects(database) == 2


def test_a_response_without_a_body_is_stored(send: Send, database: Database) -> None:
    assert [send(url="/api/v1/others").status_code for _ in range(2)] == [204, 204]
    assert effects(database) == 1


def test_requests_without_a_key_are_not_deduplicated(send: Send, database: Database) -> None:
    assert [send(key=None).json()["number"] for _ in range(2)] == [1, 2]
    assert keys(database) == 0


def test_a_key_cannot_be_reused_for_a_different_request(send: Send, database: Database) -> None:
    send()
    for other in (send(name="b"), send(url="/api/v1/others"), send(url=f"{THINGS}?x=1")):
        assert other.status_code == 422 and other.json()["code"] == "idempotency-key-reused"
    assert effects(database) == 1


def test_two_users_can_use_the_same_key(send: Send, login: Login) -> None:
    assert [send().json(), send(user=login(Role.OPERATOR)).json()] == [{"number": 1}, {"number": 2}]


def test_an_idempotency_key_does_not_replace_authorization(send: Send, login: Login, client: TestClient) -> None:
    assert send(user=login(Role.VIEWER)).status_code == 403
    assert client.post(THINGS, json={"name": "a"}, headers={"Idempotency-Key": "key"}).status_code == 401


def test_a_failed_request_is_not_stored_and_can_be_retried(send: Send, database: Database) -> None:
    assert [send(name=name).status_code for name in ("refused", "refused", "x" * 21)] == [409, 409, 422]
    answer = send(name="a")
    assert answer.status_code == 201 and "Idempotency-Replayed" not in answer.headers
    assert effects(database) == 1, "the failed requests had no effect"


def test_a_response_with_an_error_status_is_not_stored(send: Send, database: Database) -> None:
    assert [send(name="error status").json()["number"] for _ in range(2)] == [1, 2]
    assert keys(database) == 0


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "ä"])
def test_a_malformed_key_is_invalid(send: Send, key: str) -> None:
    assert send(key=key.encode()).status_code == 422


def test_a_second_request_with_the_same_key_waits_for_the_first_request(send: Send, database: Database, gate: Gate) -> None:
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(send, "slow")
        assert gate.entered.wait(10)
        second = pool.submit(send, "slow")
        threading.Timer(0.5, gate.open.set).start()
        assert first.result().json() == second.result().json() == {"number": 1}
    assert second.result().headers["Idempotency-Replayed"] == "true" and effects(database) == 1


def test_a_second_request_with_the_same_key_fails_if_the_first_request_takes_too_long(
    send: Send, database: Database, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "FIRST_REQUEST_WAIT_MS", 100)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, "slow")
        assert gate.entered.wait(10)
        busy = send("slow")
        assert busy.status_code == 409 and busy.json()["code"] == "idempotency-key-busy"
        gate.open.set()
        assert first.result().status_code == 201
    assert send("slow").headers["Idempotency-Replayed"] == "true" and effects(database) == 1


def test_no_response_is_stored_if_the_commit_fails(send: Send, database: Database) -> None:
    """The response is stored in the same transaction as the effect of the request."""
    broken = True

    def fail(session: Session) -> None:
        if broken and any(isinstance(one, IdempotencyKey) and one.status is not None for one in session.identity_map.values()):
            raise RuntimeError("the commit fails")

    event.listen(Session, "before_commit", fail)
    try:
        assert send().status_code == 500
        assert (keys(database), effects(database)) == (0, 0)
        broken = False
        assert send().json() == {"number": 1}
    finally:
        event.remove(Session, "before_commit", fail)


def test_old_keys_are_deleted(send: Send, database: Database) -> None:
    send()
    with database.session() as session:
        assert delete_idempotency_keys(session, now() - timedelta(days=1), 10) == 0
        assert delete_idempotency_keys(session, now(), 10) == 1
    assert send().json() == {"number": 2}


def test_an_endpoint_must_declare_the_caller_before_the_idempotency_key() -> None:
    router = APIRouter(route_class=IdempotentRoute)
    with pytest.raises(AssertionError, match="after the parameter for the caller"):

        @router.post("/things")
        def wrong(_: Idempotent, caller: OperatorCaller) -> None: ...


def test_the_openapi_document_describes_the_idempotency_key_header(client: TestClient) -> None:
    path = client.get("/api/v1/openapi.json").json()["paths"][THINGS]
    assert "Idempotency-Key" in [one["name"] for one in path["post"]["parameters"]]
    assert "parameters" not in path["get"]
