"""Compile specs: load user code in a separate process with limits, and store the graph of the job. An advisory lock ensures that two
workers never compile the same spec at the same time."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from weir.errors import ConfigError
from weir_backend.artifacts import repository as artifacts
from weir_backend.job_manifests import repository as job_manifests
from weir_backend.job_manifests import service as job_manifest_service
from weir_backend.jobs import repository as jobs
from weir_backend.jobs import service
from weir_backend.kit.advisory_lock import LockKind, try_advisory_lock
from weir_backend.models import Artifact, Spec, SpecCheck, SpecState
from weir_backend.runs.graph import GRAPH_BYTES_MAX, GraphContent, graph_content
from weir_backend.runs.repository import store_graph
from weir_workers.context import Context, current
from weir_workers.drivers import command
from weir_workers.drivers.user_code import unpack
from weir_workers.task import task
from weir_workers.tasks.reconciliation import reconcile_job

log = structlog.get_logger(__name__)
TIME_S = 90.0
CPU_S = 120
FILE_BYTES_MAX = 1 << 30
MEMORY_BYTES_MAX = 4 << 30
"""The limit for each process of a compilation. Without a limit, user code could use up the memory of the host, on which Postgres and drivers
can run."""
MESSAGE_CHARACTERS_MAX = 2_000


@task("weir.compile", time_limit_s=115)
def compile_spec(spec_id: int) -> None:
    """Store the graph of a spec, or the reason why it does not compile."""
    context = current()
    # The task can be enqueued again while it is still running.
    with try_advisory_lock(context.database, LockKind.COMPILE, spec_id) as locked:
        if locked:
            _compile(context, spec_id)


def _compile(context: Context, spec_id: int) -> None:
    with context.database.session() as session:
        spec = jobs.find_spec_by_id(session, spec_id)
        if spec.state is not SpecState.COMPILING or jobs.find(session, spec.job_id) is None:
            return
        artifact = artifacts.find(session, spec.artifact_id)
        assert artifact is not None, "a spec keeps its artifact"
        data = artifacts.content(session, artifact.id)
    graph, problem = _result(context, spec, artifact, data)
    with context.database.session() as session:
        graph_id = store_graph(session, graph) if graph is not None else None
        service.compiled(session, context.tasks, jobs.find_spec_by_id(session, spec_id), graph_id=graph_id, problem=problem)
    reconcile_job(context, spec.job_id)


@task("weir.check_spec", time_limit_s=115)
def check_spec(check_id: int) -> None:
    """Compile a spec that is not stored as a version of a job yet. Store its graph or, if it does not compile, the reason."""
    context = current()
    with try_advisory_lock(context.database, LockKind.CHECK_SPEC, check_id) as locked:
        if locked:
            compile_checked_spec(context, check_id)


def compile_checked_spec(context: Context, check_id: int) -> None:
    with context.database.session() as session:
        check = job_manifests.find_check_by_id(session, check_id)
        if check is None or check.state is not SpecState.COMPILING or check.graph_id is not None:
            return
        artifact = artifacts.find(session, check.artifact_id)
        if artifact is None:
            return
        data = artifacts.content(session, artifact.id)
    graph, problem = _result(context, check, artifact, data)
    with context.database.session() as session:
        graph_id = store_graph(session, graph) if graph is not None else None
        job_manifest_service.record_compilation(session, context.tasks, check_id, graph_id=graph_id, problem=problem)


def _result(context: Context, spec: Spec | SpecCheck, artifact: Artifact, data: bytes) -> tuple[GraphContent | None, str | None]:
    """Return the graph, or the reason why the spec does not compile."""
    try:
        return graph_content(compiled(spec, artifact, data, also=context.settings.compile_environment)), None
    except ConfigError as error:
        return None, str(error)
    except SoftTimeLimitExceeded:
        return None, "loading the job file takes too long"
    except Exception as error:
        # Store any failure, because a spec without a result would be compiled again forever.
        log.exception("cannot compile a spec", table=spec.__tablename__, id=spec.id)
        return None, f"compilation failed: {type(error).__name__}: {error}"


def compiled(spec: Spec | SpecCheck, artifact: Artifact, data: bytes, *, also: str = "") -> dict[str, Any]:
    """Return the physical graph. ``also``: see ``command.compile_environment``. Raises ConfigError with a message for the user."""
    with tempfile.TemporaryDirectory(prefix="weir-compile-") as made:
        folder = Path(made)
        code = folder / "code"
        unpack(artifact.kind, artifact.name, data, code)
        job = command.target(artifact.kind, artifact.name, spec.body["entry"], code)
        environment = command.compile_environment(os.environ, {"TMPDIR": made, "HOME": made}, also=also, code=code)
        output, errors, status = _run(command.graph_command(spec.body, job=job), environment, folder)
    if status != 0:
        raise ConfigError(_message(errors, status).replace(f"{code}/", ""))
    if len(output) > GRAPH_BYTES_MAX:
        raise ConfigError(f"the graph has {len(output):,} bytes as JSON; the limit is {GRAPH_BYTES_MAX:,}")
    try:
        graph = json.loads(output)
    except ValueError:
        graph = None
    if not isinstance(graph, dict) or "logical" not in graph:
        raise ConfigError(
            "the job file prints to standard output while it is loaded: remove the print calls or print to standard error"
        )
    return graph


def _run(arguments: list[str], environment: dict[str, str], folder: Path) -> tuple[bytes, str, int]:
    with (folder / "out").open("w+b") as out, (folder / "err").open("w+b") as err:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, cwd=folder, start_new_session=True,
            preexec_fn=_limit,  # noqa: PLW1509  # a process of a worker's pool has no other threads
        )  # fmt: skip
        try:
            status = process.wait(TIME_S)
        except subprocess.TimeoutExpired:
            raise ConfigError(
                f"loading the job file takes longer than {TIME_S:.0f} s: the file must only describe the job, not run it"
            ) from None
        finally:
            _end_group(process)
        out.seek(0)
        err.seek(0)
        return out.read(GRAPH_BYTES_MAX + 1), err.read(1 << 20).decode(errors="replace"), status


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))
    # RLIMIT_AS would not work, because a JVM reserves far more address space than it uses.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole process group, because user code may have started other processes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all processes of the group have ended
    process.wait()


def _message(errors: str, status: int) -> str:
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    own = [line.removeprefix("weir: ") for line in lines if line.startswith("weir: ")]
    message = "\n".join(own or lines[-5:])[-MESSAGE_CHARACTERS_MAX:]
    if status < 0:
        return f"the process that loads the job file was ended by signal {-status}{': ' + message if message else ''}"
    return message or f"the process that loads the job file ended with exit code {status}"
