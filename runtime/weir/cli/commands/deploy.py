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
from weir.cli.client.schemas import JobRead, ManifestResultRead, OperationRead
from weir.cli.commands.waiting import Deadline, apply_manifest, wait_for_operation, wait_until_healthy
from weir.cli.logs import print_message
from weir.cli.output import OutputFormat, OutputOption, print_json
from weir.kernel.config import parse_duration_ms
from weir.protocol.events import RecoveryStrategy

_STARTING = frozenset({"deploy", "start", "apply-plan"})
"""Kinds of operations that end as soon as the job is running."""
_TARGET = re.compile(r"(?P<path>.+?\.(?:py|zip|whl))(?::(?P<entry>.*))?", re.DOTALL)
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*\.(py|zip|whl)")
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARCHIVE_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
NAME_RULE = "A name has at most 100 characters (letters, digits, '.', '_' and '-'), and begins with a letter or a digit."
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
    buffer_timeout: options.BufferTimeoutOption = options.BUFFER_TIMEOUT,
    recovery: options.RecoveryOption = RecoveryStrategy.REGIONAL,
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

    If the code does not compile, the command changes nothing. Deploying the same version again changes nothing. An omitted option
    gets its default value, even if the job currently has a different value.
    """
    deadline = Deadline(options.timeout_s(timeout))
    if not is_job_name(name):
        raise Refused(f"--name '{name}' is not a valid job name. {NAME_RULE}")
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
            buffer_timeout=buffer_timeout,
            recovery=recovery,
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
        if outcome.changed or wait or outcome.spec != outcome.job["spec_number"]:
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
    buffer_timeout: str = options.BUFFER_TIMEOUT
    recovery: RecoveryStrategy = RecoveryStrategy.REGIONAL


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


def is_job_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


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
        parse_duration_ms(settings.interval, "--interval")
    parse_duration_ms(settings.checkpoint_timeout, "--checkpoint-timeout")
    parse_duration_ms(settings.min_pause, "--min-pause", least_ms=0)
    parsed = options.parse_timeouts(settings.timeouts)
    options.parse_network_memory(settings.network_memory)
    options.parse_buffer_timeout(settings.buffer_timeout)
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
        "buffer_timeout": settings.buffer_timeout.strip(),
        "recovery": settings.recovery.value,
    }


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
    job = client.job_named(deployment.name)
    current = client.spec(job["id"], job["spec_number"])["body"] if job is not None else None
    manifest = {
        "description": deployment.description,
        "labels": None,
        "desired_state": "RUNNING" if deployment.start else None,
        "spec": spec_body(deployment.code, deployment.settings, current),
        "upgrade_mode": deployment.mode,
        "comment": deployment.comment,
    }
    upload(client, deployment.code)
    return _result_of(apply_manifest(client, deployment.name, manifest, deadline, dry_run=False))


def upload(client: ApiClient, code: Code) -> None:
    """Upload the code, unless the platform already stores this code."""
    if client.artifact(code.digest) is None:
        print_message(f"  Uploading {code.name}")
        client.upload(code.name, code.data)


def _result_of(result: ManifestResultRead) -> DeployResult:
    job, spec, plan = result["job"], result["spec"], result["plan"]
    assert job is not None, "only a dry run returns no job"
    outcome = DeployResult(
        job,
        spec,
        result["spec_before"],
        changed=bool(result["actions"]),
        plan=plan["id"] if plan is not None else None,
        operation=result["operation"] or job["operation"],
    )
    if "upgrade" in result["actions"]:
        print_message(f"  Upgrading job '{job['name']}' from version {outcome.spec_before} to {spec} (plan {outcome.plan})")
    elif "start" in result["actions"]:
        (before,) = (one["before"] for one in result["changes"] if one["path"] == "desired_state")
        outcome.notes.append(f"version {spec} is unchanged. The job was {before} and is starting.")
    elif spec != result["spec_before"] and outcome.spec_before is not None:
        outcome.notes.append(f"version {outcome.spec_before} stays the current version (--no-start).")
    elif not outcome.changed:
        outcome.notes.append(f"version {spec} is unchanged.")
    return outcome


def wait_until_deployed(client: ApiClient, deployment: DeployRequest, outcome: DeployResult, deadline: Deadline) -> None:
    """Wait until the job is running, if ``deployment`` starts the job. Raises OperationFailed, AbortedByUser, Unreachable."""
    job = outcome.job
    if deployment.start:
        outcome.operation = wait_until_started(client, job, outcome.operation, deadline)
    outcome.job = client.job(job["id"])


def wait_until_started(
    client: ApiClient, job: JobRead, operation: OperationRead | None, deadline: Deadline
) -> OperationRead | None:
    """Wait until the job is running, and return the operation.

    If ``operation`` starts the job, wait until it ends. Otherwise, wait until the job is healthy.
    Raises OperationFailed, AbortedByUser, Unreachable.
    """
    if operation is not None and operation["kind"] in _STARTING:
        # The operation succeeds once the job is running.
        return wait_for_operation(client, job, operation, deadline)
    wait_until_healthy(client, job, deadline, checkpoint=False)
    return operation
