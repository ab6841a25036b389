"""Connection setup: the handshake on one socket, the listening side (Acceptor) and the dialing side (Dialer).

The number of unauthenticated connections and their duration are limited.
"""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from weir.errors import AuthenticationError, ConfigError
from weir.transport import sockets
from weir.transport.handshake import (
    NONCE_BYTES,
    AcceptorHandshake,
    Claim,
    ConnectionPurpose,
    DialerHandshake,
    Handshake,
    HandshakeState,
    JobCredentials,
)
from weir.transport.poller import READ, WRITE, Poller

M = TypeVar("M", bound=Handshake)

PENDING_HANDSHAKES_MAX = 256
"""Maximum number of connections in the handshake.

Beyond this number, a new connection replaces the oldest connection that is in the handshake. Valid handshakes take
milliseconds, so they are not affected.
"""
HANDSHAKE_NS_MAX = 5_000_000_000
"""Internal: maximum duration of a handshake at the acceptor. The dialer retries until its dial timeout has passed."""
_ACCEPTS_PER_TURN = 64
DIAL_TIMEOUT_NS = 60_000_000_000
"""Default of the connect timeout (``Timeouts.connect_timeout_ms``)."""
DELAY_NS_MIN = 10_000_000
DELAY_NS_MAX = 500_000_000
ATTEMPT_NS_MAX = 10_000_000_000
"""Internal: timeout of one attempt to connect. Within this time, the acceptor must prove its identity. After the acceptor has
proved its identity, it may delay the admission of the connection."""


class HandshakeSession(Generic[M]):
    """One handshake on one non-blocking socket. The session owns the socket until ``release``, and never reads beyond the
    handshake.

    ``advanced`` is called when ``machine`` reaches PROVED or DONE. If the connection fails, ``ended`` is called once with the
    reason. After PROVED, an acceptor continues to watch the socket. If the peer then sends data or closes the connection, the
    session is dropped.
    """

    def __init__(
        self,
        poller: Poller,
        connected: socket.socket,
        machine: M,
        *,
        deadline_ns: int,
        advanced: Callable[[HandshakeSession[M]], None],
        ended: Callable[[HandshakeSession[M], str], None],
    ) -> None:
        self._poller = poller
        self._socket = connected
        self.machine = machine
        self.deadline_ns = deadline_ns
        self._advanced = advanced
        self._ended = ended
        self._received = bytearray()
        self._released = False
        poller.watch(connected, READ, self._ready)
        if isinstance(machine, DialerHandshake):
            self.send(machine.hello)

    @property
    def is_closed(self) -> bool:
        return self._released

    def probe(self) -> bool:
        """Return whether the peer is still connected. If the peer is not connected, drop the session."""
        self._ready(READ, 0)
        return not self._released

    def _ready(self, _mask: int, _now_ns: int) -> None:
        if self._released:
            return
        expected_bytes = self.machine.expected_bytes
        try:
            data = self._socket.recv(expected_bytes - len(self._received) if expected_bytes else 1)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.drop(f"receiving failed: {error.strerror or error}")
            return
        if not data or not expected_bytes:
            self.drop("sent unexpected data" if data else "closed the connection during the handshake")
            return
        self._received += data
        if len(self._received) == expected_bytes:
            self._step()

    def _step(self) -> None:
        message, self._received = bytes(self._received), bytearray()
        try:
            answer = self.machine.receive(message)
        except AuthenticationError as error:
            self.drop(str(error))
            return
        if self.send(answer) and self.machine.state in (HandshakeState.PROVED, HandshakeState.DONE):
            self._advanced(self)

    def send(self, data: bytes) -> bool:
        """Send a message. If sending fails, drop the session and return False.

        Messages are far smaller than an empty socket buffer, so a partial write is a failure.
        """
        try:
            if self._socket.send(data) == len(data):
                return True
            self.drop("the socket accepted only a part of a message")
        except OSError as error:
            self.drop(f"sending failed: {error.strerror or error}")
        return False

    def drop(self, reason: str) -> None:
        """Close the socket and notify the owner."""
        if not self._released:
            self.release().close()
            self._ended(self, reason)

    def release(self) -> socket.socket:
        """Return the socket, and stop watching the socket."""
        assert not self._released, "released twice"
        self._released = True
        self._poller.unwatch(self._socket)
        return self._socket


AuthenticatedSession: TypeAlias = HandshakeSession[AcceptorHandshake]
LogConnection: TypeAlias = Callable[[str], None]
"""Logs a dropped or refused connection and the reason."""


class Acceptor:
    """The listening side. ``proved`` is called with every authenticated session. The acceptor's owner then admits or drops the
    session, or lets it wait.

    ``ended`` is called when an authenticated peer closes its connection before the owner admits it, and when the owner drops
    the peer's session.
    """

    def __init__(
        self,
        poller: Poller,
        credentials: JobCredentials,
        purpose: ConnectionPurpose,
        *,
        host: str,
        ports: tuple[int, int],
        incarnation: str,
        proved: Callable[[AuthenticatedSession], None],
        ended: Callable[[AuthenticatedSession], None],
        log_connection: LogConnection,
    ) -> None:
        self._poller = poller
        self._credentials = credentials
        self._purpose = purpose
        self._incarnation = incarnation
        self._on_proved = proved
        self._on_ended = ended
        self._log_connection = log_connection
        self._pending: dict[AuthenticatedSession, str] = {}
        """Maps each session that is in the handshake to the address of its peer, oldest session first."""
        try:
            self._listener = sockets.listen(host, ports)
        except ConfigError:
            poller.close()  # the owner's constructor fails with this error, so the owner cannot close the poller
            raise
        self.port: int = self._listener.getsockname()[1]
        poller.watch(self._listener, READ, self._ready)

    @property
    def pending_handshakes(self) -> int:
        return len(self._pending)

    def _ready(self, _mask: int, now_ns: int) -> None:
        for _ in range(_ACCEPTS_PER_TURN):
            try:
                connected, address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE) and self._pending:
                    self._drop_oldest("this process has no file descriptors left")
                    continue
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._log_connection(
                        "Cannot accept a connection: this process has no file descriptors left. Raise the limit (ulimit -n)."
                    )
                    return
                continue  # the peer closed the connection before it was accepted
            self._start_session(connected, str(address[0]), now_ns)

    def _start_session(self, connected: socket.socket, address: str, now_ns: int) -> None:
        if len(self._pending) >= PENDING_HANDSHAKES_MAX:
            self._drop_oldest(f"more than {PENDING_HANDSHAKES_MAX} connections are unauthenticated")
        connected.setblocking(False)
        sockets.tune(connected)
        machine = AcceptorHandshake(
            self._credentials, self._purpose, incarnation=self._incarnation, nonce=secrets.token_bytes(NONCE_BYTES)
        )
        deadline_ns = now_ns + HANDSHAKE_NS_MAX
        session = HandshakeSession(
            self._poller, connected, machine, deadline_ns=deadline_ns, advanced=self._advanced, ended=self._ended
        )
        self._pending[session] = address

    def _advanced(self, session: AuthenticatedSession) -> None:
        del self._pending[session]
        self._on_proved(session)

    def _ended(self, session: AuthenticatedSession, reason: str) -> None:
        address = self._pending.pop(session, None)
        if address is None:
            self._on_ended(session)
        else:
            self._log_connection(
                f"dropped a connection from {address} to the {self._purpose.name.lower()} port {self.port}: {reason}"
            )

    def _drop_oldest(self, reason: str) -> None:
        next(iter(self._pending)).drop(reason)

    def expire(self, now_ns: int) -> None:
        while self._pending:
            oldest = next(iter(self._pending))
            if oldest.deadline_ns > now_ns:
                return
            oldest.drop(f"not authenticated within {HANDSHAKE_NS_MAX // 1_000_000_000} s")

    def next_deadline_ns(self) -> int | None:
        return next(iter(self._pending)).deadline_ns if self._pending else None

    def close(self) -> None:
        self._poller.unwatch(self._listener)
        self._listener.close()
        for session in tuple(self._pending):
            session.drop("the port is closing")


class Dialer:
    """The dialing side. A Dialer retries with growing delays until the acceptor admits the connection or the dial timeout has
    passed.

    The time during which an authenticated acceptor delays the admission does not count towards the dial timeout. While an
    authenticated acceptor delays the admission of the connection, the deploy timeout applies instead of the dial timeout.

    The poller and calls of ``advance`` drive the Dialer. In the end, the Dialer calls either ``connected`` with the socket and
    the acceptor's incarnation, or ``failed`` with the reason. If the Dialer is closed before it has finished, it calls neither
    ``connected`` nor ``failed``.
    """

    def __init__(
        self,
        poller: Poller,
        credentials: JobCredentials,
        claim: Claim,
        address: tuple[str, int],
        *,
        connected: Callable[[socket.socket, str], None],
        failed: Callable[[str], None],
        dial_timeout_ns: int = DIAL_TIMEOUT_NS,
    ) -> None:
        self._poller = poller
        self._credentials = credentials
        self._claim = claim
        self._address = address
        self._on_connected = connected
        self._on_failed = failed
        self._dial_timeout_ns = dial_timeout_ns
        self._deadline_ns: int | None = None
        self._advanced_ns = 0
        self._attempt_deadline_ns = 0
        self._next_attempt_ns = 0
        self._delay_ns = DELAY_NS_MIN
        self._connecting: socket.socket | None = None
        self._session: HandshakeSession[DialerHandshake] | None = None
        self._reason = "not tried yet"
        self._closed = False

    def advance(self, now_ns: int) -> None:
        """Start the next attempt if it is due, and end an attempt that has timed out. The dial timeout starts with the first
        call of ``advance``."""
        if self._closed:
            return
        if self._deadline_ns is None:
            self._deadline_ns = now_ns + self._dial_timeout_ns
        elif self.is_waiting_for_admission():
            self._deadline_ns += now_ns - self._advanced_ns
        self._advanced_ns = now_ns
        if now_ns >= self._deadline_ns:
            self.close()
            host, port = self._address
            self._on_failed(f"no connection to {host}:{port} within {self._dial_timeout_ns / 1e9:g} s: {self._reason}")
        elif self._connecting is None and self._session is None:
            if now_ns >= self._next_attempt_ns:
                self._start_attempt(now_ns)
        elif now_ns >= self._attempt_deadline_ns and not self.is_waiting_for_admission():
            self._reason = "the acceptor did not answer"
            self._end_attempt()

    def next_deadline_ns(self) -> int | None:
        """Return the time at which to call ``advance`` again, or None if no further call is needed."""
        if self._closed or self._deadline_ns is None:
            return None
        if self._connecting is None and self._session is None:
            return min(self._deadline_ns, self._next_attempt_ns)
        return self._deadline_ns if self.is_waiting_for_admission() else min(self._deadline_ns, self._attempt_deadline_ns)

    def is_waiting_for_admission(self) -> bool:
        return self._session is not None and self._session.machine.state is HandshakeState.PROVED

    def _start_attempt(self, now_ns: int) -> None:
        self._next_attempt_ns = now_ns + self._delay_ns
        self._delay_ns = min(2 * self._delay_ns, DELAY_NS_MAX)
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
        self._poller.unwatch(connecting)
        failure = sockets.connect_failure(connecting)
        if failure is not None:
            self._reason = failure
            connecting.close()
            return
        machine = DialerHandshake(self._credentials, self._claim, nonce=secrets.token_bytes(NONCE_BYTES))
        session = HandshakeSession(self._poller, connecting, machine, deadline_ns=0, advanced=self._advanced, ended=self._ended)
        # The session may have ended already, because sending the hello can fail.
        self._session = None if session.is_closed else session

    def _advanced(self, session: HandshakeSession[DialerHandshake]) -> None:
        if session.machine.state is HandshakeState.DONE:
            self._session = None
            self._closed = True
            self._on_connected(session.release(), session.machine.peer_incarnation)

    def _ended(self, _session: HandshakeSession[DialerHandshake], reason: str) -> None:
        self._session = None
        self._reason = reason

    def _end_attempt(self) -> None:
        if self._connecting is not None:
            self._poller.unwatch(self._connecting)
            self._connecting.close()
            self._connecting = None
        if self._session is not None:
            self._session.release().close()
            self._session = None

    def close(self) -> None:
        self._closed = True
        self._end_attempt()
