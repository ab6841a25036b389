"""Roll back, undo and upgrade jobs with plans, and compare versions."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from weir.cli.client.api import ApiClient, find_job, open_client
from weir.cli.client.errors import OperationFailed, Refused
from weir.cli.client.schemas import JobRead, OperationRead, PlanRead, SpecDiffRead
from weir.cli.commands.apply import FilesOption, diff_manifests
from weir.cli.commands.jobs import confirm
from weir.cli.commands.preview import preview_lines
from weir.cli.commands.waiting import Deadline, wait_for_compilation, wait_for_inspection, wait_for_operation
from weir.cli.exit_codes import CommandError
from weir.cli.logs import print_message
from weir.cli.options import JobArgument, LimitOption, TimeoutOption, WaitOption, YesOption, timeout_s
from weir.cli.output import OutputFormat, OutputOption, print_json, print_rows, sanitized, time_of
from weir.errors import ConfigError

NO_FILES: list[Path] = []
NOT_CHANGED = "The job was not changed."
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and discard it.")]


class UpgradeMode(StrEnum):
    SAVEPOINT = "savepoint"
    LAST_STATE = "last-state"
    STATELESS = "stateless"


def add_to(app: typer.Typer) -> None:
    for command in (rollback, undo, upgrade, plans, diff):
        app.command(command.__name__)(command)


def rollback(
    name: JobArgument,
    to: Annotated[int | None, typer.Option(metavar="ID", min=1, help="Checkpoint or savepoint of this job.")] = None,
    to_path: Annotated[
        str | None,
        typer.Option(
            metavar="PATH[#ID]",
            help="Checkpoint in another directory that the platform can access. Default ID: the newest checkpoint of the current branch.",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: YesOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Roll back a job to a checkpoint, and revoke the output that the job committed after this checkpoint.

    The command first shows the plan. With --to-path, the plan copies the checkpoint into the job and abandons the job's earlier
    checkpoints.
    """
    _run_plan(name, _rollback_request(to, to_path), dry_run=dry_run, yes=yes, wait=wait, timeout=timeout, output=output)


def _rollback_request(to: int | None, to_path: str | None) -> dict[str, Any]:
    """Raises ConfigError."""
    if (to is None) == (to_path is None):
        raise ConfigError(
            "Choose the target: --to ID for a checkpoint of this job, or --to-path PATH[#ID] for another directory."
        )
    if to_path is None:
        return {"kind": "rollback", "checkpoint": to}
    path, separator, number = to_path.rpartition("#")
    if separator and number.isascii() and number.isdecimal():
        return {"kind": "restore", "path": path, "checkpoint": int(number)}
    return {"kind": "restore", "path": to_path}


def undo(
    name: JobArgument,
    plan: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="Plan to undo. Default: the plan that was applied last.")
    ] = None,
    dry_run: DryRun = False,
    yes: YesOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Undo a plan: return the job to the version and the state that it had before the plan was applied."""
    request = {"kind": "undo", "plan": plan}
    _run_plan(name, request, dry_run=dry_run, yes=yes, wait=wait, timeout=timeout, output=output)


def upgrade(
    name: JobArgument,
    to: Annotated[int | None, typer.Option(metavar="VERSION", min=1, help="Version to run. Default: the newest version.")] = None,
    mode: Annotated[
        UpgradeMode,
        typer.Option(
            help="savepoint: stop with a final checkpoint. last-state: stop immediately and restore the newest checkpoint. "
            "stateless: start without state."
        ),
    ] = UpgradeMode.SAVEPOINT,
    dry_run: DryRun = False,
    yes: YesOption = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Show a plan to upgrade a job to an existing version, and apply the plan.

    To create a version without an upgrade, run weir deploy --no-start.
    """
    request = {"kind": "upgrade", "spec": to, "mode": mode.value}
    _run_plan(name, request, dry_run=dry_run, yes=yes, wait=wait, timeout=timeout, output=output)


# ---- running a plan ----------------------------------------------------------------------------


def _run_plan(
    name: str, request: dict[str, Any], *, dry_run: bool, yes: bool, wait: bool, timeout: str | None, output: OutputFormat
) -> None:
    """Propose a plan, apply it, and print the result. ``request`` is the body of the API request that proposes the plan.

    If an undo names no plan, undo the plan that was applied last. If an upgrade names no version, use the newest version.
    """
    deadline = Deadline(timeout_s(timeout))
    as_json = output is OutputFormat.JSON
    with open_client() as client:
        job = find_job(client, name)
        if request["kind"] == "undo" and request["plan"] is None:
            request = request | {"plan": newest_applied(client, job)}
        if request["kind"] == "upgrade":
            request = request | {"spec": _compiled_version(client, job, request["spec"], deadline)}
        plan, operation = _propose_and_apply(client, job, request, deadline, dry_run=dry_run, yes=yes, as_json=as_json)
        problem: OperationFailed | None = None
        if wait and operation is not None:
            try:
                operation = wait_for_operation(client, job, operation, deadline)
            except OperationFailed as error:
                problem = error
                operation = client.operation(operation["id"])
            plan = client.plan(plan["id"])
        if as_json:
            print_json({"plan": plan, "operation": operation})
        if problem is not None:
            raise problem
        if not as_json:
            typer.echo(_plan_result(client, job, plan, applied=operation is not None, waited=wait))


def _plan_result(client: ApiClient, job: JobRead, plan: PlanRead, *, applied: bool, waited: bool) -> str:
    if not applied:
        return "Dry run: the plan was discarded."
    if not waited:
        return f"Applying plan {plan['id']}. To see the state of the plan, run weir plans {job['name']}."
    state = client.job(job["id"])["state"]
    return f"Applied plan {plan['id']}: job '{job['name']}' is {state}. To undo: weir undo {job['name']} --plan {plan['id']}"


def _compiled_version(client: ApiClient, job: JobRead, number: int | None, deadline: Deadline) -> int:
    """Wait until version ``number`` is compiled, and return the number of the version. Raises OperationFailed.

    If ``number`` is None, use the newest version.
    """
    spec = client.spec(job["id"], number) if number is not None else client.specs(job["id"], 1)[0]
    return wait_for_compilation(client, job, spec, deadline)["number"]


def _propose_and_apply(
    client: ApiClient, job: JobRead, request: Mapping[str, Any], deadline: Deadline, *, dry_run: bool, yes: bool, as_json: bool
) -> tuple[PlanRead, OperationRead | None]:
    """Propose a plan, show it, ask for confirmation, approve and apply it. A dry run discards the plan and returns no operation.

    Raises Refused if the plan cannot be applied or standard input is not a terminal, and AbortedByUser if the user answers no.
    """
    plan = client.propose(job["id"], request)
    with discarded_on_error(client, plan):
        # A dry run also waits for the inspection, because only a worker can verify the checkpoint and list the splits to replay.
        plan = wait_for_inspection(client, plan, deadline)
        if not (dry_run and as_json):
            for line in preview_lines(job, plan):
                print_message(line) if as_json else typer.echo(line)
        inspection = plan["preview"]["inspection"]
        if inspection is not None and not inspection["intact"]:
            damage = (inspection["damage"] or "").rstrip(".")
            raise Refused(f"The checkpoint cannot be restored: {damage}. Choose another checkpoint. {NOT_CHANGED}")
        if inspection is not None and inspection["incompatibility"] is not None:
            raise Refused(f"The checkpoint is not compatible: {inspection['incompatibility'].rstrip('.')}. {NOT_CHANGED}")
        if dry_run:
            return client.discard(plan["id"]), None
        if not yes:
            confirm(f"Apply this plan to job '{job['name']}'?", NOT_CHANGED)
        client.approve(plan)
        operation = client.apply(plan["id"])
    return client.plan(plan["id"]), operation


@contextlib.contextmanager
def discarded_on_error(client: ApiClient, plan: PlanRead) -> Iterator[None]:
    """Discard the plan if the ``with`` block fails, so that the plan cannot be applied later.

    If the block fails because another user must approve the plan, keep the plan.
    """
    try:
        yield
    except CommandError as error:
        if isinstance(error, Refused) and error.code == "own-plan":
            raise
        # Report the first error, even if discarding the plan fails, too.
        with contextlib.suppress(CommandError):
            client.discard(plan["id"])
        raise


def newest_applied(client: ApiClient, job: JobRead) -> int:
    """Return the id of the plan that was applied last. Raises Refused if no plan was applied, or if this plan cannot be undone."""
    for plan in client.plans(job["id"], 100):
        if plan["state"] == "APPLIED":
            if plan["safety_checkpoint"] is None:
                raise Refused(f"Plan {plan['id']}, the last applied plan, has no safety savepoint, so it cannot be undone.")
            return plan["id"]
    raise Refused(f"Nothing to undo: no plan was applied to job '{job['name']}'.")


# ---- weir plans --------------------------------------------------------------------------------


def plans(name: JobArgument, limit: LimitOption = 25, output: OutputOption = OutputFormat.TEXT) -> None:
    """List the plans of a job, newest first."""
    with open_client() as client:
        job = find_job(client, name)
        found = client.plans(job["id"], limit)
    if output is OutputFormat.JSON:
        print_json(found)
    elif not found:
        typer.echo(f"No plans for job '{job['name']}' yet.")
    else:
        columns = ("id", "plan", "state", "target", "safety savepoint", "proposed (UTC)", "ended", "problem")
        print_rows(columns, map(_plan_row, found), right=frozenset({"id"}))


def _plan_row(plan: PlanRead) -> tuple[str, ...]:
    preview, spec = plan["preview"], plan["request"].get("spec")
    target = [f"checkpoint {preview['checkpoint']}"] if preview["checkpoint"] is not None else []
    if preview["path"] is not None:
        target.append(preview["path"])
    if preview["without_state"]:
        target.append("no state")
    if spec != plan["request"].get("spec_before"):
        target.append(f"version {spec}")
    return (
        str(plan["id"]),
        plan["kind"],
        plan["state"] + (f", {plan['phase']}" if plan["phase"] else ""),
        ", ".join(target),
        str(plan["safety_checkpoint"] or ""),
        time_of(plan["created_at"]),
        time_of(plan["ended_at"]),
        plan["problem"] or "",
    )


# ---- weir diff ---------------------------------------------------------------------------------


def diff(
    name: Annotated[str | None, typer.Argument(metavar="JOB", help="Name or id of the job.")] = None,
    before: Annotated[int | None, typer.Argument(metavar="A", min=1, help="A version.")] = None,
    after: Annotated[int | None, typer.Argument(metavar="B", min=1, help="Another version.")] = None,
    files: FilesOption = NO_FILES,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Compare two versions of a job, or jobs with their manifests (-f): settings, operators, code.

    With -f, the exit code is 2 if there are differences.
    """
    if files and name is None:
        diff_manifests(files, output)
        return
    if files or name is None or before is None or after is None:
        raise ConfigError(
            "The arguments of weir diff are invalid. To compare two versions, use weir diff JOB A B. "
            "To compare jobs with their manifests, use weir diff -f PATH."
        )
    with open_client() as client:
        found = client.diff(find_job(client, name)["id"], before, after)
    if output is OutputFormat.JSON:
        print_json(found)
    else:
        _print_diff(found)


def _print_diff(found: SpecDiffRead) -> None:
    if found["changes"]:
        rows = [(change["path"], _value_text(change["before"]), _value_text(change["after"])) for change in found["changes"]]
        print_rows(("setting", f"version {found['before']}", f"version {found['after']}"), rows)
    for what, uids in (
        ("added", found["operators_added"]),
        ("removed", found["operators_removed"]),
        ("changed", found["operators_changed"]),
    ):
        if uids:
            typer.echo(f"operators {what}: {sanitized(', '.join(uids))}")
    if found["code"]:
        typer.echo(sanitized(found["code"]).rstrip("\n"))
    elif found["code"] is None:
        typer.echo("The code cannot be compared, because it is not text.")
    elif not found["changes"]:
        typer.echo(f"Versions {found['before']} and {found['after']} have the same settings, operators and code.")


def _value_text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
