"""How long a thread was ready to run and had no core: what tells a slow machine from a slow program."""

from __future__ import annotations

import os


class CoreWait:
    """Of one thread, the one that calls ``read_ns`` first. Costs two microseconds a reading."""

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def read_ns(self) -> int:
        """Since the thread began. 0 where the kernel does not say (no Linux, or built without scheduler statistics)."""
        if self._descriptor is None:
            try:
                # "thread-self" is resolved here, so later readings are of this thread whoever asks.
                self._descriptor = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._descriptor = -1
        if self._descriptor < 0:
            return 0
        # Three numbers: time on a core, time waiting for one (both in ns), turns.
        return int(os.pread(self._descriptor, 64, 0).split()[1])

    def close(self) -> None:
        if self._descriptor is not None and self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
