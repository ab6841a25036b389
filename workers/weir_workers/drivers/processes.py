"""Starting drivers on this machine, and seeing whether they live. Effects only: what follows from it is decided elsewhere."""

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
from weir_workers.drivers.directory import ProcessName, RunDirectory

LAUNCH_S = 20.0
LOG_BYTES_MAX = 64 << 20
_KEPT_OF_LOG = 8 << 20


def start(directory: RunDirectory, command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Have the driver of this run started, if it does not live already. Raises ConfigError if that did not work."""
    what = json.dumps({"command": list(command), "environment": dict(environment)})
    done = subprocess.run(
        [sys.executable, "-m", "weir_workers.drivers.launcher", directory.path],
        input=what, text=True, capture_output=True, timeout=LAUNCH_S, check=False, env=_bare(),
    )  # fmt: skip
    if done.returncode != 0:
        raise ConfigError(f"the driver could not be started: {done.stderr.strip()[-500:]}")


def _bare() -> dict[str, str]:
    """For the launcher itself: no secret, as it has no use for one."""
    return {
        name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "LANG", "HOME", "LD_LIBRARY_PATH")
    }


def lives(directory: RunDirectory, name: ProcessName | None) -> bool:
    """``name``: as it is known of the run; None: it is not known. A process is taken for alive as long as it cannot be told otherwise,
    and one that is just being started, too."""
    if directory.path.is_dir():
        return directory.is_alive() or directory.is_starting()
    return name is not None and _find(name) is not None


def _find(name: ProcessName) -> psutil.Process | None:
    try:
        process = psutil.Process(name.pid)
        same = abs(process.create_time() - name.started) < 0.5
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def kill(name: ProcessName) -> None:
    """And its process group, which has its JVM in it. Nothing happens if it is gone."""
    process = _find(name)
    if process is None:
        return
    with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
        if os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def bound_log(directory: RunDirectory) -> None:
    """Keep the end of a log that has grown too long. The driver appends, so what it writes meanwhile may be lost, and nothing else."""
    try:
        size = directory.log.stat().st_size
        if size <= LOG_BYTES_MAX:
            return
        with directory.log.open("r+b") as file:
            file.seek(size - _KEPT_OF_LOG)
            kept = file.read()
            file.seek(0)
            file.truncate()
            file.write(b"... (what came before was too long to be kept)\n" + kept)
    except FileNotFoundError:
        return
