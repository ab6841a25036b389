"""Writing files with direct I/O, and with ordinary writes where direct I/O is not supported."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from weir.errors import StorageFull
from weir.storage import direct_io
from weir.storage.direct_io import BLOCK, BYTES_MIN
from weir.storage.local import LocalStorage

MEBIBYTE = 1 << 20
SIZES = [BYTES_MIN, BYTES_MIN + 1, MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 1, 3 * MEBIBYTE + BLOCK, 2 * MEBIBYTE + 12_345]


def content(size: int) -> bytes:
    return os.urandom(997) * (size // 997 + 1)


@pytest.mark.parametrize("size", SIZES)
def test_a_file_of_any_size_is_read_back_completely(tmp_path: Path, size: int) -> None:
    storage, data = LocalStorage(tmp_path), content(size)[:size]
    cuts = [0, 1, size // 3, size // 2 + 7, size]
    storage.put("one/file", [memoryview(data)[begin:end] for begin, end in zip(cuts, cuts[1:], strict=False)])
    assert bytes(storage.get("one/file")) == data


def test_a_file_does_not_contain_bytes_of_the_longer_file_that_was_written_before(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.put("one", [b"x" * (MEBIBYTE + 5_000)])
    storage.put("two", [b"y" * (BYTES_MIN + 3)])
    assert bytes(storage.get("two")) == b"y" * (BYTES_MIN + 3)
    assert (tmp_path / "two").stat().st_size == BYTES_MIN + 3


@pytest.mark.parametrize("refusing", ["open", "pwrite"])
def test_a_file_is_written_without_direct_io_if_the_file_system_does_not_support_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusing: str
) -> None:
    real_open, data = os.open, content(MEBIBYTE)

    def refusing_open(path: str, flags: int, *rest: int) -> int:
        if flags & os.O_DIRECT:
            os.close(real_open(path, flags & ~os.O_DIRECT, *rest))  # like Linux, create the file before the call fails
            raise OSError(errno.EINVAL, "Invalid argument")
        return real_open(path, flags, *rest)

    def refusing_pwrite(descriptor: int, chunk: bytes, offset: int) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    if refusing == "open":
        monkeypatch.setattr(direct_io.os, "open", refusing_open)
    else:
        monkeypatch.setattr(direct_io.os, "pwrite", refusing_pwrite)
    storage = LocalStorage(tmp_path)
    storage.put("file", [data])
    assert bytes(storage.get("file")) == data


def test_a_partial_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, data = os.pwrite, content(MEBIBYTE)
    monkeypatch.setattr(
        direct_io.os, "pwrite", lambda descriptor, chunk, offset: real(descriptor, chunk[: 3 * BLOCK], offset)
    )  # fmt: skip
    storage = LocalStorage(tmp_path)
    storage.put("file", [data])
    assert bytes(storage.get("file")) == data


def test_a_write_to_a_full_disk_raises_storage_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, chunk: bytes, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(direct_io.os, "pwrite", full)
    storage = LocalStorage(tmp_path)
    with pytest.raises(StorageFull, match="no space left on the disk"):
        storage.put("file", [content(MEBIBYTE)])
    assert [found.path for found in storage.list("")] == []
