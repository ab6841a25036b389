"""Whether this process can serve: looked up at most once a second, however many ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache

from sqlalchemy.exc import SQLAlchemyError

from weir_backend import migrate
from weir_backend.errors import Unavailable
from weir_backend.kit.database import Database

GOOD_FOR_S = 1.0
"""Nobody has to be known to ask, so asking must cost nothing."""


class Readiness:
    """Of one process. Callers may be threads: those who come while one looks wait for what it finds."""

    def __init__(self, database: Database, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock_s = clock_s
        self._looking = threading.Lock()
        self._looked_s: float | None = None
        self._found: str | Unavailable = ""

    def schema(self) -> str:
        """The revision of the schema, which is the one that this version wants. Raises Unavailable."""
        with self._looking:
            if self._looked_s is None or self._clock_s() >= self._looked_s + GOOD_FOR_S:
                self._found = self._look()
                self._looked_s = self._clock_s()
            found = self._found
        if isinstance(found, Unavailable):
            # One of its own for each who asks: exceptions remember where they were raised.
            raise Unavailable(found.code, found.detail, found.next_step)
        return found

    def _look(self) -> str | Unavailable:
        try:
            found, wanted = migrate.current(self._database.engine), _wanted()
        except SQLAlchemyError:
            return Unavailable("database", "the database does not answer", "weir doctor says more")
        if found != wanted:
            return Unavailable("schema", f"the schema of the database is at {found}, this version wants {wanted}", "weir migrate")
        return wanted


@cache
def _wanted() -> str:
    return migrate.head()
