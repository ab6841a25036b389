"""``weir deploy``: a file and its settings become what a job runs; deployed again, they change nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weir.cli.logs import tell
from weir.cli.remote.client import Client
from weir.cli.remote.errors import OperationFailed, Refused
from weir.cli.remote.following import Waiting, follow, wait_for_compiled, wait_for_inspection
from weir.cli.remote.health import wait_until_well
from weir.cli.remote.planning import withdrawn_if_refused
from weir.cli.remote.shapes import Job, Operation, Spec
from weir.cli.remote.source import Code, Settings, body_of, is_same

SPECS_COMPARED = 50
"""So many versions back it is looked whether one is what is wanted."""
TRIES = 3
"""Others may change the job between our looking at it and our changing it."""
_MOVED = frozenset({"changed", "job-moved", "name-taken", "being-inspected"})
"""Codes of problems that are gone if one looks again."""
_LEADS_THERE = frozenset({"deploy", "start", "apply-plan"})
"""Kinds of operations after which a job runs."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """``description`` None: as it is. ``start`` False: nothing is started that does not run."""

    name: str
    code: Code
    settings: Settings
    mode: str
    description: str | None
    comment: str
    start: bool


@dataclass(slots=True)
class Deployed:
    """``operation`` None: nothing had to be done to the job. ``plan``: of the upgrade; an undo returns to what ran before it."""

    job: Job
    spec: int
    spec_before: int | None
    changed: bool
    plan: int | None = None
    operation: Operation | None = None
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "spec": self.spec,
            "spec_before": self.spec_before,
            "changed": self.changed,
            "plan": self.plan,
            "operation": self.operation,
        }


def deploy(client: Client, wanted: Wanted, waiting: Waiting) -> Deployed:
    """Up to where the platform does the rest. Raises Refused, OperationFailed, Declined, Unreachable."""
    for left in reversed(range(TRIES)):
        try:
            return _deploy(client, wanted, waiting)
        except Refused as error:
            if error.code not in _MOVED or left == 0:
                raise
            tell("  the job was changed by somebody else meanwhile; looking again")
    raise AssertionError("the last try returns or raises")


def _deploy(client: Client, wanted: Wanted, waiting: Waiting) -> Deployed:
    job = client.job_named(wanted.name)
    if job is None:
        return _create(client, wanted)
    current = client.spec(job["id"], job["spec_number"])
    body = body_of(wanted.code, wanted.settings, current["body"])
    described = _describe(client, job, wanted)
    job = described or job
    if is_same(body, current["body"]):
        return _unchanged(client, wanted, job, current, changed=described is not None)
    _upload(client, wanted.code)
    spec = _version(client, job, body, wanted)
    job = client.job(job["id"])
    if not wanted.start:
        note = f"version {spec['number']} is there; version {job['spec_number']} is still the one to run (--no-start)"
        return Deployed(job, spec["number"], job["spec_number"], changed=True, notes=[note])
    return _upgrade(client, wanted, job, spec, waiting)


def _upload(client: Client, code: Code) -> None:
    if client.artifact(code.digest) is None:
        tell(f"  uploading {code.name}")
        client.upload(code.name, code.data)


def _create(client: Client, wanted: Wanted) -> Deployed:
    body = body_of(wanted.code, wanted.settings, None)
    _upload(client, wanted.code)
    draft = {
        "name": wanted.name,
        "description": wanted.description or "",
        "spec": body,
        "comment": wanted.comment,
        "start": wanted.start,
    }
    job = client.create_job(draft)
    return Deployed(job, 1, None, changed=True, operation=job["operation"])


def _describe(client: Client, job: Job, wanted: Wanted) -> Job | None:
    """None: the description is right as it is."""
    if wanted.description is None or wanted.description == job["description"]:
        return None
    return client.change_job(job, {"description": wanted.description})


def _unchanged(client: Client, wanted: Wanted, job: Job, current: Spec, *, changed: bool) -> Deployed:
    if current["state"] == "INVALID":
        raise OperationFailed(
            f"this is version {current['number']} of job '{job['name']}', which does not compile: {current['problem']}"
        )
    done = Deployed(job, current["number"], current["number"], changed, operation=job["operation"])
    rests = job["desired_state"] != "RUNNING"
    if wanted.start and rests:
        done.operation = client.verb(job["id"], "start")
        done.changed = True
        done.notes.append(f"this is version {current['number']} already; it was {job['desired_state']} and is started")
    elif not changed:
        done.notes.append(f"this is version {current['number']} already: nothing is changed")
    return done


def _version(client: Client, job: Job, body: dict[str, Any], wanted: Wanted) -> Spec:
    """One that is there already, if a deployment was broken off or somebody went back, or a new one."""
    for spec in client.specs(job["id"], SPECS_COMPARED):
        if spec["state"] != "INVALID" and is_same(body, spec["body"]):
            tell(f"  this is version {spec['number']}, which is there already")
            return spec
    return client.add_spec(job, {"spec": body, "comment": wanted.comment})


def _upgrade(client: Client, wanted: Wanted, job: Job, spec: Spec, waiting: Waiting) -> Deployed:
    before = job["spec_number"]
    spec = wait_for_compiled(client, job, spec, waiting)
    plan = client.propose(job["id"], {"kind": "upgrade", "spec": spec["number"], "mode": wanted.mode})
    with withdrawn_if_refused(client, plan):
        plan = wait_for_inspection(client, plan, waiting)
        client.approve(plan["id"])
        operation = client.apply(plan["id"])
    tell(f"  plan {plan['id']} brings job '{job['name']}' from version {before} to {spec['number']}")
    return Deployed(client.job(job["id"]), spec["number"], before, changed=True, plan=plan["id"], operation=operation)


def wait_until_done(client: Client, wanted: Wanted, done: Deployed, waiting: Waiting) -> None:
    """It has come to run, or, if it is not to be started, it compiles. Raises OperationFailed, Declined, Unreachable."""
    job = done.job
    if wanted.start or done.spec_before is None:
        if done.operation is not None and done.operation["kind"] in _LEADS_THERE:
            # Then it has run. Whether it stays well is another matter, and no reason to wait for as many restarts as it is given.
            done.operation = follow(client, job, done.operation, waiting)
        elif wanted.start:
            wait_until_well(client, job, waiting, checkpoint=False)
    else:
        wait_for_compiled(client, job, client.spec(job["id"], done.spec), waiting)
    done.job = client.job(job["id"])
