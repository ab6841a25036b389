"""Deduplication of concurrent reads: subscribers that want the same data share one read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")
GATHER_S = 0.01
"""The delay before a read starts. When a change wakes several subscribers, all subscribers that call ``read`` within this delay
share one read."""
CONCURRENCY = 4
"""The maximum number of concurrent reads for all event streams. The other database connections remain free for ordinary requests."""


class SingleFlight:
    """Deduplicates the reads in one event loop."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._waiting: dict[Hashable, asyncio.Task[Any]] = {}

    async def read(self, key: Hashable, call: Callable[[], Awaitable[T]]) -> T:
        """Return the result of ``call``, shared between callers with the same ``key``. Raises what ``call`` raises.

        The result comes from a read that starts after this call, never from a read that is already in progress. If a change woke the caller, the
        result contains this change.
        """
        task = self._waiting.get(key)
        if task is None:
            task = self._waiting[key] = asyncio.create_task(self._run(key, call))
        # The shield keeps the read alive for the other callers when one of them is cancelled.
        result: T = await asyncio.shield(task)
        return result

    async def _run(self, key: Hashable, call: Callable[[], Awaitable[T]]) -> T:
        try:
            await asyncio.sleep(GATHER_S)
            await self._slots.acquire()
        finally:
            # The read starts now and can miss later writes, so later callers need another read.
            del self._waiting[key]
        try:
            return await call()
        finally:
            self._slots.release()
