"""Tests of the simulator: a fault put in on purpose must be found, and soon."""

from __future__ import annotations

import pytest
from mutants import MUTANTS

from weir.testing.sim.run import quiet, run

SEEDS_MAX = 400


@pytest.mark.parametrize("name", MUTANTS)
def test_the_simulator_finds_code_that(name: str) -> None:
    quiet()
    with MUTANTS[name]():
        for seed in range(SEEDS_MAX):
            found = run(seed).violation
            if found is not None:
                print(f"{name}: seed {seed}: {found}")
                return
    pytest.fail(f"{name}: not found within {SEEDS_MAX} seeds")
