"""A poller waits for sockets and other descriptors, and returns the handlers of those that are ready. Another thread can wake the
poller."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable
from typing import TypeAlias

Handler: TypeAlias = Callable[[int, int], None]
"""A callback, which is called with the mask of ready operations (``READ``, ``WRITE``) and ``now_ns``."""

READ = select.EPOLLIN
WRITE = select.EPOLLOUT


class Poller:
    """Waits for descriptors, and has a handler for each of them. A handler may close any socket, even a socket whose event is still
    pending. So each handler checks whether its socket is closed.

    The poller uses epoll directly, because a selector adds Python code to each wait, and an idle slot does little else.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._on_close: list[Callable[[], None]] = []

    def fileno(self) -> int:
        """Return a descriptor that is readable whenever a watched descriptor is ready, so that pollers can be nested."""
        return self._epoll.fileno()

    def watch(self, fd: socket.socket | int, mask: int, handler: Handler) -> None:
        self._epoll.register(fd, mask)
        self._handlers[_number(fd)] = handler

    def change(self, fd: socket.socket | int, mask: int, handler: Handler) -> None:
        self._epoll.modify(fd, mask)
        self._handlers[_number(fd)] = handler

    def unwatch(self, fd: socket.socket | int) -> None:
        """Stop watching a descriptor. Call ``unwatch`` before closing the descriptor. A descriptor that is not watched is
        ignored."""
        if self._handlers.pop(_number(fd), None) is not None:
            with contextlib.suppress(OSError):
                self._epoll.unregister(fd)

    def wait(self, timeout_ns: int) -> list[tuple[Handler, int]]:
        """Return the handlers and masks of the descriptors that are ready. If no descriptor is ready, wait at most
        ``timeout_ns``, which the system rounds up to a millisecond."""
        ready = self._epoll.poll(timeout_ns / 1e9 if timeout_ns > 0 else 0)
        return [(self._handlers[number], _mask(events)) for number, events in ready]

    def on_close(self, release: Callable[[], None]) -> None:
        self._on_close.append(release)

    def close(self) -> None:
        for release in self._on_close:
            release()
        self._epoll.close()


def _number(fd: socket.socket | int) -> int:
    return fd if isinstance(fd, int) else fd.fileno()


def _mask(events: int) -> int:
    """Return the operations that do not block. After an error or a hang-up, no operation blocks."""
    return events if events in (READ, WRITE, READ | WRITE) else READ | WRITE


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
