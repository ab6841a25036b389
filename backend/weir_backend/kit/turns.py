"""Turns at the database: who waits for a connection waits in the event loop.

A request goes from thread to thread: who is calling, the endpoint, the commit. One that waited for a connection in a thread would take the
thread away from those who have connections and need a thread to give them back: a hundred requests at once would stand still.
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
PATIENT_AT_ONCE = 2
"""Drivers send more the later they are answered, in fewer batches: a few of those at once use up a core, and more would only stand in the way
of people."""
OWN = 2
"""Connections that are left for what the process itself looks up now and then: whether it can serve, and who may follow still."""


class Turns:
    """Of one event loop. ``connections``: in the pool of ``database``."""

    def __init__(self, database: Database, connections: int, *, wait_s: float = WAIT_S_MAX) -> None:
        self._database = database
        self._free = asyncio.Semaphore(max(1, connections - OWN))
        self._patient = asyncio.Semaphore(PATIENT_AT_ONCE)
        self._wait_s = wait_s

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A transaction: committed at the end, rolled back if something is raised. Raises Unavailable if there is no turn for long."""
        async with self._turn(self._free):
            scope = self._database.session()
            opened = scope.__enter__()  # sends nothing: a connection is taken with the first statement
            try:
                yield opened
            except BaseException as error:
                # Whoever goes away gives his connection back all the same.
                with CancelScope(shield=True):
                    await run_in_threadpool(scope.__exit__, type(error), error, error.__traceback__)
                raise
            with CancelScope(shield=True):
                await run_in_threadpool(scope.__exit__, None, None, None)

    async def run(self, call: Callable[[Session], T]) -> T:
        """What ``call`` gives, in a thread and a transaction of its own. Raises what it raises, and Unavailable as ``session`` does."""
        async with self._turn(self._free):
            return await self._go(call)

    async def run_patiently(self, call: Callable[[Session], T]) -> T:
        """As ``run``, for whoever nobody looks at while he waits: there are few such turns, whatever else is free."""
        async with self._turn(self._patient), self._turn(self._free):
            return await self._go(call)

    async def _go(self, call: Callable[[Session], T]) -> T:

        def go() -> T:
            with self._database.session() as session:
                return call(session)

        return await run_in_threadpool(go)

    @asynccontextmanager
    async def _turn(self, turns: asyncio.Semaphore) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._wait_s):
                await turns.acquire()
        except TimeoutError:
            raise Unavailable(
                "busy", "more is asked of this process than it can look up", "try again; more API processes serve more"
            ) from None
        try:
            yield
        finally:
            turns.release()
