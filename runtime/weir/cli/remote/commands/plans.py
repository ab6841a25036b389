"""What touches a job's state."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from weir.cli.output import Output, OutputOption
from weir.cli.remote.commands.options import JobName, Timeout, Wait, Yes, seconds
from weir.errors import ConfigError


class UpgradeMode(StrEnum):
    SAVEPOINT = "savepoint"
    LAST_STATE = "last-state"
    STATELESS = "stateless"


DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="How many at most, newest first")]


def add_to(app: typer.Typer) -> None:
    app.command("rollback")(rollback)
    app.command("undo")(undo)
    app.command("upgrade")(upgrade)
    app.command("plans")(plans)
    app.command("diff")(diff)


def rollback(
    job: JobName,
    to: Annotated[int | None, typer.Option(metavar="ID", min=1, help="The checkpoint or savepoint to go back to")] = None,
    to_path: Annotated[
        str | None,
        typer.Option(metavar="PATH[#ID]", help="Or one that is elsewhere, seen from the platform; without ID the newest there"),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Timeout = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Go back to a checkpoint. What that means is shown first; what was committed after it is taken back where the sink can.

    One that is elsewhere (of another job, or a copy) is copied. It comes after nothing of this job, so all that this has committed goes.
    """
    from weir.cli.remote import doing

    request = _target(to, to_path)
    doing.plan(job, request, dry_run=dry_run, yes=yes, wait=wait, timeout_s=seconds(timeout), output=output)


def _target(to: int | None, to_path: str | None) -> dict[str, Any]:
    """Raises ConfigError."""
    if (to is None) == (to_path is None):
        raise ConfigError("where to? give --to ID for a checkpoint of this job, or --to-path PATH[#ID] for one that is elsewhere")
    if to_path is None:
        return {"kind": "rollback", "checkpoint": to}
    path, separator, number = to_path.rpartition("#")
    if separator and number.isascii() and number.isdecimal():
        return {"kind": "restore", "path": path, "checkpoint": int(number)}
    return {"kind": "restore", "path": to_path}


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


def upgrade(
    job: JobName,
    to: Annotated[
        int | None, typer.Option(metavar="VERSION", min=1, help="Version of its spec; default: the newest there is")
    ] = None,
    mode: Annotated[
        UpgradeMode,
        typer.Option(
            help="From a last checkpoint; at once and from the newest one there is; or from the beginning, without any state"
        ),
    ] = UpgradeMode.SAVEPOINT,
    dry_run: DryRun = False,
    yes: Yes = False,
    wait: Wait = False,
    timeout: Timeout = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Run a version of a job that is there (weir deploy --no-start makes one). What that means is shown first."""
    from weir.cli.remote import doing

    request = {"kind": "upgrade", "spec": to, "mode": mode.value}
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
