"""Tools that read jobs and their history. They send only GET requests, so a token with the role viewer is sufficient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from weir.cli.client.api import ApiClient, find_checkpoint, find_job
from weir.cli.client.errors import Refused
from weir.cli.client.operators import operators_of
from weir.cli.client.schemas import (
    AlertRead,
    CheckpointDetailRead,
    CheckpointRead,
    CoverageRead,
    EventRead,
    FailureRead,
    JobRead,
    OperationRead,
    OperatorStatus,
    PlanRead,
    PlatformHealthRead,
    RunRead,
    SpecRead,
)
from weir.cli.commands.logs import no_log
from weir.cli.mcp.answers import Answer, Page, answer, page
from weir.cli.mcp.tool import Id, tool

LOG_BYTES_MAX = 16 << 10
"""The maximum size of the part of a log in one answer."""

NameText = Annotated[str, Meta(min_length=1, max_length=200)]
JobName = Annotated[NameText, Meta(description="Name or id of the job.")]
AnyJobName = Annotated[NameText | None, Meta(description="Name or id of the job. Default: all jobs.")]
Limit = Annotated[int, Meta(description="Maximum number of rows.", ge=1, le=100)]
Cursor = Annotated[Id | None, Meta(description="next_cursor of the previous page. Default: the first page.")]


class JobStatus(JobRead):
    operators: list[OperatorStatus]
    last_failure: FailureRead | None


class Graph(TypedDict):
    """`graph` is the physical graph, which contains the logical graph: chains, their operators, and edges."""

    version: int
    graph: dict[str, Any]


class Log(TypedDict):
    """Part of the log of one driver. To get the part before it, pass `next_cursor` as `cursor`. `next_cursor` is null at the start of the log."""

    run: int
    lines: list[str]
    next_cursor: int | None


# ---- jobs --------------------------------------------------------------------------------------


def list_jobs(
    client: ApiClient,
    *,
    labels: Annotated[dict[str, str] | None, Meta(description="List only jobs with all these labels.")] = None,
    limit: Limit = 25,
    cursor: Cursor = None,
) -> Page[JobRead]:
    """List jobs with their state, health, reasons for their health, bottleneck and last checkpoint, oldest job first."""
    filter = ({"labels": labels} if labels else {}) | ({"after_id": cursor} if cursor else {})
    return page(client.rows("/jobs", limit=limit + 1, filter=filter, sort=("id", "ASC")), limit)


def get_job(client: ApiClient, *, job: JobName) -> Answer[JobStatus]:
    """Return one job: its state, health and the reasons for it, bottleneck, current run, last checkpoint, current operation, operators with
    their rates, and last failure with its cause. `actions` says which actions a user can take now."""
    found = find_job(client, job)
    failures = client.failures(found["id"], 1)
    return answer({**found, "operators": operators_of(client, found), "last_failure": failures[0] if failures else None})


def get_graph(
    client: ApiClient,
    *,
    job: JobName,
    version: Annotated[Id | None, Meta(description="Version of the job. Default: the current version.")] = None,
) -> Answer[Graph]:
    """Return the graph of a version of a job: its operators, the chains that run in one subtask, and the edges between chains."""
    found = find_job(client, job)
    number = version or found["spec_number"]
    return answer({"version": number, "graph": client.graph(found["id"], number)})


def list_versions(client: ApiClient, *, job: JobName, limit: Limit = 10, cursor: Cursor = None) -> Page[SpecRead]:
    """List the versions of a job with their specs, newest first."""
    return _newest(client, f"/jobs/{find_job(client, job)['id']}/specs", {}, limit, cursor)


def get_coverage(client: ApiClient, *, job: JobName) -> Answer[CoverageRead]:
    """Say what would happen if a slot of the job failed now: which slots restore which checkpoint, and how long recent recoveries took."""
    return answer(client.coverage(find_job(client, job)["id"]))


def get_platform_health(client: ApiClient) -> Answer[PlatformHealthRead]:
    """Return the health of the platform itself: Postgres, Redis, the workers, beat, the data directory and the connections of drivers. Ask for
    it if jobs do not start, stop or recover, or if data is old."""
    return answer(client.platform_health())


# ---- history -----------------------------------------------------------------------------------


def list_checkpoints(client: ApiClient, *, job: JobName, limit: Limit = 25, cursor: Cursor = None) -> Page[CheckpointRead]:
    """List the checkpoints and savepoints of a job, newest first."""
    return _newest(client, "/checkpoints", {"job_id": find_job(client, job)["id"]}, limit, cursor)


def get_checkpoint(
    client: ApiClient, *, job: JobName, checkpoint: Annotated[Id, Meta(description="Number of the checkpoint in its job.")]
) -> Answer[CheckpointDetailRead]:
    """Return one checkpoint or savepoint with the statistics of its subtasks, its pins, and why it is kept."""
    return answer(find_checkpoint(client, find_job(client, job), checkpoint))


def list_runs(client: ApiClient, *, job: JobName, limit: Limit = 25, cursor: Cursor = None) -> Page[RunRead]:
    """List the runs of a job, newest first. A run is one driver of the job."""
    return _newest(client, "/runs", {"job_id": find_job(client, job)["id"]}, limit, cursor)


def list_failures(client: ApiClient, *, job: JobName, limit: Limit = 25, cursor: Cursor = None) -> Page[FailureRead]:
    """List the failures of a job, newest first: the exception with its cause, how the job recovered, and how long it was down."""
    return _newest(client, f"/jobs/{find_job(client, job)['id']}/failures", {}, limit, cursor)


def list_events(
    client: ApiClient,
    *,
    job: JobName,
    routine: Annotated[
        bool, Meta(description="Include the events of periodic checkpoints that are in the middle of a series.")
    ] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[EventRead]:
    """List the events of a job, newest first."""
    filter = {"job_id": find_job(client, job)["id"]} | ({} if routine else {"routine": False})
    return _newest(client, "/events", filter, limit, cursor)


def read_log(
    client: ApiClient,
    *,
    job: JobName,
    run_id: Annotated[Id | None, Meta(description="Id of a run from list_runs. Default: the newest run.")] = None,
    cursor: Annotated[Id | None, Meta(description="next_cursor of the previous part. Default: the end of the log.")] = None,
) -> Answer[Log]:
    """Return the last lines of the log of a driver. Most lines are JSON."""
    found = find_job(client, job)
    run = found["run"] if run_id is None else _run(client, found, run_id)
    if run is None:
        raise Refused(no_log(found))
    begin = -LOG_BYTES_MAX if cursor is None else max(0, cursor - LOG_BYTES_MAX)
    data, _, end = client.log(run["id"], begin)
    begin = end - len(data)
    if cursor is not None:
        data = data[: min(cursor - begin, LOG_BYTES_MAX)]
    first, line_break, rest = data.partition(b"\n")
    if begin > 0 and rest:
        # The part starts inside a line, unless it is one long line.
        begin, data = begin + len(first) + len(line_break), rest
    lines = data.decode(errors="replace").removesuffix("\n").split("\n") if data else []
    return answer({"run": run["number"], "lines": lines, "next_cursor": begin or None})


def _run(client: ApiClient, job: JobRead, run_id: int) -> RunRead:
    run = client.run(run_id)
    if run["job_id"] != job["id"]:
        raise Refused(f"Run {run_id} does not belong to job '{job['name']}'. Use the id of a run from list_runs.")
    return run


def list_alerts(
    client: ApiClient,
    *,
    job: AnyJobName = None,
    state: Annotated[Literal["FIRING", "RESOLVED"] | None, Meta(description="List only alerts in this state.")] = None,
    limit: Limit = 25,
    cursor: Cursor = None,
) -> Page[AlertRead]:
    """List alerts, newest first."""
    return _newest(client, "/alerts", _of(client, job) | ({"state": state} if state else {}), limit, cursor)


# ---- operations and plans ----------------------------------------------------------------------


def list_operations(
    client: ApiClient, *, job: AnyJobName = None, limit: Limit = 25, cursor: Cursor = None
) -> Page[OperationRead]:
    """List operations with their steps and outcomes, newest first. An operation is a request that takes time, such as a deployment."""
    return _newest(client, "/operations", _of(client, job), limit, cursor)


def get_operation(
    client: ApiClient, *, operation: Annotated[Id, Meta(description="Id of the operation.")]
) -> Answer[OperationRead]:
    """Return one operation with its steps and outcome."""
    return answer(client.operation(operation))


def list_plans(client: ApiClient, *, job: AnyJobName = None, limit: Limit = 10, cursor: Cursor = None) -> Page[PlanRead]:
    """List plans with their states and previews, newest first."""
    return _newest(client, "/plans", _of(client, job), limit, cursor)


def get_plan(client: ApiClient, *, plan: Annotated[Id, Meta(description="Id of the plan.")]) -> Answer[PlanRead]:
    """Return one plan with its preview: the checkpoint that it restores, the checkpoints that it abandons, the input that it replays, the
    output that it revokes, and its steps. The preview is complete when `preview.inspection` is set."""
    return answer(client.plan(plan))


# ---- requests ----------------------------------------------------------------------------------


def _of(client: ApiClient, job: str | None) -> dict[str, Any]:
    return {"job_id": find_job(client, job)["id"]} if job else {}


def _newest(client: ApiClient, path: str, filter: Mapping[str, Any], limit: int, cursor: int | None) -> Page[Any]:
    """Read a page of a list. The cursor is an id, so that rows that are added between two requests do not move the pages."""
    older = {"before_id": cursor} if cursor else {}
    return page(client.rows(path, limit=limit + 1, filter={**filter, **older}, sort=("id", "DESC")), limit)


READ_TOOLS = tuple(
    tool(one)
    for one in (
        *(list_jobs, get_job, list_versions, get_graph, get_coverage, get_platform_health),
        *(list_checkpoints, get_checkpoint, list_runs, list_failures, list_events, read_log, list_alerts),
        *(list_operations, get_operation, list_plans, get_plan),
    )
)
