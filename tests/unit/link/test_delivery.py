from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.link.link_examples import failed, sample

from weir.link.delivery import (
    BACKOFF_MS_MAX,
    BACKOFF_MS_MIN,
    BATCH_BYTES,
    LINGER_MS,
    ControlPlaneUnavailable,
    EventBatch,
    EventDelivery,
    Gap,
    PostResult,
    RequestTooLarge,
    RunRefused,
    Stored,
)
from weir.link.spool import Spool
from weir.protocol.events import NumberedEvent, decode_batch
from weir.protocol.ids import EventNumber


class Driver:
    """A spool, its event delivery and a fake clock."""

    def __init__(self, directory: Path) -> None:
        self.now_ms = 0
        self.posts = 0
        self.spool = Spool(directory / "run", wall_ms=lambda: self.now_ms)
        self.delivery = EventDelivery(self.spool)

    def append(self, count: int = 1) -> None:
        for _ in range(count):
            self.spool.append(failed(self.now_ms))

    def due(self) -> EventBatch | None:
        return self.delivery.due(self.now_ms)

    def post(self) -> EventBatch:
        """Advance the clock to the next request and return the request. Fails if the delivery has no event to send."""
        while (post := self.due()) is None:
            wait_ms = self.delivery.wait_ms(self.now_ms)
            assert wait_ms is not None, "the delivery has no event to send"
            self.now_ms += max(wait_ms, 1)
        self.posts += 1
        assert self.posts < 10_000, "the delivery does not end"
        return post

    def answer(self, answer: PostResult, jitter: float = 1.0) -> None:
        self.delivery.on_result(answer, self.now_ms, jitter=jitter)


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    created = Driver(tmp_path)
    yield created
    created.spool.close()


def test_events_of_a_short_period_are_sent_in_one_request(driver: Driver) -> None:
    assert driver.due() is None and driver.delivery.wait_ms(0) is None
    driver.append()
    assert driver.due() is None and driver.delivery.wait_ms(driver.now_ms) == LINGER_MS
    driver.now_ms += LINGER_MS - 1
    driver.append()
    assert driver.due() is None
    driver.now_ms += 1
    post = driver.due()
    assert post is not None and (post.first, post.last, post.oldest) == (1, 2, 1)


def test_events_are_sent_without_delay_when_the_run_ends(driver: Driver) -> None:
    driver.append()
    assert driver.delivery.due(driver.now_ms, hurry=True) is not None


def test_only_events_that_are_not_confirmed_are_sent(driver: Driver) -> None:
    driver.append(3)
    driver.post()
    driver.answer(Stored(EventNumber(2)))
    post = driver.post()
    assert (post.first, post.last, post.oldest) == (3, 3, 3)
    driver.answer(Stored(EventNumber(3)))
    assert driver.due() is None and driver.delivery.wait_ms(driver.now_ms) is None


def test_a_request_without_response_is_retried_with_increasing_delays(driver: Driver) -> None:
    driver.append()
    waits = []
    for _ in range(12):
        driver.post()
        driver.answer(ControlPlaneUnavailable("timed out"))
        assert driver.delivery.failing
        waits.append(driver.delivery.wait_ms(driver.now_ms))
    assert waits[:3] == [BACKOFF_MS_MIN, 2 * BACKOFF_MS_MIN, 4 * BACKOFF_MS_MIN] and waits[-1] == BACKOFF_MS_MAX
    driver.post()
    driver.answer(ControlPlaneUnavailable("timed out"), jitter=0.0)
    assert driver.delivery.wait_ms(driver.now_ms) == BACKOFF_MS_MAX // 2
    driver.post()
    driver.answer(Stored(EventNumber(1)))
    assert not driver.delivery.failing


def test_the_next_request_is_sent_after_the_time_in_the_retry_after_header(driver: Driver) -> None:
    driver.append()
    driver.post()
    driver.answer(ControlPlaneUnavailable("status 429", retry_after_ms=7_000))
    assert driver.delivery.wait_ms(driver.now_ms) == 7_000


def test_the_missing_events_are_sent_after_a_delay_if_the_control_plane_reports_a_gap(driver: Driver) -> None:
    driver.append(3)
    driver.post()
    driver.answer(Stored(EventNumber(1)))
    driver.post()
    driver.answer(Gap(EventNumber(1)))
    assert driver.due() is None and driver.delivery.wait_ms(driver.now_ms) == BACKOFF_MS_MIN
    assert driver.post().first == 2


def test_a_request_contains_the_number_of_the_oldest_available_event(driver: Driver) -> None:
    """A control plane that was restored from a backup can lack events that the driver has deleted. The number of the
    oldest available event tells the control plane that the driver cannot send earlier events any more."""
    driver.append(3)
    driver.post()
    driver.answer(Stored(EventNumber(2)))
    driver.post()
    driver.answer(Gap(EventNumber(0)))
    post = driver.post()
    assert (post.first, post.oldest) == (3, 3)


def test_a_batch_that_is_too_large_is_sent_again_in_smaller_batches(driver: Driver) -> None:
    for number in range(3_000):
        driver.spool.append(sample(number))
    sizes = [len(driver.post().body)]
    while sizes[-1] > BATCH_BYTES // 8:
        driver.answer(RequestTooLarge())
        sizes.append(len(driver.post().body))
    assert len(sizes) > 1 and sizes == sorted(sizes, reverse=True)


def test_a_single_event_that_is_too_large_ends_the_delivery(driver: Driver) -> None:
    driver.append()
    while driver.delivery.refused is None:
        driver.post()
        driver.answer(RequestTooLarge())
    assert "size limit" in driver.delivery.refused.reason and driver.due() is None


def test_a_request_that_a_proxy_refuses_as_too_large_is_retried(driver: Driver) -> None:
    driver.append()
    for _ in range(30):
        driver.post()
        driver.answer(RequestTooLarge(permanent=False))
        driver.now_ms += BACKOFF_MS_MAX
    assert driver.delivery.refused is None
    driver.post()
    driver.answer(Stored(EventNumber(1)))
    assert driver.delivery.confirmed == 1


def test_a_refused_run_sends_no_further_requests(driver: Driver) -> None:
    driver.append()
    driver.post()
    driver.answer(RunRefused("the run is over"))
    driver.append()
    driver.now_ms += BACKOFF_MS_MAX
    assert driver.due() is None and driver.delivery.wait_ms(driver.now_ms) is None
    assert driver.delivery.refused == RunRefused("the run is over")


def test_a_confirmation_of_events_that_were_not_sent_is_ignored(driver: Driver) -> None:
    driver.append(2)
    driver.post()
    driver.append()
    driver.answer(Stored(EventNumber(3)))
    assert driver.delivery.failing and driver.spool.first() == 1
    driver.answer(Stored(EventNumber(2)))
    assert driver.post().first == 3


class ControlPlane:
    """A fake control plane that stores consecutive events and loses some requests and responses."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.events: list[NumberedEvent] = []
        self.gaps = 0

    @property
    def last(self) -> int:
        return self.events[-1].number if self.events else 0

    def take(self, post: EventBatch, *, limit: int) -> PostResult:
        if self._rng.random() < 0.2:
            return ControlPlaneUnavailable("the request was lost")
        if len(post.body) > limit:
            return RequestTooLarge()
        batch = decode_batch(post.body)
        assert (batch[0].number, batch[-1].number) == (post.first, post.last)
        if post.first > self.last + 1:
            if post.oldest <= self.last + 1:
                return Gap(EventNumber(self.last))
            self.gaps += 1
        self.events += [event for event in batch if event.number > self.last]
        if self._rng.random() < 0.2:
            return ControlPlaneUnavailable("the answer was lost")
        return Stored(EventNumber(self.last))


@pytest.mark.parametrize("seed", range(200))
def test_each_event_arrives_once_and_in_order_despite_lost_requests_and_responses(driver: Driver, seed: int) -> None:
    rng = random.Random(seed)
    control_plane, recorded = ControlPlane(rng), 0
    for _ in range(60):
        for _ in range(rng.choice((0, 0, 1, 5, 40))):
            driver.append()
            recorded += 1
        if recorded > control_plane.last:
            driver.answer(control_plane.take(driver.post(), limit=rng.choice((2_000, 10_000, 1 << 20))), rng.random())
    while control_plane.last < recorded or driver.spool.first() <= recorded:
        driver.answer(control_plane.take(driver.post(), limit=1 << 20), rng.random())
    assert [event.number for event in control_plane.events] == list(range(1, recorded + 1)) and control_plane.gaps == 0


def test_after_a_restore_of_the_control_plane_the_driver_sends_all_remaining_events(driver: Driver) -> None:
    rng = random.Random(1)
    control_plane = ControlPlane(rng)
    driver.append(10)
    while driver.spool.first() <= 10:
        driver.answer(control_plane.take(driver.post(), limit=1 << 20), rng.random())
    del control_plane.events[4:]
    driver.append(2)
    while driver.spool.first() <= 12:
        driver.answer(control_plane.take(driver.post(), limit=1 << 20), rng.random())
    assert [event.number for event in control_plane.events] == [1, 2, 3, 4, 11, 12] and control_plane.gaps == 1
