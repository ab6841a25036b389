"""The heartbeats of a slot, and the samples of its stacks.

A thread that runs compiled code sends the heartbeats on a separate control connection. The heartbeat thread never needs the GIL.
So a slot sends heartbeats even while its code holds the GIL for a long time, for example in a regular expression or a C
extension. A slot process that is stopped or dead sends no heartbeats. In shared memory, the loop counts its turns, and the
background executor counts its calls. Each heartbeat contains the counts of turns and calls, so that the coordinator can detect a
slot without progress.
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

from weir.kernel.config import HEARTBEAT_MS_MAX
from weir.kernel.stack_sample import SAMPLE_BYTES_MAX
from weir.protocol.ids import SlotIncarnation
from weir.protocol.messages import FromSlot, Heartbeat, StackSample, encode
from weir.state.numba_support import Words, address_of, kernel, load8, load64, signed, store8, store64
from weir.transport.connection_setup import DIAL_TIMEOUT_NS, Dialer
from weir.transport.control import frame_message
from weir.transport.handshake import Claim, ConnectionPurpose, JobCredentials
from weir.transport.poller import Poller

# Functions of the C library, as numba types. Pointers are passed as integer addresses.
_poll: Any = types.ExternalFunction("poll", types.int32(types.int64, types.uint64, types.int32))
_send: Any = types.ExternalFunction("send", types.int64(types.int32, types.int64, types.uint64, types.int32))
_read: Any = types.ExternalFunction("read", types.int64(types.int32, types.int64, types.uint64))
_NO_SIGNAL = int(getattr(socket, "MSG_NOSIGNAL", 0))
_POLLIN = 1
# Indices of the 64-bit words in the shared memory.
_TURNS, _CALLS, _CHAIN, _STOP, _STARTED, _POLLED, _WORDS = 0, 1, 2, 3, 4, 5, 7
_DIGITS = 20
"""Width of each number in a heartbeat, in characters. Shorter numbers are padded with spaces."""
_DUMP_MS = 50
"""After the first bytes of a dump have arrived in the pipe, the thread waits this long for the rest of the dump."""


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
    sample: int, sample_prefix: int, raw: int, heartbeat_ms: int,
) -> int:  # fmt: skip
    """Send heartbeats until the word _STOP is set or the connection ends. Return 0 after _STOP, or another number after
    a failure.

    ``words``, ``heartbeat``, ``sample`` and ``raw`` are addresses. ``words`` is the shared memory. ``heartbeat`` is a message of
    ``heartbeat_bytes`` bytes. The first number in the heartbeat starts at byte ``first_number``. Each later number starts
    ``number_stride`` bytes after the number before it. ``sample`` is a message that has ``sample_prefix`` bytes before the hex
    digits. ``raw`` is a buffer for a dump of the stacks. ``heartbeat_ms`` is the time between two heartbeats.
    """
    store64(words + 8 * _STARTED, signed(1))
    size = 0
    while load64(words + 8 * _STOP) == 0:
        for number in range(3):
            _write_number(heartbeat + first_number + number * number_stride, load64(words + 8 * number))
        if _send(connection, heartbeat, heartbeat_bytes, _NO_SIGNAL) != heartbeat_bytes:
            return 1
        # Send a new heartbeat before the sample, because the coordinator assigns the sample to the step in the slot's newest
        # heartbeat.
        if size and _send(connection, sample, size, _NO_SIGNAL) != size:
            return 4
        size = 0
        polled = words + 8 * _POLLED
        store64(polled, signed(connection | (_POLLIN << 32)))
        store64(polled + 8, signed(pipe | (_POLLIN << 32)))
        _poll(polled, 2, heartbeat_ms)
        # The upper 16 bits of the word contain the events that poll returns. The coordinator sends nothing on this connection, so
        # any event means that the connection has ended.
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
    _beat(-1, -1, address_of(words), 0, 0, 0, 0, 0, 0, 0, 0)


class HeartbeatSender:
    """Sends the heartbeats of a slot process. Call order: start -> { turn | step | call }* -> close. ``close`` may be called at
    any time."""

    def __init__(
        self,
        credentials: JobCredentials,
        *,
        host: str,
        port: int,
        run: int,
        incarnation: SlotIncarnation,
        heartbeat_ms: int = HEARTBEAT_MS_MAX,
        dial_timeout_ns: int = DIAL_TIMEOUT_NS,
    ) -> None:
        self._credentials = credentials
        self._heartbeat_ms = heartbeat_ms
        self._dial_timeout_ns = dial_timeout_ns
        self._claim = Claim(ConnectionPurpose.CONTROL, run, 0, 0, incarnation)
        self._address = (host, port)
        self._words: Words = np.zeros(_WORDS, np.int64)
        self._numbers = self._words.data
        self._numbers[_CHAIN] = -1
        self._connection: socket.socket | None = None
        self._pipe: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect, and start the thread that sends a heartbeat every ``heartbeat_ms``. When ``start`` returns, the heartbeat thread
        no longer needs the GIL. Raise ConnectionError if the coordinator refuses the connection or cannot be reached."""
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
        """A file descriptor for Python's faulthandler, or None before ``start``. Each dump that is written to this descriptor is
        sent to the coordinator."""
        return None if self._pipe is None else self._pipe[1]

    @property
    def turns(self) -> int:
        return int(self._numbers[_TURNS])

    @property
    def calls(self) -> int:
        return int(self._numbers[_CALLS])

    def turn(self) -> None:
        """Count a turn. The loop calls ``turn`` when a turn begins."""
        self._numbers[_TURNS] += 1

    def step(self, chain: int) -> None:
        """Record the chain of the next step. The loop calls ``step`` before each step."""
        self._numbers[_CHAIN] = chain

    def call(self) -> None:
        """Count the start or the end of a blocking call. The background executor calls ``call`` before and after each blocking
        call."""
        self._numbers[_CALLS] += 1

    def close(self) -> None:
        self._numbers[_STOP] = 1
        if self._connection is not None:
            try:
                self._connection.shutdown(socket.SHUT_RDWR)  # wakes the thread, which waits in poll
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
            dial_timeout_ns=self._dial_timeout_ns,
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
        # Block all signals. A signal handler in this thread would interrupt the thread's system calls, and would wait for the
        # GIL.
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
            positions[1] - positions[0], address_of(sample), len(prefix), address_of(raw), self._heartbeat_ms,
        )  # fmt: skip


class StackSampler:
    """Sends a sample of all stacks during each step that takes longer than ``step_ns``, and during each blocking call that takes
    longer than ``call_ns``.

    Call ``arm`` after ``HeartbeatSender.start``. The control thread calls ``check`` about once per heartbeat. While another thread
    holds the GIL, ``check`` cannot run. So the watchdog of Python's faulthandler, which does not need the GIL, writes the sample
    after ``step_ns``.
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
        """Send a sample if one is due. If the loop is slow to answer Cancel (``slow_cancel`` is True), ``check`` always sends a
        sample.

        ``now_ns`` is the monotonic time.
        """
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
        """Start or restart the watchdog. The loop's thread must call ``arm`` before the first step, because even the first step
        can hold the GIL for a long time."""
        descriptor = self._heartbeats.dump_descriptor
        if descriptor is not None:
            # Repeat the dump. If the control thread is late, the watchdog can write the first dump too early: before the start of
            # the step that holds the GIL.
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
