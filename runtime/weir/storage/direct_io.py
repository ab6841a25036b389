"""Direct I/O: file writes that bypass the page cache, on systems and file systems that support it (Linux, most file systems).

Checkpoint storage rarely reads the files that it has written, so caching them is useless. A write through the page cache
allocates a page for every 4 KiB. The allocation costs several times as much as the write itself. In a virtual machine, the
allocation can reduce the write rate to a megabyte per second.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import threading
from collections.abc import Iterator, Sequence

BYTES_MIN = 1 << 18
"""Files smaller than this are written through the page cache, because direct I/O would not make them faster."""
BLOCK = 4096
"""Direct I/O requires addresses, offsets and sizes that are multiples of this block size. No common device needs larger
blocks."""
_BUFFER_BYTES = 1 << 20
_local = threading.local()


def open_direct(path: str | os.PathLike[str], flags: int, mode: int) -> tuple[int, bool]:
    """Open a file. Return the descriptor, and whether the descriptor uses direct I/O.

    Not every file system supports direct I/O. Raise OSError as ``os.open`` does.
    """
    direct = getattr(os, "O_DIRECT", 0)
    if direct:
        try:
            return os.open(path, flags | direct, mode), True
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            # The failed call may have created the file, so do not require that the file is new.
            flags &= ~os.O_EXCL
    return os.open(path, flags, mode), False


def write_direct(descriptor: int, parts: Sequence[memoryview]) -> bool:
    """Write all of ``parts`` to a new file opened by ``open_direct``.

    Return False if the file system does not support direct I/O. If ``write_direct`` returns False, the file is empty, and the
    descriptor no longer uses direct I/O. Raise OSError as ``os.write`` does.
    """
    size = 0
    try:
        for data_bytes, block in _blocks(parts):
            written = 0
            while written < len(block):
                written += os.pwrite(descriptor, block[written:], size + written)
                # If a write ends inside a block, the next write fails with EINVAL, and the caller writes the file without direct I/O.
            size += data_bytes
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        os.ftruncate(descriptor, 0)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_DIRECT)
        return False
    os.ftruncate(descriptor, size)
    return True


def _blocks(parts: Sequence[memoryview]) -> Iterator[tuple[int, memoryview]]:
    """Yield (number of data bytes, the data padded to whole blocks). Each yielded buffer is valid until the next iteration."""
    buffer = getattr(_local, "buffer", None)
    if buffer is None:
        # Direct I/O needs an aligned buffer, and anonymous memory starts at a page boundary.
        # Each thread keeps its buffer until the thread ends.
        buffer = _local.buffer = memoryview(mmap.mmap(-1, _BUFFER_BYTES))
    used = 0
    for part in parts:
        copied = 0
        while copied < part.nbytes:
            count = min(part.nbytes - copied, _BUFFER_BYTES - used)
            buffer[used : used + count] = part[copied : copied + count]
            copied += count
            used += count
            if used == _BUFFER_BYTES:
                yield used, buffer
                used = 0
    if used:
        padded = -(-used // BLOCK) * BLOCK
        buffer[used:padded] = bytes(padded - used)
        yield used, buffer[:padded]
