"""A job of 200 operators x 8 subtasks, and its driver, played over the API's own link: a checkpoint that hundreds of subtasks acknowledge
every second, the next one as soon as it is over, and samples of all slots every two seconds."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from bench.platform.client import Client
from bench.platform.job_writer import RunConnection
from weir import Job, Stream, agg, sinks, sources
from weir.graph.compile import compile_graph
from weir.link.delivery import BATCH_BYTES, LINGER_MS
from weir.protocol.codec import to_json
from weir.protocol.events import (
    AcknowledgedStatistics,
    CheckpointCompleted,
    CheckpointTriggered,
    DriverState,
    Event,
    GraphDeployed,
    MetricsSampled,
    NumberedEvent,
    RunStateChanged,
    SubtaskAcknowledged,
    encode_batch,
    encode_event,
)
from weir.protocol.ids import CheckpointId, EventNumber, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.snapshots import SubtaskStatistics
from weir_backend.kit.clock import now

COLUMNS, ROWS, SLOTS = 20, 10, 8
CHAINS = COLUMNS * ROWS
SUBTASKS = CHAINS * SLOTS
CHECKPOINT_S = 5.0
PAUSE_S = 0.1
SAMPLES_S = 2.0
HISTORY = 30
"""Completed checkpoints that there are before anybody looks."""
GENERATION = Generation(1)
_ALL = [(chain, index) for chain in range(CHAINS) for index in range(SLOTS)]


def graph() -> dict[str, Any]:
    """As a driver tells it: rows of operators, each in a chain of its own, some of which meet those of the row below."""
    job = Job("wide")
    rows: list[Stream] = [
        job.read(
            sources.generator({"customer": sources.uniform_ints(distinct=10_000), "cents": sources.ints(0, 100_000)}),
            uid=f"orders-{row}",
        )
        for row in range(ROWS)
    ]
    for column in range(1, COLUMNS - 1):
        before = list(rows)
        for row in range(ROWS):
            uid = f"stage-{column}-{row}"
            if column > 1 and column % 3 == 0 and row % 3 == 0 and row + 1 < ROWS:
                rows[row] = before[row].rebalance().union(before[row + 1].rebalance(), uid=uid)
            else:
                rows[row] = before[row].key_by("customer").aggregate(cents=agg.sum("cents"), uid=uid)
    for row in range(ROWS):
        rows[row].rebalance().write(sinks.stats(), uid=f"out-{row}")
    logical, _ = job.to_graph()
    physical = compile_graph(logical, slots=SLOTS)
    parallelism = [chain.parallelism for chain in physical.chains]
    assert parallelism == [SLOTS] * CHAINS, f"{len(parallelism)} chains, and not {CHAINS} of {SLOTS} subtasks"
    return cast("dict[str, Any]", to_json(physical))


@dataclass(slots=True)
class Counted:
    """Of all subtasks since they were deployed. Operators differ in how much of their time they are held up, and none is so for ever."""

    _age_s: float = 0.0
    _held_us: list[int] = field(default_factory=lambda: [0] * SUBTASKS)

    def samples(self) -> list[Event]:
        """Once ``SAMPLES_S`` have passed."""
        self._age_s += SAMPLES_S
        return [MetricsSampled(self._slot(slot)) for slot in range(SLOTS)]

    def _slot(self, slot: int) -> SlotMetrics:
        age_us = int(self._age_s * 1e6)
        subtasks = []
        for chain in range(CHAINS):
            place = chain * SLOTS + slot
            share = ((chain * 7 + slot * 3 + int(self._age_s) // 6) % 20) / 30
            self._held_us[place] += int(SAMPLES_S * 1e6 * share)
            busy_us, held_us = age_us // 5, self._held_us[place]
            count = int(self._age_s * (1_000 + 13 * chain + slot))
            idle_us = age_us - busy_us - held_us
            subtasks.append(SubtaskMetrics(chain, slot, count, count, count * 60, count * 40, busy_us, idle_us, held_us, 0))
        return SlotMetrics(GENERATION, SlotIndex(slot), 300 << 20, age_us * 7 // 10, tuple(subtasks), {})


@dataclass(slots=True)
class WideJobDriver:
    """Of one run. ``problem``: why it has stopped before it was told to."""

    url: str
    run: RunConnection
    seed: int
    problem: str | None = None
    _checkpoints: int = 0
    _events: int = 0
    _counted: Counted = field(default_factory=Counted)

    def begin(self, graph: dict[str, Any]) -> None:
        """Deployed, with a history, and with something to compare the first samples with."""
        luck = random.Random(self.seed)
        at_ms = _now_ms() - int(HISTORY * (CHECKPOINT_S + PAUSE_S) * 1000)
        deployed: list[Event] = [
            GraphDeployed(graph),
            RunStateChanged(DriverState.INITIALIZING, GENERATION),
            RunStateChanged(DriverState.RUNNING, GENERATION),
        ]
        with Client(self.url, self.run.token) as client:
            self._send(client, [(at_ms, event) for event in deployed])
            for _ in range(HISTORY):
                told = self._checkpoint(luck)
                self._send(client, [(at_ms + int(at_s * 1000), event) for at_s, events in told for event in events])
                at_ms += int((CHECKPOINT_S + PAUSE_S) * 1000)
            for back_s in (2 * SAMPLES_S, SAMPLES_S):
                self._send(client, [(_now_ms() - int(back_s * 1000), event) for event in self._counted.samples()])

    def drive(self, over: threading.Event) -> None:
        """Until ``over``, at the pace of a real one."""
        luck = random.Random(self.seed + 1)
        sampled_s = 0.0
        with Client(self.url, self.run.token) as client:
            while not over.is_set() and self.problem is None:
                began = time.monotonic()
                for at_s, events in self._checkpoint(luck):
                    if over.wait(max(0.0, began + at_s - time.monotonic())):
                        return
                    if time.monotonic() - sampled_s >= SAMPLES_S:
                        sampled_s = time.monotonic()
                        events = [*events, *self._counted.samples()]
                    self._send(client, [(_now_ms(), event) for event in events])
                over.wait(PAUSE_S)

    def _checkpoint(self, luck: random.Random) -> Iterator[tuple[float, list[Event]]]:
        """What is told, and how many seconds after the trigger: together what has come together in a tenth of one. Acknowledgements come
        chain after chain, more or less."""
        self._checkpoints += 1
        number = CheckpointId(self._checkpoints)
        order = sorted(
            (
                (max(0.0, CHECKPOINT_S * (chain + luck.gauss(10, 6)) / (CHAINS + 20)), SubtaskId(chain, index))
                for chain, index in _ALL
            ),
            key=lambda one: one[0],
        )
        yield 0.0, [CheckpointTriggered(number, GENERATION, "periodic", SUBTASKS)]
        told: list[Event] = []
        due_s = LINGER_MS / 1000
        for at_s, subtask in order:
            while at_s > due_s:
                yield due_s, told
                told, due_s = [], due_s + LINGER_MS / 1000
            told.append(SubtaskAcknowledged(number, subtask, int(at_s * 1000)))
        yield due_s, told
        measured = tuple(AcknowledgedStatistics(SubtaskId(chain, index), _statistics(luck)) for chain, index in _ALL)
        size = sum(one.statistics.state_bytes for one in measured)
        end_s = due_s + LINGER_MS / 1000
        yield end_s, [CheckpointCompleted(number, GENERATION, "periodic", int(end_s * 1000), size, measured)]

    def _send(self, client: Client, told: Sequence[tuple[int, Event]]) -> None:
        """Milliseconds, and what happened; in as many requests as a driver makes of it."""
        encoded = [
            encode_event(NumberedEvent(EventNumber(self._events + place), at_ms, event))
            for place, (at_ms, event) in enumerate(told, start=1)
        ]
        while encoded and self.problem is None:
            taken = size = 0
            while taken < len(encoded) and (taken == 0 or size + len(encoded[taken]) <= BATCH_BYTES):
                size += len(encoded[taken])
                taken += 1
            first = self._events + 1
            path = f"/api/v1/runs/{self.run.run_id}/events?first={first}&oldest={first}"
            answer = client.post(path, encode_batch(encoded[:taken]))
            if answer.status != 200 or answer.json()["stored"] != self._events + taken:
                self.problem = f"the API took no events: {answer.status} {answer.body[:200].decode(errors='replace')}"
            self._events += taken
            del encoded[:taken]


def _now_ms() -> int:
    return int(now().timestamp() * 1000)


def _statistics(luck: random.Random) -> SubtaskStatistics:
    sync_us = int(luck.lognormvariate(6.0, 0.6))
    return SubtaskStatistics(
        sync_us=sync_us,
        sync_cpu_us=sync_us * 3 // 4,
        sync_core_wait_us=sync_us // 50,
        async_ms=round(luck.lognormvariate(5.0, 0.6), 3),
        alignment_ms=round(luck.expovariate(0.02), 3),
        start_delay_ms=round(luck.expovariate(0.005), 3),
        state_bytes=int(luck.lognormvariate(13.8, 0.3)),
        longest_batch_ms=round(luck.uniform(0.2, 2.0), 3),
        longest_batch_core_wait_ms=round(luck.uniform(0.0, 0.2), 3),
    )


@contextmanager
def driven(driver: WideJobDriver) -> Iterator[None]:
    """As long as the block: it tells what happens. Fails if it could not."""
    over = threading.Event()
    thread = threading.Thread(target=driver.drive, args=(over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if driver.problem is not None:
        raise SystemExit(driver.problem)
