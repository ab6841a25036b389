"""Progress output of the demos: each line starts with the number of seconds since the demo started."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_started = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - _started:5.1f} s  {text}", flush=True)


@contextmanager
def step(what: str) -> Iterator[None]:
    say(f"{what} ...")
    started = time.monotonic()
    yield
    say(f"  done in {time.monotonic() - started:.1f} s")


def shell_path(path: Path) -> str:
    """Return the path quoted for a shell in the current directory."""
    try:
        return shlex.quote(str(path.relative_to(Path.cwd())))
    except ValueError:
        return shlex.quote(str(path))
