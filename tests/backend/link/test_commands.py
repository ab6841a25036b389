"""The control link of the runtime, connected to the real API over real sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.backend.conftest import RecordedTasks, shared_app
from tests.backend.jobs import RunHandle, completed, new_run, numbered, sample, triggered
from tests.backend.serving import served

from weir.link.control_link import ControlLink, LinkOptions, RunLink
from weir.link.delivery import EventBatch, Gap, RequestTooLarge, RunRefused, Stored
from weir.link.http import LinkAddress, LinkClient
from weir.link.spool import Spool
from weir.protocol.codec import JsonValue
from weir.protocol.events import (
    Cancel,
    CommandOutcome,
    DriverState,
    FailureOccurred,
    GraphDeployed,
    MetricsSampled,
    NumberedCommand,
    RunStateChanged,
    TakeSavepoint,
    encode_batch,
    encode_event,
)
from weir.protocol.ids import CommandId, EventNumber, Generation
from weir_backend.kit.database import Database
from weir_backend.link.commands import send_command
from weir_backend.link.endpoints import BODY_BYTES_MAX
from weir_backend.link.fencing import fence
from weir_backend.models import Command, Event, MetricSample, Run, RunState
from weir_backend.runs.graph import GRAPH_BYTES_MAX
from weir_backend.settings import Settings
from weir_workers.embedded.ports import free_port


def address(base: str, run: RunHandle) -> LinkAddress:
    return LinkAddress(f"{base}/api/v1/runs/{run.id}", run.token)


def wait_until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        threading.Event().wait(0.02)


def stored(database: Database, run: RunHandle) -> int:
    with database.session() as session:
        return session.scalars(select(Run.stored_event).where(Run.id == run.id)).one()


def event_batch(first: int, count: int, *, oldest: int | None = None, text: str = "x") -> EventBatch:
    events = numbered([FailureOccurred(Generation(1), text)] * count, first)
    return EventBatch(
        encode_batch([encode_event(one) for one in events]), EventNumber(first), EventNumber(first + count - 1),
        EventNumber(oldest or first),
    )  # fmt: skip


def give_command(database: Database, run: RunHandle, kind: str = "TakeSavepoint") -> None:
    with database.session() as session:
        send_command(session, session.get_one(Run, run.id), kind)


@pytest.fixture
def run(database: Database) -> RunHandle:
    return new_run(database)


def test_the_client_of_a_driver_understands_every_response(settings: Settings, database: Database, run: RunHandle) -> None:
    with shared_app(settings, RecordedTasks()) as app, served(app, free_port()) as base:
        client = LinkClient(address(base, run))
        assert client.post(event_batch(1, 3)) == Stored(EventNumber(3))
        assert client.post(event_batch(2, 3)) == Stored(EventNumber(4))
        assert client.post(event_batch(7, 1, oldest=5)) == Gap(EventNumber(4))
        assert client.post(event_batch(7, 1)) == Stored(EventNumber(7)), "event 7 is the oldest event that the driver still has"
        assert client.post(event_batch(8, 2 + (BODY_BYTES_MAX >> 20), text="x" * (1 << 20))) == RequestTooLarge()
        assert client.post(event_batch(8, 3, text="x" * (1 << 20))) == Stored(EventNumber(10)), "the connection is still open"
        unauthenticated = LinkClient(LinkAddress(address(base, run).url, "another"))
        assert unauthenticated.post(event_batch(11, 1)) == RunRefused("the token of this run is invalid")
        assert unauthenticated.commands(after=CommandId(0), wait_s=0).refused
        with database.session() as session:
            fence(session, run.job_id, run.id, state=RunState.FAILED, reason="replaced")
        assert client.post(event_batch(11, 1)) == RunRefused("another driver has taken over the job", fenced=True)
        assert client.commands(after=CommandId(0), wait_s=20).refused


def test_a_graph_of_the_maximum_size_is_accepted(settings: Settings, database: Database, run: RunHandle) -> None:
    """A graph is large if it contains the rows of an iterable source. If the API refused the graph, all later events of the run
    would be missing."""
    rows = "\N{LATIN SMALL LETTER U WITH DIAERESIS}" * (GRAPH_BYTES_MAX // 2)
    graph: JsonValue = {"logical": {"job": "large", "operators": [], "rows": rows}}
    events = numbered([GraphDeployed(graph), RunStateChanged(DriverState.RUNNING, Generation(1))])
    post = EventBatch(encode_batch([encode_event(one) for one in events]), EventNumber(1), EventNumber(2), EventNumber(1))
    with shared_app(settings, RecordedTasks()) as app, served(app, free_port()) as base:
        assert LinkClient(address(base, run)).post(post) == Stored(EventNumber(2))


def test_a_new_command_ends_the_long_poll_of_its_driver(settings: Settings, database: Database, run: RunHandle) -> None:
    with shared_app(settings, RecordedTasks()) as app, served(app, free_port()) as base, ThreadPoolExecutor() as pool:
        client = LinkClient(address(base, run))
        waiting = pool.submit(client.commands, after=CommandId(0), wait_s=20.0)
        wait_until(lambda: contacted(database, run))
        started_s = time.monotonic()
        give_command(database, run)
        assert waiting.result().commands == [NumberedCommand(CommandId(1), TakeSavepoint())]
        assert time.monotonic() - started_s < 5.0, "a notification ends the wait before the next poll"
        give_command(database, run, "Cancel")
        assert client.commands(after=CommandId(1), wait_s=20).commands == [NumberedCommand(CommandId(2), Cancel())]
        assert [one.id for one in client.commands(after=CommandId(0), wait_s=20).commands] == [1, 2]
        assert client.commands(after=CommandId(2), wait_s=0.05).commands == []
        waiting = pool.submit(client.commands, after=CommandId(2), wait_s=20.0)
        with database.session() as session:
            fence(session, run.job_id, run.id, state=RunState.FAILED, reason="replaced")
        assert waiting.result().refused, "fencing the run ends the wait"


def contacted(database: Database, run: RunHandle) -> bool:
    with database.session() as session:
        return session.scalars(select(Run.last_contact_at).where(Run.id == run.id)).one() is not None


def test_numbers_of_lost_commands_are_not_reused(settings: Settings, database: Database, run: RunHandle) -> None:
    with shared_app(settings, RecordedTasks()) as app, served(app, free_port()) as base:
        client = LinkClient(address(base, run))
        assert client.commands(after=CommandId(7), wait_s=0).commands == [], (
            "a database that was restored from a backup has no commands after command 7"
        )
        give_command(database, run)
        assert client.commands(after=CommandId(7), wait_s=0).commands == [NumberedCommand(CommandId(8), TakeSavepoint())]


def test_all_events_are_delivered_after_an_outage_of_the_api(
    settings: Settings, database: Database, run: RunHandle, tmp_path: Path
) -> None:
    """The control link of the driver continues while the API is down. When the API is back, the link delivers all events."""
    port = free_port()
    spool = Spool(tmp_path / "spool", wall_ms=lambda: time.time_ns() // 1_000_000)
    link = ControlLink(address(f"http://127.0.0.1:{port}", run), spool, lambda command: lambda: None, print)
    link.start()
    append = spool.append
    append(GraphDeployed({"chains": []}))
    append(RunStateChanged(DriverState.RUNNING, Generation(1)))
    with shared_app(settings, RecordedTasks()) as app, served(app, port):
        wait_until(lambda: stored(database, run) == 2)
        give_command(database, run)
        wait_until(lambda: stored(database, run) == 3)
    for number in range(1, 41):
        append(triggered(number))
        append(MetricsSampled(sample(0, number)))
        append(completed(number))
    assert stored(database, run) == 3
    with shared_app(settings, RecordedTasks()) as app, served(app, port):
        wait_until(lambda: stored(database, run) == 123)
        append(RunStateChanged(DriverState.FINISHED, Generation(1)))
        link.close()
    with database.session() as session:
        log = session.execute(select(Event.number, Event.run_event).order_by(Event.number)).all()
        samples = session.scalars(select(MetricSample.id)).all()
        found = session.get_one(Run, run.id)
        command = session.scalars(select(Command)).one()
    assert [row.number for row in log] == list(range(1, 85)) and len(samples) == 40
    assert (found.state, found.stored_event, found.missing_events) == (RunState.FINISHED, 124, 0)
    assert command.outcome == CommandOutcome.ACCEPTED.value


def test_a_driver_that_cannot_start_reports_the_reason(
    settings: Settings, database: Database, run: RunHandle, tmp_path: Path
) -> None:
    with shared_app(settings, RecordedTasks()) as app, served(app, free_port()) as base:
        RunLink(LinkOptions(address(base, run), tmp_path / "spool")).failed_to_start(OSError("no such file"))
    with database.session() as session:
        found = session.get_one(Run, run.id)
    assert (found.state, found.reason, found.stored_event) == (RunState.FAILED, "no such file", 1)


def test_a_fenced_zombie_stops_sending(settings: Settings, database: Database, run: RunHandle, tmp_path: Path) -> None:
    with shared_app(settings, RecordedTasks()) as app, served(app, free_port()) as base:
        spool = Spool(tmp_path / "spool", wall_ms=lambda: time.time_ns() // 1_000_000)
        link = ControlLink(address(base, run), spool, lambda command: lambda: None, print, close_timeout_s=2.0)
        link.start()
        spool.append(triggered(1))
        wait_until(lambda: stored(database, run) == 1)
        with database.session() as session:
            fence(session, run.job_id, run.id, state=RunState.FAILED, reason="replaced")
        spool.append(completed(1))
        link.close()
    assert stored(database, run) == 1
