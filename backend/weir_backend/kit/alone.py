"""Work that one process at a time does, in whichever process of whichever machine: held by a connection, so it ends with its holder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from sqlalchemy import text

from weir_backend.kit.database import Database


class Work(IntEnum):
    """First half of the key of an advisory lock."""

    COMPILE = 0x7765_0001
    INSPECT = 0x7765_0002


@contextmanager
def alone(database: Database, work: Work, which: int) -> Iterator[bool]:
    """Whether it is ours, until the end of the context. False: another process is at it."""
    connection = database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    try:
        yield bool(
            connection.scalar(
                text("SELECT pg_try_advisory_lock(:work, :which)"), {"work": work.value, "which": which % (1 << 31)}
            )
        )
    finally:
        # Not back into the pool: whoever got it there would have the lock.
        connection.invalidate()
        connection.close()
