"""List jobs, show one job, and change the desired state of jobs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from weir.cli.client.api import find_job, open_client
from weir.cli.client.errors import AbortedByUser, OperationFailed, Refused
from weir.cli.client.operators import operators_of
from weir.cli.client.schemas import CoverageRead, JobRead, OperationRead, OperatorStatus
from weir.cli.commands.waiting import Deadline, wait_for_operation, wait_until_healthy
from weir.cli.logs import print_message
from weir.cli.options import (
    NO_PAIRS,
    JobArgument,
    LimitOption,
    RevokeUnknownOutputOption,
    TimeoutOption,
    WaitOption,
    YesOption,
    parse_pairs,
    timeout_s,
)
from weir.cli.output import (
    OutputFormat,
    OutputOption,
    age_of,
    duration_text,
    print_fields,
    print_json,
    print_rows,
    size_text,
    time_of,
)

_PATHS = {"savepoint": "savepoints", "checkpoint": "checkpoints"}


def add_to(app: typer.Typer) -> None:
    app.command()(jobs)
    app.command()(status)
    app.command()(wait)
    for verb, description in _VERBS.items():
        app.command(verb, help=description)(start if verb == "start" else _verb_command(verb))
    app.command()(delete)
    app.command()(operations)


# ---- weir jobs, weir status --------------------------------------------------------------------


def jobs(
    label: Annotated[list[str], typer.Option(metavar="KEY=VALUE", help="List only jobs with this label; repeatable.")] = NO_PAIRS,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """List all jobs, or the jobs with the given labels."""
    labels = parse_pairs(label, "--label")
    with open_client() as client:
        found = client.jobs(**({"labels": labels} if labels else {}))
    if output is OutputFormat.JSON:
        print_json(found)
    elif not found:
        typer.echo(f"No job has the labels {_labels_text(labels)}." if labels else "No jobs yet. Create a job with weir deploy.")
    else:
        columns = ("id", "job", "state", "health", "version", "last checkpoint", "labels", "why")
        print_rows(columns, map(_job_row, found), right=frozenset({"id", "version"}))


def _labels_text(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _job_row(job: JobRead) -> tuple[str, ...]:
    last = job["last_checkpoint"]
    checkpoint = f"{last['number']}, {age_of(last['completed_at'])}" if last else "none"
    return (
        str(job["id"]),
        job["name"],
        job["state"],
        job["health"].replace("_", " "),
        str(job["spec_number"]),
        checkpoint,
        _labels_text(job["labels"]),
        job["health_reason"],
    )


def status(name: JobArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """Show the state and health of a job, its run, last checkpoint, current operation and operators, and what happens if a slot fails now."""
    with open_client() as client:
        job = find_job(client, name)
        operators = operators_of(client, job)
        coverage = client.coverage(job["id"])
    if output is OutputFormat.JSON:
        print_json({**job, "operators": operators, "coverage": coverage})
        return
    fields = _status_fields(job)
    if coverage["strategy"] is not None:
        fields.append(("slot loss", _coverage_text(coverage)))
    print_fields(fields)
    if operators:
        columns = ("operator", "kind", "subtasks", "in/s", "out/s", "busy", "backpressure")
        typer.echo()
        print_rows(columns, map(_operator_row, operators), right=frozenset(columns[2:6]))


def _status_fields(job: JobRead) -> list[tuple[str, str]]:
    run, last, operation = job["run"], job["last_checkpoint"], job["operation"]
    desired = "" if job["desired_state"] == job["state"] else f" (desired: {job['desired_state']})"
    fields = [
        ("job", f"{job['name']} (id {job['id']})"),
        ("description", job["description"]),
        ("labels", _labels_text(job["labels"])),
        ("state", job["state"] + desired),
        ("health", job["health"].replace("_", " ") + (f": {job['health_reason']}" if job["health_reason"] else "")),
        ("bottleneck", _bottleneck_text(job)),
        ("version", str(job["spec_number"]) + ("" if job["spec_state"] == "VALID" else f" ({job['spec_state']})")),
    ]
    if run is not None:
        since = f"running since {time_of(run['running_at'])}" if run["running_at"] else f"created {time_of(run['created_at'])}"
        ended = f", ended {time_of(run['ended_at'])} UTC" if run["ended_at"] else ""
        fields.append(("run", f"{run['number']} ({run['cause']}), generation {run['generation']}, {since} UTC{ended}"))
    if job["restarts"]:
        fields.append(("restarts", f"{job['restarts']} in a row"))
    fields.append(("checkpoint", _checkpoint_text(last) if last is not None else "none"))
    if operation is not None:
        step = f": {operation['steps'][-1]['text']}" if operation["steps"] else ""
        fields.append(("operation", f"{operation['id']} ({operation['kind']}) is {operation['state']}{step}"))
    return fields


def _bottleneck_text(job: JobRead) -> str:
    """Return the bottleneck of the job as a sentence, or '' if the reasons for the health of the job already name the bottleneck."""
    found = job["bottleneck"]
    named = any(reason["code"] == "bottleneck" for reason in job["health_reasons"])
    return found["sentence"] if found is not None and not named else ""


def _checkpoint_text(last: Any) -> str:
    parts = [f"{'savepoint ' if last['is_savepoint'] else ''}{last['number']}, {age_of(last['completed_at'])}"]
    if last["end_to_end_ms"] is not None:
        parts.append(f"took {last['end_to_end_ms']} ms")
    if last["state_bytes"] is not None:
        parts.append(f"{size_text(last['state_bytes'])} of state")
    return ", ".join(parts)


def _coverage_text(coverage: CoverageRead) -> str:
    median_ms, max_ms = coverage["median_ms"], coverage["max_ms"]
    if median_ms is None or max_ms is None:
        return coverage["sentence"]
    count = coverage["recoveries"]
    recent = f"The last {count} recoveries of this kind took" if count > 1 else "The last recovery of this kind took"
    longest = f" (median), at most {duration_text(max_ms / 1_000)}" if count > 1 else ""
    return f"{coverage['sentence']} {recent} {duration_text(median_ms / 1_000)}{longest}."


def _operator_row(operator: OperatorStatus) -> tuple[str, ...]:
    cells = (operator["uid"], operator["kind"], str(operator["parallelism"]))
    if "backpressure" not in operator:
        return (*cells, "", "", "", "")
    rates = (f"{operator['records_in_per_s']:,.0f}", f"{operator['records_out_per_s']:,.0f}")
    return (*cells, *rates, f"{operator['busy_ms_per_s'] / 10:.0f} %", operator["backpressure"])


# ---- verbs -------------------------------------------------------------------------------------


def wait(
    name: JobArgument,
    checkpoint: Annotated[
        bool, typer.Option("--checkpoint", help="Also wait until the newest run has completed a checkpoint.")
    ] = False,
    timeout: TimeoutOption = "5m",
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Wait until a job runs or has finished. The exit code is 1 if the job needs attention or the timeout expires."""
    deadline = Deadline(timeout_s(timeout))
    with open_client() as client:
        job = wait_until_healthy(client, find_job(client, name), deadline, checkpoint=checkpoint)
    if output is OutputFormat.JSON:
        print_json(job)
    else:
        last = job["last_checkpoint"]
        typer.echo(f"Job '{job['name']}' is {job['state']}" + (f", last checkpoint {last['number']}." if last else "."))


_VERBS = {
    "start": "Start a job, from its newest checkpoint if there is one. A failed job restarts immediately.",
    "suspend": "Stop a job with a final checkpoint. To resume the job, run weir start.",
    "cancel": "Stop a job without a final checkpoint. After the next start, the job replays input from its newest checkpoint.",
    "savepoint": "Take a savepoint, which is kept until a user deletes it. With --wait, print the number of the savepoint.",
    "checkpoint": "Take a checkpoint now. With --wait, print the number of the checkpoint.",
}


def start(
    name: JobArgument,
    revoke_unknown_output: RevokeUnknownOutputOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    _run_verb(name, "start", {"revoke_unknown_output": revoke_unknown_output}, wait=wait, timeout=timeout, output=output)


def _verb_command(verb: str) -> Callable[..., None]:
    def command(
        name: JobArgument, wait: WaitOption = False, timeout: TimeoutOption = None, output: OutputOption = OutputFormat.TEXT
    ) -> None:
        _run_verb(name, verb, None, wait=wait, timeout=timeout, output=output)

    return command


def _run_verb(
    name: str, verb: str, body: Mapping[str, Any] | None, *, wait: bool, timeout: str | None, output: OutputFormat
) -> None:
    deadline = Deadline(timeout_s(timeout))
    with open_client() as client:
        job = find_job(client, name)
        operation = client.verb(job["id"], _PATHS.get(verb, verb), body)
        problem: OperationFailed | None = None
        if wait:
            try:
                operation = wait_for_operation(client, job, operation, deadline)
            except OperationFailed as error:
                problem = error
                operation = client.operation(operation["id"])
    if output is OutputFormat.JSON:
        print_json(operation)
    if problem is not None:
        raise problem
    if output is OutputFormat.TEXT:
        typer.echo(_verb_result(job, operation, waited=wait))


def _verb_result(job: JobRead, operation: OperationRead, *, waited: bool) -> str:
    name = job["name"]
    result = operation["result"] or {}
    if not waited:
        return (
            f"Job '{name}': started operation {operation['id']} ({operation['kind']}). "
            f"To see the state of the operation, run weir operations {name}."
        )
    if (kind := operation["kind"]) in _PATHS:
        print_message(f"{kind.capitalize()} of job '{name}':")
        return str(result.get("checkpoint"))
    state = result.get("state") or "not running"
    last = f", last checkpoint {result['checkpoint']}" if result.get("checkpoint") is not None else ""
    return f"Job '{name}' is {state}{last}."


def delete(name: JobArgument, yes: YesOption = False, output: OutputOption = OutputFormat.TEXT) -> None:
    """Delete a job that is not running. The job's checkpoints and output are kept."""
    with open_client() as client:
        job = find_job(client, name)
        if not yes:
            confirm(f"Delete job '{job['name']}' and its history?", "The job was not deleted.")
        client.delete_job(job)
    if output is OutputFormat.JSON:
        print_json({"deleted": job})
    else:
        typer.echo(f"Deleted job '{job['name']}'. The job's checkpoints and output are kept.")


def confirm(question: str, otherwise: str) -> None:
    """Ask the user to confirm. ``otherwise`` is a sentence about what happens if the user does not answer yes.

    Raises Refused if standard input is not a terminal, and AbortedByUser if the user does not answer yes.
    """
    if not sys.stdin.isatty():
        raise Refused(f"Cannot ask for confirmation: standard input is not a terminal. Add --yes to confirm. {otherwise}")
    try:
        confirmed = typer.confirm(question, default=False, err=True)
    except typer.Abort:
        confirmed = False
    if not confirmed:
        raise AbortedByUser(f"Canceled. {otherwise}")


# ---- weir operations ---------------------------------------------------------------------------


def operations(
    name: Annotated[str | None, typer.Argument(metavar="[JOB]", help="Name or id of the job. Default: all jobs.")] = None,
    limit: LimitOption = 25,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """List operations and their outcomes, newest first."""
    with open_client() as client:
        job = find_job(client, name) if name is not None else None
        found = client.operations(job["id"] if job else None, limit)
        names = {} if job or not found or output is OutputFormat.JSON else {one["id"]: one["name"] for one in client.jobs()}
    if output is OutputFormat.JSON:
        print_json(found)
    elif not found:
        typer.echo("No operations yet.")
    else:
        columns = ("id", "job", "operation", "state", "created (UTC)", "ended", "result")
        rows = (_operation_row(one, job["name"] if job else names.get(one["job_id"], str(one["job_id"]))) for one in found)
        print_rows(columns, rows, right=frozenset({"id"}))


def _operation_row(operation: OperationRead, job: str) -> tuple[str, ...]:
    result = ", ".join(f"{name} {value}" for name, value in (operation["result"] or {}).items() if value is not None)
    text = operation["problem"] or result
    if not text and operation["ended_at"] is None and operation["steps"]:
        text = operation["steps"][-1]["text"]
    created, ended = time_of(operation["created_at"]), time_of(operation["ended_at"])
    return (str(operation["id"]), job, operation["kind"], operation["state"], created, ended, text)
