"""A Valkey server that runs during a ``with`` block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir_workers.embedded.servers.valkey import Valkey, find_binary


@contextmanager
def temporary_valkey(directory: Path, port: int, password: str) -> Iterator[Valkey]:
    """Yield a ready server. The server's data stays in ``directory`` for the next server."""
    server = Valkey(directory / "data", directory / "log", port, password)
    process = server.start(find_binary())
    try:
        server.wait_until_ready(process)
        yield server
    finally:
        process.kill()
        process.wait()
