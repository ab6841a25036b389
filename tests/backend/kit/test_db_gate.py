"""Bursts of more requests than connections and threads: each request waits at the gate, without a connection."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

import httpx2
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session
from tests.backend.conftest import Login, RecordedTasks, lent_app

from weir_backend.errors import Unavailable
from weir_backend.kit.database import Database
from weir_backend.kit.db_gate import LOW_PRIORITY_CONCURRENCY, RESERVED_CONNECTIONS, DatabaseGate
from weir_backend.models import Role
from weir_backend.settings import Settings

REQUESTS = 150
"""There are 40 threads."""


def test_every_request_of_a_burst_is_answered(settings: Settings, tasks: RecordedTasks, login: Login) -> None:
    headers = login(Role.VIEWER)

    async def burst() -> list[int]:
        with lent_app(settings.model_copy(update={"pool_size": 4}), tasks) as app:
            async with (
                app.router.lifespan_context(app),
                httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://weir", headers=headers) as client,
            ):
                answers = await asyncio.gather(*(client.get("/api/v1/jobs") for _ in range(REQUESTS)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(burst()) == [200] * REQUESTS


@dataclass
class Threads:
    """Calls that keep their thread until they are released. ``begun``: ``company`` of them have started."""

    company: int = 1
    now: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    begun: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def stay(self, session: Session) -> int:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            if self.now >= self.company:
                self.begun.set()
        session.execute(text("SELECT 1"))
        self.go.wait()
        with self.lock:
            self.now -= 1
        return 7


def test_a_waiting_call_holds_no_connection_and_fails_after_a_timeout(database: Database) -> None:
    async def go() -> None:
        turns, threads = DatabaseGate(database, RESERVED_CONNECTIONS + 1, wait_s=0.05), Threads()
        first = asyncio.create_task(turns.run(threads.stay))
        await asyncio.to_thread(threads.begun.wait)
        with pytest.raises(Unavailable, match="The API is overloaded"):
            await turns.run(threads.stay)
        threads.go.set()
        assert await first == 7 and await turns.run(threads.stay) == 7
        assert threads.most == 1

    asyncio.run(go())


def test_long_waits_leave_permits_for_other_calls(database: Database) -> None:
    async def go() -> None:
        turns, threads = (
            DatabaseGate(database, RESERVED_CONNECTIONS + LOW_PRIORITY_CONCURRENCY + 1),
            Threads(LOW_PRIORITY_CONCURRENCY),
        )
        patient = [asyncio.create_task(turns.run_low_priority(threads.stay)) for _ in range(20)]
        await asyncio.to_thread(threads.begun.wait)
        assert await turns.run(lambda session: session.scalar(text("SELECT 5"))) == 5
        async with turns.session() as session:
            assert session.scalar(text("SELECT 6")) == 6
        threads.go.set()
        assert await asyncio.gather(*patient) == [7] * 20
        assert threads.most == LOW_PRIORITY_CONCURRENCY

    asyncio.run(go())


def test_a_session_commits_rolls_back_on_errors_and_is_returned_on_cancellation(database: Database) -> None:
    def count(session: Session) -> int:
        return int(session.scalar(text("SELECT count(*) FROM told")) or 0)

    async def go() -> None:
        turns = DatabaseGate(database, RESERVED_CONNECTIONS + 1)
        await turns.run(lambda session: session.execute(text("CREATE TABLE told (id int)")))
        async with turns.session() as session:
            session.execute(text("INSERT INTO told VALUES (1)"))
        with pytest.raises(ValueError, match="no"):
            async with turns.session() as session:
                session.execute(text("INSERT INTO told VALUES (2)"))
                raise ValueError("no")

        async def leave() -> None:
            async with turns.session() as session:
                session.execute(text("INSERT INTO told VALUES (3)"))
                here.set()
                await asyncio.sleep(3_600)

        here = asyncio.Event()
        task = asyncio.create_task(leave())
        await here.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await turns.run(count) == 1
        assert database.engine.pool.status().endswith("Current Checked out connections: 0")

    asyncio.run(go())
