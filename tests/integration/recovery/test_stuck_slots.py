"""Slots whose user code does not return: an endless loop, a regular expression that holds the GIL, or a hung blocking call."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from demo_slots import slot_processes
from weir import Job, sinks, sources
from weir.kernel.config import Timeouts
from weir.kernel.effects import JobOutcome
from weir.protocol.events import RecoveryStrategy
from weir.spark.launch import JobResult, RunningJob, RunOptions, launch
from weir.spark.session import LazySession

pytestmark = pytest.mark.spark
ROWS, RATE = 4_000, 2_000.0
ROW = 1_500
"""The row at which the user code does not return."""
SCHEMA = pa.schema([("n", pa.int64())])


@pytest.fixture(scope="module")
def session() -> Iterator[LazySession]:
    shared = LazySession("local", 2, app_name="weir-tests", conf={})
    yield shared
    shared.close()


def first_time(marker: str) -> bool:
    """Return whether this is the first call with ``marker`` in any process. The first call writes the id of its process to
    the file ``marker``."""
    try:
        with open(marker, "x") as created:
            created.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True


def loop_forever() -> None:
    while True:
        pass


def stuck_parser(directory: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def parse(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == ROW:
            if first_time(f"{directory}/loop"):
                loop_forever()
            if first_time(f"{directory}/regex"):
                re.match(r"(a+)+$", "a" * 60 + "b")
        return row

    return parse


def hung_client(directory: str) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    def request(batch: pa.RecordBatch) -> pa.RecordBatch:
        if ROW in batch.column("n").to_pylist() and first_time(f"{directory}/hung"):
            threading.Event().wait()
        return batch

    return request


def gil_holder(directory: str, seconds: float) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def hold(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == ROW and first_time(f"{directory}/held"):
            ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
        return row

    return hold


def run(
    session: LazySession,
    directory: Path,
    add: Callable[[Any], Any],
    recovery: RecoveryStrategy = RecoveryStrategy.REGIONAL,
    **timeouts: Any,
) -> RunningJob:
    job = Job("stuck")
    rows = job.read(sources.generator({"n": sources.row_index()}, rows=ROWS, rate=RATE, splits=2), uid="rows")
    add(rows).write(sinks.parquet(directory / "output"), uid="out")
    settings = RunOptions(
        str(directory / "checkpoints"),
        interval_ms=200,
        by_value=[sys.modules[__name__]],
        timeouts=Timeouts(**timeouts),
        recovery=recovery,
    )
    return launch(job, settings, session=session)


def finished(running: RunningJob, directory: Path) -> JobResult:
    result = running.wait()
    assert result is not None
    check(result, directory)
    return result


def check(result: JobResult, directory: Path) -> None:
    """Check that the job has finished, and that its output contains each row exactly once."""
    assert (result.outcome, result.reason) == (JobOutcome.FINISHED, "")
    rows = pq.read_table(directory / "output", partitioning=None).column("n").to_pylist()
    assert sorted(rows) == list(range(ROWS))


def test_a_slot_that_hangs_in_a_loop_or_regular_expression_is_replaced_and_the_reason_names_the_function(
    session: LazySession, tmp_path: Path
) -> None:
    def add(rows: Any) -> Any:
        return rows.map(stuck_parser(str(tmp_path)), schema=SCHEMA, uid="clean")

    loop, regex = finished(run(session, tmp_path, add, stuck_timeout_ms=5_000), tmp_path).progress.recoveries
    for reason in (loop.reason, regex.reason):
        assert re.search(
            r"slot \d \(pid \d+\) has been in one step for [\d.]+ s: map 'clean' \(at test_stuck_slots\.py:\d+\)", reason
        )
        assert "function parse (test_stuck_slots.py:" in reason
        assert "--stuck-timeout" in reason
    assert "in loop_forever (test_stuck_slots.py:" in loop.reason
    assert "in match (__init__.py:" in regex.reason


def test_a_slot_with_a_hung_blocking_call_is_replaced_after_the_call_timeout(session: LazySession, tmp_path: Path) -> None:
    def add(rows: Any) -> Any:
        return rows.map_batches(hung_client(str(tmp_path)), blocking=True, uid="ask")

    (recovery,) = finished(run(session, tmp_path, add, call_timeout_ms=3_000), tmp_path).progress.recoveries
    assert "has been in one blocking call for " in recovery.reason
    assert "map_batches 'ask'" in recovery.reason
    assert "function request (test_stuck_slots.py:" in recovery.reason


def test_a_full_recovery_from_the_loss_of_a_slot_replaces_a_slot_with_a_hung_blocking_call(
    session: LazySession, tmp_path: Path
) -> None:
    def add(rows: Any) -> Any:
        return rows.map_batches(hung_client(str(tmp_path)), blocking=True, uid="ask")

    running = run(session, tmp_path, add, RecoveryStrategy.FULL, call_timeout_ms=None)
    killed = None
    while (result := running.wait(0.05)) is None:
        hung = tmp_path / "hung"
        if killed is None and hung.exists() and hung.read_text():
            others = [slot for slot in slot_processes() if slot != int(hung.read_text())]
            if len(others) == 1:  # If there are more slots, slots of an earlier job are still ending.
                (killed,) = others
                os.kill(killed, signal.SIGKILL)
    assert killed is not None
    check(result, tmp_path)
    (recovery,) = result.progress.recoveries
    assert f"(pid {killed}) was lost" in recovery.reason and recovery.strategy is RecoveryStrategy.FULL


def test_a_killed_slot_is_replaced_while_the_other_slot_continues(session: LazySession, tmp_path: Path) -> None:
    running = run(session, tmp_path, lambda rows: rows)
    while not running.progress().completed_total:
        assert running.wait(0.05) is None
    killed, other = slot_processes()[-2:]
    os.kill(killed, signal.SIGKILL)
    while not running.progress().recoveries:
        assert other in slot_processes() and running.wait(0.05) is None
    result = finished(running, tmp_path)
    (recovery,) = result.progress.recoveries
    assert f"(pid {killed}) was lost" in recovery.reason
    assert (recovery.strategy, recovery.generation) == (RecoveryStrategy.REGIONAL, 1)
    assert result.progress.records == ROWS


def test_a_slot_that_holds_the_gil_for_30_s_is_not_replaced_with_the_default_timeouts(
    session: LazySession, tmp_path: Path
) -> None:
    def add(rows: Any) -> Any:
        return rows.map(gil_holder(str(tmp_path), 30.0), schema=SCHEMA, uid="hold")

    result = finished(run(session, tmp_path, add), tmp_path)
    assert (tmp_path / "held").exists()
    assert result.progress.recoveries == ()
