"""Runs a job in a separate driver process, gives access to its processes, and checks its output."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from tests.chaos.dataset import write_input
from tests.chaos.output_check import check_run, parts_of
from tests.chaos.plan import ChaosPlan
from tests.chaos.processes import Driver, kill_all
from tests.standalone_cluster import StandaloneCluster

from weir.cli.exit_codes import Exit
from weir.storage.inspection import CheckpointInfo, list_checkpoints
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage

WAIT_S = 240.0
"""Timeout of each wait. Only a failing test reaches this timeout."""
POLL_S = 0.01
TRIES = 10


def plan(*, parallelisms: tuple[int, ...] = (2,), standalone: bool = False) -> ChaosPlan:
    """Return a plan for a job that reads 600 files. Each slot reads 600 records per second until ``Rig.release`` is called."""
    return ChaosPlan(
        seed=1,
        standalone=standalone,
        parallelisms=parallelisms,
        spares=0,
        interval_ms=200,
        input="json_lines",
        keys=20,
        groups=3,
        text_keys=True,
        files=600,
        rows_per_second=600.0,
        blocking=True,
        generated=0,
        rate=1.0,
        rows_per_file=1_000,
        faults=(),
    )


class Rig:
    """The drivers and files of a job.

    Start and kill drivers as often as needed, then call ``finish``. Always call ``close`` at the end.
    """

    def __init__(self, directory: Path, plan: ChaosPlan, cluster: StandaloneCluster | None = None) -> None:
        self.directory = directory
        self.keys, self.groups = directory / "keys", directory / "groups"
        self.drivers: list[Driver] = []
        self._plan = plan
        self._cluster = cluster
        self._records = write_input(plan, directory / "input")

    def start(self, *arguments: str) -> Driver:
        driver = Driver(self._plan, self.directory, len(self.drivers), self._cluster, arguments or None)
        self.drivers.append(driver)
        return driver

    def started(self, *arguments: str, event: str = "checkpoint completed") -> Driver:
        """Start a driver and wait until its log contains ``event``."""
        driver = self.start(*arguments)
        self.await_event(driver, event)
        return driver

    def start_second_driver(self) -> Driver:
        """Start a second driver while the first driver runs.

        The second driver reads the job log and then appends its first entry. If the first driver completes a checkpoint
        between these two steps, the second driver cannot append its entry, and exits. This method then starts another
        second driver.
        """
        for _ in range(TRIES):
            driver = self.start()
            if self._log_contains(driver, "checkpoint completed"):
                return driver
            log_text = driver.log.read_text()
            assert driver.exit_code == Exit.SUPERSEDED and "revokes nothing" in log_text, log_text[-3000:]
        raise AssertionError(f"the second driver was superseded during its start in all {TRIES} attempts")

    def await_event(self, driver: Driver, event: str, *, after: int = 0) -> None:
        assert self._log_contains(driver, event, after=after), (
            f"exited with {driver.exit_code}:\n{driver.log.read_text()[-3000:]}"
        )

    def _log_contains(self, driver: Driver, event: str, *, after: int = 0) -> bool:
        """Wait until the log contains ``event`` or the driver has exited."""
        self.wait(
            lambda: driver.has_logged(event, after=after) or driver.exit_code is not None, f"'{event}' of {driver.log.name}"
        )
        return driver.has_logged(event, after=after)

    def recovered_after(self, driver: Driver, action: Callable[[], None]) -> None:
        """Run an action that causes a recovery, and wait for the end of the recovery."""
        before = driver.log_bytes()
        action()
        self.await_event(driver, "recovered", after=before)

    def exit_code(self, driver: Driver) -> int:
        """Wait for the driver's end and return its exit code."""
        self.wait(lambda: driver.exit_code is not None, f"the end of {driver.log.name}")
        assert driver.exit_code is not None
        return driver.exit_code

    def suspended(self, driver: Driver) -> None:
        driver.handle.send_signal(signal.SIGTERM)
        assert self.exit_code(driver) == 0
        assert '"outcome": "suspended"' in driver.log.read_text()

    def release(self) -> None:
        """Let the job read the rest of its input at full speed."""
        (self.directory / "release").touch()

    def finish(self, driver: Driver) -> None:
        """Let the job read the rest of its input, wait for its end, and check that its output is exact."""
        self.release()
        assert self.exit_code(driver) == 0, driver.log.read_text()[-3000:]
        problems = check_run(self._records, keys=self.keys, groups=self.groups, checkpoints=self.directory / "checkpoints")
        assert problems == []

    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        return list_checkpoints(open_storage(str(self.directory / "checkpoints"), {}), JobLayout("chaos"))

    def published(self) -> set[int]:
        """Return the checkpoints whose output is published."""
        return {part.checkpoint for directory in (self.keys, self.groups) for part, _ in parts_of(directory)}

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, f"timed out waiting for {what}"
            time.sleep(POLL_S)

    def close(self) -> None:
        for driver in self.drivers:
            with contextlib.suppress(psutil.NoSuchProcess):
                driver.handle.resume()
            kill_all(driver.mark)
            driver.process.wait()
