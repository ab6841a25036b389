"""One handshake on one non-blocking socket: reads exactly what the machine wants, never a byte beyond."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Generic, TypeVar

from weir.errors import AuthenticationError
from weir.transport.handshake import DialerHandshake, Handshake, State
from weir.transport.poller import READ, Poller

M = TypeVar("M", bound=Handshake)


class Greeting(Generic[M]):
    """Owns its socket until ``release``. ``moved`` is called when ``machine`` has reached PROVED or DONE,
    ``ended`` with the reason, once, when the connection is of no use any more.

    After PROVED an acceptor goes on watching: nothing may arrive, and a peer that hangs up is noticed.
    """

    def __init__(
        self,
        poller: Poller,
        connected: socket.socket,
        machine: M,
        *,
        deadline_ns: int,
        moved: Callable[[Greeting[M]], None],
        ended: Callable[[Greeting[M], str], None],
    ) -> None:
        self._poller = poller
        self._socket = connected
        self.machine = machine
        self.deadline_ns = deadline_ns
        self._moved = moved
        self._ended = ended
        self._received = bytearray()
        self._released = False
        poller.watch(connected, READ, self._ready)
        if isinstance(machine, DialerHandshake):
            self.send(machine.hello)

    @property
    def is_over(self) -> bool:
        return self._released

    def probe(self) -> bool:
        """Whether the peer still waits, as far as the kernel knows now; if not, it is dropped."""
        self._ready(READ, 0)
        return not self._released

    def _ready(self, _mask: int, _now_ns: int) -> None:
        if self._released:
            return
        wanted = self.machine.wanted
        try:
            data = self._socket.recv(wanted - len(self._received) if wanted else 1)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.drop(f"receiving failed: {error.strerror or error}")
            return
        if not data or not wanted:
            self.drop("spoke out of turn" if data else "hung up during the handshake")
            return
        self._received += data
        if len(self._received) == wanted:
            self._step()

    def _step(self) -> None:
        message, self._received = bytes(self._received), bytearray()
        try:
            answer = self.machine.receive(message)
        except AuthenticationError as error:
            self.drop(str(error))
            return
        if self.send(answer) and self.machine.state in (State.PROVED, State.DONE):
            self._moved(self)

    def send(self, data: bytes) -> bool:
        """False: the connection was dropped instead.

        Messages are far smaller than an empty socket buffer: one that does not fit at once is a failure."""
        try:
            if self._socket.send(data) == len(data):
                return True
            self.drop("the socket took half a message")
        except OSError as error:
            self.drop(f"sending failed: {error.strerror or error}")
        return False

    def drop(self, reason: str) -> None:
        """Close the socket and tell the owner."""
        if not self._released:
            self.release().close()
            self._ended(self, reason)

    def release(self) -> socket.socket:
        """Hand over the socket, no longer watched."""
        assert not self._released, "released twice"
        self._released = True
        self._poller.forget(self._socket)
        return self._socket
