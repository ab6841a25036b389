"""TCP sockets: listening in a port range, non-blocking connects, buffer sizes, and the limit of file descriptors."""

from __future__ import annotations

import errno
import os
import resource
import socket
from typing import Any

from weir.errors import ConfigError

BACKLOG = 1024
"""Number of connections that the operating system keeps until the process accepts them. In a job with 1,024 slots, 1,023 slots
connect to the same slot at the same time. The operating system can reduce the number (Linux: ``net.core.somaxconn``)."""
DESCRIPTORS_RESERVED = 256
"""Number of file descriptors that a process keeps for input files, state files, storage and connections in the handshake."""
SOCKET_BUFFER_BYTES = 2 * 1024 * 1024
"""The size of two batches, each with 65,536 rows and two int64 columns. The kernel can reduce the size to its own maximum."""


def listen(host: str, ports: tuple[int, int]) -> socket.socket:
    """Return a non-blocking listener on the first free port in the range ``ports`` (first and last, inclusive). (0, 0) means
    any port.

    If no port is free, raise ConfigError that names the host and the range.
    """
    first, last = ports
    if not 0 <= first <= last <= 65535 or (first == 0 and last != 0):
        raise ConfigError(f"invalid port range {first}-{last}. Give 0-0 for any port, or first-last within 1-65535.")
    family, _ = resolve(host, 0)
    reason = "no port is free"
    for port in range(first, last + 1):
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            # With SO_REUSEADDR, a port in TIME_WAIT counts as free, but a port with a listener does not.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Set the buffer sizes before ``listen``, because accepted sockets inherit the sizes and the window scale.
            _size_buffers(listener)
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
    raise ConfigError(f"Cannot listen on {where}: {reason}. Free a port, or set another range or host.")


def reserve_descriptors(connections: int, *, process: str) -> None:
    """Make sure that this process can open ``connections`` more sockets. If the soft limit of file descriptors is too low, raise
    the soft limit.

    Raise ConfigError if the hard limit is too low. ``process`` names this process at the start of the message.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(os.listdir("/proc/self/fd"))
    needed = in_use + connections + DESCRIPTORS_RESERVED
    limit = soft_limit_for(needed, soft=soft, hard=hard)
    if limit is None:
        raise ConfigError(
            f"{process} (pid {os.getpid()} on host {socket.gethostname()}) needs {needed:,} file descriptors: {connections:,} for "
            f"connections, {in_use:,} that are in use, and {DESCRIPTORS_RESERVED:,} in reserve. The limit is {hard:,}. Use fewer "
            f"slots, or raise the limit of the program that starts this process to {needed:,} or more: `ulimit -n {needed}` in a "
            "shell, LimitNOFILE in a systemd unit, the limit of the container runtime in Kubernetes, or the limit of the "
            "NodeManager on YARN."
        )
    if limit != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def soft_limit_for(needed: int, *, soft: int, hard: int) -> int | None:
    """Return the soft limit with which a process can use ``needed`` descriptors: ``soft`` if it is high enough, otherwise
    ``needed``. Return None if ``hard`` is lower than ``needed``. RLIM_INFINITY means that there is no limit."""
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return soft
    return needed if hard == resource.RLIM_INFINITY or hard >= needed else None


def resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    """Return the first address of ``host``. The call blocks only if ``host`` is a name, not an address (Spark advertises names
    or addresses). Raise ConfigError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError(f"Cannot resolve host {host!r}: {error.strerror or error}") from None
    return family, address


def start_connect(host: str, port: int) -> socket.socket:
    """Return a connecting socket, which becomes writable when the connection is established or has failed. Raise OSError if the
    connection fails at once."""
    family, address = resolve(host, port)
    connecting = socket.socket(family, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        _size_buffers(connecting)
        code = connecting.connect_ex(address)
        if code not in (0, errno.EINPROGRESS):
            raise OSError(code, errno.errorcode.get(code, "connect failed"))
        tune(connecting)
    except OSError:
        connecting.close()
        raise
    return connecting


def connect_failure(connecting: socket.socket) -> str | None:
    """Return the reason why a finished connect has failed, or None if the connect has succeeded."""
    code = connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        return errno.errorcode.get(code, str(code))
    try:
        # If a socket connects to a free local port in the ephemeral range, the kernel can connect the socket to itself.
        if connecting.getsockname() == connecting.getpeername():
            return "connected to itself"
    except OSError as error:
        return error.strerror or str(error)
    return None


def tune(connected: socket.socket) -> None:
    """Send small frames (barriers, credit) without delay."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _size_buffers(fresh: socket.socket) -> None:
    fresh.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
    fresh.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
