"""What has happened."""

from __future__ import annotations

from typing import Annotated

import typer

from weir.cli.output import Output, OutputOption
from weir.cli.remote.commands.options import JobName
from weir.cli.remote.commands.plans import Limit

Follow = Annotated[bool, typer.Option("--follow", "-f", help="And what comes; Ctrl-C ends it")]


def add_to(app: typer.Typer) -> None:
    app.command("events")(events)
    app.command("logs")(logs)
    app.command("operations")(operations)


def events(
    job: JobName,
    follow: Follow = False,
    limit: Annotated[int, typer.Option(min=0, max=100_000, help="How many of those that were, newest last")] = 50,
    output: OutputOption = Output.TEXT,
) -> None:
    """What has happened to a job. As JSON with --follow: one object a line."""
    from weir.cli.remote import events as events_

    events_.show(job, limit, follow=follow, output=output)


def logs(
    job: JobName,
    follow: Follow = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the last lines")] = 200,
    output: OutputOption = Output.TEXT,
) -> None:
    """What the driver of a job's newest run has said. As JSON: as it was written, one object a line."""
    from weir.cli.remote import logs as logs_

    logs_.show(job, lines, follow=follow, output=output)


def operations(
    job: Annotated[str | None, typer.Argument(metavar="[JOB]", help="The job's name, or its id; default: of all jobs")] = None,
    limit: Limit = 25,
    output: OutputOption = Output.TEXT,
) -> None:
    """What was asked for, and what became of it."""
    from weir.cli.remote import showing

    showing.operations(job, limit, output)
