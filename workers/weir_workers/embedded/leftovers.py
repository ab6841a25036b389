"""Processes of a supervisor that was killed. On Linux they end by themselves, which takes a moment; elsewhere they have to be told."""

from __future__ import annotations

import signal
from collections.abc import Callable

from weir_workers.embedded.names import POSTGRES, TITLES, WORKERS
from weir_workers.embedded.processes import end_all
from weir_workers.embedded.state import PlatformState

GRACE_S = 30.0
# SIGINT is Postgres' fast shutdown. A worker may hang on anything gentler than SIGKILL; its pool ends with it.
_SIGNALS = {POSTGRES: signal.SIGINT, **dict.fromkeys(WORKERS, signal.SIGKILL)}


def end_leftovers(before: PlatformState, say: Callable[[str], None]) -> None:
    """Under the lock. They are gone when this returns: two servers on the same data would be the end of it."""
    living = {name: child.process for name, child in before.children.items() if child.process is not None and child.process.lives}
    if living:
        say(f"ending what an earlier supervisor has left: {', '.join(TITLES.get(name, name) for name in living)}")
        end_all([(process, _SIGNALS.get(name, signal.SIGTERM)) for name, process in living.items()], grace_s=GRACE_S)
