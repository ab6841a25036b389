"""Slots as one: deployed, started, cancelled, and missed."""

from __future__ import annotations

from kernel_cases import SOURCE, graph, register

from weir.kernel.deployment import Deployment
from weir.kernel.effects import DropSlot, Effect, Send
from weir.kernel.heartbeats import Heartbeats
from weir.kernel.restore import plan_restore
from weir.kernel.slots import Slot, SlotPhase, SlotTable
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.messages import Cancel, Deploy, Start, Stop

ONE = Generation(1)
GRAPH = graph(2)


def table(registered: int) -> SlotTable:
    slots = SlotTable(2)
    for number in range(registered):
        slots.add(register(number), now_ms=0)
    return slots


def deployed(slots: SlotTable) -> tuple[Deployment, list[Slot], list[Effect]]:
    deployment = Deployment(slots, GRAPH, [SOURCE])
    chosen = slots.allocate()
    assert chosen is not None
    shares = plan_restore(GRAPH, None)
    sends = deployment.deploy(chosen, shares, generation=ONE, restored_checkpoint=None, next_checkpoint=CheckpointId(1))
    return deployment, chosen, sends


def test_every_slot_gets_its_own_share_and_knows_all_the_others() -> None:
    _, chosen, sends = deployed(table(2))
    messages = [send.message for send in sends if isinstance(send, Send) and isinstance(send.message, Deploy)]
    assert [message.slot for message in messages] == [0, 1]
    assert [peer.slot for peer in messages[0].peers] == [0, 1]
    assert {slot.phase for slot in chosen} == {SlotPhase.DEPLOYING}


def test_all_are_started_once_the_last_one_is_deployed() -> None:
    deployment, (first, second), _ = deployed(table(2))
    assert not deployment.on_deployed(first)
    assert not deployment.on_deployed(first), "a repeated answer counts once"
    assert deployment.on_deployed(second)
    assert deployment.start(ONE) == [Send(slot.incarnation, Start(ONE)) for slot in (first, second)]
    assert {first.phase, second.phase} == {SlotPhase.RUNNING}


def test_a_cancelled_deployment_is_over_when_each_slot_has_answered() -> None:
    deployment, (first, second), _ = deployed(table(2))
    assert not deployment.on_cancelled(first), "nobody has asked it to"
    assert deployment.cancel(ONE) == [Send(slot.incarnation, Cancel(ONE)) for slot in (first, second)]
    assert deployment.on_cancelled(first)
    assert not deployment.is_over
    assert deployment.on_cancelled(second)
    assert deployment.is_over


def test_who_does_not_answer_a_cancel_is_a_slot_no_longer() -> None:
    slots = table(2)
    deployment, (first, second), _ = deployed(slots)
    deployment.cancel(ONE)
    deployment.on_cancelled(second)
    assert deployment.evict() == [DropSlot(first.incarnation, "did not give up its subtasks in time")]
    assert [slot.incarnation for slot in slots] == [second.incarnation]
    assert deployment.is_over


def test_spare_slots_are_told_nothing() -> None:
    deployment, chosen, _ = deployed(table(3))
    everybody = [Send(slot.incarnation, Stop("over")) for slot in chosen]
    assert len(everybody) == 2
    assert deployment.tell(Stop("over")) == everybody
    assert deployment.tell_sources(Stop("over")) == everybody


def test_only_slots_with_a_source_are_told_what_is_for_sources() -> None:
    slots = table(2)
    _, (first, _), _ = deployed(slots)
    one_source = Deployment(slots, graph(1), [SOURCE])
    assert one_source.tell_sources(Stop("over")) == [Send(first.incarnation, Stop("over"))]


def test_a_slot_that_is_silent_for_too_long_is_named_with_how_long() -> None:
    slots, heartbeats = table(2), Heartbeats(100)
    quiet, loud = slots
    assert heartbeats.silent(slots, 50) == []
    loud.last_heard_ms = 90
    assert heartbeats.silent(slots, 99) == []
    assert heartbeats.silent(slots, 100) == [(quiet, 100)]


def test_after_a_pause_of_the_coordinator_itself_every_slot_gets_its_full_time() -> None:
    slots, heartbeats = table(2), Heartbeats(100)
    assert heartbeats.silent(slots, 0) == []
    assert heartbeats.silent(slots, 500) == []
    assert {slot.last_heard_ms for slot in slots} == {500}
    assert heartbeats.silent(slots, 550) == []
    assert heartbeats.silent(slots, 600) == [(slot, 100) for slot in slots]
