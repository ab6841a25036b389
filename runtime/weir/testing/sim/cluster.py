"""What surrounds the processes: Spark, which starts slots anew, a supervisor, which starts drivers anew, and misfortune."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from weir.graph.compile import compile_graph
from weir.graph.physical import PhysicalGraph
from weir.kernel.effects import Finish, Outcome
from weir.protocol.messages import Deploy
from weir.testing.sim.driver import SimDriver
from weir.testing.sim.lanes import Workers
from weir.testing.sim.network import Connection, End
from weir.testing.sim.oracle import Oracle
from weir.testing.sim.process import Process
from weir.testing.sim.scenario import FAULTS_END_NS, SLOTS_MAX, Fault, FaultKind, Scenario
from weir.testing.sim.slot import SimSlot
from weir.testing.sim.storage import NO_FAULTS, SimStorage
from weir.testing.sim.world import MS, Violation, World

DRIVERS_MAX = 40


class Cluster:
    def __init__(self, world: World, scenario: Scenario, workers: Workers) -> None:
        self.world = world
        self.scenario = scenario
        self.workers = workers
        self.storage = SimStorage(world, scenario.storage)
        self.oracle = Oracle(self)
        self.storage.watcher = self.oracle
        self.drivers: list[SimDriver] = []
        self.slots: list[SimSlot] = []
        self.finished = False
        self._meshes: dict[tuple[str, int], dict[int, SimSlot]] = {}
        self._compiled: dict[int, PhysicalGraph] = {}
        self._by_step = [fault for fault in scenario.faults if fault.step is not None]
        world.on_step = self._on_step
        for fault in scenario.faults:
            if fault.at_ns is not None:
                world.at(fault.at_ns, partial(self._strike, fault))
        world.at(FAULTS_END_NS, self._calm_down)
        self._launch(slots=scenario.slots, goes_back=False)

    @property
    def processes(self) -> list[Process]:
        return [*self.drivers, *self.slots]

    def compiled(self, slots: int, restored: PhysicalGraph | None) -> PhysicalGraph:
        if slots not in self._compiled:
            fixed: Mapping[str, int] | None = restored.max_parallelism if restored is not None else None
            self._compiled[slots] = compile_graph(self.scenario.logical, slots=slots, fixed_max_parallelism=fixed)
        return self._compiled[slots]

    # ---- the supervisor --------------------------------------------------------------------------

    def _launch(self, *, slots: int, goes_back: bool) -> None:
        if len(self.drivers) >= DRIVERS_MAX:
            raise Violation(f"{DRIVERS_MAX} drivers were not enough")
        driver = SimDriver(self, len(self.drivers) + 1, slots=slots, goes_back=goes_back)
        self.world.say(f"{driver.name} starts")
        self.drivers.append(driver)
        for task in range(slots):
            self._launch_slot(driver, task)

    def _relaunch(self, after_ns: int) -> None:
        """A driver is gone or believed to be; whether another one runs by then is not known to be looked at."""
        self.world.at(after_ns, self._relaunch_now)

    def _relaunch_now(self) -> None:
        newest = self.drivers[-1]
        if self.finished or (newest.alive and not newest.paused and newest.finish is None):
            return
        rng = self.world.random
        slots = newest.slots
        if self.scenario.rescales and rng.random() < 0.6:
            lowest = max((operator.parallelism or 1) for operator in self.scenario.logical.operators)
            slots = rng.randint(lowest, SLOTS_MAX)
        calm = self.world.now_ns >= FAULTS_END_NS
        self._launch(slots=slots, goes_back=self.scenario.goes_back and not calm and rng.random() < 0.7)

    def on_start_failed(self, driver: SimDriver) -> None:
        driver.exit("could not start")
        self._relaunch(self.world.between(1 * MS, 60 * MS))

    def on_finished(self, driver: SimDriver, finish: Finish) -> None:
        self.oracle.on_finish(driver, finish)
        driver.post(self.world.between(1 * MS, 5 * MS), lambda: driver.exit(f"finished: {finish.outcome}"))
        if finish.outcome is Outcome.FINISHED and driver is self.drivers[-1]:
            if self.scenario.goes_back and self.world.now_ns < FAULTS_END_NS and self.world.chance(0.3):
                self.world.at(20 * MS, lambda: self._launch(slots=driver.slots, goes_back=True))
            else:
                self.finished = True
        else:
            self._relaunch(self.world.between(1 * MS, 60 * MS))

    # ---- Spark -----------------------------------------------------------------------------------

    def _launch_slot(self, driver: SimDriver, task: int) -> None:
        if driver.alive and driver.finish is None:
            self.slots.append(SimSlot(self, driver, task, len(self.slots) + 1))

    def replace(self, slot: SimSlot, reason: str) -> None:
        """Killing is best effort: some go on as zombies until they find out by themselves."""
        if self.world.chance(0.7):
            self.world.at(self.world.between(0, 50 * MS), lambda: self._end_slot(slot, f"killed by Spark: {reason}"))
        self._start_anew(slot)

    def _start_anew(self, slot: SimSlot) -> None:
        if not slot.replaced:
            slot.replaced = True
            self.world.at(self.world.between(10 * MS, 150 * MS), lambda: self._launch_slot(slot.driver, slot.task))

    def _end_slot(self, slot: SimSlot, why: str) -> None:
        slot.exit(why)
        self._start_anew(slot)

    def on_slot_exit(self, slot: SimSlot) -> None:
        self._start_anew(slot)

    # ---- data connections --------------------------------------------------------------------------

    def join(self, slot: SimSlot, deploy: Deploy) -> None:
        mesh = self._meshes.setdefault((slot.driver.name, deploy.generation), {})
        for index, peer in mesh.items():
            self._link(slot, deploy.slot, peer, index)
        mesh[deploy.slot] = slot

    def leave(self, slot: SimSlot) -> None:
        for mesh in self._meshes.values():
            for index in [index for index, member in mesh.items() if member is slot]:
                del mesh[index]

    def _link(self, one: SimSlot, one_index: int, other: SimSlot, other_index: int) -> None:
        if not other.alive:
            return
        link = Connection(
            End(one, one.on_frame, lambda reason: one.on_link_closed(other_index, reason)),
            End(other, other.on_frame, lambda reason: other.on_link_closed(one_index, reason)),
            slowness=self.scenario.slowness,
        )
        one.links[other_index] = link
        other.links[one_index] = link
        one.post(self.world.between(1 * MS, 5 * MS), lambda: one.on_link_ready(other_index, link))
        other.post(self.world.between(1 * MS, 5 * MS), lambda: other.on_link_ready(one_index, link))

    # ---- misfortune --------------------------------------------------------------------------------

    def _on_step(self, kind: str, count: int) -> None:
        for fault in self._by_step:
            if fault.step == kind and fault.count == count:
                self.world.at(0, partial(self._strike, fault))

    def _calm_down(self) -> None:
        self.world.calm = True
        self.storage.faults = NO_FAULTS

    def _strike(self, fault: Fault) -> None:
        if self.world.now_ns >= FAULTS_END_NS or self.finished:
            return
        rng, driver = self.world.random, self.drivers[-1]
        slots = [slot for slot in self.slots if slot.alive]
        self.world.say(f"FAULT {fault.kind}")
        match fault.kind:
            case FaultKind.CRASH_SLOT if slots:
                self._end_slot(rng.choice(slots), "kill -9")
            case FaultKind.PAUSE_SLOT if slots:
                rng.choice(slots).pause(fault.duration_ns)
            case FaultKind.CRASH_DRIVER:
                driver.exit("kill -9")
                self._relaunch(self.world.between(5 * MS, 200 * MS))
            case FaultKind.PAUSE_DRIVER:
                driver.pause(fault.duration_ns)
                if rng.random() < 0.7:
                    self._relaunch(int(fault.duration_ns * rng.random()))
            case FaultKind.CUT_CONTROL | FaultKind.CUT_DATA | FaultKind.HOLD:
                self._strike_network(fault)
            case FaultKind.SUSPEND:
                driver.deliver(lambda: driver.feed(lambda master, now_ms: master.suspend(now_ms)))
            case FaultKind.CANCEL:
                driver.deliver(lambda: driver.feed(lambda master, now_ms: master.cancel(now_ms)))
            case FaultKind.SAVEPOINT:
                driver.deliver(lambda: driver.feed(lambda master, now_ms: master.savepoint(now_ms)))
            case FaultKind.CHECKPOINT:
                driver.deliver(lambda: driver.feed(lambda master, now_ms: master.checkpoint(now_ms)))
            case _:
                pass

    def _strike_network(self, fault: Fault) -> None:
        wants_driver = fault.kind is FaultKind.CUT_CONTROL
        either = fault.kind is FaultKind.HOLD
        found = [
            connection
            for slot in self.slots
            if slot.alive
            for connection in slot.connections
            if either or wants_driver == any(isinstance(process, SimDriver) for process in connection.processes)
        ]
        if found:
            connection = self.world.random.choice(found)
            if either:
                connection.hold(fault.duration_ns)
            else:
                connection.cut()
