"""Rotate logs whose writers never reopen them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

SIZE_BYTES_MAX = 20 << 20
"""The maximum size of a log. The previous log is kept, so the logs of a process use at most twice this size."""


def rotate(logs: Iterable[Path], *, size_bytes_max: int = SIZE_BYTES_MAX) -> None:
    """If a log is larger than ``size_bytes_max``, copy the log to ``NAME.1`` and truncate it. The writer continues at the start of the file,
    because it opened the log with O_APPEND. Lines that the writer writes between the copy and the truncation are lost."""
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
            # The copy can fail, for example because the disk is full. Truncate the log nevertheless, so that it does not grow further.
            if log.exists():
                os.truncate(log, 0)


def tail(log: Path, lines: int = 5) -> str:
    """Return the last lines of the log, or '' if it is empty or missing."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8_192))
            found = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return "\n".join(found[-lines:])
