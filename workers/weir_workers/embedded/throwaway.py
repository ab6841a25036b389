"""A Postgres that lives as long as a block of code: for tests and benchmarks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir_workers.embedded.children import free_port, server_user
from weir_workers.embedded.postgres import Postgres, find_binaries, new_password


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
        process = server.start(binaries)
        try:
            server.wait_until_ready(process)
            yield server
        finally:
            process.kill()
            process.wait()
