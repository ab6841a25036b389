"""Periodic tasks. Periodic tasks find pending work in the database, so a lost message only delays work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weir_backend.kit.tasks import queue_of


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """A task that beat enqueues every ``every_s`` seconds.

    A worker drops messages of the task that are older than ``expires_s``. So the messages that wait after an outage start the task at most
    ``expires_s / every_s`` times. ``expires_s`` is longer than ``every_s`` if other tasks can keep the workers busy for longer than
    ``every_s``."""

    task: str
    every_s: float
    expires_s: float


PERIODIC_TASKS = (
    PeriodicTask("weir.reconcile_all", every_s=2, expires_s=10),
    PeriodicTask("weir.evaluate_alerts", every_s=15, expires_s=30),
    PeriodicTask("weir.deliver", every_s=5, expires_s=10),
    PeriodicTask("weir.housekeeping", every_s=60, expires_s=60),
    PeriodicTask("weir.maintain_checkpoints", every_s=30, expires_s=60),
    PeriodicTask("weir.reassign_jobs", every_s=30, expires_s=60),
    PeriodicTask("weir.clean_up_runs", every_s=300, expires_s=300),
)


def beat_schedule() -> dict[str, dict[str, Any]]:
    """Return the schedule in Celery's form."""
    return {
        one.task: {
            "task": one.task,
            "schedule": one.every_s,
            "options": {"expires": one.expires_s, "queue": queue_of(one.task)},
        }
        for one in PERIODIC_TASKS
    }
