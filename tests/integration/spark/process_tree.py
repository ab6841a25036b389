"""Finds out what the processes of a Spark application expose to other users of the host."""

from __future__ import annotations

import contextlib
import socket
import struct
from pathlib import Path

import psutil
from tests.process_details import unless_ended


def process_tree(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def argument_lists(processes: list[psutil.Process]) -> str:
    shown = []
    for process in processes:
        with contextlib.suppress(OSError):
            shown.append(Path(f"/proc/{process.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(shown)


def listening(processes: list[psutil.Process]) -> list[tuple[str, int]]:
    """Return (address, port) of every listening TCP socket of the processes."""
    found = set()
    for process in processes:
        for connection in unless_ended(process, lambda one: one.net_connections("tcp")) or ():
            if connection.status == psutil.CONN_LISTEN:
                found.add((connection.laddr.ip, connection.laddr.port))
    return sorted(found)


_SPARK_CALL = struct.pack(">qbqi", 8 + 13 + 5, 3, 77, 5) + b"hello"
"""A remote call of Spark: frame length, kind 3, call number 77, body length and body."""
_GATEWAY_CALL = b"c\no0\nshutdown\ne\n"
_PAGE_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


QUIET_S = (0.5, 5.0, 60.0)
"""How long to wait for a response. Some servers wait for more data instead of responding, and a busy machine responds late."""


def refusing_server(port: int) -> str:
    """Send unauthenticated calls to ``port`` and return the kind of server that refuses them. Return '' if no
    response is a known refusal."""
    return next((kind for quiet_s in QUIET_S if (kind := _refusing_server(port, quiet_s))), "")


def _refusing_server(port: int, quiet_s: float) -> str:
    if b"Expected SaslMessage" in send_unauthenticated(port, _SPARK_CALL, quiet_s):
        return "spark"
    response = send_unauthenticated(port, _GATEWAY_CALL, quiet_s)
    if response.startswith(b"!x") and b"uthentication" in response:
        return "gateway"
    if send_unauthenticated(port, _PAGE_REQUEST, quiet_s).startswith(b"HTTP/1.1 403"):
        return "page"
    return ""


def send_unauthenticated(port: int, message: bytes, quiet_s: float = QUIET_S[0]) -> bytes:
    """Send a message without authentication. Return the data that arrives until the connection ends or no data
    arrives for ``quiet_s``."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=quiet_s) as connection, contextlib.suppress(OSError):
        connection.sendall(message)
        while chunk := connection.recv(65_536):
            received += chunk
    return received
