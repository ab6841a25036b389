"""The port to the workers: work is asked for by name. That it is asked for is a courtesy; workers look for themselves, too."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy.orm import Session

from weir_backend.kit.database import after_commit

RECONCILE = "weir.reconcile"
"""``(job_id)``: bring what is closer to what is wanted."""
COMPILE = "weir.compile"
"""``(spec_id)``: load the user's code in a process of its own and find its graph."""
SUBMIT = "weir.submit"
"""``(run_id)``: start the driver of a run."""
WATCH = "weir.watch"
"""``()``, in the queue of a host: look after the drivers there."""
INSPECT = "weir.inspect"
"""``(plan_id)``: look into checkpoint storage for what a plan would do, and whether its checkpoint is whole."""
VERIFY = "weir.verify"
"""``(checkpoint_id, claim, files_done)``: read the next files of a checkpoint, and compare them with what was written."""
TIDY = "weir.tidy"
"""``(job_id)``: look into its checkpoint storage, and let go of what is not kept."""
PIN = "weir.pin"
"""``(checkpoint_id)``: have the job's log say that it is pinned, or is not any more."""
DELIVER = "weir.deliver"
"""``()``: send the messages to webhooks that are due."""
HOUSEKEEPING = "weir.housekeeping"
"""``()``: forget what is old enough."""
CLEAR_RUNS = "weir.clear_runs"
"""``()``, in the queue of a host: remove what runs that are over have on the disk there, once it is old enough."""

LOOK_AFTER_MACHINES = "weir.look_after_machines"
"""``()``: have jobs of machines that are gone gone on with by others."""

DECISIONS = "weir"
"""Queue of what decides and starts: nothing in it waits for anybody but the database, so that a job that fails is recovered at once."""
CODE = "weir.code"
"""Queue of what loads user code, which may take as long as it is let."""
CHORES = "weir.chores"
"""Queue of what waits for others' storage and servers, or goes through many rows."""
QUEUES = (DECISIONS, CODE, CHORES)
_QUEUE_OF = {COMPILE: CODE} | dict.fromkeys((INSPECT, VERIFY, TIDY, PIN, DELIVER, HOUSEKEEPING, LOOK_AFTER_MACHINES), CHORES)


def queue_of(task: str) -> str:
    """Where a task goes that is for no host in particular."""
    return _QUEUE_OF.get(task, DECISIONS)


def host_queue(host: str) -> str:
    """Of the workers on one machine: only they see the processes there."""
    return f"host.{host}"


class Tasks(Protocol):
    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        """``expires_s``: who gets it later than that leaves it. Raises what the broker's client raises if it is not there."""


def ask(session: Session, tasks: Tasks, name: str, *arguments: int | str, queue: str | None = None) -> None:
    """Enqueue once the transaction is durable: a worker must never look for something that is not there yet."""
    after_commit(session, lambda: tasks.enqueue(name, *arguments, queue=queue))
