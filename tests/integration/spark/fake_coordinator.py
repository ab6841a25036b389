"""A fake coordinator, and slot functions that only connect to it."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from weir.protocol.bootstrap import SlotBootstrap, SparkTaskInfo

SECRET = b"a secret of the test: 7b1d"
SPARK_SECRET = "a Spark secret of the test: 9c2e"
WAIT_S = 180.0


def registration(index: int, spark_task: SparkTaskInfo) -> bytes:
    """Return the line with which a slot registers."""
    import json
    import os

    fields = {"index": index, "pid": os.getpid(), "executor": spark_task.executor, "spark_task": spark_task.spark_task}
    return json.dumps(fields).encode() + b"\n"


def connected_slot(bootstrap: SlotBootstrap, index: int, spark_task: SparkTaskInfo) -> None:
    """A slot that registers, and returns when the coordinator closes the connection."""
    import socket

    with socket.create_connection((bootstrap.host, bootstrap.port)) as connection:
        connection.sendall(registration(index, spark_task))
        connection.recv(1)


def ending_slot(bootstrap: SlotBootstrap, index: int, spark_task: SparkTaskInfo) -> None:
    """A slot that registers and returns immediately."""
    import socket

    with socket.create_connection((bootstrap.host, bootstrap.port)) as connection:
        connection.sendall(registration(index, spark_task))


def unresponsive_slot(bootstrap: SlotBootstrap, index: int, spark_task: SparkTaskInfo) -> None:
    """A slot that registers and never returns, even if the coordinator closes the connection."""
    import socket
    import threading

    with socket.create_connection((bootstrap.host, bootstrap.port)) as connection:
        connection.sendall(registration(index, spark_task))
        threading.Event().wait()


def raising_slot(bootstrap: SlotBootstrap, index: int, spark_task: SparkTaskInfo) -> None:
    raise ValueError("raised by the slot")


@dataclass
class SlotConnection:
    index: int
    pid: int
    executor: str
    spark_task: int
    socket: socket.socket

    def is_closed(self) -> bool:
        """Wait until the slot closes the connection."""
        return self.socket.recv(1) == b""


class FakeCoordinator:
    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(WAIT_S)
        self.connections: list[SlotConnection] = []

    @property
    def port(self) -> int:
        return int(self._server.getsockname()[1])

    def bootstrap(self) -> SlotBootstrap:
        return SlotBootstrap(job="test", host="127.0.0.1", port=self.port, secret=SECRET)

    def accept(self) -> SlotConnection:
        """Wait for the next slot and return its connection. Raises TimeoutError."""
        client, _ = self._server.accept()
        client.settimeout(WAIT_S)
        connection = SlotConnection(**json.loads(client.makefile().readline()), socket=client)
        self.connections.append(connection)
        return connection

    def close_connections(self) -> None:
        for connection in self.connections:
            connection.socket.close()
        self.connections.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close_connections()
        self._server.close()
