"""Readiness of a process that the supervisor started. A ready process writes its pid to the file named by WEIR_READY_FILE."""

from __future__ import annotations

import os
from pathlib import Path

FILE = "WEIR_READY_FILE"


def report() -> None:
    if path := os.environ.get(FILE):
        Path(path).write_text(str(os.getpid()))


def is_reported(path: Path, process: int) -> bool:
    try:
        return path.read_text() == str(process)
    except OSError:
        return False
