"""What touches a job's state: propose, look, show, ask, approve, apply."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import typer

from weir.cli.exits import CommandError
from weir.cli.logs import tell
from weir.cli.remote.client import Client
from weir.cli.remote.errors import Declined, Refused
from weir.cli.remote.following import Waiting, wait_for_inspection
from weir.cli.remote.preview import preview_of
from weir.cli.remote.shapes import Job, Operation, Plan


@dataclass(frozen=True, slots=True)
class Planned:
    """``operation`` None: a dry run."""

    plan: Plan
    operation: Operation | None


@contextlib.contextmanager
def withdrawn_if_refused(client: Client, plan: Plan) -> Iterator[None]:
    """Around what comes after proposing: a plan that comes to nothing is put aside, so that nobody applies it later."""
    try:
        yield
    except CommandError:
        # What went wrong first is what is told.
        with contextlib.suppress(CommandError):
            client.withdraw(plan["id"])
        raise


def carry_out(
    client: Client, job: Job, request: Mapping[str, Any], waiting: Waiting, *, dry_run: bool, yes: bool, quiet: bool
) -> Planned:
    """``quiet``: standard output is for a program, so people are told on standard error.

    Raises Refused if it would not work or nobody can be asked, Declined if the answer is no.
    """
    plan = client.propose(job["id"], request)
    with withdrawn_if_refused(client, plan):
        # Also for a dry run: only a worker can say whether the checkpoint is whole and what is read again.
        plan = wait_for_inspection(client, plan, waiting)
        if not (dry_run and quiet):
            for line in preview_of(job, plan):
                tell(line) if quiet else typer.echo(line)
        inspection = plan["preview"]["inspection"]
        if inspection is not None and not inspection["whole"]:
            raise Refused(f"this would not work: {inspection['damage']}; choose another checkpoint, the job was not touched")
        if inspection is not None and inspection["misfit"] is not None:
            raise Refused(f"this would not work: {inspection['misfit']}; the job was not touched")
        if dry_run:
            return Planned(client.withdraw(plan["id"]), None)
        if not yes:
            _agree(job)
        plan = client.approve(plan["id"])
        operation = client.apply(plan["id"])
    return Planned(client.plan(plan["id"]), operation)


def _agree(job: Job) -> None:
    if not sys.stdin.isatty():
        raise Refused("nobody is there to be asked: add --yes if this is what you want; the job was not touched")
    try:
        agreed = typer.confirm(f"Do this to job '{job['name']}'?", default=False, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise Declined("nothing was done: you said no")


def newest_applied(client: Client, job: Job) -> int:
    """The plan that an undo is about if nobody says which. Raises Refused."""
    for plan in client.plans(job["id"], 100):
        if plan["state"] == "APPLIED":
            if plan["safety_checkpoint"] is None:
                raise Refused(f"plan {plan['id']}, the last one, stopped nothing: there is nothing to return to")
            return plan["id"]
    raise Refused(f"no plan was applied to job '{job['name']}': there is nothing to undo")
