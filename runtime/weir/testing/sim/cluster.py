"""The environment of the processes: Spark restarts slots, a supervisor restarts drivers, and faults occur."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from weir.errors import InputError
from weir.graph.compile import compile_graph
from weir.graph.physical import PhysicalGraph
from weir.kernel.effects import Finish, JobOutcome
from weir.protocol.messages import Deploy
from weir.testing.sim.driver import SimDriver
from weir.testing.sim.input_files import InputFiles
from weir.testing.sim.invariants import InvariantChecker
from weir.testing.sim.network import ConnectionEnd, SimConnection
from weir.testing.sim.process import Process
from weir.testing.sim.scenario import FAULTS_END_NS, Fault, FaultKind, Scenario
from weir.testing.sim.simulation import MS, Simulation, Violation
from weir.testing.sim.slot import SimSlot, SlotDriver
from weir.testing.sim.storage import NO_FAULTS, SimStorage
from weir.testing.sim.threads import Threads

DRIVERS_MAX = 40


class Cluster:
    def __init__(self, simulation: Simulation, scenario: Scenario, threads: Threads) -> None:
        self.simulation = simulation
        self.scenario = scenario
        self.threads = threads
        self.storage = SimStorage(simulation, scenario.storage)
        self.input_files = InputFiles()
        self.checker = InvariantChecker(self)
        self.storage.observer = self.checker
        self.drivers: list[SimDriver] = []
        self.slots: list[SimSlot] = []
        self.finished = False
        self.revoke_unknown = False
        """Whether new drivers revoke output that the job log does not contain, instead of refusing to start."""
        self.follows = any(shape.appears_ns for shape in scenario.sources.values())
        """Whether new drivers follow the input. A user switches this off when no more splits appear, so that the job ends."""
        self._backups: list[dict[str, object]] = []
        """Backups of the checkpoint directory, one at the trigger of each checkpoint."""
        self._makes_backups = any(fault.kind is FaultKind.PUT_BACK_LOG for fault in scenario.faults)
        self._meshes: dict[tuple[str, int], dict[int, SimSlot]] = {}
        self._compiled: dict[int, PhysicalGraph] = {}
        self._by_step = [fault for fault in scenario.faults if fault.step is not None]
        simulation.on_step = self._on_step
        for fault in scenario.faults:
            if fault.at_ns is not None:
                simulation.schedule(fault.at_ns, partial(self._inject, fault))
        simulation.schedule(FAULTS_END_NS, self._end_faults)
        self._launch(slots=scenario.slots, rolls_back=False)

    @property
    def processes(self) -> list[Process]:
        return [*self.drivers, *self.slots]

    def compiled(self, slots: int, restored: PhysicalGraph | None) -> PhysicalGraph:
        if slots not in self._compiled:
            fixed: Mapping[str, int] | None = restored.max_parallelism if restored is not None else None
            self._compiled[slots] = compile_graph(self.scenario.logical, slots=slots, fixed_max_parallelism=fixed)
        return self._compiled[slots]

    # ---- the supervisor --------------------------------------------------------------------------

    def _launch(self, *, slots: int, rolls_back: bool) -> None:
        if len(self.drivers) >= DRIVERS_MAX:
            raise Violation(f"{DRIVERS_MAX} drivers were not enough")
        driver = SimDriver(self, len(self.drivers) + 1, slots=slots, rolls_back=rolls_back)
        self.simulation.trace(f"{driver.name} starts")
        self.drivers.append(driver)
        for task in range(slots):
            self._launch_slot(driver, task)

    def _schedule_restart(self, after_ns: int) -> None:
        """Start another driver after ``after_ns``, unless the newest driver is running at that time."""
        self.simulation.schedule(after_ns, self._restart_driver)

    def _restart_driver(self) -> None:
        newest = self.drivers[-1]
        if self.finished or (newest.alive and not newest.paused and newest.finish is None):
            return
        rng = self.simulation.random
        slots = newest.slots
        if self.scenario.rescales and rng.random() < 0.6:
            lowest = max((operator.parallelism or 1) for operator in self.scenario.logical.operators)
            slots = rng.randint(lowest, self.scenario.slots_max)
        faults_ended = self.simulation.now_ns >= FAULTS_END_NS
        self._launch(slots=slots, rolls_back=self.scenario.rolls_back and not faults_ended and rng.random() < 0.7)

    def on_start_failed(self, driver: SimDriver) -> None:
        driver.exit("cannot start")
        self._schedule_restart(self.simulation.between(1 * MS, 60 * MS))

    def on_finished(self, driver: SimDriver, finish: Finish) -> None:
        self.checker.on_finish(driver, finish)
        if finish.kind == InputError.__name__:
            self.input_files.put_back()
        driver.post(self.simulation.between(1 * MS, 5 * MS), lambda: driver.exit(f"finished: {finish.outcome}"))
        if finish.outcome is JobOutcome.FINISHED and driver is self.drivers[-1]:
            if self.scenario.rolls_back and self.simulation.now_ns < FAULTS_END_NS and self.simulation.chance(0.3):
                self.simulation.schedule(20 * MS, lambda: self._launch(slots=driver.slots, rolls_back=True))
            else:
                self.finished = True
        else:
            self._schedule_restart(self.simulation.between(1 * MS, 60 * MS))

    # ---- Spark -----------------------------------------------------------------------------------

    def _launch_slot(self, driver: SlotDriver, task: int) -> None:
        if driver.alive and driver.finish is None:
            self.slots.append(SimSlot(self, driver, task, len(self.slots) + 1))

    def replace(self, slot: SimSlot, reason: str) -> None:
        """Kill and replace a slot.

        Killing can fail. A slot that is not killed continues as a zombie until it detects that the driver has closed the
        connection.
        """
        if self.simulation.chance(0.7) or slot.held_at_ns is not None:
            self.simulation.schedule(
                self.simulation.between(0, 50 * MS), lambda: self._end_slot(slot, f"killed by Spark: {reason}")
            )
        self._schedule_replacement(slot)

    def _schedule_replacement(self, slot: SimSlot) -> None:
        if not slot.replaced:
            slot.replaced = True
            self.simulation.schedule(
                self.simulation.between(10 * MS, 150 * MS), lambda: self._launch_slot(slot.driver, slot.task)
            )

    def _end_slot(self, slot: SimSlot, reason: str) -> None:
        slot.exit(reason)
        self._schedule_replacement(slot)

    def on_slot_exit(self, slot: SimSlot) -> None:
        self._schedule_replacement(slot)

    # ---- data connections --------------------------------------------------------------------------

    def join(self, slot: SimSlot, deploy: Deploy) -> None:
        mesh = self._meshes.setdefault((slot.driver.name, deploy.generation), {})
        peers = {peer.slot for peer in deploy.peers}
        for index, peer in mesh.items():
            if index in peers:
                self._link(slot, deploy.slot, peer, index)
        mesh[deploy.slot] = slot

    def leave(self, slot: SimSlot) -> None:
        for mesh in self._meshes.values():
            for index in [index for index, member in mesh.items() if member is slot]:
                del mesh[index]

    def _link(self, one: SimSlot, one_index: int, other: SimSlot, other_index: int) -> None:
        if not other.alive:
            return
        link = SimConnection(
            ConnectionEnd(one, one.on_frame, lambda reason: one.on_link_closed(other_index, reason)),
            ConnectionEnd(other, other.on_frame, lambda reason: other.on_link_closed(one_index, reason)),
            slowness=self.scenario.slowness,
        )
        one.links[other_index] = link
        other.links[one_index] = link
        one.post(self.simulation.between(1 * MS, 5 * MS), lambda: one.on_link_ready(other_index, link))
        other.post(self.simulation.between(1 * MS, 5 * MS), lambda: other.on_link_ready(one_index, link))

    # ---- faults ------------------------------------------------------------------------------------

    def _on_step(self, kind: str, count: int) -> None:
        if self._makes_backups and kind == "trigger":
            self._backups.append(self.storage.backup())
        for fault in self._by_step:
            if fault.step == kind and fault.count == count:
                self.simulation.schedule(0, partial(self._inject, fault))

    def _end_faults(self) -> None:
        self.simulation.faults_ended = True
        self.storage.faults = NO_FAULTS
        if self.follows:
            self.follows = False
            # Without periodic checkpoints, a driver of an older generation finds out only now that it is superseded.
            for driver in self.drivers:
                driver.deliver(partial(driver.feed, lambda master, now_ms: master.suspend(now_ms)))

    def _take_output(self) -> None:
        """Let a consumer take some of the output that the log records as published. If a power cut could still remove the log
        entry that records the output, the consumer takes no output."""
        if self.storage.is_synced():
            output = sorted(self.checker.recorded_as_published() & self.storage.published.keys())
            self.storage.take(self.simulation.random.sample(output, (len(output) + 1) // 2))

    def _inject(self, fault: Fault) -> None:
        if self.simulation.now_ns >= FAULTS_END_NS or self.finished:
            return
        rng, driver = self.simulation.random, self.drivers[-1]
        slots = [slot for slot in self.slots if slot.alive]
        self.simulation.trace(f"FAULT {fault.kind}")
        match fault.kind:
            case FaultKind.CRASH_SLOT if slots:
                self._end_slot(rng.choice(slots), "kill -9")
            case FaultKind.PAUSE_SLOT if slots:
                rng.choice(slots).pause(fault.duration_ns)
            case FaultKind.HOLD_GIL if slots:
                rng.choice(driver.running_slots() or slots).hold_gil(fault.duration_ns)
            case FaultKind.HANG_CALL if slots:
                rng.choice(driver.running_slots() or slots).next_call_hangs = True
            case FaultKind.CRASH_DRIVER:
                driver.exit("kill -9")
                self._schedule_restart(self.simulation.between(5 * MS, 200 * MS))
            case FaultKind.PAUSE_DRIVER:
                driver.pause(fault.duration_ns)
                if rng.random() < 0.7:
                    self._schedule_restart(int(fault.duration_ns * rng.random()))
            case FaultKind.CUT_POWER:
                for process in self.processes:
                    process.cut_power()
                self.storage.cut_power()
                self._schedule_restart(self.simulation.between(5 * MS, 200 * MS))
            case FaultKind.CUT_CONTROL | FaultKind.CUT_DATA | FaultKind.HOLD:
                self._inject_network(fault)
            case FaultKind.SUSPEND:
                driver.deliver(lambda: driver.feed(lambda master, now_ms: master.suspend(now_ms)))
            case FaultKind.CANCEL:
                driver.deliver(lambda: driver.feed(lambda master, now_ms: master.cancel(now_ms)))
            case FaultKind.SAVEPOINT:
                driver.deliver(lambda: driver.feed(lambda master, now_ms: master.savepoint(now_ms)))
            case FaultKind.REPLACE_INPUT:
                uid, shape = rng.choice(sorted(self.scenario.sources.items()))
                self.input_files.replace(f"{uid}-{rng.randrange(len(shape.lengths))}")
            case FaultKind.TAKE_OUTPUT:
                self._take_output()
            case FaultKind.PUT_BACK_LOG if self._backups:
                for process in self.processes:
                    process.cut_power()
                self.storage.put_back(rng.choice(self._backups))
                self._backups.clear()
                self._schedule_restart(self.simulation.between(5 * MS, 200 * MS))
            case FaultKind.CHECKPOINT:
                driver.deliver(lambda: driver.feed(lambda master, now_ms: master.checkpoint(now_ms)))
            case _:
                pass

    def _inject_network(self, fault: Fault) -> None:
        wants_driver = fault.kind is FaultKind.CUT_CONTROL
        either = fault.kind is FaultKind.HOLD
        connections = [
            connection
            for slot in self.slots
            if slot.alive
            for connection in slot.connections
            if either or wants_driver == any(isinstance(process, SimDriver) for process in connection.processes)
        ]
        if connections:
            connection = self.simulation.random.choice(connections)
            if either:
                connection.hold(fault.duration_ns)
            else:
                connection.cut()
