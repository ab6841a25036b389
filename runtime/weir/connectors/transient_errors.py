"""Distinguishes transient I/O errors, which a retry can solve, from permanent errors."""

from __future__ import annotations

import errno

from weir.errors import Retry

_TRANSIENT = frozenset(
    (
        # The device or the server did not answer in time.
        *(errno.EIO, errno.EREMOTEIO, errno.ETIMEDOUT, errno.ESTALE, errno.ENOLINK),
        *(errno.ECONNRESET, errno.ECONNABORTED, errno.ECONNREFUSED, errno.ENOTCONN),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET),
        # The resource is busy or exhausted, for example because of another process.
        *(errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ENFILE, errno.EMFILE, errno.ENOMEM, errno.ENOBUFS, errno.ENOLCK),
    )
)
FULL = frozenset((errno.ENOSPC, errno.EDQUOT))


def retry_policy(error: BaseException) -> Retry:
    """Return BACKOFF for transient errors. A full disk is not transient, because a user has to free some space."""
    return Retry.BACKOFF if isinstance(error, OSError) and error.errno in _TRANSIENT else Retry.NEVER
