"""A job that follows a directory: files are added while it runs, during a recovery and while it is stopped."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from demo_slots import slot_processes
from weir import Job, agg, sinks, sources
from weir.coordinator.start import Fresh, Resume, StartMode
from weir.kernel.effects import JobOutcome
from weir.spark.launch import RunningJob, RunOptions, launch
from weir.spark.session import LazySession

pytestmark = pytest.mark.spark
ROWS, KEYS = 100, 7
SCHEMA = pa.schema([("number", pa.int64())])


class Followed:
    """The followed directory, and the job that reads it."""

    def __init__(self, session: LazySession, root: Path) -> None:
        self._session = session
        self._root = root
        self._input = root / "input"
        self._files = 0
        self._input.mkdir()

    def add(self, files: int) -> None:
        """Add files as another process does: write each file under a hidden name, then rename it."""
        for _ in range(files):
            first = self._files * ROWS
            hidden = self._input / f".{self._files}"
            pq.write_table(pa.table([list(range(first, first + ROWS))], schema=SCHEMA), hidden)
            hidden.rename(self._input / f"{self._files}.parquet")
            self._files += 1

    def hide(self, *, hidden: bool) -> None:
        """Move the directory away, or back."""
        paths = (self._input, self._root / "unmounted")
        shutil.move(*(paths if hidden else reversed(paths)))

    def start(self, mode: StartMode, *, follow: bool = True, rate: float | None = None) -> RunningJob:
        job, settings = Job("followed"), {"follow": True, "discover_every": "100ms", "settle": "0s"} if follow else {}
        source = sources.parquet(self._input, schema=SCHEMA, rate=rate, **settings)  # type: ignore[arg-type]  # known keys
        numbers = job.read(source, uid="numbers", parallelism=1 if rate else None)
        numbers.with_columns(key=pl.col("number") % KEYS).key_by("key").aggregate(
            rows=agg.count(), total=agg.sum("number"), emit="each", uid="sums"
        ).write(sinks.parquet(self._root / "output"), uid="out")
        options = RunOptions(checkpoint_dir=str(self._root / "checkpoints"), interval_ms=100, start=mode)
        return launch(job, options, session=self._session)

    def rows(self) -> int:
        """Return the number of published rows."""
        return sum(pq.read_metadata(path).num_rows for path in self._root.glob("output/weir_checkpoint=*/*.parquet"))

    def await_all_rows(self, running: RunningJob) -> None:
        await_(running, lambda: self.rows() >= self._files * ROWS)

    def check_output(self) -> None:
        """Each record of each file has caused exactly one update of its key."""
        rows = pq.read_table(self._root / "output", partitioning=None).to_pylist()
        assert len(rows) == self._files * ROWS
        for key in range(KEYS):
            numbers = range(key, self._files * ROWS, KEYS)
            updates = sorted((row["rows"], row["total"]) for row in rows if row["key"] == key)
            assert [count for count, _ in updates] == list(range(1, len(numbers) + 1))
            assert updates[-1][1] == sum(numbers)


def await_(running: RunningJob, condition: Callable[[], bool]) -> None:
    while not condition():
        assert (result := running.wait(0.05)) is None, result


def suspended(running: RunningJob) -> None:
    running.suspend()
    result = running.wait()
    assert result is not None and result.outcome is JobOutcome.SUSPENDED


def test_each_row_of_a_followed_directory_is_read_exactly_once(session: LazySession, tmp_path: Path) -> None:
    followed = Followed(session, tmp_path)
    running = followed.start(Fresh())
    followed.add(3)
    followed.await_all_rows(running)
    os.kill(slot_processes()[0], signal.SIGKILL)
    followed.add(5)
    await_(running, lambda: bool(running.progress().recoveries))
    followed.await_all_rows(running)

    followed.hide(hidden=True)
    await_(running, lambda: any("cannot list its input" in warning for warning in running.progress().warnings))
    followed.hide(hidden=False)
    followed.add(1)
    followed.await_all_rows(running)
    suspended(running)

    followed.add(2)
    running = followed.start(Resume())
    followed.await_all_rows(running)
    suspended(running)

    followed.add(1)
    result = followed.start(Resume(), follow=False).wait()
    assert result is not None and (result.outcome, result.reason) == (JobOutcome.FINISHED, "")
    followed.check_output()


def test_a_source_that_begins_to_follow_continues_at_its_position(session: LazySession, tmp_path: Path) -> None:
    followed = Followed(session, tmp_path)
    followed.add(3)
    running = followed.start(Fresh(), follow=False, rate=ROWS)
    await_(running, lambda: followed.rows() > 0)
    suspended(running)
    assert 0 < followed.rows() < 3 * ROWS
    followed.add(1)
    running = followed.start(Resume())
    followed.await_all_rows(running)
    suspended(running)
    followed.check_output()
