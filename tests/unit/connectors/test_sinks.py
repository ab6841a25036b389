from __future__ import annotations

import datetime
import decimal
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.connectors.connector_harness import ReadAll, make_context

from weir.connectors import sinks, sources
from weir.connectors.base import Sink, SinkWriter
from weir.connectors.console_sink import ConsoleCommitter
from weir.connectors.files import directory_writer
from weir.connectors.files.directory_writer import DirectoryWriter, FileLimits
from weir.connectors.files.file_formats import OpenFile, ParquetFormat
from weir.connectors.files.output_layout import OutputLayout
from weir.connectors.registry import sink_from
from weir.connectors.sink_operator import SinkOperator
from weir.connectors.stats_sink import StatsWriter, Totals
from weir.errors import ConfigError, Retry, SchemaError, SinkError
from weir.operators.base import OperatorContext
from weir.protocol.ids import Attempt, CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import Committable, OperatorSnapshot

NUMBERS = pa.schema([("k", pa.int64()), ("v", pa.int64())])


@dataclass(frozen=True)
class Permit:
    checkpoint: CheckpointId
    generation: Generation = Generation(1)

    @property
    def holder(self) -> Attempt:
        return Attempt(self.generation)


def operator(sink: Sink, *, writer: int = 0, generation: int = 1) -> SinkOperator:
    """Rebuild the sink from its description, like a slot, and return an operator for the sink."""
    rebuilt = SinkOperator(sink_from(sink.describe()).writer())
    rebuilt.open(make_context(subtask=writer, parallelism=2, generation=generation))
    return rebuilt


def feed(sink: SinkOperator, batch: pa.RecordBatch) -> None:
    for batch_result in sink.process(batch, 0):
        assert batch_result is None


def snapshot(sink: SinkOperator, checkpoint: int) -> OperatorSnapshot:
    pending = sink.snapshot(CheckpointId(checkpoint))
    assert pending is not None and pending.advance()
    return pending.write(None)  # type: ignore[arg-type]  # a sink writes no state files


def run(sink: Sink, *epochs: pa.Table) -> None:
    """Write the tables with one writer. After each table, take a checkpoint and commit it."""
    writing, committer = operator(sink), sink.committer()
    for checkpoint, table in enumerate(epochs, start=1):
        for batch in table.to_batches(max_chunksize=3):
            feed(writing, batch)
        committables = snapshot(writing, checkpoint).committables
        committer.commit(Permit(CheckpointId(checkpoint)), committables)
        writing.on_checkpoint_published(CheckpointId(checkpoint))
    writing.close()


def test_written_json_lines_are_read_back_unchanged(tmp_path: Path, read_all: ReadAll) -> None:
    table = pa.table(
        {
            "i": pa.array([1, None, -(2**63)], pa.int64()),
            "s": ['quote " newline \n', "käse", None],
            "f": [0.1, 1e300, None],
            "b": [True, None, False],
            "t": pa.array([datetime.datetime(2024, 5, 1, 10, 0, 0, 123456)] * 3, pa.timestamp("us")),
            "z": pa.array([datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC)] * 3, pa.timestamp("us", tz="UTC")),
            "d": pa.array([decimal.Decimal("1.20")] * 3, pa.decimal128(9, 2)),
            "l": [[1, 2], [], None],
        }
    )
    sink = sinks.json_lines(tmp_path / "out")
    sink.check(table.schema)
    run(sink, table, table)
    assert read_all(sources.json_lines(tmp_path / "out", table.schema)).to_pylist() == (table.to_pylist() * 2)
    assert all(
        json.loads(line)
        for line in (tmp_path / "out" / "weir_checkpoint=1" / "part-c00000001-g1-w0000.jsonl").read_text().splitlines()
    )


def test_a_new_parquet_file_starts_at_the_row_limit_and_the_row_order_is_kept(tmp_path: Path) -> None:
    table = pa.table({"k": pa.array(range(20), pa.int64()), "word": [str(i) for i in range(20)]})
    run(sinks.parquet(tmp_path, rows_per_file=6), table)
    epoch = tmp_path / "weir_checkpoint=1"
    names = sorted(path.name for path in epoch.iterdir())
    assert names == [f"part-c00000001-g1-w0000{tail}.parquet" for tail in ("", ".s0001", ".s0002", ".s0003")]
    assert [pq.read_metadata(epoch / name).num_rows for name in names] == [6, 6, 6, 2]
    assert pa.concat_tables(pq.read_table(epoch / name, partitioning=None) for name in names).equals(table)


def test_a_new_parquet_file_starts_at_the_byte_limit(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 1 << 62, 30_000)
    run(sinks.parquet(tmp_path, bytes_per_file=20_000), pa.table({"k": noise}))
    sizes = [path.stat().st_size for path in tmp_path.glob("*/*.parquet")]
    assert len(sizes) > 5 and all(size < 45_000 for size in sizes)
    assert sorted(pq.read_table(tmp_path)["k"].to_pylist()) == sorted(noise.tolist())


def test_an_invalid_output_directory_is_refused_when_the_graph_is_built(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for sink in (sinks.parquet(tmp_path / "file" / "out"), sinks.json_lines(tmp_path / "file")):
        with pytest.raises(ConfigError, match="file is not a directory"):
            sink.check(NUMBERS)
        with pytest.raises(SinkError, match="preparing the output directory failed"):
            operator(sink)
    sinks.parquet(tmp_path / "new" / "out").check(NUMBERS)
    assert not (tmp_path / "new").exists()
    with pytest.raises(ConfigError, match="not a local path"):
        sinks.parquet("s3://bucket/out")


def test_an_unwritable_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # if root runs the test, the real ``os.access`` returns True
    with pytest.raises(ConfigError, match="is not writable"):
        sinks.parquet(tmp_path / "out").check(NUMBERS)


def test_timestamps_are_written_as_iso_8601_at_any_nesting_depth(tmp_path: Path) -> None:
    moment, later = datetime.datetime(2024, 5, 1, 10), datetime.datetime(2024, 5, 1, 10, 0, 0, 250_000)
    naive = pa.timestamp("us")
    table = pa.table(
        {
            "plain": pa.array([moment, later, None], naive),
            "list": pa.array([[moment, None], [], None], pa.list_(naive)),
            "pair": pa.array([[moment, later], [None, None], None], pa.list_(naive, 2)),
            "struct": pa.array(
                [{"at": moment, "n": 1}, {"at": None, "n": 2}, None], pa.struct([("at", naive), ("n", pa.int64())])
            ),
            "deep": pa.array([[{"at": [moment]}], [None], None], pa.list_(pa.struct([("at", pa.list_(naive))]))),
            "seconds": pa.array([moment, None, None], pa.timestamp("s")),
            "zone": pa.array([moment, None, None], pa.timestamp("us", "UTC")),
        }
    )
    sink = sinks.json_lines(tmp_path / "out")
    sink.check(table.schema)
    run(sink, table)
    text, short = "2024-05-01T10:00:00.250", "2024-05-01T10:00:00"
    rows = [
        json.loads(line)
        for line in (tmp_path / "out" / "weir_checkpoint=1" / "part-c00000001-g1-w0000.jsonl").read_text().splitlines()
    ]
    first = {"plain": short, "list": [short, None], "pair": [short, text], "struct": {"at": short, "n": 1}}
    assert rows[0] == {**first, "deep": [{"at": [short]}], "seconds": short, "zone": f"{short}+00:00"}
    second = {"plain": text, "list": [], "pair": [None, None], "struct": {"at": None, "n": 2}, "deep": [None]}
    assert rows[1] == {**second, "seconds": None, "zone": None}
    assert {name for name, value in rows[2].items() if value is not None} == set()


def test_a_panic_in_the_encoder_fails_the_sink(tmp_path: Path) -> None:
    writing = operator(sinks.json_lines(tmp_path / "out"))
    feed(writing, pa.record_batch({"n": pa.array([decimal.Decimal(1)], pa.decimal256(40, 2))}))
    with pytest.raises(SinkError, match="writing failed: cannot write as JSON"):
        snapshot(writing, 1)
    with pytest.raises(SinkError, match="cannot write as JSON"):
        writing.snapshot(CheckpointId(2))


@pytest.mark.parametrize(
    ("sink", "field"),
    [
        (sinks.json_lines("out"), pa.field("raw", pa.list_(pa.binary()))),
        (sinks.json_lines("out"), pa.field("raw", pa.list_(pa.decimal256(40, 2)))),
        (sinks.json_lines("out"), pa.field("raw", pa.month_day_nano_interval())),
        (sinks.json_lines("out"), pa.field("raw", pa.list_view(pa.int64()), nullable=False)),
        (sinks.json_lines("out"), pa.field("raw", pa.uuid())),
        (sinks.json_lines("out"), pa.field("raw", pa.timestamp("us", "Nowhere/There"))),
        (sinks.parquet("out"), pa.field("raw", pa.month_day_nano_interval())),
    ],
)
def test_the_error_for_an_unsupported_type_names_the_column(sink: Sink, field: pa.Field) -> None:
    with pytest.raises(SchemaError, match="column 'raw'"):
        sink.check(pa.schema([("k", pa.int64()), field]))


def test_duplicate_column_names_are_refused() -> None:
    with pytest.raises(SchemaError, match="two columns are named 'k'"):
        sinks.parquet("out").check(pa.schema([("k", pa.int64()), ("k", pa.int64())]))


class FullDevice:
    """A Parquet format that writes to a full device."""

    extension = "parquet"

    def create(self, path: str, schema: pa.Schema) -> OpenFile:
        return ParquetFormat().create("/dev/full", schema)

    def check(self, field: pa.Field) -> str | None:
        return None


def test_a_full_disk_fails_the_checkpoint_and_the_subtask_but_committed_output_remains(tmp_path: Path) -> None:
    run(sinks.parquet(tmp_path), pa.table({"k": [1]}))
    sink = SinkOperator(DirectoryWriter(OutputLayout(str(tmp_path)), FullDevice(), FileLimits()))
    sink.open(make_context())
    batch = pa.record_batch({"k": np.random.default_rng(1).integers(0, 1 << 62, 100_000)})
    feed(sink, batch)
    pending = sink.snapshot(CheckpointId(2))
    assert pending is not None
    for _ in range(2):
        with pytest.raises(SinkError, match=f"sink 'op' could not pre-commit: {tmp_path}: .*no space left"):
            pending.write(None)  # type: ignore[arg-type]  # a sink writes no state files
    with pytest.raises(SinkError, match="no space left"):
        feed(sink, batch)
    with pytest.raises(SinkError, match="no space left"):
        sink.snapshot(CheckpointId(3))
    assert pq.read_table(tmp_path, partitioning=None).to_pydict() == {"k": [1]}


def test_a_sink_fails_if_its_process_reaches_the_file_size_limit(tmp_path: Path) -> None:
    program = f"""
import resource, signal, numpy as np, pyarrow as pa
from tests.unit.connectors.test_sinks import operator, feed, snapshot
from weir.connectors import sinks
from weir.errors import SinkError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sink = operator(sinks.parquet({str(tmp_path)!r}))
feed(sink, pa.record_batch({{"k": np.random.default_rng(1).integers(0, 1 << 62, 100_000)}}))
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
try:
    snapshot(sink, 1)
except SinkError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=True
    )
    assert f"{tmp_path}: writing failed: no space left on the device" in done.stdout
    assert list((tmp_path / "_weir" / "staging").iterdir()) == []


class Gate:
    """A background executor that runs its calls only after ``opened`` is set."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.pool = ThreadPoolExecutor(1)
        self.pool.submit(self.opened.wait)

    def run_in_background(self, work: Callable[[], object]) -> Future[object]:
        return self.pool.submit(work)


def test_the_operator_waits_if_the_queue_of_background_writes_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_writer, "GROUP_ROWS", 10)
    monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 300)
    gate, sink = Gate(), sinks.parquet(tmp_path)
    writing = SinkOperator(sink.writer())
    writing.open(replace(make_context(), run_in_background=gate.run_in_background))
    batch = pa.record_batch({"k": pa.array(range(10), pa.int64())})
    for _ in range(4):
        feed(writing, batch)
    waiting = writing.process(batch, 0)
    assert next(waiting) is None and next(waiting) is None
    assert list((tmp_path / "_weir" / "staging").iterdir()) == [], "no file is written before the background executor runs"
    gate.opened.set()
    for _ in waiting:
        gate.pool.submit(int).result()
    sink.committer().commit(Permit(CheckpointId(1)), snapshot(writing, 1).committables)
    assert pq.read_table(tmp_path)["k"].to_pylist() == list(range(10)) * 5
    feed(writing, batch)
    writing.close()
    gate.pool.shutdown()
    assert list((tmp_path / "_weir" / "staging").iterdir()) == [], "output that was not pre-committed is deleted"


def test_collect_returns_a_table_ordered_by_checkpoint_and_writer(tmp_path: Path) -> None:
    sink = sinks.collect(tmp_path / "staged")
    sink.check(NUMBERS)
    committer = sink.committer()
    assert committer.result().equals(NUMBERS.empty_table())
    writers = [operator(sink, writer=writer) for writer in (0, 1)]
    for checkpoint in (1, 2):
        committables: list[Committable] = []
        for writer in reversed((0, 1)):
            feed(writers[writer], pa.record_batch({"k": [checkpoint], "v": [writer]}, schema=NUMBERS))
            committables += snapshot(writers[writer], checkpoint).committables
            writers[writer].on_checkpoint_published(CheckpointId(checkpoint))
        if checkpoint == 2:
            assert committer.result().num_rows == 2
        committer.commit(Permit(CheckpointId(checkpoint)), committables)
    assert [tuple(row.values()) for row in committer.result().to_pylist()] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert sinks.collect().directory != sinks.collect().directory


def test_a_temporary_collect_directory_is_private_and_deleted_when_the_process_ends(tmp_path: Path) -> None:
    program = """
import os, sys
from weir.connectors import sinks
from weir.connectors.registry import sink_from
sink = sinks.collect()
assert not os.path.exists(sink.directory), "building a graph creates no directories"
committer = sink_from(sink.describe()).committer()
for _ in range(2):
    committer.claim(job="job", sink="out", history="h")
print(sink.directory, oct(os.stat(sink.directory).st_mode & 0o777))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    directory, mode = done.stdout.split()
    assert directory.startswith(str(tmp_path)) and mode == "0o700"
    assert list(tmp_path.iterdir()) == []


def test_the_directory_of_a_collect_sink_is_not_temporary_if_the_user_specifies_it(tmp_path: Path) -> None:
    assert not sinks.collect(tmp_path / "kept").temporary


def test_the_console_prints_each_committed_row_once_and_stops_at_its_row_limit() -> None:
    sink, out = sinks.console(rows=2), io.StringIO()
    writing, committer = operator(sink), ConsoleCommitter(out)
    feed(writing, pa.record_batch({"k": [1, 2, 3], "w": ["a", None, "c"]}))
    committables = snapshot(writing, 1).committables
    assert out.getvalue() == ""
    for _ in range(2):
        committer.commit(Permit(CheckpointId(1)), committables)
    assert out.getvalue() == "k=1  w=a\nk=2  w=None\n... 1 more rows of checkpoint 1\n"
    writing.on_checkpoint_published(CheckpointId(1))
    assert writing.snapshot(CheckpointId(2)) is None


def test_a_commit_fails_if_the_console_is_closed() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    closed = io.StringIO()
    closed.close()
    writing = operator(sinks.console())
    feed(writing, pa.record_batch({"k": [1]}))
    committables = snapshot(writing, 1).committables
    for out in (Broken(), closed):
        with pytest.raises(SinkError, match="console sink: cannot print checkpoint 1") as failed:
            ConsoleCommitter(out).commit(Permit(CheckpointId(1)), committables)
        assert failed.value.retry is Retry.NEVER


def int64_sum(values: list[int]) -> int:
    return int(np.array(values, object).sum() + (1 << 63)) % (1 << 64) - (1 << 63) if values else 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), st.sampled_from(["complete", "abort", "crash"])),
        max_size=12,
    ),
    st.integers(1, 3),
)
def test_the_totals_of_the_stats_sink_are_exact_despite_aborts_and_crashes_and_rescaling(
    steps: list[tuple[list[int], str]], parallelism: int
) -> None:
    sink = sinks.stats()
    generation, checkpoint, committer = 1, 0, sink.committer()
    writers = [operator(sink, writer=writer) for writer in range(parallelism)]
    durable: list[OperatorSnapshot] = []
    completed: list[int] = []
    written: list[int] = []
    for values, outcome in steps:
        for index, value in enumerate(values):
            feed(writers[index % len(writers)], pa.record_batch({"v": pa.array([value], pa.int64())}))
        written += values
        checkpoint += 1
        if outcome == "crash":
            generation, parallelism, written = generation + 1, parallelism % 3 + 1, list(completed)
            writers = [operator(sink, writer=writer, generation=generation) for writer in range(parallelism)]
            for index, one in enumerate(durable):
                writers[index % parallelism].restore([one], None)  # type: ignore[arg-type]  # a sink reads no state files
            continue
        snapshots = [snapshot(writer, checkpoint) for writer in writers]
        if outcome == "complete":
            durable, completed = snapshots, list(written)
            committer.commit(Permit(CheckpointId(checkpoint)), [one for each in snapshots for one in each.committables])
            for writer in writers:
                writer.on_checkpoint_published(CheckpointId(checkpoint))
            assert committer.result() == Totals(len(completed), {"v": int64_sum(completed)} if completed else {})


def test_a_late_commit_of_an_older_generation_does_not_change_the_totals() -> None:
    committer = sinks.stats().committer()
    for generation, checkpoint, writer, rows in ((2, 4, 0, 7), (1, 3, 1, 5), (2, 2, 0, 6)):
        payload: Any = {"rows": rows, "sums": {}, "latency": {}}
        late = Committable("job", OperatorUid("out"), Generation(generation), CheckpointId(checkpoint), writer, payload)
        committer.commit(Permit(CheckpointId(4)), [late])
    assert committer.result() == Totals(7)


def test_the_stats_sink_counts_all_rows_and_sums_all_integers_that_are_not_null() -> None:
    writer = StatsWriter()
    columns: dict[str, Any] = {
        "a": pa.array([1, None, -3], pa.int32()),
        "u": pa.array([2**64 - 1, 1, 0], pa.uint64()),
        "s": ["x", "y", "z"],
    }
    writer.write(pa.record_batch(columns))
    assert writer.totals() == Totals(3, {"a": -2, "u": 0})


def test_the_latency_of_a_row_is_the_time_since_its_emission() -> None:
    writer = StatsWriter("at", clock_ns=lambda: 10_000_000_000)
    ages_ms = list(range(1, 1001))
    writer.write(pa.record_batch({"at": pa.array([10_000_000_000 - age * 1_000_000 for age in ages_ms], pa.int64())}))
    totals = writer.totals()
    for quantile in (0.01, 0.5, 0.99, 1.0):
        measured = totals.latency_ms(quantile)
        assert measured is not None and 1 <= measured / (1000 * quantile) < 1.05
    assert Totals().latency_ms(0.5) is None
    with pytest.raises(SchemaError, match="latency column 'at'"):
        sinks.stats(latency_column="at").check(NUMBERS)


class Broken(SinkWriter):
    def open(self, context: OperatorContext) -> None:
        self.context = context

    def write(self, batch: pa.RecordBatch) -> None:
        raise ValueError("cannot write")

    def pre_commit(self, checkpoint: CheckpointId) -> None:
        return None


def test_an_error_of_a_writer_names_the_sink() -> None:
    sink = SinkOperator(Broken())
    sink.open(make_context(uid="out"))
    with pytest.raises(SinkError, match="sink 'out' could not write: ValueError: cannot write"):
        feed(sink, pa.record_batch({"k": [1]}))


@pytest.mark.parametrize("wrong", [{"compression": "zip"}, {"rows_per_file": 0}, {"bytes_per_file": -1}])
def test_invalid_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        sinks.parquet("out", **wrong)
