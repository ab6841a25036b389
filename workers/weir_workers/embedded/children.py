"""Processes that end with the one that started them."""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import socket
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.errors import ConfigError

_PR_SET_PDEATHSIG = 1
TRIES = 100
"""The kernel is asked so often for a port that nobody else of ours has: it may name the same one twice."""
UNPRIVILEGED = "nobody"
"""Who a server runs as where we are root: Postgres refuses to be."""


@dataclass(frozen=True, slots=True)
class ServerUser:
    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """``path`` and all below it."""
        os.chown(path, self.uid, self.gid)
        for folder, names, files in os.walk(path):
            for name in (*names, *files):
                os.chown(Path(folder, name), self.uid, self.gid, follow_symlinks=False)


def server_user() -> ServerUser | None:
    """None: whoever we are. Raises ConfigError if we are root and there is no user without rights."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        raise ConfigError(
            f"Postgres does not run as root, and this machine has no user '{UNPRIVILEGED}': run this as an ordinary user"
        ) from None
    return ServerUser(entry.pw_uid, entry.pw_gid)


def spawn(
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str],
    directory: Path,
    user: ServerUser | None = None,
    signal_if_we_die: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """A child in a session of its own, so that Ctrl-C in our terminal is ours; what it says is appended to ``log``.

    It gets ``signal_if_we_die`` (Linux) when the thread that calls this ends, however it ends. Raises OSError.
    """

    parent = os.getpid()

    def before_exec() -> None:
        # Between fork and exec, after the change of user: that would undo it.
        if sys.platform == "linux":
            _libc().prctl(_PR_SET_PDEATHSIG, int(signal_if_we_die))
            if os.getppid() != parent:
                os._exit(1)  # it died before that

    _libc()  # loaded before the fork
    parts = [os.fspath(part) for part in command]
    # Appended to, so that it can be emptied under the writer (log_files.py).
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


def free_port(wanted: int | None = None, *, but: Collection[int | None] = ()) -> int:
    """``wanted`` if nobody listens there, else any; none of ``but``, where others of ours are to listen. Somebody else may take it before
    we do: then the server says so. Raises ConfigError if there is none."""
    for port in (*([wanted] if wanted and wanted not in but else []), *[0] * TRIES):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
        if found not in but:
            return found
    raise ConfigError("there is no free port on 127.0.0.1")


def tail(log: Path, lines: int = 5) -> str:
    """The last lines of it; '' if there are none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8_192))
            found = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return "\n".join(found[-lines:])
