"""Heartbeats and stack samples of a separate process that holds the GIL, is stopped, or runs an endless loop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from weir.kernel.stack_sample import decode_sample
from weir.protocol.ids import SlotIncarnation
from weir.protocol.messages import Heartbeat, StackSample, decode_from_slot
from weir.subtask.heartbeats import HeartbeatSender
from weir.transport.control import Closed, ControlServer, Message
from weir.transport.handshake import JobCredentials

SECRET = b"sixteen bytes, at least"
CREDENTIALS = JobCredentials(SECRET, "job")
WAIT_S = 60.0
SLOT = """
import ctypes, sys, threading, time
from weir.protocol.messages import encode
from weir.subtask.heartbeats import HeartbeatSender, StackSampler
from weir.transport.handshake import JobCredentials

heartbeats = HeartbeatSender(JobCredentials({secret!r}, "job"), host="127.0.0.1", port={port}, run=1, incarnation="slot")
heartbeats.start()
sampler = StackSampler(heartbeats, step_ns=500_000_000, call_ns=10**18, send=lambda message: print(encode(message).decode(), flush=True))

def supervise():
    while True:
        sampler.check(time.monotonic_ns(), False)
        time.sleep(0.05)

sampler.arm(time.monotonic_ns())
threading.Thread(target=supervise, daemon=True).start()
heartbeats.step(7)
heartbeats.call()
for _ in range(1000):
    heartbeats.turn()

def hold_the_gil(us):
    ctypes.PyDLL(None).usleep(us)

{then}
"""


class Slot:
    """A process that starts to send heartbeats to a fake coordinator, and then runs the code in ``then``."""

    def __init__(self, then: str) -> None:
        self.server = ControlServer(
            CREDENTIALS, host="127.0.0.1", generation=1, incarnation="coordinator", log_connection=lambda text: None
        )
        code = SLOT.format(secret=SECRET, port=self.server.port, then=then)
        self.process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.received: list[Heartbeat | StackSample] = []
        self.closed = False

    def heartbeats(self) -> list[Heartbeat]:
        return [message for message in self.received if isinstance(message, Heartbeat)]

    def samples(self) -> list[str]:
        return [decode_sample(message.dump) for message in self.received if isinstance(message, StackSample)]

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, self.received
            self.poll()

    def poll(self) -> None:
        for event in self.server.poll(time.monotonic_ns(), 50_000_000):
            if isinstance(event, Message):
                message = decode_from_slot(event.data)
                assert isinstance(message, Heartbeat | StackSample)
                self.received.append(message)
            elif isinstance(event, Closed):
                self.closed = True

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.server.close()


@pytest.fixture
def new_slot() -> Iterator[Callable[[str], Slot]]:
    slots: list[Slot] = []

    def start(then: str) -> Slot:
        slots.append(Slot(then))
        return slots[-1]

    yield start
    for slot in slots:
        slot.close()


def test_a_slot_sends_heartbeats_and_a_stack_sample_while_its_code_holds_the_gil(new_slot: Callable[[str], Slot]) -> None:
    slot = new_slot("hold_the_gil(3600 * 10**6)")
    slot.wait(lambda: "".join(slot.samples()).count("in hold_the_gil") == 2)
    held = len(slot.received)
    slot.wait(lambda: len(slot.received) >= held + 3)
    assert set(slot.heartbeats()[1:]) == {Heartbeat(1000, 1, 7)}


def test_a_stopped_process_sends_no_heartbeats_and_a_dead_process_closes_the_connection(new_slot: Callable[[str], Slot]) -> None:
    slot = new_slot("while True: heartbeats.turn(); time.sleep(0.001)")
    slot.wait(lambda: len(slot.heartbeats()) >= 2)
    os.kill(slot.process.pid, signal.SIGSTOP)
    slot.wait(lambda: psutil.Process(slot.process.pid).status() == psutil.STATUS_STOPPED)
    while slot.server.poll(time.monotonic_ns(), 0):
        pass
    before = len(slot.received)
    until = time.monotonic() + 1.2
    while time.monotonic() < until:
        slot.poll()
    assert len(slot.received) == before
    os.kill(slot.process.pid, signal.SIGCONT)
    slot.wait(lambda: len(slot.received) > before)
    slot.process.kill()
    slot.wait(lambda: slot.closed)


def test_the_control_thread_samples_an_endless_python_loop(new_slot: Callable[[str], Slot]) -> None:
    slot = new_slot("def endless():\n    while True: pass\n\nendless()")
    slot.wait(lambda: bool(slot.heartbeats()))
    assert slot.process.stdout is not None
    sample = decode_from_slot(slot.process.stdout.readline().encode())
    assert isinstance(sample, StackSample)
    assert "in endless" in decode_sample(sample.dump)


def test_a_heartbeat_sender_that_was_never_started_can_be_closed() -> None:
    server = ControlServer(CREDENTIALS, host="127.0.0.1", generation=1, incarnation="c", log_connection=lambda text: None)
    never = HeartbeatSender(CREDENTIALS, host="127.0.0.1", port=server.port, run=1, incarnation=SlotIncarnation("slot"))
    never.close()
    never.close()
    server.close()
