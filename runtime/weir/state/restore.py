"""Reads the state files of a keyed table, and converts their columns to 64-bit words for the rows of the table."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weir.errors import CheckpointError, RestoreError
from weir.protocol.snapshots import StateFile
from weir.state.accumulators import MEAN
from weir.state.arrow_columns import SIGN_BIT, float_words, integer_words, null_bytes
from weir.state.numba_support import Words
from weir.state.row_layout import KEY_GROUP_COLUMN, AccumulatorLayout
from weir.state.snapshot import FORMAT, FORMAT_KEY, MAX_PARALLELISM_KEY, TableDescription

RESTORE_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class RestoredRows:
    """Rows from a state file. ``words`` contains pairs (position of a word in its row, one value per row). ``seen`` contains
    pairs (number of a seen bit, one byte per row)."""

    file: StateFile
    rows: int
    key_columns: list[pa.Array]
    words: list[tuple[int, Words]]
    seen: list[tuple[int, npt.NDArray[np.uint8]]]

    def duplicate_key(self) -> CheckpointError:
        """Return the error for a key that is in several rows. In a valid checkpoint, each key is in one row of one file."""
        return CheckpointError(
            f"State file {self.file.path} is damaged: the file has duplicate keys. Restore an older checkpoint."
        )


def rows_expected(files: Iterable[StateFile], key_groups: tuple[int, int]) -> int:
    """Estimate how many rows of ``files`` are in ``key_groups``. The estimate assumes that all key groups of a file have the same
    number of rows."""
    rows = 0.0
    for file in files:
        first, last = file.key_groups or key_groups
        shared = min(last, key_groups[1]) - max(first, key_groups[0]) + 1
        rows += file.rows * max(shared, 0) / (last - first + 1)
    return int(rows)


def read_rows(file: StateFile, content: IO[bytes], table: TableDescription,
              key_groups: tuple[int, int]) -> Generator[RestoredRows, None, None]:  # fmt: skip
    """Yield the rows of ``file`` whose key group is in ``key_groups``, at most 65,536 rows at a time. ``content`` is the stream
    of the file. While the caller uses the rows of a batch, another thread reads the next batch. The caller must close the
    iterator before it closes the stream."""
    batches = _read_batches(file, content, table, key_groups)
    with ThreadPoolExecutor(1, "weir-restore-batches") as reading:
        following = reading.submit(next, batches, None)
        while (batch := following.result()) is not None:
            following = reading.submit(next, batches, None)
            for first in range(0, batch.num_rows, RESTORE_ROWS):
                yield _rows(file, batch.slice(first, RESTORE_ROWS), table)


def _read_batches(file: StateFile, content: IO[bytes], table: TableDescription,
                  key_groups: tuple[int, int]) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Yield validated batches. The checksum of the file is verified only after all batches have been used. Without the
    validation, damaged bytes could make a kernel read memory outside the batch."""
    try:
        # An Arrow file starts with a magic string, padded to eight bytes. An Arrow stream follows.
        content.read(8)
        with pa.ipc.open_stream(content) as batches:
            _check(file, batches.schema, table)
            for batch in batches:
                batch.validate(full=True)
                groups = batch.column(KEY_GROUP_COLUMN).to_numpy()
                selected = (groups >= key_groups[0]) & (groups <= key_groups[1])
                yield batch if selected.all() else batch.filter(pa.array(selected))
    except (pa.ArrowException, OSError) as error:
        raise CheckpointError(f"Cannot read state file {file.path}: {error}. Restore an older checkpoint.") from error


def _rows(file: StateFile, batch: pa.RecordBatch, table: TableDescription) -> RestoredRows:
    layout = table.layout
    words: list[tuple[int, Words]] = []
    seen: list[tuple[int, npt.NDArray[np.uint8]]] = []
    for slot in layout.slots:
        if slot.kind == MEAN:
            words.append((slot.word, float_words(batch.column(f"{slot.spec.output}.sum")).view(np.int64)))
            counts = integer_words(batch.column(f"{slot.spec.output}.count"))
            words.append((slot.word + 1, counts))
            if slot.seen_bit is not None:
                seen.append((slot.seen_bit, (counts > 0).astype(np.uint8)))
            continue
        column = batch.column(slot.spec.output)
        nulls = null_bytes(column)
        words.append((slot.word, _slot_words(slot, column, nulls)))
        if slot.seen_bit is not None:
            valid: Any = np.ones(batch.num_rows, dtype=np.uint8) if nulls is None else (1 - nulls).astype(np.uint8)
            seen.append((slot.seen_bit, valid))
    return RestoredRows(file, batch.num_rows, [batch.column(name) for name in layout.key], words, seen)


def _slot_words(slot: AccumulatorLayout, column: pa.Array, nulls: npt.NDArray[np.uint8] | None) -> Words:
    if pa.types.is_floating(slot.type):
        words = float_words(column).view(np.int64)
    else:
        words = integer_words(column)
        if slot.type == pa.uint64():
            words = words ^ SIGN_BIT
    return words if nulls is None else np.where(nulls != 0, np.int64(slot.neutral), words)


def _check(file: StateFile, schema: pa.Schema, table: TableDescription) -> None:
    metadata = schema.metadata or {}
    if metadata.get(FORMAT_KEY, b"").decode() != FORMAT:
        raise RestoreError(
            f"operator {table.uid!r}: {file.path} is not a state file of format {FORMAT}. "
            "If another version of Weir has written the file, restore with that version."
        )
    expected = table.layout.state_schema()
    if not schema.remove_metadata().equals(expected):
        raise RestoreError(
            f"operator {table.uid!r}: the state in {file.path} is not compatible with the job.\n"
            f"  checkpoint: {_describe(schema)}\n  job:        {_describe(expected)}\n"
            "Restore with the previous key and aggregates, or give the operator a new uid and pass --allow-non-restored-state. "
            "With a new uid, the operator starts without state."
        )
    written = int(metadata.get(MAX_PARALLELISM_KEY, b"0"))
    if written != table.max_parallelism:
        raise RestoreError(
            f"operator {table.uid!r}: the state has {written} key groups, but the job's max_parallelism is {table.max_parallelism}. "
            f"Set max_parallelism to {written}."
        )


def _describe(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema if field.name != KEY_GROUP_COLUMN)
