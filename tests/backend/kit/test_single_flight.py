"""Concurrent callers share one read. No caller gets a stale result, and cancelling one caller does not affect others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from weir_backend.kit.single_flight import CONCURRENCY, SingleFlight


@dataclass
class Table:
    """``read`` blocks until ``released`` is set, and then returns the value that the table had when the read started. ``started`` is
    set when the number of reads in progress reaches ``expected``."""

    value: int = 0
    expected: int = 1
    reads: int = 0
    peak: int = 0
    running: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> int:
        found = self.value
        self.reads += 1
        self.running += 1
        self.peak = max(self.peak, self.running)
        if self.running >= self.expected:
            self.started.set()
        try:
            await self.released.wait()
        finally:
            self.running -= 1
        if found < 0:
            raise ValueError("negative value")
        return found


def test_concurrent_callers_share_one_read() -> None:
    async def scenario() -> None:
        table, shared = Table(7), SingleFlight()
        table.released.set()
        assert await asyncio.gather(*(shared.read("a", table.read) for _ in range(50))) == [7] * 50
        assert table.reads == 1

    asyncio.run(scenario())


def test_a_caller_that_arrives_during_a_read_waits_for_a_new_read() -> None:
    async def scenario() -> None:
        table, shared = Table(1), SingleFlight()
        early = asyncio.create_task(shared.read("a", table.read))
        await table.started.wait()
        table.value = 2
        late = asyncio.create_task(shared.read("a", table.read))
        await asyncio.sleep(0)
        table.released.set()
        assert (await early, await late, table.reads) == (1, 2, 2)

    asyncio.run(scenario())


def test_different_keys_are_read_separately_with_limited_concurrency() -> None:
    async def scenario() -> None:
        table, shared = Table(expected=CONCURRENCY), SingleFlight()
        tasks = [asyncio.create_task(shared.read(key, table.read)) for key in range(3 * CONCURRENCY)]
        await table.started.wait()
        table.released.set()
        await asyncio.gather(*tasks)
        assert (table.reads, table.peak) == (3 * CONCURRENCY, CONCURRENCY)

    asyncio.run(scenario())


def test_cancelling_one_caller_does_not_cancel_the_read() -> None:
    async def scenario() -> None:
        table, shared = Table(3), SingleFlight()
        first = asyncio.create_task(shared.read("a", table.read))
        second = asyncio.create_task(shared.read("a", table.read))
        await table.started.wait()
        first.cancel()
        table.released.set()
        assert (await second, table.reads) == (3, 1)
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(scenario())


def test_a_failed_read_raises_its_error_in_all_callers_and_the_next_caller_reads_again() -> None:
    async def scenario() -> None:
        table, shared = Table(-1), SingleFlight()
        table.released.set()
        found = await asyncio.gather(*(shared.read("a", table.read) for _ in range(3)), return_exceptions=True)
        assert [type(one) for one in found] == [ValueError] * 3 and table.reads == 1
        table.value = 5
        assert await shared.read("a", table.read) == 5

    asyncio.run(scenario())
