"""Watch several jobs through the API, and kill a slot of each bounded job."""

from __future__ import annotations

import os
import signal
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

from demo_console import say
from demo_platform import POLL_EVERY_S, DemoPlatform
from demo_scenarios import DemoFailed
from demo_slots import slot_processes
from weir.cli.client.schemas import JobRead

CHECKPOINTS_BEFORE_KILL = 3
WAIT_S = 240.0
PRINT_EVERY_S = 2.0


@dataclass(slots=True)
class WatchedJob(ABC):
    """A job that the demo watches until ``done`` is True."""

    name: str
    done: bool = False
    _printed: str = ""
    _printed_at: float = 0.0

    def poll(self, platform: DemoPlatform) -> None:
        """Raises DemoFailed."""
        job = platform.job(self.name)
        self._print(job)
        if job["health"] == "needs_attention":
            raise DemoFailed(f"Job '{self.name}' needs attention: {job['health_reason']}")
        self.done = self.check(platform, job)

    @abstractmethod
    def check(self, platform: DemoPlatform, job: JobRead) -> bool:
        """Return whether the job is done."""

    def _print(self, job: JobRead) -> None:
        """Print a change of state immediately, and the progress every PRINT_EVERY_S seconds."""
        state = job["state"]
        newest = checkpoint_of(job)
        text = f"{self.name}: {state}" + (f", checkpoint {newest} completed" if newest else "")
        changed = not self._printed.startswith(f"{self.name}: {state}")
        if changed or (text != self._printed and time.monotonic() - self._printed_at >= PRINT_EVERY_S):
            self._printed, self._printed_at = text, time.monotonic()
            say(f"  {text}")

    @property
    def last_message(self) -> str:
        return self._printed or f"{self.name}: no state yet"


@dataclass(slots=True)
class LiveJob(WatchedJob):
    """A job that the demo watches until the job has completed ``enough`` more checkpoints."""

    enough: int = 1
    _first: int | None = None

    def check(self, platform: DemoPlatform, job: JobRead) -> bool:
        newest = checkpoint_of(job)
        if self._first is None:
            self._first = newest
        return job["state"] == "RUNNING" and newest >= self._first + self.enough


@dataclass(slots=True)
class BoundedJob(WatchedJob):
    """A job that the demo watches until the job has finished. After some checkpoints, the demo kills one of the job's slots."""

    _killed: int | None = None
    _recovered: bool = False

    def check(self, platform: DemoPlatform, job: JobRead) -> bool:
        if self._killed is None and job["state"] == "RUNNING" and checkpoint_of(job) >= CHECKPOINTS_BEFORE_KILL:
            self._kill(platform, job)
        if self._killed is not None and not self._recovered:
            self._check_recovery(platform, job)
        if job["state"] != "FINISHED":
            return False
        if not self._recovered:
            raise DemoFailed(f"Job '{self.name}' finished before a recovery. Killed process: {self._killed}.")
        return True

    def _kill(self, platform: DemoPlatform, job: JobRead) -> None:
        slots = slot_processes(platform.driver(self.name))
        if not slots:
            return  # no slot is running: Spark is replacing the slots, or the job has just ended
        self._killed = slots[0]
        os.kill(self._killed, signal.SIGKILL)
        say(f"  {self.name}: checkpoint {checkpoint_of(job)} completed: kill -9 {self._killed}, a slot")

    def _check_recovery(self, platform: DemoPlatform, job: JobRead) -> None:
        for failure in platform.client.rows(f"/jobs/{job['id']}/failures", limit=10):
            if failure["recovered_at"] is not None:
                self._recovered = True
                say(f"  {self.name}: lost: {failure['reason']}")
                say(f"  {self.name}: RECOVERED in {failure['downtime_ms']} ms from its last checkpoint")
                return


def checkpoint_of(job: JobRead) -> int:
    """Return the number of the job's newest checkpoint, or 0 if the job has no checkpoint."""
    return job["last_checkpoint"]["number"] if job["last_checkpoint"] is not None else 0


def watch(platform: DemoPlatform, jobs: list[WatchedJob]) -> None:
    """Watch the jobs until all are done. Raises DemoFailed."""
    deadline_s = time.monotonic() + WAIT_S
    while waiting := [job for job in jobs if not job.done]:
        if time.monotonic() > deadline_s:
            messages = "; ".join(job.last_message for job in waiting)
            raise DemoFailed(f"Not done after {WAIT_S:.0f} s: {messages}. See weir status and weir logs.")
        for job in waiting:
            job.poll(platform)
        time.sleep(POLL_EVERY_S)
