"""Advisory locks of Postgres ensure that two processes never do the same work at the same time, even on different hosts. A lock ends with the
connection or the transaction that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from sqlalchemy import text
from sqlalchemy.orm import Session

from weir_backend.kit.database import Database


class LockKind(IntEnum):
    """The first half of the key of an advisory lock."""

    COMPILE = 0x7765_0001
    INSPECT = 0x7765_0002
    CHECK_SPEC = 0x7765_0003
    THIN_HISTORY = 0x7765_0004


@contextmanager
def try_advisory_lock(database: Database, work: LockKind, target_id: int) -> Iterator[bool]:
    """Yield True if this process holds the lock until the context ends, and False if another process holds it."""
    connection = database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    try:
        yield bool(
            connection.scalar(
                text("SELECT pg_try_advisory_lock(:work, :which)"), {"work": work.value, "which": target_id % (1 << 31)}
            )
        )
    finally:
        # Do not return the connection to the pool, because the next user of the connection would hold the lock.
        connection.invalidate()
        connection.close()


def try_transaction_lock(session: Session, work: LockKind) -> bool:
    """Return True if the transaction of ``session`` holds the lock until its end, and False if another process holds it."""
    return bool(session.scalar(text("SELECT pg_try_advisory_xact_lock(:work, 0)"), {"work": work.value}))
