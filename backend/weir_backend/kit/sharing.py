"""One read for all who want the same: what two hundred people watch is looked up once, and not two hundred times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")
GATHER_S = 0.01
"""So long a read waits for company: those who are woken by one change do not come at the very same moment."""
AT_ONCE = 4
"""Reads of all streams: connections to the database are left for those who ask for one answer and wait for it."""


class SharedReads:
    """For one event loop."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting: dict[Hashable, asyncio.Task[Any]] = {}

    async def read(self, key: Hashable, go: Callable[[], Awaitable[T]]) -> T:
        """What ``go`` gives; ``key`` says what it reads. It begins after this call, whoever made it: so whoever is woken by a change and
        reads then sees that change. Raises what ``go`` raises."""
        task = self._waiting.get(key)
        if task is None:
            task = self._waiting[key] = asyncio.create_task(self._go(key, go))
        # Who goes away does not take the read along that others wait for.
        found: T = await asyncio.shield(task)
        return found

    async def _go(self, key: Hashable, go: Callable[[], Awaitable[T]]) -> T:
        try:
            await asyncio.sleep(GATHER_S)
            await self._turns.acquire()
        finally:
            # From here on it may miss what is written: who comes now needs the next one.
            del self._waiting[key]
        try:
            return await go()
        finally:
            self._turns.release()
