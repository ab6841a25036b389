"""Waiting for a notification can be cancelled at any moment."""

from __future__ import annotations

import asyncio

import pytest

from weir_backend.kit.notifications import Subscription


@pytest.mark.parametrize("steps_between", range(8))
def test_a_wait_ends_if_it_is_cancelled_during_a_notification(steps_between: int) -> None:
    async def scenario() -> bool:
        subscription = Subscription()

        async def listen() -> None:
            while True:
                await subscription.wait(60)

        listener = asyncio.create_task(listen())
        await asyncio.sleep(0)  # the listener begins to wait
        subscription.deliver("job:1")
        for _ in range(steps_between):
            await asyncio.sleep(0)
        listener.cancel()
        done, _ = await asyncio.wait([listener], timeout=1)
        listener.cancel()
        return bool(done)

    assert asyncio.run(scenario()), "the cancelled wait did not end"
