"""Which host a worker is on: only the workers there can start its drivers, signal them and see whether they live."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
from pathlib import Path

FILE = "host"
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""Of a Linux that is no container, whichever."""


def host_id(data_dir: Path) -> str:
    """16 hexadecimal digits: the same for all processes of this machine (or container) with this data directory, also after
    a restart; another one where the directory has been copied to. Raises OSError."""
    return hashlib.sha256(f"{_machine()}\0{_mark(data_dir)}".encode()).hexdigest()[:16]


def _mark(data_dir: Path) -> str:
    """Of the directory: written by whoever comes first."""
    path = data_dir / FILE
    if not path.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(16) + "\n")
        # A link never replaces what another process has written meanwhile.
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    return path.read_text().strip()


def _machine() -> str:
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""
    try:
        contained = os.readlink("/proc/self/ns/pid") != _FIRST_PID_NAMESPACE
    except OSError:
        contained = False
    # The id that a container finds in its image is that of all others made from it; its name is its own.
    return f"{machine} {socket.gethostname()}" if contained or not machine else machine
