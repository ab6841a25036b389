"""The id of this host. Only workers on the host of a driver can start the driver, signal it and check whether it is alive."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
from pathlib import Path

FILE = "host"
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The id of the initial PID namespace of Linux. Processes in containers have another PID namespace."""


def host_id(data_dir: Path) -> str:
    """Return the id of this host for this data directory: 16 hexadecimal digits. Raises OSError.

    All processes of a machine (or container) that use the directory get the same id, also after a restart. On a different machine, a copy
    of the directory gets a different id."""
    return hashlib.sha256(f"{_machine()}\0{_directory_id(data_dir)}".encode()).hexdigest()[:16]


def _directory_id(data_dir: Path) -> str:
    """Return the random id of the directory, which the first process generates."""
    path = data_dir / FILE
    if not path.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(16) + "\n")
        # Unlike a rename, a link never replaces a file that another process has created in the meantime.
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
    # Containers of one image share the machine id, but each has its own host name.
    return f"{machine} {socket.gethostname()}" if contained or not machine else machine
