"""Wait for operations, compilations, plan inspections and jobs, and print the progress to standard error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from weir.cli.client.api import ApiClient
from weir.cli.client.errors import AbortedByUser, OperationFailed, Unreachable
from weir.cli.client.schemas import JobRead, OperationRead, PlanRead, SpecRead
from weir.cli.logs import print_message
from weir.cli.output import clock_of, duration_text, parse_time, sanitized

PAUSE_S, PAUSE_S_MAX = 0.2, 1.0
WORKER_S = 180.0
"""If no result has arrived after this number of seconds, probably no worker is running.

The workers' own timeouts for compiling a job and for inspecting a checkpoint are shorter than this time.
"""


class Deadline:
    """The time limit of a wait.

    If ``timeout_s`` is None, the wait has no limit, because the platform ends each operation at the operation's deadline.
    """

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = timeout_s
        self._until = None if timeout_s is None else time.monotonic() + timeout_s
        self._pause_s = PAUSE_S

    def pause(self, status: str) -> None:
        """Sleep until the next poll. Raises TimeoutError after the deadline. The error message begins with ``status``."""
        now = time.monotonic()
        if self._until is not None and now >= self._until:
            assert self._timeout_s is not None
            raise TimeoutError(f"{status} after {duration_text(self._timeout_s)} (--timeout).")
        time.sleep(self._pause_s if self._until is None else min(self._pause_s, max(0.0, self._until - now)))
        self._pause_s = min(self._pause_s * 1.3, PAUSE_S_MAX)


@contextmanager
def _waiting(client: ApiClient, background: str) -> Iterator[None]:
    """Retry requests for a longer time inside the ``with`` block.

    ``background`` is a sentence that says what the platform does after the wait has ended. If the user interrupts the wait, the
    deadline passes, or the API does not respond, the error message contains ``background``. Raises AbortedByUser,
    OperationFailed, Unreachable.
    """
    try:
        with client.long_retries():
            yield
    except KeyboardInterrupt:
        raise AbortedByUser(f"Stopped waiting. {background}") from None
    except TimeoutError as error:
        raise OperationFailed(f"{error} {background}") from None
    except Unreachable as error:
        raise Unreachable(f"{error} {background}") from None


def wait_for_operation(client: ApiClient, job: JobRead, operation: OperationRead, deadline: Deadline) -> OperationRead:
    """Wait until the operation succeeds, and print its steps. Raises OperationFailed, AbortedByUser, Unreachable."""
    ended = _wait_for_end(client, job, operation, deadline)
    if ended["state"] != "SUCCEEDED":
        raise OperationFailed(_failure(job, ended))
    return ended


def _wait_for_end(client: ApiClient, job: JobRead, operation: OperationRead, deadline: Deadline) -> OperationRead:
    number, printed, last_reason = operation["id"], 0, ""
    name = f"operation {number} ({operation['kind']})"
    see = f"To see the state of the operation, run weir operations {job['name']}."
    with _waiting(client, f"Operation {number} ({operation['kind']}) continues. {see}"):
        if operation["ended_at"] is None:
            print_message(f"  Waiting for {name}")
        while True:
            for step in operation["steps"][printed:]:
                print_message(f"  {clock_of(step['at'])}  {sanitized(step['text'])}")
            printed = len(operation["steps"])
            if operation["ended_at"] is not None:
                return operation
            if not printed:
                # An operation that has no steps yet is still waiting for the reconciler. The job's health reason states why the
                # operation waits.
                last_reason = _print_if_new(client.job(job["id"])["health_reason"], last_reason)
            deadline.pause(f"Operation {number} ({operation['kind']}) of job '{job['name']}' is still {operation['state']}")
            operation = client.operation(number)


def _print_if_new(reason: str, last_reason: str) -> str:
    if reason and reason != last_reason:
        print_message(f"  {sanitized(reason)}")
    return reason


def _failure(job: JobRead, operation: OperationRead) -> str:
    ended = {"FAILED": "failed", "SUPERSEDED": "was superseded"}.get(operation["state"], f"is {operation['state']}")
    problem = sanitized(operation["problem"] or "no reason was reported")
    return f"Operation {operation['id']} ({operation['kind']}) of job '{job['name']}' {ended}: {problem}"


def wait_for_compilation(client: ApiClient, job: JobRead, spec: SpecRead, deadline: Deadline) -> SpecRead:
    """Wait until a worker has compiled the version. Raises OperationFailed if the version does not compile."""
    number = spec["number"]
    with _waiting(
        client,
        f"Version {number} of job '{job['name']}' is still being compiled and will not start by itself. Repeat the command to "
        "start this version.",
    ):
        if spec["state"] == "COMPILING":
            print_message(f"  Compiling version {number}")
        since = time.monotonic()
        while spec["state"] == "COMPILING":
            _require_worker(since, f"Version {number} is still compiling")
            deadline.pause(f"Version {number} of job '{job['name']}' is still compiling")
            spec = client.spec(job["id"], number)
    if spec["state"] != "VALID":
        raise OperationFailed(f"Version {number} of job '{job['name']}' does not compile: {sanitized(spec['problem'] or '')}")
    return spec


def wait_for_inspection(client: ApiClient, plan: PlanRead, deadline: Deadline) -> PlanRead:
    """Wait until a worker has inspected the checkpoint of the plan. Raises OperationFailed if the inspection takes too long."""
    with _waiting(client, f"Plan {plan['id']} is not applied."):
        since = time.monotonic()
        while plan["preview"]["inspection"] is None and plan["state"] == "PROPOSED":
            _require_worker(since, f"Plan {plan['id']} is not inspected")
            deadline.pause(f"Plan {plan['id']} is not inspected")
            plan = client.plan(plan["id"])
    return plan


def _require_worker(since: float, problem: str) -> None:
    if time.monotonic() - since > WORKER_S:
        raise OperationFailed(f"{problem} after {duration_text(WORKER_S)}. Run weir doctor to check that a worker is running.")


# ---- jobs --------------------------------------------------------------------------------------


def wait_until_healthy(client: ApiClient, job: JobRead, deadline: Deadline, *, checkpoint: bool) -> JobRead:
    """Wait until the job runs or has finished.

    With ``checkpoint``, also wait until the job's newest run has completed a checkpoint.
    Raises OperationFailed, AbortedByUser, Unreachable.
    """
    last_reason = ""
    with _waiting(client, f"Job '{job['name']}' is not affected."):
        while True:
            job = client.job(job["id"])
            reason = why_not_healthy(job, checkpoint=checkpoint)
            if reason is None:
                return job
            last_reason = _print_if_new(reason, last_reason)
            deadline.pause(f"Job '{job['name']}' {reason}")


def why_not_healthy(job: JobRead, *, checkpoint: bool) -> str | None:
    """Return why the job is not healthy, or None if it is healthy. The text completes a sentence that
    begins with the job's name.

    Raises OperationFailed if the job cannot become healthy without a user.
    """
    name = job["name"]
    if job["desired_state"] != "RUNNING":
        raise OperationFailed(
            f"Job '{name}' will not run, because its desired state is {job['desired_state']}. Run weir start {name}."
        )
    if job["health"] == "needs_attention":
        raise OperationFailed(f"Job '{name}' is {job['state']} and needs attention: {sanitized(job['health_reason'])}")
    if job["state"] == "FINISHED":
        return None
    if job["state"] != "RUNNING":
        return f"is {job['state']}" + (f" ({job['health_reason'].rstrip('.')})" if job["health_reason"] else "")
    if checkpoint and not _has_checkpoint(job):
        run = job["run"]
        return f"is running, but run {run['number'] if run else '?'} has not completed a checkpoint"
    return None


def _has_checkpoint(job: JobRead) -> bool:
    """Return whether the newest run has completed a checkpoint. The job's last checkpoint can belong to an earlier run.

    Both compared times are from the driver's clock.
    """
    run, last = job["run"], job["last_checkpoint"]
    if run is None or last is None or run["running_at"] is None:
        return False
    return parse_time(last["completed_at"]) > parse_time(run["running_at"])
