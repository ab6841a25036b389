"""``weir status``: one job, in one look."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import typer

from weir.cli.output import Output, print_json
from weir.cli.remote.client import Client
from weir.cli.remote.errors import Refused
from weir.cli.remote.naming import find_job
from weir.cli.remote.opening import opened
from weir.cli.remote.shapes import Job, Subtask
from weir.cli.remote.telling import ago, print_facts, print_rows, time_of
from weir.cli.tables import size_text

RECENT = timedelta(seconds=90)
"""Older samples say nothing about now."""
_LEVELS = ("ok", "low", "high")


def show(name: str, output: Output) -> None:
    with opened() as client:
        job = find_job(client, name)
        operators = _operators(client, job)
        add_rates(operators, client.metrics(job["id"], since=datetime.now(UTC) - RECENT) if job["run"] is not None else [])
    if output is Output.JSON:
        print_json({**job, "operators": operators})
        return
    print_facts(_facts(job))
    if operators:
        columns = ("operator", "kind", "subtasks", "in/s", "out/s", "busy", "backpressure")
        typer.echo()
        print_rows(columns, map(_row, operators), right=frozenset(columns[2:6]))


def _facts(job: Job) -> list[tuple[str, str]]:
    run, last, operation = job["run"], job["last_checkpoint"], job["operation"]
    wanted = "" if job["desired_state"] == job["state"] else f" (wanted: {job['desired_state']})"
    facts = [
        ("job", f"{job['name']} (id {job['id']})"),
        ("description", job["description"]),
        ("state", job["state"] + wanted),
        ("health", job["health"] + (f": {job['why']}" if job["why"] else "")),
        ("version", str(job["spec_number"]) + ("" if job["spec_state"] == "VALID" else f" ({job['spec_state']})")),
    ]
    if run is not None:
        since = (
            f"running since {time_of(run['running_at'])} UTC" if run["running_at"] else f"begun {time_of(run['created_at'])} UTC"
        )
        ended = f", ended {time_of(run['ended_at'])}" if run["ended_at"] else ""
        facts.append(("run", f"{run['number']} ({run['cause']}), generation {run['generation']}, {since}{ended}"))
    if job["restarts"]:
        facts.append(("restarts", f"{job['restarts']} in a row"))
    facts.append(("checkpoint", _checkpoint(last) if last is not None else "none has completed yet"))
    if operation is not None:
        step = f": {operation['steps'][-1]['text']}" if operation["steps"] else ""
        facts.append(("operation", f"{operation['id']} ({operation['kind']}) is {operation['state']}{step}"))
    return facts


def _checkpoint(last: Any) -> str:
    parts = [f"{'savepoint ' if last['is_savepoint'] else ''}{last['number']}, {ago(last['completed_at'])}"]
    if last["end_to_end_ms"] is not None:
        parts.append(f"took {last['end_to_end_ms']} ms")
    if last["state_bytes"] is not None:
        parts.append(f"{size_text(last['state_bytes'])} of state")
    return ", ".join(parts)


def _operators(client: Client, job: Job) -> list[dict[str, Any]]:
    """None of them as long as the code is not compiled."""
    try:
        graph = client.graph(job["id"], job["spec_number"])
    except Refused as error:
        if error.status == 404:
            return []
        raise
    subtasks = {uid: chain["parallelism"] for chain in graph.get("chains", []) for uid in chain["operators"]}
    return [
        {"uid": one["uid"], "kind": one["kind"], "name": one.get("name", ""), "parallelism": subtasks.get(one["uid"], 0)}
        for one in graph["logical"]["operators"]
    ]


def add_rates(operators: Sequence[dict[str, Any]], subtasks: Sequence[Subtask]) -> None:
    """The newest point of each subtask, summed up by operator; an operator is as back-pressured as its worst subtask.

    Operators of one chain run together, so they share what was counted."""
    for operator in operators:
        mine = [one for one in subtasks if one["at"] and any(name["uid"] == operator["uid"] for name in one["operators"])]
        if mine:
            operator["records_in_per_s"] = sum(one["records_in_per_s"][-1] for one in mine)
            operator["records_out_per_s"] = sum(one["records_out_per_s"][-1] for one in mine)
            operator["busy_ms_per_s"] = max(one["busy_ms_per_s"][-1] for one in mine)
            operator["backpressure"] = max((one["backpressure"][-1] for one in mine), key=_LEVELS.index)


def _row(operator: dict[str, Any]) -> tuple[str, ...]:
    known = (operator["uid"], operator["kind"], str(operator["parallelism"]))
    if "backpressure" not in operator:
        return (*known, "", "", "", "")
    rates = (f"{operator['records_in_per_s']:,.0f}", f"{operator['records_out_per_s']:,.0f}")
    return (*known, *rates, f"{operator['busy_ms_per_s'] / 10:.0f} %", operator["backpressure"])
