"""Requests that wait until an operation ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import update
from tests.backend.conftest import Login, RecordedTasks, shared_app
from tests.backend.jobs import new_job
from tests.backend.serving import served

from weir_backend.kit import waiting
from weir_backend.kit.access import PLATFORM
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.notifications import ACCOUNTS, publish
from weir_backend.models import Job, Operation, OperationKind, OperationState, Token
from weir_backend.operations import service
from weir_backend.operations.lifecycle import OperationOutcome
from weir_backend.settings import Settings
from weir_workers.embedded.ports import free_port


@pytest.fixture
def app(settings: Settings) -> Iterator[FastAPI]:
    with shared_app(settings, RecordedTasks()) as app:
        yield app


@pytest.fixture
def api(app: FastAPI, login: Login) -> Iterator[httpx2.Client]:
    with served(app, free_port()) as url, httpx2.Client(base_url=f"{url}/api/v1", headers=login(), timeout=60.0) as client:
        yield client


@pytest.fixture
def operation(database: Database) -> int:
    job_id = new_job(database)
    with database.session() as session:
        return service.begin(session, session.get_one(Job, job_id), OperationKind.START, PLATFORM).id


def add_step(database: Database, operation: int, text: str) -> None:
    with database.session() as session:
        service.step(session.get_one(Operation, operation), text)


def end(database: Database, operation: int) -> None:
    with database.session() as session:
        found = session.get_one(Operation, operation)
        service.end_and_record(session, session.get_one(Job, found.job_id), found, OperationOutcome(OperationState.SUCCEEDED))


def open_requests(app: FastAPI) -> int:
    return len(app.state.services.subscribers._open)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        threading.Event().wait(0.01)


def test_a_request_waits_until_the_operation_ends(
    app: FastAPI, api: httpx2.Client, database: Database, operation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "POLL_INTERVAL_S", 3_600.0)
    with ThreadPoolExecutor(1) as pool:
        waiting_request = pool.submit(api.get, f"/operations/{operation}", params={"wait": "50s"})
        until(lambda: open_requests(app) == 1)
        add_step(database, operation, "starting the job")
        end(database, operation)
        answer = waiting_request.result()
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "SUCCEEDED" and [one["text"] for one in answer.json()["steps"]] == ["starting the job"]
    assert open_requests(app) == 0


def test_a_request_with_after_steps_also_returns_when_the_operation_has_a_new_step(
    app: FastAPI, api: httpx2.Client, database: Database, operation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "POLL_INTERVAL_S", 3_600.0)
    add_step(database, operation, "stopping the job")
    with ThreadPoolExecutor(1) as pool:
        waiting_request = pool.submit(api.get, f"/operations/{operation}", params={"wait": "50s", "after_steps": 1})
        until(lambda: open_requests(app) == 1)
        add_step(database, operation, "starting the job")
        answer = waiting_request.result()
    assert (answer.json()["state"], len(answer.json()["steps"])) == ("RUNNING", 2)
    answer = api.get(f"/operations/{operation}", params={"wait": "50s", "after_steps": 1})
    assert answer.json()["ended_at"] is None, "a request whose condition already holds does not wait"


def test_at_the_end_of_its_wait_a_request_returns_an_operation_that_has_not_ended(
    api: httpx2.Client, operation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.get(f"/operations/{operation}", params={"wait": "10ms"}).json()["ended_at"] is None
    monkeypatch.setattr(waiting, "WAIT_S_MAX", 0.01)
    assert api.get(f"/operations/{operation}", params={"wait": "61s"}).json()["ended_at"] is None, "the limit is 60 s"


def test_waiting_requests_hold_no_database_connection(
    app: FastAPI, api: httpx2.Client, database: Database, operation: int, settings: Settings
) -> None:
    requests = settings.pool_size + 5
    with ThreadPoolExecutor(requests) as pool:
        waiting_requests = [pool.submit(api.get, f"/operations/{operation}", params={"wait": "50s"}) for _ in range(requests)]
        until(lambda: open_requests(app) == requests)
        assert api.get("/jobs").status_code == 200
        end(database, operation)
        assert {one.result().json()["state"] for one in waiting_requests} == {"SUCCEEDED"}


def test_a_request_stops_waiting_when_its_token_is_revoked(
    app: FastAPI, api: httpx2.Client, database: Database, operation: int
) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting_request = pool.submit(api.get, f"/operations/{operation}", params={"wait": "50s"})
        until(lambda: open_requests(app) == 1)
        with database.session() as session:
            session.execute(update(Token).values(revoked_at=now()))
            publish(session, ACCOUNTS)
        assert waiting_request.result().status_code == 401


def test_the_number_of_waiting_requests_of_a_user_is_limited(app: FastAPI, api: httpx2.Client, operation: int) -> None:
    subscribers = app.state.services.subscribers
    with ExitStack() as stack:
        for _ in range(subscribers._per_user_max):
            stack.enter_context(subscribers.admit(user_id=1, token_id=1))
        answer = api.get(f"/operations/{operation}", params={"wait": "50s"})
        assert (answer.status_code, answer.json()["code"]) == (429, "too-many-streams")
        assert api.get(f"/operations/{operation}").status_code == 200, "a request that does not wait is not limited"


@pytest.mark.parametrize("wait", ["soon", "-1s", "30"])
def test_an_invalid_wait_is_refused(api: httpx2.Client, operation: int, wait: str) -> None:
    answer = api.get(f"/operations/{operation}", params={"wait": wait})
    assert answer.status_code == 422 and "query.wait" in answer.json()["detail"]


def test_a_request_does_not_wait_for_an_unknown_operation(api: httpx2.Client) -> None:
    assert api.get("/operations/4711", params={"wait": "50s"}).status_code == 404
