"""Runs of the simulator. Each seed has a different graph, different sizes and different faults."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from weir.testing.sim.run import RunResult, run, silence_logs
from weir.testing.sim.scenario import SLOTS_MAX, make_scenario

SEEDS = 2_000
CHUNK = 125


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_all_invariants_hold_in_125_runs_with_consecutive_seeds(first: int) -> None:
    silence_logs()
    results = [run(seed) for seed in range(first, first + CHUNK)]
    failed = [result for result in results if result.violation is not None]
    assert not failed, "\n".join(
        f"{result.violation}\n  replay: python -m weir.testing.sim --seed {result.seed} -v" for result in failed
    )
    if first == 0:
        check_variety(results)


def check_variety(results: Sequence[RunResult]) -> None:
    """Check that many of the first 125 runs include what a fault can disturb."""
    assert sum(result.generations > 1 for result in results) > 60
    assert sum(result.checkpoints > 1 for result in results) > 60
    assert sum(result.trimmed > 0 for result in results) > 30
    assert sum(result.replaced > 0 for result in results) > 3
    # A paused process creates a log entry again that has been trimmed in the meantime.
    assert sum(result.created_late for result in results) > 3


@pytest.mark.parametrize("first", [1, 4])
def test_all_invariants_hold_in_runs_with_8_to_64_slots(first: int) -> None:
    silence_logs()
    failed = [result for seed in range(first, first + 3) if (result := run(seed, wide=True)).violation is not None]
    assert not failed, "\n".join(
        f"{result.violation}\n  replay: python -m weir.testing.sim --seed {result.seed} --wide -v" for result in failed
    )


def test_about_one_job_in_a_hundred_is_wide() -> None:
    slots = [make_scenario(seed).slots for seed in range(2_000)]
    assert 10 <= sum(one > SLOTS_MAX for one in slots) <= 30
    assert make_scenario(7, wide=True).slots > SLOTS_MAX >= make_scenario(7, wide=False).slots


def test_two_runs_with_the_same_seed_are_identical() -> None:
    silence_logs()
    for seed in range(0, 60, 3):
        assert run(seed) == run(seed)
