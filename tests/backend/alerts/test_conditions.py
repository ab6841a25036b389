"""Whether a rule holds, from facts alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir_backend.alerts.conditions import (
    CONDITIONS,
    LAG_RESOLVE_RATIO,
    AlertFacts,
    Condition,
    Failures,
    Firing,
    Lag,
    LagAbove,
    NoCheckpoint,
    NotFiring,
    Restarts,
    Unknown,
    Verdict,
    evaluate,
    format_duration,
)
from weir_backend.models import AlertKind, DesiredState, RunState

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3)
MINUTE = timedelta(minutes=1)
TEN = NoCheckpoint(minutes=10)
RUNNING = AlertFacts(
    desired=DesiredState.RUNNING,
    run_state=RunState.RUNNING,
    begun_at=LONG_AGO,
    checkpoint=17,
    checkpoint_reported_at=NOW - timedelta(seconds=8),
    interval_s=10.0,
    reset_after_s=300.0,
)


def judged(
    condition: Condition,
    facts: AlertFacts,
    *,
    available_since: datetime | None = LONG_AGO,
    firing: bool = False,
    now: datetime = NOW,
) -> Verdict:
    return evaluate(condition, facts, available_since=available_since, firing=firing, now=now)


def late(minutes: float) -> AlertFacts:
    return replace(RUNNING, checkpoint_reported_at=NOW - minutes * MINUTE)


def test_each_kind_of_rule_has_its_condition() -> None:
    assert CONDITIONS.keys() == set(AlertKind)


# ---- no checkpoint -----------------------------------------------------------------------------


def test_a_job_whose_checkpoints_have_stopped_is_told_of_with_the_last_one() -> None:
    assert judged(TEN, RUNNING) == NotFiring("checkpoint 17 is completed")
    assert isinstance(judged(TEN, late(9.9)), NotFiring)
    assert judged(TEN, late(10)) == Firing("no checkpoint has completed for 10 min: the last one was 17")
    assert judged(TEN, late(90), firing=True) == Firing("no checkpoint has completed for 1 h 30 min: the last one was 17")


def test_a_job_that_never_completed_one_is_told_of_and_not_while_it_has_just_begun() -> None:
    never = replace(RUNNING, checkpoint=None, checkpoint_reported_at=None)
    assert judged(TEN, replace(never, begun_at=NOW - 9 * MINUTE)) == NotFiring("the job was started")
    found = judged(TEN, replace(never, begun_at=NOW - 11 * MINUTE))
    assert found == Firing("no checkpoint has completed since the job was started 11 min ago")


def test_what_a_job_completed_before_it_was_stopped_and_started_again_does_not_count_against_it() -> None:
    assert isinstance(judged(TEN, replace(late(300), begun_at=NOW - 3 * MINUTE)), NotFiring)
    assert isinstance(judged(TEN, replace(late(300), begun_at=NOW - 30 * MINUTE)), Firing)


def test_a_job_that_is_restarted_all_the_time_and_completes_nothing_is_told_of() -> None:
    """``begun_at`` is when somebody wanted it to run: each new driver after a failure does not begin anew."""
    assert isinstance(judged(TEN, replace(late(30), run_state=RunState.INITIALIZING)), Firing)


@pytest.mark.parametrize("state", [None, *RunState])
@pytest.mark.parametrize("desired", [DesiredState.SUSPENDED, DesiredState.CANCELLED])
def test_nobody_is_told_of_a_job_that_is_not_wanted_to_run(desired: DesiredState, state: RunState | None) -> None:
    facts = replace(late(600), desired=desired, run_state=state, failures=50, failed_checkpoints=50, restarts=(NOW,) * 50)
    for condition in (TEN, Failures(1), Restarts(1, 10), LagAbove(records=1)):
        assert judged(condition, facts, firing=True) == NotFiring("the job was suspended or cancelled")


def test_nobody_is_told_of_a_job_that_has_finished_or_has_not_begun_or_takes_none() -> None:
    assert judged(TEN, replace(late(600), run_state=RunState.FINISHED)) == NotFiring("the job has finished")
    assert isinstance(judged(TEN, replace(late(600), begun_at=None)), NotFiring)
    assert isinstance(judged(TEN, replace(late(600), interval_s=None)), NotFiring)


def test_a_job_with_long_intervals_is_given_two_of_them() -> None:
    hourly = replace(late(119), interval_s=3600.0)
    assert isinstance(judged(TEN, hourly), NotFiring)
    assert isinstance(judged(TEN, replace(late(120), interval_s=3600.0)), Firing)


def test_the_control_planes_own_absence_neither_begins_an_alert_nor_ends_one() -> None:
    assert judged(TEN, late(60), available_since=NOW - 9 * MINUTE) == Unknown()
    assert judged(TEN, late(60), available_since=NOW - 9 * MINUTE, firing=True) == Unknown()
    assert judged(TEN, late(60), available_since=None) == Unknown()
    assert isinstance(judged(TEN, late(60), available_since=NOW - 10 * MINUTE), Firing)
    assert isinstance(judged(TEN, RUNNING, available_since=NOW - MINUTE, firing=True), NotFiring), "what is told is known at once"
    hourly = replace(late(240), interval_s=3600.0)
    assert judged(TEN, hourly, available_since=NOW - 60 * MINUTE) == Unknown(), "it must have been there for as long as it waits"


MOMENTS = st.integers(0, 10_000).map(lambda seconds: NOW - timedelta(seconds=seconds))


@given(
    minutes=st.integers(1, 120),
    begun_at=st.none() | MOMENTS,
    told_at=st.none() | MOMENTS,
    available_since=st.none() | MOMENTS,
    interval_s=st.none() | st.floats(0.1, 10_000),
    later=st.integers(0, 100_000),
    firing=st.booleans(),
)
def test_an_alert_about_checkpoints_is_never_too_early_and_does_not_go_by_itself(
    minutes: int,
    begun_at: datetime | None,
    told_at: datetime | None,
    available_since: datetime | None,
    interval_s: float | None,
    later: int,
    firing: bool,
) -> None:
    facts = replace(
        RUNNING,
        begun_at=begun_at,
        checkpoint=None if told_at is None else 3,
        checkpoint_reported_at=told_at,
        interval_s=interval_s,
    )
    condition, now = NoCheckpoint(minutes), NOW + timedelta(seconds=later)
    found = judged(condition, facts, available_since=available_since, firing=firing, now=now)
    if isinstance(found, Firing):
        assert begun_at is not None and available_since is not None and interval_s is not None
        time = timedelta(minutes=minutes)
        assert all(now - at >= time for at in (begun_at, available_since, told_at) if at is not None)
        for hours in (1, 100):
            after = judged(condition, facts, available_since=available_since, firing=True, now=now + timedelta(hours=hours))
            assert isinstance(after, Firing), "nothing has happened since"
    told_now = replace(facts, checkpoint=4, checkpoint_reported_at=now)
    assert not isinstance(judged(condition, told_now, available_since=available_since, firing=firing, now=now), Firing)


# ---- failures ----------------------------------------------------------------------------------


def test_failures_in_a_row_and_failed_checkpoints_in_a_row_are_told_of() -> None:
    three = Failures(3)
    assert isinstance(judged(three, replace(RUNNING, failures=2, failed_checkpoints=2)), NotFiring)
    failed = replace(RUNNING, run_state=RunState.INITIALIZING, failures=3, last_failure_at=NOW)
    assert judged(three, failed) == Firing("the job has failed 3 times in a row, without a completed checkpoint in between")
    assert judged(three, replace(RUNNING, failed_checkpoints=4)) == Firing("4 checkpoints in a row have failed")
    assert judged(Failures(1), replace(failed, failures=1)) == Firing(
        "the job has failed once in a row, without a completed checkpoint in between"
    )


def test_a_job_that_runs_for_long_enough_after_failures_is_well_even_without_a_checkpoint() -> None:
    failed = replace(RUNNING, failures=3, last_failure_at=NOW - timedelta(seconds=300))
    assert judged(Failures(3), failed, firing=True) == NotFiring("the job runs again")
    assert isinstance(judged(Failures(3), replace(failed, last_failure_at=NOW - timedelta(seconds=299))), Firing)
    assert isinstance(judged(Failures(3), replace(failed, run_state=RunState.FAILED)), Firing), "it does not run at all"


def test_a_job_that_was_given_up_needs_a_person_however_few_its_failures() -> None:
    restarts_stopped_reason = replace(
        RUNNING,
        run_state=RunState.FAILED,
        failures=1,
        restarts_stopped_reason="another try would fail like this one:\nno such column",
    )
    assert judged(Failures(3), restarts_stopped_reason) == Firing(
        "Weir does not restart the job: another try would fail like this one: no such column"
    )


# ---- restarts ----------------------------------------------------------------------------------


def ago(*minutes: float) -> tuple[datetime, ...]:
    return tuple(NOW - one * MINUTE for one in minutes)


def test_restarts_are_counted_within_the_time_and_a_storm_is_over_when_it_is_half_of_one() -> None:
    storm = Restarts(count=4, minutes=10)
    assert judged(storm, replace(RUNNING, restarts=ago(1, 2, 3, 9.9))) == Firing("the job was restarted 4 times within 10 min")
    assert judged(storm, replace(RUNNING, restarts=ago(1, 2, 3, 10))) == NotFiring(
        "the job was restarted 3 times within the last 10 min"
    )
    assert isinstance(judged(storm, replace(RUNNING, restarts=ago(1, 2, 3, 10)), firing=True), Firing)
    assert isinstance(judged(storm, replace(RUNNING, restarts=ago(1, 2, 10, 11)), firing=True), NotFiring)


@given(
    gaps=st.lists(st.integers(1, 400), max_size=60), count=st.integers(1, 6), minutes=st.integers(1, 20)
)  # fmt: skip
def test_a_storm_begins_with_enough_restarts_and_ends_with_half_of_them(gaps: list[int], count: int, minutes: int) -> None:
    at, found = NOW, []
    for gap in gaps:
        at += timedelta(seconds=gap)
        found.append(at)
    condition, firing = Restarts(count, minutes), False
    end = at + timedelta(minutes=minutes + 1)
    moment = NOW
    while moment < end:
        known = tuple(one for one in found if one <= moment)
        within = sum(1 for one in known if moment - one < timedelta(minutes=minutes))
        verdict = judged(condition, replace(RUNNING, restarts=known), firing=firing, now=moment)
        if isinstance(verdict, Firing) and not firing:
            assert within >= count
        if isinstance(verdict, NotFiring) and firing:
            assert within <= count // 2
        firing = isinstance(verdict, Firing)
        assert firing or within < count, "a storm is never missed"
        moment += timedelta(seconds=15)
    assert not firing, "and it is over in the end"


# ---- lag ---------------------------------------------------------------------------------------


def behind(now: float, before: float | None, *, source: str = "in", unit: str = "records") -> AlertFacts:
    return replace(RUNNING, lags=(Lag(source, unit, now, before),))  # type: ignore[arg-type]  # both are words of Lag


def test_a_source_that_is_and_stays_too_far_behind_is_told_of() -> None:
    rule = LagAbove(records=1_000_000)
    assert judged(rule, behind(2_500_000, 1_500_000)) == Firing("source in is 2,500,000 records behind, more than 1,000,000")
    assert isinstance(judged(rule, behind(2_500_000, 900_000)), NotFiring), "it may catch up by itself"
    assert isinstance(judged(rule, behind(2_500_000, None)), NotFiring), "it has just begun to tell"
    assert isinstance(judged(rule, behind(1_000_000, 2_500_000)), NotFiring)
    assert isinstance(judged(LagAbove(seconds=30.5), behind(31, 31, unit="seconds")), Firing)
    assert isinstance(judged(rule, behind(9e9, 9e9, unit="seconds")), NotFiring), "another unit is another question"
    assert isinstance(judged(replace(rule, source="other"), behind(9e9, 9e9)), NotFiring)
    assert isinstance(judged(replace(rule, source="in"), behind(9e9, 9e9)), Firing)


def test_lag_that_hovers_at_the_limit_is_one_alert() -> None:
    rule = LagAbove(records=1_000)
    assert isinstance(judged(rule, behind(1_000 * LAG_RESOLVE_RATIO + 1, 1_000), firing=True), Firing)
    assert isinstance(judged(rule, behind(1_000 * LAG_RESOLVE_RATIO, 1_000), firing=True), NotFiring)


def test_a_job_whose_slots_are_silent_is_left_as_it_is_and_one_without_such_gauges_has_no_lag() -> None:
    assert judged(LagAbove(records=1), replace(RUNNING, lags=None), firing=True) == Unknown()
    assert isinstance(judged(LagAbove(records=1), replace(RUNNING, lags=()), firing=True), NotFiring)


# ---- all of them -------------------------------------------------------------------------------

ANY_CONDITION = st.one_of(
    st.builds(NoCheckpoint, st.integers(1, 1_440)),
    st.builds(Failures, st.integers(1, 100)),
    st.builds(Restarts, st.integers(1, 100), st.integers(1, 1_440)),
    st.builds(LagAbove, st.integers(1, 1_000), st.floats(0.1, 1_000), st.none() | st.just("in")),
)
ANY_FACTS = st.builds(
    AlertFacts,
    desired=st.sampled_from(DesiredState), run_state=st.none() | st.sampled_from(RunState), begun_at=st.none() | MOMENTS,
    checkpoint=st.none() | st.integers(1, 9), checkpoint_reported_at=st.none() | MOMENTS, interval_s=st.none() | st.floats(0.1, 10_000),
    reset_after_s=st.floats(1, 10_000), failures=st.integers(0, 100), last_failure_at=st.none() | MOMENTS,
    failed_checkpoints=st.integers(0, 100), restarts_stopped_reason=st.none() | st.text(), restarts=st.lists(MOMENTS, max_size=9).map(tuple),
    lags=st.none() | st.lists(
        st.builds(Lag, st.just("in"), st.sampled_from(["records", "seconds"]), st.floats(0, 2_000), st.none() | st.floats(0, 2_000)),
        max_size=3,
    ).map(tuple),
)  # fmt: skip


@given(ANY_CONDITION, ANY_FACTS, st.none() | MOMENTS, st.booleans())
def test_whatever_is_known_an_alert_begins_only_for_a_job_that_is_to_run_and_with_the_control_plane_there(
    condition: Condition, facts: AlertFacts, available_since: datetime | None, firing: bool
) -> None:
    found = judged(condition, facts, available_since=available_since, firing=firing)
    if isinstance(found, Firing):
        assert facts.desired is DesiredState.RUNNING and facts.run_state is not RunState.FINISHED and available_since is not None
        assert found.message and "\n" not in found.message
        assert isinstance(judged(condition, facts, available_since=available_since, firing=True), Firing), (
            "what begins an alert keeps it"
        )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (3_599, "59 min"), (3_600, "1 h"), (3_660, "1 h 1 min"), (90_000, "1 d 1 h")],
)
def test_times_are_told_in_the_two_largest_units(seconds: int, said: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == said
