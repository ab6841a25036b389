"""What is asked for again and again, whatever happens: so nothing depends on a message that got lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weir_backend.kit.tasks import queue_of


@dataclass(frozen=True, slots=True)
class Repeated:
    """``expires_s``: who gets it later than that leaves it, since others have been asked for meanwhile. So after an outage there are
    never more than ``expires_s / every_s`` of them waiting. Longer than ``every_s`` where a worker may be busy with others that long."""

    task: str
    every_s: float
    expires_s: float


REPEATED = (
    Repeated("weir.reconcile_all", every_s=2, expires_s=10),
    Repeated("weir.alerts", every_s=15, expires_s=30),
    Repeated("weir.deliver", every_s=5, expires_s=10),
    Repeated("weir.housekeeping", every_s=60, expires_s=60),
    Repeated("weir.look_after_checkpoints", every_s=30, expires_s=60),
    Repeated("weir.look_after_machines", every_s=30, expires_s=60),
    Repeated("weir.look_after_runs", every_s=300, expires_s=300),
)


def beat_schedule() -> dict[str, dict[str, Any]]:
    """As Celery takes it."""
    return {
        one.task: {
            "task": one.task,
            "schedule": one.every_s,
            "options": {"expires": one.expires_s, "queue": queue_of(one.task)},
        }
        for one in REPEATED
    }
