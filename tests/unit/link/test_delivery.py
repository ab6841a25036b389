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
    Answer,
    Delivery,
    Hole,
    NoAnswer,
    Post,
    Refused,
    Stored,
    TooLarge,
)
from weir.link.spool import Spool
from weir.protocol.events import NumberedEvent, decode_batch
from weir.protocol.ids import EventNumber


class Line:
    """A spool, its delivery and a clock."""

    def __init__(self, directory: Path) -> None:
        self.now_ms = 0
        self.posts = 0
        self.spool = Spool(directory / "run", wall_ms=lambda: self.now_ms)
        self.delivery = Delivery(self.spool)

    def append(self, count: int = 1) -> None:
        for _ in range(count):
            self.spool.append(failed(self.now_ms))

    def due(self) -> Post | None:
        return self.delivery.due(self.now_ms)

    def post(self) -> Post:
        """After as long as it takes; fails if nothing ever comes."""
        while (post := self.due()) is None:
            wait_ms = self.delivery.wait_ms(self.now_ms)
            assert wait_ms is not None, "nothing to wait for"
            self.now_ms += max(wait_ms, 1)
        self.posts += 1
        assert self.posts < 10_000, "it never comes to an end"
        return post

    def answer(self, answer: Answer, luck: float = 1.0) -> None:
        self.delivery.on_answer(answer, self.now_ms, luck=luck)


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    made = Line(tmp_path)
    yield made
    made.spool.close()


def test_an_event_waits_a_moment_for_company(line: Line) -> None:
    assert line.due() is None and line.delivery.wait_ms(0) is None
    line.append()
    assert line.due() is None and line.delivery.wait_ms(line.now_ms) == LINGER_MS
    line.now_ms += LINGER_MS - 1
    line.append()
    assert line.due() is None
    line.now_ms += 1
    post = line.due()
    assert post is not None and (post.first, post.last, post.oldest) == (1, 2, 1)


def test_who_is_in_a_hurry_waits_for_nobody(line: Line) -> None:
    line.append()
    assert line.delivery.due(line.now_ms, hurry=True) is not None


def test_what_is_stored_is_forgotten_and_the_rest_follows(line: Line) -> None:
    line.append(3)
    line.post()
    line.answer(Stored(EventNumber(2)))
    post = line.post()
    assert (post.first, post.last, post.oldest) == (3, 3, 3)
    line.answer(Stored(EventNumber(3)))
    assert line.due() is None and line.delivery.wait_ms(line.now_ms) is None


def test_without_an_answer_the_same_goes_out_again_later_and_later(line: Line) -> None:
    line.append()
    waits = []
    for _ in range(12):
        line.post()
        line.answer(NoAnswer("timed out"))
        assert line.delivery.failing
        waits.append(line.delivery.wait_ms(line.now_ms))
    assert waits[:3] == [BACKOFF_MS_MIN, 2 * BACKOFF_MS_MIN, 4 * BACKOFF_MS_MIN] and waits[-1] == BACKOFF_MS_MAX
    line.post()
    line.answer(NoAnswer("timed out"), luck=0.0)
    assert line.delivery.wait_ms(line.now_ms) == BACKOFF_MS_MAX // 2
    line.post()
    line.answer(Stored(EventNumber(1)))
    assert not line.delivery.failing


def test_a_control_plane_that_says_when_to_come_again_is_obeyed(line: Line) -> None:
    line.append()
    line.post()
    line.answer(NoAnswer("it answers 429", retry_after_ms=7_000))
    assert line.delivery.wait_ms(line.now_ms) == 7_000


def test_a_hole_is_filled_from_where_it_begins_but_not_in_a_hot_loop(line: Line) -> None:
    line.append(3)
    line.post()
    line.answer(Stored(EventNumber(1)))
    line.post()
    line.answer(Hole(EventNumber(1)))
    assert line.due() is None and line.delivery.wait_ms(line.now_ms) == BACKOFF_MS_MIN
    assert line.post().first == 2


def test_what_is_gone_is_said_to_be(line: Line) -> None:
    """A control plane that was set back to an older state asks for what it had confirmed."""
    line.append(3)
    line.post()
    line.answer(Stored(EventNumber(2)))
    line.post()
    line.answer(Hole(EventNumber(0)))
    post = line.post()
    assert (post.first, post.oldest) == (3, 3)


def test_batches_shrink_until_they_fit(line: Line) -> None:
    for number in range(3_000):
        line.spool.append(sample(number))
    sizes = [len(line.post().body)]
    while sizes[-1] > BATCH_BYTES // 8:
        line.answer(TooLarge())
        sizes.append(len(line.post().body))
    assert len(sizes) > 1 and sizes == sorted(sizes, reverse=True)


def test_a_single_event_that_never_fits_ends_it_by_name(line: Line) -> None:
    line.append()
    while line.delivery.refused is None:
        line.post()
        line.answer(TooLarge())
    assert "too large" in line.delivery.refused.reason and line.due() is None


def test_what_is_before_the_control_plane_may_let_larger_ones_through_some_day(line: Line) -> None:
    line.append()
    for _ in range(30):
        line.post()
        line.answer(TooLarge(for_good=False))
        line.now_ms += BACKOFF_MS_MAX
    assert line.delivery.refused is None
    line.post()
    line.answer(Stored(EventNumber(1)))
    assert line.delivery.known == 1


def test_who_is_not_wanted_any_more_says_nothing_more(line: Line) -> None:
    line.append()
    line.post()
    line.answer(Refused("the run is over"))
    line.append()
    line.now_ms += BACKOFF_MS_MAX
    assert line.due() is None and line.delivery.wait_ms(line.now_ms) is None
    assert line.delivery.refused == Refused("the run is over")


def test_who_claims_to_have_what_it_was_never_sent_is_not_believed(line: Line) -> None:
    line.append(2)
    line.post()
    line.append()
    line.answer(Stored(EventNumber(3)))
    assert line.delivery.failing and line.spool.first() == 1
    line.answer(Stored(EventNumber(2)))
    assert line.post().first == 3


class ControlPlane:
    """Stores what follows what it has. Loses requests, answers, and now and then its newest events, as a database set back would."""

    def __init__(self, luck: random.Random) -> None:
        self._luck = luck
        self.events: list[NumberedEvent] = []
        self.gaps = 0

    @property
    def last(self) -> int:
        return self.events[-1].number if self.events else 0

    def take(self, post: Post, *, limit: int) -> Answer:
        if self._luck.random() < 0.2:
            return NoAnswer("the request was lost")
        if len(post.body) > limit:
            return TooLarge()
        batch = decode_batch(post.body)
        assert (batch[0].number, batch[-1].number) == (post.first, post.last)
        if post.first > self.last + 1:
            if post.oldest <= self.last + 1:
                return Hole(EventNumber(self.last))
            self.gaps += 1
        self.events += [event for event in batch if event.number > self.last]
        if self._luck.random() < 0.2:
            return NoAnswer("the answer was lost")
        return Stored(EventNumber(self.last))


@pytest.mark.parametrize("seed", range(200))
def test_each_event_arrives_once_and_in_order_whatever_is_lost_on_the_way(line: Line, seed: int) -> None:
    luck = random.Random(seed)
    control_plane, said = ControlPlane(luck), 0
    for _ in range(60):
        for _ in range(luck.choice((0, 0, 1, 5, 40))):
            line.append()
            said += 1
        if said > control_plane.last:
            line.answer(control_plane.take(line.post(), limit=luck.choice((2_000, 10_000, 1 << 20))), luck.random())
    while control_plane.last < said or line.spool.first() <= said:
        line.answer(control_plane.take(line.post(), limit=1 << 20), luck.random())
    assert [event.number for event in control_plane.events] == list(range(1, said + 1)) and control_plane.gaps == 0


def test_a_control_plane_set_back_misses_only_what_is_gone_here_too(line: Line) -> None:
    luck = random.Random(1)
    control_plane = ControlPlane(luck)
    line.append(10)
    while line.spool.first() <= 10:
        line.answer(control_plane.take(line.post(), limit=1 << 20), luck.random())
    del control_plane.events[4:]
    line.append(2)
    while line.spool.first() <= 12:
        line.answer(control_plane.take(line.post(), limit=1 << 20), luck.random())
    assert [event.number for event in control_plane.events] == [1, 2, 3, 4, 11, 12] and control_plane.gaps == 1
