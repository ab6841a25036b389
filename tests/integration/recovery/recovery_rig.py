"""A job in a driver process of its own, with handles to what may be killed, and the chaos runs' oracle for its output."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from tests.chaos.dataset import write_input
from tests.chaos.plan import Plan
from tests.chaos.processes import Driver, kill_all
from tests.chaos.verdict import judge, parts_of

from weir.cli.exits import Exit
from weir.spark.standalone import StandaloneCluster
from weir.storage.inspection import CheckpointInfo, list_checkpoints
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage

WAIT_S = 100.0
"""At most, for anything; only a broken test waits so long."""
POLL_S = 0.01
TRIES = 10


def plan(*, parallelisms: tuple[int, ...] = (2,), standalone: bool = False) -> Plan:
    """Records of 600 files, let through at 600 a second and slot until they are released."""
    return Plan(
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
        beside=True,
        generated=0,
        rate=1.0,
        rows_per_file=1_000,
        faults=(),
    )


class Rig:
    """Call order: {start, strike whatever}* -> release -> finish. ``close`` whatever has happened."""

    def __init__(self, directory: Path, plan: Plan, cluster: StandaloneCluster | None = None) -> None:
        self.directory = directory
        self.keys, self.groups = directory / "keys", directory / "groups"
        self.drivers: list[Driver] = []
        self._plan = plan
        self._cluster = cluster
        self._records = write_input(plan, directory / "input")

    def start(self, *how: str) -> Driver:
        driver = Driver(self._plan, self.directory, len(self.drivers), self._cluster, how or None)
        self.drivers.append(driver)
        return driver

    def started(self, *how: str, event: str = "checkpoint completed") -> Driver:
        """Once its log tells of ``event``."""
        driver = self.start(*how)
        self.await_event(driver, event)
        return driver

    def taken_over(self) -> Driver:
        """By another driver, while one lives. If that completes a checkpoint between the other's look at the log and its first entry, the
        other one leaves everything as it is and says to start again, which is done here."""
        for _ in range(TRIES):
            driver = self.start()
            if self._tells_of(driver, "checkpoint completed"):
                return driver
            said = driver.log.read_text()
            assert driver.exit_code == Exit.SUPERSEDED and "nothing is taken back" in said, said[-3000:]
        raise AssertionError(f"superseded {TRIES} times while it was starting")

    def await_event(self, driver: Driver, event: str, *, after: int = 0) -> None:
        assert self._tells_of(driver, event, after=after), f"left with {driver.exit_code}:\n{driver.log.read_text()[-3000:]}"

    def _tells_of(self, driver: Driver, event: str, *, after: int = 0) -> bool:
        """Once it does, or has left."""
        self.wait(lambda: driver.said(event, after=after) or driver.exit_code is not None, f"'{event}' of {driver.log.name}")
        return driver.said(event, after=after)

    def recovered_after(self, driver: Driver, strike: Callable[[], None]) -> None:
        """Do what makes a recovery necessary, and wait for it."""
        before = driver.log_bytes()
        strike()
        self.await_event(driver, "recovered", after=before)

    def left(self, driver: Driver) -> int:
        """Its exit code, once it has left."""
        self.wait(lambda: driver.exit_code is not None, f"the end of {driver.log.name}")
        assert driver.exit_code is not None
        return driver.exit_code

    def suspended(self, driver: Driver) -> None:
        driver.handle.send_signal(signal.SIGTERM)
        assert self.left(driver) == 0
        assert '"outcome": "suspended"' in driver.log.read_text()

    def release(self) -> None:
        """Let the rest of the input through at full speed."""
        (self.directory / "release").touch()

    def finish(self, driver: Driver) -> None:
        """The job comes to its end, and its output is that of an undisturbed one."""
        self.release()
        assert self.left(driver) == 0, driver.log.read_text()[-3000:]
        problems = judge(self._records, keys=self.keys, groups=self.groups, checkpoints=self.directory / "checkpoints")
        assert problems == []

    def checkpoints(self) -> tuple[CheckpointInfo, ...]:
        return list_checkpoints(open_storage(str(self.directory / "checkpoints"), {}), JobLayout("chaos"))

    def published(self) -> set[int]:
        """Checkpoints whose output readers see."""
        return {part.checkpoint for directory in (self.keys, self.groups) for part, _ in parts_of(directory)}

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            time.sleep(POLL_S)

    def close(self) -> None:
        for driver in self.drivers:
            with contextlib.suppress(psutil.NoSuchProcess):
                driver.handle.resume()
            kill_all(driver.mark)
            driver.process.wait()
