from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weir.spark.slot_pool import RAISES_MAX, STABLE_S, NoRestart, Restart, SlotEnding, SlotRestarts

TRANSIENT = st.sampled_from([SlotEnding.RETURNED, SlotEnding.LOST])


def test_the_first_restart_of_a_lost_slot_has_no_delay() -> None:
    assert SlotRestarts().decide(SlotEnding.LOST, uptime_s=0.1) == Restart(0.0)


def test_a_slot_is_not_restarted_after_three_errors_at_its_start() -> None:
    restarts = SlotRestarts()
    decisions = [restarts.decide(SlotEnding.RAISED, uptime_s=0.1) for _ in range(RAISES_MAX)]
    assert [type(decision) for decision in decisions] == [Restart, Restart, NoRestart]


def test_a_long_run_without_errors_resets_the_error_count_of_a_slot() -> None:
    restarts = SlotRestarts()
    for _ in range(10):
        assert isinstance(restarts.decide(SlotEnding.RAISED, uptime_s=STABLE_S), Restart)


def test_no_slot_is_restarted_after_spark_has_ended() -> None:
    assert SlotRestarts().decide(SlotEnding.SPARK_ENDED, uptime_s=100.0) == NoRestart()


@given(st.lists(TRANSIENT, min_size=1, max_size=50))
def test_a_lost_slot_is_restarted_without_limit_and_with_delays_up_to_five_seconds(endings: list[SlotEnding]) -> None:
    restarts = SlotRestarts()
    delays = []
    for ending in endings:
        decision = restarts.decide(ending, uptime_s=0.0)
        assert isinstance(decision, Restart)
        delays.append(decision.delay_s)
    assert delays == sorted(delays)
    assert delays[-1] <= 5.0
    assert restarts.decide(SlotEnding.LOST, uptime_s=STABLE_S) == Restart(0.0)
