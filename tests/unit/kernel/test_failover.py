"""Failure detection, restarts and backoff."""

from __future__ import annotations

import pytest
from kernel_cases import register

from weir.kernel.config import RestartConfig, Timeouts
from weir.kernel.failover import Backoff, HeartbeatMonitor, RestartPolicy
from weir.kernel.slots import SlotTable


def registered(count: int) -> SlotTable:
    slots = SlotTable(2)
    for number in range(count):
        slots.add(register(number), now_ms=0)
    return slots


def test_a_silent_slot_is_reported_with_the_time_since_its_last_heartbeat() -> None:
    slots, heartbeats = registered(2), HeartbeatMonitor(100)
    silent, responsive = slots
    assert heartbeats.silent(slots, 50) == []
    responsive.last_heard_ms = 90
    assert heartbeats.silent(slots, 99) == []
    assert heartbeats.silent(slots, 100) == [(silent, 100)]


def test_the_heartbeat_timeout_of_all_slots_starts_again_after_a_pause_of_the_coordinator() -> None:
    slots, heartbeats = registered(2), HeartbeatMonitor(100)
    assert heartbeats.silent(slots, 0) == []
    assert heartbeats.silent(slots, 500) == []
    assert {slot.last_heard_ms for slot in slots} == {500}
    assert heartbeats.silent(slots, 550) == []
    assert heartbeats.silent(slots, 600) == [(slot, 100) for slot in slots]


@pytest.mark.parametrize(
    ("timeouts", "heartbeat_ms"),
    [
        (Timeouts(), 1_000),
        (Timeouts(heartbeat_timeout_ms=2_000), 400),
        (Timeouts(stuck_timeout_ms=1_000), 200),
        (Timeouts(heartbeat_timeout_ms=3_600_000, stuck_timeout_ms=None, call_timeout_ms=None), 1_000),
        (Timeouts(call_timeout_ms=1), 1),
        (Timeouts(cancel_timeout_ms=600), 200),
    ],
)
def test_each_timeout_contains_several_heartbeats(timeouts: Timeouts, heartbeat_ms: int) -> None:
    assert timeouts.heartbeat_ms == heartbeat_ms


def test_the_first_restart_is_immediate_and_later_delays_double_up_to_the_limit() -> None:
    restarts = RestartPolicy(RestartConfig(attempts_max=5, initial_delay_ms=10, delay_max_ms=35))
    for delay_ms in (0, 10, 20, 35, 35):
        assert restarts.on_failure(1_000)
        assert restarts.may_deploy(1_000 + delay_ms)
        assert not restarts.may_deploy(1_000 + delay_ms - 1)
    assert not restarts.on_failure(1_000)


def test_a_completed_checkpoint_resets_the_number_and_the_delay_of_restarts() -> None:
    restarts = RestartPolicy(RestartConfig(attempts_max=2))
    assert [restarts.on_failure(0) for _ in range(3)] == [True, True, False]
    assert restarts.restarts == 2
    restarts.on_checkpoint_completed()
    assert restarts.restarts == 0
    assert restarts.on_failure(5)
    assert restarts.may_deploy(5), "the next restart has no delay"


def test_downtime_is_the_time_from_the_first_failure_until_all_subtasks_run_again() -> None:
    restarts = RestartPolicy(RestartConfig(attempts_max=5, initial_delay_ms=100))
    assert restarts.on_running(0) is None, "the first start is not a recovery"
    assert restarts.on_failure(1_000)
    assert restarts.on_failure(1_500)
    assert restarts.on_running(1_700) == 700
    assert restarts.on_running(1_800) is None


def test_backoff_delays_double_until_the_last_attempt() -> None:
    backoff = Backoff(attempts_max=4, first_delay_ms=10)
    assert [backoff.next_delay_ms() for _ in range(5)] == [10, 20, 40, None, None]
