"""The command lines and environments of drivers and compilations, computed from a version of a spec. Pure."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from weir_backend.jobs.spec import with_defaults
from weir_backend.models import ArtifactKind

RUNTIME = [sys.executable, "-m", "weir.cli"]
_SETTINGS_PREFIX = "WEIR_"
_DRIVER_SETTINGS = frozenset({"WEIR_SPARK_CONF_FILE"})
COMPILE_VARIABLES = (
    "PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_*",
    "JAVA_HOME", "SPARK_HOME", "SPARK_SUBMIT_OPTS", "SPARK_LOCAL_IP", "HADOOP_HOME", "HADOOP_CONF_DIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "OMP_NUM_THREADS", "NUMBA_*", "POLARS_*",
)  # fmt: skip
"""Environment variables that the compilation of a job gets: paths and options, no secrets. A star matches any suffix."""
_DATABASE_AND_BROKER = frozenset({"CELERY_BROKER_URL", "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE"})


def target(kind: ArtifactKind, name: str, entry: str, code: Path) -> str:
    """Return the job argument of ``weir run`` and ``weir graph``."""
    if kind is ArtifactKind.PYTHON:
        return f"{code / PurePath(name).name}:{entry.rpartition(':')[2]}"
    module, _, function = entry.rpartition(":")
    return f"{module}:{function}" if module else f"{entry}:job"


def settings(body: Mapping[str, Any]) -> list[str]:
    """Return the job's parameters as options of ``weir run`` and ``weir graph``."""
    return [part for name, value in body["parameters"].items() for part in ("--set", f"{name}={_text(value)}")]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def run_command(
    body: Mapping[str, Any],
    *,
    job: str,
    directory: str,
    start: Mapping[str, Any],
    archive: Path | None,
    at_least: int | None = None,
    metrics: str | None = None,
) -> list[str]:
    """Return the command that runs the job.

    ``job``: from ``target``. ``directory``: the checkpoint directory. ``archive``: a zip file or wheel for executors on other
    hosts. ``at_least``: the newest checkpoint that is known to exist, if any. ``metrics``: the address of the metrics server; its
    token is in the environment."""
    body = with_defaults(body)
    checkpointing = body["checkpointing"]
    tolerable = checkpointing["tolerable_failed_checkpoints"]
    conf = dict(body["spark_conf"])
    if archive is not None and not body["master"].startswith("local"):
        conf["spark.submit.pyFiles"] = ",".join(filter(None, (conf.get("spark.submit.pyFiles"), str(archive))))
    return [
        *RUNTIME, "run", job, *settings(body),
        "--parallelism", str(body["parallelism"]), "--spares", str(body["spares"]), "--master", body["master"],
        "--checkpoint-dir", directory, "--interval", checkpointing["interval"], "--retained", str(checkpointing["retained"]),
        "--checkpoint-timeout", checkpointing["timeout"], "--min-pause", checkpointing["min_pause"],
        "--tolerable-failed-checkpoints", "none" if tolerable is None else str(tolerable),
        *[part for name, timeout in body["timeouts"].items() for part in (f"--{name}-timeout", timeout)],
        "--network-memory", body["network_memory"], "--buffer-timeout", body["buffer_timeout"],
        "--recovery", body["recovery"],
        *(["--staging-dir", checkpointing["staging_directory"]] if checkpointing["staging_directory"] else []),
        *(["--allow-non-restored-state"] if body["allow_non_restored_state"] else []),
        *[part for name, value in conf.items() for part in ("--conf", f"{name}={value}")],
        *(["--metrics", metrics] if metrics is not None else []),
        *_start_options(start, at_least), *(["--revoke-unknown-output"] if start.get("revoke_unknown_output") else []),
        "--log-format", "json", "--quiet",
    ]  # fmt: skip


def _start_options(start: Mapping[str, Any], at_least: int | None) -> list[str]:
    """Return the options that determine the checkpoint from which the run starts. The options include ``--yes``, because the
    preview has shown the user which checkpoints are abandoned."""
    match start["mode"]:
        case "from":
            return ["--from", str(start["checkpoint"]), "--yes"]
        case "path":
            return ["--from-path", start["path"], "--yes"]
        case _:
            return ["--resume", *(["--at-least", str(at_least)] if at_least is not None else [])]


def graph_command(body: Mapping[str, Any], *, job: str) -> list[str]:
    return [*RUNTIME, "graph", job, *settings(body), "--parallelism", str(body["parallelism"]), "--json"]


def compile_environment(worker: Mapping[str, str], more: Mapping[str, str], *, also: str, code: Path) -> dict[str, str]:
    """Return the environment of a process that compiles a job. The environment contains ``more``, and each variable of the
    worker that matches a name in ``COMPILE_VARIABLES`` or ``also``. ``also`` is a list of names, separated by commas. A star at
    the end of a name matches any suffix. Settings of the control plane are left out, even if ``also`` names them."""
    allowed = (*COMPILE_VARIABLES, *filter(None, (pattern.strip() for pattern in also.split(","))))
    inherited = environment(worker, {}, code=code)
    return {name: value for name, value in inherited.items() if _matches(name, allowed)} | {"PYTHONUNBUFFERED": "1"} | dict(more)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in patterns)


def environment(worker: Mapping[str, str], more: Mapping[str, str], *, code: Path) -> dict[str, str]:
    """Return the environment of a driver: the environment of the worker without the settings of the control plane, plus the
    variables in ``more``. The variables in ``more`` take precedence.

    The result also contains the worker's credentials for other services, because the driver needs these credentials to read and write the
    data of the job.
    """
    kept = {
        name: value
        for name, value in worker.items()
        if (not name.startswith(_SETTINGS_PREFIX) or name in _DRIVER_SETTINGS) and name not in _DATABASE_AND_BROKER
    }
    path = [str(code), *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": ":".join(path), "PYTHONUNBUFFERED": "1"} | dict(more)
