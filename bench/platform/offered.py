"""Drivers of jobs that run: events happen at a rate, whatever the API makes of them, and are sent as ``weir.link.delivery`` does it: what has
come together in a tenth of a second, one request at a time. A slow API is sent larger batches, and less often."""

from __future__ import annotations

import random
import threading
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.platform.client import Client
from bench.platform.history import ROUND, Batch, endless, rows_of
from bench.platform.ingest import BEGIN, Sent, post
from bench.platform.serving import Platform
from bench.platform.stories import LiveRun
from weir.link.delivery import BATCH_BYTES, LINGER_MS
from weir.protocol.events import NumberedEvent, encode_batch, encode_event
from weir.protocol.ids import EventNumber
from weir_backend.kit.clock import now

PHASES = 8
"""Checkpoints of the drivers come at so many different times."""


@dataclass(slots=True)
class Delivered(Sent):
    """``lasts``, ``sent_s``: of each batch the number of its last event, and when it was sent (monotonic)."""

    lasts: list[int] = field(default_factory=list)
    sent_s: list[float] = field(default_factory=list)

    def sent_at(self, event: int) -> float:
        return self.sent_s[bisect_left(self.lasts, event)]


@dataclass(frozen=True, slots=True)
class Offer:
    """``seconds``: until the last event was stored; ``late_s``: after it had happened."""

    runs: Sequence[LiveRun]
    drivers: Sequence[Delivered]
    events: int
    seconds: float
    late_s: float

    @property
    def batches(self) -> int:
        return sum(len(one.lasts) for one in self.drivers)


def offer(platform: Platform, runs: Sequence[LiveRun], *, per_s: float, seconds: float, seed: int) -> Offer:
    """``per_s``: events of all runs together. Returns once all is stored, or a driver was answered with an error."""
    count = max(1, int(per_s * seconds / len(runs)))
    own_per_s = per_s / len(runs)
    begin_ms = now().timestamp() * 1000
    at_ms = [int(begin_ms + place * 1000 / own_per_s) for place in range(count)]
    told = [_told(at_ms, random.Random(seed), lead=phase * ROUND // PHASES) for phase in range(PHASES)]
    luck = random.Random(seed)
    drivers = [Delivered() for _ in runs]
    began = time.monotonic()

    def drive(run: LiveRun, own: Delivered, offset_s: float, events: Sequence[NumberedEvent], encoded: Sequence[bytes]) -> None:
        with Client(platform.url, run.token) as client:
            begun = began + offset_s
            while own.last - BEGIN < count and own.problem is None:
                at = own.last - BEGIN
                next_s = begun + (at + 1) / own_per_s
                time.sleep(max(0.0, next_s - time.monotonic()) + LINGER_MS / 1000)
                due = max(at + 1, min(count, int((time.monotonic() - begun) * own_per_s)))
                _send(client, run, own, events[at:due], encoded[at:due])

    offsets = [luck.random() / own_per_s for _ in runs]
    threads = [
        threading.Thread(target=drive, args=(run, own, offset_s, *told[number % PHASES]))
        for number, (run, own, offset_s) in enumerate(zip(runs, drivers, offsets, strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    return Offer(runs, drivers, sum(one.last - BEGIN for one in drivers), took, max(0.0, took - seconds))


def _told(at_ms: Sequence[int], luck: random.Random, *, lead: int) -> tuple[list[NumberedEvent], list[bytes]]:
    """What happens in a run at these times, as it is and as it is sent."""
    told = endless(luck, lead=lead)
    events = [NumberedEvent(EventNumber(BEGIN + 1 + place), at, next(told)) for place, at in enumerate(at_ms)]
    return events, [encode_event(one) for one in events]


def _send(client: Client, run: LiveRun, own: Delivered, events: Sequence[NumberedEvent], encoded: Sequence[bytes]) -> None:
    taken = size = 0
    while taken < len(encoded) and (taken == 0 or size + len(encoded[taken]) <= BATCH_BYTES):
        size += len(encoded[taken])
        taken += 1
    rows = rows_of(events[:taken])
    one = Batch(events[0].number, events[taken - 1].number, encode_batch(encoded[:taken]), rows)
    began = time.monotonic()
    own.lasts.append(one.last)
    own.sent_s.append(began)
    own.problem = post(client, run, one)
    own.ms.append((time.monotonic() - began) * 1000)
    if own.problem is None:
        own.last = one.last
        own.rows.append(rows)
