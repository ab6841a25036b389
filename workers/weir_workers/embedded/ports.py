"""TCP ports of this host: find free ports, and find the process that listens at a port.

A response at a port of the platform does not prove that the platform is running, because another program can use the port.
"""

from __future__ import annotations

import socket
from collections.abc import Collection

import psutil

from weir.errors import ConfigError

TRIES = 100
"""Maximum number of times that ``free_port`` asks the operating system for a port. If the operating system offers an excluded
port, the function asks for another port."""


def free_port(wanted: int | None = None, *, excluded: Collection[int | None] = ()) -> int:
    """Return ``wanted`` if it is free, otherwise another free port. The ``excluded`` ports, which other servers of this platform use,
    are never returned. If another program takes the returned port before the server does, the server fails to start. Raises ConfigError."""
    for port in (*([wanted] if wanted and wanted not in excluded else []), *[0] * TRIES):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
        if found not in excluded:
            return found
    raise ConfigError("no free port on 127.0.0.1")


def is_taken(port: int) -> bool:
    return free_port(port) != port


def listens(process: int, port: int) -> bool:
    """Return whether the process or one of its descendants listens at the port. Return False if the process cannot be inspected."""
    try:
        own = psutil.Process(process)
        return _has(own, port) or any(_has(one, port) for one in own.children(recursive=True))
    except psutil.Error:
        return False


def _has(process: psutil.Process, port: int) -> bool:
    try:
        return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in process.net_connections("tcp"))
    except psutil.Error:
        return False  # the process has ended, or belongs to another user


def holder(port: int) -> str:
    """Describe the process that listens at the port: its pid, or 'another program' if this user may not see the pid."""
    try:
        found = [one.pid for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.laddr.port == port]
    except psutil.Error:
        found = []
    return f"process {found[0]}" if found and found[0] is not None else "another program"
