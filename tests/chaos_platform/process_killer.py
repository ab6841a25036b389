"""Kills processes of a platform at random in one thread, and checks in another thread that no run has two drivers."""

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
CHECK_S = 0.25


class ProcessKiller:
    """``killed``: names of the killed processes, in the order of the kills. ``problems``: violations found, one sentence each."""

    def __init__(self, platform: Platform, rng: random.Random, *, every_s: float) -> None:
        self._platform = platform
        self._rng = rng
        self._every_s = every_s
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._kill_repeatedly, self._check_repeatedly)]
        self._new_jobs_killed = 0
        """Number of drivers killed before their job had completed a checkpoint."""
        self.killed: list[str] = []
        self.problems: list[str] = []

    def __enter__(self) -> ProcessKiller:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _kill_repeatedly(self) -> None:
        while not self._stop.wait(self._rng.expovariate(1 / self._every_s)):
            name = self._rng.choice((*CHILDREN, "driver"))
            if self._kill(name):
                self.killed.append(name)

    def _kill(self, name: str) -> bool:
        """Kill a child process of the platform, or a driver. Return False if there is no such process."""
        if name == "driver":
            pid = self._choose_driver()
        else:
            pid = self._platform.pids.get(name)
        if pid is None:
            return False
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def _choose_driver(self) -> int | None:
        """Return the pid of a driver, or None.

        Until a job has completed a checkpoint, the platform restarts it at most FIRST_RUN_RESTARTS_MAX times. One more kill would
        fail the job, although the platform works correctly.
        """
        root = self._platform.root
        found = [(run, pid) for run, pids in drivers(root).items() for pid in pids]
        if not found:
            return None
        run, pid = self._rng.choice(found)
        job = run.rsplit("-", 2)[0]
        if not any((root / "checkpoints").glob(f"*-{job}/*/*/checkpoints/*/manifest-*")):
            if self._new_jobs_killed == FIRST_RUN_RESTARTS_MAX:
                return None
            self._new_jobs_killed += 1
        return pid

    def _check_repeatedly(self) -> None:
        while not self._stop.wait(CHECK_S):
            for run, pids in drivers(self._platform.root).items():
                if len(pids) > 1:
                    self.problems.append(f"run {run} has {len(pids)} drivers at once: {pids}")


def drivers(root: Path) -> dict[str, list[int]]:
    """Return the pids of the drivers, by run. Child processes of the drivers are not included."""
    found: dict[str, dict[int, int]] = {}
    for process in psutil.process_iter():
        try:
            # The child processes of a driver, such as Java, have other command lines.
            if " -m weir.cli run " not in " ".join(process.cmdline()) + " ":
                continue
            spool, parent = process.environ().get("WEIR_RUN_SPOOL", ""), process.ppid()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if spool.startswith(str(root)):
            found.setdefault(Path(spool).parent.name, {})[process.pid] = parent
    # Between fork and exec, a child still has the command line of the driver. Omit a process if the search has also found its parent.
    return {run: [pid for pid, parent in pids.items() if parent not in pids] for run, pids in found.items()}
