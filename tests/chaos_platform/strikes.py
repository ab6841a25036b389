"""Kills, in a thread of their own; and a look now and then whether a job has two drivers."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from types import TracebackType

import psutil
from tests.integration.platform.embedded_rig import Platform

CHILDREN = ("api", "worker", "compiler", "chores", "beat", "valkey", "postgres")
LOOK_S = 0.25


class Striker:
    """``struck``: what was killed, in order. ``problems``: what must never be seen, and was."""

    def __init__(self, platform: Platform, luck: random.Random, *, every_s: float) -> None:
        self._platform = platform
        self._luck = luck
        self._every_s = every_s
        self._over = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._strike, self._look)]
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
            found = [pid for pids in drivers(self._platform.root).values() for pid in pids]
            pid = self._luck.choice(found) if found else None
        else:
            pid = self._platform.pids.get(name)
        if pid is None:
            return False
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            for run, pids in drivers(self._platform.root).items():
                if len(pids) > 1:
                    self.problems.append(f"run {run} has {len(pids)} drivers at once: {pids}")


def drivers(root: Path) -> dict[str, list[int]]:
    """Process ids of drivers by run: those that hold its directory as their own, children of theirs not counted."""
    found: dict[str, list[int]] = {}
    for process in psutil.process_iter():
        try:
            # The driver is in a directory of its own; what it has started says who it is by its command.
            if " -m weir.cli run " not in " ".join(process.cmdline()) + " ":
                continue
            spool = process.environ().get("WEIR_RUN_SPOOL", "")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if spool.startswith(str(root)):
            found.setdefault(Path(spool).parent.name, []).append(process.pid)
    return found
