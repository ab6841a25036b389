"""Start drivers on this host, check whether they are alive, and kill them. The callers decide."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

import psutil

from weir.errors import ConfigError
from weir_workers.drivers.run_directory import ProcessIdentity, RunDirectory

LAUNCH_S = 20.0
LOG_BYTES_MAX = 64 << 20
_LOG_TAIL_BYTES = 8 << 20


def start(directory: RunDirectory, command: Sequence[str], environment: Mapping[str, str], *, secrets: str | None = None) -> None:
    """Start the driver of this run unless it is alive. ``secrets``: from ``drivers.secrets.document``; the driver reads it from a pipe. Raises
    ConfigError."""
    request = json.dumps({"command": list(command), "environment": dict(environment), "secrets": secrets})
    done = subprocess.run(
        [sys.executable, "-m", "weir_workers.drivers.launcher", directory.path],
        input=request, text=True, capture_output=True, timeout=LAUNCH_S, check=False, env=_launcher_environment(),
    )  # fmt: skip
    if done.returncode != 0:
        raise ConfigError(f"the driver cannot be started: {done.stderr.strip()[-500:]}")


def _launcher_environment() -> dict[str, str]:
    """Return the environment of the launcher, without secrets."""
    return {
        name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "LANG", "HOME", "LD_LIBRARY_PATH")
    }


def is_alive(directory: RunDirectory, process: ProcessIdentity | None) -> bool:
    """Return whether the driver is alive or being started.

    ``process`` is the stored identity of the driver's process, if any. ``process`` is used only if the run has no directory.
    """
    if directory.path.is_dir():
        return directory.is_alive() or directory.is_starting()
    return process is not None and _find(process) is not None


def _find(identity: ProcessIdentity) -> psutil.Process | None:
    try:
        process = psutil.Process(identity.pid)
        same = abs(process.create_time() - identity.started) < 0.5
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def kill(identity: ProcessIdentity) -> None:
    """Kill the process and its process group, which includes its JVM. Does nothing if the process has ended."""
    process = _find(identity)
    if process is None:
        return
    with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def bound_log(directory: RunDirectory) -> None:
    """If the log is too large, keep only its end. Lines that the driver writes during this call can be lost."""
    try:
        size = directory.log.stat().st_size
        if size <= LOG_BYTES_MAX:
            return
        with directory.log.open("r+b") as file:
            file.seek(size - _LOG_TAIL_BYTES)
            kept = file.read()
            file.seek(0)
            file.truncate()
            file.write(b"... (earlier lines were deleted)\n" + kept)
    except FileNotFoundError:
        return
