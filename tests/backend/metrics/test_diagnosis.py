"""The bottleneck of a job, without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from weir.protocol.events import Event, GraphDeployed, MetricsSampled
from weir.protocol.ids import Generation, SlotIndex
from weir.protocol.messages import SlotMetrics, SubtaskMetrics
from weir_backend.metrics.diagnosis import (
    Cause,
    DeployedChain,
    Diagnosis,
    bottleneck_sentence,
    deployed_chains,
    diagnose,
    stall_sentence,
)
from weir_backend.metrics.series import Sample

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Load:
    """The load of a subtask: shares of the time, and records per second."""

    busy: float = 0.0
    queued: float = 0.0
    backpressured: float = 0.0
    records_in: float = 100.0
    records_out: float = 100.0


@dataclass(frozen=True)
class Scenario:
    """A job whose load is constant. ``chains`` contains the uids of each chain, and ``loads`` the load of each subtask of each chain. The edges
    connect each chain with the next chain."""

    chains: Sequence[str]
    loads: Sequence[Sequence[Load]]
    utilisation: float | Sequence[float] = 0.5
    partitioning: str = "rebalance"
    minutes: float = 5
    lag: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """For each gauge of lag: its value at the start, and its growth per second."""

    def samples(self, *, step_s: int = 20, newest: timedelta = timedelta(seconds=2)) -> list[Sample]:
        slots = max(map(len, self.loads))
        seconds = range(step_s, int(self.minutes * 60) + 1, step_s)
        return [
            Sample(1, slot, NOW - newest - timedelta(seconds=seconds[-1] - after), self._metrics(slot, after))
            for after in seconds
            for slot in range(slots)
        ]

    def _metrics(self, slot: int, after: int) -> dict[str, Any]:
        used = self.utilisation if isinstance(self.utilisation, float) else self.utilisation[slot]
        return {
            "generation": 1,
            "loop_busy_us": int(used * after * 1e6),
            "gauges": {name: start + growth * after for name, (start, growth) in self.lag.items()} if slot == 0 else {},
            "subtasks": [self._subtask(chain, slot, own[slot], after) for chain, own in enumerate(self.loads) if slot < len(own)],
        }

    @staticmethod
    def _subtask(chain: int, index: int, load: Load, after: int) -> dict[str, int]:
        idle = 1 - load.busy - load.queued - load.backpressured
        us = after * 1e6
        return {
            "chain": chain, "index": index, "records_in": int(load.records_in * after), "records_out": int(load.records_out * after),
            "busy_us": int(load.busy * us), "queued_us": int(load.queued * us),
            "backpressured_us": int(load.backpressured * us), "idle_us": int(idle * us),
        }  # fmt: skip

    def diagnosis(self, **timing: Any) -> Diagnosis:
        return diagnose(self.samples(**timing), self.deployed(), now=NOW)

    def graph(self) -> dict[str, Any]:
        chains = [
            {"index": index, "operators": names.split(" "), "parallelism": len(self.loads[index])}
            for index, names in enumerate(self.chains)
        ]
        edges = [{"source": one, "target": one + 1, "partitioning": self.partitioning} for one in range(len(chains) - 1)]
        return {"logical": {"operators": []}, "chains": chains, "edges": edges}

    def deployed(self) -> dict[int, DeployedChain]:
        return deployed_chains(self.graph()["chains"], self.graph()["edges"])

    def events(self, now: datetime) -> list[tuple[Event, datetime]]:
        """Return the graph and the samples as a driver reports them, with their times. The newest sample is two seconds old at ``now``."""
        found: list[tuple[Event, datetime]] = [(GraphDeployed(self.graph()), now - timedelta(minutes=self.minutes))]
        for one in self.samples():
            subtasks = tuple(SubtaskMetrics(bytes_in=0, bytes_out=0, **subtask) for subtask in one.metrics["subtasks"])
            metrics = SlotMetrics(
                Generation(1), SlotIndex(one.slot), 1, one.metrics["loop_busy_us"], subtasks, dict(one.metrics["gauges"])
            )
            found.append((MetricsSampled(metrics), now - (NOW - one.at)))
        return found

    def sentence(self) -> str | None:
        found = self.diagnosis()
        return bottleneck_sentence(found, NOW) if found.bottleneck is not None else None


IDLE = Load(0.01)
HELD_UP = Load(0.1, backpressured=0.9)
THREE = ("read", "slow", "out")
SCENARIOS = {
    "a slow blocking function": (
        Scenario(THREE, [[HELD_UP] * 2, [Load(1.0)] * 2, [IDLE] * 2], utilisation=0.1),
        "slow is the bottleneck: busy 100 % for 4 min, and its input is backpressured.",
    ),
    "a slow function without `blocking`: its upstream chain is queued in the same slot": (
        Scenario(THREE, [[Load(0.01, queued=0.95)] * 2, [Load(0.98, queued=0.01)] * 2, [IDLE] * 2], utilisation=1.0),
        "slow is the bottleneck: busy 98 % for 4 min, and its input is backpressured.",
    ),
    "a slow function whose input buffers all records, so that the source is never backpressured": (
        Scenario(
            THREE, [[Load(0.1, records_in=1_500, records_out=1_500)] * 2, [Load(1.0, records_in=500)] * 2, [IDLE] * 2],
            utilisation=0.1,
        ),
        "slow is the bottleneck: busy 100 % for 4 min, and records wait in its input (600,000 records wait, 10 min of work).",
    ),
    "a slow sink": (
        Scenario(THREE, [[HELD_UP], [Load(0.2, backpressured=0.8)], [Load(0.97)]]),
        "Sink out is the bottleneck: busy 97 % for 4 min, and its input is backpressured.",
    ),
    "a skewed key": (
        Scenario(
            ("read", "count"), [[HELD_UP] * 8, [Load(1.0) if index == 3 else Load(0.12) for index in range(8)]],
            partitioning="hash",
        ),
        ("Sink count is the bottleneck in subtask 3 of 8 (a skewed key is likely): busy 100 % for 4 min (its other subtasks: 12 %), "
        "and its input is backpressured."),
    ),
    "two skewed keys": (
        Scenario(
            ("read", "count", "out"), [[HELD_UP] * 8, [Load(1.0) if index in (3, 5) else Load(0.12) for index in range(8)], [IDLE]],
            partitioning="hash",
        ),
        ("count is the bottleneck in subtasks 3 and 5 of 8 (a skewed key is likely): busy 100 % for 4 min (its other subtasks: 12 %), "
        "and its input is backpressured."),
    ),
    "one slow subtask of evenly distributed input": (
        Scenario(THREE, [[HELD_UP] * 4, [Load(1.0), *[Load(0.5)] * 3], [IDLE]]),
        ("slow is the bottleneck in subtask 0 of 4 (its records or its host may be slower than others): "
        "busy 100 % for 4 min (its other subtasks: 50 %), and its input is backpressured."),
    ),
    "a hot source split": (
        Scenario(("read", "out"), [[Load(0.1), Load(0.96), Load(0.1)], [Load(0.3)] * 3]),
        "Source read is the bottleneck in subtask 1 of 3 (a hot split is likely): busy 96 % for 4 min (its other subtasks: 10 %).",
    ),
    "an unlimited generator that is faster than the other chains": (
        Scenario(("generate", "count"), [[Load(0.3, queued=0.69)] * 2, [Load(0.67, queued=0.3)] * 2], utilisation=0.98),
        ("Sink count is the bottleneck: its slots are saturated for 4 min, it uses 67 % of their time, more than any other operator, "
        "and its input is backpressured."),
    ),
    "a saturated source": (
        Scenario(("read", "out"), [[Load(1.0)], [Load(0.4)]]),
        "Source read is the bottleneck: busy 100 % for 4 min.",
    ),
    "several operators in one chain": (
        Scenario(("read slow out",), [[Load(1.0)] * 2]),
        "One of the chained operators read, slow and out is the bottleneck: busy 100 % for 4 min.",
    ),
    "several operators in a chain that holds up its input": (
        Scenario(("read", "slow out"), [[HELD_UP] * 2, [Load(1.0)] * 2]),
        "One of the chained operators slow and out is the bottleneck: busy 100 % for 4 min, and its input is backpressured.",
    ),
    "a bottleneck with lag": (
        Scenario(("read", "slow", "out"), [[HELD_UP], [Load(1.0)], [IDLE]], lag={"read.lag_records": (11_700, 1), "read.lag_seconds": (30, 0)}),
        "slow is the bottleneck: busy 100 % for 4 min, its input is backpressured, and the sources are 12,000 records (30 s) behind.",
    ),
    "a bottleneck that is older than the samples": (
        Scenario(THREE, [[HELD_UP], [Load(1.0)], [IDLE]], minutes=30),
        "slow is the bottleneck: busy 100 % for at least 29 min, and its input is backpressured.",
    ),
    "a bottleneck that has just appeared": (
        Scenario(THREE, [[HELD_UP], [Load(1.0)], [IDLE]], minutes=1),
        "slow is the bottleneck: busy 100 %, and its input is backpressured.",
    ),
    "an idle job": (Scenario(THREE, [[IDLE] * 2] * 3, utilisation=0.02), None),
    "a busy chain that keeps up with its input": (
        Scenario(THREE, [[Load(0.2)], [Load(0.95)], [IDLE]]),
        None,
    ),
    "queued time in a slot that idles": (
        Scenario(THREE, [[Load(0.1, queued=0.3)], [Load(0.95)], [IDLE]], utilisation=0.4),
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_bottleneck_is_described_in_one_sentence(name: str) -> None:
    scenario, expected = SCENARIOS[name]
    assert scenario.sentence() == expected


SLOW = Scenario(THREE, [[HELD_UP] * 2, [Load(1.0)] * 2, [IDLE] * 2], utilisation=0.1)


def test_a_bottleneck_has_typed_fields() -> None:
    found = SCENARIOS["a skewed key"][0].diagnosis().bottleneck
    assert found is not None
    assert (found.chain, found.operators, found.parallelism, found.subtasks, found.cause) == (
        1,
        ("count",),
        8,
        (3,),
        Cause.SKEWED_KEY,
    )
    assert found.busy == 1.0 and found.siblings_busy == pytest.approx(0.12) and found.is_sink and not found.is_source
    assert found.since == NOW - timedelta(seconds=282), "the first sample only starts the first window"


def test_stale_samples_yield_no_bottleneck() -> None:
    assert SLOW.diagnosis(newest=timedelta(seconds=44)).bottleneck is not None
    assert SLOW.diagnosis(newest=timedelta(seconds=46)) == Diagnosis()


def test_a_slot_that_no_longer_reports_is_ignored() -> None:
    samples = [one for one in SLOW.samples() if one.slot == 0 or one.at < NOW - timedelta(minutes=2)]
    found = diagnose(samples, SLOW.deployed(), now=NOW).bottleneck
    assert found is not None and found.chain == 1 and found.waiting_records is None


def test_a_job_without_samples_or_without_a_graph_has_no_bottleneck() -> None:
    assert diagnose([], SLOW.deployed(), now=NOW) == Diagnosis()
    assert SLOW.diagnosis(step_s=300) == Diagnosis(), "one sample is not enough"
    assert diagnose(SLOW.samples(), {}, now=NOW).bottleneck is None


def test_windows_that_are_too_short_are_not_compared() -> None:
    samples = [one for one in SLOW.samples(step_s=2) if one.at > NOW - timedelta(seconds=11)]
    assert diagnose(samples, SLOW.deployed(), now=NOW).bottleneck is None
    samples = [one for one in SLOW.samples(step_s=2) if one.at > NOW - timedelta(seconds=13)]
    assert diagnose(samples, SLOW.deployed(), now=NOW).bottleneck is not None


def test_a_bottleneck_begins_when_the_previous_bottleneck_ends() -> None:
    before = Scenario(THREE, [[HELD_UP] * 2, [Load(0.2, backpressured=0.8)] * 2, [Load(1.0)] * 2], utilisation=0.1)
    limit = NOW - timedelta(minutes=2)
    samples = [one for one in before.samples() if one.at < limit] + [
        _after(one, before.samples()) for one in SLOW.samples() if one.at >= limit
    ]
    found = diagnose(samples, SLOW.deployed(), now=NOW).bottleneck
    assert found is not None and found.chain == 1
    assert limit - timedelta(seconds=20) <= found.since <= limit + timedelta(seconds=20)


def _after(one: Sample, others: Sequence[Sample]) -> Sample:
    """Return ``one`` with counters that continue those of ``others``. Samples of ``others`` from the last two minutes do not count."""
    last = [other for other in others if other.slot == one.slot and other.at < NOW - timedelta(minutes=2)][-1]
    twin = next(other for other in SLOW.samples() if other.slot == one.slot and other.at == last.at)
    subtasks = [
        {key: value if key in ("chain", "index") else value - old[key] + base[key] for key, value in now.items()}
        for now, old, base in zip(one.metrics["subtasks"], twin.metrics["subtasks"], last.metrics["subtasks"], strict=True)
    ]
    return Sample(one.run_id, one.slot, one.at, {**one.metrics, "subtasks": subtasks})


def test_a_new_deployment_starts_a_new_bottleneck() -> None:
    limit = NOW - timedelta(minutes=2)
    samples = [
        Sample(one.run_id, one.slot, one.at, {**one.metrics, "generation": 2}) if one.at >= limit else one
        for one in SLOW.samples()
    ]
    found = diagnose(samples, SLOW.deployed(), now=NOW).bottleneck
    assert found is not None and limit <= found.since <= limit + timedelta(seconds=20)


def test_records_that_are_broadcast_are_counted_once_for_each_subtask() -> None:
    twice = [[Load(0.1, records_out=100)], [Load(1.0, records_in=100)] * 2]
    assert Scenario(("read", "out"), twice, partitioning="broadcast").diagnosis().bottleneck is None, "the sink reads all records"
    assert Scenario(("read", "out"), [[Load(0.1, records_out=400)], [Load(1.0)] * 2]).diagnosis().bottleneck is not None
    slower = [[Load(0.1, records_out=100)], [Load(1.0, records_in=60)] * 2]
    assert Scenario(("read", "out"), slower, partitioning="broadcast").diagnosis().bottleneck is not None


def test_the_chain_that_uses_most_of_the_time_of_all_saturated_slots_is_the_bottleneck() -> None:
    queued = Load(0.1, queued=0.9)
    loads = [
        [queued] * 4,
        [Load(0.5, queued=0.5)] * 3 + [Load(0.3, queued=0.7)],
        [Load(0.3, queued=0.7)] * 3 + [Load(0.5, queued=0.5)],
    ]
    found = Scenario(THREE, loads, utilisation=1.0).diagnosis().bottleneck
    assert found is not None and (found.chain, found.subtasks, found.slot_saturated) == (1, (), True)


@pytest.mark.parametrize(
    ("lag", "grows"),
    [({}, False), ({"read.lag_records": (500, 0)}, False), ({"read.lag_records": (0, 5)}, True), ({"read.lag_seconds": (3, 0.9)}, True),
     ({"read.lag_records": (5_000, -5)}, False), ({"read.lag_records": (1e6, 1)}, False)],
)  # fmt: skip
def test_growing_lag_is_found(lag: dict[str, tuple[float, float]], grows: bool) -> None:
    found = Scenario(THREE, [[IDLE] * 2] * 3, lag=lag).diagnosis()
    assert found.lag_grows is grows and (found.lag_records is None) == ("read.lag_records" not in lag)


# ---- stalls ------------------------------------------------------------------------------------

STUCK = Load(1.0, records_in=0, records_out=0)


def stall_of(scenario: Scenario) -> str | None:
    found = scenario.diagnosis().stall
    return stall_sentence(found, NOW) if found is not None else None


def test_a_chain_that_processes_no_records_while_records_wait_is_found() -> None:
    blocked = Load(0.0, backpressured=1.0, records_in=0, records_out=0)
    stuck = Scenario(THREE, [[HELD_UP] * 2, [STUCK] * 2, [Load(records_in=0)] * 2])
    assert stall_of(stuck) == "slow has processed no records for 4 min, although records wait in its input."
    assert stall_of(Scenario(THREE, [[Load(records_out=9), blocked], [STUCK] * 2, [Load(records_in=0)] * 2])) is not None
    chained = Scenario(("read", "slow out"), [[HELD_UP] * 2, [STUCK] * 2])
    assert (
        stall_of(chained) == "The chain of slow and out has processed no records for 4 min, although records wait in its input."
    )
    upstream_blocked = Scenario(THREE, [[Load(backpressured=1.0, records_in=0)] * 2, [STUCK] * 2, [Load(records_in=0)] * 2])
    found = upstream_blocked.diagnosis().stall
    waits = Scenario(THREE, [[HELD_UP], [Load(backpressured=1.0, records_in=0)], [Load(1.0, records_in=1)]])
    assert stall_of(waits) is None, "the sink still processes records"
    assert found is not None and found.operators == ("slow",), "the stalled chain, not the chains that wait for it"


def test_a_source_that_reads_nothing_despite_its_lag_is_found() -> None:
    nothing = [[Load(records_in=0, records_out=0)], [Load(records_in=0)]]
    assert stall_of(Scenario(("read", "out"), nothing, lag={"read.lag_records": (70, 0)})) == (
        "Source read has read no records for 4 min, although its input has records."
    )
    assert stall_of(Scenario(("read", "out"), nothing)) is None, "the source has reached the end of its input"


def test_a_chain_that_waits_for_input_or_has_just_stopped_is_not_stalled() -> None:
    nothing = Load(records_in=0, records_out=0)
    assert stall_of(Scenario(THREE, [[nothing] * 2] * 3)) is None
    assert stall_of(Scenario(THREE, [[HELD_UP], [STUCK], [nothing]], minutes=1)) is None


# ---- graphs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chains", "edges"),
    [
        (None, None),
        ({}, 3),
        ([1, {"index": "a"}, {"index": 0}, {"index": 0, "operators": "x"}, {"index": 0, "operators": []}], [{}, None]),
    ],
)
def test_invalid_parts_of_a_graph_are_ignored(chains: Any, edges: Any) -> None:
    assert deployed_chains(chains, edges) == {}
