"""A job that only seems to run: what the command makes of its end, and of being told to stop."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from weir.coordinator.progress import Progress, Snapshot
from weir.kernel.effects import Outcome
from weir.spark.launch import JobResult


def snapshot() -> Snapshot:
    return Progress(frozenset()).snapshot()


def finished() -> JobResult:
    return JobResult(Outcome.FINISHED, "", "", snapshot(), {})


@dataclass
class EndsSoon:
    """In place of a RunningJob: ``waits`` times it is still running, then it has ended in ``end``."""

    end: JobResult | Exception = field(default_factory=finished)
    waits: int = 0
    asked: list[str] = field(default_factory=list)

    def progress(self) -> Snapshot:
        return snapshot()

    def suspend(self) -> None:
        self.asked.append("suspend")

    def cancel(self) -> None:
        self.asked.append("cancel")

    def wait(self, timeout_s: float | None = None) -> JobResult | None:
        if self.waits > 0:
            self.waits -= 1
            return None
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


class NobodyListens:
    """Standard error whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    def flush(self) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise io.UnsupportedOperation("it is no file")
