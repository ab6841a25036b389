"""Shared reads: concurrent callers share one read, get no stale result, and are not affected when another caller is cancelled."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from weir_backend.kit.single_flight import CONCURRENCY, SingleFlight


@dataclass
class Table:
    """A read that waits until it is released and returns the value from its start. ``begun``: ``company`` reads have started."""

    value: int = 0
    company: int = 1
    reads: int = 0
    most: int = 0
    now: int = 0
    free: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> int:
        found = self.value
        self.reads += 1
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now >= self.company:
            self.begun.set()
        try:
            await self.free.wait()
        finally:
            self.now -= 1
        if found < 0:
            raise ValueError("there is no such thing")
        return found


def test_concurrent_callers_share_one_read() -> None:
    async def go() -> None:
        table, shared = Table(7), SingleFlight()
        table.free.set()
        assert await asyncio.gather(*(shared.read("a", table.read) for _ in range(50))) == [7] * 50
        assert table.reads == 1

    asyncio.run(go())


def test_a_caller_that_arrives_after_a_read_started_sees_later_writes() -> None:
    async def go() -> None:
        table, shared = Table(1), SingleFlight()
        early = asyncio.create_task(shared.read("a", table.read))
        await table.begun.wait()
        table.value = 2
        late = asyncio.create_task(shared.read("a", table.read))
        await asyncio.sleep(0)
        table.free.set()
        assert (await early, await late, table.reads) == (1, 2, 2)

    asyncio.run(go())


def test_different_keys_are_read_separately_with_limited_concurrency() -> None:
    async def go() -> None:
        table, shared = Table(company=CONCURRENCY), SingleFlight()
        tasks = [asyncio.create_task(shared.read(key, table.read)) for key in range(3 * CONCURRENCY)]
        await table.begun.wait()
        table.free.set()
        await asyncio.gather(*tasks)
        assert (table.reads, table.most) == (3 * CONCURRENCY, CONCURRENCY)

    asyncio.run(go())


def test_cancelling_one_caller_does_not_cancel_the_read() -> None:
    async def go() -> None:
        table, shared = Table(3), SingleFlight()
        first = asyncio.create_task(shared.read("a", table.read))
        second = asyncio.create_task(shared.read("a", table.read))
        await table.begun.wait()
        first.cancel()
        table.free.set()
        assert (await second, table.reads) == (3, 1)
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(go())


def test_an_error_reaches_all_callers_and_the_next_caller_retries() -> None:
    async def go() -> None:
        table, shared = Table(-1), SingleFlight()
        table.free.set()
        found = await asyncio.gather(*(shared.read("a", table.read) for _ in range(3)), return_exceptions=True)
        assert [type(one) for one in found] == [ValueError] * 3 and table.reads == 1
        table.value = 5
        assert await shared.read("a", table.read) == 5

    asyncio.run(go())
