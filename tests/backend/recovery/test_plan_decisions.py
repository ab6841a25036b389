"""How a plan is carried out, from facts alone; and that it ends well whatever happens on the way."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from weir_backend.models import PlanPhase, RunState
from weir_backend.reconciler.decisions import BeginRun, EndRun, GiveCommand, LastRun, LiveRun, Submit, Wait
from weir_backend.recovery.decisions import (
    LEGAL,
    PIN_TIMEOUT,
    REVERT_TIMEOUT,
    RUNS_MAX,
    Applied,
    EnterPhase,
    FailPlan,
    PlanFacts,
    decide_plan,
)
from weir_backend.runs.start import RunStart

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
DEADLINE = NOW + timedelta(minutes=30)
LIVE = LiveRun(RunState.RUNNING, NOW, seen=True, commands=frozenset(), ran=True)
FAILED = LastRun(RunState.FAILED, "", "killed", running_at=None, ended_at=NOW)
PLAN = PlanFacts(
    PlanPhase.VERIFYING, None, None, None, live_is_ours=False, ours=None, runs=0, stop_with="Suspend", start=RunStart(5), kind="rollback",
    deadline=DEADLINE,
)  # fmt: skip


def test_nothing_is_touched_before_the_checkpoint_is_known_to_be_whole() -> None:
    assert isinstance(decide_plan(replace(PLAN, live=LIVE), NOW), Wait)
    damaged = decide_plan(replace(PLAN, live=LIVE, target_intact=False, damage="state/1 is missing"), NOW)
    assert isinstance(damaged, FailPlan) and not damaged.bring_back and "state/1 is missing" in damaged.problem
    assert decide_plan(replace(PLAN, live=LIVE, target_intact=True), NOW) == EnterPhase(PlanPhase.STOPPING)


def test_the_job_is_not_stopped_before_its_checkpoint_is_held_nor_if_it_is_gone() -> None:
    loose = replace(PLAN, live=LIVE, target_intact=True, target_protected=False)
    assert decide_plan(loose, NOW) == Wait(DEADLINE, "The checkpoint is being pinned, so that the job does not retire it.")
    assert isinstance(decide_plan(loose, DEADLINE), FailPlan)
    gone = decide_plan(replace(loose, target_retired=True), NOW)
    assert isinstance(gone, FailPlan) and not gone.bring_back and "has retired the checkpoint" in gone.problem


def test_the_job_is_stopped_with_a_checkpoint_before_another_run_is_begun() -> None:
    stopping = replace(PLAN, phase=PlanPhase.STOPPING, live=LIVE)
    assert decide_plan(stopping, NOW) == GiveCommand("Suspend")
    told = replace(stopping, live=replace(LIVE, commands=frozenset({"Suspend"})))
    assert isinstance(decide_plan(told, NOW), Wait)
    assert decide_plan(replace(stopping, live=None), NOW) == EnterPhase(PlanPhase.STARTING)


def test_its_run_goes_back_and_the_plan_is_applied_once_that_runs() -> None:
    starting = replace(PLAN, phase=PlanPhase.STARTING)
    assert decide_plan(starting, NOW) == BeginRun("rollback", RunStart(5))
    coming = replace(starting, live=replace(LIVE, state=RunState.INITIALIZING, ran=False), live_is_ours=True, runs=1)
    assert isinstance(decide_plan(coming, NOW), Wait)
    assert decide_plan(replace(coming, live=LIVE), NOW) == Applied()


def test_the_job_waits_until_its_way_back_is_pinned_and_not_for_ever() -> None:
    starting = replace(PLAN, phase=PlanPhase.STARTING, safety_pin_until=NOW + PIN_TIMEOUT)
    assert decide_plan(starting, NOW) == Wait(NOW + PIN_TIMEOUT, "The checkpoint that an undo would restore is being pinned.")
    assert decide_plan(starting, NOW + PIN_TIMEOUT) == BeginRun("rollback", RunStart(5)), "no job rests for the sake of an undo"
    assert decide_plan(replace(starting, safety_pin_until=None), NOW) == BeginRun("rollback", RunStart(5))


def test_a_run_that_fails_is_tried_once_more_and_then_the_job_is_brought_back() -> None:
    starting = replace(PLAN, phase=PlanPhase.STARTING, ours=FAILED, runs=1)
    assert decide_plan(starting, NOW) == BeginRun("rollback", RunStart(5))
    assert decide_plan(replace(starting, runs=RUNS_MAX), NOW) == EnterPhase(PlanPhase.REVERTING)
    returned = decide_plan(replace(starting, phase=PlanPhase.REVERTING, runs=RUNS_MAX), NOW)
    assert isinstance(returned, FailPlan) and returned.bring_back and "killed" in returned.problem


def test_a_plan_ends_also_if_the_driver_of_its_run_does_not() -> None:
    deaf = replace(LIVE, state=RunState.INITIALIZING, ran=False, commands=frozenset({"Cancel"}))
    returning = replace(PLAN, phase=PlanPhase.REVERTING, live=deaf, live_is_ours=True, runs=1)
    assert decide_plan(returning, DEADLINE) == Wait(DEADLINE + REVERT_TIMEOUT, "The driver is stopping.")
    over = decide_plan(returning, DEADLINE + REVERT_TIMEOUT)
    assert isinstance(over, FailPlan) and over.bring_back and "does not stop." in over.problem


def test_a_run_that_cannot_succeed_is_not_tried_again() -> None:
    hopeless = replace(PLAN, phase=PlanPhase.STARTING, ours=replace(FAILED, kind="RestoreError"), runs=1)
    assert decide_plan(hopeless, NOW) == EnterPhase(PlanPhase.REVERTING)


def test_a_run_that_ran_and_ended_was_applied() -> None:
    ran = replace(PLAN, phase=PlanPhase.STARTING, ours=replace(FAILED, running_at=NOW), runs=1)
    assert decide_plan(ran, NOW) == Applied()


@dataclass
class World:
    """A job and its drivers, which live, stop, fail and die as ``luck`` wants it."""

    luck: random.Random
    now: datetime = NOW
    phase: PlanPhase = PlanPhase.VERIFYING
    intact: bool | None = None
    live: LiveRun | None = LIVE
    live_is_ours: bool = False
    ours: LastRun | None = None
    runs: int = 0
    told: list[str] = field(default_factory=list)
    phases: list[PlanPhase] = field(default_factory=lambda: [PlanPhase.VERIFYING])

    def facts(self) -> PlanFacts:
        return replace(
            PLAN, phase=self.phase, target_intact=self.intact, damage="broken", live=self.live, live_is_ours=self.live_is_ours,
            ours=self.ours, runs=self.runs,
        )  # fmt: skip

    def happen(self) -> None:
        self.now += timedelta(seconds=self.luck.choice([1, 5, 60, 600]))
        if self.intact is None and self.luck.random() < 0.5:
            self.intact = self.luck.random() < 0.8
        if self.live is None:
            return
        if not self.live.seen and self.live.submitted_at is not None and self.luck.random() < 0.5:
            self.live = replace(self.live, seen=True, state=RunState.INITIALIZING)
        elif self.live.state is RunState.INITIALIZING and self.luck.random() < 0.5:
            self.live = replace(self.live, state=RunState.RUNNING, ran=True)
        if self.live.commands and self.live.seen and self.luck.random() < 0.7:
            self._over(RunState.SUSPENDED, "")
        elif self.luck.random() < 0.15:
            self._over(RunState.FAILED, self.luck.choice(["", "GraphError"]))

    def _over(self, state: RunState, kind: str) -> None:
        assert self.live is not None
        if self.live_is_ours:
            running_at = self.now if self.live.state is RunState.RUNNING else None
            self.ours = LastRun(state, kind, "it ended", running_at, self.now)
        self.live, self.live_is_ours = None, False


@pytest.mark.parametrize("seed", range(400))
def test_whatever_happens_a_plan_ends_and_never_has_two_runs_nor_touches_a_job_for_a_damaged_checkpoint(seed: int) -> None:
    world = World(random.Random(seed))
    for _ in range(2_000):
        decision = decide_plan(world.facts(), world.now)
        match decision:
            case Wait():
                world.happen()
            case EnterPhase(phase):
                assert phase in LEGAL[world.phase]
                world.phase = phase
                world.phases.append(phase)
            case BeginRun():
                assert world.live is None and world.intact
                world.live, world.live_is_ours = LiveRun(RunState.CREATED, None, False, frozenset()), True
                world.runs += 1
            case Submit():
                assert world.live is not None and not world.live.seen
                world.live = replace(world.live, submitted_at=world.now)
                world.happen()
            case GiveCommand(command):
                assert world.live is not None and command not in world.live.commands
                world.live = replace(world.live, commands=world.live.commands | {command})
            case EndRun(state):
                world._over(state, "")
            case Applied():
                assert world.intact and PlanPhase.STARTING in world.phases
                return
            case FailPlan(bring_back=bring_back):
                assert bring_back == (PlanPhase.STOPPING in world.phases)
                beside = bring_back and world.live_is_ours
                assert not beside or world.now >= DEADLINE + REVERT_TIMEOUT, "the job is brought back beside a run of the plan"
                return
    pytest.fail(f"seed {seed}: the plan did not end")
