"""Tests the state machines of the handshake, and passes the messages between the two sides."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.errors import AuthenticationError, ConfigError
from weir.transport.handshake import (
    HELLO_BYTES,
    LEGAL,
    AcceptorHandshake,
    Claim,
    ConnectionPurpose,
    DialerHandshake,
    HandshakeState,
    JobCredentials,
)

CREDENTIALS = JobCredentials(b"the secret of this job", "orders")
CLAIM = Claim(ConnectionPurpose.DATA, generation=7, dialer=3, acceptor=1, incarnation="slot-3-abc")


def dialer_of(credentials: JobCredentials = CREDENTIALS, claim: Claim = CLAIM, nonce: bytes = b"d" * 32) -> DialerHandshake:
    return DialerHandshake(credentials, claim, nonce=nonce)


def acceptor_of(
    credentials: JobCredentials = CREDENTIALS, purpose: ConnectionPurpose = ConnectionPurpose.DATA, nonce: bytes = b"a" * 32
) -> AcceptorHandshake:
    return AcceptorHandshake(credentials, purpose, incarnation="slot-1-xyz", nonce=nonce)


def test_both_sides_authenticate_before_the_listening_side_admits_the_connecting_side() -> None:
    dialer, acceptor = dialer_of(), acceptor_of()
    assert acceptor.receive(dialer.receive(acceptor.receive(dialer.hello))) == b""
    assert acceptor.state is HandshakeState.PROVED and dialer.state is HandshakeState.PROVED
    assert acceptor.claim == CLAIM
    dialer.receive(acceptor.accept())
    assert dialer.state is HandshakeState.DONE and acceptor.state is HandshakeState.DONE
    assert dialer.peer_incarnation == "slot-1-xyz"
    assert dialer.expected_bytes == acceptor.expected_bytes == 0


def test_the_claim_of_a_peer_cannot_be_read_before_its_proof_is_verified() -> None:
    dialer, acceptor = dialer_of(), acceptor_of()
    acceptor.receive(dialer.hello)
    with pytest.raises(AssertionError, match="not proven"):
        _ = acceptor.claim


@pytest.mark.parametrize(
    "other_credentials", [JobCredentials(b"the secret of an attacker", "orders"), JobCredentials(CREDENTIALS.secret, "p")]
)
def test_the_connecting_side_refuses_a_listening_side_with_a_different_secret_or_job(other_credentials: JobCredentials) -> None:
    dialer, acceptor = dialer_of(), acceptor_of(other_credentials)
    with pytest.raises(AuthenticationError, match="acceptor did not prove"):
        dialer.receive(acceptor.receive(dialer.hello))
    assert dialer.state is HandshakeState.FAILED


def test_the_listening_side_refuses_a_connecting_side_with_an_invalid_proof() -> None:
    acceptor = acceptor_of()
    acceptor.receive(dialer_of(JobCredentials(b"the secret of an attacker", "orders")).hello)
    with pytest.raises(AuthenticationError, match="dialer did not prove"):
        acceptor.receive(b"\0" * 32)
    assert acceptor.state is HandshakeState.FAILED


def test_the_messages_of_one_handshake_are_refused_in_another_handshake() -> None:
    dialer, acceptor = dialer_of(), acceptor_of()
    reply = acceptor.receive(dialer.hello)
    proof = dialer.receive(reply)
    acceptor.receive(proof)
    acceptance = acceptor.accept()

    later = acceptor_of(nonce=b"A" * 32)
    later.receive(dialer.hello)
    with pytest.raises(AuthenticationError):
        later.receive(proof)
    with pytest.raises(AuthenticationError):
        dialer_of(nonce=b"D" * 32).receive(reply)
    third = dialer_of(nonce=b"D" * 32)
    third.receive(acceptor_of(nonce=b"A" * 32).receive(third.hello))
    with pytest.raises(AuthenticationError):
        third.receive(acceptance)


def test_a_message_that_is_sent_back_to_its_sender_is_refused() -> None:
    dialer, acceptor = dialer_of(), acceptor_of()
    reply = acceptor.receive(dialer.hello)
    with pytest.raises(AuthenticationError):
        acceptor.receive(reply[-32:])  # the listening side receives its own MAC instead of the proof of the connecting side
    second_acceptor = acceptor_of()
    other = dialer_of()
    proof = other.receive(second_acceptor.receive(other.hello))
    with pytest.raises(AuthenticationError):
        other.receive(proof)  # the connecting side receives its own proof instead of the acceptance of the listening side


def test_the_reply_of_another_listening_side_is_not_accepted_as_a_proof() -> None:
    """An attacker could forward the reply of one listening process to another listening process. The reply must not count as the
    proof of a connecting process."""
    first = acceptor_of(nonce=b"1" * 32)
    hello = dialer_of().hello
    first.receive(hello)
    second = acceptor_of(nonce=b"1" * 32)  # both listening sides use the same nonce
    reply = second.receive(hello)
    with pytest.raises(AuthenticationError):
        first.receive(reply[-32:])


def test_a_hello_message_with_a_different_purpose_is_refused() -> None:
    with pytest.raises(AuthenticationError, match="purpose"):
        acceptor_of(purpose=ConnectionPurpose.CONTROL).receive(dialer_of().hello)
    # If an attacker changes the purpose in a hello message, the control port responds, but the MACs do not match.
    dialer, acceptor = dialer_of(), acceptor_of(purpose=ConnectionPurpose.CONTROL)
    hello = bytearray(dialer.hello)
    hello[9] = ConnectionPurpose.CONTROL
    with pytest.raises(AuthenticationError):
        dialer.receive(acceptor.receive(bytes(hello)))


def test_the_handshake_fails_if_any_byte_of_the_hello_message_is_changed() -> None:
    for position in range(HELLO_BYTES):
        dialer, acceptor = dialer_of(), acceptor_of()
        hello = bytearray(dialer.hello)
        hello[position] ^= 1
        try:
            reply = acceptor.receive(bytes(hello))
        except AuthenticationError:
            continue
        with pytest.raises(AuthenticationError):
            dialer.receive(reply)


@pytest.mark.parametrize("field", ["generation", "dialer", "acceptor"])
def test_the_proof_of_one_claim_is_not_valid_for_a_different_claim(field: str) -> None:
    honest, acceptor = dialer_of(), acceptor_of()
    other = dialer_of(claim=dataclasses.replace(CLAIM, **{field: getattr(CLAIM, field) + 1}))
    honest_reply = acceptor_of().receive(honest.hello)
    proof = honest.receive(honest_reply)
    acceptor.receive(other.hello)
    with pytest.raises(AuthenticationError):
        acceptor.receive(proof)


@given(st.binary(min_size=HELLO_BYTES, max_size=HELLO_BYTES), st.binary(min_size=32, max_size=32))
def test_random_bytes_are_refused(hello: bytes, proof: bytes) -> None:
    acceptor = acceptor_of()
    with pytest.raises(AuthenticationError):
        acceptor.receive(hello)
        acceptor.receive(proof)
    assert acceptor.state is HandshakeState.FAILED


def test_neither_the_messages_nor_the_repr_contain_the_secret() -> None:
    dialer, acceptor = dialer_of(), acceptor_of()
    reply = acceptor.receive(dialer.hello)
    proof = dialer.receive(reply)
    acceptor.receive(proof)
    assert CREDENTIALS.secret not in dialer.hello + reply + proof + acceptor.accept()
    assert "secret" not in repr(CREDENTIALS)


def test_invalid_secrets_and_incarnations_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least 16"):
        JobCredentials(b"short", "orders")
    with pytest.raises(ConfigError, match="incarnation"):
        dialer_of(claim=dataclasses.replace(CLAIM, incarnation="x" * 65))


def test_the_handshake_can_fail_in_every_state_that_is_not_a_final_state() -> None:
    assert set(LEGAL) == set(HandshakeState)
    for state, targets in LEGAL.items():
        assert (HandshakeState.FAILED in targets) == (state not in (HandshakeState.DONE, HandshakeState.FAILED))
