"""The decisions of the reconciler, computed without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir_backend.models import DesiredState, RunState, SpecState
from weir_backend.reconciler.decisions import (
    CANCEL_TIMEOUT,
    PERMANENT_FAILURES,
    SUBMIT_RETRY,
    BeginRun,
    EndRun,
    GiveCommand,
    JobFacts,
    LastRun,
    LiveRun,
    RestartLater,
    StopRestarts,
    Strategy,
    Submit,
    Wait,
    decide,
    must_be_killed,
)
from weir_backend.runs.start import RequestedStart, RunStart, next_start

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
STRATEGY = Strategy(attempts=3, initial_s=1.0, max_s=60.0, multiplier=2.0, reset_after_s=300.0)
LIVE = LiveRun(RunState.RUNNING, NOW, seen=True, commands=frozenset())
UNSEEN = LiveRun(RunState.CREATED, None, seen=False, commands=frozenset())
FAILED = LastRun(RunState.FAILED, "", "killed", running_at=NOW, ended_at=NOW)


def job(**facts: object) -> JobFacts:
    base = JobFacts(DesiredState.RUNNING, SpecState.VALID, None, None, None, 0, None, None, STRATEGY)
    return replace(base, **facts)  # type: ignore[arg-type]  # names and types are those of JobFacts


def test_the_driver_of_a_cancelled_job_is_killed_only_after_a_timeout() -> None:
    assert not must_be_killed(None, NOW)
    assert not must_be_killed(NOW, NOW + CANCEL_TIMEOUT - timedelta(seconds=1))
    assert must_be_killed(NOW, NOW + CANCEL_TIMEOUT)


def test_a_new_job_starts_once_its_code_is_compiled() -> None:
    assert isinstance(decide(job(spec_state=SpecState.COMPILING), NOW), Wait)
    assert decide(job(), NOW) == BeginRun("start")


def test_a_job_whose_code_does_not_compile_does_not_start() -> None:
    decision = decide(job(spec_state=SpecState.INVALID, spec_problem="line 3: no such column"), NOW)
    assert isinstance(decision, Wait) and "line 3" in decision.why


def test_a_run_is_submitted_again_if_its_driver_does_not_connect() -> None:
    assert decide(job(live=UNSEEN), NOW) == Submit()
    submitted = replace(UNSEEN, submitted_at=NOW)
    assert decide(job(live=submitted), NOW) == Wait(NOW + SUBMIT_RETRY, "The driver is starting.")
    assert decide(job(live=submitted), NOW + SUBMIT_RETRY) == Submit()
    assert decide(job(live=replace(submitted, seen=True)), NOW + SUBMIT_RETRY) == Wait()


def test_failed_runs_restart_with_a_growing_delay_and_a_limited_number_of_attempts() -> None:
    delays = []
    for restarts in range(STRATEGY.attempts):
        decision = decide(job(last=replace(FAILED, running_at=None), restarts=restarts), NOW)
        assert isinstance(decision, RestartLater) and decision.restarts == restarts + 1
        delays.append((decision.restart_at - NOW).total_seconds())
        waiting = job(last=FAILED, restarts=decision.restarts, restart_at=decision.restart_at)
        assert decide(waiting, NOW) == Wait(decision.restart_at, "The job has failed and will restart: killed")
        assert decide(waiting, decision.restart_at) == BeginRun("restart")
    assert delays == [1.0, 2.0, 4.0]
    decision = decide(job(last=replace(FAILED, running_at=None), restarts=STRATEGY.attempts), NOW)
    assert isinstance(decision, StopRestarts) and "4 times in a row" in decision.reason and "killed" in decision.reason


def test_a_version_that_has_never_run_is_restarted_fewer_times_than_other_versions() -> None:
    failed = replace(FAILED, running_at=None)
    assert isinstance(decide(job(last=failed, has_run=False, restarts=1), NOW), RestartLater)
    assert isinstance(decide(job(last=failed, has_run=False, restarts=2), NOW), StopRestarts)


def test_a_long_run_resets_the_restart_count() -> None:
    long_run = replace(FAILED, running_at=NOW - timedelta(seconds=STRATEGY.reset_after_s))
    decision = decide(job(last=long_run, restarts=STRATEGY.attempts), NOW)
    assert decision == RestartLater(1, NOW + timedelta(seconds=1))


@pytest.mark.parametrize("kind", sorted(PERMANENT_FAILURES))
def test_a_job_is_not_restarted_after_a_permanent_failure(kind: str) -> None:
    assert isinstance(decide(job(last=replace(FAILED, kind=kind)), NOW), StopRestarts)


def test_a_job_waits_for_a_user_after_its_restarts_stopped() -> None:
    assert decide(job(last=FAILED, restarts_stopped_reason="enough"), NOW) == Wait(why="enough")


def test_a_finished_job_is_not_restarted() -> None:
    assert decide(job(last=replace(FAILED, state=RunState.FINISHED)), NOW) == Wait()


@pytest.mark.parametrize("state", [RunState.SUSPENDED, RunState.CANCELED])
def test_a_stopped_job_whose_desired_state_is_running_starts_again(state: RunState) -> None:
    assert decide(job(last=replace(FAILED, state=state)), NOW) == BeginRun("start")


@pytest.mark.parametrize(("desired", "command"), [(DesiredState.SUSPENDED, "Suspend"), (DesiredState.CANCELLED, "Cancel")])
def test_a_job_that_must_stop_gets_the_stop_command_once(desired: DesiredState, command: str) -> None:
    assert decide(job(desired=desired), NOW) == Wait()
    assert decide(job(desired=desired, live=LIVE), NOW) == GiveCommand(command)
    assert decide(job(desired=desired, live=replace(LIVE, commands=frozenset({command}))), NOW) == Wait(
        why="The driver is stopping."
    )


def test_a_suspending_job_can_be_cancelled() -> None:
    suspending = replace(LIVE, commands=frozenset({"Suspend"}))
    assert decide(job(desired=DesiredState.CANCELLED, live=suspending), NOW) == GiveCommand("Cancel")


def test_a_run_that_was_not_submitted_ends_without_a_command() -> None:
    decision = decide(job(desired=DesiredState.SUSPENDED, live=UNSEEN), NOW)
    assert isinstance(decision, EndRun) and decision.state is RunState.CANCELED


def test_a_run_whose_driver_has_not_connected_is_submitted_again_even_if_the_job_must_stop() -> None:
    suspending = replace(UNSEEN, submitted_at=NOW, commands=frozenset({"Suspend"}))
    assert isinstance(decide(job(desired=DesiredState.SUSPENDED, live=suspending), NOW), Wait)
    assert decide(job(desired=DesiredState.SUSPENDED, live=suspending), NOW + SUBMIT_RETRY) == Submit()


def test_a_requested_restore_is_repeated_until_a_run_has_restored_the_checkpoint() -> None:
    requested = RequestedStart(checkpoint=7, after_run=3)
    assert next_start(None, is_done=False) == RunStart()
    assert next_start(requested, is_done=False) == RunStart(7)
    assert next_start(requested, is_done=True) == RunStart()
    assert decide(job(last=replace(FAILED, state=RunState.SUSPENDED), start=RunStart(7)), NOW) == BeginRun("start", RunStart(7))


@given(
    st.builds(
        JobFacts,
        desired=st.sampled_from(DesiredState),
        spec_state=st.sampled_from(SpecState),
        spec_problem=st.none(),
        live=st.none() | st.builds(
            LiveRun, state=st.sampled_from(RunState), submitted_at=st.none() | st.just(NOW),
            seen=st.booleans(), commands=st.frozensets(st.sampled_from(["Suspend", "Cancel", "TakeSavepoint"])),
        ),
        last=st.none() | st.builds(
            LastRun, state=st.sampled_from([RunState.FAILED, RunState.FINISHED, RunState.SUSPENDED, RunState.CANCELED]),
            kind=st.sampled_from(["", "GraphError"]), reason=st.just("because"), running_at=st.none() | st.just(NOW),
            ended_at=st.just(NOW),
        ),
        restarts=st.integers(0, 10), restart_at=st.none() | st.just(NOW + timedelta(seconds=5)),
        restarts_stopped_reason=st.none() | st.just("enough"), strategy=st.just(STRATEGY),
    )
)  # fmt: skip
def test_a_run_starts_only_if_the_desired_state_is_running_and_no_other_run_is_live(facts: JobFacts) -> None:
    decision = decide(facts, NOW)
    if isinstance(decision, BeginRun | RestartLater | StopRestarts):
        assert facts.live is None and facts.desired is DesiredState.RUNNING and facts.spec_state is SpecState.VALID
    if isinstance(decision, Submit | GiveCommand | EndRun):
        assert facts.live is not None
