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


def _exit(reason: str) -> None:
    """At once and without clean-up: whatever the loop is doing must have no further effect."""
    log.info("slot process ends itself", reason=reason, pid=os.getpid())
    os._exit(EXIT_FENCED)


class ControlLine:
    """``start``, then from the loop: ``receive`` whenever ``wake`` was called, ``send`` at any time, ``close``.

    ``lease_ms``: how long it may do without a word of the coordinator until the first lease says how long from then on.
    ``end`` ends the process and does not return, but in tests.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        host: str,
        port: int,
        run: int,
        incarnation: SlotIncarnation,
        lease_ms: int,
        wake: Callable[[], None],
        end: Callable[[str], None] = _exit,
    ) -> None:
        self._client = ControlClient(credentials, host=host, port=port, generation=run, incarnation=incarnation)
        self._lease_ms = lease_ms
        self._wake = wake
        self._end = end
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
        """Returns once the coordinator has let us in. Raises ConnectionError if it does not, or cannot be told who we are."""
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
        if self._thread.ident is None:
            self._client.close()  # never started, so there is nobody else to do it
            return
        self._client.wake()
        self._thread.join(2.0)

    def _run(self) -> None:
        """A thread that died in silence would leave a loop without a lease, that nobody supervises."""
        try:
            self._talk()
        except BaseException as error:  # noqa: BLE001  # whatever it is, nobody else would know
            reason = f"the line to the coordinator failed ({type(error).__name__}: {error})"
            if not self._connected.is_set():
                self._lost = reason
                self._connected.set()
            elif not self._closing:
                self._end(reason)
        finally:
            self._client.close()

    def _talk(self) -> None:
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

    def _on_event(self, event: Connected | Message | Closed) -> None:
        match event:
            case Connected():
                assert self._register is not None
                # From here on: it may be cut off before its first heartbeat is answered.
                self._lease_until_ns = time.monotonic_ns() + self._lease_ms * 1_000_000
                self.send(self._register)
                self._connected.set()
            case Message(_, data):
                message = decode_to_slot(data)
                if isinstance(message, Lease):
                    self._lease_until_ns = time.monotonic_ns() + message.lease_ms * 1_000_000
                    return
                self._inbox.append(message)
                # After the message, or a ``receive`` in between would end the watch over an order that it did not take; if it did take
                # it, the wake below has it called again.
                if isinstance(message, Cancel | Stop) and self._order_since_ns is None:
                    self._order_since_ns = time.monotonic_ns()
                self._wake()
            case Closed(_, reason):
                self._lost = reason
                if not self._connected.is_set():
                    self._connected.set()
                    self._closing = True
                elif not self._closing:
                    self._end(f"the coordinator is gone: {reason}")

    def _check(self, now_ns: int) -> None:
        if self._closing:
            return
        if self._lease_until_ns is not None and now_ns > self._lease_until_ns:
            self._end("the lease has run out: the coordinator has not answered")
        if self._order_since_ns is not None and now_ns - self._order_since_ns > OBEY_NS_MAX:
            self._end("the loop did not take up an order to cancel or stop")
