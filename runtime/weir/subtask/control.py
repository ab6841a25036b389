"""The slot's line to the coordinator, on a thread of its own beside the loop.

A loop that restores gigabytes or is held up by a user function is not dead, and must not look so: this
thread answers for the process. It also sees what the loop cannot: that the lease has run out, that the
coordinator is gone, that the loop does not take up an order to cancel. Then it ends the process.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable

import structlog

from weir.protocol.ids import SlotIncarnation
from weir.protocol.messages import Cancel, FromSlot, Heartbeat, Lease, Register, Stop, ToSlot, decode_to_slot, encode
from weir.transport.control import Closed, Connected, ControlClient, Message
from weir.transport.handshake import Credentials

HEARTBEAT_NS = 500_000_000
OBEY_NS_MAX = 5_000_000_000
"""How long the loop may take to begin with an order to cancel or stop."""
EXIT_FENCED = 77
"""Exit code of a slot that ended itself."""

log = structlog.get_logger(__name__)


class ControlLine:
    """``start``, then from the loop: ``receive`` whenever ``wake`` was called, ``send`` at any time, ``close``."""

    def __init__(
        self, credentials: Credentials, *, host: str, port: int, run: int, incarnation: SlotIncarnation, wake: Callable[[], None]
    ) -> None:
        self._client = ControlClient(credentials, host=host, port=port, generation=run, incarnation=incarnation)
        self._wake = wake
        self._inbox: deque[ToSlot] = deque()
        self._register: Register | None = None
        self._connected = threading.Event()
        self._closing = False
        self._lost = ""
        self._lease_until_ns: int | None = None
        self._order_since_ns: int | None = None
        self.turns = 0
        """Of the loop, written by it; goes out with every heartbeat."""
        self._thread = threading.Thread(target=self._run, name="weir-control", daemon=True)

    def start(self, register: Register) -> None:
        """Returns once the coordinator has let us in. Raises ConnectionError if it does not."""
        self._register = register
        self._thread.start()
        self._connected.wait()
        if self._lost:
            raise ConnectionError(self._lost)

    def send(self, message: FromSlot) -> None:
        self._client.send(encode(message))

    def receive(self) -> list[ToSlot]:
        """What has come since the last call. Called by the loop: with it an order counts as taken up."""
        received = []
        while self._inbox:
            received.append(self._inbox.popleft())
        self._order_since_ns = None
        return received

    def close(self) -> None:
        self._closing = True
        self._client.wake()
        self._thread.join(2.0)

    def _run(self) -> None:
        beat_at_ns = 0
        while not self._closing:
            now_ns = time.monotonic_ns()
            for event in self._client.poll(now_ns, HEARTBEAT_NS):
                self._on_event(event)
            now_ns = time.monotonic_ns()
            if self._connected.is_set() and now_ns >= beat_at_ns:
                beat_at_ns = now_ns + HEARTBEAT_NS
                self.send(Heartbeat(self.turns))
            self._check(now_ns)
        # What was said last goes out before the line is cut.
        self._client.poll(time.monotonic_ns(), 0)
        self._client.close()

    def _on_event(self, event: Connected | Message | Closed) -> None:
        match event:
            case Connected():
                assert self._register is not None
                self.send(self._register)
                self._connected.set()
            case Message(_, data):
                message = decode_to_slot(data)
                if isinstance(message, Lease):
                    self._lease_until_ns = time.monotonic_ns() + message.lease_ms * 1_000_000
                    return
                if isinstance(message, Cancel | Stop) and self._order_since_ns is None:
                    self._order_since_ns = time.monotonic_ns()
                self._inbox.append(message)
                self._wake()
            case Closed(_, reason):
                self._lost = reason
                if not self._connected.is_set():
                    self._connected.set()
                    self._closing = True
                elif not self._closing:
                    _exit(f"the coordinator is gone: {reason}")

    def _check(self, now_ns: int) -> None:
        if self._closing:
            return
        if self._lease_until_ns is not None and now_ns > self._lease_until_ns:
            _exit("the lease has run out: the coordinator has not answered")
        if self._order_since_ns is not None and now_ns - self._order_since_ns > OBEY_NS_MAX:
            _exit("the loop did not take up an order to cancel or stop")


def _exit(reason: str) -> None:
    """At once and without clean-up: whatever the loop is doing must have no further effect."""
    log.info("slot process ends itself", reason=reason, pid=os.getpid())
    os._exit(EXIT_FENCED)
