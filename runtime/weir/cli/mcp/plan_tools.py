"""Tools that propose plans. A proposal does not change the job: a user must approve and apply the plan in Weir."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from weir.cli.client.api import ApiClient, find_job
from weir.cli.client.schemas import PlanRead
from weir.cli.commands.plans import newest_applied
from weir.cli.mcp.answers import Answer, answer
from weir.cli.mcp.read_tools import JobName
from weir.cli.mcp.tool import Id, tool

APPROVAL = (
    "The proposal does not change the job: a person must approve and apply the plan in Weir. A worker completes the preview of the plan; "
    "get_plan returns the complete preview. The token needs the role operator."
)


def propose_rollback(
    client: ApiClient,
    *,
    job: JobName,
    checkpoint: Annotated[Id, Meta(description="Number of a completed checkpoint or savepoint of the job.")],
) -> Answer[PlanRead]:
    """Propose to roll back a job to a checkpoint, and to revoke the output that the job committed after this checkpoint."""
    return _propose(client, job, {"kind": "rollback", "checkpoint": checkpoint})


def propose_restore(
    client: ApiClient,
    *,
    job: JobName,
    path: Annotated[str, Meta(description="Checkpoint directory that the platform allows.", min_length=1, max_length=1_000)],
    checkpoint: Annotated[Id | None, Meta(description="Number of the checkpoint. Default: the newest checkpoint.")] = None,
) -> Answer[PlanRead]:
    """Propose to restore a copy of a checkpoint from another directory, such as a checkpoint of another job."""
    return _propose(client, job, {"kind": "restore", "path": path, "checkpoint": checkpoint})


def propose_undo(
    client: ApiClient,
    *,
    job: JobName,
    plan: Annotated[Id | None, Meta(description="Id of an applied plan. Default: the plan that was applied last.")] = None,
) -> Answer[PlanRead]:
    """Propose to undo an applied plan: return the job to the version and the state that it had before the plan."""
    found = find_job(client, job)
    return answer(client.propose(found["id"], {"kind": "undo", "plan": plan or newest_applied(client, found)}))


def propose_upgrade(
    client: ApiClient,
    *,
    job: JobName,
    version: Annotated[Id, Meta(description="Number of an existing version of the job.")],
    mode: Annotated[
        Literal["savepoint", "last-state", "stateless"],
        Meta(
            description="savepoint: stop with a final checkpoint. last-state: stop immediately and restore the newest checkpoint. "
            "stateless: start without state, and read all input again."
        ),
    ] = "savepoint",
) -> Answer[PlanRead]:
    """Propose to run another existing version of a job."""
    return _propose(client, job, {"kind": "upgrade", "spec": version, "mode": mode})


def propose_rescale(
    client: ApiClient,
    *,
    job: JobName,
    parallelism: Annotated[int, Meta(description="Number of slots.", ge=1, le=1_024)],
) -> Answer[PlanRead]:
    """Propose to run a job with another parallelism."""
    return _propose(client, job, {"kind": "rescale", "parallelism": parallelism})


def _propose(client: ApiClient, job: str, request: dict[str, Any]) -> Answer[PlanRead]:
    return answer(client.propose(find_job(client, job)["id"], request))


PLAN_TOOLS = tuple(
    tool(one, note=APPROVAL, proposes=True)
    for one in (propose_rollback, propose_restore, propose_undo, propose_upgrade, propose_rescale)
)
