from __future__ import annotations

import os
from pathlib import Path

import pytest

from weir.errors import ConfigError
from weir.storage.local import LocalStorage
from weir.storage.location import open_storage
from weir.storage.memory import MemoryStorage


def test_a_plain_path_and_a_file_url_can_name_the_same_directory(tmp_path: Path) -> None:
    directory = tmp_path / "with space"
    open_storage(str(directory)).put("a", (b"x",))
    assert bytes(open_storage(directory.as_uri()).get("a")) == b"x"
    assert open_storage(str(directory)).url == directory.as_uri()


def test_a_relative_path_is_resolved_when_the_storage_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage = open_storage("checkpoints")
    monkeypatch.chdir("/")
    storage.put("a", (b"x",))
    assert sorted(os.listdir(tmp_path / "checkpoints")) == [".weir-staging", "a"]


def test_opening_a_storage_neither_reads_nor_writes(tmp_path: Path) -> None:
    assert isinstance(open_storage(str(tmp_path / "absent")), LocalStorage)
    assert not (tmp_path / "absent").exists()


def test_each_memory_url_is_a_separate_storage() -> None:
    one, other = open_storage("memory://"), open_storage("memory://")
    assert isinstance(one, MemoryStorage)
    one.put("a", (b"x",))
    assert other.list("") == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "empty"),
        ("ftp://host/directory", "scheme 'ftp'"),
        ("hdfs://host/directory", "scheme 'hdfs'"),
        ("file://host/directory", "another host"),
        ("s3://", "Cannot use s3:// as checkpoint storage"),
    ],
)
def test_an_invalid_storage_url_is_refused(url: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        open_storage(url)


@pytest.mark.parametrize("url", ["s3://bucket/prefix", "gs://bucket/prefix", "az://container/prefix"])
def test_the_kind_of_object_store_is_selected_by_the_url_scheme(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    assert open_storage(url).url == url
