"""How a process of ours tells whoever has started it that it serves: a file with its number, if the environment names one."""

from __future__ import annotations

import os
from pathlib import Path

FILE = "WEIR_READY_FILE"


def tell() -> None:
    if path := os.environ.get(FILE):
        Path(path).write_text(str(os.getpid()))


def has_told(path: Path, process: int) -> bool:
    try:
        return path.read_text() == str(process)
    except OSError:
        return False
