"""Generated driver events: checkpoints with all acknowledgements and statistics, samples, failures. Pure functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from bench.platform.graph import CHAINS, SLOTS, SUBTASKS
from weir.protocol.events import (
    AcknowledgedStatistics,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    DriverState,
    Event,
    FailureOccurred,
    MetricsSampled,
    NumberedEvent,
    Recovered,
    RunStateChanged,
    SubtasksAcknowledged,
    encode_batch,
    encode_event,
)
from weir.protocol.ids import CheckpointId, EventNumber, Generation, SlotIndex, SubtaskId
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir.protocol.snapshots import JsonValue, SubtaskStatistics

SAMPLES_A_CHECKPOINT = 40
"""Between two checkpoints, each slot sends five samples, because a slot sends a sample every 2 s and a checkpoint is triggered
every 10 s."""
FAILED_CHECKPOINTS = 0.03
ROUND = 2 + SUBTASKS + SAMPLES_A_CHECKPOINT
"""Number of events of one checkpoint and of the samples until the next checkpoint."""
LOGGED_A_ROUND = 2
"""The number of events per round that become entries of the event log. The other events of the round become samples, or
update the row of the checkpoint.
"""
_ALL = [SubtaskId(chain, index) for chain in range(CHAINS) for index in range(SLOTS)]


def checkpoint(number: int, generation: int, random: Random, *, trigger: str = "periodic", fails: bool = False) -> list[Event]:
    """Return the events of a checkpoint from its trigger to its end. With ``fails``, the checkpoint fails after half of the
    subtasks have acknowledged."""
    triggered: list[Event] = [CheckpointTriggered(CheckpointId(number), Generation(generation), trigger, SUBTASKS)]
    took = sorted(int(random.lognormvariate(3.5, 0.5)) for _ in _ALL)
    order = random.sample(_ALL, SUBTASKS)
    acknowledged = [
        SubtasksAcknowledged(CheckpointId(number), (subtask,), after_ms) for subtask, after_ms in zip(order, took, strict=True)
    ]
    if fails:
        reason = f"Checkpoint timed out after 600 s: {SUBTASKS // 2} of {SUBTASKS} subtasks acknowledged."
        return [*triggered, *acknowledged[: SUBTASKS // 2], CheckpointFailed(CheckpointId(number), reason)]
    measured = tuple(
        AcknowledgedStatistics(subtask, statistics(random, async_ms=30.0, alignment_ms=3.3, start_delay_ms=1.25))
        for subtask in _ALL
    )
    size = sum(one.statistics.state_bytes for one in measured)
    end = CheckpointCompleted(CheckpointId(number), Generation(generation), trigger, took[-1] + 8, size, measured)
    return [*triggered, *acknowledged, end]


def statistics(random: Random, *, async_ms: float, alignment_ms: float, start_delay_ms: float) -> SubtaskStatistics:
    """Return random statistics of a subtask. The durations vary around the values of the parameters."""
    sync_us = int(random.lognormvariate(6.0, 0.6))
    return SubtaskStatistics(
        sync_us=sync_us,
        sync_cpu_us=sync_us * 3 // 4,
        sync_core_wait_us=sync_us // 50,
        async_ms=round(random.lognormvariate(math.log(async_ms), 0.5), 3),
        alignment_ms=round(random.expovariate(1 / alignment_ms), 3),
        start_delay_ms=round(random.expovariate(1 / start_delay_ms), 3),
        state_bytes=int(random.lognormvariate(13.8, 0.3)),
        longest_batch_ms=round(random.uniform(0.2, 2.0), 3),
        longest_batch_core_wait_ms=round(random.uniform(0.0, 0.2), 3),
    )


def sample(slot: int, seconds: int, generation: int = 1) -> MetricsSampled:
    """Return a sample of a slot that has run for ``seconds`` and was backpressured for a quarter of the time."""
    subtasks = tuple(
        SubtaskMetrics(
            chain, slot, 1_037 * seconds, 911 * seconds, 64_123 * seconds, 32_077 * seconds,
            400_000 * seconds, 300_000 * seconds, 250_000 * seconds, 50_000 * seconds,
        )
        for chain in range(CHAINS)
    )  # fmt: skip
    gauges: dict[str, JsonValue] = {"per-customer.keys": 10_000 + seconds, "orders.lag_records": 17 * (slot + 1)}
    return MetricsSampled(SlotMetrics(Generation(generation), SlotIndex(slot), 300 << 20, 700_000 * seconds, subtasks, gauges))


def recovery(generation: int, random: Random) -> list[Event]:
    """Return the events of a lost slot, and of the recovery that starts generation ``generation`` + 1."""
    reason = f"slot {random.randrange(SLOTS)} was lost: its connection was closed (executor {random.randrange(40)} on worker-{random.randrange(9)})"
    after = Generation(generation + 1)
    return [
        FailureOccurred(Generation(generation), reason),
        RunStateChanged(DriverState.RESTARTING, after, reason),
        RunStateChanged(DriverState.RUNNING, after),
        Recovered(after, reason, int(random.lognormvariate(8.0, 0.5))),
    ]


def endless(random: Random, *, lead: int = 0) -> Iterator[Event]:
    """Yield the events of a healthy run in rounds. A round consists of a checkpoint and samples. ``lead``: the number of
    samples before the first round. Jobs with different values of ``lead`` take their checkpoints at different times."""
    for position in range(lead):
        yield sample(position % SLOTS, 2 * (position // SLOTS))
    number = 1
    while True:
        events = checkpoint(number, 1, random)
        yield from events[:-1]
        for position in range(SAMPLES_A_CHECKPOINT):
            yield sample(position % SLOTS, 10 * number + 2 * (position // SLOTS))
        yield events[-1]
        number += 1


def numbered(events: Sequence[Event], *, first: int, at_ms: int, step_ms: int = 0) -> list[NumberedEvent]:
    return [
        NumberedEvent(EventNumber(first + position), at_ms + position * step_ms, event) for position, event in enumerate(events)
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """How many rows of each kind the events produce: log entries, samples, triggered checkpoints and completed checkpoints."""

    logged: int
    samples: int
    triggered: int
    completed: int


def rows_of(events: Sequence[NumberedEvent]) -> ExpectedRows:
    kinds = Counter(type(one.event) for one in events)
    return ExpectedRows(
        logged=len(events) - kinds[MetricsSampled] - kinds[SubtasksAcknowledged],
        samples=kinds[MetricsSampled],
        triggered=kinds[CheckpointTriggered],
        completed=kinds[CheckpointCompleted],
    )


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The body of one request. ``first``, ``last``: numbers of the first and the last event in the body."""

    first: int
    last: int
    body: bytes
    rows: ExpectedRows


def batch(events: Sequence[NumberedEvent]) -> RequestBody:
    body = encode_batch([encode_event(one) for one in events])
    return RequestBody(events[0].number, events[-1].number, body, rows_of(events))


def batches(count: int, size: int, *, random: Random, at_ms: int, first: int) -> list[RequestBody]:
    """Create batches in advance, so that the measurement excludes their creation. All drivers can send the same batches, because
    events are numbered per run."""
    events = endless(random)
    made = []
    for _ in range(count):
        made.append(batch(numbered([next(events) for _ in range(size)], first=first, at_ms=at_ms)))
        first += size
    return made
