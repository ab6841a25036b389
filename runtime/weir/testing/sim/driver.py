"""A simulated driver process: the production ``JobMaster`` and ``EffectRunner`` around simulated threads and connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weir.connectors.base import Source
from weir.coordinator.lanes import Lanes
from weir.coordinator.plan import JobPlan
from weir.coordinator.runner import EffectRunner
from weir.coordinator.start import FromCheckpoint, Resume, StartMode, StartPoint, find_start, restore_point
from weir.graph.logical import OperatorKind
from weir.kernel.effects import (
    AppendLog,
    Commit,
    DropSlot,
    Effect,
    Finish,
    Prepare,
    Report,
    Send,
    WriteManifest,
)
from weir.kernel.job import JobMaster, JobPhase
from weir.operators.base import SourceOperator
from weir.protocol.ids import SlotIncarnation
from weir.protocol.messages import Acknowledge, TriggerCheckpoint
from weir.protocol.snapshots import JsonValue, Split
from weir.storage.joblog import JobLog
from weir.testing.sim.graphs import JOB, SourceShape
from weir.testing.sim.lanes import Lane
from weir.testing.sim.network import Connection, End
from weir.testing.sim.process import Process
from weir.testing.sim.slot import LAYOUT, SimSlot, over_the_wire
from weir.testing.sim.stateful import SimCommitter
from weir.testing.sim.storage import StoragePort
from weir.testing.sim.world import MS, US

if TYPE_CHECKING:
    from weir.testing.sim.cluster import Cluster

Event = Callable[[JobMaster, int], Sequence[Effect]]


class SimDriver(Process):
    """``goes_back``: start with some older checkpoint, or from the beginning. ``slots``: how many this run of the job uses."""

    def __init__(self, cluster: Cluster, number: int, *, slots: int, goes_back: bool) -> None:
        super().__init__(cluster.world, cluster.workers, f"driver{number}")
        self.cluster = cluster
        self.slots = slots
        self.master: JobMaster | None = None
        self.finish: Finish | None = None
        self._goes_back = goes_back
        self._port = StoragePort(cluster.storage, cluster.workers, self.name)
        self._runner: EffectRunner | None = None
        self._connections: dict[SlotIncarnation, tuple[SimSlot, Connection]] = {}
        self._waiting: list[tuple[SlotIncarnation, object]] = []
        starting = self.lane().submit(self._find_start)
        starting.when_done(lambda: self.post(0, lambda: self._begin(starting.exception(), starting)))

    # ---- start ---------------------------------------------------------------------------------

    def _find_start(self) -> StartPoint:
        mode: StartMode = Resume()
        if self._goes_back:
            view, _ = JobLog(self._port, LAYOUT).read()
            if view.generation and self.world.chance(0.15):
                mode = FromCheckpoint(None)
                self.world.say(f"{self.name} goes back to the beginning")
            elif view.kept:
                # As often to what was left behind as to what is on the line.
                left, kept = view.abandoned, view.kept
                chosen = self.world.random.choice(left if left and self.world.chance(0.5) else kept)
                mode = FromCheckpoint(chosen.checkpoint)
                self.world.say(f"{self.name} goes back to checkpoint {mode.checkpoint}")
        return find_start(self._port, JOB, mode)

    def _begin(self, error: BaseException | None, starting: Any) -> None:
        if error is not None:
            self.cluster.oracle.on_start_failed(self, error)
            self.cluster.on_start_failed(self)
            return
        start: StartPoint = starting.result()
        point = restore_point(start.manifest) if start.manifest is not None else None
        graph = self.cluster.compiled(self.slots, point.graph if point is not None else None)
        scenario = self.cluster.scenario
        committers = {
            operator.uid: SimCommitter(operator.uid, self.cluster.storage, self._port)
            for operator in graph.logical.operators
            if operator.kind is OperatorKind.SINK
        }
        plan = JobPlan(
            graph,
            {uid: SimInput(uid, shape) for uid, shape in scenario.sources.items()},
            committers,
            scenario.config,
            scenario.retained,
        )
        self.master = JobMaster(
            graph,
            scenario.config,
            sources=scenario.sources,
            generation=start.view.next_generation,
            next_checkpoint=start.view.next_checkpoint,
            restore=point,
        )
        self._runner = EffectRunner(
            plan,
            self._port,
            start.log,
            summary_every=scenario.summary_every,
            lanes=Lanes(self.lane(), self.lane(), self.lane(), _Closing(self)),
        )
        self._runner.start(
            lambda event: self.world.at(self.world.between(1 * US, 50 * US), lambda: self.deliver(lambda: self.feed(event)))
        )
        self.carry_out(self.master.start(self._now_ms()))
        for incarnation, message in self._waiting:
            self._on_message(incarnation, message)
        self._tick()

    def _now_ms(self) -> int:
        return self.world.now_ms

    def _tick(self) -> None:
        if self.finish is None and self.master is not None:
            self.carry_out(self.master.tick(self._now_ms()))
            self.cluster.oracle.on_tick(self)
            self.post(self.cluster.scenario.tick_ns, self._tick)

    def feed(self, event: Event) -> None:
        if self.finish is None and self.master is not None:
            self.carry_out(event(self.master, self._now_ms()))

    # ---- slots ---------------------------------------------------------------------------------

    def accept(self, slot: SimSlot) -> Connection:
        """The system accepts connections even while the process is paused."""
        connection = Connection(
            End(
                self,
                lambda message: self._on_message(slot.incarnation, message),
                lambda reason: self._on_closed(slot.incarnation, reason),
            ),
            End(slot, slot.on_control, slot.on_control_closed),
            slowness=self.cluster.scenario.slowness,
        )
        self._connections[slot.incarnation] = (slot, connection)
        return connection

    def _on_message(self, incarnation: SlotIncarnation, message: object) -> None:
        if self.master is None:
            self._waiting.append((incarnation, message))
            return
        if self.cluster.scenario.over_the_wire:
            message = over_the_wire(message)  # type: ignore[arg-type]  # what the slot sent
        if incarnation in self._connections and self.finish is None:
            if isinstance(message, Acknowledge):
                self.world.step("acknowledge", f"{incarnation} checkpoint {message.checkpoint}")
            self.carry_out(self.master.on_message(incarnation, message, self._now_ms()))  # type: ignore[arg-type]  # what the slot sent

    def _on_closed(self, incarnation: SlotIncarnation, reason: str) -> None:
        if self._connections.pop(incarnation, None) is not None and self.master is not None and self.finish is None:
            self.carry_out(self.master.on_slot_lost(incarnation, reason, self._now_ms()))

    # ---- effects -------------------------------------------------------------------------------

    def carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if not self.alive:
                return
            match effect:
                case Send(to, message):
                    if isinstance(message, TriggerCheckpoint):
                        self.world.step("trigger", f"checkpoint {message.checkpoint}")
                    known = self._connections.get(to)
                    if known is not None:
                        known[1].send(self, message)
                case DropSlot(incarnation, reason):
                    known = self._connections.pop(incarnation, None)
                    if known is not None:
                        known[1].close(self)
                        self.cluster.replace(known[0], reason)
                case AppendLog() | WriteManifest() | Prepare() | Commit():
                    assert self._runner is not None
                    self.cluster.oracle.on_effect(self, effect)
                    self._runner.submit(effect)
                case Report():
                    self.world.say(f"{self.name} {effect.kind}: {effect.checkpoint or ''} {effect.text}")
                    self.cluster.oracle.on_report(self, effect)
                case Finish(outcome, reason):
                    self.world.say(f"{self.name} FINISH {outcome} {reason}")
                    self.finish = effect
                    self.cluster.on_finished(self, effect)

    @property
    def is_running(self) -> bool:
        return self.master is not None and self.master.phase is JobPhase.RUNNING


class _Closing:
    """The runner waits on it where it wants to sleep."""

    def __init__(self, driver: SimDriver) -> None:
        self._driver = driver

    def is_set(self) -> bool:
        return False

    def set(self) -> None:
        """A simulated process ends as a whole."""

    def wait(self, timeout: float) -> bool:
        lane: Lane | None = self._driver.cluster.workers.current
        if timeout > 0 and lane is not None:
            lane.sleep(min(int(timeout * 1e9), 50 * MS))
        return False


class SimInput(Source):
    """What the coordinator needs of a simulated source: its splits."""

    kind = "sim"

    def __init__(self, uid: str, shape: SourceShape) -> None:
        self._uid = uid
        self._shape = shape

    def describe(self) -> JsonValue:
        return None

    def schema(self) -> pa.Schema:
        return pa.schema([])

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        return self._shape.splits(self._uid)  # type: ignore[arg-type]  # an OperatorUid

    def reader(self) -> SourceOperator:
        raise AssertionError("readers of simulated sources are made by SimProgram")
