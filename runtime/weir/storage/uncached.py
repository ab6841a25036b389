"""Writing files past the page cache, where the system lets one (Linux, most file systems).

Of what is written to checkpoint storage hardly anything is read back. Through the page cache each byte takes a fresh page, whose
price (a megabyte a second is enough, and more so in a virtual machine) is a multiple of that of the write itself.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import threading
from collections.abc import Iterator, Sequence

BYTES_MIN = 1 << 18
"""What is smaller is not worth the detour."""
BLOCK = 4096
"""Addresses, offsets and sizes are multiples of it; no common device wants more."""
_BUFFER_BYTES = 1 << 20
_local = threading.local()


def open_uncached(path: str | os.PathLike[str], flags: int, mode: int) -> tuple[int, bool]:
    """A descriptor, and whether it goes past the page cache: a file system may not have that. Raises what ``os.open`` raises."""
    direct = getattr(os, "O_DIRECT", 0)
    if direct:
        try:
            return os.open(path, flags | direct, mode), True
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            # The file may have been made all the same.
            flags &= ~os.O_EXCL
    return os.open(path, flags, mode), False


def write_uncached(descriptor: int, parts: Sequence[memoryview]) -> bool:
    """All of ``parts``, to a new file opened by ``open_uncached``. False: it cannot be done on this file system; the file is empty and
    the descriptor an ordinary one then. Raises OSError as ``os.write`` does."""
    size = 0
    try:
        for filled, piece in _pieces(parts):
            done = 0
            while done < len(piece):
                done += os.pwrite(descriptor, piece[done:], size + done)
                # Were it to take part of a block, it would refuse what follows, and all is written the ordinary way.
            size += filled
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        os.ftruncate(descriptor, 0)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_DIRECT)
        return False
    os.ftruncate(descriptor, size)
    return True


def _pieces(parts: Sequence[memoryview]) -> Iterator[tuple[int, memoryview]]:
    """How many bytes count, and those bytes filled up to whole blocks, in a buffer that is valid until the next step."""
    buffer = getattr(_local, "buffer", None)
    if buffer is None:
        # Anonymous memory begins on a page. Kept for the thread's life.
        buffer = _local.buffer = memoryview(mmap.mmap(-1, _BUFFER_BYTES))
    used = 0
    for part in parts:
        taken = 0
        while taken < part.nbytes:
            count = min(part.nbytes - taken, _BUFFER_BYTES - used)
            buffer[used : used + count] = part[taken : taken + count]
            taken += count
            used += count
            if used == _BUFFER_BYTES:
                yield used, buffer
                used = 0
    if used:
        whole = -(-used // BLOCK) * BLOCK
        buffer[used:whole] = bytes(whole - used)
        yield used, buffer[:whole]
