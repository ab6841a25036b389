"""Tests the decisions about a plan without a database and without drivers. Some tests simulate runs that fail at random."""

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
    PlanPhase.VERIFYING, None, None, None, live_is_of_plan=False, ended_run=None, runs=0, stop_with="Suspend", start=RunStart(5), kind="rollback",
    deadline=DEADLINE,
)  # fmt: skip


def test_the_job_is_stopped_only_after_the_target_checkpoint_is_verified() -> None:
    assert isinstance(decide_plan(replace(PLAN, live=LIVE), NOW), Wait)
    damaged = decide_plan(replace(PLAN, live=LIVE, target_intact=False, damage="state/1 is missing"), NOW)
    assert isinstance(damaged, FailPlan) and not damaged.bring_back and "state/1 is missing" in damaged.problem
    assert decide_plan(replace(PLAN, live=LIVE, target_intact=True), NOW) == EnterPhase(PlanPhase.STOPPING)


def test_the_job_is_stopped_only_if_the_target_checkpoint_is_pinned() -> None:
    unpinned = replace(PLAN, live=LIVE, target_intact=True, target_protected=False)
    assert decide_plan(unpinned, NOW) == Wait(DEADLINE, "The checkpoint is being pinned, so that the job does not retire it.")
    assert isinstance(decide_plan(unpinned, DEADLINE), FailPlan)
    retired = decide_plan(replace(unpinned, target_retired=True), NOW)
    assert isinstance(retired, FailPlan) and not retired.bring_back and "has retired the checkpoint" in retired.problem


def test_the_job_is_suspended_before_the_run_of_the_plan_starts() -> None:
    stopping = replace(PLAN, phase=PlanPhase.STOPPING, live=LIVE)
    assert decide_plan(stopping, NOW) == GiveCommand("Suspend")
    suspending = replace(stopping, live=replace(LIVE, commands=frozenset({"Suspend"})))
    assert isinstance(decide_plan(suspending, NOW), Wait)
    assert decide_plan(replace(stopping, live=None), NOW) == EnterPhase(PlanPhase.STARTING)


def test_the_plan_is_applied_once_its_run_is_running() -> None:
    starting = replace(PLAN, phase=PlanPhase.STARTING)
    assert decide_plan(starting, NOW) == BeginRun("rollback", RunStart(5))
    initializing = replace(starting, live=replace(LIVE, state=RunState.INITIALIZING, ran=False), live_is_of_plan=True, runs=1)
    assert isinstance(decide_plan(initializing, NOW), Wait)
    assert decide_plan(replace(initializing, live=LIVE), NOW) == Applied()


def test_the_job_waits_a_limited_time_for_the_pin_of_its_safety_savepoint() -> None:
    starting = replace(PLAN, phase=PlanPhase.STARTING, safety_pin_until=NOW + PIN_TIMEOUT)
    assert decide_plan(starting, NOW) == Wait(NOW + PIN_TIMEOUT, "The checkpoint that an undo would restore is being pinned.")
    assert decide_plan(starting, NOW + PIN_TIMEOUT) == BeginRun("rollback", RunStart(5)), (
        "after the timeout, the run starts without the pin"
    )
    assert decide_plan(replace(starting, safety_pin_until=None), NOW) == BeginRun("rollback", RunStart(5))


def test_after_a_second_failed_run_the_plan_is_reverted() -> None:
    starting = replace(PLAN, phase=PlanPhase.STARTING, ended_run=FAILED, runs=1)
    assert decide_plan(starting, NOW) == BeginRun("rollback", RunStart(5))
    assert decide_plan(replace(starting, runs=RUNS_MAX), NOW) == EnterPhase(PlanPhase.REVERTING)
    returned = decide_plan(replace(starting, phase=PlanPhase.REVERTING, runs=RUNS_MAX), NOW)
    assert returned == FailPlan(
        "The job did not start: killed. Weir has restored the job's earlier version and desired state.", bring_back=True
    )


def test_a_plan_fails_after_a_timeout_if_the_driver_of_its_run_does_not_stop() -> None:
    unresponsive = replace(LIVE, state=RunState.INITIALIZING, ran=False, commands=frozenset({"Cancel"}))
    returning = replace(PLAN, phase=PlanPhase.REVERTING, live=unresponsive, live_is_of_plan=True, runs=1)
    assert decide_plan(returning, DEADLINE) == Wait(DEADLINE + REVERT_TIMEOUT, "The driver is stopping.")
    failed = decide_plan(returning, DEADLINE + REVERT_TIMEOUT)
    assert isinstance(failed, FailPlan) and failed.bring_back and "has not stopped." in failed.problem


def test_a_run_with_a_restore_error_is_not_retried() -> None:
    incompatible = replace(PLAN, phase=PlanPhase.STARTING, ended_run=replace(FAILED, kind="RestoreError"), runs=1)
    assert decide_plan(incompatible, NOW) == EnterPhase(PlanPhase.REVERTING)


def test_a_plan_counts_as_applied_if_its_run_was_running_before_the_run_ended() -> None:
    ran = replace(PLAN, phase=PlanPhase.STARTING, ended_run=replace(FAILED, running_at=NOW), runs=1)
    assert decide_plan(ran, NOW) == Applied()


@dataclass
class SimulatedJob:
    """A simulated job whose runs start, stop and fail at random."""

    rng: random.Random
    now: datetime = NOW
    phase: PlanPhase = PlanPhase.VERIFYING
    intact: bool | None = None
    live: LiveRun | None = LIVE
    live_is_of_plan: bool = False
    ended_run: LastRun | None = None
    runs: int = 0
    phases: list[PlanPhase] = field(default_factory=lambda: [PlanPhase.VERIFYING])

    def facts(self) -> PlanFacts:
        return replace(
            PLAN, phase=self.phase, target_intact=self.intact, damage="broken", live=self.live, live_is_of_plan=self.live_is_of_plan,
            ended_run=self.ended_run, runs=self.runs,
        )  # fmt: skip

    def advance(self) -> None:
        self.now += timedelta(seconds=self.rng.choice([1, 5, 60, 600]))
        if self.intact is None and self.rng.random() < 0.5:
            self.intact = self.rng.random() < 0.8
        if self.live is None:
            return
        if not self.live.seen and self.live.submitted_at is not None and self.rng.random() < 0.5:
            self.live = replace(self.live, seen=True, state=RunState.INITIALIZING)
        elif self.live.state is RunState.INITIALIZING and self.rng.random() < 0.5:
            self.live = replace(self.live, state=RunState.RUNNING, ran=True)
        if self.live.commands and self.live.seen and self.rng.random() < 0.7:
            self._end_run(RunState.SUSPENDED, "")
        elif self.rng.random() < 0.15:
            self._end_run(RunState.FAILED, self.rng.choice(["", "GraphError"]))

    def _end_run(self, state: RunState, kind: str) -> None:
        assert self.live is not None
        if self.live_is_of_plan:
            running_at = self.now if self.live.state is RunState.RUNNING else None
            self.ended_run = LastRun(state, kind, "it ended", running_at, self.now)
        self.live, self.live_is_of_plan = None, False


@pytest.mark.parametrize("seed", range(400))
def test_a_plan_with_random_failures_ends_and_never_causes_concurrent_runs(seed: int) -> None:
    job = SimulatedJob(random.Random(seed))
    for _ in range(2_000):
        decision = decide_plan(job.facts(), job.now)
        match decision:
            case Wait():
                job.advance()
            case EnterPhase(phase):
                assert phase in LEGAL[job.phase]
                job.phase = phase
                job.phases.append(phase)
            case BeginRun():
                assert job.live is None and job.intact
                job.live, job.live_is_of_plan = LiveRun(RunState.CREATED, None, False, frozenset()), True
                job.runs += 1
            case Submit():
                assert job.live is not None and not job.live.seen
                job.live = replace(job.live, submitted_at=job.now)
                job.advance()
            case GiveCommand(command):
                assert job.live is not None and command not in job.live.commands
                job.live = replace(job.live, commands=job.live.commands | {command})
            case EndRun(state):
                job._end_run(state, "")
            case Applied():
                assert job.intact and PlanPhase.STARTING in job.phases
                return
            case FailPlan(bring_back=bring_back):
                assert bring_back == (PlanPhase.STOPPING in job.phases)
                still_live = bring_back and job.live_is_of_plan
                assert not still_live or job.now >= DEADLINE + REVERT_TIMEOUT, (
                    "a plan is not reverted while one of its runs is live"
                )
                return
    pytest.fail(f"seed {seed}: the plan did not end")
