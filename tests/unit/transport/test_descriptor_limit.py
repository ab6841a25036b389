"""Every slot has a connection to every other slot, so a job with many slots needs many file descriptors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit

import pytest
from transport_rig import CREDENTIALS, HOST, Clock, new_slot

from weir.protocol.ids import Generation, SlotIndex
from weir.transport.connection_setup import PENDING_HANDSHAKES_MAX, Dialer
from weir.transport.exchange import DataExchange
from weir.transport.handshake import Claim, ConnectionPurpose
from weir.transport.poller import Poller
from weir.transport.sockets import DESCRIPTORS_RESERVED, reserve_descriptors, soft_limit_for

PEERS = 600
"""More than the default number of descriptors allows, with both ends of the connections in one process."""
SLOT = f"""
import json, sys
from resource import RLIMIT_NOFILE, getrlimit, setrlimit

sys.path.insert(0, {str(Path(__file__).parent)!r})
setrlimit(RLIMIT_NOFILE, (300, int(sys.argv[1])))
from transport_rig import new_slot
from weir.errors import WeirError

slot = new_slot(7)
failure = ""
try:
    slot.open(1, {{peer: slot.exchange.port for peer in range(1001)}})
except WeirError as error:
    failure = f"{{type(error).__name__}} {{error.retry}}: {{error}}"
print(json.dumps([failure, getrlimit(RLIMIT_NOFILE)[0]]))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (1024, 4096, 1024),
        (999, 4096, 1000),
        (999, 1000, 1000),
        (999, 999, None),
        (999, RLIM_INFINITY, 1000),
        (RLIM_INFINITY, RLIM_INFINITY, RLIM_INFINITY),
    ],
)
def test_the_soft_limit_is_raised_only_if_it_is_too_low(soft: int, hard: int, expected: int | None) -> None:
    assert soft_limit_for(1000, soft=soft, hard=hard) == expected


def _open_in_a_process(hard: int) -> tuple[str, int]:
    """Let a slot connect to 1,000 peers in a process with the given hard limit. Return the error and the soft limit afterwards."""
    done = subprocess.run([sys.executable, "-c", SLOT, str(hard)], capture_output=True, text=True, check=True, timeout=120)
    failure, soft = json.loads(done.stdout)
    return failure, soft


def test_a_slot_whose_limit_of_descriptors_is_too_low_fails_permanently_and_says_how_to_raise_the_limit() -> None:
    failure, soft = _open_in_a_process(hard=1200)
    assert failure.startswith("ConfigError never: Slot 7 (pid ") and " on host " in failure
    assert "1,000 for connections" in failure and "The limit is 1,200." in failure
    assert "`ulimit -n 1" in failure and "LimitNOFILE" in failure
    assert soft == 300, "a refused process keeps its limit"


def test_a_slot_raises_its_soft_limit_of_descriptors() -> None:
    failure, soft = _open_in_a_process(hard=2000)
    assert failure == ""
    assert 1000 + DESCRIPTORS_RESERVED < soft <= 2000


@contextmanager
def _descriptors_for(sockets: int) -> Iterator[None]:
    before = getrlimit(RLIMIT_NOFILE)
    reserve_descriptors(sockets, process="The test")
    try:
        yield
    finally:
        setrlimit(RLIMIT_NOFILE, before)


class _Dialers:
    """Slots 1 to PEERS, which connect to slot 0 at the same time."""

    def __init__(self, port: int) -> None:
        self.poller = Poller()
        self.connected: list[object] = []
        self.failed: list[str] = []
        self.dialers = [
            Dialer(
                self.poller,
                CREDENTIALS,
                Claim(ConnectionPurpose.DATA, 1, index, 0, f"slot-{index}"),
                (HOST, port),
                connected=lambda connected, _incarnation: self.connected.append(connected),
                failed=self.failed.append,
            )
            for index in range(1, PEERS + 1)
        ]

    def turn(self, now_ns: int) -> None:
        for dialer in self.dialers:
            dialer.advance(now_ns)
        for handler, mask in self.poller.wait(1_000_000):
            handler(mask, now_ns)


@pytest.mark.parametrize("is_open", [True, False])
def test_hundreds_of_slots_connect_to_one_slot_at_the_same_time(is_open: bool) -> None:
    """``is_open``: whether slot 0 opens the generation before the other slots connect, or after all of them wait for it."""
    clock, slot = Clock(), new_slot(0)
    exchange: DataExchange = slot.exchange
    peers = {SlotIndex(index): (HOST, exchange.port) for index in range(PEERS + 1)}
    with _descriptors_for(2 * PEERS + PENDING_HANDSHAKES_MAX):
        if is_open:
            exchange.open_generation(Generation(1), SlotIndex(0), peers, lambda edge: pytest.fail("no frame is sent"))
        others = _Dialers(exchange.port)

        def turns(done: bool = False) -> None:
            clock.now_ns += 1_000_000
            others.turn(clock.now_ns)
            slot.turn(clock.now_ns)

        for _ in range(2_000):
            if exchange.waiting == PEERS or exchange.ready():
                break
            turns()
        if not is_open:
            assert exchange.waiting == PEERS
            exchange.open_generation(Generation(1), SlotIndex(0), peers, lambda edge: pytest.fail("no frame is sent"))
            turns()
        for _ in range(100):
            turns()
        assert exchange.ready() and len(others.connected) == PEERS
        assert (slot.notes, slot.lost, others.failed) == ([], [], []), "no connection was dropped or made twice"
        others.poller.close()
        for connected in others.connected:
            connected.close()  # type: ignore[attr-defined]  # a socket
        slot.close()
