"""Whether a job does what it is there for."""

from __future__ import annotations

from weir.cli.remote.client import Client
from weir.cli.remote.errors import OperationFailed
from weir.cli.remote.following import Waiting, until
from weir.cli.remote.shapes import Job
from weir.cli.remote.telling import harmless, moment_of


def why_not_well(job: Job, *, checkpoint: bool) -> str | None:
    """None: it runs, or its input has ended. ``checkpoint``: its newest run has completed one, too.

    Raises OperationFailed if waiting does not help."""
    name = job["name"]
    if job["desired_state"] != "RUNNING":
        raise OperationFailed(f"job '{name}' is not to run: it is wanted {job['desired_state']}; weir start {name} changes that")
    if job["health"] == "needs a person":
        raise OperationFailed(f"job '{name}' is {job['state']} and needs a person: {harmless(job['why'])}")
    if job["state"] == "FINISHED":
        return None
    if job["state"] != "RUNNING":
        return f"it is {job['state']}" + (f" ({job['why']})" if job["why"] else "")
    if checkpoint and not _has_checkpoint(job):
        run = job["run"]
        return f"it runs, and run {run['number'] if run else '?'} has not completed a checkpoint yet"
    return None


def _has_checkpoint(job: Job) -> bool:
    """Both times are of the driver's clock. The run before may have completed its last one after this one was asked for."""
    run, last = job["run"], job["last_checkpoint"]
    if run is None or last is None or run["running_at"] is None:
        return False
    return moment_of(last["completed_at"]) > moment_of(run["running_at"])


def wait_until_well(client: Client, job: Job, waiting: Waiting, *, checkpoint: bool) -> Job:
    """Raises OperationFailed, Declined, Unreachable."""
    seen = [job]

    def look() -> str | None:
        seen[0] = client.job(job["id"])
        return why_not_well(seen[0], checkpoint=checkpoint)

    until(client, job, look, waiting)
    return seen[0]
