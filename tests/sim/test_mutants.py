"""The simulator must find each deliberate fault within a limited number of runs."""

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
from weir.testing.sim.run import run, silence_logs
from weir.testing.sim.scenario import Fault, FaultKind, Scenario, make_scenario
from weir.testing.sim.simulation import MS
from weir.testing.sim.storage import StorageFaults

SEEDS_MAX = 300


def _chained_with_two_slots_only() -> dict[str, Any]:
    """Return changes to a scenario. In the changed scenario, one of two source subtasks ends early, while the operator after
    the source still buffers records."""
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


def _slots_replaced_alone(**changes: Any) -> dict[str, Any]:
    """Return changes to a scenario. In the changed scenario, slots exchange no records with each other, and several slots crash."""
    source, hold, sink = OperatorUid("source0"), OperatorUid("hold1"), OperatorUid("sink2")
    operators = (
        LogicalOperator(source, source, OperatorKind.SOURCE, (), COLUMNS, ""),
        LogicalOperator(hold, hold, OperatorKind.MAP_BATCHES, (From(source),), COLUMNS, "", stateful=True),
        LogicalOperator(sink, sink, OperatorKind.SINK, (From(hold),), COLUMNS, "", stateful=True),
    )
    steps = (("trigger", 2), ("acknowledge", 4), ("create", 5), ("restore", 3), ("publish", 3), ("acknowledge", 11))
    return {
        "logical": LogicalGraph(JOB, operators),
        "sources": {source: SourceShape((14, 8, 14, 4, 8, 14, 14, 8, 14))},
        "slots": 3,
        "rescales": False,
        "rows_max": 1,
        "slowness": 1.0,
        "faults": _crashes(*steps),
    } | changes


def _crashes(*steps: tuple[str, int]) -> tuple[Fault, ...]:
    return tuple(Fault(FaultKind.CRASH_SLOT, 0, step=step, count=count) for step, count in steps)


FOLLOWED = {
    OperatorUid("source0"): SourceShape(
        (4, 1, 8, 1, 4, 4, 8, 4, 1, 4), appears_ns=tuple(30 * MS * number for number in range(10)), discover_every_ms=5
    )
}


SCENARIO_CHANGES: dict[str, dict[str, Any]] = {
    "lets_a_barrier_overtake_data": {"row_bytes": 1_500_000, "rows_max": 3},
    "gives_each_channel_a_full_window": {"row_bytes": 300_000, "rows_max": 6, "network_bytes": 1_000_000},
    "lets_batches_wait_that_use_up_the_credit": {
        "row_bytes": 300_000,
        "rows_max": 1,
        "held_max": 4,
        "network_bytes": 1_000_000,
        "buffer_timeout_ms": 25,
    },
    "restores_keys_of_other_subtasks": {"rescales": True},
    "limits_the_duration_of_a_restore": {"restore_step_ns": 250 * MS},
    "does_not_commit_again_on_restore": {
        "faults": tuple(Fault(FaultKind.CRASH_DRIVER, 0, step="publish", count=count) for count in (1, 2, 3))
    },
    "does_not_compare_the_identity_of_input_files": {
        "faults": tuple(Fault(FaultKind.REPLACE_INPUT, 0, at_ns=at_ms * MS) for at_ms in (10, 20, 40, 80))
    },
    "commits_published_output_again": {
        "faults": (
            *(Fault(FaultKind.TAKE_OUTPUT, 0, at_ns=at_ms * MS) for at_ms in (60, 120, 180, 240)),
            *(Fault(FaultKind.CRASH_DRIVER, 0, step="publish", count=count) for count in (2, 4)),
        )
    },
    "accepts_frames_of_an_old_generation": {"slowness": 6.0},
    "does_not_limit_the_duration_of_a_blocking_call": {
        "faults": tuple(Fault(FaultKind.HANG_CALL, 0, step="trigger", count=count) for count in (1, 2, 3))
    },
    "restores_a_chain_as_ended_if_its_first_operator_had_ended": _chained_with_two_slots_only(),
    **dict.fromkeys(
        (
            "loses_the_splits_of_a_replaced_slot",
            "returns_the_splits_of_a_replaced_slot_twice",
            "keeps_the_staged_output_of_a_replaced_slot",
            "replaces_a_slot_from_an_older_checkpoint",
            "does_not_count_the_records_of_a_replaced_slot",
        ),
        _slots_replaced_alone(),
    ),
    "answers_the_request_of_a_lost_slot": _slots_replaced_alone(sources=FOLLOWED),
    "replaces_a_slot_before_the_log_entry_is_created": _slots_replaced_alone(
        faults=_crashes(*(("create", count) for count in range(3, 30, 3))),
        storage=StorageFaults(loses_answers=0.3),
    ),
    "forgets_split_lists_before_the_checkpoint_is_completed": _slots_replaced_alone(
        sources=FOLLOWED, faults=_crashes(*(("acknowledge", count) for count in (3, 6, 8, 9, 11, 12, 15)))
    ),
}
"""Maps the name of a mutant to changes of the scenario. In the changed scenario, the bug of the mutant has an effect."""
ROLLBACK_FAULTS = {"revokes_output_without_a_fence", "does_not_revoke_output_on_a_start_without_state"}
"""Mutants that the simulator finds only in runs with rollbacks and injected faults."""


def _seeds(name: str) -> Iterator[int]:
    seeds = (
        seed for seed in count() if name not in ROLLBACK_FAULTS or (make_scenario(seed).rolls_back and make_scenario(seed).faults)
    )
    return islice(seeds, SEEDS_MAX)


def _violation(seed: int, scenario: Scenario) -> str | None:
    try:
        return run(seed, scenario=scenario).violation
    except (AssertionError, LookupError) as error:
        return f"{type(error).__name__}: {error}"  # the fault breaks the code in which it is, before an invariant is violated


@pytest.mark.parametrize("name", MUTANTS)
def test_the_simulator_finds_each_mutant(name: str) -> None:
    silence_logs()
    with MUTANTS[name]():
        for seed in _seeds(name):
            violation = _violation(seed, replace(make_scenario(seed), **SCENARIO_CHANGES.get(name, {})))
            if violation is not None:
                print(f"{name}: seed {seed}: {violation}")
                return
    pytest.fail(f"{name}: the simulator did not find the fault within {SEEDS_MAX} runs")
