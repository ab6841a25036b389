"""A chaos run executes a job on Spark, injects the faults of a plan, and checks the committed output."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from tests.chaos.dataset import write_input
from tests.chaos.output_check import check_run, parts_of
from tests.chaos.plan import NEW_DRIVER, ChaosPlan, Fault, FaultKind, Moment
from tests.chaos.processes import Driver, kill_all, marked
from tests.chaos.reader import OutputReader
from tests.standalone_cluster import StandaloneCluster

from weir.cli.exit_codes import Exit
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage

POLL_S = 0.004
MOMENT_S_MAX = 90.0
"""Timeout of the wait for the ``Moment`` of a fault. After the timeout, the chaos run injects the fault without waiting for the
``Moment``."""
TARGET_S_MAX = 30.0
EXIT_S_MAX = 60.0
"""Timeout for the exit of processes that should end."""
DRIVER_EXIT_S_MAX = 180.0
"""Timeout for the exit of drivers after the end of the job. The timeout is long, because a new driver first starts Spark and
waits for slots."""
DRIVERS_MAX = 10


@dataclass(slots=True)
class ChaosReport:
    """The result of a chaos run."""

    plan: ChaosPlan
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    injected: list[Fault] = field(default_factory=list)
    missed: list[Fault] = field(default_factory=list)
    """Faults that could not be injected."""
    exits: list[int | None] = field(default_factory=list)
    """Exit codes of the drivers, in the order of their starts."""
    rows: int = 0
    log_entries: int = 0
    took_s: float = 0.0


class RunAborted(Exception):
    """The run exceeded its time limit, or the user stopped all runs."""


class ChaosRun:
    def __init__(
        self, plan: ChaosPlan, directory: Path, cluster: StandaloneCluster | None, *, limit_s: float, stop: threading.Event
    ) -> None:
        self._stop = stop
        self._plan = plan
        self._directory = directory
        self._cluster = cluster
        self._deadline = time.monotonic() + limit_s
        self._drivers: list[Driver] = []
        self._timers: list[threading.Timer] = []
        self._log_offset = 0
        """Size of the driver's log at the last fault."""
        self._log_entries = 0
        """Number of entries in the job log at the last fault."""
        self._report = ChaosReport(plan)
        self._reader = OutputReader((directory / "keys", directory / "groups"), directory / "taken")
        self._put_back = False
        """Whether a backup has replaced the checkpoint directory."""

    def run(self) -> ChaosReport:
        start_s = time.monotonic()
        self._reader.start()
        try:
            records = write_input(self._plan, self._directory / "input")
            self._report.rows = records.height
            self._start_driver()
            self._inject_faults()
            self._release()
            self._await_end()
            self._await_exits()
            self._report.log_entries = self._count_log_entries()
            self._report.problems += check_run(
                records,
                keys=self._directory / "keys",
                groups=self._directory / "groups",
                taken=self._directory / "taken",
                checkpoints=self._directory / "checkpoints",
            )
        except RunAborted as error:
            self._report.problems.append(str(error))
        finally:
            for timer in self._timers:
                timer.cancel()
            if self._drivers:
                kill_all(self._drivers[0].mark.partition("/")[0] + "/")
            self._reader.close()
            self._report.problems += self._reader.problems
            self._report.exits = [driver.process.wait() for driver in self._drivers]
            self._report.took_s = time.monotonic() - start_s
        return self._report

    def _start_driver(self) -> None:
        if len(self._drivers) >= DRIVERS_MAX:
            raise RunAborted(f"{DRIVERS_MAX} drivers did not finish the job")
        start = ("--resume", "--revoke-unknown-output") if self._put_back else None
        self._drivers.append(Driver(self._plan, self._directory, len(self._drivers), self._cluster, start))
        self._log_offset = 0

    def _current(self) -> Driver | None:
        """Return the newest driver that runs and is not paused."""
        return next((one for one in reversed(self._drivers) if one.exit_code is None and not one.paused), None)

    def _finished(self) -> bool:
        return any(driver.exit_code == Exit.OK and not driver.stopped for driver in self._drivers)

    def _inject_faults(self) -> None:
        for fault in self._plan.faults:
            if fault.moment is Moment.END:
                self._release()
            elif not self._await_moment(fault.moment):
                self._report.missed.append(fault)
                continue
            self._sleep(fault.delay_ms / 1_000)
            driver = self._current()
            if driver is None or self._finished() or not self._inject(fault, driver):
                self._report.missed.append(fault)
                continue
            self._report.injected.append(fault)
            self._log_entries = self._count_log_entries()
            if fault.kind in NEW_DRIVER:
                self._start_next_driver()
            else:
                self._log_offset = driver.log_bytes()

    def _await_moment(self, moment: Moment) -> bool:
        """Wait for the moment. Return False if the job has ended."""

        def reached() -> bool:
            driver = self._current()
            if driver is None:
                return False
            match moment:
                case Moment.RUNNING:
                    return driver.has_logged("checkpoint completed", after=self._log_offset)
                case Moment.CHECKPOINT:
                    return driver.has_logged("checkpoint_triggered", after=self._log_offset)
                case Moment.RECOVERY if self._log_offset == 0:
                    return self._count_log_entries() > self._log_entries
                case Moment.RECOVERY:
                    return driver.has_logged("failure, recovering", after=self._log_offset)
                case _:
                    return True

        # The timeout for a recovery is short, because some faults, such as a brief pause, cause no recovery.
        timeout_s = 12.0 if moment is Moment.RECOVERY and self._log_offset else MOMENT_S_MAX
        self._wait(lambda: reached() or self._over(), timeout_s=timeout_s)
        return not self._over()

    def _inject(self, fault: Fault, driver: Driver) -> bool:
        """Inject the fault. Return False if the target process of the fault does not exist."""
        with contextlib.suppress(psutil.NoSuchProcess):
            match fault.kind:
                case FaultKind.DRIVER_KILL:
                    driver.stopped = True
                    driver.handle.kill()
                case FaultKind.SUSPEND:
                    driver.stopped = True
                    driver.handle.send_signal(signal.SIGTERM)
                case FaultKind.TAKEOVER:
                    driver.concurrent = True
                case FaultKind.DRIVER_PAUSE | FaultKind.DRIVER_PAUSE_TAKEOVER:
                    self._pause_driver(fault, driver)
                case FaultKind.JVM_KILL:
                    java = driver.java()
                    if java is None:
                        return False
                    driver.stopped = True
                    java.kill()
                case FaultKind.TAKE_OUTPUT:
                    self._wait(lambda: self._reader.sees_output() or self._over(), timeout_s=TARGET_S_MAX)
                    return self._reader.take(max(0.3, fault.target))
                case FaultKind.PUT_BACK:
                    return self._put_back_checkpoints(fault, driver)
                case _:
                    return self._inject_worker_fault(fault, driver)
            return True
        return False

    def _inject_worker_fault(self, fault: Fault, driver: Driver) -> bool:
        of_executors = fault.kind in (FaultKind.EXECUTOR_KILL, FaultKind.EXECUTOR_PAUSE)
        find = driver.executors if of_executors else driver.slots
        # A driver may have no slots for a short time after its start or after the loss of a slot.
        self._wait(lambda: bool(find()) or self._over(), timeout_s=TARGET_S_MAX)
        targets = find()
        if not targets:
            return False
        chosen = [targets[int(fault.target * len(targets))]]
        if fault.kind is FaultKind.WORKERS_KILL:
            chosen.append(targets[(targets.index(chosen[0]) + 1) % len(targets)])
        for target in chosen:
            if fault.pause_ms:
                target.suspend()
                self._later(fault.pause_ms, target.resume)
            else:
                with contextlib.suppress(psutil.NoSuchProcess):
                    target.kill()
        return True

    def _put_back_checkpoints(self, fault: Fault, driver: Driver) -> bool:
        """Kill the driver and replace the checkpoint directory with an older backup. If the output is newer than the backup,
        check that the next driver refuses to start. Return False, and change nothing, if another driver is
        running, or if the driver has created no checkpoint directory."""
        if any(one is not driver and one.exit_code is None for one in self._drivers):
            return False  # no other driver may use the directory while a backup replaces the directory
        checkpoints, backup = self._directory / "checkpoints", self._directory / "backup"
        self._wait(lambda: checkpoints.exists() or self._over(), timeout_s=TARGET_S_MAX)
        if not checkpoints.exists():
            return False
        shutil.rmtree(backup, ignore_errors=True)
        driver.handle.suspend()  # the driver must not change the directory during the copy
        shutil.copytree(checkpoints, backup)
        driver.handle.resume()
        self._sleep(fault.pause_ms / 1_000)
        driver.stopped = True
        driver.handle.kill()
        self._wait(lambda: driver.exit_code is not None, timeout_s=EXIT_S_MAX)
        shutil.rmtree(checkpoints)
        os.rename(backup, checkpoints)
        known = _highest_checkpoint(checkpoints)
        published = [part.checkpoint for name in ("keys", "groups") for part, _ in parts_of(self._directory / name)]
        if max(published, default=0) > known:
            self._put_back = False  # after an earlier backup, drivers get the option that prevents the refusal
            self._start_driver()
            refused = self._drivers[-1]
            refused.stopped = True
            self._wait(lambda: refused.exit_code is not None, timeout_s=DRIVER_EXIT_S_MAX)
            if refused.exit_code != Exit.USAGE or b"--revoke-unknown-output" not in refused.log.read_bytes():
                self._report.problems.append(
                    f"driver {refused.number} did not refuse to start, although the job log does not contain all published output"
                )
        self._put_back = True
        return True

    def _pause_driver(self, fault: Fault, driver: Driver) -> None:
        takeover = fault.kind is FaultKind.DRIVER_PAUSE_TAKEOVER
        driver.concurrent |= takeover
        java = driver.java() if fault.with_jvm else None
        driver.handle.suspend()
        driver.paused = True
        if java is not None:
            java.suspend()

        def resume() -> None:
            if java is not None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    java.resume()
            driver.handle.resume()
            driver.paused = False

        self._later(fault.pause_ms, resume)
        if not takeover:
            self._wait(lambda: not driver.paused, timeout_s=MOMENT_S_MAX)

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        def act() -> None:
            with contextlib.suppress(psutil.NoSuchProcess):
                action()

        timer = threading.Timer(delay_ms / 1_000, act)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _start_next_driver(self) -> None:
        """Start the next driver. If the previous driver was stopped, wait until it has exited."""
        driver = next(one for one in reversed(self._drivers) if one.stopped or one.concurrent)
        if driver.stopped:
            self._wait(lambda: driver.exit_code is not None, timeout_s=EXIT_S_MAX)
        self._start_driver()
        if driver.concurrent:
            self._drivers[-1].concurrent = True

    def _release(self) -> None:
        (self._directory / "release").touch()

    def _over(self) -> bool:
        return self._finished() or all(driver.exit_code is not None for driver in self._drivers)

    def _await_end(self) -> None:
        while not self._finished():
            self._wait(self._over)
            if not self._finished():
                self._report_exit_codes()
                return

    def _report_exit_codes(self) -> None:
        codes = [driver.exit_code for driver in self._drivers]
        self._report.problems.append(f"no driver finished the job; exit codes {codes}")

    def _await_exits(self) -> None:
        """Wait until paused drivers have resumed, superseded drivers have exited and slots have ended."""
        self._wait(lambda: not any(timer.is_alive() for timer in self._timers))
        self._wait(lambda: all(driver.exit_code is not None for driver in self._drivers), timeout_s=DRIVER_EXIT_S_MAX)
        for driver in self._drivers:
            self._check_exit(driver)
        run = self._drivers[0].mark.partition("/")[0] + "/"
        self._wait(lambda: not any(marked(run)), timeout_s=EXIT_S_MAX)
        remaining = kill_all(run)
        if remaining:
            self._report.problems.append(f"processes remain: {'; '.join(remaining)}")

    def _check_exit(self, driver: Driver) -> None:
        code = driver.exit_code
        if code is None:
            self._report.problems.append(f"driver {driver.number} still runs {DRIVER_EXIT_S_MAX:.0f} s after the end of the job")
        elif code == Exit.OK or driver.stopped or (driver.concurrent and code == Exit.SUPERSEDED):
            return
        elif driver.concurrent and driver.number == 0 and code == Exit.USAGE:
            # The driver was paused before it read the job log. After the pause, the driver refused to start without state, because
            # the log has entries.
            return
        elif driver.concurrent:
            # The expected exit code is SUPERSEDED. Any other exit code is only a note, not a problem, because the output check
            # detects wrong output.
            self._report.notes.append(f"driver {driver.number} was superseded and exited with {code}")
        else:
            self._report.problems.append(f"driver {driver.number} exited with {code}")

    def _count_log_entries(self) -> int:
        return len(list((self._directory / "checkpoints" / JobLayout("chaos").log).glob("*.json")))

    def _sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, min(seconds, self._deadline - time.monotonic())))

    def _wait(self, condition: Callable[[], bool], *, timeout_s: float | None = None) -> None:
        """Wait until the condition holds, at most ``timeout_s``. Raises RunAborted at the time limit of the run."""
        until = time.monotonic() + timeout_s if timeout_s is not None else self._deadline
        while not condition():
            now = time.monotonic()
            if self._stop.is_set():
                raise RunAborted("stopped")
            if now >= self._deadline:
                raise RunAborted(f"the run exceeded its time limit; exit codes {[driver.exit_code for driver in self._drivers]}")
            if now >= until:
                return
            time.sleep(POLL_S)


def _highest_checkpoint(checkpoints: Path) -> int:
    """Return the highest checkpoint id in the job log."""
    view, _ = JobLog(open_storage(str(checkpoints), {}), JobLayout("chaos")).read()
    return view.highest_checkpoint
