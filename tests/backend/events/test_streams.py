"""Event streams over real sockets during concurrent writes."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx2
import psycopg
import pytest
from sqlalchemy import select
from tests.backend.conftest import Login, RecordedTasks, shared_app
from tests.backend.jobs import completed, new_job, new_run, sample, store_events, triggered
from tests.backend.serving import served

from weir.protocol.events import DriverState, FailureOccurred, MetricsSampled, RunStateChanged, SubtasksAcknowledged
from weir.protocol.ids import CheckpointId, Generation, SubtaskId
from weir_backend.kit import subscribers
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.notifications import CHANNEL, job_key
from weir_backend.models import Role, Token, User
from weir_backend.settings import Settings
from weir_workers.embedded.ports import free_port

names = itertools.count()


@dataclass(frozen=True)
class Message:
    kind: str
    id: str | None
    data: Any


def messages(answer: httpx2.Response) -> Iterator[Message]:
    kind, id_, data = "", None, ""
    for line in answer.iter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "id":
            id_ = value
        elif name == "data":
            data = value
        elif line == "":
            if data:
                yield Message(kind, id_, json.loads(data))
            kind, id_, data = "", None, ""


@pytest.fixture
def base(settings: Settings, database: Database) -> Iterator[str]:
    with shared_app(settings, RecordedTasks()) as app, served(app, free_port()) as url:
        yield f"{url}/api/v1"


@pytest.fixture
def api(base: str, login: Login) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=base, headers=login(), timeout=60.0) as client:
        yield client


def read_until(client: httpx2.Client, url: str, enough: Callable[[list[Message]], bool], **headers: str) -> list[Message]:
    found: list[Message] = []
    with client.stream("GET", url, headers=headers) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
        for message in messages(answer):
            found.append(message)
            if enough(found):
                break
    return found


def entries(found: list[Message]) -> list[int]:
    assert all(message.id == str(message.data["number"]) for message in found if message.kind == "event")
    return [message.data["number"] for message in found if message.kind == "event"]


def has_entries(count: int, found: list[Message]) -> bool:
    return len(entries(found)) >= count


def test_a_reconnecting_client_gets_every_event_exactly_once(api: httpx2.Client, database: Database) -> None:
    run = new_run(database)
    total = 600

    def write() -> None:
        for first in range(1, total + 1, 4):
            store_events(database, run, *[FailureOccurred(Generation(1), str(first + place)) for place in range(4)], first=first)

    writer = threading.Thread(target=write)
    writer.start()
    seen: list[int] = []
    last = "0"
    while len(seen) < total:
        # Disconnect repeatedly, in the middle of a transfer.
        found = read_until(
            api, f"/jobs/{run.job_id}/events/stream", partial(has_entries, min(37, total - len(seen))), **{"Last-Event-ID": last}
        )
        seen += entries(found)
        last = str(seen[-1])
    writer.join()
    assert seen == list(range(1, total + 1))


def test_a_stream_without_a_position_starts_with_the_current_state(api: httpx2.Client, database: Database) -> None:
    run = new_run(database)
    store_events(database, run, RunStateChanged(DriverState.RUNNING, Generation(1)), triggered(1))
    progress_received = threading.Event()
    found: list[Message] = []

    def read_stream() -> None:
        with api.stream("GET", f"/jobs/{run.job_id}/events/stream") as answer:
            for message in messages(answer):
                found.append(message)
                if message.kind == "progress":
                    progress_received.set()
                if message.kind == "event" and message.data["kind"] == "CheckpointCompleted":
                    return

    reader = threading.Thread(target=read_stream)
    reader.start()
    assert progress_received.wait(20)
    store_events(database, run, SubtasksAcknowledged(CheckpointId(1), (SubtaskId(0, 1),), 4), first=3)
    store_events(database, run, completed(1), first=4)
    reader.join(20)
    assert [message.kind for message in found[:2]] == ["run", "progress"] and found[0].data["state"] == "RUNNING"
    assert found[1].data["checkpoint"] == 1 and found[1].data["subtasks"] == 2 and found[1].id is None
    assert entries(found) == [3], "the stream does not repeat earlier events"


def test_the_progress_of_all_subtasks_is_sent_in_one_message(api: httpx2.Client, database: Database) -> None:
    run = new_run(database)
    store_events(
        database, run, triggered(1), *[SubtasksAcknowledged(CheckpointId(1), (SubtaskId(0, place),), place) for place in range(3)]
    )
    found = read_until(api, f"/jobs/{run.job_id}/events/stream?after=0", lambda found: found[-1].kind == "progress")
    assert found[-1].data["progress"] == [[0, 0, 0], [0, 1, 1], [0, 2, 2]] and found[-1].data["acknowledged"] == 3


def test_an_error_before_a_stream_starts_is_returned_as_a_problem_document(
    api: httpx2.Client, base: str, database: Database
) -> None:
    job = new_job(database)
    assert api.get("/jobs/999/events/stream").status_code == 404
    assert api.get(f"/jobs/{job}/events/stream", headers={"Last-Event-ID": "x"}).status_code == 422
    assert httpx2.get(f"{base}/jobs/{job}/events/stream").status_code == 401
    assert httpx2.get(f"{base}/stream").status_code == 401


def test_the_global_stream_sends_changes_of_all_jobs(api: httpx2.Client, database: Database) -> None:
    idle_job, run = new_job(database, "idle"), new_run(database, new_job(database, "busy"))
    found: list[Message] = []
    both_jobs_received = threading.Event()

    def read_stream() -> None:
        with api.stream("GET", "/stream") as answer:
            for message in messages(answer):
                found.append(message)
                if len(found) == 2:
                    both_jobs_received.set()
                checkpoint = message.data["last_checkpoint"]
                if checkpoint is not None and checkpoint["number"] == 50:
                    return

    reader = threading.Thread(target=read_stream)
    reader.start()
    assert both_jobs_received.wait(20)
    for number in range(1, 51):
        store_events(database, run, triggered(number), completed(number), first=2 * number - 1)
    reader.join(20)
    assert not reader.is_alive()
    assert [message.data["name"] for message in found[:2]] == ["idle", "busy"] and found[0].data["state"] is None
    assert found[0].data["id"] == idle_job and {message.data["name"] for message in found[2:]} == {"busy"}
    assert len(found) < 25, "several changes are combined into one message"


def test_metrics_samples_cause_no_notification(settings: Settings, database: Database) -> None:
    run = new_run(database)
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        store_events(database, run, *[MetricsSampled(sample(0, second)) for second in range(3)])
        store_events(database, run, triggered(1), first=4)
        store_events(database, run, SubtasksAcknowledged(CheckpointId(1), (SubtaskId(0, 0),), 3), first=5)
        store_events(database, run, MetricsSampled(sample(0, 3)), first=6)
        # This statement returns after the notifications of earlier commits have arrived.
        listener.execute("SELECT 1")
        received = [one.payload for one in listener.notifies(timeout=0)]
    assert received == [job_key(run.job_id)] * 2, "only the trigger and the acknowledgement cause notifications"


def test_many_subscribers_of_one_job_get_all_events(api: httpx2.Client, database: Database) -> None:
    run = new_run(database)
    total, subscribers = 60, 12
    found: dict[int, list[int]] = {}
    open_streams = threading.Semaphore(0)

    def read_stream(number: int) -> None:
        with api.stream("GET", f"/jobs/{run.job_id}/events/stream?after=0") as answer:
            open_streams.release()
            seen: list[Message] = []
            for message in messages(answer):
                seen.append(message)
                if has_entries(total, seen):
                    break
        found[number] = entries(seen)

    readers = [threading.Thread(target=read_stream, args=(number,)) for number in range(subscribers)]
    for reader in readers:
        reader.start()
    for _ in readers:
        assert open_streams.acquire(timeout=60)
    for first in range(1, total + 1, 5):
        store_events(database, run, *[FailureOccurred(Generation(1), str(first + place)) for place in range(5)], first=first)
    for reader in readers:
        reader.join(20)
    assert found == {number: list(range(1, total + 1)) for number in range(subscribers)}


def test_an_open_stream_uses_no_database_connection(api: httpx2.Client, settings: Settings, database: Database) -> None:
    run = new_run(database)
    store_events(database, run, triggered(1))
    opened = [api.stream("GET", f"/jobs/{run.job_id}/events/stream?after=0") for _ in range(settings.pool_size + 5)]
    first = []
    for stream in opened:
        first.append(next(messages(stream.__enter__())))
    assert entries(first) == [1] * len(opened)
    for stream in opened:
        stream.__exit__(None, None, None)


def test_a_stream_ends_immediately_if_its_token_is_revoked_or_its_user_is_disabled(
    api: httpx2.Client, base: str, database: Database, login: Login
) -> None:
    job = new_job(database)
    for url in (f"/jobs/{job}/events/stream", "/stream"):
        ends = {
            "revoked": lambda user: api.delete(f"/tokens/{api_token(database, user)}"),
            "disabled": lambda user: api.patch(
                f"/users/{user_id(database, user)}", json={"disabled": True}, headers={"If-Match": "*"}
            ),
            "deleted": lambda user: api.delete(f"/users/{user_id(database, user)}", headers={"If-Match": "*"}),
        }
        for end in ends.values():
            name = f"subscriber{next(names)}"
            with httpx2.Client(base_url=base, headers=login(Role.VIEWER, name=name), timeout=60.0) as subscriber:
                with subscriber.stream("GET", url) as answer, api.stream("GET", url) as other:
                    assert answer.status_code == other.status_code == 200
                    started_s = time.monotonic()
                    assert end(name).is_success
                    last = list(messages(answer))[-1]
                assert last.kind == "closed" and last.data["status"] == 401 and last.data["code"] == "unauthenticated"
                assert subscriber.get(url).status_code == 401, "the subscriber cannot reconnect"
                assert time.monotonic() - started_s < subscribers.CHECK_INTERVAL_S - 1, "a notification ended the stream"


def test_a_stream_ends_when_its_token_expires(
    api: httpx2.Client, base: str, database: Database, login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribers, "CHECK_INTERVAL_S", 0.2)
    store_events(database, run := new_run(database), triggered(1))
    with httpx2.Client(base_url=base, headers=login(Role.VIEWER, name="soon"), timeout=60.0) as subscriber:
        with subscriber.stream("GET", f"/jobs/{run.job_id}/events/stream?after=0") as answer:
            received = messages(answer)
            assert next(received).kind == "event"
            with database.session() as session:
                session.get_one(Token, api_token(database, "soon")).expires_at = now()
            assert list(received)[-1].kind == "closed"


def test_the_number_of_streams_is_limited_and_a_closed_stream_does_not_count(
    settings: Settings, database: Database, login: Login
) -> None:
    job = new_job(database)
    limited_settings = settings.model_copy(update={"streams_per_user": 2, "streams_max": 3})
    with shared_app(limited_settings, RecordedTasks()) as app, served(app, free_port()) as url:
        url = f"{url}/api/v1/jobs/{job}/events/stream"
        one, other = login(Role.VIEWER), login(Role.VIEWER)
        with httpx2.Client(timeout=60.0) as http, ExitStack() as opened:
            first = opened.enter_context(http.stream("GET", url, headers=one))
            opened.enter_context(http.stream("GET", url, headers=one))
            refused = http.get(url, headers=one)
            assert refused.status_code == 429 and refused.headers["Retry-After"] == "30"
            assert refused.json()["code"] == "too-many-streams" and "already has 2," in refused.json()["detail"]
            opened.enter_context(http.stream("GET", url, headers=other))
            full = http.get(url, headers=other)
            assert full.status_code == 429 and "already serves 3," in full.json()["detail"]
            first.close()
            deadline = time.monotonic() + 20
            while (answer := opened.enter_context(http.stream("GET", url, headers=one))).status_code == 429:
                assert time.monotonic() < deadline, "a closed stream does not count towards the limit"
            assert answer.status_code == 200


def user_id(database: Database, name: str) -> int:
    with database.session() as session:
        return session.scalars(select(User.id).where(User.name == name)).one()


def api_token(database: Database, name: str) -> int:
    with database.session() as session:
        return session.scalars(select(Token.id).where(Token.user_id == user_id(database, name))).one()


def test_the_list_of_events_can_be_filtered(api: httpx2.Client, database: Database) -> None:
    run, other = new_run(database), new_run(database)
    store_events(database, run, triggered(1), completed(1))
    store_events(database, other, triggered(1))
    answer = api.get("/events", params={"filter": json.dumps({"job_id": run.job_id, "kind": "CheckpointTriggered"})})
    assert answer.status_code == 200 and answer.headers["content-range"] == "events 0-0/1"
    [one] = answer.json()
    assert (one["job_id"], one["number"], one["run_event"], one["fields"]["checkpoint"]) == (run.job_id, 1, 1, 1)
    assert len(api.get("/events", params={"filter": json.dumps({"run_id": [run.id, other.id]})}).json()) == 3
    assert api.get("/events", params={"filter": '{"job_id": "a"}'}).status_code == 422
