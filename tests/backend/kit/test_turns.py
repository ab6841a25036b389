"""Many more requests at once than there are connections and threads: each waits for its turn, and none for one that waits for it."""

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
from weir_backend.kit.turns import OWN, PATIENT_AT_ONCE, Turns
from weir_backend.models import Role
from weir_backend.settings import Settings

REQUESTS = 150
"""There are 40 threads."""


def test_a_burst_of_requests_is_answered_to_the_last(settings: Settings, tasks: RecordedTasks, login: Login) -> None:
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
    """Calls that stay in their thread until they are let go. ``begun``: ``company`` of them have."""

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


def test_who_waits_takes_no_connection_and_who_waits_for_long_is_told_so(database: Database) -> None:
    async def go() -> None:
        turns, threads = Turns(database, OWN + 1, wait_s=0.05), Threads()
        first = asyncio.create_task(turns.run(threads.stay))
        await asyncio.to_thread(threads.begun.wait)
        with pytest.raises(Unavailable, match="more is asked of this process"):
            await turns.run(threads.stay)
        threads.go.set()
        assert await first == 7 and await turns.run(threads.stay) == 7
        assert threads.most == 1

    asyncio.run(go())


def test_those_who_wait_patiently_leave_turns_for_the_others(database: Database) -> None:
    async def go() -> None:
        turns, threads = Turns(database, OWN + PATIENT_AT_ONCE + 1), Threads(PATIENT_AT_ONCE)
        patient = [asyncio.create_task(turns.run_patiently(threads.stay)) for _ in range(20)]
        await asyncio.to_thread(threads.begun.wait)
        assert await turns.run(lambda session: session.scalar(text("SELECT 5"))) == 5
        async with turns.session() as session:
            assert session.scalar(text("SELECT 6")) == 6
        threads.go.set()
        assert await asyncio.gather(*patient) == [7] * 20
        assert threads.most == PATIENT_AT_ONCE

    asyncio.run(go())


def test_a_session_is_committed_rolled_back_if_something_is_raised_and_given_back_by_who_goes_away(database: Database) -> None:
    def count(session: Session) -> int:
        return int(session.scalar(text("SELECT count(*) FROM told")) or 0)

    async def go() -> None:
        turns = Turns(database, OWN + 1)
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
