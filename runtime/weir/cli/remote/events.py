"""``weir events``."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import typer

from weir.cli.output import Output, print_json
from weir.cli.remote.client import Client
from weir.cli.remote.naming import find_job
from weir.cli.remote.opening import opened
from weir.cli.remote.shapes import Job
from weir.cli.remote.stream import follow as follow_stream
from weir.cli.remote.telling import harmless, time_of


def show(name: str, limit: int, *, follow: bool, output: Output) -> None:
    with opened() as client, contextlib.suppress(*([KeyboardInterrupt] if follow else [])):
        job = find_job(client, name)
        found = list(reversed(client.events(job["id"], limit))) if limit else []
        if output is Output.JSON and not follow:
            print_json(found)
            return
        for event in found:
            _print(event, output)
        if follow:
            _follow(client, job, found[-1]["number"] if found else None, output)
        elif not found:
            typer.echo(f"nothing has happened to job '{job['name']}' yet")


def _follow(client: Client, job: Job, after: int | None, output: Output) -> None:
    for told in follow_stream(client.http, f"/jobs/{job['id']}/events/stream", after=after):
        # Beside entries of the log the stream has what moves on pages: those who read lines have no use for it.
        if told.kind == "event":
            _print(told.data, output)


def _print(event: Any, output: Output) -> None:
    if output is Output.JSON:
        typer.echo(json.dumps(event))
        return
    fields = ", ".join(f"{name} {_value(value)}" for name, value in event["fields"].items() if value not in (None, ""))
    typer.echo(f"{event['number']:>6}  {time_of(event['at'])}  {event['kind']:<20}  {harmless(fields)}".rstrip())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
