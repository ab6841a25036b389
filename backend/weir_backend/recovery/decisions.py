"""Decide the next step of a plan that is being applied. Pure. While a plan is being applied, the rules of this module replace the rules of
``reconciler.decisions``.

VERIFYING ── intact ─> STOPPING ── stopped ──> STARTING ── running ──> applied
    │                                             │
 damaged                                  two runs failed
    v                                             v
failed; the job is unchanged                 REVERTING: restore the job's earlier version and desired state; failed
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from weir_backend.models import PlanPhase, RunState
from weir_backend.reconciler.decisions import (
    PERMANENT_FAILURES,
    BeginRun,
    EndRun,
    GiveCommand,
    LastRun,
    LiveRun,
    Submit,
    Wait,
    stop,
    submit,
)
from weir_backend.runs.start import RunStart

REVERT_TIMEOUT = timedelta(minutes=10)
"""If a run does not start before the deadline of the operation, Weir cancels the run. Weir waits for the end of this run until
``REVERT_TIMEOUT`` after the deadline. Only a run on an unreachable host can need more time than ``REVERT_TIMEOUT`` to end."""
PIN_TIMEOUT = timedelta(seconds=30)
"""The maximum time that the start of a job waits for the pin of the safety savepoint. After ``PIN_TIMEOUT``, the job
starts without the pin, because only an undo of the plan needs the pin."""
RUNS_MAX = 2
"""The maximum number of runs that a plan starts. If the first run fails, the plan starts a second run, because the failure may be unrelated to
the plan."""

LEGAL: dict[PlanPhase, frozenset[PlanPhase]] = {
    PlanPhase.VERIFYING: frozenset({PlanPhase.STOPPING}),
    PlanPhase.STOPPING: frozenset({PlanPhase.STARTING}),
    PlanPhase.STARTING: frozenset({PlanPhase.REVERTING}),
    PlanPhase.REVERTING: frozenset(),
}


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The facts about a plan that is being applied."""

    phase: PlanPhase
    target_intact: bool | None
    damage: str | None
    live: LiveRun | None
    """The live run of the job, or None if all runs have ended."""
    live_is_of_plan: bool
    """True if this plan has started the live run."""
    ended_run: LastRun | None
    """The newest run that this plan has started and that has ended."""
    runs: int
    """The number of runs that this plan has started."""
    stop_with: str
    """The command that stops the job: Suspend or Cancel."""
    start: RunStart
    """The start point of the runs of this plan."""
    kind: str
    deadline: datetime
    target_retired: bool = False
    """True if the job has retired the checkpoint that the plan restores."""
    target_protected: bool = True
    """True if the checkpoint that the plan restores is pinned in the job log, or if no run can retire this checkpoint."""
    safety_pin_until: datetime | None = None
    """The time until which the plan waits for the pin of the safety savepoint. ``safety_pin_until`` is None if the safety savepoint is
    pinned already or does not exist."""


@dataclass(frozen=True, slots=True)
class EnterPhase:
    """Move the plan to ``phase``."""

    phase: PlanPhase


@dataclass(frozen=True, slots=True)
class Applied:
    pass


@dataclass(frozen=True, slots=True)
class FailPlan:
    """End the plan as failed. ``bring_back`` is True if the plan may have stopped the job. If ``bring_back`` is True, Weir restores the
    desired state and the version of the spec that the job had before the plan. If the plan has stopped the job, the job resumes from the last
    checkpoint that it completed before the plan stopped it."""

    problem: str
    bring_back: bool


PlanDecision: TypeAlias = Wait | BeginRun | Submit | GiveCommand | EndRun | EnterPhase | Applied | FailPlan


def decide_plan(facts: PlanFacts, now: datetime) -> PlanDecision:
    match facts.phase:
        case PlanPhase.VERIFYING:
            return _verifying(facts, now)
        case PlanPhase.STOPPING:
            return _stopping(facts, now)
        case PlanPhase.STARTING:
            return _starting(facts, now)
        case PlanPhase.REVERTING:
            return _reverting(facts, now)
        case _:
            assert_never(facts.phase)


def _verifying(facts: PlanFacts, now: datetime) -> PlanDecision:
    if facts.target_retired:
        return FailPlan("The job has retired the checkpoint. Choose a newer checkpoint. The job is unchanged.", bring_back=False)
    if facts.target_intact is None:
        if now >= facts.deadline:
            return FailPlan("The checkpoint was not verified in time. Check that a worker is running.", bring_back=False)
        return Wait(until=facts.deadline, why="The files of the checkpoint are being verified.")
    if not facts.target_intact:
        return FailPlan(f"The plan would fail: {facts.damage}. The job is unchanged.", bring_back=False)
    if not facts.target_protected:
        if now >= facts.deadline:
            return FailPlan("The checkpoint was not pinned in time. Check that a worker is running.", bring_back=False)
        return Wait(until=facts.deadline, why="The checkpoint is being pinned, so that the job does not retire it.")
    return EnterPhase(PlanPhase.STOPPING)


def _stopping(facts: PlanFacts, now: datetime) -> PlanDecision:
    if facts.live is None:
        return EnterPhase(PlanPhase.STARTING)
    if now >= facts.deadline:
        # Start no other run, because the live run has not ended yet and can stop at any time.
        return FailPlan("The job did not stop in time.", bring_back=True)
    return _no_later_than(facts.deadline, stop(facts.live, facts.stop_with, now))


def _no_later_than(deadline: datetime, decision: PlanDecision) -> PlanDecision:
    if isinstance(decision, Wait):
        return Wait(min(decision.until, deadline) if decision.until else deadline, decision.why)
    return decision


def _starting(facts: PlanFacts, now: datetime) -> PlanDecision:
    if facts.live is not None and facts.live_is_of_plan:
        if facts.live.ran:
            return Applied()
        if now >= facts.deadline:
            return EnterPhase(PlanPhase.REVERTING)
        return Wait(until=facts.deadline) if facts.live.seen else _no_later_than(facts.deadline, submit(facts.live, now))
    assert facts.live is None, "no other run can start while the plan is being applied"
    if facts.ended_run is None:
        if facts.safety_pin_until is not None and now < facts.safety_pin_until:
            return Wait(until=facts.safety_pin_until, why="The checkpoint that an undo would restore is being pinned.")
        return BeginRun(facts.kind, facts.start)
    if facts.ended_run.state is RunState.FINISHED or facts.ended_run.running_at is not None:
        return Applied()  # ``reconciler.decisions`` handles failures after the plan was applied
    if facts.ended_run.kind in PERMANENT_FAILURES or facts.runs >= RUNS_MAX:
        return EnterPhase(PlanPhase.REVERTING)
    return BeginRun(facts.kind, facts.start)


def _reverting(facts: PlanFacts, now: datetime) -> PlanDecision:
    if facts.live is not None:
        # The run did not start in time. Stop this run before the job starts another run.
        if now >= facts.deadline + REVERT_TIMEOUT:
            return FailPlan("The job did not start, and its driver has not stopped. Check the host.", bring_back=True)
        return _no_later_than(facts.deadline + REVERT_TIMEOUT, stop(facts.live, "Cancel", now))
    reason = facts.ended_run.reason if facts.ended_run is not None else "the run did not start in time"
    return FailPlan(
        f"The job did not start: {reason}. Weir has restored the job's earlier version and desired state.", bring_back=True
    )
