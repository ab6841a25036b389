"""Wait for operations, compilations, plan inspections and jobs, and print the progress to standard error."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from weir.cli.client.api import ApiClient
from weir.cli.client.errors import AbortedByUser, OperationFailed, Refused, Unreachable
from weir.cli.client.schemas import JobRead, ManifestResultRead, OperationRead, PlanRead, SpecRead
from weir.cli.logs import print_message
from weir.cli.output import clock_of, duration_text, parse_time, sanitized

PAUSE_S, PAUSE_S_MAX = 0.2, 1.0
REQUEST_S = 20.0
"""The maximum time that one request waits in the API. It is shorter than the timeouts of clients and proxies."""
HEALTH_S = 2.0
"""The interval at which a command reads the health of a job whose operation has no steps yet."""
FIRST_CHECK_S = 0.5
"""If the check of a job takes longer than this time, the command prints that the check is running."""
_TOO_MANY = 429
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
        time.sleep(self.left_s(status, self._pause_s))
        self._pause_s = min(self._pause_s * 1.3, PAUSE_S_MAX)

    def left_s(self, status: str, most_s: float) -> float:
        """Return the seconds until the deadline, but at most ``most_s``.

        Raises TimeoutError after the deadline. The error message begins with ``status``.
        """
        now = time.monotonic()
        if self._until is None:
            return most_s
        if now >= self._until:
            assert self._timeout_s is not None
            raise TimeoutError(f"{status} after {duration_text(self._timeout_s)} (--timeout).")
        return min(most_s, self._until - now)


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
            status = f"Operation {number} ({operation['kind']}) of job '{job['name']}' is still {operation['state']}"
            operation = _next_state(client, operation, deadline, status, most_s=REQUEST_S if printed else HEALTH_S)


def _next_state(client: ApiClient, operation: OperationRead, deadline: Deadline, status: str, *, most_s: float) -> OperationRead:
    """Return the operation after its next step or its end, or after ``most_s``. Raises TimeoutError after the deadline."""
    steps, began = len(operation["steps"]), time.monotonic()
    try:
        found = client.operation(operation["id"], wait_s=deadline.left_s(status, most_s), after_steps=steps)
    except Refused as error:
        if error.status != _TOO_MANY:
            raise
        found = client.operation(operation["id"])
    unchanged = found["ended_at"] is None and len(found["steps"]) == steps
    if unchanged and time.monotonic() - began < PAUSE_S:
        deadline.pause(status)  # the API did not wait, for example because this user has too many open requests
    return found


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


def apply_manifest(
    client: ApiClient, name: str, manifest: Mapping[str, Any], deadline: Deadline, *, dry_run: bool
) -> ManifestResultRead:
    """Wait until a worker has checked the code, and apply the manifest.

    Raises Refused if the code does not compile, or cannot restore the newest checkpoint. Raises OperationFailed if the check
    takes too long.
    """
    status = f"The code of job '{name}' is still being checked"
    with _waiting(client, f"Job '{name}' was not changed. Repeat the command."):
        since, wait_s = time.monotonic(), FIRST_CHECK_S
        while True:
            began = time.monotonic()
            try:
                return client.apply_manifest(name, manifest, dry_run=dry_run, wait_s=wait_s)
            except Refused as error:
                if error.code != "still-checking" and error.status != _TOO_MANY:
                    raise
            if wait_s == FIRST_CHECK_S:
                print_message(f"  Checking the code of job '{name}'")
            wait_s = deadline.left_s(status, REQUEST_S)
            _require_worker(since, status)
            if time.monotonic() - began < PAUSE_S:
                deadline.pause(status)


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
