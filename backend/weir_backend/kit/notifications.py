"""Wake-ups by Postgres LISTEN and NOTIFY, over one connection per process. A notification reports that data has changed, but not how.
Notifications can be lost, so subscribers that must not miss a change also poll. In addition, all subscribers wake when the LISTEN connection is
lost or restored.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator

import psycopg
import structlog
from sqlalchemy.orm import Session

from weir_backend.kit.database import notify

log = structlog.get_logger(__name__)
CHANNEL = "weir"
RECONNECT_S = 1.0


def job_key(job_id: int) -> str:
    """Return the key of notifications about changes to the event log, runs, checkpoints or operations of a job."""
    return f"job:{job_id}"


def run_key(run_id: int) -> str:
    """Return the key of notifications about new commands for a run and about the end of the run."""
    return f"run:{run_id}"


ANY_JOB = "jobs"
"""Key of notifications about changes to any job."""
SPEC_CHECKS = "spec-checks"
"""Key of notifications about ended checks of specs."""
ACCOUNTS = "accounts"
"""Key of notifications about revoked tokens and changed users."""


def publish(session: Session, key: str) -> None:
    """Wake the subscribers of ``key`` when this transaction commits."""
    notify(session, CHANNEL, key)


class Subscription:
    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.keys: set[str] = set()
        """Keys delivered since ``wait`` last returned."""

    def deliver(self, key: str) -> None:
        self.keys.add(key)
        self._event.set()

    async def wait(self, timeout_s: float) -> set[str]:
        """Return the delivered keys, or an empty set after ``timeout_s``. The result includes keys that were delivered before this call."""
        with contextlib.suppress(TimeoutError):
            # Do not use ``asyncio.wait_for``. In Python 3.11, ``wait_for`` loses a cancellation that arrives at the same time as the event,
            # so the process would never shut down.
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        self._event.clear()
        delivered, self.keys = self.keys, set()
        return delivered


class Notifications:
    """The subscriptions of one event loop. ``run`` must be started as a background task of this loop. Only coroutines of the same loop may
    call ``subscribe``."""

    def __init__(self, url: str) -> None:
        """``url`` has the form that psycopg accepts."""
        self._url = url
        self._subscriptions: defaultdict[str, set[Subscription]] = defaultdict(set)

    async def run(self) -> None:
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                log.warning("lost the LISTEN connection", problem=str(error).strip().split("\n", 1)[0])
            for key in list(self._subscriptions):
                self._deliver(key)
            await asyncio.sleep(RECONNECT_S)

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, connect_timeout=5, application_name="weir listener"
        )
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            for key in list(self._subscriptions):
                self._deliver(key)
            async for notification in connection.notifies():
                self._deliver(notification.payload)
                if notification.payload.startswith("job:"):
                    self._deliver(ANY_JOB, notification.payload)

    def _deliver(self, key: str, delivered_key: str | None = None) -> None:
        for subscription in self._subscriptions.get(key, ()):
            subscription.deliver(delivered_key or key)

    @contextlib.contextmanager
    def subscribe(self, key: str) -> Iterator[Subscription]:
        """Call ``subscribe`` before reading the state, and ``wait`` after reading the state, so that no change is missed."""
        subscription = Subscription()
        self._subscriptions[key].add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions[key].discard(subscription)
            if not self._subscriptions[key]:
                del self._subscriptions[key]
