"""The port to the workers: work is asked for by name. That it is asked for is a courtesy; workers look for themselves, too."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy.orm import Session

from weir_backend.kit.database import after_commit

RECONCILE = "weir.reconcile"
"""``(job_id)``: bring what is closer to what is wanted."""
COMPILE = "weir.compile"
"""``(spec_id)``: load the user's code in a process of its own and find its graph."""
VERIFY = "weir.verify"
"""``(checkpoint_id, operation_id)``."""
DELIVER = "weir.deliver"
"""``(delivery_id)``: a message to a webhook."""


class Tasks(Protocol):
    def enqueue(self, name: str, *arguments: int | str, queue: str | None = None) -> None:
        """Raises what the broker's client raises if it is not there."""


def ask(session: Session, tasks: Tasks, name: str, *arguments: int | str, queue: str | None = None) -> None:
    """Enqueue once the transaction is durable: a worker must never look for something that is not there yet."""
    after_commit(session, lambda: tasks.enqueue(name, *arguments, queue=queue))
