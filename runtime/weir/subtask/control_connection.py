"""The slot's control connection to the coordinator, on a separate thread.

The control thread ends the process if the lease has expired, if the coordinator is lost, or if the loop does not react to Cancel
or Stop. The loop cannot detect an expired lease or a lost coordinator while it is busy. Another thread sends the heartbeats
(heartbeats.py).
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
from weir.protocol.messages import (
    Cancelled,
    CancelSubtasks,
    FromSlot,
    Lease,
    NotifyCheckpointPublished,
    Register,
    Stop,
    TakeProfile,
    ToSlot,
    decode_to_slot,
    encode,
)
from weir.transport.control import Closed, Connected, ControlClient, Message
from weir.transport.handshake import JobCredentials

CANCEL_SAMPLE_NS = 1_000_000_000
"""If the loop has not answered Cancel after this time, the slot sends a sample of its stacks."""
REACTION_MS_EXTRA = 2_000
"""The slot process exits if the loop has not reacted to Cancel or Stop within the cancel timeout plus this extra time. The
coordinator replaces the slot after the cancel timeout, and therefore before the slot process exits."""
EXIT_FENCED = 77
"""Exit code of a slot that ends its own process."""

log = structlog.get_logger(__name__)


def exit_process(reason: str) -> None:
    """End the process at once and without clean-up, so that the loop's current work has no further effect."""
    log.info("slot process exits", reason=reason, pid=os.getpid())
    os._exit(EXIT_FENCED)


class ControlConnection:
    """The control connection of a slot. Call ``start`` first. Then the loop calls ``send`` for each message, and ``receive`` in each
    turn. A message that cannot wait for the next turn calls ``wake``. Finally, the loop calls ``close``.

    ``lease_ms`` is the duration of the first lease. The coordinator's first Lease message replaces the first lease. ``timeouts``
    contains the maximum time to connect, the maximum time until the loop reacts to Cancel or Stop, and the time between two
    heartbeats. The control thread calls ``supervise(now_ns, slow_cancel)`` about once per heartbeat. ``now_ns`` is the monotonic
    time. If the loop is slow to answer a Cancel, ``slow_cancel`` is True in exactly one call of ``supervise``. The control thread
    calls ``take_profile`` for each request for a profile, because the loop can be in a long step; ``take_profile`` must return at
    once. ``end`` ends the process, and returns only in tests.
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
        supervise: Callable[[int, bool], None] = lambda now_ns, slow_cancel: None,
        take_profile: Callable[[TakeProfile], None] = lambda request: None,
        end: Callable[[str], None] = exit_process,
    ) -> None:
        self._client = ControlClient(
            credentials,
            host=host,
            port=port,
            generation=run,
            incarnation=incarnation,
            dial_timeout_ns=timeouts.connect_timeout_ms * 1_000_000,
        )
        self._check_ns = timeouts.heartbeat_ms * 1_000_000
        self._reaction_ns_max = (timeouts.cancel_timeout_ms + REACTION_MS_EXTRA) * 1_000_000
        self._lease_ms = lease_ms
        self._wake = wake
        self._supervise = supervise
        self._take_profile = take_profile
        self._end = end
        self._inbox: deque[ToSlot] = deque()
        self._register: Register | None = None
        self._connected = threading.Event()
        self._closing = False
        self._lost = ""
        self._lease_until_ns: int | None = None
        self._unhandled_since_ns: int | None = None
        """The arrival time of the first Cancel or Stop that the loop has not received yet, or None."""
        self._cancel_at_ns: int | None = None
        """The arrival time of Cancel, or None if no Cancel is waiting for an answer. A Cancel that was reported as slow counts as
        answered."""
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

    def send(self, *messages: FromSlot) -> None:
        """Send messages. One call with several messages wakes the control thread only once."""
        if any(isinstance(message, Cancelled) for message in messages):
            self._cancel_at_ns = None
        self._client.send(*map(encode, messages))

    def receive(self) -> list[ToSlot]:
        """Return the messages that have arrived since the last call. If the loop calls ``receive`` after Cancel or Stop has
        arrived, this call counts as the loop's reaction."""
        received = []
        while self._inbox:
            received.append(self._inbox.popleft())
        self._unhandled_since_ns = None
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
        check_at_ns = 0
        while not self._closing:
            self._receive(self._check_ns)
            now_ns = time.monotonic_ns()
            if now_ns >= check_at_ns:
                check_at_ns = now_ns + self._check_ns
                slow_cancel = self._cancel_at_ns is not None and now_ns - self._cancel_at_ns > CANCEL_SAMPLE_NS
                if slow_cancel:
                    self._cancel_at_ns = None
                self._supervise(now_ns, slow_cancel)
            if self._lease_has_expired():
                # Receive again. A new lease may have arrived while this thread waited for the GIL.
                self._receive(0)
            self._check(time.monotonic_ns())
        # Send queued messages before the connection is closed.
        self._client.poll(time.monotonic_ns(), 0)

    def _receive(self, timeout_ns: int) -> None:
        for event in self._client.poll(time.monotonic_ns(), timeout_ns):
            self._on_event(event)

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
                if isinstance(message, TakeProfile):
                    self._take_profile(message)
                    return
                self._inbox.append(message)
                # Append the message first, and set ``_unhandled_since_ns`` afterwards. If ``_unhandled_since_ns`` were set first, a call of
                # ``receive`` between the two steps would clear ``_unhandled_since_ns`` without returning the message. If a ``receive``
                # has already returned the message, ``wake`` only causes an additional ``receive``.
                if isinstance(message, CancelSubtasks | Stop) and self._unhandled_since_ns is None:
                    self._unhandled_since_ns = time.monotonic_ns()
                if isinstance(message, CancelSubtasks):
                    self._cancel_at_ns = time.monotonic_ns()
                if not isinstance(message, NotifyCheckpointPublished):  # the loop handles it when another event wakes the loop
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
        if self._lease_has_expired():
            self._end("the lease has expired: the coordinator has not answered")
        if self._unhandled_since_ns is not None and now_ns - self._unhandled_since_ns > self._reaction_ns_max:
            self._end("the loop did not react to Cancel or Stop")

    def _lease_has_expired(self) -> bool:
        return self._lease_until_ns is not None and time.monotonic_ns() > self._lease_until_ns
