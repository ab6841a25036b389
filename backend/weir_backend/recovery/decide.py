"""How a plan is carried out: what to do next, from facts. The same rules as in ``reconciling.decide``, which rests meanwhile.

VERIFYING ── whole ──> STOPPING ── stopped ──> STARTING ── running ──> applied
    │                                             │
 damaged                                  two runs have failed
    v                                             v
 failed, and nothing was touched             RETURNING: a run from the checkpoint that the job was stopped with; failed
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from weir_backend.models import PlanPhase, RunState
from weir_backend.reconciling.decide import (
    HOPELESS,
    BeginRun,
    EndRun,
    Give,
    LastRun,
    LiveRun,
    Rest,
    Start,
    Submit,
    submit,
    towards_rest,
)

RETURN_TAKES = timedelta(minutes=10)
"""From the deadline on. By then a run of the plan that would not come up is gone, unless nobody can reach it."""
PIN_TAKES = timedelta(seconds=30)
"""No job is kept from running for longer than that by a pin that only an undo needs."""
RUNS_MAX = 2
"""A driver may die of something that has nothing to do with the plan."""

LEGAL: dict[PlanPhase, frozenset[PlanPhase]] = {
    PlanPhase.VERIFYING: frozenset({PlanPhase.STOPPING}),
    PlanPhase.STOPPING: frozenset({PlanPhase.STARTING}),
    PlanPhase.STARTING: frozenset({PlanPhase.RETURNING}),
    PlanPhase.RETURNING: frozenset(),
}


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """``live``: the job's run that is not over, and whether it is one of this plan's (``live_is_ours``). ``ours``: the newest run of this
    plan, if it is over, and ``runs``: how many there were. ``stop_with``: Suspend or Cancel. ``start``: of its runs."""

    phase: PlanPhase
    target_whole: bool | None
    damage: str | None
    live: LiveRun | None
    live_is_ours: bool
    ours: LastRun | None
    runs: int
    stop_with: str
    start: Start
    kind: str
    deadline: datetime
    target_gone: bool = False
    """Its files are, or will be in a moment: the job has retired it."""
    target_held: bool = True
    """Nobody retires it any more, not even the job while it runs on."""
    way_back_held_until: datetime | None = None
    """What an undo would return to is being pinned: so long that is waited for. None: it is pinned, or there is nothing to pin."""


@dataclass(frozen=True, slots=True)
class Enter:
    """The next phase."""

    phase: PlanPhase


@dataclass(frozen=True, slots=True)
class Applied:
    pass


@dataclass(frozen=True, slots=True)
class FailPlan:
    """``bring_back``: the job has been stopped for it, and goes on from where it was."""

    problem: str
    bring_back: bool


PlanDecision: TypeAlias = Rest | BeginRun | Submit | Give | EndRun | Enter | Applied | FailPlan


def decide_plan(facts: PlanFacts, now: datetime) -> PlanDecision:
    match facts.phase:
        case PlanPhase.VERIFYING:
            return _verifying(facts, now)
        case PlanPhase.STOPPING:
            return _stopping(facts, now)
        case PlanPhase.STARTING:
            return _starting(facts, now)
        case PlanPhase.RETURNING:
            return _returning(facts, now)
        case _:
            assert_never(facts.phase)


def _verifying(facts: PlanFacts, now: datetime) -> PlanDecision:
    if facts.target_gone:
        return FailPlan(
            "the job has retired its checkpoint meanwhile: choose a newer one. The job was not touched", bring_back=False
        )
    if facts.target_whole is None:
        if now >= facts.deadline:
            return FailPlan("its checkpoint could not be verified in time; is a worker running?", bring_back=False)
        return Rest(until=facts.deadline, why="the files of the checkpoint are being verified")
    if not facts.target_whole:
        return FailPlan(f"it would not work: {facts.damage}. The job was not touched", bring_back=False)
    if not facts.target_held:
        if now >= facts.deadline:
            return FailPlan("its checkpoint could not be pinned in time; is a worker running?", bring_back=False)
        return Rest(until=facts.deadline, why="its checkpoint is being pinned, so that the job does not retire it meanwhile")
    return Enter(PlanPhase.STOPPING)


def _stopping(facts: PlanFacts, now: datetime) -> PlanDecision:
    if facts.live is None:
        return Enter(PlanPhase.STARTING)
    if now >= facts.deadline:
        # It has been told to stop, and may do so at any time: nothing may be begun beside it.
        return FailPlan("the job did not stop in time", bring_back=True)
    return _no_later_than(facts.deadline, towards_rest(facts.live, facts.stop_with, now))


def _no_later_than(deadline: datetime, decision: PlanDecision) -> PlanDecision:
    if isinstance(decision, Rest):
        return Rest(min(decision.until, deadline) if decision.until else deadline, decision.why)
    return decision


def _starting(facts: PlanFacts, now: datetime) -> PlanDecision:
    if facts.live is not None and facts.live_is_ours:
        if facts.live.ran:
            return Applied()
        if now >= facts.deadline:
            return Enter(PlanPhase.RETURNING)
        return Rest(until=facts.deadline) if facts.live.seen else _no_later_than(facts.deadline, submit(facts.live, now))
    assert facts.live is None, "a run of somebody else was begun while a plan is being applied"
    if facts.ours is None:
        if facts.way_back_held_until is not None and now < facts.way_back_held_until:
            return Rest(until=facts.way_back_held_until, why="the checkpoint that an undo would return to is being pinned")
        return BeginRun(facts.kind, facts.start)
    if facts.ours.state is RunState.FINISHED or facts.ours.running_at is not None:
        return Applied()  # what became of it later is another story
    if facts.ours.kind in HOPELESS or facts.runs >= RUNS_MAX:
        return Enter(PlanPhase.RETURNING)
    return BeginRun(facts.kind, facts.start)


def _returning(facts: PlanFacts, now: datetime) -> PlanDecision:
    if facts.live is not None:
        # It did not come up in time. It must be gone before another begins.
        if now >= facts.deadline + RETURN_TAKES:
            return FailPlan("the job did not start, and its driver does not stop either: is its machine there?", bring_back=True)
        return _no_later_than(facts.deadline + RETURN_TAKES, towards_rest(facts.live, "Cancel", now))
    reason = facts.ours.reason if facts.ours is not None else "the run was not up in time"
    return FailPlan(f"the job did not start: {reason}. It goes on from where it was stopped", bring_back=True)
