"""If there are more requests than connections or threads, the requests wait at the gate and hold no connection."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from functools import partial

import httpx2
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session
from tests.backend.conftest import Login, RecordedTasks, shared_app

import weir_backend.app
from weir_backend.errors import Unavailable
from weir_backend.kit.database import Database
from weir_backend.kit.db_gate import LOW_PRIORITY_CONCURRENCY, RESERVED_CONNECTIONS, DatabaseGate
from weir_backend.models import Role
from weir_backend.settings import Settings

REQUESTS = 150
"""Number of requests. The server has only 40 threads."""


def test_every_request_of_a_burst_is_answered(
    settings: Settings, tasks: RecordedTasks, login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = login(Role.VIEWER)
    # On a slow machine, the last requests wait for longer than the default. A deadlock would last for ever.
    monkeypatch.setattr(weir_backend.app, "DatabaseGate", partial(DatabaseGate, wait_s=300.0))

    async def burst() -> list[int]:
        with shared_app(settings.model_copy(update={"pool_size": 4}), tasks) as app:
            async with (
                app.router.lifespan_context(app),
                httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://weir", headers=headers) as client,
            ):
                answers = await asyncio.gather(*(client.get("/api/v1/jobs") for _ in range(REQUESTS)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(burst()) == [200] * REQUESTS


@dataclass
class BlockingCalls:
    """``block`` returns once ``released`` is set. ``started`` is set when the number of calls in progress reaches ``expected``."""

    expected: int = 1
    running: int = 0
    peak: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    started: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def block(self, session: Session) -> int:
        with self.lock:
            self.running += 1
            self.peak = max(self.peak, self.running)
            if self.running >= self.expected:
                self.started.set()
        session.execute(text("SELECT 1"))
        self.released.wait()
        with self.lock:
            self.running -= 1
        return 7


def test_a_waiting_call_holds_no_connection_and_fails_after_a_timeout(database: Database) -> None:
    async def scenario() -> None:
        gate, calls = DatabaseGate(database, RESERVED_CONNECTIONS + 1, wait_s=0.05), BlockingCalls()
        first = asyncio.create_task(gate.run(calls.block))
        await asyncio.to_thread(calls.started.wait)
        with pytest.raises(Unavailable, match="The API is overloaded"):
            await gate.run(calls.block)
        calls.released.set()
        assert await first == 7 and await gate.run(calls.block) == 7
        assert calls.peak == 1

    asyncio.run(scenario())


def test_low_priority_calls_leave_connections_for_other_calls(database: Database) -> None:
    async def scenario() -> None:
        gate, calls = (
            DatabaseGate(database, RESERVED_CONNECTIONS + LOW_PRIORITY_CONCURRENCY + 1),
            BlockingCalls(LOW_PRIORITY_CONCURRENCY),
        )
        low_priority = [asyncio.create_task(gate.run_low_priority(calls.block)) for _ in range(20)]
        await asyncio.to_thread(calls.started.wait)
        assert await gate.run(lambda session: session.scalar(text("SELECT 5"))) == 5
        async with gate.session() as session:
            assert session.scalar(text("SELECT 6")) == 6
        calls.released.set()
        assert await asyncio.gather(*low_priority) == [7] * 20
        assert calls.peak == LOW_PRIORITY_CONCURRENCY

    asyncio.run(scenario())


def test_a_cancelled_session_ends_its_transaction_and_returns_its_connection(database: Database) -> None:
    def count(session: Session) -> int:
        return int(session.scalar(text("SELECT count(*) FROM entries")) or 0)

    async def scenario() -> None:
        gate = DatabaseGate(database, RESERVED_CONNECTIONS + 1)
        await gate.run(lambda session: session.execute(text("CREATE TABLE entries (id int)")))
        async with gate.session() as session:
            session.execute(text("INSERT INTO entries VALUES (1)"))
        with pytest.raises(ValueError, match="no"):
            async with gate.session() as session:
                session.execute(text("INSERT INTO entries VALUES (2)"))
                raise ValueError("no")

        async def hold_session() -> None:
            async with gate.session() as session:
                session.execute(text("INSERT INTO entries VALUES (3)"))
                entered.set()
                await asyncio.sleep(3_600)

        entered = asyncio.Event()
        task = asyncio.create_task(hold_session())
        await entered.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await gate.run(count) == 1
        assert database.engine.pool.status().endswith("Current Checked out connections: 0")

    asyncio.run(scenario())
