"""The dialling side: tries again, with growing pauses, until it is let in or its patience has ended."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

from weir.errors import ConfigError
from weir.transport import sockets
from weir.transport.greeting import Greeting
from weir.transport.handshake import NONCE_BYTES, Claim, Credentials, DialerHandshake, State
from weir.transport.poller import READ, WRITE, Poller

PATIENCE_NS = 60_000_000_000
PAUSE_NS_MIN = 10_000_000
PAUSE_NS_MAX = 500_000_000
ATTEMPT_NS_MAX = 10_000_000_000
"""Until the acceptor has proved itself. That it lets us in may take as long as patience lasts."""


class Dialer:
    """Drive it by its poller and by ``advance``. ``connected`` gets the socket and the acceptor's incarnation; ``gave_up``
    the reason. One of the two is called, once, unless it is closed before."""

    def __init__(
        self,
        poller: Poller,
        credentials: Credentials,
        claim: Claim,
        address: tuple[str, int],
        *,
        connected: Callable[[socket.socket, str], None],
        gave_up: Callable[[str], None],
        patience_ns: int = PATIENCE_NS,
    ) -> None:
        self._poller = poller
        self._credentials = credentials
        self._claim = claim
        self._address = address
        self._on_connected = connected
        self._on_gave_up = gave_up
        self._patience_ns = patience_ns
        self._deadline_ns: int | None = None
        self._attempt_deadline_ns = 0
        self._next_try_ns = 0
        self._pause_ns = PAUSE_NS_MIN
        self._connecting: socket.socket | None = None
        self._greeting: Greeting[DialerHandshake] | None = None
        self._reason = "not tried yet"
        self._over = False

    def advance(self, now_ns: int) -> None:
        """Begin the next attempt if it is time, end what has taken too long. Patience begins with the first call."""
        if self._over:
            return
        if self._deadline_ns is None:
            self._deadline_ns = now_ns + self._patience_ns
        if now_ns >= self._deadline_ns:
            self.close()
            host, port = self._address
            self._on_gave_up(f"no connection to {host}:{port} within {self._patience_ns / 1e9:g} s: {self._reason}")
        elif self._connecting is None and self._greeting is None:
            if now_ns >= self._next_try_ns:
                self._try(now_ns)
        elif now_ns >= self._attempt_deadline_ns and not self.is_waiting_to_be_let_in():
            self._reason = "the acceptor did not answer"
            self._abandon_attempt()

    def next_deadline_ns(self) -> int | None:
        """When ``advance`` has something to do; None: never."""
        if self._over or self._deadline_ns is None:
            return None
        if self._connecting is None and self._greeting is None:
            return min(self._deadline_ns, self._next_try_ns)
        return self._deadline_ns if self.is_waiting_to_be_let_in() else min(self._deadline_ns, self._attempt_deadline_ns)

    def is_waiting_to_be_let_in(self) -> bool:
        return self._greeting is not None and self._greeting.machine.state is State.PROVED

    def _try(self, now_ns: int) -> None:
        self._next_try_ns = now_ns + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, PAUSE_NS_MAX)
        self._attempt_deadline_ns = now_ns + ATTEMPT_NS_MAX
        try:
            self._connecting = sockets.start_connect(*self._address)
        except (OSError, ConfigError) as error:
            self._reason = str(error)
            return
        self._poller.watch(self._connecting, READ | WRITE, self._connect_ended)

    def _connect_ended(self, _mask: int, _now_ns: int) -> None:
        connecting = self._connecting
        if connecting is None:
            return
        self._connecting = None
        self._poller.forget(connecting)
        failure = sockets.connect_failure(connecting)
        if failure is not None:
            self._reason = failure
            connecting.close()
            return
        machine = DialerHandshake(self._credentials, self._claim, nonce=secrets.token_bytes(NONCE_BYTES))
        greeting = Greeting(self._poller, connecting, machine, deadline_ns=0, moved=self._moved, ended=self._ended)
        # The greeting may have ended while it sent its hello.
        self._greeting = None if greeting.is_over else greeting

    def _moved(self, greeting: Greeting[DialerHandshake]) -> None:
        if greeting.machine.state is State.DONE:
            self._greeting = None
            self._over = True
            self._on_connected(greeting.release(), greeting.machine.peer_incarnation)

    def _ended(self, _greeting: Greeting[DialerHandshake], reason: str) -> None:
        self._greeting = None
        self._reason = reason

    def _abandon_attempt(self) -> None:
        if self._connecting is not None:
            self._poller.forget(self._connecting)
            self._connecting.close()
            self._connecting = None
        if self._greeting is not None:
            self._greeting.release().close()
            self._greeting = None

    def close(self) -> None:
        self._over = True
        self._abandon_attempt()
