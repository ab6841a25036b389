"""One chaos run: a real job on real Spark, faults at the moments of its plan, and the verdict on what it committed."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from tests.chaos.dataset import write_input
from tests.chaos.plan import NEW_DRIVER, Fault, FaultKind, Moment, Plan
from tests.chaos.processes import Driver, kill_all, marked
from tests.chaos.verdict import judge

from weir.cli.exits import Exit
from weir.spark.standalone import StandaloneCluster
from weir.storage.layout import JobLayout

POLL_S = 0.004
MOMENT_S_MAX = 90.0
"""How long a moment is waited for; then the fault strikes anyway."""
VICTIM_S_MAX = 30.0
LEAVE_S_MAX = 60.0
"""How long processes that are not wanted any more may take to leave."""
DRIVER_LEAVES_S_MAX = 180.0
"""The same of drivers once the job is over: one that came late starts Spark and waits for slots before it sees that."""
DRIVERS_MAX = 10


@dataclass(slots=True)
class Report:
    """``exits``: of the drivers, in the order of their start. ``missed``: faults whose time never came."""

    plan: Plan
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    struck: list[Fault] = field(default_factory=list)
    missed: list[Fault] = field(default_factory=list)
    exits: list[int | None] = field(default_factory=list)
    rows: int = 0
    log_entries: int = 0
    took_s: float = 0.0


class TooLong(Exception):
    """The run's time is up, or somebody wants all runs to end."""


class Battle:
    def __init__(
        self, plan: Plan, directory: Path, cluster: StandaloneCluster | None, *, limit_s: float, stop: threading.Event
    ) -> None:
        self._stop = stop
        self._plan = plan
        self._directory = directory
        self._cluster = cluster
        self._deadline = time.monotonic() + limit_s
        self._drivers: list[Driver] = []
        self._timers: list[threading.Timer] = []
        self._mark_bytes = 0
        """Of the driver's log at the time of the last fault."""
        self._log_entries = 0
        """In the job's log at that time."""
        self._report = Report(plan)

    def run(self) -> Report:
        began = time.monotonic()
        try:
            records = write_input(self._plan, self._directory / "input")
            self._report.rows = records.height
            self._start_driver()
            self._strike_all()
            self._release()
            self._await_end()
            self._await_silence()
            self._report.log_entries = self._count_log_entries()
            self._report.problems += judge(
                records,
                keys=self._directory / "keys",
                groups=self._directory / "groups",
                checkpoints=self._directory / "checkpoints",
            )
        except TooLong as error:
            self._report.problems.append(str(error))
        finally:
            for timer in self._timers:
                timer.cancel()
            if self._drivers:
                kill_all(self._drivers[0].mark.partition("/")[0] + "/")
            self._report.exits = [driver.process.wait() for driver in self._drivers]
            self._report.took_s = time.monotonic() - began
        return self._report

    # ---- drivers -----------------------------------------------------------------------------

    def _start_driver(self) -> None:
        if len(self._drivers) >= DRIVERS_MAX:
            raise TooLong(f"{DRIVERS_MAX} drivers did not bring the job to its end")
        self._drivers.append(Driver(self._plan, self._directory, len(self._drivers), self._cluster))
        self._mark_bytes = 0

    def _current(self) -> Driver | None:
        """The newest that runs and is not paused."""
        return next((one for one in reversed(self._drivers) if one.exit_code is None and not one.paused), None)

    def _finished(self) -> bool:
        return any(driver.exit_code == Exit.OK and not driver.doomed for driver in self._drivers)

    # ---- faults ------------------------------------------------------------------------------

    def _strike_all(self) -> None:
        for fault in self._plan.faults:
            if fault.moment is Moment.END:
                self._release()
            elif not self._await_moment(fault.moment):
                self._report.missed.append(fault)
                continue
            self._sleep(fault.delay_ms / 1_000)
            driver = self._current()
            if driver is None or self._finished() or not self._strike(fault, driver):
                self._report.missed.append(fault)
                continue
            self._report.struck.append(fault)
            self._log_entries = self._count_log_entries()
            if fault.kind in NEW_DRIVER:
                self._go_on()
            else:
                self._mark_bytes = driver.log_bytes()

    def _await_moment(self, moment: Moment) -> bool:
        """False: the job is over."""

        def come() -> bool:
            driver = self._current()
            if driver is None:
                return False
            match moment:
                case Moment.RUNNING:
                    return driver.said("checkpoint completed", after=self._mark_bytes)
                case Moment.CHECKPOINT:
                    return driver.said("checkpoint_triggered", after=self._mark_bytes)
                case Moment.RECOVERY if self._mark_bytes == 0:
                    return self._count_log_entries() > self._log_entries
                case Moment.RECOVERY:
                    return driver.said("failure, recovering", after=self._mark_bytes)
                case _:
                    return True

        # A fault may do no harm (a short pause): then there is no recovery to wait for.
        patience_s = 12.0 if moment is Moment.RECOVERY and self._mark_bytes else MOMENT_S_MAX
        self._wait(lambda: come() or self._over(), patience_s=patience_s)
        return not self._over()

    def _strike(self, fault: Fault, driver: Driver) -> bool:
        """False: there was no victim."""
        with contextlib.suppress(psutil.NoSuchProcess):
            match fault.kind:
                case FaultKind.DRIVER_KILL:
                    driver.doomed = True
                    driver.handle.kill()
                case FaultKind.SUSPEND:
                    driver.doomed = True
                    driver.handle.send_signal(signal.SIGTERM)
                case FaultKind.TAKEOVER:
                    driver.rival = True
                case FaultKind.DRIVER_PAUSE | FaultKind.DRIVER_PAUSE_TAKEOVER:
                    self._pause_driver(fault, driver)
                case FaultKind.JVM_KILL:
                    java = driver.java()
                    if java is None:
                        return False
                    driver.doomed = True
                    java.kill()
                case _:
                    return self._strike_workers(fault, driver)
            return True
        return False

    def _strike_workers(self, fault: Fault, driver: Driver) -> bool:
        of_executors = fault.kind in (FaultKind.EXECUTOR_KILL, FaultKind.EXECUTOR_PAUSE)
        find = driver.executors if of_executors else driver.slots
        # Early in a driver's life, or right after a loss, there may be none yet.
        self._wait(lambda: bool(find()) or self._over(), patience_s=VICTIM_S_MAX)
        victims = find()
        if not victims:
            return False
        chosen = [victims[int(fault.luck * len(victims))]]
        if fault.kind is FaultKind.WORKERS_KILL:
            chosen.append(victims[(victims.index(chosen[0]) + 1) % len(victims)])
        for victim in chosen:
            if fault.pause_ms:
                victim.suspend()
                self._later(fault.pause_ms, victim.resume)
            else:
                with contextlib.suppress(psutil.NoSuchProcess):
                    victim.kill()
        return True

    def _pause_driver(self, fault: Fault, driver: Driver) -> None:
        takeover = fault.kind is FaultKind.DRIVER_PAUSE_TAKEOVER
        driver.rival |= takeover
        java = driver.java() if fault.with_jvm else None
        driver.handle.suspend()
        driver.paused = True
        if java is not None:
            java.suspend()

        def wake() -> None:
            if java is not None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    java.resume()
            driver.handle.resume()
            driver.paused = False

        self._later(fault.pause_ms, wake)
        if not takeover:
            self._wait(lambda: not driver.paused, patience_s=MOMENT_S_MAX)

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        def act() -> None:
            with contextlib.suppress(psutil.NoSuchProcess):
                action()

        timer = threading.Timer(delay_ms / 1_000, act)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _go_on(self) -> None:
        """Start the next driver: at once beside a live one or after a kill, else when the other one has left."""
        driver = next(one for one in reversed(self._drivers) if one.doomed or one.rival)
        if driver.doomed:
            self._wait(lambda: driver.exit_code is not None, patience_s=LEAVE_S_MAX)
        self._start_driver()
        if driver.rival:
            self._drivers[-1].rival = True

    # ---- the end -----------------------------------------------------------------------------

    def _release(self) -> None:
        (self._directory / "release").touch()

    def _over(self) -> bool:
        return self._finished() or all(driver.exit_code is not None for driver in self._drivers)

    def _await_end(self) -> None:
        while not self._finished():
            self._wait(self._over)
            if not self._finished():
                self._explain_exits()
                return

    def _explain_exits(self) -> None:
        codes = [driver.exit_code for driver in self._drivers]
        self._report.problems.append(f"no driver brought the job to its end; exit codes {codes}")

    def _await_silence(self) -> None:
        """Paused ones have woken up, superseded ones have seen it, slots have left."""
        self._wait(lambda: not any(timer.is_alive() for timer in self._timers))
        self._wait(lambda: all(driver.exit_code is not None for driver in self._drivers), patience_s=DRIVER_LEAVES_S_MAX)
        for driver in self._drivers:
            self._judge_exit(driver)
        run = self._drivers[0].mark.partition("/")[0] + "/"
        self._wait(lambda: not any(marked(run)), patience_s=LEAVE_S_MAX)
        left = kill_all(run)
        if left:
            self._report.problems.append(f"processes left over: {'; '.join(left)}")

    def _judge_exit(self, driver: Driver) -> None:
        code = driver.exit_code
        if code is None:
            self._report.problems.append(f"driver {driver.number} still runs {DRIVER_LEAVES_S_MAX:.0f} s after the job's end")
        elif code == Exit.OK or driver.doomed or (driver.rival and code == Exit.SUPERSEDED):
            return
        elif driver.rival and driver.number == 0 and code == Exit.USAGE:
            return  # Paused before it looked for a history: it has one now, and refuses to begin anew.
        elif driver.rival:
            # It did no harm, as the verdict on the output shows; it should have said that it was superseded.
            self._report.notes.append(f"driver {driver.number}, superseded, left with {code}")
        else:
            self._report.problems.append(f"driver {driver.number} left with {code}")

    # ---- waiting -----------------------------------------------------------------------------

    def _count_log_entries(self) -> int:
        return len(list((self._directory / "checkpoints" / JobLayout("chaos").log).glob("*.json")))

    def _sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, min(seconds, self._deadline - time.monotonic())))

    def _wait(self, condition: Callable[[], bool], *, patience_s: float | None = None) -> None:
        """Until the condition holds or patience is at its end. Raises TooLong at the end of the run's time."""
        until = time.monotonic() + patience_s if patience_s is not None else self._deadline
        while not condition():
            now = time.monotonic()
            if self._stop.is_set():
                raise TooLong("stopped")
            if now >= self._deadline:
                raise TooLong(f"not at its end in time; exit codes {[driver.exit_code for driver in self._drivers]}")
            if now >= until:
                return
            time.sleep(POLL_S)
