"""Compares the vectorised computation of series with a simple reference computation."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.backend.jobs import end_run, new_run

from weir_backend.kit.database import Database
from weir_backend.metrics import repository
from weir_backend.metrics.series import COUNTED, SLOT_IDLE_BELOW, TIMES, Sample, SubtaskSeries, level_of, series_of
from weir_backend.models import MetricSample

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SEQUENCES = 100
"""A test draws this many random sequences of samples, with consecutive seeds."""


def random_samples(rng: random.Random) -> list[Sample]:
    """Return random samples of several slots in two runs.

    A slot can restart. A sample can omit subtasks of its slot. Several slots can report the same subtask.
    Counters can decrease. Several samples can have the same time.
    """
    generations: dict[tuple[int, int], int] = {}
    counters: dict[tuple[int, int], dict[Any, Any]] = {}
    samples, at_s = [], 0.0
    for _ in range(rng.randint(0, 40)):
        at_s += rng.choice([0, 1, 2, 5]) / rng.choice([1, 3])
        slot = (rng.choice([1, 1, 1, 2]), rng.randint(0, 2))
        if slot not in generations or rng.random() < 0.1:
            generations[slot] = generations.get(slot, 0) + rng.choice([0, 1])
        if rng.random() < 0.1:
            counters.pop(slot, None)
        counted = counters.setdefault(slot, {"busy": 0})
        counted["busy"] += rng.randint(0, 10) * rng.choice([1, 100_000])
        metrics = {
            "generation": generations[slot], "loop_busy_us": counted["busy"], "rss_bytes": 5, "gauges": {rng.choice("ab"): 1},
            "subtasks": list(random_subtasks(rng, counted, slot[1])),
        }  # fmt: skip
        samples.append(Sample(*slot, T0 + timedelta(seconds=at_s), metrics))
    return samples


def random_subtasks(rng: random.Random, counted: dict[Any, Any], slot: int) -> Iterator[dict[str, int]]:
    for chain in range(3):
        for index in (slot,) if rng.random() < 0.9 else (slot, 5):
            if rng.random() < 0.1:
                continue
            own = counted.setdefault((chain, index), dict.fromkeys([*COUNTED, *(f"{name}_us" for name in TIMES)], 0))
            for name in own:
                own[name] += rng.choice([0, 0, 5, 1000]) if rng.random() > 0.02 else -3
            yield {"chain": chain, "index": index, **own}


def reference_series(samples: Sequence[Sample], since: datetime) -> list[SubtaskSeries]:
    found: dict[tuple[int, int], SubtaskSeries] = {}
    last: dict[tuple[int, int], Sample] = {}
    for sample in samples:
        before = last.get((sample.run_id, sample.slot))
        last[sample.run_id, sample.slot] = sample
        if before is None or sample.at < since or sample.at <= before.at:
            continue
        if before.metrics["generation"] != sample.metrics["generation"]:
            continue
        if sample.metrics["loop_busy_us"] < before.metrics["loop_busy_us"]:
            continue
        earlier = {(one["chain"], one["index"]): one for one in before.metrics["subtasks"]}
        for one in sample.metrics["subtasks"]:
            key = (one["chain"], one["index"])
            if key in earlier and (point := differences(earlier[key], one)) is not None:
                counted, spent_us = point
                series = found.setdefault(key, SubtaskSeries(*key))
                series.at.append(sample.at)
                for name in COUNTED:
                    series.per_s[name].append(counted[name] / (sample.at - before.at).total_seconds())
                for name in TIMES:
                    series.ms_per_s[name].append(1000 * spent_us[name] / sum(spent_us.values()))
                loop_us = sample.metrics["loop_busy_us"] - before.metrics["loop_busy_us"]
                pressed = series.ms_per_s["backpressured"][-1]
                if loop_us / 1e6 / (sample.at - before.at).total_seconds() >= SLOT_IDLE_BELOW:
                    pressed += series.ms_per_s["queued"][-1]
                series.pressure_ms_per_s.append(pressed)
                series.backpressure.append(level_of(pressed / 1000))
    return [found[key] for key in sorted(found)]


def differences(before: dict[str, int], now: dict[str, int]) -> tuple[dict[str, int], dict[str, int]] | None:
    """Return the increases of counters and times. Return None if a counter decreased, or if all times are unchanged."""
    counted = {name: now[name] - before[name] for name in COUNTED}
    spent_us = {name: max(0, now[f"{name}_us"] - before[f"{name}_us"]) for name in TIMES}
    return (counted, spent_us) if min(counted.values()) >= 0 and sum(spent_us.values()) > 0 else None


@pytest.mark.parametrize("first", range(0, 1_000, SEQUENCES))
def test_the_series_match_the_reference_computation(first: int) -> None:
    points = 0
    for seed in range(first, first + SEQUENCES):
        rng = random.Random(seed)
        samples, since = random_samples(rng), T0 + timedelta(seconds=rng.choice([0, 5]))
        found = series_of(samples, since=since).subtasks
        assert found == reference_series(samples, since), f"seed {seed}"
        points += sum(len(one.at) for one in found)
    assert points > 20 * SEQUENCES, "the sequences have enough points for a comparison"


def test_the_newest_sample_of_each_slot_in_each_step_is_found(database: Database) -> None:
    """The job has two runs with different slots. A second job has samples, too."""
    rng = random.Random(7)
    first_run = new_run(database)
    end_run(database, first_run)
    runs = [first_run, new_run(database, first_run.job_id), new_run(database)]
    inserted: list[tuple[int, int, datetime]] = []
    with database.session() as session:
        for number, run in enumerate(runs):
            for slot in (0, 2, 3) if number == 0 else (0, 1):
                moments = {rng.randrange(300_000) for _ in range(60)} | {10_000 * rng.randrange(30)}
                inserted += [(run.id, slot, T0 + timedelta(milliseconds=moment)) for moment in moments]
        rng.shuffle(inserted)
        session.add_all(
            MetricSample(run_id=run_id, slot=slot, at=at, metrics={"at": at.isoformat()}) for run_id, slot, at in inserted
        )
    for step_s in (1.0, 7.3, 10.0, 43.2, 1_000.0):
        for since_s, until_s in ((0, 300), (10, 290), (33.3, 33.9), (400, 500)):
            since, until = T0 + timedelta(seconds=since_s), T0 + timedelta(seconds=until_s)
            newest: dict[tuple[int, int, int], datetime] = {}
            for run_id, slot, at in inserted:
                if since <= at <= until and run_id != runs[2].id:
                    key = (run_id, slot, math.floor(at.timestamp() / step_s))
                    newest[key] = max(at, newest.get(key, at))
            expected = sorted((at, run_id, slot) for (run_id, slot, _), at in newest.items())
            with database.session() as session:
                found = repository.thinned(session, first_run.job_id, since=since, until=until, step_s=step_s)
            assert [(one.at, one.run_id, one.slot) for one in found] == expected, (step_s, since_s)
            assert all(one.metrics == {"at": one.at.isoformat()} for one in found)


def test_samples_before_the_requested_time_are_excluded_from_the_first_step(database: Database) -> None:
    """Steps are aligned to the clock, so the first step begins before the requested time."""
    run = new_run(database)
    with database.session() as session:
        session.add_all(
            MetricSample(run_id=run.id, slot=slot, at=T0 + timedelta(seconds=at_s), metrics={})
            for slot, at_s in ((0, 41), (1, 42), (0, 45), (1, 61))
        )
    with database.session() as session:
        found = repository.thinned(
            session, run.job_id, since=T0 + timedelta(seconds=43), until=T0 + timedelta(seconds=70), step_s=10
        )
    assert [(one.slot, one.at) for one in found] == [(0, T0 + timedelta(seconds=45)), (1, T0 + timedelta(seconds=61))]
