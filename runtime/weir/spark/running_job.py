"""A running job: its coordinator on a separate thread, its result, and the commands of the control plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from pyspark import InheritableThread

from weir.connectors.base import Committer
from weir.coordinator.loop import Coordinator
from weir.coordinator.progress import JobProgress, ProgressSnapshot
from weir.errors import JobFailed
from weir.kernel.effects import JobOutcome
from weir.protocol.events import (
    Cancel,
    NumberedCommand,
    ProfileSlot,
    Suspend,
    TakeCheckpoint,
    TakeSavepoint,
    UnknownCommand,
)
from weir.protocol.ids import OperatorUid


@dataclass(frozen=True, slots=True)
class JobResult:
    """The outcome of a job. ``results`` contains the values of sinks that return a value (collect, stats), by uid."""

    outcome: JobOutcome
    reason: str
    kind: str
    progress: ProgressSnapshot
    results: Mapping[OperatorUid, object]
    notes: tuple[str, ...] = ()

    def raise_if_failed(self) -> JobResult:
        if self.outcome in (JobOutcome.FAILED, JobOutcome.SUPERSEDED):
            raise JobFailed(f"{self.kind}: {self.reason}" if self.kind else self.reason)
        return self


class RunningJob:
    """A running job. Any thread may call the methods."""

    def __init__(
        self,
        coordinator: Coordinator,
        progress: JobProgress,
        committers: Mapping[OperatorUid, Committer],
        close: Callable[[], None],
        notes: tuple[str, ...],
    ) -> None:
        """``notes`` are sentences for the user about the restore."""
        self._coordinator = coordinator
        self._progress = progress
        self._committers = committers
        self._close = close
        self.notes = notes
        self._result: JobResult | None = None
        self._error: BaseException | None = None
        # InheritableThread closes the connection to the JVM that belongs to the thread.
        self._thread = InheritableThread(target=self._run, name="weir-coordinator", daemon=True)
        self._thread.start()

    def progress(self) -> ProgressSnapshot:
        return self._progress.snapshot()

    def suspend(self) -> None:
        """Take a final checkpoint, commit it and stop."""
        self._coordinator.suspend()

    def cancel(self) -> None:
        self._coordinator.cancel()

    def savepoint(self) -> None:
        self._coordinator.savepoint()

    def checkpoint(self) -> None:
        self._coordinator.checkpoint()

    @property
    def is_alive(self) -> bool:
        """Whether the job has not ended."""
        return self._thread.is_alive()

    def join(self, timeout_s: float | None) -> None:
        """Wait until the job has ended, at most ``timeout_s`` seconds. Unlike ``wait``, raise no error."""
        self._thread.join(timeout_s)

    def wait(self, timeout_s: float | None = None) -> JobResult | None:
        """Wait until the job has ended. Return None if the job is still running after ``timeout_s``."""
        self.join(timeout_s)
        if self.is_alive:
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
            if finish.outcome in (JobOutcome.FINISHED, JobOutcome.SUSPENDED):
                results = {uid: committer.result() for uid, committer in self._committers.items()}
            self._result = JobResult(finish.outcome, finish.reason, finish.kind, self.progress(), results, self.notes)
        except BaseException as error:  # noqa: BLE001  # ``wait`` raises the error
            self._error = error


def command_action(coordinator: Coordinator, numbered: NumberedCommand) -> Callable[[], None] | str:
    """Return the action for a command, or the reason why the command is refused. Any thread may call the action."""
    match numbered.command:
        case TakeSavepoint():
            return coordinator.savepoint
        case TakeCheckpoint():
            return coordinator.checkpoint
        case Suspend():
            return coordinator.suspend
        case Cancel():
            return coordinator.cancel
        case ProfileSlot(slot, seconds):
            return partial(coordinator.profile, numbered.id, slot, seconds)
        case UnknownCommand(name):
            return f"Unknown command {name}: this driver is older than the control plane."
        case _:
            assert_never(numbered.command)
