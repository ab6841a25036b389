"""Logs that do not grow without end, though their writers never open them again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

SIZE_BYTES_MAX = 20 << 20
"""Of a log; the one before it is kept, so it takes twice that at most."""


def keep_small(logs: Iterable[Path], *, size_bytes_max: int = SIZE_BYTES_MAX) -> None:
    """Move what is in a log that is too large to ``NAME.1``. Its writer goes on at its beginning, as it appends (O_APPEND).

    What is written between copying and emptying is lost: a few lines of many thousand, for a log that any process can write to.
    """
    for log in logs:
        try:
            if log.stat().st_size <= size_bytes_max:
                continue
            before = log.with_name(log.name + ".1")
            descriptor = os.open(before, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with log.open("rb") as source, os.fdopen(descriptor, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            os.truncate(log, 0)
        except OSError:
            # No room for a copy, say. What matters is that the log does not fill the disk.
            if log.exists():
                os.truncate(log, 0)
