"""Checkpoint storage in a directory: durability, full disks, permissions, and processes that are killed during a write."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from weir.errors import ConfigError, ObjectNotFound, StorageError, StorageFull, UnknownOutcome
from weir.storage import local
from weir.storage.local import STAGING, STAGING_AGE_MS_MAX, LocalStorage
from weir.storage.probe import probe_storage


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path / "checkpoints")


@pytest.fixture
def read_only_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o555)
        yield Path(name)
        os.chmod(name, 0o755)


def _staged(storage: LocalStorage) -> list[str]:
    return os.listdir(Path(storage.url.removeprefix("file://")) / STAGING)


def test_the_file_is_synced_before_it_gets_its_name_and_then_the_directory_is_synced(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This test checks the order of the system calls, because only this order makes an object durable."""
    calls: list[str] = []
    fsync, link, replace = os.fsync, os.link, os.replace

    def recorded_fsync(descriptor: int) -> None:
        calls.append("sync " + os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), tmp_path).split("/")[-1])
        fsync(descriptor)

    def recorded_link(source: Path, target: Path) -> None:
        link(source, target)
        calls.append(f"link {target.name}")

    def recorded_replace(source: Path, target: Path) -> None:
        replace(source, target)
        calls.append(f"rename {target.name}")

    storage.put("job/log/0", (b"creates the directories",))
    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "link", recorded_link)
    monkeypatch.setattr(os, "replace", recorded_replace)
    storage.create("job/log/1", b"x")
    storage.create("job/log/1", b"x")
    storage.put("job/state/new/2", (b"x",))
    kinds = [re.sub(r"\d+-[0-9a-f]+-\d+", "staged", call) for call in calls]
    won, lost = ["sync staged", "link 1", "sync log"], ["sync staged", "sync log"]
    assert kinds == [*won, *lost, "sync staged", "rename 2", "sync new", "sync state", "sync job"]


def test_the_parents_of_all_new_directories_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(local, "_fsync_directory", lambda directory: synced.append(os.path.relpath(directory, tmp_path)))
    storage = LocalStorage(tmp_path / "a" / "root")
    storage.put("job/object", (b"x",))
    assert synced == ["a/root/job", "a/root", "a", "."]
    synced.clear()
    storage.put("job/object", (b"x",))
    assert synced == ["a/root/job"]
    synced.clear()
    LocalStorage(tmp_path / "a" / "root").put("job/object", (b"x",))
    assert synced == ["a/root/job", "a/root"], "another process may have created the directory and not yet synced it"


def test_a_directory_that_was_deleted_and_created_again_is_synced_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(local, "_fsync_directory", lambda directory: synced.append(os.path.relpath(directory, tmp_path)))
    stat = os.stat

    def one_inode(path: str | Path, **options: bool) -> os.stat_result:
        return os.stat_result((stat(path, **options)[0], 1, *stat(path, **options)[2:]))

    storage = LocalStorage(tmp_path / "root")
    monkeypatch.setattr(os, "stat", one_inode)
    storage.put("job/state/a", (b"x",))
    shutil.rmtree(tmp_path / "root" / "job")
    synced.clear()
    storage.put("job/state/b", (b"x",))
    assert synced == ["root/job/state", "root/job", "root"]


def test_a_write_whose_directory_cannot_be_synced_has_an_unknown_outcome(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.put("log/0", (b"x",))

    def failing(directory: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(local, "_fsync_directory", failing)
    with pytest.raises(UnknownOutcome, match="log/1"):
        storage.create("log/1", b"x")
    with pytest.raises(UnknownOutcome, match="log/2"):
        storage.put("log/2", (b"x",))


def test_a_create_succeeds_if_the_file_system_repeats_its_link_call_after_a_lost_response(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def link_then_repeat(source: Path, target: Path) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", link_then_repeat)
    assert storage.create("log/1", b"first")
    assert not storage.create("log/1", b"second")


def test_a_file_system_without_hard_links_is_refused(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(source: Path, target: Path) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "link", unsupported)
    with pytest.raises(ConfigError, match="does not support hard links.*another file system"):
        probe_storage(storage)


class _FullDisk(LocalStorage):
    """Storage whose writes go to /dev/full, which fails like a full disk."""

    def _open_staged(self, staged: Path, uncached: bool) -> tuple[int, bool]:
        return os.open("/dev/full", os.O_WRONLY), False


def test_a_full_disk_is_reported_and_existing_objects_are_kept(storage: LocalStorage, tmp_path: Path) -> None:
    storage.put("state", (b"old",))
    full = _FullDisk(tmp_path / "checkpoints")
    with pytest.raises(StorageFull, match=re.escape(f"{tmp_path}/checkpoints/state: no space left on the disk. Free space")):
        full.put("state", (b"new",))
    with pytest.raises(StorageFull):
        full.create("log/1", b"x")
    with pytest.raises(StorageFull):
        probe_storage(full)
    assert bytes(storage.get("state")) == b"old"
    assert [found.path for found in storage.list("")] == ["state"]


_WRITE_BEYOND_THE_LIMIT = """
import resource, sys
from weir.errors import StorageFull
from weir.storage.local import LocalStorage
storage = LocalStorage(sys.argv[1])
storage.put("state/small", (b"x" * 1000,))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    storage.put("state/large", [b"y" * 30_000] * 5)
except StorageFull as error:
    print(error)
"""


def test_a_write_that_exceeds_the_file_size_limit_leaves_no_partial_file(storage: LocalStorage, tmp_path: Path) -> None:
    script = [sys.executable, "-c", _WRITE_BEYOND_THE_LIMIT, str(tmp_path / "checkpoints")]
    output = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    assert "state/large: file size limit reached" in output
    assert [found.path for found in storage.list("")] == ["state/small"]
    assert _staged(storage) == []


@pytest.mark.usefixtures("unprivileged")
def test_the_error_for_a_read_only_directory_says_how_to_fix_it(read_only_directory: Path) -> None:
    for root in (read_only_directory, read_only_directory / "below"):
        with pytest.raises(ConfigError, match=re.escape(f"Make {root} writable for user id")):
            probe_storage(LocalStorage(root))


def test_a_storage_directory_whose_path_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match="A file has the name of"):
            probe_storage(LocalStorage(root))


def test_a_file_with_the_name_of_a_required_directory_is_reported(storage: LocalStorage) -> None:
    storage.put("log", (b"an object",))
    with pytest.raises(StorageError, match="A file has the name of"):
        storage.create("log/1", b"x")


_WRITE_REPEATEDLY = """
import sys
from weir.storage.local import LocalStorage
storage = LocalStorage(sys.argv[1])
number = 0
while True:
    number += 1
    body = b"%08d" % number * 40_000
    storage.put("replaced", (body, body))
    storage.create("log/%08d" % number, body)
    print(number, flush=True)
"""


def test_a_writer_that_is_killed_during_a_write_leaves_no_partial_object(storage: LocalStorage, tmp_path: Path) -> None:
    for written_before in range(1, 5):
        script = [sys.executable, "-c", _WRITE_REPEATEDLY, str(tmp_path / "checkpoints")]
        writer = subprocess.Popen(script, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(written_before):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        for found in storage.list(""):
            body = bytes(storage.get(found.path))
            assert body == body[:8] * (80_000 if found.path == "replaced" else 40_000), f"{found.path} is incomplete"
        storage.delete([found.path for found in storage.list("log/")])


def test_staging_files_of_killed_writers_are_deleted_after_a_day(storage: LocalStorage, tmp_path: Path) -> None:
    storage.put("object", (b"x",))
    staging = tmp_path / "checkpoints" / STAGING
    for name, age_ms in (("old", STAGING_AGE_MS_MAX + 60_000), ("recent", 0)):
        (staging / name).write_bytes(b"part")
        then_ns = (staging / name).stat().st_mtime_ns - age_ms * 1_000_000
        os.utime(staging / name, ns=(then_ns, then_ns))
    assert [found.path for found in storage.list("")] == ["object"]
    probe_storage(storage)
    assert _staged(storage) == ["recent"]
    assert storage.clear_staging() == 0


def test_an_interrupted_deletion_leaves_no_empty_directory(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("job/a/1", "job/b/1"):
        storage.put(path, (b"x",))
    unlink = os.unlink

    def failing(path: Path) -> None:
        if Path(path).parent.name == "b":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        unlink(path)

    monkeypatch.setattr(os, "unlink", failing)
    with pytest.raises(StorageError):
        storage.delete(["job/a/1", "job/b/1"])
    assert os.listdir(tmp_path / "checkpoints" / "job") == ["b"]


def test_a_directory_is_removed_with_its_last_object(storage: LocalStorage, tmp_path: Path) -> None:
    storage.put("job/checkpoints/7/manifest", (b"x",))
    storage.put("job/checkpoints/8/manifest", (b"x",))
    storage.delete(["job/checkpoints/7/manifest"])
    assert os.listdir(tmp_path / "checkpoints" / "job" / "checkpoints") == ["8"]
    storage.delete(["job/checkpoints/8/manifest"])
    assert os.listdir(tmp_path / "checkpoints") == [STAGING]


def test_concurrent_writes_and_deletions_in_the_same_directory_succeed(tmp_path: Path) -> None:
    def write_and_delete(worker: int) -> None:
        storage = LocalStorage(tmp_path)
        for number in range(15):
            path = f"shared/directory/{worker}-{number}"
            (storage.put(path, (b"x",)) if number % 2 else storage.create(path, b"x"))
            assert bytes(storage.get(path)) == b"x"
            storage.delete([path])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_and_delete, range(4)))
    assert LocalStorage(tmp_path).list("") == []


def test_a_directory_that_is_deleted_during_its_creation_is_created_again(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    original_mkdir = Path.mkdir
    interrupted: list[Path] = []

    def mkdir(path: Path, *arguments: Any, **options: Any) -> None:
        if not interrupted:
            # pathlib raises this error if the directory exists but is deleted before pathlib checks its type.
            interrupted.append(path)
            raise FileExistsError(17, "File exists", str(path))
        original_mkdir(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    storage.put("shared/directory/a", (b"x",))
    assert bytes(storage.get("shared/directory/a")) == b"x" and interrupted


def test_many_small_buffers_are_written_in_order_even_if_the_kernel_writes_only_a_part(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [b"%05d" % number for number in range(3000)]
    writev = os.writev
    monkeypatch.setattr(os, "writev", lambda descriptor, views: writev(descriptor, [memoryview(b"".join(views[:9]))[:13]]))
    storage.put("parts", parts)
    assert bytes(storage.get("parts")) == b"".join(parts)


def test_get_raises_not_found_for_the_path_of_a_directory(storage: LocalStorage) -> None:
    storage.put("a/b", (b"x",))
    with pytest.raises(ObjectNotFound):
        storage.get("a")
