"""``weir deploy``: create a job from a file, or add a version to a job and upgrade the job to this version."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from weir.cli import options
from weir.cli.client.api import ApiClient, open_client
from weir.cli.client.errors import OperationFailed, Refused
from weir.cli.client.schemas import JobRead, OperationRead, SpecRead
from weir.cli.commands.plans import discarded_on_error
from weir.cli.commands.waiting import (
    Deadline,
    wait_for_compilation,
    wait_for_inspection,
    wait_for_operation,
    wait_until_healthy,
)
from weir.cli.logs import print_message
from weir.cli.output import OutputFormat, OutputOption, print_json

SPECS_COMPARED_MAX = 50
"""The maximum number of older versions that are compared with the new version."""
ATTEMPTS = 3
"""The maximum number of attempts to deploy. An attempt fails if another user changes the job during the attempt."""
_CONFLICTS = frozenset({"changed", "job-changed", "name-taken", "being-inspected"})
"""Problem codes of the API after which another attempt to deploy can succeed."""
_STARTING = frozenset({"deploy", "start", "apply-plan"})
"""Kinds of operations that end as soon as the job is running."""
_TARGET = re.compile(r"(?P<path>.+?\.(?:py|zip|whl))(?::(?P<entry>.*))?", re.DOTALL)
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*\.(py|zip|whl)")
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARCHIVE_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*")
DEFAULT_FUNCTION = "job"


class DeployMode(StrEnum):
    SAVEPOINT = "savepoint"
    LAST_STATE = "last-state"


def add_to(app: typer.Typer) -> None:
    app.command("deploy")(deploy_command)


def deploy_command(
    target: Annotated[
        str, typer.Argument(metavar="FILE[:FUNCTION]", help="JOB.py, JOB.py:function, or ARCHIVE.whl:package.module:function.")
    ],
    name: Annotated[str, typer.Option(help="Name of the job.")],
    params: options.ParamsOption = options.NO_PAIRS,
    parallelism: options.ParallelismOption = 2,
    master: options.MasterOption = "local",
    interval: options.IntervalOption = options.INTERVAL,
    checkpoint_timeout: options.CheckpointTimeoutOption = options.CHECKPOINT_TIMEOUT,
    min_pause: options.MinPauseOption = options.MIN_PAUSE,
    tolerable_failed_checkpoints: options.TolerableFailedCheckpointsOption = options.TOLERABLE_FAILED_CHECKPOINTS,
    heartbeat_timeout: options.HeartbeatTimeoutOption = options.TIMEOUTS["heartbeat"],
    stuck_timeout: options.StuckTimeoutOption = options.TIMEOUTS["stuck"],
    call_timeout: options.CallTimeoutOption = options.TIMEOUTS["call"],
    slots_timeout: options.SlotsTimeoutOption = options.TIMEOUTS["slots"],
    deploy_timeout: options.DeployTimeoutOption = options.TIMEOUTS["deploy"],
    cancel_timeout: options.CancelTimeoutOption = options.TIMEOUTS["cancel"],
    connect_timeout: options.ConnectTimeoutOption = options.TIMEOUTS["connect"],
    network_memory: options.NetworkMemoryOption = options.NETWORK_MEMORY,
    retained: options.RetainedOption = options.RETAINED,
    checkpoint_dir: Annotated[
        str | None,
        typer.Option(
            help="Checkpoint storage that the platform can access. Default: a path inside the platform's data directory."
        ),
    ] = None,
    staging_dir: options.StagingDirOption = None,
    conf: options.SparkConfOption = options.NO_PAIRS,
    spares: options.SparesOption = 0,
    allow_non_restored_state: options.AllowNonRestoredStateOption = False,
    mode: Annotated[
        DeployMode,
        typer.Option(
            help="savepoint: stop with a final checkpoint. last-state: stop immediately and restore the newest checkpoint."
        ),
    ] = DeployMode.SAVEPOINT,
    description: Annotated[str | None, typer.Option(help="Description of the job.")] = None,
    comment: Annotated[str, typer.Option(help="Comment on this version, such as a commit id.")] = "",
    no_start: Annotated[
        bool, typer.Option("--no-start", help="Create the version, but do not start or upgrade the job.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the job runs. Exit with code 1 if the job does not start.")
    ] = False,
    timeout: options.TimeoutOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Create a job from a file, or upgrade an existing job to the code in the file.

    Deploying the same version again changes nothing. An omitted option gets its default value, even if the job currently has a
    different value.
    """
    deadline = Deadline(options.timeout_s(timeout))
    deployment = DeployRequest(
        name=name,
        code=read_code(target),
        settings=DeployOptions(
            parameters=params,
            parallelism=parallelism,
            master=master,
            interval=interval,
            retained=retained,
            checkpoint_dir=checkpoint_dir,
            staging_dir=staging_dir,
            conf=conf,
            spares=spares,
            allow_non_restored_state=allow_non_restored_state,
            checkpoint_timeout=checkpoint_timeout,
            min_pause=min_pause,
            tolerable_failed_checkpoints=tolerable_failed_checkpoints,
            timeouts={
                "heartbeat": heartbeat_timeout,
                "stuck": stuck_timeout,
                "call": call_timeout,
                "slots": slots_timeout,
                "deploy": deploy_timeout,
                "cancel": cancel_timeout,
                "connect": connect_timeout,
            },
            network_memory=network_memory,
        ),
        mode=mode.value,
        description=description,
        comment=comment,
        start=not no_start,
    )
    with open_client() as client:
        outcome = deploy(client, deployment, deadline)
        problem: OperationFailed | None = None
        if wait:
            try:
                wait_until_deployed(client, deployment, outcome, deadline)
            except OperationFailed as error:
                problem = error
                outcome.job = client.job(outcome.job["id"])
                outcome.operation = client.operation(outcome.operation["id"]) if outcome.operation is not None else None
    if output is OutputFormat.JSON:
        # Print the result after a failure, too, because a script needs the id of the plan to undo the plan.
        print_json(outcome.as_json())
    if problem is not None:
        raise problem
    if output is OutputFormat.TEXT:
        for note in outcome.notes:
            typer.echo(f"Job '{name}': {note}")
        if outcome.changed or wait:
            typer.echo(_result(outcome, waited=wait))


def _result(outcome: DeployResult, *, waited: bool) -> str:
    job = outcome.job
    name, run = job["name"], job["run"]
    if waited and run is not None:
        return f"Job '{name}' is {job['state']} with version {job['spec_number']}, in run {run['number']}."
    if outcome.operation is not None and not waited:
        return (
            f"Deploying version {outcome.spec} of job '{name}'. To see the state of the job, run weir status {name}. "
            "To wait until the job runs, add --wait."
        )
    return f"Version {outcome.spec} of job '{name}' exists. The job is {job['state']} with version {job['spec_number']}."


# ---- code and settings -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Code:
    """A file of user code, and the function in it that returns the job."""

    name: str
    data: bytes = field(repr=False)
    entry: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class DeployOptions:
    """The unparsed options of the command line."""

    parameters: list[str]
    parallelism: int
    master: str
    interval: str
    retained: int
    checkpoint_dir: str | None
    staging_dir: str | None
    conf: list[str]
    spares: int
    allow_non_restored_state: bool
    checkpoint_timeout: str = options.CHECKPOINT_TIMEOUT
    min_pause: str = options.MIN_PAUSE
    tolerable_failed_checkpoints: str = options.TOLERABLE_FAILED_CHECKPOINTS
    timeouts: Mapping[str, str] = field(default_factory=lambda: options.TIMEOUTS)
    network_memory: str = options.NETWORK_MEMORY


@dataclass(frozen=True, slots=True)
class DeployRequest:
    """If ``description`` is None, the job's description does not change.

    If ``start`` is False, the job is not started or upgraded.
    """

    name: str
    code: Code
    settings: DeployOptions
    mode: str
    description: str | None
    comment: str
    start: bool


def read_code(target: str) -> Code:
    """Read ``job.py``, ``job.py:function`` or ``jobs.whl:package.module:function``. Raises Refused."""
    match = _TARGET.fullmatch(target)
    if match is None:
        raise Refused(f"Cannot deploy '{target}'. Deploy a .py file, or a .zip or .whl with the job's package.")
    path, entry = Path(match["path"]), match["entry"]
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(f"Cannot read {path}: {error.strerror}") from None
    if not data:
        raise Refused(f"{path} is empty.")
    if not _FILE_NAME.fullmatch(path.name):
        raise Refused(f"Cannot deploy '{path.name}'. Rename it. File names can contain only letters, digits and ._+- characters.")
    return Code(path.name, data, _entry(path, entry))


def _entry(path: Path, given: str | None) -> str:
    if path.suffix == ".py":
        entry = DEFAULT_FUNCTION if given is None else given
        if not _FUNCTION.fullmatch(entry):
            raise Refused(f"'{entry}' is not a function name. Write {path}:FUNCTION.")
        return entry
    if given is None or not _ARCHIVE_ENTRY.fullmatch(given):
        raise Refused(f"{path} is an archive, so name the function that returns the job: {path}:PACKAGE.MODULE:FUNCTION")
    return given


def spec_body(code: Code, settings: DeployOptions, current: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the body of a spec, as sent to the API. Raises Refused, ConfigError.

    Fields for which there is no option keep their values from ``current``, the body of the current spec.
    """
    if settings.interval != "none":
        options.parse_duration_ms(settings.interval, "--interval")
    options.parse_duration_ms(settings.checkpoint_timeout, "--checkpoint-timeout")
    options.parse_duration_ms(settings.min_pause, "--min-pause", least_ms=0)
    parsed = options.parse_timeouts(settings.timeouts)
    options.parse_network_memory(settings.network_memory)
    tolerable = options.parse_count(settings.tolerable_failed_checkpoints, "--tolerable-failed-checkpoints")
    for option, directory in (("--checkpoint-dir", settings.checkpoint_dir), ("--staging-dir", settings.staging_dir)):
        if directory is not None and "://" not in directory and not directory.startswith("/"):
            raise Refused(
                f"{option} {directory} is a relative path, but the platform does not run in the current directory. Use an absolute path or a URL."
            )
    body = dict(current or {})
    checkpointing = dict(body.get("checkpointing", {}))
    timeouts = {
        name: "none" if getattr(parsed, f"{name}_timeout_ms") is None else text.strip()
        for name, text in settings.timeouts.items()
    }
    return body | {
        "artifact": code.digest,
        "entry": code.entry,
        "parameters": dict(options.parse_pairs(settings.parameters, "--set")),
        "parallelism": settings.parallelism,
        "spares": settings.spares,
        "master": settings.master,
        "spark_conf": dict(options.parse_pairs(settings.conf, "--conf")),
        "allow_non_restored_state": settings.allow_non_restored_state,
        "checkpointing": checkpointing
        | {
            "interval": settings.interval,
            "timeout": settings.checkpoint_timeout,
            "min_pause": settings.min_pause,
            "tolerable_failed_checkpoints": tolerable,
            "retained": settings.retained,
            "directory": settings.checkpoint_dir,
            "staging_directory": settings.staging_dir,
        },
        "timeouts": dict(body.get("timeouts", {})) | timeouts,
        "network_memory": settings.network_memory.strip(),
    }


def is_same(body: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether ``other`` contains all fields of ``body``, with equal values.

    Additional fields of ``other`` are ignored. Additional fields inside ``checkpointing`` and ``timeouts`` are also ignored.
    """
    return all(
        name in other and (is_same(value, other[name]) if name in ("checkpointing", "timeouts") else value == other[name])
        for name, value in body.items()
    )


# ---- the deployment ----------------------------------------------------------------------------


@dataclass(slots=True)
class DeployResult:
    """``operation`` is None if the deployment needed no operation.

    ``plan`` is the id of the plan that upgrades the job. An undo of this plan returns the job to its previous version.
    """

    job: JobRead
    spec: int
    spec_before: int | None
    changed: bool
    plan: int | None = None
    operation: OperationRead | None = None
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "notes"}


def deploy(client: ApiClient, deployment: DeployRequest, deadline: Deadline) -> DeployResult:
    """Create or upgrade the job, without waiting until it runs. Raises Refused, OperationFailed, AbortedByUser, Unreachable."""
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            return _deploy(client, deployment, deadline)
        except Refused as error:
            if error.code not in _CONFLICTS or attempts_left == 0:
                raise
            print_message("  Another user changed the job. Retrying.")
    raise AssertionError("the last attempt either returns or raises an error")


def _deploy(client: ApiClient, deployment: DeployRequest, deadline: Deadline) -> DeployResult:
    job = client.job_named(deployment.name)
    if job is None:
        return _create(client, deployment)
    current = client.spec(job["id"], job["spec_number"])
    body = spec_body(deployment.code, deployment.settings, current["body"])
    updated = _update_description(client, job, deployment)
    job = updated or job
    if is_same(body, current["body"]):
        return _keep_version(client, deployment, job, current, changed=updated is not None)
    _upload(client, deployment.code)
    spec = _find_or_add_spec(client, job, body, deployment)
    job = client.job(job["id"])
    if not deployment.start:
        note = f"version {job['spec_number']} stays the current version (--no-start)."
        return DeployResult(job, spec["number"], job["spec_number"], changed=True, notes=[note])
    return _upgrade(client, deployment, job, spec, deadline)


def _upload(client: ApiClient, code: Code) -> None:
    if client.artifact(code.digest) is None:
        print_message(f"  Uploading {code.name}")
        client.upload(code.name, code.data)


def _create(client: ApiClient, deployment: DeployRequest) -> DeployResult:
    body = spec_body(deployment.code, deployment.settings, None)
    _upload(client, deployment.code)
    draft = {
        "name": deployment.name,
        "description": deployment.description or "",
        "spec": body,
        "comment": deployment.comment,
        "start": deployment.start,
    }
    job = client.create_job(draft)
    return DeployResult(job, 1, None, changed=True, operation=job["operation"])


def _update_description(client: ApiClient, job: JobRead, deployment: DeployRequest) -> JobRead | None:
    """Return the updated job, or None if the description does not change."""
    if deployment.description is None or deployment.description == job["description"]:
        return None
    return client.update_job(job, {"description": deployment.description})


def _keep_version(
    client: ApiClient, deployment: DeployRequest, job: JobRead, current: SpecRead, *, changed: bool
) -> DeployResult:
    number = current["number"]
    if current["state"] == "INVALID":
        raise OperationFailed(
            f"Version {number} of job '{job['name']}' has the same code and options, and does not compile: {current['problem']}"
        )
    outcome = DeployResult(job, number, number, changed, operation=job["operation"])
    if deployment.start and job["desired_state"] != "RUNNING":
        outcome.operation = client.verb(job["id"], "start")
        outcome.changed = True
        outcome.notes.append(f"version {number} is unchanged. The job was {job['desired_state']} and is starting.")
    elif not changed:
        outcome.notes.append(f"version {number} is unchanged.")
    return outcome


def _find_or_add_spec(client: ApiClient, job: JobRead, body: dict[str, Any], deployment: DeployRequest) -> SpecRead:
    """Return the existing version with this body, or create a version.

    After an interrupted deployment or a rollback, a version with this body can already exist.
    """
    for spec in client.specs(job["id"], SPECS_COMPARED_MAX):
        if spec["state"] != "INVALID" and is_same(body, spec["body"]):
            print_message(f"  Reusing version {spec['number']}")
            return spec
    return client.add_spec(job, {"spec": body, "comment": deployment.comment})


def _upgrade(client: ApiClient, deployment: DeployRequest, job: JobRead, spec: SpecRead, deadline: Deadline) -> DeployResult:
    before = job["spec_number"]
    spec = wait_for_compilation(client, job, spec, deadline)
    plan = client.propose(job["id"], {"kind": "upgrade", "spec": spec["number"], "mode": deployment.mode})
    with discarded_on_error(client, plan):
        plan = wait_for_inspection(client, plan, deadline)
        client.approve(plan)
        operation = client.apply(plan["id"])
    print_message(f"  Upgrading job '{job['name']}' from version {before} to {spec['number']} (plan {plan['id']})")
    return DeployResult(client.job(job["id"]), spec["number"], before, changed=True, plan=plan["id"], operation=operation)


def wait_until_deployed(client: ApiClient, deployment: DeployRequest, outcome: DeployResult, deadline: Deadline) -> None:
    """Wait until the job is running.

    If ``deployment`` does not start the job, only wait until the version is compiled.
    Raises OperationFailed, AbortedByUser, Unreachable.
    """
    job = outcome.job
    if deployment.start or outcome.spec_before is None:
        if outcome.operation is not None and outcome.operation["kind"] in _STARTING:
            # The operation succeeds once the job is running.
            outcome.operation = wait_for_operation(client, job, outcome.operation, deadline)
        elif deployment.start:
            wait_until_healthy(client, job, deadline, checkpoint=False)
    else:
        wait_for_compilation(client, job, client.spec(job["id"], outcome.spec), deadline)
    outcome.job = client.job(job["id"])
