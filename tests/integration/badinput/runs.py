"""Runs a job in a directory. Several tests share the Spark session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import small_job
from small_job import expected_totals, totals

from weir import Job, Params
from weir.kernel.effects import JobOutcome
from weir.protocol.ids import CheckpointId
from weir.spark.launch import JobResult, RunOptions, launch, run_job
from weir.spark.session import LazySession
from weir.storage.inspection import list_checkpoints
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage


class Runs:
    """``root`` is the directory with the job's input, output and checkpoints."""

    def __init__(self, session: LazySession, root: Path) -> None:
        self._session = session
        self.root = root
        self.input = root / "input"
        self.output = root / "output"
        self.checkpoints = root / "checkpoints"

    def options(self, **options: Any) -> RunOptions:
        chosen = {"checkpoint_dir": str(self.checkpoints), "interval_ms": 100, "by_value": [], **options}
        chosen["by_value"] = [small_job, *chosen["by_value"]]
        return RunOptions(**chosen)

    def job(self, make: Callable[[Params], Job] = small_job.job, **settings: Any) -> Job:
        return make(Params({"input": str(self.input), "output": str(self.output), **settings}))

    def run(self, make: Callable[[Params], Job] = small_job.job, rate: int = 0, **options: Any) -> JobResult:
        return run_job(self.job(make, rate=rate), self.options(**options), session=self._session)

    def until(
        self, *, checkpoints: int, make: Callable[[Params], Job] = small_job.job, rate: int = 1_000, **options: Any
    ) -> JobResult:
        """Run the job and suspend it after ``checkpoints`` completed checkpoints."""
        running = launch(self.job(make, rate=rate), self.options(**options), session=self._session)
        while (result := running.wait(0.05)) is None:
            if len(running.progress().completed) >= checkpoints:
                running.suspend()
        return result

    def restorable(self) -> list[CheckpointId]:
        storage, layout = open_storage(str(self.checkpoints)), JobLayout("small")
        return [info.checkpoint for info in list_checkpoints(storage, layout) if info.status == "restorable"]

    def committed(self) -> dict[str, bytes]:
        """Return the name and content of each committed file."""
        return {path.name: path.read_bytes() for path in sorted(self.output.glob("*/*.parquet"))}

    def check_finishes(self, **options: Any) -> None:
        """Run the job to its end and check that its output is exact."""
        result = self.run(**options)
        assert (result.outcome, result.reason) == (JobOutcome.FINISHED, "")
        assert totals(self.output) == expected_totals()
