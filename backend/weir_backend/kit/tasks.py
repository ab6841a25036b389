"""The port to the workers: tasks by name. Enqueuing a task only speeds things up; workers also poll for work."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy.orm import Session

from weir_backend.kit.database import after_commit

RECONCILE = "weir.reconcile"
"""``(job_id)``: move the job towards its desired state."""
COMPILE = "weir.compile"
"""``(spec_id)``: load the user's code in a subprocess and compute its graph."""
SUBMIT = "weir.submit"
"""``(run_id)``: start the driver of a run."""
WATCH_DRIVERS = "weir.watch"
"""``()``, in the queue of a host: supervise the drivers there."""
INSPECT = "weir.inspect"
"""``(plan_id)``: inspect checkpoint storage for the effects of a plan, and check that its checkpoint is intact."""
VERIFY = "weir.verify"
"""``(checkpoint_id, claim, files_done)``: read the next files of a checkpoint and compare their checksums."""
COLLECT_GARBAGE = "weir.collect_garbage"
"""``(job_id)``: delete expired checkpoints from the checkpoint storage of a job."""
PIN = "weir.pin"
"""``(checkpoint_id)``: write to the job log that a checkpoint is pinned or unpinned."""
DELIVER = "weir.deliver"
"""``()``: send the webhook deliveries that are due."""
HOUSEKEEPING = "weir.housekeeping"
"""``()``: delete old rows."""
DELETE_RUN_FILES = "weir.delete_run_files"
"""``()``, in the queue of a host: delete old files of ended runs there."""
REASSIGN_JOBS = "weir.reassign_jobs"
"""``()``: reassign jobs from lost hosts."""

DEFAULT_QUEUE = "weir"
"""Tasks that reconcile jobs. They wait only for the database, so that failed jobs recover without delay."""
CODE_QUEUE = "weir.code"
"""Tasks that load user code, which may run until its time limit."""
BACKGROUND_QUEUE = "weir.chores"
"""Tasks that wait for external storage or servers, or process many rows."""
QUEUES = (DEFAULT_QUEUE, CODE_QUEUE, BACKGROUND_QUEUE)
_QUEUE_OF = {COMPILE: CODE_QUEUE} | dict.fromkeys(
    (INSPECT, VERIFY, COLLECT_GARBAGE, PIN, DELIVER, HOUSEKEEPING, REASSIGN_JOBS), BACKGROUND_QUEUE
)


def queue_of(task: str) -> str:
    """Return the queue of a task that is not bound to a host."""
    return _QUEUE_OF.get(task, DEFAULT_QUEUE)


def host_queue(host: str) -> str:
    """Return the queue of the workers on one host: only they see its processes."""
    return f"host.{host}"


class Tasks(Protocol):
    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        """Enqueue a task. After ``expires_s``, workers ignore it. Raises the broker client's errors if the broker is unreachable."""


def enqueue_after_commit(session: Session, tasks: Tasks, name: str, *arguments: int | str, queue: str | None = None) -> None:
    """Enqueue after the transaction commits, so that the worker finds its rows."""
    after_commit(session, lambda: tasks.enqueue(name, *arguments, queue=queue))
