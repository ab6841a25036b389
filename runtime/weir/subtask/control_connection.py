"""The slot's control connection to the coordinator, on a separate thread.

A loop that restores gigabytes or waits for a user function is alive, and must not look dead. So a separate thread sends the
heartbeats. This thread ends the process if the lease has expired, if the coordinator is lost, or if the loop does not react to
Cancel or Stop. The loop could not detect these conditions while it is busy.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable

import structlog

from weir.kernel.config import DEFAULT_TIMEOUTS, Timeouts
from weir.protocol.ids import SlotIncarnation
from weir.protocol.messages import CancelSubtasks, FromSlot, Heartbeat, Lease, Register, Stop, ToSlot, decode_to_slot, encode
from weir.transport.control import Closed, Connected, ControlClient, Message
from weir.transport.handshake import JobCredentials

HEARTBEAT_NS = 500_000_000
REACTION_MS_EXTRA = 2_000
"""The loop may take this much longer than the cancel timeout to start handling Cancel or Stop. The coordinator replaces the slot
before the process ends itself."""
EXIT_FENCED = 77
"""Exit code of a slot that ends its own process."""

log = structlog.get_logger(__name__)


def _exit(reason: str) -> None:
    """End the process at once and without clean-up, so that the loop's current work has no further effect."""
    log.info("slot process exits", reason=reason, pid=os.getpid())
    os._exit(EXIT_FENCED)


class ControlConnection:
    """The control connection of a slot. Call ``start`` first. Then the loop calls ``send`` for each message, and ``receive``
    whenever ``wake`` was called. Finally, the loop calls ``close``.

    ``lease_ms`` is the duration of the first lease. The coordinator's first Lease message replaces this lease. ``timeouts`` limits
    the time to connect, and the time that the loop may take to react to Cancel or Stop. ``end`` ends the process, and returns only
    in tests.
    """

    def __init__(
        self,
        credentials: JobCredentials,
        *,
        host: str,
        port: int,
        run: int,
        incarnation: SlotIncarnation,
        lease_ms: int,
        wake: Callable[[], None],
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        end: Callable[[str], None] = _exit,
    ) -> None:
        self._client = ControlClient(
            credentials,
            host=host,
            port=port,
            generation=run,
            incarnation=incarnation,
            dial_timeout_ns=timeouts.connect_timeout_ms * 1_000_000,
        )
        self._reaction_ns_max = (timeouts.cancel_timeout_ms + REACTION_MS_EXTRA) * 1_000_000
        self._lease_ms = lease_ms
        self._wake = wake
        self._end = end
        self._inbox: deque[ToSlot] = deque()
        self._register: Register | None = None
        self._connected = threading.Event()
        self._closing = False
        self._lost = ""
        self._lease_until_ns: int | None = None
        self._order_at_ns: int | None = None
        self.turns = 0
        """The number of turns of the loop. The loop counts its turns, and every heartbeat reports the number."""
        self._thread = threading.Thread(target=self._run, name="weir-control", daemon=True)

    def start(self, register: Register) -> None:
        """Connect and register.

        ``start`` returns once the coordinator has accepted the connection. Raise ConnectionError if the coordinator refuses the
        connection or cannot be reached.
        """
        self._register = register
        self._thread.start()
        self._connected.wait()
        if self._lost:
            raise ConnectionError(self._lost)

    def send(self, message: FromSlot) -> None:
        self._client.send(encode(message))

    def receive(self) -> list[ToSlot]:
        """Return the messages since the last call. The loop calls ``receive``, and the call counts as a reaction to Cancel or
        Stop."""
        received = []
        while self._inbox:
            received.append(self._inbox.popleft())
        self._order_at_ns = None
        return received

    def close(self) -> None:
        self._closing = True
        if self._thread.ident is None:
            self._client.close()  # the thread was never started, so it cannot close the client
            return
        self._client.wake()
        self._thread.join(2.0)

    def _run(self) -> None:
        """Run the connection. Any error ends the process, because the loop must not run without a lease and without
        supervision."""
        try:
            self._serve()
        except BaseException as error:  # noqa: BLE001  # any error must end the process
            reason = f"the control connection failed ({type(error).__name__}: {error})"
            if not self._connected.is_set():
                self._lost = reason
                self._connected.set()
            elif not self._closing:
                self._end(reason)
        finally:
            self._client.close()

    def _serve(self) -> None:
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
        # Send queued messages before the connection is closed.
        self._client.poll(time.monotonic_ns(), 0)

    def _on_event(self, event: Connected | Message | Closed) -> None:
        match event:
            case Connected():
                assert self._register is not None
                # The lease starts now, because the connection can break before the coordinator answers the first heartbeat.
                self._lease_until_ns = time.monotonic_ns() + self._lease_ms * 1_000_000
                self.send(self._register)
                self._connected.set()
            case Message(_, data):
                message = decode_to_slot(data)
                if isinstance(message, Lease):
                    self._lease_until_ns = time.monotonic_ns() + message.lease_ms * 1_000_000
                    return
                self._inbox.append(message)
                # Append the message before setting ``_order_at_ns``.
                # In the reverse order, a ``receive`` in between would clear ``_order_at_ns`` without returning the message.
                # If a ``receive`` has already returned the message, ``wake`` only causes an additional ``receive``.
                if isinstance(message, CancelSubtasks | Stop) and self._order_at_ns is None:
                    self._order_at_ns = time.monotonic_ns()
                self._wake()
            case Closed(_, reason):
                self._lost = reason
                if not self._connected.is_set():
                    self._connected.set()
                    self._closing = True
                elif not self._closing:
                    self._end(f"the connection to the coordinator is lost: {reason}")

    def _check(self, now_ns: int) -> None:
        if self._closing:
            return
        if self._lease_until_ns is not None and now_ns > self._lease_until_ns:
            self._end("the lease has expired: the coordinator has not answered")
        if self._order_at_ns is not None and now_ns - self._order_at_ns > self._reaction_ns_max:
            self._end("the loop did not react to Cancel or Stop")
