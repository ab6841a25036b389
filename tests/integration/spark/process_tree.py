"""What the processes of a Spark application expose to other users of the host."""

from __future__ import annotations

import contextlib
import socket
import struct
from pathlib import Path

import psutil


def family(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def argument_lists(processes: list[psutil.Process]) -> str:
    shown = []
    for process in processes:
        with contextlib.suppress(OSError):
            shown.append(Path(f"/proc/{process.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(shown)


def listening(processes: list[psutil.Process]) -> list[tuple[str, int]]:
    """(address, port) of every listening TCP socket."""
    found = set()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            for connection in process.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN:
                    found.add((connection.laddr.ip, connection.laddr.port))
    return sorted(found)


_SPARK_CALL = struct.pack(">qbqi", 8 + 13 + 5, 3, 77, 5) + b"hello"
"""Length of the frame, kind (a remote call), its number, length of its body, body."""
_GATEWAY_CALL = b"c\no0\nshutdown\ne\n"
_PAGE_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def refusal(port: int) -> str:
    """Return how the server at ``port`` refuses a valid call of an unauthenticated client; empty: it does not."""
    if b"Expected SaslMessage" in intrude(port, _SPARK_CALL):
        return "spark"
    answer = intrude(port, _GATEWAY_CALL)
    if answer.startswith(b"!x") and b"uthentication" in answer:
        return "gateway"
    if intrude(port, _PAGE_REQUEST).startswith(b"HTTP/1.1 403"):
        return "page"
    return ""


def intrude(port: int, message: bytes) -> bytes:
    """Return the response to an unauthenticated ``message``, up to the end of the connection or a moment without data."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=0.5) as line, contextlib.suppress(OSError):
        line.sendall(message)
        while chunk := line.recv(65_536):
            got += chunk
    return got
