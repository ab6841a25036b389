"""An offered load: drivers of running jobs offer events to the API at a fixed rate, whatever the speed of the API.

Drivers send events as ``weir.link.delivery`` does: one request at a time, each with the events of a tenth of a second. If
the API is slow, it receives fewer and larger batches.
"""

from __future__ import annotations

import random
import threading
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.platform.client import Client
from bench.platform.driver_events import ROUND, RequestBody, endless, rows_of
from bench.platform.ingest import BEGIN, SentEvents, post
from bench.platform.job_writer import RunConnection
from bench.platform.server import TemporaryControlPlane
from weir.link.delivery import BATCH_BYTES, LINGER_MS
from weir.protocol.events import NumberedEvent, encode_batch, encode_event
from weir.protocol.ids import EventNumber
from weir_backend.kit.clock import now

PHASES = 8
"""The drivers trigger their checkpoints in this number of groups, each group at a different time."""


@dataclass(slots=True)
class PacedDriver(SentEvents):
    """``lasts``: the number of the last event of each batch. ``sent_s``: the time at which each batch was sent (monotonic)."""

    lasts: list[int] = field(default_factory=list)
    sent_s: list[float] = field(default_factory=list)

    def sent_at(self, event: int) -> float:
        return self.sent_s[bisect_left(self.lasts, event)]


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """``seconds``: the time until the last event was stored. ``late_s``: by how much
    ``seconds`` exceeds the planned duration of the load."""

    runs: Sequence[RunConnection]
    drivers: Sequence[PacedDriver]
    events: int
    seconds: float
    late_s: float

    @property
    def batches(self) -> int:
        return sum(len(one.lasts) for one in self.drivers)


def offer_load(
    platform: TemporaryControlPlane, runs: Sequence[RunConnection], *, per_s: float, seconds: float, seed: int
) -> OfferedLoad:
    """Send ``per_s`` events per second, divided among all runs. Return when all events of each driver are stored or the driver
    has received an error."""
    count = max(1, int(per_s * seconds / len(runs)))
    own_per_s = per_s / len(runs)
    begin_ms = now().timestamp() * 1000
    at_ms = [int(begin_ms + position * 1000 / own_per_s) for position in range(count)]
    events_by_phase = [_events(at_ms, random.Random(seed), lead=phase * ROUND // PHASES) for phase in range(PHASES)]
    rng = random.Random(seed)
    drivers = [PacedDriver() for _ in runs]
    began = time.monotonic()

    def drive(
        run: RunConnection, own: PacedDriver, offset_s: float, events: Sequence[NumberedEvent], encoded: Sequence[bytes]
    ) -> None:
        with Client(platform.url, run.token) as client:
            begun = began + offset_s
            while own.last - BEGIN < count and own.problem is None:
                at = own.last - BEGIN
                next_s = begun + (at + 1) / own_per_s
                time.sleep(max(0.0, next_s - time.monotonic()) + LINGER_MS / 1000)
                due = max(at + 1, min(count, int((time.monotonic() - begun) * own_per_s)))
                _send(client, run, own, events[at:due], encoded[at:due])

    offsets = [rng.random() / own_per_s for _ in runs]
    threads = [
        threading.Thread(target=drive, args=(run, own, offset_s, *events_by_phase[number % PHASES]))
        for number, (run, own, offset_s) in enumerate(zip(runs, drivers, offsets, strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    return OfferedLoad(runs, drivers, sum(one.last - BEGIN for one in drivers), took, max(0.0, took - seconds))


def _events(at_ms: Sequence[int], rng: random.Random, *, lead: int) -> tuple[list[NumberedEvent], list[bytes]]:
    """Return events of a run at the times ``at_ms``, and their encodings."""
    generated = endless(rng, lead=lead)
    events = [NumberedEvent(EventNumber(BEGIN + 1 + position), at, next(generated)) for position, at in enumerate(at_ms)]
    return events, [encode_event(one) for one in events]


def _send(
    client: Client, run: RunConnection, own: PacedDriver, events: Sequence[NumberedEvent], encoded: Sequence[bytes]
) -> None:
    taken = size = 0
    while taken < len(encoded) and (taken == 0 or size + len(encoded[taken]) <= BATCH_BYTES):
        size += len(encoded[taken])
        taken += 1
    rows = rows_of(events[:taken])
    one = RequestBody(events[0].number, events[taken - 1].number, encode_batch(encoded[:taken]), rows)
    began = time.monotonic()
    own.lasts.append(one.last)
    own.sent_s.append(began)
    own.problem = post(client, run, one)
    own.ms.append((time.monotonic() - began) * 1000)
    if own.problem is None:
        own.last = one.last
        own.rows.append(rows)
