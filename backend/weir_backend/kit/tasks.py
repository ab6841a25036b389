"""The interface through which the backend enqueues tasks for the workers, and the names of these tasks. Enqueuing a task only makes the
workers act sooner, because workers also poll for work."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy.orm import Session

from weir_backend.kit.database import after_commit

RECONCILE = "weir.reconcile"
"""``(job_id)``: move the job towards its desired state."""
COMPILE = "weir.compile"
"""``(spec_id)``: load the user's code in a subprocess and compute its graph."""
CHECK_SPEC = "weir.check_spec"
"""``(check_id)``: load the user's code in a subprocess and compute its graph, for a spec that is not a version of a job yet."""
INSPECT_SPEC = "weir.inspect_spec"
"""``(check_id)``: compare the graph of a checked spec with the newest checkpoint of the job."""
SUBMIT = "weir.submit"
"""``(run_id)``: start the driver of a run."""
WATCH_DRIVERS = "weir.watch"
"""Check the drivers on a host. The task has no arguments, and is sent to the queue of this host."""
INSPECT = "weir.inspect"
"""``(plan_id)``: determine the effects of a plan from checkpoint storage, and check that the checkpoint of the plan is intact."""
VERIFY = "weir.verify"
"""``(checkpoint_id, claim, files_done)``: read the next files of a checkpoint and compare their checksums."""
COLLECT_GARBAGE = "weir.collect_garbage"
"""``(job_id)``: delete expired checkpoints from the checkpoint storage of a job."""
PIN = "weir.pin"
"""``(checkpoint_id)``: write to the job log that a checkpoint is pinned or unpinned."""
DELIVER = "weir.deliver"
"""Send the webhook deliveries that are due. The task has no arguments."""
HOUSEKEEPING = "weir.housekeeping"
"""Delete old rows of the database. The task has no arguments."""
DELETE_RUN_FILES = "weir.delete_run_files"
"""Delete old files of ended runs on a host. The task has no arguments, and is sent to the queue of this host."""
REASSIGN_JOBS = "weir.reassign_jobs"
"""Reassign the jobs of lost hosts. The task has no arguments."""

DEFAULT_QUEUE = "weir"
"""The queue of tasks that reconcile jobs. The tasks in this queue wait only for the database, so that failed jobs recover without delay."""
CODE_QUEUE = "weir.code"
"""The queue of tasks that load user code. User code may run until its time limit."""
BACKGROUND_QUEUE = "weir.chores"
"""The queue of tasks that wait for external storage or servers, or that process many rows."""
QUEUES = (DEFAULT_QUEUE, CODE_QUEUE, BACKGROUND_QUEUE)
_QUEUE_OF = dict.fromkeys((COMPILE, CHECK_SPEC), CODE_QUEUE) | dict.fromkeys(
    (INSPECT, INSPECT_SPEC, VERIFY, COLLECT_GARBAGE, PIN, DELIVER, HOUSEKEEPING, REASSIGN_JOBS), BACKGROUND_QUEUE
)


def queue_of(task: str) -> str:
    """Return the queue of a task that is not bound to a host."""
    return _QUEUE_OF.get(task, DEFAULT_QUEUE)


def host_queue(host: str) -> str:
    """Return the queue of the workers on one host. Only the workers on a host see the processes of the host."""
    return f"host.{host}"


class Tasks(Protocol):
    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None, expires_s: int | None = None) -> None:
        """Enqueue a task. Workers ignore a task that is older than ``expires_s``. If the broker is unreachable, ``enqueue`` raises the
        errors of the broker's client."""


def enqueue_after_commit(session: Session, tasks: Tasks, name: str, *arguments: int | str, queue: str | None = None) -> None:
    """Enqueue a task after the transaction commits, so that the worker finds the rows of the transaction."""
    after_commit(session, lambda: tasks.enqueue(name, *arguments, queue=queue))
