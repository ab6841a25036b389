"""What touches a job's state."""

from __future__ import annotations

from typing import Annotated

import typer

from weir.cli.remote.commands.options import JobName, OutputOption, Timeout, Wait, Yes, seconds
from weir.cli.words import Output

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="How many at most, newest first")]


def add_to(app: typer.Typer) -> None:
    app.command("rollback")(rollback)
    app.command("undo")(undo)
    app.command("plans")(plans)
    app.command("diff")(diff)


def rollback(
    job: JobName,
    to: Annotated[int, typer.Option(metavar="ID", min=1, help="The checkpoint or savepoint to go back to")],
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Timeout = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Go back to a checkpoint. What that means is shown first; what was committed after it is taken back where the sink can."""
    from weir.cli.remote import doing

    request = {"kind": "rollback", "checkpoint": to}
    doing.plan(job, request, dry_run=dry_run, yes=yes, wait=wait, timeout_s=seconds(timeout), output=output)


def undo(
    job: JobName,
    plan: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="Which plan; default: the one that was applied last")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Timeout = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Return to where a job was when a plan (a rollback, an upgrade) stopped it."""
    from weir.cli.remote import doing

    request = {"kind": "undo", "plan": plan}
    doing.plan(job, request, dry_run=dry_run, yes=yes, wait=wait, timeout_s=seconds(timeout), output=output)


def plans(job: JobName, limit: Limit = 25, output: OutputOption = Output.TEXT) -> None:
    """What was planned for a job's state, and what became of it."""
    from weir.cli.remote import showing

    showing.plans(job, limit, output)


def diff(
    job: JobName,
    before: Annotated[int, typer.Argument(metavar="A", min=1, help="A version of the job")],
    after: Annotated[int, typer.Argument(metavar="B", min=1, help="Another one")],
    output: OutputOption = Output.TEXT,
) -> None:
    """What differs between two versions of a job: settings, operators, code."""
    from weir.cli.remote import showing

    showing.diff(job, before, after, output)
