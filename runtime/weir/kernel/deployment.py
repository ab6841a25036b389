"""The slots that carry the current generation: deployed, started and cancelled together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weir.graph.physical import PhysicalGraph
from weir.kernel.effects import DropSlot, Effect, Send
from weir.kernel.restore import SlotRestore
from weir.kernel.slots import Slot, SlotPhase, SlotTable
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.messages import Cancel, Deploy, Peer, Start, ToSlot


class Deployment:
    """Call order: ``deploy``, ``on_deployed`` until it says True, ``start``; ``cancel`` at any time after ``deploy``, then
    ``on_cancelled`` or ``evict`` until ``is_over``.

    ``slots`` is shared with the job master, which adds and removes them as they come and go. Spare slots are idle:
    they are no part of the deployment.
    """

    def __init__(self, slots: SlotTable, graph: PhysicalGraph, sources: Iterable[OperatorUid]) -> None:
        self._slots = slots
        self._graph = graph
        self._source_slots = frozenset(index for uid in sources for index in range(graph.chain_of(uid).parallelism))

    @property
    def is_over(self) -> bool:
        """No slot has anything of it any more."""
        return not self._slots.deployed()

    def deploy(
        self,
        chosen: Sequence[Slot],
        shares: Sequence[SlotRestore],
        *,
        generation: Generation,
        restored_checkpoint: CheckpointId | None,
        next_checkpoint: CheckpointId,
    ) -> list[Effect]:
        """``chosen``: as allocated, each with its index; ``shares``: of the same slots, in the same order."""
        graph = codec.to_json(self._graph)
        peers = tuple(
            Peer(slot.index, slot.registration.host, slot.registration.data_port) for slot in chosen if slot.index is not None
        )
        sends: list[Effect] = []
        for slot, share in zip(chosen, shares, strict=True):
            assert slot.index is not None, f"slot {slot.incarnation} was not allocated"
            slot.move(SlotPhase.DEPLOYING)
            message = Deploy(
                generation=generation,
                slot=slot.index,
                graph=graph,
                peers=peers,
                restored_checkpoint=restored_checkpoint,
                operators=share.operators,
                channels=share.channels,
                ended=share.ended,
                next_checkpoint=next_checkpoint,
            )
            sends.append(Send(slot.incarnation, message))
        return sends

    def on_deployed(self, slot: Slot) -> bool:
        """True: it was the last one, all can be started."""
        if slot.phase is not SlotPhase.DEPLOYING:
            return False
        slot.move(SlotPhase.DEPLOYED)
        return all(member.phase is SlotPhase.DEPLOYED for member in self._slots.deployed())

    def start(self, generation: Generation) -> list[Effect]:
        return self._move_all(SlotPhase.RUNNING, Start(generation))

    def cancel(self, generation: Generation) -> list[Effect]:
        return self._move_all(SlotPhase.CANCELLING, Cancel(generation))

    def on_cancelled(self, slot: Slot) -> bool:
        """True: it was asked to, and is idle now."""
        if slot.phase is not SlotPhase.CANCELLING:
            return False
        slot.move(SlotPhase.IDLE)
        return True

    def evict(self) -> list[Effect]:
        """Those that were cancelled and have not answered in time are slots no longer."""
        disobedient = [slot.incarnation for slot in self._slots.deployed()]
        for incarnation in disobedient:
            self._slots.remove(incarnation)
        return [DropSlot(incarnation, "did not give up its subtasks in time") for incarnation in disobedient]

    def tell(self, message: ToSlot) -> list[Effect]:
        return [Send(slot.incarnation, message) for slot in self._slots.deployed()]

    def tell_sources(self, message: ToSlot) -> list[Effect]:
        """Only slots with a subtask of a source."""
        return [Send(slot.incarnation, message) for slot in self._slots.deployed() if slot.index in self._source_slots]

    def _move_all(self, phase: SlotPhase, message: ToSlot) -> list[Effect]:
        members = self._slots.deployed()
        for slot in members:
            slot.move(phase)
        return [Send(slot.incarnation, message) for slot in members]
