"""Kills, in their own thread, and checks that no job has two drivers."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from types import TracebackType

import psutil
from tests.integration.platform.embedded_rig import Platform

from weir_backend.reconciler.decisions import FIRST_RUN_RESTARTS_MAX

CHILDREN = ("api", "worker", "compiler", "chores", "beat", "valkey", "postgres")
LOOK_S = 0.25


class Striker:
    """``struck``: what was killed, in order. ``problems``: violations that were seen."""

    def __init__(self, platform: Platform, luck: random.Random, *, every_s: float) -> None:
        self._platform = platform
        self._luck = luck
        self._every_s = every_s
        self._over = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._strike, self._look)]
        self._beginners = 0
        """Killed drivers whose job has not completed a checkpoint yet."""
        self.struck: list[str] = []
        self.problems: list[str] = []

    def __enter__(self) -> Striker:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _strike(self) -> None:
        while not self._over.wait(self._luck.expovariate(1 / self._every_s)):
            name = self._luck.choice((*CHILDREN, "driver"))
            if self._kill(name):
                self.struck.append(name)

    def _kill(self, name: str) -> bool:
        if name == "driver":
            pid = self._driver()
        else:
            pid = self._platform.pids.get(name)
        if pid is None:
            return False
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def _driver(self) -> int | None:
        """Spare jobs that have never run: the platform gives them up after some restarts, and rightly so."""
        root = self._platform.root
        found = [(run, pid) for run, pids in drivers(root).items() for pid in pids]
        if not found:
            return None
        run, pid = self._luck.choice(found)
        job = run.rsplit("-", 2)[0]
        if not any((root / "checkpoints").glob(f"*-{job}/*/*/checkpoints/*/manifest-*")):
            if self._beginners == FIRST_RUN_RESTARTS_MAX:
                return None
            self._beginners += 1
        return pid

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            for run, pids in drivers(self._platform.root).items():
                if len(pids) > 1:
                    self.problems.append(f"run {run} has {len(pids)} drivers at once: {pids}")


def drivers(root: Path) -> dict[str, list[int]]:
    """Return driver pids by run: processes whose working directory is that of the run, without their children."""
    found: dict[str, dict[int, int]] = {}
    for process in psutil.process_iter():
        try:
            # The driver's working directory is that of its run; its children have other commands.
            if " -m weir.cli run " not in " ".join(process.cmdline()) + " ":
                continue
            spool, parent = process.environ().get("WEIR_RUN_SPOOL", ""), process.ppid()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if spool.startswith(str(root)):
            found.setdefault(Path(spool).parent.name, {})[process.pid] = parent
    # A child has the driver's command line between fork and exec, which can be visible on a busy machine.
    return {run: [pid for pid, parent in pids.items() if parent not in pids] for run, pids in found.items()}
