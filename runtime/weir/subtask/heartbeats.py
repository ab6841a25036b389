"""The heartbeats of a slot, and the samples of its stacks.

A thread in compiled code sends the heartbeats, on a control connection of its own. This thread never needs the GIL. So a slot whose
code holds the GIL for a long time (a regular expression, a C extension) stays alive, but a slot that is stopped or dead falls
silent. The coordinator judges progress by the numbers in the heartbeats: the loop and the background executor write these numbers
to shared memory.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from weir.kernel.stack_sample import SAMPLE_BYTES_MAX
from weir.protocol.ids import SlotIncarnation
from weir.protocol.messages import FromSlot, Heartbeat, StackSample, encode
from weir.state.numba_support import Words, address_of, kernel, load8, load64, signed, store8, store64
from weir.transport.connection_setup import Dialer
from weir.transport.control import frame_message
from weir.transport.handshake import Claim, ConnectionPurpose, JobCredentials
from weir.transport.poller import Poller

HEARTBEAT_MS = 500
# Functions of the C library, as numba types. Pointers are addresses.
_poll: Any = types.ExternalFunction("poll", types.int32(types.int64, types.uint64, types.int32))
_send: Any = types.ExternalFunction("send", types.int64(types.int32, types.int64, types.uint64, types.int32))
_read: Any = types.ExternalFunction("read", types.int64(types.int32, types.int64, types.uint64))
_NO_SIGNAL = int(getattr(socket, "MSG_NOSIGNAL", 0))
_POLLIN = 1
# The words of the shared memory.
_TURNS, _CALLS, _CHAIN, _STOP, _STARTED, _POLLED, _WORDS = 0, 1, 2, 3, 4, 5, 7
_DIGITS = 20
"""Number of characters of each number in a heartbeat, padded with spaces."""
_DUMP_MS = 50
"""Time for the rest of a dump to arrive in the pipe."""


@kernel
def _write_number(address: int, value: int) -> None:
    position = address + _DIGITS
    rest = value if value >= 0 else -value
    while True:
        position -= 1
        store8(position, signed(48 + rest % 10))
        rest //= 10
        if rest == 0:
            break
    if value < 0:
        position -= 1
        store8(position, signed(45))
    while position > address:
        position -= 1
        store8(position, signed(32))


@kernel
def _to_hex(source: int, count: int, target: int) -> None:
    for number in range(count):
        byte = signed(load8(source + number))
        for half in range(2):
            digit = byte >> 4 if half == 0 else byte & 15
            store8(target + 2 * number + half, digit + (48 if digit < 10 else 87))


@kernel
def _beat(
    connection: int, pipe: int, words: int, heartbeat: int, heartbeat_bytes: int, first_number: int, number_stride: int,
    sample: int, sample_prefix: int, raw: int,
) -> int:  # fmt: skip
    """Send heartbeats until the word _STOP is set or the connection ends. Addresses: ``words``, ``heartbeat`` (a message whose
    numbers are at ``first_number``, ``number_stride`` apart), ``sample`` (a message with ``sample_prefix`` bytes before the hex
    digits), ``raw`` (a buffer for a dump)."""
    store64(words + 8 * _STARTED, signed(1))
    size = 0
    while load64(words + 8 * _STOP) == 0:
        for number in range(3):
            _write_number(heartbeat + first_number + number * number_stride, load64(words + 8 * number))
        if _send(connection, heartbeat, heartbeat_bytes, _NO_SIGNAL) != heartbeat_bytes:
            return 1
        # The coordinator compares a sample with the heartbeat before it, so send the sample after a new heartbeat.
        if size and _send(connection, sample, size, _NO_SIGNAL) != size:
            return 4
        size = 0
        polled = words + 8 * _POLLED
        store64(polled, signed(connection | (_POLLIN << 32)))
        store64(polled + 8, signed(pipe | (_POLLIN << 32)))
        _poll(polled, 2, HEARTBEAT_MS)
        # The upper 16 bits are the returned events. The coordinator sends nothing here, so an event is the end of the connection.
        if load64(polled) >> 48 != 0:
            return 2
        if load64(polled + 8) >> 48 != 0:
            _poll(polled, 0, _DUMP_MS)
            count = _read(pipe, raw, SAMPLE_BYTES_MAX)
            if count <= 0:
                return 3
            _to_hex(raw, count, sample + sample_prefix)
            end = sample + sample_prefix + 2 * count
            store8(end, signed(34))
            store8(end + 1, signed(125))
            store8(end + 2, signed(93))
            size = sample_prefix + 2 * count + 3
            for byte in range(4):
                store8(sample + byte, signed(((size - 4) >> (8 * byte)) & 255))
    return 0


def warm_up_heartbeats() -> None:
    """Compile the kernels of this module."""
    words = np.zeros(_WORDS, np.int64)
    words[_STOP] = 1
    _beat(-1, -1, address_of(words), 0, 0, 0, 0, 0, 0, 0)


class HeartbeatSender:
    """The heartbeats of a slot process. Call order: start -> { turn | step | call }* -> close. ``close`` may be called at any time."""

    def __init__(self, credentials: JobCredentials, *, host: str, port: int, run: int, incarnation: SlotIncarnation) -> None:
        self._credentials = credentials
        self._claim = Claim(ConnectionPurpose.CONTROL, run, 0, 0, incarnation)
        self._address = (host, port)
        self._words: Words = np.zeros(_WORDS, np.int64)
        self._numbers = self._words.data
        self._numbers[_CHAIN] = -1
        self._connection: socket.socket | None = None
        self._pipe: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect, then send the first heartbeat and one each HEARTBEAT_MS. When ``start`` returns, the heartbeats no longer need
        the GIL. Raise ConnectionError if the coordinator refuses the connection or cannot be reached."""
        warm_up_heartbeats()
        self._connection = self._connect()
        self._connection.setblocking(True)
        self._pipe = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._pipe[1], False)
        self._thread = threading.Thread(target=self._run, args=(self._connection.fileno(), self._pipe[0]), daemon=True)
        self._thread.name = "weir-heartbeats"
        self._thread.start()
        while not self._numbers[_STARTED] and self._thread.is_alive():
            time.sleep(0.0001)

    @property
    def dump_descriptor(self) -> int | None:
        """A descriptor for Python's faulthandler: a dump that is written here is sent to the coordinator."""
        return None if self._pipe is None else self._pipe[1]

    @property
    def turns(self) -> int:
        return int(self._numbers[_TURNS])

    @property
    def calls(self) -> int:
        return int(self._numbers[_CALLS])

    def turn(self) -> None:
        """The loop begins a turn."""
        self._numbers[_TURNS] += 1

    def step(self, chain: int) -> None:
        """The loop runs a step of ``chain``."""
        self._numbers[_CHAIN] = chain

    def call(self) -> None:
        """A blocking call begins or ends."""
        self._numbers[_CALLS] += 1

    def close(self) -> None:
        self._numbers[_STOP] = 1
        if self._connection is not None:
            try:
                self._connection.shutdown(socket.SHUT_RDWR)  # ends the wait of the thread
            except OSError:
                pass  # the coordinator has closed the connection
        if self._thread is not None:
            self._thread.join()
        if self._connection is not None:
            self._connection.close()
        for descriptor in self._pipe or ():
            os.close(descriptor)
        self._connection = self._pipe = self._thread = None

    def _connect(self) -> socket.socket:
        connected: list[socket.socket] = []
        failures: list[str] = []
        poller = Poller()
        dialer = Dialer(
            poller, self._credentials, self._claim, self._address,
            connected=lambda accepted, _incarnation: connected.append(accepted), failed=failures.append,
        )  # fmt: skip
        try:
            while not connected and not failures:
                now_ns = time.monotonic_ns()
                dialer.advance(now_ns)
                for handler, mask in poller.wait(max(0, (dialer.next_deadline_ns() or now_ns) - now_ns)):
                    handler(mask, now_ns)
        finally:
            dialer.close()
            poller.close()
        if failures:
            raise ConnectionError(failures[0])
        return connected[0]

    def _run(self, connection: int, pipe: int) -> None:
        # A signal handler in this thread would interrupt its system calls, and would wait for the GIL.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        mark = 10 ** (_DIGITS - 1)
        message = frame_message(encode(Heartbeat(mark, mark, mark)))
        positions = [position for position in range(len(message)) if message.startswith(str(mark).encode(), position)]
        heartbeat = np.frombuffer(bytearray(message), np.uint8)
        prefix = frame_message(encode(StackSample("")))[: -len(b'"}]')]
        sample = np.zeros(len(prefix) + 2 * SAMPLE_BYTES_MAX + 3, np.uint8)
        sample[: len(prefix)] = np.frombuffer(prefix, np.uint8)
        raw = np.zeros(SAMPLE_BYTES_MAX, np.uint8)
        _beat(
            connection, pipe, address_of(self._words), address_of(heartbeat), len(message), positions[0],
            positions[1] - positions[0], address_of(sample), len(prefix), address_of(raw),
        )  # fmt: skip


class StackSampler:
    """Sends a sample of all stacks once in each step that takes ``step_ns`` and in each blocking call that takes ``call_ns``.

    Call ``arm`` when the heartbeats have started. The control thread calls ``check`` several times per second. If another thread
    holds the GIL, ``check`` cannot run, and after ``step_ns`` a watchdog of Python's faulthandler, which needs no GIL, writes the
    sample.
    """

    def __init__(self, heartbeats: HeartbeatSender, *, step_ns: int, call_ns: int, send: Callable[[FromSlot], None]) -> None:
        self._heartbeats = heartbeats
        self._step_ns = step_ns
        self._call_ns = call_ns
        self._send = send
        self._turns = self._calls = -1
        self._turned_ns = self._called_ns = 0
        self._armed_ns = 0

    def check(self, now_ns: int, slow_cancel: bool) -> None:
        """``slow_cancel`` is True if the loop is slow to answer Cancel."""
        if slow_cancel:
            self._sample()
        turns, calls = self._heartbeats.turns, self._heartbeats.calls
        if turns != self._turns:
            self._turns, self._turned_ns = turns, now_ns
        elif now_ns - self._turned_ns >= self._step_ns:
            self._turned_ns = now_ns + (1 << 62)  # one sample for each step
            self._sample()
        if calls != self._calls:
            self._calls, self._called_ns = calls, now_ns
        elif calls % 2 and now_ns - self._called_ns >= self._call_ns:
            self._called_ns = now_ns + (1 << 62)
            self._sample()
        if self._armed_ns and now_ns - self._armed_ns >= self._step_ns // 4:
            self.arm(now_ns)

    def arm(self, now_ns: int) -> None:
        """Start the watchdog, or start it again. Call first in the thread that will run the loop, because the first step can
        already hold the GIL."""
        descriptor = self._heartbeats.dump_descriptor
        if descriptor is not None:
            # A dump can come before the step that holds the GIL, if the control thread was late. So repeat it.
            faulthandler.dump_traceback_later(self._step_ns / 1e9, repeat=True, file=descriptor)
            self._armed_ns = now_ns

    def _sample(self) -> None:
        lines: list[str] = []
        for thread, innermost in sys._current_frames().items():
            lines.append(f"Thread {thread:#x} (most recent call first):")
            for frame, line in traceback.walk_stack(innermost):
                lines.append(f'  File "{frame.f_code.co_filename}", line {line} in {frame.f_code.co_name}')
        text = "\n".join(lines).encode("ascii", "backslashreplace")
        self._send(StackSample(text[:SAMPLE_BYTES_MAX].hex()))

    @staticmethod
    def close() -> None:
        faulthandler.cancel_dump_traceback_later()
