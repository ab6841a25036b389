"""Checkpoint storage in a directory of a local disk or of a shared file system with POSIX semantics.

Every write creates a separate file in ``.weir-staging`` and syncs it. The file becomes visible in one atomic step, which is a
rename (``put``) or a hard link (``create``, which fails if the name exists). Finally the write syncs the directory. So a reader
never sees a partial file, and a completed write survives a power failure.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import TypeVar

from weir.errors import ObjectNotFound, StorageError, StorageFull, UnknownOutcome
from weir.storage.base import StoredObject, validate_path, validate_prefix
from weir.storage.direct_io import BYTES_MIN, open_direct, write_direct

_T = TypeVar("_T")
STAGING = ".weir-staging"
STAGING_AGE_MS_MAX = 24 * 3600 * 1000
"""A staging file that is older than this belongs to a process that crashed."""
_IOV_MAX = 1024
_ATTEMPTS_MAX = 10
_FULL = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "disk quota exceeded",
    errno.EFBIG: "file size limit reached",
}
_UNKNOWN = {errno.EIO, errno.ESTALE, errno.ETIMEDOUT}
_NO_LINKS = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV, errno.EPERM}


class LocalStorage:
    """A directory as checkpoint storage. The first write creates ``root``. Error messages name the file and a solution."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(root).absolute()
        self._staging = self._root / STAGING
        self._token = secrets.token_hex(4)
        self._numbers = itertools.count()
        self._durable_directories: dict[Path, int] = {}
        """Directories (path to inode) whose names are synced and survive a power failure."""
        self._created_directories: set[Path] = set()
        """The root and those of its parents that this process has created."""

    @property
    def url(self) -> str:
        return self._root.as_uri()

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        target = self._root / validate_path(path)
        with self._errors("write", target), self._staged(data) as staged:
            self._in_directory(target, lambda: os.replace(staged, target))
            self._make_durable(target)

    def create(self, path: str, data: bytes) -> bool:
        target = self._root / validate_path(path)
        with self._errors("create", target), self._staged((data,)) as staged:
            created = self._in_directory(target, lambda: self._link(staged, target))
            # Sync even if another process has created the file, because this process relies on the content of the file.
            self._make_durable(target)
            return created

    def get(self, path: str) -> memoryview:
        with self._opened(path) as file:
            return memoryview(file.read())

    def size(self, path: str) -> int:
        with self._opened(path) as file:
            return os.fstat(file.fileno()).st_size

    def get_range(self, path: str, *, offset: int, bytes: int) -> memoryview:
        with self._opened(path) as file:
            file.seek(offset)
            return memoryview(file.read(bytes))

    def list(self, prefix: str) -> list[StoredObject]:
        top = self._root / validate_prefix(prefix)
        with self._errors("list", top):
            return sorted(self._walk(top, prefix), key=lambda stored: stored.path)

    def delete(self, paths: Sequence[str]) -> None:
        directories: dict[Path, None] = {}
        try:
            for path in paths:
                target = self._root / validate_path(path)
                directories[target.parent] = None
                with self._errors("delete", target), contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    os.unlink(target)
        finally:
            for directory in directories:
                self._remove_if_empty(directory)

    def clear_staging(self) -> int:
        """Remove staging files of processes that crashed at least a day ago. Return the number of files removed."""
        oldest_ms = time.time_ns() // 1_000_000 - STAGING_AGE_MS_MAX
        removed = 0
        with self._errors("clear", self._staging):
            for stored in self._walk(self._staging, f"{STAGING}/"):
                if stored.modified_ms < oldest_ms:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self._root / stored.path)
                        removed += 1
        return removed

    @contextlib.contextmanager
    def _staged(self, data: Sequence[bytes | memoryview]) -> Iterator[Path]:
        """Yield a synced file with ``data`` under a private name. After the ``with`` block, remove the private name if it still
        exists."""
        staged = self._staging / f"{os.getpid()}-{self._token}-{next(self._numbers)}"
        parts = [view for view in (memoryview(part).cast("B") for part in data) if view.nbytes]
        uncached = sum(part.nbytes for part in parts) >= BYTES_MIN
        try:
            descriptor, uncached = self._open_staged(staged, uncached)
        except FileNotFoundError:
            self._create_directory(self._staging)
            descriptor, uncached = self._open_staged(staged, uncached)
        try:
            try:
                if not (uncached and write_direct(descriptor, parts)):
                    _write_all(descriptor, parts)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            yield staged
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(staged)

    def _open_staged(self, staged: Path, uncached: bool) -> tuple[int, bool]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return open_direct(staged, flags, 0o666) if uncached else (os.open(staged, flags, 0o666), False)

    def _link(self, staged: Path, target: Path) -> bool:
        try:
            os.link(staged, target)
        except FileExistsError:
            # An NFS client can miss the answer to a successful link call and repeat the call, which then fails.
            return os.stat(staged).st_nlink > 1
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise StorageError(
                    f"the file system of {self._root} does not support hard links ({error.strerror}). Weir needs hard links to create "
                    "files without overwriting existing files. Put the checkpoint directory on another file system."
                ) from error
            if error.errno in _UNKNOWN:
                raise UnknownOutcome(f"{target} may or may not have been created ({error.strerror})") from error
            raise
        return True

    def _in_directory(self, target: Path, step: Callable[[], _T]) -> _T:
        """Run ``step`` in the directory of ``target``, and create the directory if it is missing.

        Retry, because a process that deletes the last object of a directory also deletes the directory.
        """
        for _ in range(_ATTEMPTS_MAX):
            try:
                return step()
            except FileNotFoundError:
                with contextlib.suppress(FileNotFoundError):
                    self._create_directory(target.parent)
        return step()

    def _mkdir(self, directory: Path) -> None:
        """Raise FileExistsError if a file has the directory's name, or FileNotFoundError if other processes keep deleting the
        directory."""
        for _ in range(_ATTEMPTS_MAX):
            try:
                directory.mkdir(parents=True, exist_ok=True)
                return
            except FileExistsError as error:
                # pathlib found that the name exists and then checked its type.
                # Between these two calls, another process can delete or recreate the directory.
                if os.path.lexists(error.filename) and not os.path.isdir(error.filename):
                    raise
        raise FileNotFoundError(errno.ENOENT, "other processes keep deleting this directory", str(directory))

    def _create_directory(self, directory: Path) -> None:
        missing = [above for above in (directory, *directory.parents) if not above.exists()]
        self._mkdir(directory)
        self._created_directories.update(above for above in missing if above == self._root or above in self._root.parents)
        # Another process may have deleted a synced directory, and the new directory may have the inode of the deleted directory.
        for created_directory in missing:
            self._durable_directories.pop(created_directory, None)

    def _make_durable(self, target: Path) -> None:
        """Make the names of ``target`` and of its directories durable, even if another process created the directories."""
        try:
            directory, settled = target.parent, dict[Path, int]()
            _fsync_directory(directory)
            while True:
                inode = os.stat(directory).st_ino
                if self._durable_directories.get(directory) == inode:
                    break
                if not (directory in self._created_directories or directory.is_relative_to(self._root)):
                    break
                if directory in self._created_directories or directory != self._root:
                    _fsync_directory(directory.parent)
                settled[directory] = inode
                directory = directory.parent
            self._durable_directories.update(settled)
        except FileNotFoundError:
            pass  # Another process has deleted the file and its directory.
        except OSError as error:
            raise UnknownOutcome(f"{target} may not be durable: cannot sync its directory ({error.strerror})") from error

    def _remove_if_empty(self, directory: Path) -> None:
        """Remove empty directories from ``directory`` up to the root. A concurrent writer recreates them."""
        while directory != self._root and self._root in directory.parents:
            try:
                directory.rmdir()
            except OSError:
                return
            self._durable_directories.pop(directory, None)
            directory = directory.parent

    def _walk(self, top: Path, prefix: str) -> Iterator[StoredObject]:
        try:
            entries = list(os.scandir(top))
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            if entry.is_dir():
                if entry.name != STAGING or prefix:
                    yield from self._walk(Path(entry.path), f"{prefix}{entry.name}/")
            else:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
                    yield StoredObject(f"{prefix}{entry.name}", status.st_size, status.st_mtime_ns // 1_000_000)

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[BufferedReader]:
        target = self._root / validate_path(path)
        with self._errors("read", target):
            try:
                file = target.open("rb")
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise ObjectNotFound(f"{target} does not exist") from None
            with file:
                yield file

    @contextlib.contextmanager
    def _errors(self, action: str, target: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _FULL:
                raise StorageFull(
                    f"cannot {action} {target}: {_FULL[error.errno]}. Free space on the disk of {self._root}, or keep fewer checkpoints."
                ) from error
            hint = ""
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                hint = f". Make {self._root} writable for user id {os.geteuid()}, or choose another checkpoint directory."
            elif error.errno in (errno.ENOTDIR, errno.EEXIST):
                hint = f". A file has the name of {self._root} or of a directory below it."
            raise StorageError(f"cannot {action} {target}: {error.strerror or error}{hint}") from error


def _write_all(descriptor: int, parts: list[memoryview]) -> None:
    """Write ``parts``. No part may be empty."""
    while parts:
        written = os.writev(descriptor, parts[:_IOV_MAX])
        done = 0
        while done < len(parts) and written >= parts[done].nbytes:
            written -= parts[done].nbytes
            done += 1
        parts = parts[done:]
        if written:
            parts[0] = parts[0][written:]


def _fsync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
