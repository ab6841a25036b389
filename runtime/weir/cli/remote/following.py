"""Waiting for what takes its time, and telling what is done meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from weir.cli.logs import tell
from weir.cli.remote.client import Client
from weir.cli.remote.errors import Declined, OperationFailed, Unreachable
from weir.cli.remote.shapes import Job, Operation, Plan, Spec
from weir.cli.remote.telling import clock_of, duration_text, harmless

PAUSE_S, PAUSE_S_MAX = 0.2, 1.0
WORKER_S = 180.0
"""By then a worker has compiled a job or looked into a checkpoint: it gives itself less."""


class Waiting:
    """``timeout_s`` None: for as long as the platform itself gives to it."""

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = timeout_s
        self._until = None if timeout_s is None else time.monotonic() + timeout_s
        self._pause_s = PAUSE_S

    def pause(self, what: str) -> None:
        """Raises OperationFailed once the time is over. ``what``: a sentence on what is not done yet."""
        now = time.monotonic()
        if self._until is not None and now >= self._until:
            assert self._timeout_s is not None
            raise OperationFailed(f"{what} after {duration_text(self._timeout_s)} (--timeout); it goes on without us")
        time.sleep(self._pause_s if self._until is None else min(self._pause_s, max(0.0, self._until - now)))
        self._pause_s = min(self._pause_s * 1.3, PAUSE_S_MAX)


@contextmanager
def going_on(client: Client, what: str) -> Iterator[None]:
    """Around waiting for ``what``, which goes on without us: that is said if we stop."""
    try:
        with client.patient():
            yield
    except KeyboardInterrupt:
        raise Declined(f"you do not wait any longer; {what}") from None
    except Unreachable as error:
        raise Unreachable(f"{error}. Where that began, {what}") from None


def follow(client: Client, job: Job, operation: Operation, waiting: Waiting) -> Operation:
    """Until it is over, telling each step; it has succeeded then. Raises OperationFailed, Declined, Unreachable."""
    over = _until_over(client, job, operation, waiting)
    if over["state"] != "SUCCEEDED":
        raise OperationFailed(_failure(job, over))
    return over


def _until_over(client: Client, job: Job, operation: Operation, waiting: Waiting) -> Operation:
    number, steps, why = operation["id"], 0, ""
    goes_on = f"operation {number} ({operation['kind']}) goes on: weir operations {job['name']} shows what becomes of it"
    with going_on(client, goes_on):
        if operation["ended_at"] is None:
            tell(f"  waiting for operation {number} ({operation['kind']})")
        while True:
            for step in operation["steps"][steps:]:
                tell(f"  {clock_of(step['at'])}  {harmless(step['text'])}")
            steps = len(operation["steps"])
            if operation["ended_at"] is not None:
                return operation
            if not steps:
                why = _tell_once(client.job(job["id"]), why)
            waiting.pause(f"operation {number} ({operation['kind']}) of job '{job['name']}' is still {operation['state']}")
            operation = client.operation(number)


def _tell_once(job: Job, before: str) -> str:
    """Some operations have no steps of their own: what they wait for is what keeps the job from where it is wanted."""
    now = job["why"]
    if now and now != before:
        tell(f"  {harmless(now)}")
    return now


def _failure(job: Job, operation: Operation) -> str:
    ended = {"FAILED": "has failed", "ABANDONED": "was abandoned"}.get(operation["state"], f"is {operation['state']}")
    problem = harmless(operation["problem"] or "no reason was told")
    return f"operation {operation['id']} ({operation['kind']}) of job '{job['name']}' {ended}: {problem}"


def wait_for_compiled(client: Client, job: Job, spec: Spec, waiting: Waiting) -> Spec:
    """Raises OperationFailed if its code does not compile."""
    number = spec["number"]
    with going_on(client, f"version {number} of job '{job['name']}' is compiled all the same, and does not run"):
        if spec["state"] == "COMPILING":
            tell(f"  version {number} is being compiled")
        since = time.monotonic()
        while spec["state"] == "COMPILING":
            _is_somebody_there(since, f"version {number} is still being compiled")
            waiting.pause(f"version {number} of job '{job['name']}' is still being compiled")
            spec = client.spec(job["id"], number)
    if spec["state"] != "VALID":
        raise OperationFailed(f"version {number} of job '{job['name']}' does not compile: {harmless(spec['problem'] or '')}")
    return spec


def wait_for_inspection(client: Client, plan: Plan, waiting: Waiting) -> Plan:
    """Until a worker has looked at what the plan would do. Raises OperationFailed if none does."""
    what = f"plan {plan['id']} is there, and nothing is done about it: weir plans {plan['job_id']}"
    with going_on(client, what):
        since = time.monotonic()
        while plan["preview"]["inspection"] is None and plan["state"] == "PROPOSED":
            _is_somebody_there(since, "nobody has looked at the checkpoint yet")
            waiting.pause(f"plan {plan['id']} has not been looked at by a worker")
            plan = client.plan(plan["id"])
    return plan


def _is_somebody_there(since: float, problem: str) -> None:
    if time.monotonic() - since > WORKER_S:
        raise OperationFailed(f"{problem} after {duration_text(WORKER_S)}: is a worker running? weir doctor")


def until(client: Client, job: Job, look: Callable[[], str | None], waiting: Waiting) -> None:
    """``look``: None if it is so, else why not yet; it raises if it will never be."""
    told = ""
    with going_on(client, f"job '{job['name']}' goes on as it is"):
        while (why := look()) is not None:
            if why != told:
                told = why
                tell(f"  {harmless(why)}")
            waiting.pause(f"job '{job['name']}': {why},")
