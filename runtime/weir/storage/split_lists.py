"""Split lists. A split list is a state file that contains all splits of a source. The driver writes the split list of a
source once, when the driver enumerates the source. The manifest of each later checkpoint refers to this split list.

A split list is an Arrow IPC file with one row per split, in the order of assignment. The columns of a split list are ``id`` and
``payload`` (JSON text).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from weir.kernel.split_assigner import SplitList
from weir.protocol import codec
from weir.protocol.ids import OperatorUid, SubtaskId
from weir.protocol.snapshots import Split, StateFile
from weir.storage.state_files import StateFiles, StateReader

_SCHEMA = pa.schema([("id", pa.string()), ("payload", pa.string())])


def write_split_list(files: StateFiles, source: OperatorUid, splits: Iterable[Split]) -> SplitList:
    """Write the split list of ``source``. The list contains no positions. The file is durable after ``files.flush``. Raises
    StorageError."""
    listed = tuple(replace(split, index=index) for index, split in enumerate(splits))
    ids = [split.id for split in listed]
    payloads = [codec.dump_json(split.payload).decode() for split in listed]
    sink = pa.BufferOutputStream()
    # The paths of files in one directory differ little, so compression makes the list about ten times smaller.
    with pa.ipc.new_file(sink, _SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(pa.table([ids, payloads], schema=_SCHEMA))
    file = files.writer(SubtaskId(0, 0)).put(source, [sink.getvalue()], rows=len(listed), key_groups=None)
    return SplitList(file, listed)


def read_split_list(reader: StateReader, file: StateFile) -> SplitList:
    """Read a split list. Call inside ``with reader``. Raises CheckpointError if the file is missing or damaged."""
    with reader.open(file) as stream:
        table = pa.ipc.open_file(stream.read()).read_all()
        rows = zip(table["id"].to_pylist(), table["payload"].to_pylist(), strict=True)
        splits = [Split(id, codec.parse_json(payload.encode(), "split"), index=index) for index, (id, payload) in enumerate(rows)]
    return SplitList(file, tuple(splits))
