"""Sessions: one transaction each, committed at the edge that opened it; what is to be told to others is told after that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from sqlalchemy import Engine, ExceptionContext, create_engine, event, text
from sqlalchemy.orm import Session, sessionmaker

from weir_backend.kit.json_form import dumps, loads

log = structlog.get_logger(__name__)
_AFTER = "after_commit"
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 10_000


class Database:
    """Connections of this process. ``url``: with the driver (``postgresql+psycopg://``). Not to be carried over a fork."""

    def __init__(self, url: str, *, pool_size: int, name: str) -> None:
        """``name``: what Postgres calls our connections."""
        self.engine: Engine = create_engine(
            url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=10,
            pool_pre_ping=True,
            json_serializer=dumps,
            json_deserializer=loads,
            hide_parameters=True,  # in messages of errors, which are logged: hashes of passwords and tokens are among them
            connect_args={
                "application_name": name,
                "connect_timeout": 5,
                # Who waits longer for a lock or a row than this is told so instead of holding up all others.
                "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_TIMEOUT_MS} "
                "-c idle_in_transaction_session_timeout=60000 -c timezone=UTC",
            },
        )
        event.listen(self.engine, "handle_error", _tell_no_values)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        event.listen(self._sessions, "after_commit", _after_commit)
        event.listen(self._sessions, "after_rollback", _forget)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A transaction: committed at the end, rolled back if something is raised."""
        with self._sessions() as session, session.begin():
            yield session

    def ping(self) -> None:
        """Raises what SQLAlchemy raises."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        self.engine.dispose()


def _tell_no_values(context: ExceptionContext) -> None:
    """Postgres adds the row that it has refused as DETAIL. What went wrong is logged, values are not."""
    for error in (context.original_exception, context.sqlalchemy_exception):
        if error is not None and error.args and isinstance(error.args[0], str):
            error.args = (error.args[0].split("\nDETAIL:", 1)[0], *error.args[1:])


def after_commit(session: Session, call: Callable[[], None]) -> None:
    """``call`` once this session's transaction is durable, and not at all if it is rolled back. What it raises is logged:
    whatever it tells is found by looking, too."""
    session.info.setdefault(_AFTER, []).append(call)


def _after_commit(session: Session) -> None:
    for call in session.info.pop(_AFTER, ()):
        try:
            call()
        except Exception:  # the transaction is durable: who is not told now finds it by looking
            log.warning("nobody could be told of a change", exc_info=True)


def _forget(session: Session) -> None:
    session.info.pop(_AFTER, None)


def notify(session: Session, channel: str, payload: str) -> None:
    """Wake whoever listens to ``channel``, once this transaction is durable."""
    session.execute(text("SELECT pg_notify(:channel, :payload)"), {"channel": channel, "payload": payload})
