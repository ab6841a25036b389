"""Starting the driver of a run."""

from __future__ import annotations

import os

import structlog

from weir.errors import ConfigError
from weir_backend.artifacts import repository as artifacts
from weir_backend.jobs import repository as jobs
from weir_backend.kit.clock import now
from weir_backend.kit.presence import say_machine
from weir_backend.kit.tasks import SUBMIT, host_queue
from weir_backend.models import Run, RunState
from weir_backend.reconciling import repository, runs
from weir_backend.reconciling.service import driver_gone
from weir_backend.reconciling.taking_over import known_checkpoint
from weir_backend.settings import Settings
from weir_workers.context import Context, current
from weir_workers.drivers import command, processes
from weir_workers.drivers.code import place
from weir_workers.drivers.directory import RunDirectory
from weir_workers.task import task
from weir_workers.tasks.reconcile import look

log = structlog.get_logger(__name__)


@task("weir.submit", time_limit_s=110)
def submit(run_id: int) -> None:
    """Start it here. Asked for twice, it is started once: see ``drivers.launcher``."""
    context = current()
    claimed = _claim(context, run_id)
    if claimed is None:
        return
    directory = RunDirectory.of(context.settings.data_dir, claimed.directory)
    problem: str | None = None
    try:
        directory.make()
        with directory.starting() as ours:
            if not ours:
                return
            _start(context, claimed, directory)
    except (ConfigError, OSError) as error:
        problem = str(error)
    if problem is not None and not processes.lives(directory, None):
        log.warning("a driver could not be started", run=run_id, problem=problem)
        with context.database.session() as session:
            driver_gone(session, claimed.job_id, run_id, f"its driver could not be started: {problem}")
    look(context, claimed.job_id)


def _claim(context: Context, run_id: int) -> Run | None:
    """The run, if it is to be started on this machine. From now on it is nobody else's."""
    with context.database.session() as session:
        seen = repository.find(session, run_id)
        if seen is None or jobs.find(session, seen.job_id, lock=True) is None:
            return None
        session.refresh(seen, with_for_update=True)
        if seen.ended_at is not None or seen.state is not RunState.CREATED:
            return None
        if seen.host is None:
            seen.host = context.host
        if seen.host != context.host:
            context.tasks.enqueue(SUBMIT, run_id, queue=host_queue(seen.host))
            return None
        # What was last heard of this machine may be of another week.
        say_machine(session, context.host, now())
        # Whoever looks after it counts from here, not from when it was asked for: it may have waited for long.
        seen.submitted_at = now()
        return seen


def _start(context: Context, run: Run, directory: RunDirectory) -> None:
    if not directory.is_alive():
        with context.database.session() as session:
            spec = jobs.find_spec_by_id(session, run.spec_id)
            artifact = artifacts.find(session, spec.artifact_id)
            assert artifact is not None, "a spec keeps its artifact"
            data = artifacts.content(session, artifact.id)
            known = known_checkpoint(session, run)
        archive = place(artifact.kind, artifact.name, data, directory.code)
        job = command.target(artifact.kind, artifact.name, spec.body["entry"], directory.code)
        line = command.run_command(
            spec.body, job=job, directory=run.checkpoint_directory, start=run.start, archive=archive,
            at_least=known.number if known is not None else None, metrics=context.settings.driver_metrics,
        )  # fmt: skip
        told = _told(context.settings, run, directory)
        processes.start(directory, line, command.environment(os.environ, told, code=directory.code))
    _remember(context, run)


def _told(settings: Settings, run: Run, directory: RunDirectory) -> dict[str, str]:
    """What the environment of its driver has of its own. Secrets are in there, and nowhere else: everybody reads a command line."""
    told = {
        "WEIR_RUN_URL": f"{str(settings.public_url).rstrip('/')}/api/v1/runs/{run.id}",
        "WEIR_RUN_TOKEN": runs.token(settings, run.directory),
        "WEIR_RUN_SPOOL": str(directory.spool),
    }
    if settings.driver_metrics is not None:
        assert settings.driver_metrics_token is not None, "settings have no address without it"
        told["WEIR_METRICS_TOKEN"] = settings.driver_metrics_token.get_secret_value()
    return told


def _remember(context: Context, run: Run) -> None:
    """Which process it is, as far as that is known: who looks after it finds out otherwise."""
    name = RunDirectory.of(context.settings.data_dir, run.directory).process_name()
    if name is None:
        return
    with context.database.session() as session:
        jobs.find(session, run.job_id, lock=True)
        found = repository.find(session, run.id)
        if found is not None:
            found.pid, found.pid_started = name.pid, name.started
