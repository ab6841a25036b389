"""The file system calls of directory sinks. The class ``FileSystem`` contains all these calls, so that tests can simulate a power
cut between any two calls."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid

from weir.connectors.transient_errors import FULL, retry_policy
from weir.errors import Retry, SinkError


class FileSystem:
    """Each method is either atomic or a sequence of atomic calls. A crash of the process cannot interrupt an atomic call.
    Methods raise OSError."""

    def make_directories(self, path: str) -> None:
        """Create the directory and its missing parents, and make them durable.

        Without the fsync of the parents, a power cut could remove the directory and the synced files in it."""
        missing = []
        level = path
        while not os.path.isdir(level):
            missing.append(level)
            level = os.path.dirname(level)
        for level in reversed(missing):
            self.mkdir(level)
            # Skip a parent that is writable but not readable, because the process cannot open and sync it.
            with contextlib.suppress(PermissionError):
                self.fsync(os.path.dirname(level))

    def mkdir(self, path: str, *, private: bool = False) -> None:
        """Create one directory, without fsync. Does nothing if the directory exists. If ``private`` is True, only the owner of
        the directory can read it."""
        try:
            os.mkdir(path, 0o700 if private else 0o777)
        except FileExistsError:
            if not os.path.isdir(path):
                raise

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def same_file(self, one: str, other: str) -> bool:
        return os.path.samefile(one, other)

    def list(self, path: str) -> list[str]:
        """Return the sorted names in a directory, or an empty list if the directory does not exist."""
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """Delete a file. A missing file is ignored."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_directory(self, path: str) -> None:
        """Delete an empty directory. A missing directory is ignored."""
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(path)

    def fsync(self, path: str) -> None:
        """Sync the data of a file, or the entries of a directory."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def create(self, path: str, data: bytes) -> bool:
        """Write a new file atomically and durably. Return False if the file already exists."""
        draft = f"{path}.{uuid.uuid4().hex}"
        try:
            with open(draft, "xb") as file:
                file.write(data)
            self.fsync(draft)
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            self.unlink(draft)
        self.fsync(os.path.dirname(path))
        return True


def sink_error(action: str, path: str, error: BaseException, *, retry_when_full: bool = False) -> SinkError:
    """Return the SinkError for a failed action on ``path``. The error message contains advice.

    With ``retry_when_full``, the error for a full disk allows retries. Callers use this option if retrying the action is cheap.
    """
    number = error.errno if isinstance(error, OSError) else None
    retry = Retry.BACKOFF if retry_when_full and number in FULL else retry_policy(error)
    if number in FULL or number == errno.EFBIG:
        advice = "no space left on the device. Free some space and resume the job. Committed data is intact."
    elif number in (errno.EACCES, errno.EPERM, errno.EROFS):
        advice = f"{os.strerror(number)}. Make the directory writable."
    elif number in (errno.EMLINK, errno.EOPNOTSUPP):
        advice = (
            "this file system does not support hard links. Weir needs hard links to create a file only if it does not exist. "
            "Choose another directory."
        )
    elif number == errno.EXDEV:
        advice = "a subdirectory is on another file system, so Weir cannot move files into it. Choose another directory."
    else:
        advice = str(error)
    return SinkError(f"{path}: {action} failed: {advice}", retry=retry)
