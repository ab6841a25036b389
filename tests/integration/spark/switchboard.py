"""A stand-in for the coordinator, and a slot that does nothing but hold a line to it."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from weir.protocol.bootstrap import SlotBootstrap, SparkPlace

SECRET = b"a secret that nobody may see: 7b1d"
SPARK_SECRET = "one that Spark may not show either: 9c2e"
WAIT_S = 60.0


def line_slot(bootstrap: SlotBootstrap, index: int, place: SparkPlace) -> None:
    """Says who it is, and leaves when the line is closed."""
    import json
    import os
    import socket

    with socket.create_connection((bootstrap.host, bootstrap.port)) as line:
        told = {"index": index, "pid": os.getpid(), "executor": place.executor, "attempt": place.attempt}
        line.sendall(json.dumps(told).encode() + b"\n")
        line.recv(1)


def leaving_slot(bootstrap: SlotBootstrap, index: int, place: SparkPlace) -> None:
    """Says who it is, and leaves at once."""
    import json
    import os
    import socket

    with socket.create_connection((bootstrap.host, bootstrap.port)) as line:
        told = {"index": index, "pid": os.getpid(), "executor": place.executor, "attempt": place.attempt}
        line.sendall(json.dumps(told).encode() + b"\n")


def deaf_slot(bootstrap: SlotBootstrap, index: int, place: SparkPlace) -> None:
    """Does not notice that the line is closed."""
    import json
    import os
    import socket
    import threading

    with socket.create_connection((bootstrap.host, bootstrap.port)) as line:
        told = {"index": index, "pid": os.getpid(), "executor": place.executor, "attempt": place.attempt}
        line.sendall(json.dumps(told).encode() + b"\n")
        threading.Event().wait()


def raising_slot(bootstrap: SlotBootstrap, index: int, place: SparkPlace) -> None:
    raise ValueError("no such kernel")


@dataclass
class Line:
    index: int
    pid: int
    executor: str
    attempt: int
    socket: socket.socket

    def is_cut(self) -> bool:
        """Waits for the other end to close."""
        return self.socket.recv(1) == b""


class Switchboard:
    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(WAIT_S)
        self.lines: list[Line] = []

    @property
    def port(self) -> int:
        return int(self._server.getsockname()[1])

    def bootstrap(self) -> SlotBootstrap:
        return SlotBootstrap(job="test", host="127.0.0.1", port=self.port, secret=SECRET)

    def answer(self) -> Line:
        """The next slot that calls. Raises TimeoutError."""
        connection, _ = self._server.accept()
        connection.settimeout(WAIT_S)
        told = json.loads(connection.makefile().readline())
        line = Line(**told, socket=connection)
        self.lines.append(line)
        return line

    def hang_up(self) -> None:
        for line in self.lines:
            line.socket.close()
        self.lines.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.hang_up()
        self._server.close()
