"""A job that was started: its coordinator in a thread of its own, and what it comes to in the end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from weir.connectors.base import Committer
from weir.coordinator.driver import Coordinator
from weir.coordinator.progress import Progress, Snapshot
from weir.errors import JobFailed
from weir.kernel.effects import Outcome
from weir.protocol.ids import OperatorUid


@dataclass(frozen=True, slots=True)
class JobResult:
    """``results``: of sinks that hand something to the caller (collect, stats), by uid."""

    outcome: Outcome
    reason: str
    kind: str
    progress: Snapshot
    results: Mapping[OperatorUid, object]
    notes: tuple[str, ...] = ()

    def raise_if_failed(self) -> JobResult:
        if self.outcome in (Outcome.FAILED, Outcome.SUPERSEDED):
            raise JobFailed(f"{self.kind}: {self.reason}" if self.kind else self.reason)
        return self


class RunningJob:
    """A started job. ``wait`` for its end, in one thread; everything else from any."""

    def __init__(
        self,
        coordinator: Coordinator,
        progress: Progress,
        committers: Mapping[OperatorUid, Committer],
        close: Callable[[], None],
        notes: tuple[str, ...],
    ) -> None:
        self._coordinator = coordinator
        self._progress = progress
        self._committers = committers
        self._close = close
        self._notes = notes
        self._result: JobResult | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="weir-coordinator", daemon=True)
        self._thread.start()

    def progress(self) -> Snapshot:
        return self._progress.snapshot()

    def suspend(self) -> None:
        """Take a last checkpoint, commit it and stop."""
        self._coordinator.suspend()

    def cancel(self) -> None:
        self._coordinator.cancel()

    def savepoint(self) -> None:
        self._coordinator.savepoint()

    def wait(self, timeout_s: float | None = None) -> JobResult | None:
        """None: still running after ``timeout_s``."""
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            return None
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def _run(self) -> None:
        try:
            try:
                finish = self._coordinator.run()
            finally:
                self._close()
            results = {}
            if finish.outcome in (Outcome.FINISHED, Outcome.SUSPENDED):
                results = {uid: committer.result() for uid, committer in self._committers.items()}
            self._result = JobResult(finish.outcome, finish.reason, finish.kind, self.progress(), results, self._notes)
        except BaseException as error:  # noqa: BLE001  # handed to whoever waits
            self._error = error
