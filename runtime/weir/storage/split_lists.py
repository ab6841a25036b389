"""Split lists. A split list is a state file that contains splits of a source. The driver writes a split list when it enumerates
the source, and when it discovers more splits. The manifest of each later checkpoint refers to the split lists that it needs.

A split list is an Arrow IPC file with one row per split, in the order of assignment. The columns of a split list are ``id`` and
``payload`` (JSON text). If the source discovers splits, the metadata ``known`` of the schema contains what the source knew after
this discovery (JSON text).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from weir.kernel.split_assigner import SplitList
from weir.protocol import codec
from weir.protocol.ids import OperatorUid, SubtaskId
from weir.protocol.manifest import SplitListFile
from weir.protocol.snapshots import JsonValue, Split
from weir.storage.state_files import StateFiles, StateReader

_SCHEMA = pa.schema([("id", pa.string()), ("payload", pa.string())])
_KNOWN = b"known"


def write_split_list(
    files: StateFiles, source: OperatorUid, splits: Iterable[Split], *, first: int = 0, known: JsonValue = None
) -> SplitList:
    """Write a split list of ``source``. The list contains no positions. The file is durable after ``files.flush``.

    ``first`` and ``known``: see ``SplitList``. Raises StorageError."""
    listed = tuple(replace(split, index=index) for index, split in enumerate(splits, first))
    schema = _SCHEMA if known is None else _SCHEMA.with_metadata({_KNOWN: codec.dump_json(known)})
    ids = [split.id for split in listed]
    payloads = [codec.dump_json(split.payload).decode() for split in listed]
    sink = pa.BufferOutputStream()
    # The paths of files in one directory differ little, so compression makes the list about ten times smaller.
    with pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(pa.table([ids, payloads], schema=schema))
    file = files.writer(SubtaskId(0, 0)).put(source, [sink.getvalue()], rows=len(listed), key_groups=None)
    return SplitList(file, listed, first, known)


def read_split_list(reader: StateReader, listed: SplitListFile) -> SplitList:
    """Read a split list. Call inside ``with reader``. Raises CheckpointError if the file is missing or damaged."""
    with reader.open(listed.file) as stream:
        table = pa.ipc.open_file(stream.read()).read_all()
        known = (table.schema.metadata or {}).get(_KNOWN)
        rows = zip(table["id"].to_pylist(), table["payload"].to_pylist(), strict=True)
        splits = tuple(
            Split(id, codec.parse_json(payload.encode(), "split"), index=index)
            for index, (id, payload) in enumerate(rows, listed.first)
        )
    return SplitList(listed.file, splits, listed.first, None if known is None else codec.parse_json(known, "known input"))
