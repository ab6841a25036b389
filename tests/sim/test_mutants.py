"""Tests of the simulator: a fault put in on purpose must be found, and soon."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from mutants import MUTANTS

from weir.testing.sim.run import quiet, run
from weir.testing.sim.scenario import scenario

SEEDS_MAX = 300
PRESSED: dict[str, dict[str, Any]] = {
    "lets_a_barrier_overtake_data": {"row_bytes": 1_500_000, "rows_max": 3},
    "restores_keys_of_other_subtasks": {"rescales": True},
}
"""What a scenario is made to have where the fault shows only then."""


@pytest.mark.parametrize("name", MUTANTS)
def test_the_simulator_finds_code_that(name: str) -> None:
    quiet()
    with MUTANTS[name]():
        for seed in range(SEEDS_MAX):
            found = run(seed, scenario_of=replace(scenario(seed), **PRESSED.get(name, {}))).violation
            if found is not None:
                print(f"{name}: seed {seed}: {found}")
                return
    pytest.fail(f"{name}: not found within {SEEDS_MAX} seeds")
