"""A job with 200 operators of 8 subtasks, and a simulated driver that sends its events to the API.

Checkpoints follow one another almost without a pause. Each second, hundreds of subtasks acknowledge a checkpoint. Every two
seconds, the driver sends a sample of each slot.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from bench.platform.client import Client
from bench.platform.driver_events import statistics
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
    SubtasksAcknowledged,
    encode_batch,
    encode_event,
)
from weir.protocol.ids import CheckpointId, EventNumber, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir_backend.kit.clock import now

COLUMNS, ROWS, SLOTS = 20, 10, 8
CHAINS = COLUMNS * ROWS
SUBTASKS = CHAINS * SLOTS
CHECKPOINT_S = 5.0
PAUSE_S = 0.1
SAMPLES_S = 2.0
HISTORY = 30
"""Number of completed checkpoints before the measurement."""
GENERATION = Generation(1)
_ALL = [(chain, index) for chain in range(CHAINS) for index in range(SLOTS)]


def wide_graph() -> dict[str, Any]:
    """Return the graph as a driver reports it. The operators form rows, and each operator is a separate chain. Some operators
    have a second input, which comes from the next row."""
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
    assert parallelism == [SLOTS] * CHAINS, f"{len(parallelism)} chains, expected {CHAINS} of {SLOTS} subtasks"
    return cast("dict[str, Any]", to_json(physical))


@dataclass(slots=True)
class Counters:
    """Counters of all subtasks since their deployment. The backpressured share differs between operators and changes over time."""

    _age_s: float = 0.0
    _backpressured_us: list[int] = field(default_factory=lambda: [0] * SUBTASKS)

    def samples(self) -> list[Event]:
        """Advance the clock by ``SAMPLES_S`` and return a sample of each slot."""
        self._age_s += SAMPLES_S
        return [MetricsSampled(self._slot(slot)) for slot in range(SLOTS)]

    def _slot(self, slot: int) -> SlotMetrics:
        age_us = int(self._age_s * 1e6)
        subtasks = []
        for chain in range(CHAINS):
            position = chain * SLOTS + slot
            share = ((chain * 7 + slot * 3 + int(self._age_s) // 6) % 20) / 30
            self._backpressured_us[position] += int(SAMPLES_S * 1e6 * share)
            busy_us, backpressured_us = age_us // 5, self._backpressured_us[position]
            count = int(self._age_s * (1_000 + 13 * chain + slot))
            idle_us = age_us - busy_us - backpressured_us
            subtasks.append(
                SubtaskMetrics(chain, slot, count, count, count * 60, count * 40, busy_us, idle_us, backpressured_us, 0)
            )
        return SlotMetrics(GENERATION, SlotIndex(slot), 300 << 20, age_us * 7 // 10, tuple(subtasks), {})


@dataclass(slots=True)
class WideJobDriver:
    """The driver of one run. ``problem``: why the driver stopped early."""

    url: str
    run: RunConnection
    seed: int
    problem: str | None = None
    _checkpoints: int = 0
    _events: int = 0
    _counters: Counters = field(default_factory=Counters)

    def send_history(self, graph: dict[str, Any]) -> None:
        """Send the deployment, ``HISTORY`` completed checkpoints, and two rounds of samples."""
        rng = random.Random(self.seed)
        at_ms = _now_ms() - int(HISTORY * (CHECKPOINT_S + PAUSE_S) * 1000)
        deployed: list[Event] = [
            GraphDeployed(graph),
            RunStateChanged(DriverState.INITIALIZING, GENERATION),
            RunStateChanged(DriverState.RUNNING, GENERATION),
        ]
        with Client(self.url, self.run.token) as client:
            self._send(client, [(at_ms, event) for event in deployed])
            for _ in range(HISTORY):
                batches = self._checkpoint(rng)
                self._send(client, [(at_ms + int(at_s * 1000), event) for at_s, events in batches for event in events])
                at_ms += int((CHECKPOINT_S + PAUSE_S) * 1000)
            for back_s in (2 * SAMPLES_S, SAMPLES_S):
                self._send(client, [(_now_ms() - int(back_s * 1000), event) for event in self._counters.samples()])

    def run_until(self, stop: threading.Event) -> None:
        """Send events in real time until ``stop`` is set."""
        rng = random.Random(self.seed + 1)
        sampled_s = 0.0
        with Client(self.url, self.run.token) as client:
            while not stop.is_set() and self.problem is None:
                started = time.monotonic()
                for at_s, events in self._checkpoint(rng):
                    if stop.wait(max(0.0, started + at_s - time.monotonic())):
                        return
                    if time.monotonic() - sampled_s >= SAMPLES_S:
                        sampled_s = time.monotonic()
                        events = [*events, *self._counters.samples()]
                    self._send(client, [(_now_ms(), event) for event in events])
                stop.wait(PAUSE_S)

    def _checkpoint(self, rng: random.Random) -> Iterator[tuple[float, list[Event]]]:
        """Yield the events of one checkpoint in batches, one batch per tenth of a second. Yield each batch with its time: the
        seconds since the checkpoint was triggered.

        Subtasks acknowledge roughly in the order of their chains.
        """
        self._checkpoints += 1
        number = CheckpointId(self._checkpoints)
        order = sorted(
            (
                (max(0.0, CHECKPOINT_S * (chain + rng.gauss(10, 6)) / (CHAINS + 20)), SubtaskId(chain, index))
                for chain, index in _ALL
            ),
            key=lambda one: one[0],
        )
        yield 0.0, [CheckpointTriggered(number, GENERATION, "periodic", SUBTASKS)]
        batch: list[Event] = []
        due_s = LINGER_MS / 1000
        for at_s, subtask in order:
            while at_s > due_s:
                yield due_s, batch
                batch, due_s = [], due_s + LINGER_MS / 1000
            batch.append(SubtasksAcknowledged(number, (subtask,), int(at_s * 1000)))
        yield due_s, batch
        measured = tuple(
            AcknowledgedStatistics(
                SubtaskId(chain, index), statistics(rng, async_ms=150.0, alignment_ms=50.0, start_delay_ms=200.0)
            )
            for chain, index in _ALL
        )
        size = sum(one.statistics.state_bytes for one in measured)
        end_s = due_s + LINGER_MS / 1000
        yield end_s, [CheckpointCompleted(number, GENERATION, "periodic", int(end_s * 1000), size, measured)]

    def _send(self, client: Client, events: Sequence[tuple[int, Event]]) -> None:
        """Send events with their times in ms, in requests as large as those of a real driver."""
        encoded = [
            encode_event(NumberedEvent(EventNumber(self._events + index), at_ms, event))
            for index, (at_ms, event) in enumerate(events, start=1)
        ]
        while encoded and self.problem is None:
            count = size = 0
            while count < len(encoded) and (count == 0 or size + len(encoded[count]) <= BATCH_BYTES):
                size += len(encoded[count])
                count += 1
            first = self._events + 1
            path = f"/api/v1/runs/{self.run.run_id}/events?first={first}&oldest={first}"
            answer = client.post(path, encode_batch(encoded[:count]))
            if answer.status != 200 or answer.json()["stored"] != self._events + count:
                self.problem = f"the API refused events: {answer.status} {answer.body[:200].decode(errors='replace')}"
            self._events += count
            del encoded[:count]


def _now_ms() -> int:
    return int(now().timestamp() * 1000)


@contextmanager
def run_driver(driver: WideJobDriver) -> Iterator[None]:
    """Run the driver in a thread inside the block. Raises SystemExit if the API refused events of the driver."""
    stop = threading.Event()
    thread = threading.Thread(target=driver.run_until, args=(stop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if driver.problem is not None:
        raise SystemExit(driver.problem)
