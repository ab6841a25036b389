"""Servers that live as long as a block of code: for tests and benchmarks."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from weir_workers.embedded.children import free_port, server_user
from weir_workers.embedded.postgres import Postgres, find_binaries, new_password
from weir_workers.embedded.valkey import Valkey, find_binary


@contextmanager
def throwaway_postgres(data_in: Path | None = None) -> Iterator[Postgres]:
    """Ready, and gone with all its data afterwards. ``data_in``: below which directory the data are; default: where temporary files go."""
    user = server_user()
    # Not in the caller's directory: another user may have to reach it. And not all in one: no program may be run where the data are.
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
        with _while_it_lasts(server, server.start(binaries)):
            yield server


@contextmanager
def throwaway_valkey(directory: Path, port: int, password: str) -> Iterator[Valkey]:
    """Ready, and gone afterwards; what it has stored stays in ``directory``, so that it can come back."""
    server = Valkey(directory / "data", directory / "log", port, password)
    with _while_it_lasts(server, server.start(find_binary())):
        yield server


class _Server(Protocol):
    def wait_until_ready(self, process: subprocess.Popen[bytes]) -> None: ...


@contextmanager
def _while_it_lasts(server: _Server, process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        server.wait_until_ready(process)
        yield
    finally:
        process.kill()
        process.wait()
