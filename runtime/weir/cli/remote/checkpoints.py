"""``weir checkpoints JOB``: those of a job of the platform."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import typer

from weir.cli.output import print_json
from weir.cli.remote import place
from weir.cli.remote.errors import Refused
from weir.cli.remote.naming import find_job
from weir.cli.remote.opening import opened
from weir.cli.remote.shapes import Checkpoint, Job
from weir.cli.remote.telling import print_facts, print_rows, time_of
from weir.cli.tables import size_text

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
SHOWN = 100


def is_job(argument: str) -> bool:
    """It may be one: no directory or URL is called so, and a platform is known that could have it."""
    return (
        _NAME.fullmatch(argument) is not None
        and not Path(argument).expanduser().exists()
        and place.is_known(os.environ)
    )  # fmt: skip


def at_platform(name: str, action: str, number: int | None, *, retired: bool, as_json: bool) -> None:
    """Raises Refused for what can only be done where the files are."""
    match action:
        case "list":
            show_list(name, retired=retired, as_json=as_json)
        case "show" if number is not None:
            show_one(name, number, as_json=as_json)
        case "show":
            raise Refused(f"which one? write: weir checkpoints {name} show ID")
        case "verify":
            raise Refused(
                f"there is no directory '{name}', and the checkpoints of a job of the platform are verified before it goes back to one: "
                f"weir rollback {name} --to ID --dry-run"
            )
        case _:
            raise Refused(f"'{action}' is none of list, show, verify")


def show_list(name: str, *, retired: bool, as_json: bool) -> None:
    """``retired``: those too whose files are gone (as JSON always), and those that failed."""
    with opened() as client:
        job = find_job(client, name)
        found = client.checkpoints(job["id"], None if as_json else SHOWN)
    if as_json:
        print_json(found)
        return
    kept = [one for one in found if retired or (one["discarded_at"] is None and one["state"] != "FAILED")]
    if kept:
        columns = ("id", "completed (UTC)", "state", "trigger", "took", "state size", "facts")
        print_rows(columns, map(_row, kept), right=frozenset({"id", "took", "state size"}))
    if not found:
        typer.echo(f"none of job '{job['name']}' has been triggered yet")
    elif len(kept) < len(found):
        typer.echo(f"{len(found) - len(kept)} more have failed or are gone (--retired lists them)")
    if len(found) == SHOWN:
        typer.echo(f"these are of the newest {SHOWN}; --json gives all")


def _row(one: Checkpoint) -> tuple[str, ...]:
    took = f"{one['end_to_end_ms']} ms" if one["end_to_end_ms"] is not None else ""
    size = size_text(one["state_bytes"]) if one["state_bytes"] is not None else ""
    trigger = "savepoint" if one["is_savepoint"] else one["trigger"]
    return (str(one["number"]), time_of(one["completed_at"]), one["state"], trigger, took, size, ", ".join(_facts(one)))


def _facts(one: Checkpoint) -> list[str]:
    return [
        *(["pinned"] if one["pinned"] else []),
        *(["its files are gone"] if one["discarded_at"] else []),
        *([f"DAMAGED: {one['damage']}"] if one["damage"] else []),
        *([one["failure"]] if one["failure"] else []),
    ]


def show_one(name: str, number: int, *, as_json: bool) -> None:
    with opened() as client:
        job = find_job(client, name)
        found = client.rows("/checkpoints", limit=1, filter={"job_id": job["id"], "number": number})
        if not found:
            raise Refused(f"job '{job['name']}' has no checkpoint {number}; weir checkpoints {job['name']} lists them")
        detail = client.checkpoint(found[0]["id"])
    if as_json:
        print_json(detail)
    else:
        _print_one(job, detail)


def _print_one(job: Job, detail: dict[str, Any]) -> None:
    kind = "savepoint" if detail["is_savepoint"] else "checkpoint"
    print_facts(
        [
            (kind, f"{detail['number']} of job '{job['name']}', generation {detail['generation']}"),
            ("state", detail["state"] + (f": {detail['failure']}" if detail["failure"] else "")),
            ("completed", f"{time_of(detail['completed_at'])} UTC" if detail["completed_at"] else ""),
            ("goes on from", str(detail["parent"] or "nothing")),
            ("took", f"{detail['end_to_end_ms']} ms" if detail["end_to_end_ms"] is not None else ""),
            ("state size", size_text(detail["state_bytes"]) if detail["state_bytes"] is not None else ""),
            ("has written", "" if (written := detail["statistics"]["checkpointed_size"]) is None else size_text(written)),
            ("acknowledged", f"{detail['acknowledged']} of {detail['subtasks']} subtasks"),
            ("facts", ", ".join(_facts(detail))),  # type: ignore[arg-type]  # it has all that a list has, and more
        ]
    )
    rows = [_chain(one) for one in detail["statistics"]["chains"]]
    if rows:
        typer.echo()
        columns = ("chain", "subtasks", "state", "slowest sync", "slowest async", "longest alignment")
        print_rows(columns, rows, right=frozenset(columns[1:]))


def _chain(chain: dict[str, Any]) -> tuple[str, ...]:
    operators = ", ".join(one["uid"] for one in chain["operators"]) or str(chain["chain"])
    summary = chain["summary"]
    state = sum(one["state_size"] or 0 for one in chain["subtasks"])
    slowest = (f"{summary[name]['max']:.1f} ms" if summary[name] else "" for name in ("sync", "async", "alignment"))
    return (operators, str(chain["num_subtasks"]), size_text(state), *slowest)
