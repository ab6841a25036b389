"""A selector with callbacks. Another thread can wake the selector."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable
from typing import TypeAlias

Handler: TypeAlias = Callable[[int, int], None]
"""A callback, which is called with the mask of ready operations (``READ``, ``WRITE``) and ``now_ns``."""

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE


class Poller:
    """A selector with callbacks. A handler may close any socket, even a socket whose event is still pending. So each handler
    checks whether its socket is closed."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._on_close: list[Callable[[], None]] = []

    def fileno(self) -> int:
        """Return a descriptor that is readable whenever a watched descriptor is ready, so that pollers can be nested."""
        return self._selector.fileno()

    def watch(self, fd: socket.socket | int, mask: int, handler: Handler) -> None:
        self._selector.register(fd, mask, handler)

    def change(self, fd: socket.socket | int, mask: int, handler: Handler) -> None:
        self._selector.modify(fd, mask, handler)

    def unwatch(self, fd: socket.socket | int) -> None:
        """Stop watching a descriptor. Call ``unwatch`` before closing the descriptor. A descriptor that is not watched is
        ignored."""
        try:
            self._selector.unregister(fd)
        except (KeyError, ValueError):
            pass

    def wait(self, timeout_ns: int) -> list[tuple[Handler, int]]:
        """Return the handlers and masks of the descriptors that are ready. If no descriptor is ready, wait at most
        ``timeout_ns``, which the system rounds up to a millisecond."""
        return [(key.data, mask) for key, mask in self._selector.select(timeout_ns / 1e9 if timeout_ns > 0 else 0)]

    def on_close(self, release: Callable[[], None]) -> None:
        self._on_close.append(release)

    def close(self) -> None:
        for release in self._on_close:
            release()
        self._selector.close()


class Wakeup:
    """Wakes a poller. Any thread may call ``wake``. Several calls before the next wait count as one call. The Wakeup is closed
    together with its poller."""

    def __init__(self, poller: Poller) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        poller.watch(self._reader, READ, self._drain)
        poller.on_close(self._close)

    def wake(self) -> None:
        try:
            self._writer.send(b"\0")
        except BlockingIOError:
            pass  # wake-ups are already pending
        except OSError:
            pass  # closed

    def _drain(self, _mask: int, _now_ns: int) -> None:
        try:
            while len(self._reader.recv(4096)) == 4096:
                pass
        except BlockingIOError:
            pass

    def _close(self) -> None:
        self._reader.close()
        self._writer.close()
