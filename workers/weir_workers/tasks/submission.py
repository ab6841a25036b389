"""Start the driver of a run."""

from __future__ import annotations

import os

import structlog

from weir.errors import ConfigError
from weir_backend.artifacts import repository as artifacts
from weir_backend.jobs import repository as jobs
from weir_backend.kit.clock import now
from weir_backend.kit.heartbeats import record_host_heartbeat
from weir_backend.kit.tasks import SUBMIT, host_queue
from weir_backend.models import Run, RunState
from weir_backend.reconciler.reassignment import newest_known_checkpoint
from weir_backend.reconciler.service import mark_driver_lost
from weir_backend.runs.service import run_token
from weir_backend.secrets.service import provide
from weir_backend.settings import Settings
from weir_workers.context import Context, current
from weir_workers.drivers import command, processes
from weir_workers.drivers.run_directory import RunDirectory
from weir_workers.drivers.secrets import document
from weir_workers.drivers.user_code import unpack
from weir_workers.task import task
from weir_workers.tasks.reconciliation import reconcile_job

log = structlog.get_logger(__name__)


@task("weir.submit", time_limit_s=110)
def submit(run_id: int) -> None:
    """Start the driver on this host. If a run is submitted twice, only one driver starts (see ``drivers.launcher``)."""
    context = current()
    claimed = _claim(context, run_id)
    if claimed is None:
        return
    directory = RunDirectory.of(context.settings.data_dir, claimed.directory)
    problem: str | None = None
    try:
        directory.make()
        with directory.starting() as may_start:
            if not may_start:
                return
            _start(context, claimed, directory)
    except (ConfigError, OSError) as error:
        problem = str(error)
    if problem is not None and not processes.is_alive(directory, None):
        log.warning("cannot start a driver", run=run_id, problem=problem)
        with context.database.session() as session:
            mark_driver_lost(session, claimed.job_id, run_id, f"the driver cannot be started: {problem}")
    reconcile_job(context, claimed.job_id)


def _claim(context: Context, run_id: int) -> Run | None:
    """Bind the run to this host and return the run. Return None if another host starts the driver, or if the run needs no driver."""
    with context.database.session() as session:
        run = session.get(Run, run_id)
        if run is None or jobs.find(session, run.job_id, lock=True) is None:
            return None
        session.refresh(run, with_for_update=True)
        if run.ended_at is not None or run.state is not RunState.CREATED:
            return None
        if run.host is None:
            run.host = context.host
        if run.host != context.host:
            context.tasks.enqueue(SUBMIT, run_id, queue=host_queue(run.host))
            return None
        # Record a heartbeat, so that this host does not count as lost because of an old heartbeat.
        record_host_heartbeat(session, context.host, now())
        # Timeouts count from now, because the task has possibly waited in the queue.
        run.submitted_at = now()
        return run


def _start(context: Context, run: Run, directory: RunDirectory) -> None:
    if not directory.is_alive():
        with context.database.session() as session:
            spec = jobs.find_spec_by_id(session, run.spec_id)
            artifact = artifacts.find(session, spec.artifact_id)
            assert artifact is not None, "a spec keeps its artifact"
            data = artifacts.content(session, artifact.id)
            known = newest_known_checkpoint(session, run)
            provided = provide(session, context.settings, spec.body["parameters"])
        archive = unpack(artifact.kind, artifact.name, data, directory.code)
        job = command.target(artifact.kind, artifact.name, spec.body["entry"], directory.code)
        arguments = command.run_command(
            spec.body, job=job, directory=run.checkpoint_directory, start=run.start, archive=archive,
            at_least=known.number if known is not None else None, metrics=context.settings.driver_metrics,
        )  # fmt: skip
        variables = _run_environment(context.settings, run, directory)
        environment = command.environment(os.environ, variables, code=directory.code)
        processes.start(directory, arguments, environment, secrets=document(provided))
    _store_process(context, run)


def _run_environment(settings: Settings, run: Run, directory: RunDirectory) -> dict[str, str]:
    """Return the variables that only this driver gets. Secrets are passed as environment variables, because all users of the host can read
    the arguments of a process."""
    variables = {
        "WEIR_RUN_URL": f"{str(settings.public_url).rstrip('/')}/api/v1/runs/{run.id}",
        "WEIR_RUN_TOKEN": run_token(settings, run.directory),
        "WEIR_RUN_SPOOL": str(directory.spool),
    }
    if settings.driver_metrics is not None:
        assert settings.driver_metrics_token is not None, "the settings require `driver_metrics_token` if `driver_metrics` is set"
        variables["WEIR_METRICS_TOKEN"] = settings.driver_metrics_token.get_secret_value()
    return variables


def _store_process(context: Context, run: Run) -> None:
    """Store the process id of the driver if it is known already; otherwise ``weir.watch`` stores it later."""
    process = RunDirectory.of(context.settings.data_dir, run.directory).process_identity()
    if process is None:
        return
    with context.database.session() as session:
        jobs.find(session, run.job_id, lock=True)
        found = session.get(Run, run.id)
        if found is not None:
            found.pid, found.pid_started = process.pid, process.started
