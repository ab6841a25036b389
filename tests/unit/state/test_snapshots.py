from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.state.conftest import MemoryFiles
from tests.unit.state.oracle import Oracle, to_rows

from weir.errors import CheckpointError, RestoreError
from weir.graph.key_groups import key_group_range
from weir.protocol.ids import CheckpointId, OperatorUid
from weir.protocol.snapshots import OperatorSnapshot
from weir.state import change_tracker
from weir.state.backend import AggregateFunction, AggregateSpec, Emit
from weir.state.change_tracker import EPOCH
from weir.state.columnar_backend import ColumnarAggregates
from weir.state.hashing import hash_columns, key_groups_of

A = AggregateFunction
SPECS = (
    AggregateSpec("n", A.COUNT),
    AggregateSpec("s", A.SUM, "v"),
    AggregateSpec("m", A.MEAN, "v"),
    AggregateSpec("low", A.MIN, "v"),
)
SCHEMA = pa.schema([("k", pa.int64()), ("w", pa.string()), ("v", pa.int64())])
CHECKPOINT = CheckpointId(1)


def table(
    key: tuple[str, ...] = ("k",), emit: Emit = Emit.EACH, *, subtask: int = 0, parallelism: int = 1, max_parallelism: int = 128
) -> ColumnarAggregates:
    groups = key_group_range(subtask, parallelism, max_parallelism)
    return ColumnarAggregates(
        key, SPECS, SCHEMA, emit, uid=OperatorUid("sums"), subtask=subtask, key_groups=groups, max_parallelism=max_parallelism
    )  # fmt: skip


def batch_of(keys: list[int | None], value: int) -> pa.RecordBatch:
    words = [None if key is None else f"word {key}" for key in keys]
    values = [None if key == 5 else value + n for n, key in enumerate(keys)]
    return pa.record_batch(
        [pa.array(keys, pa.int64()), pa.array(words, pa.string()), pa.array(values, pa.int64())], schema=SCHEMA
    )


def contents(state: ColumnarAggregates, snapshot: OperatorSnapshot, files: MemoryFiles) -> dict[Any, Any]:
    """Return the rows in the state files of ``snapshot``, by key."""
    found: dict[Any, Any] = {}
    for file in snapshot.files:
        with pa.ipc.open_file(files.read(file)) as opened:
            for row in opened.read_all().to_pylist():
                mean = row["m.sum"] / row["m.count"] if row["m.count"] else None
                found[tuple(row[name] for name in state._layout.key)] = (row["n"], row["s"], mean, row["low"])
    return found


@settings(max_examples=100, deadline=None)
@given(data=st.data(), emit=st.sampled_from(Emit), key=st.sampled_from([("k",), ("w",), ("k", "w")]))
def test_updates_after_the_freeze_of_a_snapshot_do_not_change_the_snapshot(
    data: st.DataObject, emit: Emit, key: tuple[str, ...]
) -> None:
    """Executes updates, freezes, copy steps, discards and writes in random order. Several snapshots can be unfinished at a
    time."""
    files = MemoryFiles()
    with pytest.MonkeyPatch.context() as patch:
        # Make copy steps and the undo log small, so that a few rows need many steps and several segments.
        patch.setattr(change_tracker, "COPY_BYTES", 1)
        patch.setattr(change_tracker, "COPY_BYTES_FRESH", 1)
        patch.setattr(change_tracker, "UNDO_ENTRIES", 256)
        state, oracle = table(key, emit), Oracle(key, SPECS, emit)
        pending: list[tuple[Any, dict[Any, Any], bool]] = []
        for turn in range(data.draw(st.integers(1, 40))):
            match data.draw(st.sampled_from(["update", "update", "freeze", "advance", "advance", "write", "discard"])):
                case "update":
                    keys = data.draw(st.lists(st.integers(0, 12) | st.none(), max_size=20))
                    oracle.update(batch_of(keys, turn))
                    state.update(batch_of(keys, turn))
                case "freeze":
                    pending.append((state.freeze(CHECKPOINT), oracle.table(), False))
                case "advance" if pending:
                    number = data.draw(st.integers(0, len(pending) - 1))
                    snapshot, expected, done = pending[number]
                    pending[number] = snapshot, expected, done or snapshot.advance()
                case "write" if any(done for _, _, done in pending):
                    number = next(n for n, entry in enumerate(pending) if entry[2])
                    snapshot, expected, _ = pending.pop(number)
                    assert contents(state, snapshot.write(files), files) == expected
                case "discard" if pending:
                    pending.pop(data.draw(st.integers(0, len(pending) - 1)))[0].discard()
        for snapshot, expected, _ in pending:
            while not snapshot.advance():
                pass
            assert contents(state, snapshot.write(files), files) == expected
        assert state._changes._active == [] and state._changes._segments == []


@pytest.mark.parametrize("key", [("k",), ("w",), ("k", "w")])
@pytest.mark.parametrize("emit", Emit)
@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 3), (3, 1), (2, 5)])
def test_a_rescale_distributes_state_by_key_group(
    key: tuple[str, ...], emit: Emit, before: int, after: int, files: MemoryFiles
) -> None:
    random = np.random.default_rng(1)
    batches = [batch_of([None if n % 9 == 0 else int(n) for n in random.integers(0, 300, 400)], turn) for turn in range(4)]
    oracle = Oracle(key, SPECS, emit)
    snapshots = []
    for subtask in range(before):
        state = table(key, emit, subtask=subtask, parallelism=before)
        for batch in batches[:2]:
            state.update(routed(batch, key, subtask, before))
        snapshot = state.freeze(CHECKPOINT)
        while not snapshot.advance():
            pass
        snapshots.append(snapshot.write(files))
    for batch in batches[:2]:
        oracle.update(batch)
    restored = [table(key, emit, subtask=subtask, parallelism=after) for subtask in range(after)]
    for state in restored:
        state.restore(snapshots, files)
    assert sum(state.num_keys for state in restored) == len(oracle.values)
    for batch in batches[2:]:
        results = [
            row for subtask, state in enumerate(restored) for row in to_rows(state.update(routed(batch, key, subtask, after)))
        ]
        assert sorted(results, key=repr) == sorted(oracle.update(batch), key=repr)


def routed(batch: pa.RecordBatch, key: tuple[str, ...], subtask: int, parallelism: int) -> pa.RecordBatch:
    groups = key_groups_of(hash_columns([batch.column(name) for name in key]), 128)
    first, last = key_group_range(subtask, parallelism, 128)
    return batch.filter(pa.array((groups >= first) & (groups <= last)))


def test_a_state_file_contains_the_key_group_of_each_row_and_its_description_contains_their_range(files: MemoryFiles) -> None:
    state = table()
    state.update(batch_of(list(range(500)), 0))
    snapshot = state.freeze(CHECKPOINT)
    while not snapshot.advance():
        pass
    (file,) = snapshot.write(files).files
    read = pa.ipc.open_file(files.read(file)).read_all()
    groups = read["__key_group"].to_pylist()
    assert groups == key_groups_of(hash_columns([read["k"].combine_chunks()]), 128).tolist()
    assert file.key_groups == (min(groups), max(groups)) and file.rows == 500
    assert read.schema.names == ["k", "__key_group", "n", "s", "m.sum", "m.count", "low"]
    assert [str(type_) for type_ in read.schema.types] == ["int64", "uint16", "int64", "int64", "double", "int64", "int64"]


def test_the_snapshot_of_an_empty_table_has_no_file(files: MemoryFiles) -> None:
    snapshot = table().freeze(CHECKPOINT)
    assert snapshot.advance()
    assert snapshot.write(files).files == () and files.files == {}


def test_the_freeze_of_a_snapshot_does_not_allocate_memory() -> None:
    state = table()
    state.update(batch_of(list(range(1000)), 0))
    before = state.nbytes
    state.freeze(CHECKPOINT)
    assert state.nbytes == before


def test_the_buffers_of_finished_and_discarded_snapshots_are_used_again(files: MemoryFiles) -> None:
    state = table()
    for turn in range(3):  # after the third update, the hash index has no more entries to move
        state.update(batch_of(list(range(1000)), turn))
    sizes = []
    for turn in range(6):
        snapshot = state.freeze(CHECKPOINT)
        snapshot.advance()
        state.update(batch_of(list(range(0, 1000, 7)), turn))
        if turn % 2:
            snapshot.discard()
            snapshot.discard()
        else:
            while not snapshot.advance():
                pass
            snapshot.write(files)
            snapshot.discard()
        sizes.append(state.nbytes)
    assert len(set(sizes)) == 1, "memory does not grow with the number of snapshots"


def test_the_buffers_of_a_snapshot_that_is_discarded_during_its_write_are_freed_after_the_write() -> None:
    state = table()
    state.update(batch_of(list(range(100)), 0))
    first = state.freeze(CHECKPOINT)
    assert first.advance()

    class DiscardingWriter(MemoryFiles):
        def put(self, *args: Any, **named: Any) -> Any:
            first.discard()
            assert state._changes._free == []
            return super().put(*args, **named)

    files = DiscardingWriter()
    assert len(contents(state, first.write(files), files)) == 100
    assert len(state._changes._free) == 1


def test_a_snapshot_that_was_discarded_before_its_write_has_no_file(files: MemoryFiles) -> None:
    state = table()
    state.update(batch_of([1], 0))
    snapshot = state.freeze(CHECKPOINT)
    assert snapshot.advance()
    snapshot.discard()
    assert snapshot.write(files).files == () and files.files == {}


@pytest.mark.parametrize("emit", Emit)
def test_epoch_numbers_start_again_before_they_overflow(emit: Emit, files: MemoryFiles) -> None:
    state, oracle = table(emit=emit), Oracle(("k",), SPECS, emit)
    state._changes.words[EPOCH] = change_tracker.EPOCHS - 3
    for turn in range(12):
        batch = batch_of([1, 2, turn, 1], turn)
        assert to_rows(state.update(batch)) == oracle.update(batch)
        snapshot, expected = state.freeze(CHECKPOINT), oracle.table()
        late = batch_of([1, 3], turn)
        state.update(late)
        oracle.update(late)
        while not snapshot.advance():
            pass
        assert contents(state, snapshot.write(files), files) == expected
    assert state._changes.words[EPOCH] < 100


def snapshot_of(state: ColumnarAggregates, files: MemoryFiles) -> OperatorSnapshot:
    state.update(batch_of([1, 2, 3], 0))
    snapshot = state.freeze(CHECKPOINT)
    while not snapshot.advance():
        pass
    return snapshot.write(files)


def test_the_error_for_state_with_a_different_schema_shows_both_schemas(files: MemoryFiles) -> None:
    snapshot = snapshot_of(table(("k",)), files)
    with pytest.raises(
        RestoreError,
        match=r"operator 'sums': the state in sums-0 is not compatible(.|\n)*k: int64(.|\n)*w: string(.|\n)*--allow-non-restored-state",
    ):
        table(("w",)).restore([snapshot], files)


def test_the_error_for_a_wrong_number_of_key_groups_names_the_correct_number(files: MemoryFiles) -> None:
    snapshot = snapshot_of(table(), files)
    with pytest.raises(
        RestoreError, match=r"the state has 128 key groups, but the job's max_parallelism is 256. Set max_parallelism to 128"
    ):
        table(max_parallelism=256).restore([snapshot], files)


def test_the_error_for_a_truncated_state_file_names_the_file(files: MemoryFiles) -> None:
    snapshot = snapshot_of(table(), files)
    files.files["sums-0"] = files.files["sums-0"][:100]
    with pytest.raises(CheckpointError, match="Cannot read state file sums-0"):
        table().restore([snapshot], files)


def test_a_state_file_with_a_duplicate_key_is_refused(files: MemoryFiles) -> None:
    snapshot = snapshot_of(table(), files)
    with pytest.raises(CheckpointError, match="duplicate keys"):
        table().restore([snapshot, snapshot], files)


def test_a_restore_of_a_damaged_file_reads_no_memory_outside_the_file(files: MemoryFiles) -> None:
    """The reader verifies the checksum only after the rows are restored, so damaged lengths and offsets must not crash
    the restore."""
    snapshot, rng = snapshot_of(table(("w", "k")), files), random.Random(1)
    intact = files.files["sums-0"]
    refused = 0
    for _ in range(400):
        damaged = bytearray(intact)
        for _ in range(rng.choice((1, 8))):
            damaged[rng.randrange(len(damaged))] = rng.choice((0, 1, 127, 128, 255))
        files.files["sums-0"] = bytes(damaged)
        try:
            table(("w", "k")).restore([snapshot], files)
        except Exception:  # noqa: BLE001  # the reader of the file reports the wrong checksum instead
            refused += 1
    assert refused > 20
