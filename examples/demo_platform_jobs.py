"""Following several jobs at once by what the API says of them. A worker of each bounded one is killed on the way."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

from demo_platform_rig import LOOK_EVERY_S, Rig
from demo_scenarios import DemoFailed
from demo_telling import say
from demo_worker import slot_processes
from weir.cli.remote.shapes import Job

CHECKPOINTS_BEFORE_KILL = 3
WAIT_S = 240.0
SAY_EVERY_S = 2.0


@dataclass(slots=True)
class Following:
    """A job until it is ``over``."""

    name: str
    over: bool = False
    _told: str = ""
    _told_at: float = 0.0

    def look(self, rig: Rig) -> None:
        """Raises DemoFailed."""
        job = rig.job(self.name)
        self._tell(job)
        if job["health"] == "needs a person":
            raise DemoFailed(f"job '{self.name}' needs a person: {job['why']}")
        self.over = self.go_on(rig, job)

    def go_on(self, rig: Rig, job: Job) -> bool:
        """Whether it is over."""
        raise NotImplementedError

    def _tell(self, job: Job) -> None:
        """A change of state at once, progress now and then."""
        state = job["state"]
        newest = checkpoint_of(job)
        text = f"{self.name}: {state}" + (f", checkpoint {newest} is completed" if newest else "")
        changed = not self._told.startswith(f"{self.name}: {state}")
        if changed or (text != self._told and time.monotonic() - self._told_at >= SAY_EVERY_S):
            self._told, self._told_at = text, time.monotonic()
            say(f"  {text}")

    @property
    def told(self) -> str:
        return self._told or f"{self.name}: nothing is known yet"


@dataclass(slots=True)
class Steady(Following):
    """Until it has run for so many checkpoints, ``enough``."""

    enough: int = 1
    _first: int | None = None

    def go_on(self, rig: Rig, job: Job) -> bool:
        newest = checkpoint_of(job)
        if self._first is None:
            self._first = newest
        return job["state"] == "RUNNING" and newest >= self._first + self.enough


@dataclass(slots=True)
class Disturbed(Following):
    """Until it has finished. After some checkpoints one of its workers is killed."""

    _killed: int | None = None
    _recovered: bool = False

    def go_on(self, rig: Rig, job: Job) -> bool:
        if self._killed is None and job["state"] == "RUNNING" and checkpoint_of(job) >= CHECKPOINTS_BEFORE_KILL:
            self._kill(rig, job)
        if self._killed is not None and not self._recovered:
            self._look_for_recovery(rig, job)
        if job["state"] != "FINISHED":
            return False
        if not self._recovered:
            raise DemoFailed(f"job '{self.name}' ended before it was disturbed: killed {self._killed}, nothing was recovered")
        return True

    def _kill(self, rig: Rig, job: Job) -> None:
        workers = slot_processes(rig.driver(self.name))
        if not workers:
            return  # they are being replaced, or it has just ended
        self._killed = workers[0]
        os.kill(self._killed, signal.SIGKILL)
        say(f"  {self.name}: checkpoint {checkpoint_of(job)} is completed: kill -9 {self._killed}, one of its workers")

    def _look_for_recovery(self, rig: Rig, job: Job) -> None:
        for failure in rig.client.rows(f"/jobs/{job['id']}/failures", limit=10):
            if failure["recovered_at"] is not None:
                self._recovered = True
                say(f"  {self.name}: lost: {failure['reason']}")
                say(f"  {self.name}: RECOVERED in {failure['downtime_ms']} ms: it went back to its last checkpoint")
                return


def checkpoint_of(job: Job) -> int:
    """Its newest one; 0: none."""
    return job["last_checkpoint"]["number"] if job["last_checkpoint"] is not None else 0


def follow(rig: Rig, jobs: list[Following]) -> None:
    """Until all are over. Raises DemoFailed."""
    deadline_s = time.monotonic() + WAIT_S
    while waiting := [one for one in jobs if not one.over]:
        if time.monotonic() > deadline_s:
            told = "; ".join(one.told for one in waiting)
            raise DemoFailed(f"not done after {WAIT_S:.0f} s: {told}. weir status and weir logs say more")
        for one in waiting:
            one.look(rig)
        time.sleep(LOOK_EVERY_S)
