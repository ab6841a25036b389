"""Reads that several want at once: done once, never too early, and nobody's going away harms the others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from weir_backend.kit.sharing import AT_ONCE, SharedReads


@dataclass
class Table:
    """Something that is read: each read waits until it is let go, and gives what there was when it began. ``begun``: ``company`` reads have."""

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


def test_those_who_come_together_share_one_read() -> None:
    async def go() -> None:
        table, shared = Table(7), SharedReads()
        table.free.set()
        assert await asyncio.gather(*(shared.read("a", table.read) for _ in range(50))) == [7] * 50
        assert table.reads == 1

    asyncio.run(go())


def test_who_comes_after_a_read_has_begun_sees_what_was_written_meanwhile() -> None:
    async def go() -> None:
        table, shared = Table(1), SharedReads()
        early = asyncio.create_task(shared.read("a", table.read))
        await table.begun.wait()
        table.value = 2
        late = asyncio.create_task(shared.read("a", table.read))
        await asyncio.sleep(0)
        table.free.set()
        assert (await early, await late, table.reads) == (1, 2, 2)

    asyncio.run(go())


def test_what_differs_is_read_apart_and_only_so_much_at_once() -> None:
    async def go() -> None:
        table, shared = Table(company=AT_ONCE), SharedReads()
        tasks = [asyncio.create_task(shared.read(key, table.read)) for key in range(3 * AT_ONCE)]
        await table.begun.wait()
        table.free.set()
        await asyncio.gather(*tasks)
        assert (table.reads, table.most) == (3 * AT_ONCE, AT_ONCE)

    asyncio.run(go())


def test_who_goes_away_does_not_take_the_read_along() -> None:
    async def go() -> None:
        table, shared = Table(3), SharedReads()
        first = asyncio.create_task(shared.read("a", table.read))
        second = asyncio.create_task(shared.read("a", table.read))
        await table.begun.wait()
        first.cancel()
        table.free.set()
        assert (await second, table.reads) == (3, 1)
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(go())


def test_what_fails_fails_for_all_who_share_it_and_is_tried_anew_by_the_next() -> None:
    async def go() -> None:
        table, shared = Table(-1), SharedReads()
        table.free.set()
        found = await asyncio.gather(*(shared.read("a", table.read) for _ in range(3)), return_exceptions=True)
        assert [type(one) for one in found] == [ValueError] * 3 and table.reads == 1
        table.value = 5
        assert await shared.read("a", table.read) == 5

    asyncio.run(go())
