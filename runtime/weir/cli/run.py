"""``weir run``: load a job, choose where it starts, run it until it ends, and print the result."""

from __future__ import annotations

import gc
import json
import signal
import sys
import time
import uuid
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

import structlog
import typer

from weir.api.job import Job
from weir.api.job_loader import load_job
from weir.cli.exit_codes import EXIT_OF_OUTCOME, Exit
from weir.cli.logs import print_error, print_message
from weir.cli.metrics import MetricsOptions, exposition, serve_metrics
from weir.cli.options import parse_pairs
from weir.cli.output import print_json, size_text
from weir.cli.progress import show_progress
from weir.coordinator.start import Fresh, FromCheckpoint, Resume, StartMode
from weir.errors import ConfigError, RestoreError, Superseded, WeirError
from weir.kernel.effects import JobOutcome
from weir.link.control_link import LinkOptions, RunLink
from weir.link.http import LinkAddress
from weir.protocol import codec
from weir.protocol.events import IMPORTED, CheckpointCompleted
from weir.protocol.ids import CheckpointId
from weir.spark.job_plan import check_compatible
from weir.spark.launch import JobResult, RunningJob, RunOptions, launch, session_for
from weir.spark.session import CONF_FILE, LazySession
from weir.spark.settings import is_secret
from weir.storage.checkpoint_import import (
    ImportResult,
    already_imported,
    find_external_checkpoint,
    import_checkpoint,
)
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import JobLocation, locate_job, open_storage, parse_checkpoint_path
from weir.storage.probe import probe_storage
from weir.subtask.settings import ignore_broken_streams

SECRETS_FD = "WEIR_SECRETS_FD"
LINK_URL, LINK_TOKEN, LINK_SPOOL = "WEIR_RUN_URL", "WEIR_RUN_TOKEN", "WEIR_RUN_SPOOL"

log = structlog.get_logger(__name__)

# ---- options -----------------------------------------------------------------------------------


def parse_spark_conf(pairs: list[str]) -> dict[str, str]:
    """Parse ``--conf``. Raises ConfigError.

    A secret raises ConfigError, because every user of this machine can read the arguments of a process.
    """
    conf = parse_pairs(pairs, "--conf")
    for name in conf:
        if is_secret(name):
            raise ConfigError(
                f"--conf {name} is a secret, and other users of this machine can read command lines. Write the secret to a "
                f"file that only you can read (chmod 600), and set {CONF_FILE} to the path of that file."
            )
    return conf


def start_mode(
    *,
    resume: bool,
    from_checkpoint: int | None,
    from_path: str | None = None,
    at_least: int | None = None,
    older_allowed: bool = False,
) -> StartMode:
    """Return where the job starts according to ``--resume``, ``--from`` and ``--at-least``. Raises ConfigError.

    With ``from_path``, ``start_from_path`` later determines where the job starts.
    """
    if from_path is not None and (resume or from_checkpoint is not None):
        raise ConfigError("--from-path cannot be combined with --resume or --from.")
    if resume and from_checkpoint is not None:
        raise ConfigError(
            "--resume cannot be combined with --from: --resume restores the newest checkpoint, "
            "and --from restores an older checkpoint."
        )
    if at_least is not None and not resume:
        raise ConfigError("--at-least requires --resume.")
    if from_checkpoint is not None:
        return FromCheckpoint(CheckpointId(from_checkpoint) if from_checkpoint else None)
    return Resume(CheckpointId(at_least) if at_least is not None else None, older_allowed) if resume else Fresh()


def take_link_options(environment: MutableMapping[str, str]) -> LinkOptions | None:
    """Return the options of the control link, or None if no control plane started this run.

    Removes the token from ``environment``, so that child processes and user code cannot read it. Raises ConfigError if only
    some of the environment variables of the control link are set.
    """
    values = {
        LINK_URL: environment.get(LINK_URL, ""),
        LINK_TOKEN: environment.pop(LINK_TOKEN, ""),
        LINK_SPOOL: environment.get(LINK_SPOOL, ""),
    }
    missing = [name for name, value in values.items() if not value]
    if len(missing) == len(values):
        return None
    if missing:
        raise ConfigError(
            f"A run that a control plane has started needs {LINK_URL}, {LINK_TOKEN} and {LINK_SPOOL}. Not set: {', '.join(missing)}"
        )
    return LinkOptions(LinkAddress(values[LINK_URL], values[LINK_TOKEN]), Path(values[LINK_SPOOL]))


@dataclass(frozen=True, slots=True)
class ProvidedSecrets:
    """The secrets of the platform that a worker provides to a run, by name. ``problem`` is the reason why the worker cannot provide
    one of the secrets, or None."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    problem: str | None = None


def take_platform_secrets(environment: MutableMapping[str, str]) -> ProvidedSecrets:
    """Return the secrets that the worker passes through a pipe. A variable in ``environment`` contains the file descriptor of the
    pipe. The values are in no file, argument or variable, and can be read only once."""
    descriptor = environment.pop(SECRETS_FD, None)
    if descriptor is None:
        return ProvidedSecrets()
    with open(int(descriptor), encoding="utf-8") as pipe:
        return codec.from_json(ProvidedSecrets, json.load(pipe))


# ---- the run -----------------------------------------------------------------------------------


def run(
    target: str,
    params: Mapping[str, object],
    options: RunOptions,
    *,
    yes: bool,
    quiet: bool,
    from_path: str | None = None,
    link: LinkOptions | None = None,
    metrics: MetricsOptions | None = None,
    result: TextIO | None = None,
    secrets: ProvidedSecrets | None = None,
) -> int:
    """Run the job and return the exit code. Raises WeirError only if the job did not start.

    If ``result`` is not None, write the job's outcome to this stream as a JSON document.
    """
    run_link = RunLink(link) if link is not None else None
    secrets = secrets or ProvidedSecrets()
    options = replace(options, platform_secrets=secrets.values)
    session = session_for(options, target)
    try:
        if secrets.problem is not None:
            raise ConfigError(secrets.problem)
        with session.planning():
            job = load_job(target, params)
            if from_path is not None:
                options = replace(options, start=start_from_path(job, from_path, options, yes=yes, link=run_link))
        return _run(job, options, session, run_link, metrics, result, yes=yes, quiet=quiet, confirmed=from_path is not None)
    except Exception as error:
        if run_link is not None and not run_link.started:
            run_link.failed_to_start(error)
        raise
    finally:
        session.close()


def _run(
    job: Job,
    options: RunOptions,
    session: LazySession,
    link: RunLink | None,
    metrics: MetricsOptions | None,
    result: TextIO | None,
    *,
    yes: bool,
    quiet: bool,
    confirmed: bool,
) -> int:
    """``confirmed`` is True if the user has already agreed that starting the job abandons checkpoints."""
    if isinstance(options.start, FromCheckpoint) and not confirmed:
        abandoned = confirm_rollback(job, options.start.checkpoint, options, yes=yes)
        # While Spark starts, which takes seconds, an older driver can complete more checkpoints. The user has not agreed to
        # abandon these checkpoints.
        options = replace(options, start=replace(options.start, abandonable=None if yes else abandoned))
    with serve_metrics(metrics, optional=link is not None) as page:
        running = launch(job, options, session=session, link=link)
        # The objects that exist now live until the end of the process. Without them, a collection does not stop the
        # coordinator's loop for tens of milliseconds.
        gc.freeze()
        page.show(lambda: exposition(job.name, running.progress()))
        if not quiet:
            # A job can run for months, so the user must not have to wait for its end to read about state that is not restored.
            for note in running.notes:
                print_message(f"note: {note}")
        return _wait_for_end(job.name, running, options, result, quiet=quiet)


def _wait_for_end(job: str, running: RunningJob, options: RunOptions, result: TextIO | None, *, quiet: bool) -> int:
    suspend_on_signals(running)
    try:
        ended = show_progress(running, quiet=quiet, as_json=options.logs.as_json)
    except WeirError as error:
        # The job has started, so the exit code must not be USAGE, which means that nothing was started.
        print_error(f"job failed: {error}")
        return Exit.SUPERSEDED if isinstance(error, Superseded) else Exit.JOB_FAILED
    _print_end(ended, quiet=quiet, as_json=options.logs.as_json)
    if result is not None:
        with ignore_broken_streams():
            print_json({"job": job, **_end_fields(ended), "notes": list(ended.notes)}, result)
    return EXIT_OF_OUTCOME[ended.outcome]


def suspend_on_signals(running: RunningJob) -> None:
    """Suspend the job with a final checkpoint on the first SIGTERM or SIGINT, and cancel it on the second signal."""
    count = 0

    def on_signal(number: int, _frame: object) -> None:
        nonlocal count
        count += 1
        if count == 1:
            # Suspend the job before printing, because standard error can be broken.
            running.suspend()
            print_message("Stopping with a final checkpoint. Send the signal again to stop without a checkpoint.")
        else:
            running.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def _print_end(ended: JobResult, *, quiet: bool, as_json: bool) -> None:
    """Print how the job ended. With ``quiet``, print only a failure."""
    succeeded = EXIT_OF_OUTCOME[ended.outcome] is Exit.OK
    if quiet and succeeded:
        return
    summary = _summary(ended)
    with ignore_broken_streams():
        if as_json:
            (log.info if succeeded else log.error)("job ended", **_end_fields(ended))
        else:
            print(summary, file=sys.stderr, flush=True)


def _end_fields(ended: JobResult) -> dict[str, object]:
    """Return the job's outcome for JSON. ``records`` is the number of records that the sources have read (see
    ``ProgressSnapshot``)."""
    progress = ended.progress
    return {
        "outcome": ended.outcome,
        "reason": ended.reason,
        "kind": ended.kind,
        "records": progress.records,
        "checkpoints": progress.completed_total,
        "last_checkpoint": progress.completed[-1].checkpoint if progress.completed else None,
        "recovered_ms": [recovery.took_ms for recovery in progress.recoveries],
        "warnings": list(progress.warnings),
    }


def _summary(ended: JobResult) -> str:
    progress = ended.progress
    lines = [f"job {ended.outcome}" + (f": {ended.reason}" if ended.reason else "")]
    if progress.completed:
        last = progress.completed[-1]
        lines.append(
            f"  {progress.records:,} records, {progress.completed_total:,} checkpoints "
            f"(last: {last.checkpoint}, {last.end_to_end_ms} ms, {last.state_bytes:,} bytes of state)"
        )
    lines += [f"  warning: {warning}" for warning in progress.warnings]
    lines += [f"  recovered in {recovery.took_ms} ms: {recovery.reason}" for recovery in progress.recoveries]
    if ended.outcome is JobOutcome.SUSPENDED:
        lines.append("  resume with --resume")
    return "\n".join(lines)


# ---- starting from a checkpoint ----------------------------------------------------------------


def confirm_rollback(job: Job, checkpoint: CheckpointId | None, options: RunOptions, *, yes: bool) -> frozenset[CheckpointId]:
    """Ask for confirmation, and return the checkpoints that the rollback abandons.

    If ``checkpoint`` is None, the job starts without state. Raises ConfigError if standard input is not a terminal, and
    typer.Exit if the user answers no.
    """
    storage = open_storage(options.checkpoint_dir, dict(options.storage_options))
    view, _ = JobLog(storage, JobLayout(job.name)).read()
    abandoned = view.abandoned_by(view.restore_point(checkpoint).checkpoint if checkpoint is not None else None)
    what = (
        f"Rolling back job '{job.name}' to checkpoint {checkpoint}"
        if checkpoint is not None
        else f"Starting job '{job.name}' without state"
    )
    return confirm_abandoning(job, abandoned, f"{what} abandons the checkpoints", yes=yes)


def start_from_path(job: Job, path: str, options: RunOptions, *, yes: bool, link: RunLink | None) -> StartMode:
    """Ask for confirmation, copy the checkpoint at ``path`` into the job's checkpoint directory, and return a start mode that
    restores the copy.

    An error leaves the job unchanged. Raises ConfigError, CheckpointError, StorageError. Raises RestoreError if the checkpoint is
    not compatible with the job's graph.
    """
    location, number = parse_checkpoint_path(path)
    external = find_external_checkpoint(locate_job(location), number, job=job.name)
    try:
        check_compatible(job, external.manifest, options)
    except RestoreError as error:
        raise RestoreError(f"Cannot start job '{job.name}' from {external.name}: {error}") from None
    target = JobLocation(open_storage(options.checkpoint_dir, dict(options.storage_options)), JobLayout(job.name))
    view, _ = JobLog(target.storage, target.layout).read()
    abandoned = frozenset[CheckpointId]()
    if already_imported(target, view, external) is None:
        abandoned = confirm_abandoning(
            job,
            view.abandoned_by(None),
            f"Starting job '{job.name}' from {external.name} abandons the checkpoints",
            yes=yes,
            question="Start from it?",
        )
    probe_storage(target.storage)
    imported = import_checkpoint(
        external, target, abandonable=None if yes else abandoned, nonce=uuid.uuid4().hex, timestamp_ms=time.time_ns() // 1_000_000
    )
    _report_import(imported, external.name, link)
    # The import has already abandoned the old checkpoints. Another driver can complete more checkpoints after the import. The
    # user has not agreed to abandon these checkpoints.
    return FromCheckpoint(imported.checkpoint, abandonable=frozenset(), verified=True)


def _report_import(imported: ImportResult, name: str, link: RunLink | None) -> None:
    if link is not None:
        # An earlier driver may have imported the checkpoint and crashed before it reported the import. The control plane
        # stores a repeated report only once.
        link.record(
            CheckpointCompleted(
                imported.checkpoint, imported.generation, IMPORTED, 0, imported.state_bytes, (), imported.bytes or None
            )
        )
    size = size_text(imported.bytes)
    print_message(f"Imported {name} as checkpoint {imported.checkpoint} ({size} copied). The copy is retained like a savepoint.")


def confirm_abandoning(
    job: Job, abandoned: Collection[CheckpointId], what: str, *, yes: bool, question: str = "Roll back?"
) -> frozenset[CheckpointId]:
    """Show the checkpoints in ``abandoned``, ask for confirmation, and return these checkpoints. If ``abandoned`` is empty, do
    not ask.

    ``what`` is the beginning of a sentence that ends with the checkpoint numbers. Raises ConfigError if standard input is not a
    terminal, and typer.Exit if the user answers no.
    """
    if not abandoned:
        return frozenset()
    revocable: list[str] = []
    others: list[str] = []
    for uid, sink in job.sinks().items():
        (revocable if sink.committer().revocable else others).append(uid)
    print_message(f"{what} {', '.join(str(number) for number in sorted(abandoned))}.")
    if revocable:
        print_message(f"  revokes their output in: {', '.join(revocable)} (an undo reinstates it)")
    if others:
        print_message(f"  cannot revoke output in: {', '.join(others)} (readers can see records twice)")
    print_message("  deletes nothing, so abandoned checkpoints can be restored with --from")
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError("Cannot ask for confirmation: standard input is not a terminal. Add --yes to confirm.")
        confirm(question)
    return frozenset(abandoned)


def confirm(question: str) -> None:
    """Raises typer.Exit if the answer is no, or if the user closes or interrupts the prompt."""
    try:
        confirmed = typer.confirm(question, default=False, err=True)
    except typer.Abort:
        confirmed = False
    if not confirmed:
        raise typer.Exit(Exit.CANCELED)
