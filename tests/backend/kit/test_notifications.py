"""Waiting for a notification can be cancelled at any moment."""

from __future__ import annotations

import asyncio

import pytest

from weir_backend.kit.notifications import Subscription


@pytest.mark.parametrize("steps_between", range(8))
def test_a_wait_cancelled_during_a_notification_ends(steps_between: int) -> None:
    async def play() -> bool:
        news = Subscription()

        async def follow() -> None:
            while True:
                await news.wait(60)

        follower = asyncio.create_task(follow())
        await asyncio.sleep(0.01)
        news.deliver("job:1")
        for _ in range(steps_between):
            await asyncio.sleep(0)
        follower.cancel()
        done, _ = await asyncio.wait([follower], timeout=1)
        follower.cancel()
        return bool(done)

    assert asyncio.run(play()), "it has forgotten that it was cancelled"
