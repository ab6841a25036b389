from __future__ import annotations

import random
import re
import threading
from collections.abc import Sequence

import pyarrow as pa
import pytest
from tests.unit.storage.storage_builders import JOB, UID

from weir.errors import CheckpointError, StorageError
from weir.protocol.ids import CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage, checksum
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage
from weir.storage.state_files import (
    PACKED_BYTES_MAX,
    PART_BYTES_MAX,
    RestoreCancelled,
    RestoreProgress,
    StateFileChecker,
    StateFiles,
    StateReader,
)

LAYOUT = JobLayout(JOB)
CHECKPOINT = CheckpointId(7)


LARGE = b"x" * (PACKED_BYTES_MAX + 1)


def _files(storage: CheckpointStorage, attempt: str = "a") -> StateFiles:
    return StateFiles(storage, LAYOUT, generation=Generation(2), checkpoint=CHECKPOINT, attempt=attempt)


def _put(storage: CheckpointStorage, *contents: bytes) -> list[StateFile]:
    files = _files(storage)
    put = [files.writer(SubtaskId(1, 3)).put(UID, (content,), rows=3, key_groups=(4, 9)) for content in contents]
    files.flush()
    return put


def _read(storage: CheckpointStorage, *files: StateFile) -> bytes:
    """Read the files, and return the content of the last file."""
    with StateReader(storage, LAYOUT, CHECKPOINT, files) as reader:
        for file in files:
            with reader.open(file) as stream:
                content = bytes(stream.read())
    return content


def test_a_state_file_is_read_back_completely(storage: CheckpointStorage) -> None:
    files = _files(storage)
    file = files.writer(SubtaskId(1, 3)).put(
        UID, (b"one", pa.py_buffer(b"two"), memoryview(b"-three-")[1:6]), rows=3, key_groups=(4, 9)
    )
    files.flush()
    assert re.fullmatch(r"state/packed\.slots/g2-c7-a\.\d+\.pack", file.path)
    assert file == StateFile(file.path, 11, checksum((b"onetwothree",)), 3, (4, 9))
    assert _read(storage, file) == b"onetwothree"


def test_a_large_state_file_is_a_separate_object(storage: CheckpointStorage) -> None:
    (file,) = _put(storage, LARGE)
    assert re.fullmatch(r"state/per-route/g2-c7-s3-a\.\d+\.arrow", file.path) and file.offset == 0
    assert storage.get(LAYOUT.absolute(file.path)) == LARGE == _read(storage, file)


def test_small_state_files_of_a_slot_are_stored_in_one_pack(storage: CheckpointStorage) -> None:
    files = _put(storage, b"one", LARGE, b"", b"three" * 100)
    assert len({file.path for file in files}) == len(storage.list(LAYOUT.state)) == 2
    assert [file.offset for file in files] == [0, 0, 64, 64]
    assert [_read(storage, file) for file in files] == [b"one", LARGE, b"", b"three" * 100]


def test_a_pack_has_a_limited_size(storage: CheckpointStorage) -> None:
    files = _put(storage, *[b"x" * (PACKED_BYTES_MAX // 2)] * 5)
    assert sorted(one.bytes for one in storage.list(LAYOUT.state)) == [PACKED_BYTES_MAX // 2, PACKED_BYTES_MAX, PACKED_BYTES_MAX]
    assert all(_read(storage, file) == b"x" * (PACKED_BYTES_MAX // 2) for file in files)


class _FailingOnce(MemoryStorage):
    fails = True

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        if self.fails:
            self.fails = False
            raise StorageError("the disk did not answer")
        super().put(path, data)


def test_a_flush_fails_if_an_earlier_write_of_a_pack_failed() -> None:
    """The first ``put`` returned before its data was written, so ``flush`` must raise the error of the failed write."""
    storage, half = _FailingOnce(), b"x" * (PACKED_BYTES_MAX // 2 + 1)
    files = _files(storage)
    first, second = files.writer(SubtaskId(0, 0)), files.writer(SubtaskId(1, 0))
    first.put(UID, (half,), rows=1, key_groups=None)
    with pytest.raises(StorageError, match="did not answer"):
        second.put(UID, (half,), rows=1, key_groups=None)
    for _ in range(2):
        with pytest.raises(StorageError, match="did not answer"):
            files.flush()


def test_a_flush_without_files_writes_no_object(storage: CheckpointStorage) -> None:
    assert _put(storage) == []
    assert storage.list(LAYOUT.state) == []


def test_a_reader_fetches_each_pack_only_once(storage: CheckpointStorage) -> None:
    files = _put(storage, b"one", b"two")
    with StateReader(storage, LAYOUT, CHECKPOINT) as reader:
        for file, content in zip(files, (b"one", b"two"), strict=True):
            with reader.open(file) as stream:
                assert stream.read() == content
            storage.delete([LAYOUT.absolute(file.path)])


def test_arrow_can_open_a_state_file_inside_a_pack(storage: CheckpointStorage) -> None:
    table = pa.table({"key": [1, 2], "count": pa.array([5, 6], pa.int64())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as ipc:
        ipc.write_table(table)
    _, file = _put(storage, b"first file", sink.getvalue())
    assert pa.ipc.open_file(_read(storage, file)).read_all() == table


def test_the_object_names_of_state_files_are_unique_within_and_between_attempts(storage: CheckpointStorage) -> None:
    """A slot with a slow alignment writes its snapshots in several objects. A new object must not replace an object of the same
    checkpoint."""
    for attempt in ("a", "b", "b"):
        files = _files(storage, attempt)
        for content in (b"x", LARGE):
            for uid in ("u", "u", "v/w", "packed.slots"):
                files.writer(SubtaskId(0, 1)).put(OperatorUid(uid), (content,), rows=1, key_groups=None)
                files.flush()
    assert len(storage.list(LAYOUT.state)) == 24


def test_the_checksum_of_a_state_file_does_not_depend_on_its_division_into_parts(storage: CheckpointStorage) -> None:
    assert checksum((b"ab", b"", memoryview(b"c"))) == checksum((b"abc",)) == "xxh3:06b05ab6733a618578af5f94892f3950"


def _damage(storage: CheckpointStorage, file: StateFile, damaged: bytes | None) -> None:
    path = LAYOUT.absolute(file.path)
    if damaged is None:
        storage.delete([path])
    else:
        storage.put(path, (damaged,))


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (b"one" + bytes(61) + b"tw", "has 66 bytes, but at least 67 were written"),
        (b"one" + bytes(61) + b"twO", "at byte 64: its checksum is"),
        (None, "is missing"),
    ],
)
def test_the_error_for_a_damaged_pack_names_the_checkpoint_and_a_solution(
    storage: CheckpointStorage, damaged: bytes | None, reason: str
) -> None:
    first, second = _put(storage, b"one", b"two")
    _damage(storage, second, damaged)
    with pytest.raises(CheckpointError, match=rf"Cannot restore checkpoint 7: .*g2-c7-a\.\d+\.pack .*{reason}.*--from"):
        _read(storage, second)
    if damaged is not None:
        assert _read(storage, first) == b"one"


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [(LARGE[1:], f"has {len(LARGE) - 1} bytes, but {len(LARGE)} were written"), (LARGE[1:] + b"y", "its checksum is")],
)
def test_the_error_for_a_damaged_large_file_names_the_checkpoint_and_a_solution(
    storage: CheckpointStorage, damaged: bytes, reason: str
) -> None:
    (file,) = _put(storage, LARGE)
    _damage(storage, file, damaged)
    with pytest.raises(CheckpointError, match=rf"Cannot restore checkpoint 7: .*g2-c7-s3-a\.\d+\.arrow .*{reason}.*--from"):
        _read(storage, file)


class _CountingStorage(MemoryStorage):
    """Counts the bytes of each read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[int] = []

    def get_range(self, path: str, *, offset: int, bytes: int) -> memoryview:
        self.reads.append(bytes)
        return super().get_range(path, offset=offset, bytes=bytes)


def test_the_verification_of_a_large_file_reads_it_in_parts() -> None:
    storage, content = _CountingStorage(), b"x" * (2 * PART_BYTES_MAX + 5)
    (file,) = _put(storage, content)
    assert StateFileChecker(storage, LAYOUT).verify(file) == ""
    assert storage.reads == [PART_BYTES_MAX, PART_BYTES_MAX, 5]


@pytest.mark.parametrize("content", [b"small", LARGE])
def test_the_verification_of_a_file_detects_any_damage(storage: CheckpointStorage, content: bytes) -> None:
    (file,) = _put(storage, content)
    assert StateFileChecker(storage, LAYOUT).verify(file) == ""
    for damaged, problem in (
        (content[:-1], "bytes, but"),
        (b"", "has 0 bytes, but"),
        (content[:-1] + b"!", "is damaged"),
        (None, "is missing"),
    ):
        _damage(storage, file, damaged)
        assert problem in StateFileChecker(storage, LAYOUT).verify(file)


def test_a_reader_fetches_the_parts_of_all_files_in_advance_and_only_once() -> None:
    storage = _CountingStorage()
    contents = [bytes([number]) * (PACKED_BYTES_MAX + number) for number in range(1, 4)]
    files = _put(storage, b"small", *contents)
    with StateReader(storage, LAYOUT, CHECKPOINT, files) as reader:
        with reader.open(files[0]) as stream:
            assert stream.read() == b"small"
        with reader.open(files[2]) as stream:  # this test never opens ``files[1]``
            assert stream.read(5) == contents[1][:5]
        with reader.open(files[3]) as stream:
            assert stream.read() == contents[2]
    assert sorted(storage.reads) == [len(content) for content in contents]


def test_a_stream_returns_all_bytes_for_reads_of_any_size(storage: CheckpointStorage) -> None:
    content = random.Random(1).randbytes(2 * PART_BYTES_MAX + 5)
    (file,) = _put(storage, content)
    progress = RestoreProgress(file.bytes)
    with StateReader(storage, LAYOUT, CHECKPOINT, (file,), progress) as reader, reader.open(file) as stream:
        sizes = (3, PART_BYTES_MAX, 1 << 20, PART_BYTES_MAX, 7)
        assert b"".join(bytes(stream.read(size)) for size in sizes) == content
        assert stream.read(1) == stream.read() == b""
    assert progress.restored_bytes == file.bytes


def test_a_damaged_file_is_reported_even_if_the_caller_fails_or_reads_only_a_part_of_it(storage: CheckpointStorage) -> None:
    (file,) = _put(storage, LARGE)
    _damage(storage, file, LARGE[:-1] + b"!")
    with StateReader(storage, LAYOUT, CHECKPOINT) as reader:
        with pytest.raises(CheckpointError, match="is damaged: its checksum is"), reader.open(file) as stream:
            stream.read(10)
        with pytest.raises(CheckpointError, match="is damaged: its checksum is"), reader.open(file):
            raise ValueError("an impossible value")
    _damage(storage, file, LARGE)
    with StateReader(storage, LAYOUT, CHECKPOINT) as reader, pytest.raises(ValueError, match="invalid row"), reader.open(file):
        raise ValueError("the caller found an invalid row")


def test_an_unreachable_storage_is_not_reported_as_damage() -> None:
    class Unreachable(MemoryStorage):
        def get_range(self, path: str, *, offset: int, bytes: int) -> memoryview:
            raise StorageError("the storage is unreachable")

    storage = Unreachable()
    (file,) = _put(storage, LARGE)
    with StateReader(storage, LAYOUT, CHECKPOINT) as reader, pytest.raises(StorageError, match="unreachable"):
        with reader.open(file) as stream:
            pa.ipc.open_stream(stream)


def test_a_cancelled_restore_stops_reading_and_ends_its_threads() -> None:
    storage = _CountingStorage()
    (file,) = _put(storage, b"x" * (40 * PACKED_BYTES_MAX))
    progress = RestoreProgress(file.bytes)
    with pytest.raises(RestoreCancelled), StateReader(storage, LAYOUT, CHECKPOINT, (file,), progress) as reader:
        with reader.open(file) as stream:
            stream.read(10)
            progress.cancelled = True
            stream.read()
    assert len(storage.reads) < 40 * PACKED_BYTES_MAX // PART_BYTES_MAX
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("weir-restore")]


def test_the_path_of_a_state_file_outside_the_storage_is_refused(storage: CheckpointStorage) -> None:
    with pytest.raises(StorageError, match="not a path in"):
        _read(storage, StateFile("../../../etc/hostname", 1, "xxh3:00"))
