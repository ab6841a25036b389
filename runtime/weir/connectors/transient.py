"""Which refusals of a file system pass by themselves."""

from __future__ import annotations

import errno

from weir.errors import Retry

_PASSING = frozenset(
    (
        # The device or the server did not answer, or not in time.
        *(errno.EIO, errno.EREMOTEIO, errno.ETIMEDOUT, errno.ESTALE, errno.ENOLINK),
        *(errno.ECONNRESET, errno.ECONNABORTED, errno.ECONNREFUSED, errno.ENOTCONN),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET),
        # Somebody else holds what is needed just now.
        *(errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ENFILE, errno.EMFILE, errno.ENOMEM, errno.ENOBUFS, errno.ENOLCK),
    )
)
FULL = frozenset((errno.ENOSPC, errno.EDQUOT))


def retry_after(error: BaseException) -> Retry:
    """Whether the same may succeed a moment later. Not after a disk was full: that takes somebody to free some."""
    return Retry.BACKOFF if isinstance(error, OSError) and error.errno in _PASSING else Retry.NEVER
