"""Database sessions. The code that opens a session commits its transaction; callbacks run after the commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog
from sqlalchemy import Engine, ExceptionContext, Select, create_engine, event, text
from sqlalchemy.orm import Session, sessionmaker

from weir_backend.kit.jsonb import dumps, loads

log = structlog.get_logger(__name__)
K = TypeVar("K")
V = TypeVar("V")
_AFTER = "after_commit"
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 10_000


class Database:
    """The connection pool of this process. ``url`` includes the database driver (``postgresql+psycopg://``). A forked process must not use
    the pool of its parent process."""

    def __init__(self, url: str, *, pool_size: int, name: str) -> None:
        """``name`` is the application name that Postgres shows."""
        self.engine: Engine = create_engine(
            url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=10,
            pool_pre_ping=True,
            json_serializer=dumps,
            json_deserializer=loads,
            hide_parameters=True,  # error messages are logged, and the parameters of a statement include hashes of passwords and tokens
            connect_args={
                "application_name": name,
                "connect_timeout": 5,
                # A statement fails if it runs too long or waits too long for a lock, so that it cannot block other statements for longer.
                "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_TIMEOUT_MS} "
                "-c idle_in_transaction_session_timeout=60000 -c timezone=UTC",
            },
        )
        event.listen(self.engine, "handle_error", _remove_values)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        event.listen(self._sessions, "after_commit", _after_commit)
        event.listen(self._sessions, "after_rollback", _discard)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open a transaction, which is committed at the end and rolled back on an exception."""
        with self._sessions() as session, session.begin():
            yield session

    def ping(self) -> None:
        """Raises what SQLAlchemy raises."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        self.engine.dispose()


def _remove_values(context: ExceptionContext) -> None:
    """Remove the DETAIL part from error messages of Postgres before they are logged, because this part contains the values of the refused
    row."""
    for error in (context.original_exception, context.sqlalchemy_exception):
        if error is not None and error.args and isinstance(error.args[0], str):
            error.args = (error.args[0].split("\nDETAIL:", 1)[0], *error.args[1:])


def after_commit(session: Session, call: Callable[[], None]) -> None:
    """Run ``call`` after this session's transaction commits, never after a rollback. Exceptions of ``call`` are logged and not raised. The
    receivers of notifications also poll, so a lost notification only causes a delay."""
    session.info.setdefault(_AFTER, []).append(call)


def _after_commit(session: Session) -> None:
    for call in session.info.pop(_AFTER, ()):
        try:
            call()
        except Exception:  # the transaction is committed, and polling replaces a lost notification
            log.warning("a callback after a commit failed", exc_info=True)


def _discard(session: Session) -> None:
    session.info.pop(_AFTER, None)


def notify(session: Session, channel: str, payload: str) -> None:
    """Notify the listeners of ``channel`` when this transaction commits."""
    session.execute(text("SELECT pg_notify(:channel, :payload)"), {"channel": channel, "payload": payload})


def pairs(session: Session, query: Select[K, V]) -> dict[K, V]:
    """Run a query with two columns. Return a dictionary that maps the first column to the second."""
    return {key: value for key, value in session.execute(query)}  # noqa: C416  # dict() takes rows, but has no type for them
