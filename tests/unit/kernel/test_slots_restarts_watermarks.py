"""The small tables of the kernel."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_cases import register

from weir.kernel.restarts import RestartConfig, RestartStrategy
from weir.kernel.slots import LEGAL, Slot, SlotPhase, SlotTable
from weir.kernel.watermarks import WatermarkTracker
from weir.protocol.ids import ChannelId

A, B = ChannelId(0, 0, 0), ChannelId(0, 1, 0)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(SlotPhase, SlotPhase)))
def test_a_slot_moves_only_as_its_table_says(before: SlotPhase, after: SlotPhase) -> None:
    slot = Slot(register(0), 0, phase=before)
    if after in LEGAL[before]:
        slot.move(after)
    else:
        with pytest.raises(AssertionError):
            slot.move(after)


def test_nothing_is_allocated_until_there_are_enough_idle_slots() -> None:
    slots = SlotTable(2)
    slots.add(register(0), now_ms=0)
    assert slots.allocate() is None
    slots.add(register(1), now_ms=0)
    allocated = slots.allocate()
    assert allocated is not None
    assert [(slot.incarnation, slot.index) for slot in allocated] == [("slot0", 0), ("slot1", 1)]


def test_a_slot_that_lives_keeps_its_share_and_a_new_one_fills_the_gap() -> None:
    slots = SlotTable(3)
    for number in (2, 1, 0):
        slots.add(register(number), now_ms=0)
    assert [slot.incarnation for slot in slots.allocate() or ()] == ["slot0", "slot1", "slot2"]
    slots.remove(register(1).incarnation)
    slots.add(register(7), now_ms=0)
    assert [slot.incarnation for slot in slots.allocate() or ()] == ["slot0", "slot7", "slot2"]


def test_the_first_restart_is_immediate_then_delays_double_up_to_the_limit_and_end() -> None:
    restarts = RestartStrategy(RestartConfig(attempts_max=5, initial_delay_ms=10, delay_max_ms=35))
    assert [restarts.next_delay_ms() for _ in range(6)] == [0, 10, 20, 35, 35, None]


def test_a_completed_checkpoint_makes_restarts_immediate_again() -> None:
    restarts = RestartStrategy(RestartConfig(attempts_max=1))
    assert restarts.next_delay_ms() == 0
    restarts.on_progress()
    assert restarts.next_delay_ms() == 0
    assert restarts.next_delay_ms() is None


def test_the_watermark_is_the_minimum_and_waits_for_every_input() -> None:
    tracker = WatermarkTracker({A: None, B: None})
    assert tracker.on_watermark(A, 10) is None
    assert tracker.on_watermark(B, 7) == 7
    assert tracker.on_watermark(B, 20) == 10
    assert tracker.on_watermark(A, 5) is None, "it never goes back"


def test_idle_and_ended_inputs_are_left_out_and_data_brings_them_back() -> None:
    tracker = WatermarkTracker({A: 5, B: None})
    assert tracker.on_idle(B) == 5
    assert not tracker.idle
    tracker.on_idle(A)
    assert tracker.idle
    tracker.on_active(A)
    assert not tracker.idle
    assert tracker.on_end(B) is None
    assert tracker.on_watermark(A, 9) == 9


@given(st.lists(st.tuples(st.sampled_from("wia"), st.booleans(), st.integers(0, 50)), max_size=60))
def test_a_watermark_only_rises(steps: list[tuple[str, bool, int]]) -> None:
    tracker = WatermarkTracker({A: None, B: None})
    emitted: list[int] = []
    for kind, first, value in steps:
        channel = A if first else B
        if kind == "w":
            risen = tracker.on_watermark(channel, value)
        elif kind == "i":
            risen = tracker.on_idle(channel)
        else:
            tracker.on_active(channel)
            risen = None
        if risen is not None:
            emitted.append(risen)
    assert emitted == sorted(set(emitted))
