"""Checkpoint storage in a directory: of a local disk, or of a shared file system that keeps POSIX promises.

Every write goes to a file of its own in ``.weir-staging``, is fsynced there, and becomes visible by one
atomic step: a rename (put) or a hard link (create, which fails if the name is taken). Then the directory
is fsynced. So a reader never sees half a file, whatever dies when, and what returned survives a power cut.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from weir.errors import NotFound, StorageError, StorageFull, UnknownOutcome
from weir.storage.base import StoredObject
from weir.storage.paths import checked, checked_prefix
from weir.storage.uncached import BYTES_MIN, open_uncached, write_uncached

_T = TypeVar("_T")
STAGING = ".weir-staging"
STAGING_AGE_MS_MAX = 24 * 3600 * 1000
"""A staging file older than this was left by a process that died."""
_IOV_MAX = 1024
_ATTEMPTS_MAX = 10
_FULL = {
    errno.ENOSPC: "no space is left",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file size limit is reached",
}
_UNKNOWN = {errno.EIO, errno.ESTALE, errno.ETIMEDOUT}
_NO_LINKS = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV, errno.EPERM}


class LocalStorage:
    """Creates ``root`` when it first writes. Errors name the file and say what to do."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(root).absolute()
        self._staging = self._root / STAGING
        self._token = secrets.token_hex(4)
        self._numbers = itertools.count()
        self._lasting: dict[Path, int] = {}
        """Directories, by inode, whose names are known to survive a power cut."""
        self._made: set[Path] = set()
        """Directories at and above the root that did not exist before."""

    @property
    def url(self) -> str:
        return self._root.as_uri()

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        target = self._root / checked(path)
        with self._errors("write", target), self._staged(data) as staged:
            self._in_directory(target, lambda: os.replace(staged, target))
            self._settle(target)

    def create(self, path: str, data: bytes) -> bool:
        target = self._root / checked(path)
        with self._errors("create", target), self._staged((data,)) as staged:
            created = self._in_directory(target, lambda: self._link(staged, target))
            # Also for who lost: it goes on from the winner's entry, so that one must last.
            self._settle(target)
            return created

    def get(self, path: str) -> memoryview:
        target = self._root / checked(path)
        with self._errors("read", target):
            try:
                return memoryview(target.read_bytes())
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise NotFound(f"there is no {target}") from None

    def list(self, prefix: str) -> list[StoredObject]:
        top = self._root / checked_prefix(prefix)
        with self._errors("list", top):
            return sorted(self._walk(top, prefix), key=lambda found: found.path)

    def delete(self, paths: Sequence[str]) -> None:
        directories: dict[Path, None] = {}
        try:
            for path in paths:
                target = self._root / checked(path)
                directories[target.parent] = None
                with self._errors("delete", target), contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    os.unlink(target)
        finally:
            for directory in directories:
                self._remove_if_empty(directory)

    def clear_staging(self) -> int:
        """Remove what died processes left in staging a day ago or earlier. Returns how many files."""
        oldest_ms = time.time_ns() // 1_000_000 - STAGING_AGE_MS_MAX
        removed = 0
        with self._errors("clear", self._staging):
            for found in self._walk(self._staging, f"{STAGING}/"):
                if found.modified_ms < oldest_ms:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self._root / found.path)
                        removed += 1
        return removed

    @contextlib.contextmanager
    def _staged(self, data: Sequence[bytes | memoryview]) -> Iterator[Path]:
        """A durable file with ``data`` under a name nobody looks at; removed afterwards if it is still there."""
        staged = self._staging / f"{os.getpid()}-{self._token}-{next(self._numbers)}"
        parts = [view for view in (memoryview(part).cast("B") for part in data) if view.nbytes]
        uncached = sum(part.nbytes for part in parts) >= BYTES_MIN
        try:
            descriptor, uncached = self._open_staged(staged, uncached)
        except FileNotFoundError:
            self._make_directory(self._staging)
            descriptor, uncached = self._open_staged(staged, uncached)
        try:
            try:
                if not (uncached and write_uncached(descriptor, parts)):
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
        return open_uncached(staged, flags, 0o666) if uncached else (os.open(staged, flags, 0o666), False)

    def _link(self, staged: Path, target: Path) -> bool:
        try:
            os.link(staged, target)
        except FileExistsError:
            # Over NFS the answer to our own link may have been lost and the repetition refused.
            return os.stat(staged).st_nlink > 1
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise StorageError(
                    f"the file system of {self._root} cannot create a file only if it is absent (hard link: {error.strerror}); "
                    "put the checkpoint directory on another file system"
                ) from error
            if error.errno in _UNKNOWN:
                raise UnknownOutcome(f"{target} may or may not have been created ({error.strerror})") from error
            raise
        return True

    def _in_directory(self, target: Path, step: Callable[[], _T]) -> _T:
        """Do ``step`` in the directory of ``target``, which is made where it is missing.

        Nothing comes between making and step: whoever deletes the last object in a directory deletes it too.
        """
        for _ in range(_ATTEMPTS_MAX):
            try:
                return step()
            except FileNotFoundError:
                with contextlib.suppress(FileNotFoundError):
                    self._make_directory(target.parent)
        return step()

    def _mkdir(self, directory: Path) -> None:
        """Raises FileExistsError if a file stands in the way, FileNotFoundError if others delete all the time."""
        for _ in range(_ATTEMPTS_MAX):
            try:
                directory.mkdir(parents=True, exist_ok=True)
                return
            except FileExistsError as error:
                # pathlib found it there, and then looked what it is: between the two it may have been deleted (or made anew).
                if os.path.lexists(error.filename) and not os.path.isdir(error.filename):
                    raise
        raise FileNotFoundError(errno.ENOENT, "it is deleted again and again", str(directory))

    def _make_directory(self, directory: Path) -> None:
        missing = [above for above in (directory, *directory.parents) if not above.exists()]
        self._mkdir(directory)
        self._made.update(above for above in missing if above == self._root or above in self._root.parents)
        # If one was there before, another process has removed it, and the new one may have got its inode.
        for made in missing:
            self._lasting.pop(made, None)

    def _settle(self, target: Path) -> None:
        """Make the name of ``target`` last, which is there already, and the names of its directories, whoever made them."""
        try:
            directory, settled = target.parent, dict[Path, int]()
            _fsync_directory(directory)
            while True:
                inode = os.stat(directory).st_ino
                if self._lasting.get(directory) == inode:
                    break
                if not (directory in self._made or directory.is_relative_to(self._root)):
                    break
                if directory in self._made or directory != self._root:
                    _fsync_directory(directory.parent)
                settled[directory] = inode
                directory = directory.parent
            self._lasting.update(settled)
        except FileNotFoundError:
            pass  # The file was deleted, and its directory with it.
        except OSError as error:
            raise UnknownOutcome(f"{target} may or may not last: its directory cannot be synced ({error.strerror})") from error

    def _remove_if_empty(self, directory: Path) -> None:
        """And its parents likewise, below the root. A writer that had just made it makes it again."""
        while directory != self._root and self._root in directory.parents:
            try:
                directory.rmdir()
            except OSError:
                return
            self._lasting.pop(directory, None)
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
    def _errors(self, what: str, target: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _FULL:
                raise StorageFull(
                    f"cannot {what} {target}: {_FULL[error.errno]}; free some on the disk of {self._root}, or keep fewer checkpoints"
                ) from error
            hint = ""
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                hint = f"; make {self._root} writable for user id {os.geteuid()}, or choose another checkpoint directory"
            elif error.errno in (errno.ENOTDIR, errno.EEXIST):
                hint = f"; a file stands where {self._root} or a directory in it should be"
            raise StorageError(f"cannot {what} {target}: {error.strerror or error}{hint}") from error


def _write_all(descriptor: int, parts: list[memoryview]) -> None:
    """None of ``parts`` is empty."""
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
