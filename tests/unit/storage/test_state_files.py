from __future__ import annotations

import pyarrow as pa
import pytest
from tests.unit.storage.storage_builders import JOB, UID

from weir.errors import CheckpointError, StorageError
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage
from weir.storage.checksums import checksum
from weir.storage.layout import JobLayout
from weir.storage.snapshots import StateReader, StateWriter

LAYOUT = JobLayout(JOB)
READ_BY = CheckpointId(7)


def _writer(storage: CheckpointStorage, attempt: str = "a") -> StateWriter:
    return StateWriter(storage, LAYOUT, generation=Generation(2), checkpoint=READ_BY, subtask=3, attempt=attempt)


def _put(storage: CheckpointStorage) -> StateFile:
    return _writer(storage).put(UID, (b"one", pa.py_buffer(b"two"), memoryview(b"-three-")[1:6]), rows=3, key_groups=(4, 9))


def test_a_state_file_is_read_back_whole(storage: CheckpointStorage) -> None:
    file = _put(storage)
    assert file == StateFile("state/per-route/g2-c7-s3-a.0.arrow", 11, checksum((b"onetwothree",)), 3, (4, 9))
    assert StateReader(storage, LAYOUT, READ_BY).read(file).to_pybytes() == b"onetwothree"


def test_arrow_data_can_be_opened_from_what_was_read(storage: CheckpointStorage) -> None:
    table = pa.table({"key": [1, 2], "count": pa.array([5, 6], pa.int64())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as ipc:
        ipc.write_table(table)
    file = _writer(storage).put(UID, (sink.getvalue(),), rows=2, key_groups=None)
    assert pa.ipc.open_file(StateReader(storage, LAYOUT, READ_BY).read(file)).read_all() == table


def test_no_two_attempts_share_a_name(storage: CheckpointStorage) -> None:
    writers = (_writer(storage, "a"), _writer(storage, "b"))
    paths = [
        writer.put(OperatorUid(uid), (b"x",), rows=1, key_groups=None).path for writer in writers for uid in ("u", "u", "v/w")
    ]
    assert len(set(paths)) == 6
    assert len(storage.list(LAYOUT.state)) == 6


def test_the_checksum_does_not_depend_on_how_the_bytes_were_cut(storage: CheckpointStorage) -> None:
    assert checksum((b"ab", b"", memoryview(b"c"))) == checksum((b"abc",)) == "xxh3:06b05ab6733a618578af5f94892f3950"


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [(b"onetwothre", "has 10 bytes, and 11 were written"), (b"onetwothrEe"[:11], "its checksum is"), (None, "is missing")],
)
def test_a_damaged_file_names_itself_its_checkpoint_and_the_way_out(
    storage: CheckpointStorage, damaged: bytes | None, reason: str
) -> None:
    file = _put(storage)
    path = LAYOUT.absolute(file.path)
    if damaged is None:
        storage.delete([path])
    else:
        storage.put(path, (damaged,))
    with pytest.raises(CheckpointError, match=rf"checkpoint 7 cannot be restored: .*g2-c7-s3-a.0.arrow .*{reason}.*--from"):
        StateReader(storage, LAYOUT, READ_BY).read(file)


def test_a_manifest_cannot_make_a_reader_leave_the_root(storage: CheckpointStorage) -> None:
    with pytest.raises(StorageError, match="no path inside"):
        StateReader(storage, LAYOUT, READ_BY).read(StateFile("../../../etc/hostname", 1, "xxh3:00"))
