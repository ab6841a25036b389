"""A simulated driver process: the production ``JobMaster`` and ``EffectRunner`` with simulated threads and connections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from weir.connectors.base import Committer, Discovered, Source
from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.effect_runner import EffectRunner, Executors, MasterEvent
from weir.coordinator.progress import JobProgress
from weir.coordinator.start import (
    FirstNumbers,
    FromCheckpoint,
    Resume,
    StartMode,
    StartPoint,
    check_published_output,
    find_start,
    restore_point,
)
from weir.errors import InputError, Retry
from weir.graph.logical import OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.effects import DropSlot, Effect, Finish, Report, Send, StorageEffect
from weir.kernel.job import JobMaster, JobPhase
from weir.kernel.slots import SlotPhase
from weir.operators.base import SourceOperator
from weir.protocol.ids import OperatorUid, SlotIncarnation
from weir.protocol.messages import Acknowledge, TriggerCheckpoint
from weir.protocol.snapshots import JsonValue, Split
from weir.storage.job_log import JobLog
from weir.testing.sim.graphs import JOB, SINKS_MAX, SourceShape
from weir.testing.sim.input_files import InputFiles
from weir.testing.sim.network import ConnectionEnd, SimConnection
from weir.testing.sim.process import Process
from weir.testing.sim.scenario import Scenario
from weir.testing.sim.simulation import MS, US, Simulation
from weir.testing.sim.sinks import SimCommitter
from weir.testing.sim.slot import LAYOUT, SimSlot, serialise_messages
from weir.testing.sim.storage import SimStorage, StoragePort
from weir.testing.sim.threads import SimExecutor, SimPool, Threads


class DriverObserver(Protocol):
    def on_start_failed(self, driver: SimDriver, error: BaseException) -> None: ...
    def on_tick(self, driver: SimDriver) -> None: ...
    def on_effect(self, driver: SimDriver, effect: StorageEffect) -> None: ...
    def on_report(self, driver: SimDriver, report: Report) -> None: ...
    def on_drop(self, slot: SimSlot, connection: SimConnection, reason: str) -> None: ...


class DriverCluster(Protocol):
    """The part of the cluster that drivers use."""

    simulation: Simulation
    scenario: Scenario
    threads: Threads
    storage: SimStorage
    input_files: InputFiles
    revoke_unknown: bool
    follows: bool

    @property
    def checker(self) -> DriverObserver: ...
    def compiled(self, slots: int, restored: PhysicalGraph | None) -> PhysicalGraph: ...
    def on_start_failed(self, driver: SimDriver) -> None: ...
    def on_finished(self, driver: SimDriver, finish: Finish) -> None: ...
    def replace(self, slot: SimSlot, reason: str) -> None: ...


class SimDriver(Process):
    """``rolls_back``: start from an older checkpoint, or without state. ``slots``: number of slots of this run."""

    def __init__(self, cluster: DriverCluster, number: int, *, slots: int, rolls_back: bool) -> None:
        super().__init__(cluster.simulation, cluster.threads, f"driver{number}")
        self.cluster = cluster
        self.slots = slots
        self.master: JobMaster | None = None
        self.finish: Finish | None = None
        self.progress = JobProgress(frozenset())
        self._rolls_back = rolls_back
        self._first = FirstNumbers()
        self._port = StoragePort(cluster.storage, cluster.threads, self.name)
        self._runner: EffectRunner | None = None
        self._connections: dict[SlotIncarnation, tuple[SimSlot, SimConnection]] = {}
        self._waiting: list[tuple[SlotIncarnation, object]] = []
        starting = self.executor().submit(self._find_start)
        starting.on_done(lambda: self.post(0, lambda: self._begin(starting.exception(), starting)))

    # ---- start ---------------------------------------------------------------------------------

    def _find_start(self) -> StartPoint:
        mode: StartMode = Resume()
        if self._rolls_back:
            view, _ = JobLog(self._port, LAYOUT).read()
            if view.generation and self.simulation.chance(0.15):
                mode = FromCheckpoint(None)
                self.simulation.trace(f"{self.name} starts without state")
            elif view.kept:
                # If there are abandoned checkpoints, choose one of them with a probability of at least one half.
                left, kept = view.abandoned, view.kept
                chosen = self.simulation.random.choice(left if left and self.simulation.chance(0.5) else kept)
                mode = FromCheckpoint(chosen.checkpoint)
                self.simulation.trace(f"{self.name} rolls back to checkpoint {mode.checkpoint}")
        start = find_start(self._port, JOB, mode)
        committers: dict[OperatorUid, Committer] = {
            operator.uid: SimCommitter(operator.uid, self.cluster.storage, self._port)
            for operator in self.cluster.scenario.logical.operators
            if operator.kind is OperatorKind.SINK
        }
        self._first = check_published_output(self._port, JOB, committers, revoke_unknown=self.cluster.revoke_unknown)
        return start

    def _begin(self, error: BaseException | None, starting: Any) -> None:
        if error is not None:
            self.cluster.checker.on_start_failed(self, error)
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
        plan = CompiledJob(
            graph,
            {uid: SimInput(uid, shape, self.cluster) for uid, shape in scenario.sources.items()},
            committers,
            scenario.config,
            scenario.retained,
        )
        self.progress = JobProgress(frozenset(graph.chain_of(uid).index for uid in scenario.sources))
        self.master = JobMaster(
            graph,
            scenario.config,
            sources=scenario.sources,
            generation=max(start.view.next_generation, self._first.generation),
            next_checkpoint=max(start.view.next_checkpoint, self._first.checkpoint),
            restore=point,
            discover_every_ms=plan.discover_every_ms,
        )
        pool = SimPool([self.executor() for _ in range(SINKS_MAX)])
        self._runner = EffectRunner(
            plan,
            self._port,
            start.log,
            summary_every=scenario.summary_every,
            executors=Executors(self.executor(), self.executor(), self.executor(), _StopSignal(self), pool, self.executor()),
        )
        self._runner.start(
            lambda event: self.simulation.schedule(
                self.simulation.between(1 * US, 50 * US), lambda: self.deliver(lambda: self.feed(event))
            )
        )
        self.execute(self.master.start(self._now_ms()))
        for incarnation, message in self._waiting:
            self._on_message(incarnation, message)
        self._tick()

    def _now_ms(self) -> int:
        return self.simulation.now_ms

    def _tick(self) -> None:
        if self.finish is None and self.master is not None:
            self.execute(self.master.tick(self._now_ms()))
            self.cluster.checker.on_tick(self)
            self.post(self.cluster.scenario.tick_ns, self._tick)

    def feed(self, event: MasterEvent) -> None:
        if self.finish is None and self.master is not None:
            self.execute(event(self.master, self._now_ms()))

    # ---- slots ---------------------------------------------------------------------------------

    def accept(self, slot: SimSlot) -> SimConnection:
        """The operating system accepts connections even while the process is paused."""
        connection = SimConnection(
            ConnectionEnd(
                self,
                lambda message: self._on_message(slot.incarnation, message),
                lambda reason: self._on_closed(slot.incarnation, reason),
            ),
            ConnectionEnd(slot, slot.on_control, slot.on_control_closed),
            slowness=self.cluster.scenario.slowness,
        )
        self._connections[slot.incarnation] = (slot, connection)
        return connection

    def _on_message(self, incarnation: SlotIncarnation, message: object) -> None:
        if self.master is None:
            self._waiting.append((incarnation, message))
            return
        if self.cluster.scenario.serialise_messages:
            message = serialise_messages(message)  # type: ignore[arg-type]  # what the slot sent
        if incarnation in self._connections and self.finish is None:
            self.progress.on_message(message)  # type: ignore[arg-type]  # what the slot sent
            if isinstance(message, Acknowledge):
                self.simulation.step("acknowledge", f"{incarnation} checkpoint {message.checkpoint}")
            self.execute(self.master.on_message(incarnation, message, self._now_ms()))  # type: ignore[arg-type]  # what the slot sent

    def _on_closed(self, incarnation: SlotIncarnation, reason: str) -> None:
        if self._connections.pop(incarnation, None) is not None and self.master is not None and self.finish is None:
            self.execute(self.master.on_slot_lost(incarnation, reason, self._now_ms()))

    # ---- effects -------------------------------------------------------------------------------

    def execute(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if not self.alive:
                return
            match effect:
                case Send(to, message):
                    if isinstance(message, TriggerCheckpoint):
                        self.simulation.step("trigger", f"checkpoint {message.checkpoint}")
                    connected = self._connections.get(to)
                    if connected is not None:
                        connected[1].send(self, message)
                case DropSlot(incarnation, reason):
                    connected = self._connections.pop(incarnation, None)
                    if connected is not None:
                        self.cluster.checker.on_drop(*connected, reason)
                        connected[1].close(self)
                        self.cluster.replace(connected[0], reason)
                case Report():
                    self.progress.on_report(effect)
                    self.simulation.trace(f"{self.name} {effect.kind}: {effect.checkpoint or ''} {effect.text}")
                    self.cluster.checker.on_report(self, effect)
                case Finish(outcome, reason):
                    self.simulation.trace(f"{self.name} FINISH {outcome} {reason}")
                    self.finish = effect
                    self.progress.on_finish(effect)
                    self.cluster.on_finished(self, effect)
                case _:
                    assert self._runner is not None
                    self.cluster.checker.on_effect(self, effect)
                    self._runner.submit(effect)

    def running_slots(self) -> list[SimSlot]:
        """Return the connected slots that run the current generation."""
        slots = self.master.slots if self.master is not None else ()
        running = {slot.incarnation for slot in slots if slot.phase is SlotPhase.RUNNING}
        return [slot for incarnation, (slot, _) in self._connections.items() if incarnation in running]

    @property
    def is_running(self) -> bool:
        return self.master is not None and self.master.phase is JobPhase.RUNNING


class _StopSignal:
    """The stop signal on which the effect runner waits instead of sleeping."""

    def __init__(self, driver: SimDriver) -> None:
        self._driver = driver

    def is_set(self) -> bool:
        return False

    def set(self) -> None:
        """Do nothing, because a simulated process dies as a whole."""

    def wait(self, timeout: float) -> bool:
        executor: SimExecutor | None = self._driver.cluster.threads.current
        if timeout > 0 and executor is not None:
            executor.sleep(min(int(timeout * 1e9), 50 * MS))
        return False


class SimInput(Source):
    """A simulated source. The coordinator uses only the splits of this source. ``known`` is the number of found splits."""

    kind = "sim"

    def __init__(self, uid: OperatorUid, shape: SourceShape, cluster: DriverCluster) -> None:
        self._uid = uid
        self._shape = shape
        self._cluster = cluster
        self._discover_every_ms = shape.discover_every_ms if cluster.follows else None

    def describe(self) -> JsonValue:
        return None

    def schema(self) -> pa.Schema:
        return pa.schema([])

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        return self._cluster.input_files.list(self._uid, self._shape)

    @property
    def discover_every_ms(self) -> int | None:
        return self._discover_every_ms

    def known_after(self, splits: Sequence[Split]) -> JsonValue:
        return len(splits)

    def discover(self, known: JsonValue, parallelism: int) -> Discovered:
        assert isinstance(known, int)
        simulation = self._cluster.simulation
        if simulation.chance_of_delay(0.03):
            raise InputError("the input cannot be listed", retry=Retry.BACKOFF)
        splits = self._cluster.input_files.discover(self._uid, self._shape, known, now_ns=simulation.now_ns)
        simulation.step("discover", f"{len(splits)} splits of {self._uid}")
        return Discovered(splits, known + len(splits))

    def reader(self) -> SourceOperator:
        raise AssertionError("SimProgram creates the readers of simulated sources")
