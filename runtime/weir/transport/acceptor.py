"""The listening side: strangers get a bounded number of places for a bounded time, and nothing else."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable
from typing import TypeAlias

from weir.errors import ConfigError
from weir.transport import sockets
from weir.transport.greeting import Greeting
from weir.transport.handshake import NONCE_BYTES, AcceptorHandshake, Credentials, Purpose
from weir.transport.poller import READ, Poller

HALF_OPEN_MAX = 64
"""Connections that have not proved themselves. One more drops the oldest: honest ones take milliseconds."""
PROOF_NS_MAX = 5_000_000_000
_ACCEPTS_PER_TURN = 64

Proved: TypeAlias = Greeting[AcceptorHandshake]
Note: TypeAlias = Callable[[str], None]
"""Told what was dropped and why; for a log."""


class Acceptor:
    """``proved`` is called with every connection that has proved itself; its owner lets it in, keeps or drops it.

    ``ended`` is called when a proved one hangs up before it was let in (and when its owner drops it).
    """

    def __init__(
        self,
        poller: Poller,
        credentials: Credentials,
        purpose: Purpose,
        *,
        host: str,
        ports: tuple[int, int],
        incarnation: str,
        proved: Callable[[Proved], None],
        ended: Callable[[Proved], None],
        note: Note,
    ) -> None:
        self._poller = poller
        self._credentials = credentials
        self._purpose = purpose
        self._incarnation = incarnation
        self._on_proved = proved
        self._on_ended = ended
        self._note = note
        self._half_open: dict[Proved, str] = {}
        """With the peer's address, oldest first."""
        try:
            self._listener = sockets.listen(host, ports)
        except ConfigError:
            poller.close()  # its owner is not going to exist
            raise
        self.port: int = self._listener.getsockname()[1]
        poller.watch(self._listener, READ, self._ready)

    @property
    def half_open(self) -> int:
        return len(self._half_open)

    def _ready(self, _mask: int, now_ns: int) -> None:
        for _ in range(_ACCEPTS_PER_TURN):
            try:
                connected, address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE) and self._half_open:
                    self._drop_oldest("this process has no descriptors left")
                    continue
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._note("cannot accept a connection: this process has no descriptors left; raise the limit (ulimit -n)")
                    return
                continue  # the peer was gone before it was accepted
            self._greet(connected, str(address[0]), now_ns)

    def _greet(self, connected: socket.socket, address: str, now_ns: int) -> None:
        if len(self._half_open) >= HALF_OPEN_MAX:
            self._drop_oldest(f"more than {HALF_OPEN_MAX} connections have not proved themselves")
        connected.setblocking(False)
        sockets.tune(connected)
        machine = AcceptorHandshake(
            self._credentials, self._purpose, incarnation=self._incarnation, nonce=secrets.token_bytes(NONCE_BYTES)
        )
        deadline_ns = now_ns + PROOF_NS_MAX
        greeting = Greeting(self._poller, connected, machine, deadline_ns=deadline_ns, moved=self._moved, ended=self._ended)
        self._half_open[greeting] = address

    def _moved(self, greeting: Proved) -> None:
        del self._half_open[greeting]
        self._on_proved(greeting)

    def _ended(self, greeting: Proved, reason: str) -> None:
        address = self._half_open.pop(greeting, None)
        if address is None:
            self._on_ended(greeting)
        else:
            self._note(f"dropped a connection from {address} to the {self._purpose.name.lower()} port {self.port}: {reason}")

    def _drop_oldest(self, reason: str) -> None:
        next(iter(self._half_open)).drop(reason)

    def expire(self, now_ns: int) -> None:
        while self._half_open:
            oldest = next(iter(self._half_open))
            if oldest.deadline_ns > now_ns:
                return
            oldest.drop(f"not proved within {PROOF_NS_MAX // 1_000_000_000} s")

    def next_deadline_ns(self) -> int | None:
        return next(iter(self._half_open)).deadline_ns if self._half_open else None

    def close(self) -> None:
        self._poller.forget(self._listener)
        self._listener.close()
        for greeting in tuple(self._half_open):
            greeting.drop("the port is closing")
