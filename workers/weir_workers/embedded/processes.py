"""Start processes that end with their parent, identify processes, and end them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.errors import ConfigError

_PR_SET_PDEATHSIG = 1
UNPRIVILEGED = "nobody"
"""The user that runs the servers if the supervisor is root, because Postgres refuses to run as root."""


@dataclass(frozen=True, slots=True)
class ServerUser:
    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """Make this user the owner of ``path`` and of everything below it."""
        os.chown(path, self.uid, self.gid)
        for folder, names, files in os.walk(path):
            for name in (*names, *files):
                os.chown(Path(folder, name), self.uid, self.gid, follow_symlinks=False)


def server_user() -> ServerUser | None:
    """Return the user that runs the servers, or None for the current user. Raises ConfigError if the current user is root and no
    unprivileged user exists."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise ConfigError(
            f"Postgres does not run as root, and this machine has no user '{UNPRIVILEGED}': run the command as an ordinary user"
        ) from None
    return ServerUser(entry.pw_uid, entry.pw_gid)


def spawn(
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str],
    directory: Path,
    user: ServerUser | None = None,
    signal_if_parent_dies: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start a child process in its own session, so that Ctrl-C does not reach it. The output of the child is appended to
    ``log``.

    On Linux, the kernel sends ``signal_if_parent_dies`` to the child when the calling thread ends. Raises OSError.
    """

    parent = os.getpid()

    def before_exec() -> None:
        # Popen changes the user before it calls this function. If the process changed its user later, the kernel would reset the setting of
        # prctl.
        if sys.platform == "linux":
            _libc().prctl(_PR_SET_PDEATHSIG, int(signal_if_parent_dies))
            if os.getppid() != parent:
                os._exit(1)  # the parent died before prctl

    _libc()  # loaded before the fork
    parts = [os.fspath(part) for part in command]
    # With O_APPEND the log can be truncated while the child writes (data_dir/logs.py).
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as output:
        return subprocess.Popen(
            parts,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
            preexec_fn=before_exec,  # noqa: PLW1509  # only a process without other threads calls this
        )


_loaded: ctypes.CDLL | None = None


def _libc() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        _loaded = ctypes.CDLL(None, use_errno=True)
    return _loaded


# ---- identity ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process of this host.

    ``began`` is the start time of the process, which distinguishes processes with the same pid, even after a reboot.
    """

    number: int
    began: str

    @property
    def lives(self) -> bool:
        """Whether the process is alive on this host or in this container. A zombie is not alive."""
        return began(self.number) == self.began

    def signal(self, which: signal.Signals) -> None:
        """Send a signal if the process is alive."""
        if self.lives:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.number, which)


def process_id(number: int) -> ProcessId:
    """Return the identity of a process that is alive or is a child of this process."""
    return ProcessId(number, began(number) or "ended")


def began(number: int) -> str | None:
    """Return the start time of a process, or None if it does not exist or has ended."""
    if sys.platform == "linux":
        return _began_on_linux(number)
    import psutil

    try:
        process = psutil.Process(number)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def _began_on_linux(number: int) -> str | None:
    """Return the boot id, and the start time of the process in clock ticks since boot. Setting the clock does not change these values."""
    try:
        # The file contains the process name in parentheses, and the name can itself contain parentheses.
        fields = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    if fields[0] in "ZX":
        return None
    return f"{_boot()} {fields[19]}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def end_all(processes: Iterable[tuple[ProcessId, signal.Signals]], *, grace_s: float) -> Sequence[ProcessId]:
    """Send each process its signal, and wait until all have ended. Kill the processes that are still alive after ``grace_s``.

    Returns the processes that were alive at the start of the call.
    """
    living = [(process, which) for process, which in processes if process.lives]
    for process, which in living:
        process.signal(which)
    deadline_s = time.monotonic() + grace_s
    while any(process.lives for process, _ in living):
        if time.monotonic() > deadline_s:
            for process, _ in living:
                process.signal(signal.SIGKILL)
        time.sleep(0.05)
    return [process for process, _ in living]
