"""Admission to the database: requests wait for a connection in the event loop, not in a thread.

A request moves between threads (authentication, endpoint, commit). If requests waited for a connection in a thread, a hundred waiting requests
could occupy all threads. But a request needs a free thread to return its connection, so the requests would wait for each other: a deadlock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from anyio import CancelScope
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from weir_backend.errors import Unavailable
from weir_backend.kit.database import Database

T = TypeVar("T")
WAIT_S_MAX = 10.0
LOW_PRIORITY_CONCURRENCY = 2
"""The maximum number of concurrent low-priority requests, which store batches of events from drivers. A few concurrent batches saturate a
core, and more concurrent batches would only delay the requests of users. When responses are slow, drivers send fewer and larger batches."""
RESERVED_CONNECTIONS = 2
"""Connections that are reserved for the readiness check of the process and for the check of stream tokens."""


class DatabaseGate:
    """Admits the requests of one event loop to the database. ``connections`` is the size of the pool of ``database``."""

    def __init__(self, database: Database, connections: int, *, wait_s: float = WAIT_S_MAX) -> None:
        self._database = database
        self._connections = asyncio.Semaphore(max(1, connections - RESERVED_CONNECTIONS))
        self._low_priority = asyncio.Semaphore(LOW_PRIORITY_CONCURRENCY)
        self._wait_s = wait_s

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Open a transaction, which is committed at the end and rolled back on an exception. Raises Unavailable if no connection becomes free in
        time."""
        async with self._acquire(self._connections):
            scope = self._database.session()
            opened = scope.__enter__()  # This call does not block: SQLAlchemy takes a connection at the first statement.
            try:
                yield opened
            except BaseException as error:
                # A cancelled request must still return its connection.
                with CancelScope(shield=True):
                    await run_in_threadpool(scope.__exit__, type(error), error, error.__traceback__)
                raise
            with CancelScope(shield=True):
                await run_in_threadpool(scope.__exit__, None, None, None)

    async def run(self, call: Callable[[Session], T]) -> T:
        """Return ``call(session)``, run in a thread and a transaction. Raises the exceptions of ``call``, and Unavailable if no connection
        becomes free in time."""
        async with self._acquire(self._connections):
            return await self._run(call)

    async def run_low_priority(self, call: Callable[[Session], T]) -> T:
        """Do the same as ``run``, but with low priority. Use this method for requests that no user waits for. At most
        LOW_PRIORITY_CONCURRENCY low-priority requests run concurrently, even if more connections are free."""
        async with self._acquire(self._low_priority), self._acquire(self._connections):
            return await self._run(call)

    async def _run(self, call: Callable[[Session], T]) -> T:

        def in_transaction() -> T:
            with self._database.session() as session:
                return call(session)

        return await run_in_threadpool(in_transaction)

    @asynccontextmanager
    async def _acquire(self, semaphore: asyncio.Semaphore) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._wait_s):
                await semaphore.acquire()
        except TimeoutError:
            raise Unavailable(
                "overloaded",
                f"The API is overloaded: no database connection within {self._wait_s:g} s.",
                "Retry later. Start more API processes to serve more requests.",
            ) from None
        try:
            yield
        finally:
            semaphore.release()
