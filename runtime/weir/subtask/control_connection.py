"""The slot's control connection to the coordinator, on a separate thread.

A loop that restores gigabytes or waits for a user function is alive, and must not look dead. This thread sends the
heartbeats. It ends the process if the lease has expired, the coordinator is lost, or the loop does not react to Cancel or
Stop, none of which the loop could detect.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable

import structlog

from weir.protocol.ids import SlotIncarnation
from weir.protocol.messages import CancelSubtasks, FromSlot, Heartbeat, Lease, Register, Stop, ToSlot, decode_to_slot, encode
from weir.transport.control import Closed, Connected, ControlClient, Message
from weir.transport.handshake import JobCredentials

HEARTBEAT_NS = 500_000_000
REACTION_NS_MAX = 5_000_000_000
"""The time the loop may take to start handling Cancel or Stop."""
EXIT_FENCED = 77
"""Exit code of a slot that ends its own process."""

log = structlog.get_logger(__name__)


def _exit(reason: str) -> None:
    """End the process at once and without clean-up: nothing that the loop is doing may have any further effect."""
    log.info("slot process exits", reason=reason, pid=os.getpid())
    os._exit(EXIT_FENCED)


class ControlConnection:
    """The control connection of a slot. Call ``start``; then from the loop: ``receive`` whenever ``wake`` was called, ``send``,
    ``close``.

    ``lease_ms`` is the lease until the first lease from the coordinator arrives. ``end`` ends the process; it returns only in tests.
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
        self._order_at_ns: int | None = None
        self.turns = 0
        """Turns of the loop. The number of turns, which the loop counts and every heartbeat reports."""
        self._thread = threading.Thread(target=self._run, name="weir-control", daemon=True)

    def start(self, register: Register) -> None:
        """Connect and register.

        Return once the coordinator has accepted the connection. Raise ConnectionError if the coordinator refuses the
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
        """Return the messages since the last call. The loop calls this, which also counts as reacting to Cancel or Stop."""
        received = []
        while self._inbox:
            received.append(self._inbox.popleft())
        self._order_at_ns = None
        return received

    def close(self) -> None:
        self._closing = True
        if self._thread.ident is None:
            self._client.close()  # never started, so no thread closes it
            return
        self._client.wake()
        self._thread.join(2.0)

    def _run(self) -> None:
        """Run the connection. If this thread failed silently, the loop would run without a lease and without supervision."""
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
        # Send queued messages before closing.
        self._client.poll(time.monotonic_ns(), 0)

    def _on_event(self, event: Connected | Message | Closed) -> None:
        match event:
            case Connected():
                assert self._register is not None
                # The lease starts now: the connection may break before the first heartbeat is answered.
                self._lease_until_ns = time.monotonic_ns() + self._lease_ms * 1_000_000
                self.send(self._register)
                self._connected.set()
            case Message(_, data):
                message = decode_to_slot(data)
                if isinstance(message, Lease):
                    self._lease_until_ns = time.monotonic_ns() + message.lease_ms * 1_000_000
                    return
                self._inbox.append(message)
                # Set this after appending the message. Otherwise a ``receive`` in between would clear the flag without having taken the
                # message. If the ``receive`` took the message, ``wake`` only causes an additional ``receive``.
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
        if self._order_at_ns is not None and now_ns - self._order_at_ns > REACTION_NS_MAX:
            self._end("the loop did not react to Cancel or Stop")
