"""Tests of the simulator: a fault put in on purpose must be found, and soon."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

import pytest
from mutants import MUTANTS

from weir.graph.logical import Input as From
from weir.graph.logical import LogicalGraph, LogicalOperator, OperatorKind
from weir.protocol.ids import OperatorUid
from weir.testing.sim.graphs import COLUMNS, JOB, SourceShape
from weir.testing.sim.run import quiet, run
from weir.testing.sim.scenario import Fault, FaultKind, scenario

SEEDS_MAX = 300


def _chained_with_two_slots_only() -> dict[str, Any]:
    """A source of two subtasks, one with little to read, and an operator that holds records and has a subtask in every slot."""
    source, hold, sink = OperatorUid("source0"), OperatorUid("hold1"), OperatorUid("sink2")
    operators = (
        LogicalOperator(source, source, OperatorKind.SOURCE, (), COLUMNS, "", parallelism=2),
        LogicalOperator(hold, hold, OperatorKind.MAP_BATCHES, (From(source),), COLUMNS, "", stateful=True),
        LogicalOperator(sink, sink, OperatorKind.SINK, (From(hold),), COLUMNS, "", stateful=True),
    )
    return {
        "logical": LogicalGraph(JOB, operators),
        "sources": {source: SourceShape((1, 14))},
        "slots": 3,
        "rescales": True,
        "held_max": 4,
        "rows_max": 1,
        "faults": tuple(Fault(FaultKind.CRASH_DRIVER, 0, step="publish", count=count) for count in (1, 3, 5)),
    }


PRESSED: dict[str, dict[str, Any]] = {
    "lets_a_barrier_overtake_data": {"row_bytes": 1_500_000, "rows_max": 3},
    "restores_keys_of_other_subtasks": {"rescales": True},
    "accepts_frames_of_an_old_generation": {"slowness": 6.0},
    "ends_a_chain_whose_head_had_ended": _chained_with_two_slots_only(),
}
"""What a scenario is made to have where the fault shows only then."""
GOING_BACK = {"takes_back_output_without_a_fence", "keeps_output_when_it_begins_anew"}
"""Of those only runs that go back, with something going wrong, can find anything."""


def _seeds(name: str) -> Iterator[int]:
    fitting = (seed for seed in count() if name not in GOING_BACK or (scenario(seed).goes_back and scenario(seed).faults))
    return islice(fitting, SEEDS_MAX)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_simulator_finds_code_that(name: str) -> None:
    quiet()
    with MUTANTS[name]():
        for seed in _seeds(name):
            found = run(seed, scenario_of=replace(scenario(seed), **PRESSED.get(name, {}))).violation
            if found is not None:
                print(f"{name}: seed {seed}: {found}")
                return
    pytest.fail(f"{name}: not found within {SEEDS_MAX} runs")
