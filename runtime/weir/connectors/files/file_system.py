"""The file system calls that two-phase commit uses, behind one class, so that tests can cut the power between any two of them."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid

from weir.connectors.transient_errors import FULL, retry_policy
from weir.errors import Retry, SinkError


class FileSystem:
    """Each method is atomic with respect to a crash, or calls only methods that are. Methods raise OSError."""

    def make_directories(self, path: str) -> None:
        """Create the directory and its missing parents, durably.

        Without the fsync of the parents, a power cut could remove the directory together with the synced files in it."""
        missing = []
        level = path
        while not os.path.isdir(level):
            missing.append(level)
            level = os.path.dirname(level)
        for level in reversed(missing):
            self.mkdir(level)
            # A parent that is writable but not readable cannot be opened, so it cannot be synced. Accept that.
            with contextlib.suppress(PermissionError):
                self.fsync(os.path.dirname(level))

    def mkdir(self, path: str, *, private: bool = False) -> None:
        """Create one directory, not yet durable. Does nothing if it exists. ``private``: only its owner may read it."""
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
        """Return the sorted names in a directory; none if it does not exist."""
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def link(self, source: str, target: str) -> None:
        """Add a second name. Raises FileExistsError if the target exists, FileNotFoundError if the source does not."""
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """Ignores a missing file."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_directory(self, path: str) -> None:
        """Ignores a missing directory."""
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
        """Write a file atomically. Return False if it exists."""
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
    """Describe a failed action on ``path``, with advice.

    With ``retry_when_full``, the error for a full disk allows retries, because a retry costs nothing.
    """
    number = error.errno if isinstance(error, OSError) else None
    retry = Retry.BACKOFF if retry_when_full and number in FULL else retry_policy(error)
    if number in FULL or number == errno.EFBIG:
        advice = "no space left on the device. Free some space and resume the job; committed data is intact."
    elif number in (errno.EACCES, errno.EPERM, errno.EROFS):
        advice = f"{os.strerror(number)}. Make the directory writable."
    elif number in (errno.EMLINK, errno.EOPNOTSUPP, errno.EXDEV):
        advice = "this file system does not support hard links, which publishing needs. Choose another directory."
    else:
        advice = str(error)
    return SinkError(f"{path}: {action} failed: {advice}", retry=retry)
