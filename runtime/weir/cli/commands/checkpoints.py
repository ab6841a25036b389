"""``weir checkpoints JOB``: list and show the checkpoints of a job of the platform."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import typer

from weir.cli.client.api import find_checkpoint, find_job, open_client
from weir.cli.client.credentials import is_configured
from weir.cli.client.errors import Refused
from weir.cli.client.schemas import CheckpointDetailRead, CheckpointRead, JobRead
from weir.cli.output import print_fields, print_json, print_rows, size_text, time_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
ROWS_MAX = 100


def is_job(argument: str) -> bool:
    """Return whether ``argument`` can be the name of a job: a platform is configured, and ``argument`` is a valid name and not an
    existing path.
    """
    return _NAME.fullmatch(argument) is not None and not Path(argument).expanduser().exists() and is_configured(os.environ)


def run_action(name: str, action: str, number: int | None, *, retired: bool, as_json: bool) -> None:
    """Run ``list`` or ``show``. Raises Refused for ``verify``, which needs the checkpoint files."""
    match action:
        case "list":
            print_list(name, retired=retired, as_json=as_json)
        case "show" if number is not None:
            print_one(name, number, as_json=as_json)
        case "show":
            raise Refused(f"The checkpoint id is missing. Run weir checkpoints {name} show ID.")
        case "verify":
            raise Refused(
                f"There is no directory '{name}'. The platform verifies a checkpoint when it plans a rollback. Run "
                f"weir rollback {name} --to ID --dry-run."
            )
        case _:
            raise Refused(f"Unknown action '{action}'. Use list, show or verify.")


def print_list(name: str, *, retired: bool, as_json: bool) -> None:
    """List the checkpoints of a job. With ``retired``, the table includes failed checkpoints and checkpoints with deleted files.

    The JSON output always includes all checkpoints.
    """
    with open_client() as client:
        job = find_job(client, name)
        found = client.checkpoints(job["id"], None if as_json else ROWS_MAX)
    if as_json:
        print_json(found)
        return
    shown = [one for one in found if retired or (one["discarded_at"] is None and one["state"] != "FAILED")]
    if shown:
        columns = ("checkpoint", "completed (UTC)", "state", "trigger", "took", "state size", "notes")
        print_rows(columns, map(_row, shown), right=frozenset({"checkpoint", "took", "state size"}))
    if not found:
        typer.echo(f"Job '{job['name']}' has no checkpoints yet.")
    elif len(shown) < len(found):
        typer.echo(f"{len(found) - len(shown)} failed or deleted checkpoints are not shown. To list them, add --retired.")
    if len(found) == ROWS_MAX:
        typer.echo(f"Only the newest {ROWS_MAX} checkpoints are listed. To list all checkpoints, add --json.")


def _row(checkpoint: CheckpointRead) -> tuple[str, ...]:
    took = f"{checkpoint['end_to_end_ms']} ms" if checkpoint["end_to_end_ms"] is not None else ""
    size = size_text(checkpoint["state_bytes"]) if checkpoint["state_bytes"] is not None else ""
    trigger = "savepoint" if checkpoint["is_savepoint"] else checkpoint["trigger"]
    completed = time_of(checkpoint["completed_at"])
    return (str(checkpoint["number"]), completed, checkpoint["state"], trigger, took, size, ", ".join(_notes(checkpoint)))


def _notes(checkpoint: CheckpointRead) -> list[str]:
    return [
        *(["pinned"] if checkpoint["pinned"] else []),
        *(["files deleted"] if checkpoint["discarded_at"] else []),
        *([f"DAMAGED: {checkpoint['damage']}"] if checkpoint["damage"] else []),
        *([checkpoint["failure"]] if checkpoint["failure"] else []),
    ]


def print_one(name: str, number: int, *, as_json: bool) -> None:
    with open_client() as client:
        job = find_job(client, name)
        detail = find_checkpoint(client, job, number)
    if as_json:
        print_json(detail)
    else:
        _print_detail(job, detail)


def _print_detail(job: JobRead, detail: CheckpointDetailRead) -> None:
    kind = "savepoint" if detail["is_savepoint"] else "checkpoint"
    written = detail["statistics"]["checkpointed_size"]
    print_fields(
        [
            (kind, f"{detail['number']} of job '{job['name']}', generation {detail['generation']}"),
            ("state", detail["state"] + (f": {detail['failure']}" if detail["failure"] else "")),
            ("completed", f"{time_of(detail['completed_at'])} UTC" if detail["completed_at"] else ""),
            ("parent", str(detail["parent"] or "none")),
            ("took", f"{detail['end_to_end_ms']} ms" if detail["end_to_end_ms"] is not None else ""),
            ("state size", size_text(detail["state_bytes"]) if detail["state_bytes"] is not None else ""),
            ("written", "" if written is None else size_text(written)),
            ("acknowledged", f"{detail['acknowledged']} of {detail['subtasks']} subtasks"),
            ("notes", ", ".join(_notes(detail))),
        ]
    )
    rows = [_chain_row(chain) for chain in detail["statistics"]["chains"]]
    if rows:
        typer.echo()
        columns = ("chain", "subtasks", "state", "max sync", "max async", "max alignment")
        print_rows(columns, rows, right=frozenset(columns[1:]))


def _chain_row(chain: dict[str, Any]) -> tuple[str, ...]:
    operators = ", ".join(operator["uid"] for operator in chain["operators"]) or str(chain["chain"])
    summary = chain["summary"]
    state = sum(subtask["state_size"] or 0 for subtask in chain["subtasks"])
    maxima = (f"{summary[name]['max']:.1f} ms" if summary[name] else "" for name in ("sync", "async", "alignment"))
    return (operators, str(chain["num_subtasks"]), size_text(state), *maxima)
