"""Making TCP sockets: listening in a range of ports, dialling without blocking, sizes of buffers."""

from __future__ import annotations

import errno
import socket
from typing import Any

from weir.errors import ConfigError

BACKLOG = 128
SOCKET_BUFFER_BYTES = 2 * 1024 * 1024
"""Two batches of 65,536 rows of two int64 columns; the kernel clamps it to its own limit."""


def listen(host: str, ports: tuple[int, int]) -> socket.socket:
    """A non-blocking listener on the first free port of ``ports`` (first and last, both included; (0, 0): any).

    Raises ConfigError naming host and range.
    """
    first, last = ports
    if not 0 <= first <= last <= 65535 or (first == 0 and last != 0):
        raise ConfigError(f"port range {first}-{last} is not one; give 0-0 for any port, or first-last within 1-65535")
    family, _ = resolve(host, 0)
    reason = "none is free"
    for port in range(first, last + 1):
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            # A port in TIME_WAIT from an earlier generation of this range is free; one that is listened on is not.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _size_buffers(listener)  # before listen: accepted sockets inherit it and the window scale that goes with it
            listener.bind((host, port))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            reason = error.strerror or str(error)
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                break
            continue
        listener.setblocking(False)
        return listener
    where = f"{host} in the port range {first}-{last}"
    raise ConfigError(f"cannot listen on {where}: {reason}; free a port, or set another range or host")


def resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    """The first address of ``host``. Blocks only for a name that is not an address (Spark advertises either)."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError(f"host {host!r} cannot be resolved: {error.strerror or error}") from None
    return family, address


def start_connect(host: str, port: int) -> socket.socket:
    """A socket that is connecting: writable when it is, or has failed. Raises OSError if it failed at once."""
    family, address = resolve(host, port)
    dialled = socket.socket(family, socket.SOCK_STREAM)
    try:
        dialled.setblocking(False)
        _size_buffers(dialled)
        code = dialled.connect_ex(address)
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, errno.errorcode.get(code, "connect failed"))
        tune(dialled)
    except OSError:
        dialled.close()
        raise
    return dialled


def connect_failure(dialled: socket.socket) -> str | None:
    """Why a connect failed that has come to its end; None: it is up."""
    code = dialled.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        return errno.errorcode.get(code, str(code))
    try:
        # A dial to a free port of one's own ephemeral range can meet itself.
        if dialled.getsockname() == dialled.getpeername():
            return "connected to itself"
    except OSError as error:
        return error.strerror or str(error)
    return None


def tune(connected: socket.socket) -> None:
    """No delay for small frames (barriers, credit) behind unacknowledged ones."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _size_buffers(fresh: socket.socket) -> None:
    fresh.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
    fresh.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
