"""Readiness of this process, checked at most once a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache

from sqlalchemy.exc import SQLAlchemyError

from weir_backend import migrate
from weir_backend.errors import Unavailable
from weir_backend.kit.database import Database

CACHE_S = 1.0
"""The number of seconds for which the result of a check is reused. Requests to the readiness endpoint must be cheap, because the endpoint needs no
authentication."""


class Readiness:
    """Thread-safe. Callers that arrive while a check is running wait for the result of this check."""

    def __init__(self, database: Database, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._checked_s: float | None = None
        self._result: str | Unavailable = ""

    def schema(self) -> str:
        """Return the revision of the database schema. Raises Unavailable if the database does not answer, or if this version of Weir
        requires another revision of the schema."""
        with self._lock:
            if self._checked_s is None or self._clock_s() >= self._checked_s + CACHE_S:
                self._result = self._check()
                self._checked_s = self._clock_s()
            found = self._result
        if isinstance(found, Unavailable):
            # Raise a new exception for each caller, because an exception stores the traceback of its last raise.
            raise Unavailable(found.code, found.detail, found.next_step)
        return found

    def _check(self) -> str | Unavailable:
        try:
            current, required = migrate.current(self._database.engine), _required()
        except SQLAlchemyError:
            return Unavailable("database", "The database does not answer.", "Run weir doctor for details.")
        if current != required:
            return Unavailable(
                "schema", f"The database schema is at revision {current}; this version requires {required}.", "Run weir migrate."
            )
        return required


@cache
def _required() -> str:
    return migrate.head()
