"""The few file system calls that two-phase commit rests on, behind one class, so that tests cut the power between any two."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid

from weir.connectors.transient import FULL, retry_after
from weir.errors import Retry, SinkError


class Disk:
    """Raises OSError. Every method is one step as far as a crash is concerned, or made of such."""

    def make_directory(self, path: str) -> None:
        """With those above it, and durable: a file synced in a directory that a power cut takes away would be lost all the same."""
        missing = []
        level = path
        while not os.path.isdir(level):
            missing.append(level)
            level = os.path.dirname(level)
        for level in reversed(missing):
            self.make_entry(level)
            # Where one may make entries and not read them, there is nothing to sync by: it was enough for writing so far.
            with contextlib.suppress(PermissionError):
                self.fsync(os.path.dirname(level))

    def make_entry(self, path: str, *, private: bool = False) -> None:
        """A directory in one that is there. One that is there already is left alone. Not yet durable. ``private``: to be read by
        its owner only."""
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
        """Sorted names; an absent directory is empty."""
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def link(self, source: str, target: str) -> None:
        """A second name; FileExistsError if the target is there, FileNotFoundError if the source is not."""
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        """An absent file is ignored."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_directory(self, path: str) -> None:
        """An absent directory is ignored."""
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(path)

    def fsync(self, path: str) -> None:
        """Of a file's data, or of a directory's entries."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def create(self, path: str, data: bytes) -> bool:
        """The whole file or nothing. False: there is one already."""
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


def sink_error(doing: str, path: str, error: BaseException, *, wait_for_room: bool = False) -> SinkError:
    """What, where, what to do. ``wait_for_room``: trying again costs nothing, so a full disk is worth it, too."""
    number = error.errno if isinstance(error, OSError) else None
    retry = Retry.BACKOFF if wait_for_room and number in FULL else retry_after(error)
    if number in FULL or number == errno.EFBIG:
        advice = "no space left there: free some and resume the job; committed data is untouched"
    elif number in (errno.EACCES, errno.EPERM, errno.EROFS):
        advice = f"not permitted ({os.strerror(number)}): make the directory writable"
    elif number in (errno.EMLINK, errno.EOPNOTSUPP, errno.EXDEV):
        advice = "this file system has no hard links, which publishing needs: choose another directory"
    else:
        advice = str(error)
    return SinkError(f"{path}: {doing} failed: {advice}", retry=retry)
