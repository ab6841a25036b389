"""What a demo says while it works: each line with the seconds since it began."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_began = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - _began:5.1f} s  {text}", flush=True)


@contextmanager
def doing(what: str) -> Iterator[None]:
    say(f"{what} ...")
    began = time.monotonic()
    yield
    say(f"  done in {time.monotonic() - began:.1f} s")


def shown(path: Path) -> str:
    """For a shell in the current directory."""
    try:
        return shlex.quote(str(path.relative_to(Path.cwd())))
    except ValueError:
        return shlex.quote(str(path))
