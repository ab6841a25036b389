from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weir.spark.restarts import LONG_LIFE_S, RAISES_MAX, Again, Ending, GiveUp, Restarts

TRANSIENT = st.sampled_from([Ending.RETURNED, Ending.LOST])


def test_the_first_loss_is_made_good_at_once() -> None:
    assert Restarts().decide(Ending.LOST, lived_s=0.1) == Again(0.0)


def test_a_slot_that_raises_right_after_its_start_is_given_up_after_three_times() -> None:
    restarts = Restarts()
    decisions = [restarts.decide(Ending.RAISED, lived_s=0.1) for _ in range(RAISES_MAX)]
    assert [type(decision) for decision in decisions] == [Again, Again, GiveUp]


def test_raising_after_a_long_life_starts_the_count_anew() -> None:
    restarts = Restarts()
    for _ in range(10):
        assert isinstance(restarts.decide(Ending.RAISED, lived_s=LONG_LIFE_S), Again)


def test_nothing_is_started_when_spark_is_gone() -> None:
    assert Restarts().decide(Ending.SPARK_GONE, lived_s=100.0) == GiveUp()


@given(st.lists(TRANSIENT, min_size=1, max_size=50))
def test_lost_slots_are_never_given_up_and_wait_ever_longer_up_to_five_seconds(endings: list[Ending]) -> None:
    restarts = Restarts()
    delays = []
    for ending in endings:
        decision = restarts.decide(ending, lived_s=0.0)
        assert isinstance(decision, Again)
        delays.append(decision.delay_s)
    assert delays == sorted(delays)
    assert delays[-1] <= 5.0
    assert restarts.decide(Ending.LOST, lived_s=LONG_LIFE_S) == Again(0.0)
