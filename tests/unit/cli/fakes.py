"""A fake running job, and a stream that raises on every write."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from weir.coordinator.progress import JobProgress, ProgressSnapshot
from weir.kernel.effects import JobOutcome
from weir.spark.launch import JobResult


def snapshot() -> ProgressSnapshot:
    return JobProgress(frozenset()).snapshot()


def finished() -> JobResult:
    return JobResult(JobOutcome.FINISHED, "", "", snapshot(), {})


@dataclass
class FakeRunningJob:
    """Replaces a RunningJob. The first ``waits`` calls of ``wait`` time out. The next call returns or raises ``end``."""

    end: JobResult | Exception = field(default_factory=finished)
    waits: int = 0
    calls: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def progress(self) -> ProgressSnapshot:
        return snapshot()

    def suspend(self) -> None:
        self.calls.append("suspend")

    def cancel(self) -> None:
        self.calls.append("cancel")

    def wait(self, timeout_s: float | None = None) -> JobResult | None:
        if self.waits > 0:
            self.waits -= 1
            return None
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


class BrokenStream:
    """Replaces standard error and behaves like a pipe without a reader."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    def flush(self) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise io.UnsupportedOperation("not a file")
