"""A Postgres that lives as long as a block of code: for tests and benchmarks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir_workers.embedded.children import free_port, server_user
from weir_workers.embedded.postgres import Postgres, find_binaries, new_password


@contextmanager
def throwaway_postgres() -> Iterator[Postgres]:
    """Ready, and gone with all its data afterwards."""
    user = server_user()
    # Not in the caller's directory: another user may have to reach it.
    with tempfile.TemporaryDirectory(prefix="weir-postgres-") as made:
        root = Path(made)
        root.chmod(0o755)
        binaries = find_binaries(copy_to=root, user=user)
        if user is not None:
            user.own(root)
        server = Postgres(root / "data", root / "log", free_port(), new_password(), user)
        server.prepare(binaries)
        process = server.start(binaries)
        try:
            server.wait_until_ready(process)
            yield server
        finally:
            process.kill()
            process.wait()
