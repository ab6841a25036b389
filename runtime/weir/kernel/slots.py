"""The coordinator's slots: which slots are registered, what each slot runs, and how a generation is deployed to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from weir.graph.physical import PhysicalGraph
from weir.kernel.effects import Effect, Send
from weir.kernel.restore import SlotRestore
from weir.kernel.stack_sample import SAMPLE_BYTES_MAX
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SlotIncarnation, SlotIndex
from weir.protocol.messages import CancelSubtasks, Deploy, Heartbeat, Peer, Register, Restoring, Start, ToSlot


class SlotPhase(StrEnum):
    IDLE = "idle"
    DEPLOYING = "deploying"
    DEPLOYED = "deployed"
    RUNNING = "running"
    CANCELLING = "cancelling"


LEGAL: dict[SlotPhase, frozenset[SlotPhase]] = {
    SlotPhase.IDLE: frozenset({SlotPhase.DEPLOYING}),
    SlotPhase.DEPLOYING: frozenset({SlotPhase.DEPLOYED, SlotPhase.CANCELLING}),
    SlotPhase.DEPLOYED: frozenset({SlotPhase.RUNNING, SlotPhase.CANCELLING}),
    SlotPhase.RUNNING: frozenset({SlotPhase.CANCELLING}),
    SlotPhase.CANCELLING: frozenset({SlotPhase.IDLE}),
}


@dataclass(frozen=True, slots=True)
class Stall:
    """A step of a slot's loop, or a blocking call if ``in_call`` is True. ``count`` identifies the step or call. The step or call
    began at ``since_ms`` or earlier."""

    in_call: bool
    count: int
    since_ms: int

    @property
    def identity(self) -> tuple[bool, int]:
        return self.in_call, self.count


@dataclass(slots=True)
class Slot:
    registration: Register
    last_heard_ms: int
    index: SlotIndex | None = None
    """A slot keeps its index during a recovery, so that a surviving slot runs the same subtasks again."""
    phase: SlotPhase = SlotPhase.IDLE
    deployments: int = 0
    """How often the slot was deployed."""
    progress_ms: int = 0
    """The time of the last progress: when the current deployment was sent to the slot, or when the slot last reported more
    restored bytes."""
    restored_bytes: int = 0
    total_bytes: int = 0
    heartbeat: Heartbeat = Heartbeat(-1)
    """The newest heartbeat."""
    turned_ms: int = 0
    """The time of the newest message that shows progress of the loop."""
    called_ms: int = 0
    """The time at which ``heartbeat.calls`` last changed."""
    sample: tuple[Heartbeat, str] = (Heartbeat(-1), "")
    """The newest sample of the slot's stacks, with the newest heartbeat at the time of this sample."""
    warned: set[tuple[bool, int]] = field(default_factory=set)
    """The identities of the reported stalls. The set is cleared when one of these stalls ends."""

    @property
    def incarnation(self) -> SlotIncarnation:
        return self.registration.incarnation

    def stalls(self) -> list[Stall]:
        """Return the step and the blocking call that are possibly still running."""
        stalls = []
        if self.phase not in (SlotPhase.DEPLOYING, SlotPhase.CANCELLING):
            # While a slot deploys or cancels, the timeouts of these phases apply.
            stalls.append(Stall(in_call=False, count=self.heartbeat.turns, since_ms=self.turned_ms))
        if self.phase is SlotPhase.RUNNING and self.heartbeat.calls % 2:
            stalls.append(Stall(in_call=True, count=self.heartbeat.calls, since_ms=self.called_ms))
        return stalls

    def end_warning(self) -> bool:
        """Return whether a reported stall has ended. If a stall has ended, forget all reported stalls. Stalls that continue can
        then be reported again."""
        if self.warned <= {stall.identity for stall in self.stalls()}:
            return False
        self.warned.clear()
        return True

    def sample_of(self, *, in_call: bool) -> str:
        """Return the sample of the current step or blocking call, or an empty string if there is no sample."""
        then, text = self.sample
        same = then.calls == self.heartbeat.calls if in_call else then.turns == self.heartbeat.turns
        return text if same else ""

    def on_heartbeat(self, heartbeat: Heartbeat, now_ms: int) -> None:
        if heartbeat.turns != self.heartbeat.turns:
            self.turned_ms = now_ms
        if heartbeat.calls != self.heartbeat.calls:
            self.called_ms = now_ms
        self.heartbeat = heartbeat

    def on_sample(self, text: str) -> None:
        """Store a sample, or the next part of a sample: on a busy host, a sample can arrive in parts."""
        then, earlier = self.sample
        if (then.turns, then.calls) == (self.heartbeat.turns, self.heartbeat.calls):
            text = (earlier + text)[-SAMPLE_BYTES_MAX:]
        self.sample = (self.heartbeat, text)

    def move(self, phase: SlotPhase) -> None:
        assert phase in LEGAL[self.phase], f"slot {self.incarnation}: {self.phase} -> {phase}"
        self.phase = phase


class SlotTable:
    """All registered slots. ``required``: the number of slots that the graph needs."""

    def __init__(self, required: int) -> None:
        self._required = required
        self._slots: dict[SlotIncarnation, Slot] = {}

    def __iter__(self) -> Iterator[Slot]:
        return iter(list(self._slots.values()))

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, incarnation: SlotIncarnation) -> Slot | None:
        return self._slots.get(incarnation)

    def add(self, registration: Register, *, now_ms: int) -> None:
        self._slots[registration.incarnation] = Slot(registration, now_ms, turned_ms=now_ms, called_ms=now_ms)

    def remove(self, incarnation: SlotIncarnation) -> None:
        del self._slots[incarnation]

    def allocate_one(self, index: SlotIndex) -> Slot | None:
        """Give ``index`` to an idle slot and return this slot. Return None if no slot is idle. Prefer a slot that had this index before, and
        then the slot of the Spark task with this index."""
        idle = [slot for slot in self._slots.values() if slot.phase is SlotPhase.IDLE]
        if not idle:
            return None
        chosen = min(idle, key=lambda slot: (slot.index != index, slot.registration.task != index))
        chosen.index = index
        return chosen

    def deployed(self) -> list[Slot]:
        """Return the slots of the current deployment, by index."""
        members = [slot for slot in self._slots.values() if slot.phase is not SlotPhase.IDLE]
        return sorted(members, key=lambda slot: slot.index if slot.index is not None else -1)

    def allocate(self) -> list[Slot] | None:
        """Return an idle slot for each index, in the order of the indices, or None if there are too few idle slots.

        A slot keeps its index. A new slot gets the index of its Spark task if that index is free.
        """
        idle = [slot for slot in self._slots.values() if slot.phase is SlotPhase.IDLE]
        if len(idle) < self._required:
            return None
        allocated: dict[int, Slot] = {}
        for slot in idle:
            if slot.index is not None and slot.index < self._required and slot.index not in allocated:
                allocated[slot.index] = slot
        kept = {slot.incarnation for slot in allocated.values()}
        rest = sorted((slot for slot in idle if slot.incarnation not in kept), key=lambda slot: slot.registration.task)
        for slot in list(rest):
            if slot.registration.task < self._required and slot.registration.task not in allocated:
                allocated[slot.registration.task] = slot
                rest.remove(slot)
        for index in range(self._required):
            if index not in allocated:
                allocated[index] = rest.pop(0)
        for slot in self._slots.values():
            slot.index = None if slot.phase is SlotPhase.IDLE else slot.index
        for index, slot in allocated.items():
            slot.index = SlotIndex(index)
        return [allocated[index] for index in range(self._required)]


class Deployment:
    """The slots of the current generation, which are deployed, started and cancelled together.

    Call ``deploy``, then ``on_deployed`` until it returns True, then ``start``. Call ``cancel`` at any time after
    ``deploy``, then ``on_cancelled`` or ``evict`` until ``is_cancelled``. ``slots`` is shared with the job master, which
    adds and removes slots. Spare slots are idle and not part of the deployment.
    """

    def __init__(self, slots: SlotTable, graph: PhysicalGraph, sources: Iterable[OperatorUid]) -> None:
        self._slots = slots
        self._graph = graph
        self._exchanges_records = bool(graph.exchanges())
        self._source_slots = frozenset(index for uid in sources for index in range(graph.chain_of(uid).parallelism))

    @property
    def is_cancelled(self) -> bool:
        """True if no slot runs any part of the deployment."""
        return not self._slots.deployed()

    def deploy(
        self,
        allocated: Sequence[Slot],
        restores: Sequence[SlotRestore],
        *,
        generation: Generation,
        restored_checkpoint: CheckpointId | None,
        next_checkpoint: CheckpointId,
        now_ms: int,
        attempt: int = 0,
    ) -> list[Effect]:
        """``allocated`` is the result of ``SlotTable.allocate``, or the slot that replaces a lost slot.

        ``restores`` has one item for each allocated slot, in the same order.
        """
        graph = codec.to_json(self._graph)
        peers: tuple[Peer, ...] = ()
        if self._exchanges_records:
            peers = tuple(
                Peer(slot.index, slot.registration.host, slot.registration.data_port)
                for slot in allocated
                if slot.index is not None
            )
        sends: list[Effect] = []
        for slot, restore in zip(allocated, restores, strict=True):
            assert slot.index is not None, f"slot {slot.incarnation} was not allocated"
            slot.move(SlotPhase.DEPLOYING)
            slot.deployments += 1
            slot.progress_ms, slot.restored_bytes, slot.total_bytes = now_ms, 0, 0
            message = Deploy(
                generation=generation,
                slot=slot.index,
                graph=graph,
                peers=peers,
                restored_checkpoint=restored_checkpoint,
                operators=restore.operators,
                inputs=restore.inputs,
                outputs=restore.outputs,
                ended=restore.ended,
                watermarks=restore.watermarks,
                next_checkpoint=next_checkpoint,
                attempt=attempt,
            )
            sends.append(Send(slot.incarnation, message))
        return sends

    def on_restoring(self, slot: Slot, message: Restoring, now_ms: int) -> None:
        slot.total_bytes = message.total_bytes
        if message.restored_bytes > slot.restored_bytes:
            slot.restored_bytes, slot.progress_ms = message.restored_bytes, now_ms

    def stalled(self, now_ms: int, *, timeout_ms: int) -> Slot | None:
        """Return a slot that is being deployed and has made no progress for ``timeout_ms``, or None.

        The duration of the whole deployment is not limited, because a restore of a large state takes long.
        """
        late = (slot for slot in self._slots.deployed() if now_ms - slot.progress_ms >= timeout_ms)
        return next((slot for slot in late if slot.phase is SlotPhase.DEPLOYING), None)

    def on_deployed(self, slot: Slot) -> bool:
        """Return True if ``slot`` was the last slot to deploy, so that all slots can start."""
        if slot.phase is not SlotPhase.DEPLOYING:
            return False
        slot.move(SlotPhase.DEPLOYED)
        return all(member.phase is SlotPhase.DEPLOYED for member in self._slots.deployed())

    def start(self, slots: Iterable[Slot], generation: Generation) -> list[Effect]:
        return _move(slots, SlotPhase.RUNNING, Start(generation))

    def cancel(self, generation: Generation) -> list[Effect]:
        running = [slot for slot in self._slots.deployed() if slot.phase is not SlotPhase.CANCELLING]
        return _move(running, SlotPhase.CANCELLING, CancelSubtasks(generation))

    def cancel_one(self, slot: Slot, generation: Generation, attempt: int) -> list[Effect]:
        return _move([slot], SlotPhase.CANCELLING, CancelSubtasks(generation, attempt))

    def on_cancelled(self, slot: Slot) -> bool:
        """Mark ``slot`` as idle. Return False, and do nothing, if ``slot`` was not being cancelled."""
        if slot.phase is not SlotPhase.CANCELLING:
            return False
        slot.move(SlotPhase.IDLE)
        return True

    def evict(self) -> list[Slot]:
        """Remove and return the slots that have not answered ``cancel`` in time."""
        unresponsive = self._slots.deployed()
        for slot in unresponsive:
            self._slots.remove(slot.incarnation)
        return unresponsive

    def broadcast(self, message: ToSlot) -> list[Effect]:
        return [Send(slot.incarnation, message) for slot in self._running()]

    def send_to(self, index: int, message: ToSlot) -> list[Effect]:
        """Send ``message`` to the slot with the index ``index``, which runs the subtasks with the same index."""
        return [Send(slot.incarnation, message) for slot in self._running() if slot.index == index]

    def send_to_sources(self, message: ToSlot) -> list[Effect]:
        """Send ``message`` to the slots that run a source subtask."""
        return [Send(slot.incarnation, message) for slot in self._running() if slot.index in self._source_slots]

    def _running(self) -> list[Slot]:
        return [slot for slot in self._slots.deployed() if slot.phase is SlotPhase.RUNNING]


def _move(slots: Iterable[Slot], phase: SlotPhase, message: ToSlot) -> list[Effect]:
    moved = list(slots)
    for slot in moved:
        slot.move(phase)
    return [Send(slot.incarnation, message) for slot in moved]
