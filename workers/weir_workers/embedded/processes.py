"""Processes that are known by their number and by when they began: a number alone is given to others again."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessId:
    """``began``: differs for two processes that have the same number at different times, also over a restart of the machine."""

    number: int
    began: str

    @property
    def lives(self) -> bool:
        """As far as this machine (or container) can see. One that has ended and waits for its parent does not live."""
        return began(self.number) == self.began

    def signal(self, which: signal.Signals) -> None:
        """Nothing happens if it does not live any more."""
        if self.lives:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.number, which)


def process_id(number: int) -> ProcessId:
    """Of a process that lives, or at least is our child."""
    return ProcessId(number, began(number) or "ended")


def began(number: int) -> str | None:
    """None: there is no such process, or it has ended."""
    if sys.platform == "linux":
        return _began_on_linux(number)
    import psutil

    try:
        process = psutil.Process(number)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def _began_on_linux(number: int) -> str | None:
    """Ticks since the machine has started, which do not move when the clock is set."""
    try:
        # The name in parentheses may hold anything, also parentheses.
        fields = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in "ZX":
        return None
    return f"{_boot()} {fields[19]}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def end_all(processes: Iterable[tuple[ProcessId, signal.Signals]], *, grace_s: float) -> Sequence[ProcessId]:
    """Send each its signal, wait for them, kill those that live on after ``grace_s``. Those that lived when this was called."""
    living = [(process, which) for process, which in processes if process.lives]
    for process, which in living:
        process.signal(which)
    deadline_s = time.monotonic() + grace_s
    while any(process.lives for process, _ in living):
        if time.monotonic() > deadline_s:
            for process, _ in living:
                process.signal(signal.SIGKILL)
        time.sleep(0.05)
    return [process for process, _ in living]
