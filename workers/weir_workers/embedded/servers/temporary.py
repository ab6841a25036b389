"""Servers that run during a ``with`` block, for tests and benchmarks."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir_workers.embedded.ports import free_port
from weir_workers.embedded.processes import server_user
from weir_workers.embedded.servers.postgres import Postgres, find_binaries, new_password
from weir_workers.embedded.servers.valkey import Valkey, find_binary


@contextmanager
def temporary_postgres(data_in: Path | None = None) -> Iterator[Postgres]:
    """Yield a ready server, and delete its data afterwards. ``data_in`` is the parent of the data directory, by default the system's
    directory for temporary files."""
    user = server_user()
    # If root calls this function, Postgres runs as another OS account. The other account may be unable to read the caller's directories, so
    # use temporary directories. The binaries need a separate directory, because ``data_in`` can be mounted noexec.
    with (
        tempfile.TemporaryDirectory(prefix="weir-postgres-") as made,
        tempfile.TemporaryDirectory(prefix="weir-postgres-", dir=data_in) as made_for_data,
    ):
        root, for_data = Path(made), Path(made_for_data)
        for one in (root, for_data):
            one.chmod(0o755)
        binaries = find_binaries(copy_to=root, user=user)
        if user is not None:
            for one in (root, for_data):
                user.own(one)
        server = Postgres(for_data / "data", root / "log", free_port(), new_password(), user)
        server.prepare(binaries)
        with _running(server, server.start(binaries)):
            yield server


@contextmanager
def running_valkey(server: Valkey) -> Iterator[Valkey]:
    """Start ``server``, and yield it when it is ready. The data of the server remains for the next start."""
    with _running(server, server.start(find_binary())):
        yield server


@contextmanager
def _running(server: Postgres | Valkey, process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        server.wait_until_ready(process)
        yield
    finally:
        process.kill()
        process.wait()
