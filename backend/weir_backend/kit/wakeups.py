"""Who waits for news of a job or a run is woken by Postgres: LISTEN on one connection a process, whoever has written.

What is told is only that there is something to look at. Nobody depends on it for correctness: whoever waits also looks now and then,
and after a broken connection all are woken.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator

import psycopg
import structlog
from sqlalchemy.orm import Session

from weir_backend.kit.database import notify

log = structlog.get_logger(__name__)
CHANNEL = "weir"
RECONNECT_S = 1.0


def job_key(job_id: int) -> str:
    """Something is new in the event log, the runs, the checkpoints or the operations of this job."""
    return f"job:{job_id}"


def run_key(run_id: int) -> str:
    """There is a command for this run, or it is over."""
    return f"run:{run_id}"


ANY_JOB = "jobs"
"""Woken whenever one of the jobs is."""
ACCOUNTS = "accounts"
"""A token was revoked, or a user is not what he was."""


def wake(session: Session, key: str) -> None:
    """Once this transaction is durable."""
    notify(session, CHANNEL, key)


class Subscription:
    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.keys: set[str] = set()
        """Whose news there is since ``wait`` last returned."""

    def ring(self, key: str) -> None:
        self.keys.add(key)
        self._event.set()

    async def wait(self, timeout_s: float) -> set[str]:
        """The keys that rang; none after ``timeout_s``. What rang before this call counts."""
        with contextlib.suppress(TimeoutError):
            # Not wait_for: in Python 3.11 that forgets that it was cancelled if it rang in the same moment, and who ends the process waits for ever.
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        self._event.clear()
        rung, self.keys = self.keys, set()
        return rung


class Wakeups:
    """For one event loop. ``run`` is a task for as long as the process serves; ``subscribe`` from coroutines of that loop."""

    def __init__(self, url: str) -> None:
        """``url`` as psycopg takes it."""
        self._url = url
        self._subscriptions: defaultdict[str, set[Subscription]] = defaultdict(set)

    async def run(self) -> None:
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                log.warning("not listening to the database", problem=str(error).strip().split("\n", 1)[0])
            for key in list(self._subscriptions):
                self._ring(key)
            await asyncio.sleep(RECONNECT_S)

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, connect_timeout=5, application_name="weir listener"
        )
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            for key in list(self._subscriptions):
                self._ring(key)
            async for told in connection.notifies():
                self._ring(told.payload)
                if told.payload.startswith("job:"):
                    self._ring(ANY_JOB, told.payload)

    def _ring(self, key: str, said: str | None = None) -> None:
        for subscription in self._subscriptions.get(key, ()):
            subscription.ring(said or key)

    @contextlib.contextmanager
    def subscribe(self, key: str) -> Iterator[Subscription]:
        """Subscribe first, look then, wait after that: so nothing is missed."""
        subscription = Subscription()
        self._subscriptions[key].add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions[key].discard(subscription)
            if not self._subscriptions[key]:
                del self._subscriptions[key]
