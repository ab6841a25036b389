"""The mutual handshake, in which each side proves that it knows the job's secret. This module does no I/O.

::

    dialer                                    acceptor
      | -- hello: claim, nonce ------------------> |   an invalid hello gets no answer
      | <-- reply: incarnation, nonce, MAC ------- |   the acceptor proves itself
      | -- proof: MAC ---------------------------> |   the dialer proves itself
      | <-- acceptance: MAC ---------------------- |   the acceptor's owner has admitted the dialer (perhaps much later)

Every message has a fixed size. The secret is never sent. A MAC is an HMAC-SHA256 of the message's name, the hello and the
reply. The key of a MAC is derived from the secret, the job and the purpose. So a MAC is invalid on another connection
(different nonces), in the other direction (different names), and for another purpose, job, generation or slot. The caller must
close the socket of a handshake that takes too long.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from weir.errors import AuthenticationError, ConfigError

MAGIC = b"WEIRHELO"
VERSION = 1
NONCE_BYTES = 32
MAC_BYTES = 32
INCARNATION_BYTES_MAX = 64
SECRET_BYTES_MIN = 16
_HELLO = struct.Struct("<8sBBHIIQ64s32s")
_REPLY = struct.Struct("<64s32s")
HELLO_BYTES = _HELLO.size
REPLY_BYTES = _REPLY.size + MAC_BYTES


class ConnectionPurpose(IntEnum):
    CONTROL = 1
    DATA = 2


@dataclass(frozen=True, slots=True)
class Claim:
    """The identity that a dialer claims, and the acceptor that it expects.

    The hello contains the claim in plain text, and the MAC of the proof confirms the claim.

    For a data connection, ``dialer`` and ``acceptor`` are slot indices. For a control connection, both are 0.
    """

    purpose: ConnectionPurpose
    generation: int
    dialer: int
    acceptor: int
    incarnation: str


@dataclass(frozen=True, slots=True)
class JobCredentials:
    """The credentials that both sides share. Raise ConfigError for a secret that is too short."""

    secret: bytes
    job: str

    def __post_init__(self) -> None:
        if len(self.secret) < SECRET_BYTES_MIN:
            length = len(self.secret)
            raise ConfigError(f"The secret of job {self.job!r} has {length} bytes, but at least {SECRET_BYTES_MIN} are required.")

    def __repr__(self) -> str:
        return f"JobCredentials(job={self.job!r})"

    def mac(self, purpose: ConnectionPurpose, message: bytes, transcript: bytes) -> bytes:
        key = hmac.digest(self.secret, b"weir handshake 1 " + purpose.name.encode() + b"\0" + self.job.encode(), hashlib.sha256)
        return hmac.digest(key, message + b"\0" + transcript, hashlib.sha256)


class HandshakeState(StrEnum):
    AWAITS_HELLO = "awaits_hello"
    AWAITS_REPLY = "awaits_reply"
    AWAITS_PROOF = "awaits_proof"
    PROVED = "proved"
    """Both sides have proved their identity, but the acceptor's owner has not admitted the dialer yet."""
    DONE = "done"
    FAILED = "failed"


LEGAL: dict[HandshakeState, frozenset[HandshakeState]] = {
    HandshakeState.AWAITS_HELLO: frozenset({HandshakeState.AWAITS_PROOF, HandshakeState.FAILED}),
    HandshakeState.AWAITS_PROOF: frozenset({HandshakeState.PROVED, HandshakeState.FAILED}),
    HandshakeState.AWAITS_REPLY: frozenset({HandshakeState.PROVED, HandshakeState.FAILED}),
    HandshakeState.PROVED: frozenset({HandshakeState.DONE, HandshakeState.FAILED}),
    HandshakeState.DONE: frozenset(),
    HandshakeState.FAILED: frozenset(),
}


def _padded(incarnation: str) -> bytes:
    data = incarnation.encode()
    if len(data) > INCARNATION_BYTES_MAX or b"\0" in data:
        raise ConfigError(f"incarnation {incarnation!r} must have at most {INCARNATION_BYTES_MAX} bytes of UTF-8 and no NUL")
    return data


def _unpadded(data: bytes) -> str:
    try:
        return data.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        raise AuthenticationError("the peer's incarnation is not UTF-8") from None


class Handshake(ABC):
    """Base class of DialerHandshake and AcceptorHandshake. The state changes only as the table ``LEGAL`` allows."""

    _transcript: bytes

    def __init__(self, credentials: JobCredentials, state: HandshakeState) -> None:
        self._credentials = credentials
        self.state = state

    @property
    @abstractmethod
    def expected_bytes(self) -> int:
        """The size of the next message in bytes, or 0 if no message is allowed in this state."""

    @abstractmethod
    def receive(self, data: bytes) -> bytes:
        """Process a message of ``expected_bytes`` bytes and return the answer. If AuthenticationError is raised, close the
        connection."""

    def _to(self, state: HandshakeState) -> None:
        assert state in LEGAL[self.state], f"handshake: {self.state} to {state}"
        self.state = state

    def _fail(self, reason: str) -> AuthenticationError:
        self._to(HandshakeState.FAILED)
        return AuthenticationError(reason)

    def _verify(self, purpose: ConnectionPurpose, name: bytes, mac: bytes, peer: str) -> None:
        if not hmac.compare_digest(mac, self._credentials.mac(purpose, name, self._transcript)):
            raise self._fail(f"the {peer} did not prove that it knows the secret of job {self._credentials.job!r}")


class DialerHandshake(Handshake):
    """The dialer's side of the handshake. Send ``hello``, then pass exactly ``expected_bytes`` bytes at a time to ``receive``
    until ``state`` is DONE."""

    def __init__(self, credentials: JobCredentials, claim: Claim, *, nonce: bytes) -> None:
        super().__init__(credentials, HandshakeState.AWAITS_REPLY)
        assert len(nonce) == NONCE_BYTES, "a nonce of another size"
        self.claim = claim
        self.peer_incarnation = ""
        self.hello = _HELLO.pack(
            MAGIC, VERSION, claim.purpose, 0, claim.dialer, claim.acceptor, claim.generation, _padded(claim.incarnation), nonce
        )

    @property
    def expected_bytes(self) -> int:
        return {HandshakeState.AWAITS_REPLY: REPLY_BYTES, HandshakeState.PROVED: MAC_BYTES}.get(self.state, 0)

    def receive(self, data: bytes) -> bytes:
        assert len(data) == self.expected_bytes > 0, "unexpected message size"
        purpose = self.claim.purpose
        if self.state is HandshakeState.PROVED:
            self._verify(purpose, b"acceptance", data, "acceptor")
            self._to(HandshakeState.DONE)
            return b""
        reply, mac = data[: _REPLY.size], data[_REPLY.size :]
        self._transcript = self.hello + reply
        self._verify(purpose, b"reply", mac, "acceptor")
        self.peer_incarnation = _unpadded(_REPLY.unpack(reply)[0])
        self._to(HandshakeState.PROVED)
        return self._credentials.mac(purpose, b"proof", self._transcript)


class AcceptorHandshake(Handshake):
    """The acceptor's side of the handshake. Pass exactly ``expected_bytes`` bytes at a time to ``receive`` until ``state`` is
    PROVED. After PROVED, send ``accept()`` to admit the dialer."""

    def __init__(self, credentials: JobCredentials, purpose: ConnectionPurpose, *, incarnation: str, nonce: bytes) -> None:
        super().__init__(credentials, HandshakeState.AWAITS_HELLO)
        assert len(nonce) == NONCE_BYTES, "a nonce of another size"
        self._purpose = purpose
        self._reply = _REPLY.pack(_padded(incarnation), nonce)
        self._claim: Claim | None = None

    @property
    def expected_bytes(self) -> int:
        return {HandshakeState.AWAITS_HELLO: HELLO_BYTES, HandshakeState.AWAITS_PROOF: MAC_BYTES}.get(self.state, 0)

    @property
    def claim(self) -> Claim:
        """The proven claim of the dialer. The claim is available once both sides have proved their identity."""
        assert self._claim is not None and self.state in (HandshakeState.PROVED, HandshakeState.DONE), "the claim is not proven"
        return self._claim

    def receive(self, data: bytes) -> bytes:
        assert len(data) == self.expected_bytes > 0, "unexpected message size"
        if self.state is HandshakeState.AWAITS_PROOF:
            self._verify(self._purpose, b"proof", data, "dialer")
            self._to(HandshakeState.PROVED)
            return b""
        self._claim = self._claim_of(data)
        self._transcript = data + self._reply
        self._to(HandshakeState.AWAITS_PROOF)
        return self._reply + self._credentials.mac(self._purpose, b"reply", self._transcript)

    def accept(self) -> bytes:
        self._to(HandshakeState.DONE)
        return self._credentials.mac(self._purpose, b"acceptance", self._transcript)

    def _claim_of(self, hello: bytes) -> Claim:
        magic, version, purpose, reserved, dialer, acceptor, generation, incarnation, _nonce = _HELLO.unpack(hello)
        if magic != MAGIC or version != VERSION or reserved != 0:
            raise self._fail("the dialer does not use Weir's handshake protocol")
        if purpose != self._purpose:
            raise self._fail(f"the dialer requests a connection of purpose {purpose}, but this port is for {self._purpose.name}")
        try:
            name = _unpadded(incarnation)
        except AuthenticationError as error:
            raise self._fail(str(error)) from None
        return Claim(self._purpose, generation, dialer, acceptor, name)
