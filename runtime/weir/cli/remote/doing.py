"""The verbs, from a name to what is printed at the end."""

from __future__ import annotations

import sys
from typing import Any

import typer

from weir.cli.logs import tell
from weir.cli.output import Output, print_json
from weir.cli.remote import deploying
from weir.cli.remote.client import Client
from weir.cli.remote.errors import Declined, OperationFailed, Refused
from weir.cli.remote.following import Waiting, follow, wait_for_compiled
from weir.cli.remote.health import wait_until_well
from weir.cli.remote.naming import find_job
from weir.cli.remote.opening import opened
from weir.cli.remote.planning import carry_out, newest_applied
from weir.cli.remote.shapes import Job, Operation

_PATHS = {"savepoint": "savepoints", "checkpoint": "checkpoints"}


def deploy(wanted: deploying.Wanted, *, wait: bool, timeout_s: float | None, output: Output) -> None:
    waiting = Waiting(timeout_s)
    with opened() as client:
        done = deploying.deploy(client, wanted, waiting)
        problem: OperationFailed | None = None
        if wait:
            try:
                deploying.wait_until_done(client, wanted, done, waiting)
            except OperationFailed as error:
                problem = error
                done.job = client.job(done.job["id"])
                done.operation = client.operation(done.operation["id"]) if done.operation is not None else None
        if output is Output.JSON:
            # Also where it has failed: a program wants to know the plan, to undo it.
            print_json(done.as_json())
        if problem is not None:
            raise problem
        if output is Output.TEXT:
            for note in done.notes:
                typer.echo(f"job '{wanted.name}': {note}")
            if done.changed or wait:
                typer.echo(_deployed(done, waited=wait))


def _deployed(done: deploying.Deployed, *, waited: bool) -> str:
    job = done.job
    run = job["run"]
    if waited and run is not None:
        return f"job '{job['name']}' is {job['state']} with version {job['spec_number']}, in run {run['number']}"
    if done.operation is not None and not waited:
        return (
            f"job '{job['name']}' is on its way to version {done.spec}; weir status {job['name']} tells more, --wait waits for it"
        )
    return f"job '{job['name']}' has version {done.spec}; it is {job['state']} with version {job['spec_number']}"


def wait(name: str, *, checkpoint: bool, timeout_s: float | None, output: Output) -> None:
    with opened() as client:
        job = wait_until_well(client, find_job(client, name), Waiting(timeout_s), checkpoint=checkpoint)
        if output is Output.JSON:
            print_json(job)
        else:
            last = job["last_checkpoint"]
            typer.echo(f"job '{job['name']}' is {job['state']}" + (f", last checkpoint {last['number']}" if last else ""))


def verb(name: str, what: str, *, wait: bool, timeout_s: float | None, output: Output) -> None:
    with opened() as client:
        job = find_job(client, name)
        operation = client.verb(job["id"], _PATHS.get(what, what))
        problem: OperationFailed | None = None
        if wait:
            try:
                operation = follow(client, job, operation, Waiting(timeout_s))
            except OperationFailed as error:
                problem = error
                operation = client.operation(operation["id"])
        if output is Output.JSON:
            print_json(operation)
        if problem is not None:
            raise problem
        if output is Output.TEXT:
            typer.echo(_done(job, operation, waited=wait))


def _done(job: Job, operation: Operation, *, waited: bool) -> str:
    name = job["name"]
    result = operation["result"] or {}
    if not waited:
        return f"job '{name}': operation {operation['id']} ({operation['kind']}) has begun; weir operations {name} shows how far it is"
    if (kind := operation["kind"]) in _PATHS:
        tell(f"{kind} of job '{name}':")
        return str(result.get("checkpoint"))
    state = result.get("state") or "not running"
    at = f", last checkpoint {result['checkpoint']}" if result.get("checkpoint") is not None else ""
    return f"job '{name}' is {state}{at}"


def delete(name: str, *, yes: bool, output: Output) -> None:
    with opened() as client:
        job = find_job(client, name)
        if not yes:
            _agree_to_delete(job)
        client.delete_job(job)
        if output is Output.JSON:
            print_json({"deleted": job})
        else:
            typer.echo(f"job '{job['name']}' is forgotten; its checkpoints and its output are where they were")


def _agree_to_delete(job: Job) -> None:
    if not sys.stdin.isatty():
        raise Refused("nobody is there to be asked: add --yes if this is what you want; nothing was deleted")
    try:
        agreed = typer.confirm(f"Forget job '{job['name']}' and its history here?", default=False, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise Declined("nothing was deleted: you said no")


def plan(
    name: str, request: dict[str, Any], *, dry_run: bool, yes: bool, wait: bool, timeout_s: float | None, output: Output
) -> None:
    """``request``: of the API; an undo without a plan is about the last one, an upgrade without a version leads to the newest."""
    waiting = Waiting(timeout_s)
    as_json = output is Output.JSON
    with opened() as client:
        job = find_job(client, name)
        if request["kind"] == "undo" and request["plan"] is None:
            request = request | {"plan": newest_applied(client, job)}
        if request["kind"] == "upgrade":
            request = request | {"spec": _compiled(client, job, request["spec"], waiting)}
        done = carry_out(client, job, request, waiting, dry_run=dry_run, yes=yes, quiet=as_json)
        operation, planned = done.operation, done.plan
        problem: OperationFailed | None = None
        if wait and operation is not None:
            try:
                operation = follow(client, job, operation, waiting)
            except OperationFailed as error:
                problem = error
                operation = client.operation(operation["id"])
            planned = client.plan(planned["id"])
        if as_json:
            print_json({"plan": planned, "operation": operation})
        if problem is not None:
            raise problem
        if as_json:
            return
        if operation is None:
            typer.echo("nothing was done (--dry-run)")
        elif wait:
            now = client.job(job["id"])
            typer.echo(f"plan {planned['id']} is applied: job '{job['name']}' is {now['state']}; {_way_back(job, planned['id'])}")
        else:
            typer.echo(f"plan {planned['id']} is being applied; weir plans {job['name']} shows how far it is")


def _compiled(client: Client, job: Job, number: int | None, waiting: Waiting) -> int:
    """Of a version that can be run; None: the newest there is. Raises OperationFailed."""
    spec = client.spec(job["id"], number) if number is not None else client.specs(job["id"], 1)[0]
    return wait_for_compiled(client, job, spec, waiting)["number"]


def _way_back(job: Job, plan_id: int) -> str:
    return f"weir undo {job['name']} --plan {plan_id} takes it back"
