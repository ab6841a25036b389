"""The one entry of the job's log that is on its way."""

from __future__ import annotations

from weir.kernel.effects import AppendLog, LogRequest
from weir.kernel.retries import Retries


class OpenEntry:
    """At most one request at a time: ``append``, then for each answer ``created`` or ``again``, until it is closed.

    While one is open nobody knows what the log says: neither a restore point may be chosen nor the job end.
    """

    def __init__(self, *, attempts_max: int, retry_ms: int) -> None:
        self._attempts_max = attempts_max
        self._retry_ms = retry_ms
        self._open: tuple[LogRequest, Retries] | None = None

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def append(self, request: LogRequest) -> AppendLog:
        assert self._open is None, "one entry at a time"
        self._open = (request, Retries(attempts_max=self._attempts_max, first_delay_ms=self._retry_ms))
        return AppendLog(request)

    def created(self, request: LogRequest) -> None:
        """The entry is in the log: closed."""
        self._opened(request)
        self._open = None

    def again(self, request: LogRequest) -> AppendLog | None:
        """Storage could not say that the entry exists: the same request once more. None: asked often enough, it is closed."""
        retries = self._opened(request)
        delay_ms = retries.next_delay_ms()
        if delay_ms is None:
            self._open = None
            return None
        return AppendLog(request, delay_ms)

    def drop(self) -> None:
        """Nothing is awaited from the log any more; its answer, if there still is one, must not be handed in."""
        self._open = None

    def _opened(self, request: LogRequest) -> Retries:
        assert self._open is not None and self._open[0] is request, "an answer to what was not asked"
        return self._open[1]
