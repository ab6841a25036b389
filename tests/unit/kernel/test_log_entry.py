"""The open entry of the job's log, and how often it is asked for."""

from __future__ import annotations

import pytest

from weir.kernel.effects import AppendLog, StartGeneration
from weir.kernel.log_entry import OpenEntry
from weir.kernel.retries import Retries
from weir.protocol.ids import CheckpointId, Generation

REQUEST = StartGeneration(Generation(1), None, CheckpointId(1))


def test_delays_double_from_the_second_attempt_on_and_attempts_are_bounded() -> None:
    retries = Retries(attempts_max=4, first_delay_ms=10)
    assert [retries.next_delay_ms() for _ in range(5)] == [10, 20, 40, None, None]


def test_an_entry_is_open_until_the_log_has_it() -> None:
    entry = OpenEntry(attempts_max=2, retry_ms=10)
    assert not entry.is_open
    assert entry.append(REQUEST) == AppendLog(REQUEST)
    assert entry.is_open
    entry.created(REQUEST)
    assert not entry.is_open


def test_an_entry_is_asked_for_again_with_a_delay_and_stays_open_then_it_is_given_up() -> None:
    entry = OpenEntry(attempts_max=2, retry_ms=10)
    entry.append(REQUEST)
    assert entry.again(REQUEST) == AppendLog(REQUEST, 10)
    assert entry.is_open
    assert entry.again(REQUEST) is None
    assert not entry.is_open


def test_the_next_entry_is_tried_as_often_as_the_first() -> None:
    entry = OpenEntry(attempts_max=2, retry_ms=10)
    entry.append(REQUEST)
    entry.again(REQUEST)
    entry.created(REQUEST)
    entry.append(REQUEST)
    assert entry.again(REQUEST) == AppendLog(REQUEST, 10)


def test_there_is_one_entry_at_a_time_and_answers_are_to_that_one() -> None:
    entry = OpenEntry(attempts_max=2, retry_ms=10)
    with pytest.raises(AssertionError, match="not asked"):
        entry.created(REQUEST)
    entry.append(REQUEST)
    with pytest.raises(AssertionError, match="one entry at a time"):
        entry.append(REQUEST)
    entry.drop()
    assert not entry.is_open
    with pytest.raises(AssertionError, match="not asked"):
        entry.again(REQUEST)
