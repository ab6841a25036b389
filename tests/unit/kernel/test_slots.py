"""The slot table, and the deployment of a generation."""

from __future__ import annotations

import itertools

import pytest
from kernel_cases import SOURCE, graph, register

from weir.kernel.effects import Effect, Send
from weir.kernel.restore import plan_restore
from weir.kernel.slots import LEGAL, Deployment, Slot, SlotPhase, SlotTable
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.messages import CancelSubtasks, Deploy, Start, Stop

ONE = Generation(1)
GRAPH = graph(2)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(SlotPhase, SlotPhase)))
def test_a_slot_makes_only_legal_phase_changes(before: SlotPhase, after: SlotPhase) -> None:
    slot = Slot(register(0), 0, phase=before)
    if after in LEGAL[before]:
        slot.move(after)
        assert slot.phase is after
    else:
        with pytest.raises(AssertionError):
            slot.move(after)


def test_slots_are_allocated_only_when_enough_slots_are_idle() -> None:
    slots = SlotTable(2)
    slots.add(register(0), now_ms=0)
    assert slots.allocate() is None
    slots.add(register(1), now_ms=0)
    allocated = slots.allocate()
    assert allocated is not None
    assert [(slot.incarnation, slot.index) for slot in allocated] == [("slot0", 0), ("slot1", 1)]


def test_a_slot_keeps_its_index_when_another_slot_is_replaced() -> None:
    slots = SlotTable(3)
    for number in (2, 1, 0):
        slots.add(register(number), now_ms=0)
    assert [slot.incarnation for slot in slots.allocate() or ()] == ["slot0", "slot1", "slot2"]
    slots.remove(register(1).incarnation)
    slots.add(register(7), now_ms=0)
    assert [slot.incarnation for slot in slots.allocate() or ()] == ["slot0", "slot7", "slot2"]


def table(registered: int) -> SlotTable:
    slots = SlotTable(2)
    for number in range(registered):
        slots.add(register(number), now_ms=0)
    return slots


def deployed(slots: SlotTable) -> tuple[Deployment, list[Slot], list[Effect]]:
    deployment = Deployment(slots, GRAPH, [SOURCE])
    allocated = slots.allocate()
    assert allocated is not None
    restores = plan_restore(GRAPH, None)
    sends = deployment.deploy(
        allocated, restores, generation=ONE, restored_checkpoint=None, next_checkpoint=CheckpointId(1), now_ms=0
    )
    return deployment, allocated, sends


def run(deployment: Deployment, slots: list[Slot]) -> None:
    for slot in slots:
        deployment.on_deployed(slot)
    deployment.start(slots, ONE)


def test_every_slot_is_deployed_with_its_index_and_all_peers() -> None:
    _, allocated, sends = deployed(table(2))
    messages = [send.message for send in sends if isinstance(send, Send) and isinstance(send.message, Deploy)]
    assert [message.slot for message in messages] == [0, 1]
    assert [peer.slot for peer in messages[0].peers] == [0, 1]
    assert {slot.phase for slot in allocated} == {SlotPhase.DEPLOYING}


def test_slots_start_only_after_all_slots_have_confirmed_their_deployment() -> None:
    deployment, (first, second), _ = deployed(table(2))
    assert not deployment.on_deployed(first)
    assert not deployment.on_deployed(first), "a repeated answer of a slot is counted once"
    assert deployment.on_deployed(second)
    assert deployment.start([first, second], ONE) == [Send(slot.incarnation, Start(ONE)) for slot in (first, second)]
    assert {first.phase, second.phase} == {SlotPhase.RUNNING}


def test_a_deployment_is_cancelled_when_all_slots_have_confirmed_the_cancel() -> None:
    deployment, (first, second), _ = deployed(table(2))
    assert not deployment.on_cancelled(first), "no cancel was requested"
    assert deployment.cancel(ONE) == [Send(slot.incarnation, CancelSubtasks(ONE)) for slot in (first, second)]
    assert deployment.on_cancelled(first)
    assert not deployment.is_cancelled
    assert deployment.on_cancelled(second)
    assert deployment.is_cancelled


def test_a_slot_is_removed_if_it_does_not_confirm_a_cancel() -> None:
    slots = table(2)
    deployment, (first, second), _ = deployed(slots)
    deployment.cancel(ONE)
    deployment.on_cancelled(second)
    assert deployment.evict() == [first]
    assert [slot.incarnation for slot in slots] == [second.incarnation]
    assert deployment.is_cancelled


def test_spare_slots_receive_no_messages() -> None:
    deployment, allocated, _ = deployed(table(3))
    assert deployment.broadcast(Stop("over")) == [], "no slot runs yet"
    run(deployment, allocated)
    to_allocated_slots = [Send(slot.incarnation, Stop("over")) for slot in allocated]
    assert len(to_allocated_slots) == 2
    assert deployment.broadcast(Stop("over")) == to_allocated_slots
    assert deployment.send_to_sources(Stop("over")) == to_allocated_slots


def test_messages_for_sources_are_sent_only_to_slots_that_run_a_source_subtask() -> None:
    slots = table(2)
    deployment, (first, second), _ = deployed(slots)
    run(deployment, [first, second])
    one_source = Deployment(slots, graph(1), [SOURCE])
    assert one_source.send_to_sources(Stop("over")) == [Send(first.incarnation, Stop("over"))]
