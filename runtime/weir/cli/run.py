"""``weir run``: a job from its file to its end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TextIO

import structlog

from weir.api.entry import load_job
from weir.api.job import Job
from weir.cli.exits import OF_OUTCOME, Exit
from weir.cli.from_path import begin_elsewhere
from weir.cli.logs import complain, if_somebody_listens, tell
from weir.cli.metrics.exposition import exposition
from weir.cli.metrics.server import MetricsOptions, served
from weir.cli.output import print_json
from weir.cli.progress_line import follow
from weir.cli.questions import confirm_leaving
from weir.cli.words import parse_settings
from weir.coordinator.start import Fresh, FromCheckpoint, Resume, StartMode
from weir.errors import ConfigError, Superseded, WeirError
from weir.kernel.effects import Outcome
from weir.link.run import LinkOptions, RunLink
from weir.protocol.ids import CheckpointId
from weir.spark.launch import JobResult, RunningJob, RunOptions, launch, session_for
from weir.spark.planner import LazySession
from weir.spark.session import CONF_FILE
from weir.spark.settings import is_secret
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.open import open_storage

log = structlog.get_logger(__name__)


def parse_spark_settings(pairs: list[str]) -> dict[str, str]:
    """Of ``--conf``. Raises ConfigError, also for a secret: every user of this machine can read our argument list."""
    settings = parse_settings(pairs, "--conf")
    for name in settings:
        if is_secret(name):
            raise ConfigError(
                f"--conf {name}: others on this machine can read what a command is given, so a secret cannot be; put it into "
                f"a file that only you can read (chmod 600) and name that in {CONF_FILE}"
            )
    return settings


def start_mode(
    *, resume: bool, from_checkpoint: int | None, from_path: str | None = None, at_least: int | None = None
) -> StartMode:
    """``from_path``: that has a say in it once the job is known, see ``from_path.begin_elsewhere``."""
    if from_path is not None and (resume or from_checkpoint is not None):
        raise ConfigError("--from-path begins with a checkpoint from elsewhere: give neither --resume nor --from with it")
    if resume and from_checkpoint is not None:
        raise ConfigError("--resume goes on with the newest checkpoint, --from goes back to a chosen one: give only one of them")
    if at_least is not None and not resume:
        raise ConfigError("--at-least says how far the job that is resumed has come: give it with --resume")
    if from_checkpoint is not None:
        return FromCheckpoint(CheckpointId(from_checkpoint) if from_checkpoint else None)
    return Resume(CheckpointId(at_least) if at_least is not None else None) if resume else Fresh()


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
    answer: TextIO | None = None,
) -> int:
    """Returns the exit code. Raises WeirError for whatever keeps the job from starting, and for nothing else.

    ``answer``: how the job has ended is also written there, as a JSON document."""
    opened = RunLink(link) if link is not None else None
    session = session_for(options, target)
    try:
        with session.planning():
            job = load_job(target, params)
            if from_path is not None:
                options = replace(options, start=begin_elsewhere(job, from_path, options, yes=yes, link=opened))
        return _run(job, options, session, opened, metrics, answer, yes=yes, quiet=quiet, asked=from_path is not None)
    except Exception as error:
        if opened is not None and not opened.started:
            opened.failed_to_start(error)
        raise
    finally:
        session.close()


def _run(
    job: Job,
    options: RunOptions,
    session: LazySession,
    link: RunLink | None,
    metrics: MetricsOptions | None,
    answer: TextIO | None,
    *,
    yes: bool,
    quiet: bool,
    asked: bool,
) -> int:
    """``asked``: whoever is to agree has agreed."""
    if isinstance(options.start, FromCheckpoint) and not asked:
        left = confirm_going_back(job, options.start.checkpoint, options, yes=yes)
        # Spark takes seconds to come up, and a run that is still alive may complete more: that was not agreed to.
        options = replace(options, start=replace(options.start, leaving=None if yes else left))
    with served(metrics, courtesy=link is not None) as page:
        running = launch(job, options, session=session, link=link)
        page.show(lambda: exposition(job.name, running.progress()))
        return _followed(job.name, running, options, answer, quiet=quiet)


def _followed(job: str, running: RunningJob, options: RunOptions, answer: TextIO | None, *, quiet: bool) -> int:
    suspend_on_signals(running)
    try:
        result = follow(running, quiet=quiet, as_json=options.logs.as_json)
    except WeirError as error:
        # From here on something was started, which the exit code must not deny.
        complain(f"job failed: {error}")
        return Exit.SUPERSEDED if isinstance(error, Superseded) else Exit.JOB_FAILED
    _tell_the_end(result, quiet=quiet, as_json=options.logs.as_json)
    if answer is not None:
        with if_somebody_listens():
            print_json({"job": job, **_end(result), "notes": list(result.notes)}, answer)
    return OF_OUTCOME[result.outcome]


def confirm_going_back(job: Job, checkpoint: CheckpointId | None, options: RunOptions, *, yes: bool) -> frozenset[CheckpointId]:
    """Show what a restore of ``checkpoint`` (None: of nothing) abandons, and ask; these checkpoints. Raises ConfigError where nobody can
    be asked."""
    storage = open_storage(options.checkpoint_dir, dict(options.storage_options))
    view, _ = JobLog(storage, JobLayout(job.name)).read()
    left = view.left_behind_by(view.restore_point(checkpoint).checkpoint if checkpoint is not None else None)
    where = (
        f"checkpoint {checkpoint} of job '{job.name}'"
        if checkpoint is not None
        else f"the beginning of job '{job.name}', without any state,"
    )
    return confirm_leaving(job, left, f"Going back to {where} abandons", yes=yes)


def suspend_on_signals(running: RunningJob) -> None:
    """The first SIGTERM or SIGINT takes a final checkpoint and stops; the second stops without one."""
    seen = 0

    def on_signal(number: int, _frame: object) -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            # First what was asked for: there may be nobody left to be told.
            running.suspend()
            tell("stopping with a final checkpoint (once more: without)")
        else:
            running.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)


def _tell_the_end(result: JobResult, *, quiet: bool, as_json: bool) -> None:
    """A failure is told even to who wants to hear nothing."""
    went_well = OF_OUTCOME[result.outcome] is Exit.OK
    if quiet and went_well:
        return
    summary = _summary(result)
    with if_somebody_listens():
        if as_json:
            _log_the_end(result, log.info if went_well else log.error)
        else:
            print(summary, file=sys.stderr, flush=True)


def _log_the_end(result: JobResult, write: Callable[..., object]) -> None:
    for note in result.notes:
        log.info(note)
    write("job ended", **_end(result))


def _end(result: JobResult) -> dict[str, object]:
    """For programs. ``records``: what the sources have read in the last generation."""
    progress = result.progress
    return {
        "outcome": result.outcome,
        "reason": result.reason,
        "kind": result.kind,
        "records": progress.records,
        "checkpoints": progress.completed_total,
        "last_checkpoint": progress.completed[-1].checkpoint if progress.completed else None,
        "recovered_ms": [recovery.took_ms for recovery in progress.recoveries],
    }


def _summary(result: JobResult) -> str:
    progress = result.progress
    lines = [f"note: {note}" for note in result.notes]
    head = f"job {result.outcome}" + (f": {result.reason}" if result.reason else "")
    lines.append(head)
    if progress.completed:
        last = progress.completed[-1]
        lines.append(
            f"  {progress.records:,} records in the last generation, {progress.completed_total:,} checkpoints "
            f"(last: {last.checkpoint}, {last.end_to_end_ms} ms, {last.state_bytes:,} bytes of state)"
        )
    lines += [f"  recovered in {recovery.took_ms} ms: {recovery.reason}" for recovery in progress.recoveries]
    if result.outcome is Outcome.SUSPENDED:
        lines.append("  go on with --resume")
    return "\n".join(lines)
