"""Lists."""

from __future__ import annotations

import json
from typing import Any

import typer

from weir.cli.output import Output, print_json
from weir.cli.remote.naming import find_job
from weir.cli.remote.opening import opened
from weir.cli.remote.shapes import Diff, Job, Operation, Plan
from weir.cli.remote.telling import ago, harmless, print_rows, time_of


def jobs(output: Output) -> None:
    with opened() as client:
        found = client.jobs()
    if output is Output.JSON:
        print_json(found)
    elif not found:
        typer.echo("there are no jobs yet; weir deploy makes one")
    else:
        columns = ("id", "job", "state", "health", "version", "last checkpoint", "why")
        print_rows(columns, map(_job, found), right=frozenset({"id", "version"}))


def _job(job: Job) -> tuple[str, ...]:
    last = job["last_checkpoint"]
    checkpoint = f"{last['number']}, {ago(last['completed_at'])}" if last else "none"
    return (str(job["id"]), job["name"], job["state"], job["health"], str(job["spec_number"]), checkpoint, job["why"])


def operations(name: str | None, limit: int, output: Output) -> None:
    with opened() as client:
        job = find_job(client, name) if name is not None else None
        found = client.operations(job["id"] if job else None, limit)
        names = {} if job or not found or output is Output.JSON else {one["id"]: one["name"] for one in client.jobs()}
    if output is Output.JSON:
        print_json(found)
    elif not found:
        typer.echo("nothing was asked for yet")
    else:
        columns = ("id", "job", "operation", "state", "asked for (UTC)", "ended", "result")
        rows = (_operation(one, job["name"] if job else names.get(one["job_id"], str(one["job_id"]))) for one in found)
        print_rows(columns, rows, right=frozenset({"id"}))


def _operation(one: Operation, job: str) -> tuple[str, ...]:
    said = one["problem"] or ", ".join(f"{name} {value}" for name, value in (one["result"] or {}).items() if value is not None)
    if not said and one["ended_at"] is None and one["steps"]:
        said = one["steps"][-1]["text"]
    return (str(one["id"]), job, one["kind"], one["state"], time_of(one["created_at"]), time_of(one["ended_at"]), said)


def plans(name: str, limit: int, output: Output) -> None:
    with opened() as client:
        job = find_job(client, name)
        found = client.plans(job["id"], limit)
    if output is Output.JSON:
        print_json(found)
    elif not found:
        typer.echo(f"nothing was planned for job '{job['name']}' yet")
    else:
        columns = ("id", "plan", "state", "to", "stopped with", "proposed (UTC)", "ended", "problem")
        print_rows(columns, map(_plan, found), right=frozenset({"id"}))


def _plan(plan: Plan) -> tuple[str, ...]:
    checkpoint, spec = plan["preview"]["checkpoint"], plan["request"].get("spec")
    to = [f"checkpoint {checkpoint}"] if checkpoint is not None else []
    if plan["preview"]["origin"] is not None:
        to.append(plan["preview"]["origin"])
    if plan["preview"]["anew"]:
        to.append("the beginning")
    if spec != plan["request"].get("spec_before"):
        to.append(f"version {spec}")
    safety = plan["safety_checkpoint"]
    return (
        str(plan["id"]),
        plan["kind"],
        plan["state"] + (f", {plan['phase']}" if plan["phase"] else ""),
        ", ".join(to),
        f"checkpoint {safety}" if safety is not None else "",
        time_of(plan["created_at"]),
        time_of(plan["ended_at"]),
        plan["problem"] or "",
    )


def diff(name: str, before: int, after: int, output: Output) -> None:
    with opened() as client:
        found = client.diff(find_job(client, name)["id"], before, after)
    if output is Output.JSON:
        print_json(found)
        return
    _print_diff(found)


def _print_diff(found: Diff) -> None:
    if found["changes"]:
        rows = [(one["path"], _value(one["before"]), _value(one["after"])) for one in found["changes"]]
        print_rows(("setting", f"version {found['before']}", f"version {found['after']}"), rows)
    for what, uids in (
        ("added", found["operators_added"]),
        ("removed", found["operators_removed"]),
        ("changed", found["operators_changed"]),
    ):
        if uids:
            typer.echo(f"operators {what}: {harmless(', '.join(uids))}")
    if found["code"]:
        typer.echo(harmless(found["code"]).rstrip("\n"))
    elif found["code"] is None:
        typer.echo("the code is no text that could be compared")
    elif not found["changes"]:
        typer.echo(f"versions {found['before']} and {found['after']} are the same")


def _value(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
