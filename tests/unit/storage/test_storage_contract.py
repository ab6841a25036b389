"""Tests that every kind of checkpoint storage must pass."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from weir.errors import ConfigError, ObjectNotFound, StorageError
from weir.storage.base import CheckpointStorage
from weir.storage.memory import MemoryStorage
from weir.storage.probe import probe_storage

Open = Callable[[], CheckpointStorage]


def test_an_object_is_the_concatenation_of_its_parts(storage: CheckpointStorage) -> None:
    storage.put("a/b/object", (b"one", memoryview(b"--two--")[2:5], b"", b"three"))
    assert bytes(storage.get("a/b/object")) == b"onetwothree"


def test_an_empty_object_exists_and_is_read_back(storage: CheckpointStorage) -> None:
    storage.put("empty", ())
    assert storage.get("empty").nbytes == 0
    assert [(found.path, found.bytes) for found in storage.list("")] == [("empty", 0)]


def test_an_object_uploaded_in_parts_is_read_back(storage: CheckpointStorage) -> None:
    parts = [bytes([number]) * 3_000_000 for number in range(4)]
    storage.put("large", parts)
    assert bytes(storage.get("large")) == b"".join(parts)


def test_a_range_of_an_object_is_read_without_the_rest_of_the_object(storage: CheckpointStorage) -> None:
    storage.put("a/object", (b"0123456789",))
    assert storage.size("a/object") == 10
    assert [bytes(storage.get_range("a/object", offset=first, bytes=4)) for first in (0, 3, 6)] == [b"0123", b"3456", b"6789"]
    for read in (storage.size, lambda path: storage.get_range(path, offset=0, bytes=1)):
        for absent in ("nothing", "a", "a/object/c"):
            with pytest.raises(ObjectNotFound, match=absent):
                read(absent)


def test_put_replaces_an_object(storage: CheckpointStorage) -> None:
    storage.put("object", (b"a longer first version",))
    storage.put("object", (b"second",))
    assert bytes(storage.get("object")) == b"second"


def test_create_does_not_change_an_existing_object(storage: CheckpointStorage) -> None:
    assert storage.create("log/1", b"first")
    assert not storage.create("log/1", b"second")
    assert bytes(storage.get("log/1")) == b"first"


def test_a_deleted_object_can_be_created_again(storage: CheckpointStorage) -> None:
    storage.put("only/here", (b"x",))
    storage.delete(["only/here"])
    assert storage.create("only/here", b"y")


def test_get_raises_not_found_for_an_object_that_does_not_exist(storage: CheckpointStorage) -> None:
    storage.put("a/b", (b"x",))
    for path in ("nothing", "a", "a/b/c", "a/c"):
        with pytest.raises(ObjectNotFound, match=path):
            storage.get(path)


def test_a_listing_contains_exactly_the_objects_below_its_prefix_and_is_sorted_by_path(storage: CheckpointStorage) -> None:
    for path in ("b/2", "b/10", "a/1", "bc/1", "b/c/d", "z"):
        storage.put(path, (path.encode(),))
    assert [found.path for found in storage.list("b/")] == ["b/10", "b/2", "b/c/d"]
    assert [found.path for found in storage.list("")] == ["a/1", "b/10", "b/2", "b/c/d", "bc/1", "z"]
    assert [found.bytes for found in storage.list("b/c/")] == [5]
    assert storage.list("nothing/") == []


def test_deleting_absent_objects_succeeds(storage: CheckpointStorage) -> None:
    storage.put("a/1", (b"x",))
    storage.put("a/2", (b"x",))
    storage.delete([])
    storage.delete(["absent", "a/1", "a/absent", "a/2/below"])
    assert [found.path for found in storage.list("")] == ["a/2"]


@pytest.mark.parametrize("path", ["../escaped", "/etc/passwd", "a//b", "a/./b", "a/../../b", "", "a\\..\\b", "a\0b"])
def test_a_path_outside_the_root_is_refused(storage: CheckpointStorage, path: str) -> None:
    for touch in (
        lambda: storage.put(path, (b"x",)),
        lambda: storage.create(path, b"x"),
        lambda: storage.get(path),
        lambda: storage.size(path),
        lambda: storage.get_range(path, offset=0, bytes=1),
    ):
        with pytest.raises(StorageError, match="not a path in"):
            touch()
    assert storage.list("") == []


def test_exactly_one_create_succeeds_if_an_object_is_created_several_times_at_once(open_again: Open) -> None:
    stores = [open_again() for _ in range(4)]
    with ThreadPoolExecutor(len(stores)) as pool:
        for number in range(5):
            won = list(
                pool.map(lambda index, number=number: stores[index].create(f"race/{number}", b"%d" % index), range(len(stores)))
            )
            assert sum(won) == 1
            assert bytes(stores[0].get(f"race/{number}")) == b"%d" % won.index(True)


def test_a_successful_probe_leaves_no_objects(storage: CheckpointStorage) -> None:
    probe_storage(storage)
    assert storage.list("") == []


class _OverwritingStorage(MemoryStorage):
    """Storage in which ``create`` replaces an existing object, as in an object store without ``If-None-Match``."""

    def create(self, path: str, data: bytes) -> bool:
        self.put(path, (data,))
        return True


class _FalseSuccessStorage(MemoryStorage):
    """Storage in which ``create`` keeps an existing object but reports success."""

    def create(self, path: str, data: bytes) -> bool:
        super().create(path, data)
        return True


class _NeverCreatingStorage(MemoryStorage):
    def create(self, path: str, data: bytes) -> bool:
        super().create(path, data)
        return False


class _TruncatingStorage(MemoryStorage):
    def get(self, path: str) -> memoryview:
        return super().get(path)[:-1]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (_OverwritingStorage, "let 5 of 5.*could both commit"),
        (_FalseSuccessStorage, "let 5 of 5"),
        (_NeverCreatingStorage, "let 0 of 5"),
        (_TruncatingStorage, "data that differs from the data written"),
    ],
)
def test_a_probe_refuses_storage_that_cannot_guarantee_exactly_once_output(kind: type[MemoryStorage], reason: str) -> None:
    storage = kind()
    with pytest.raises(ConfigError, match=reason):
        probe_storage(storage)
    assert storage.list("") == []
