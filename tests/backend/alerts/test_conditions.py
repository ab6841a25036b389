"""The conditions of alert rules, without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.backend.metrics.test_diagnosis import SLOW

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
    Unhealthy,
    Unknown,
    Verdict,
    evaluate,
)
from weir_backend.jobs.schemas import ReasonCode
from weir_backend.kit.durations import format_duration
from weir_backend.metrics.diagnosis import Diagnosis
from weir_backend.models import AlertKind, DesiredState, RunState

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3)
MINUTE = timedelta(minutes=1)
TEN_MINUTES = NoCheckpoint(minutes=10)
RUNNING = AlertFacts(
    desired=DesiredState.RUNNING,
    run_state=RunState.RUNNING,
    begun_at=LONG_AGO,
    checkpoint=17,
    checkpoint_reported_at=NOW - timedelta(seconds=8),
    interval_s=10.0,
    reset_after_s=300.0,
)


def verdict_of(
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


def test_each_kind_of_rule_has_a_condition() -> None:
    assert CONDITIONS.keys() == set(AlertKind)


# ---- no checkpoint -----------------------------------------------------------------------------


def test_an_alert_about_checkpoints_names_the_last_completed_checkpoint() -> None:
    assert verdict_of(TEN_MINUTES, RUNNING) == NotFiring("checkpoint 17 is completed")
    assert isinstance(verdict_of(TEN_MINUTES, late(9.9)), NotFiring)
    assert verdict_of(TEN_MINUTES, late(10)) == Firing("no checkpoint has completed since checkpoint 17, 10 min ago")
    assert verdict_of(TEN_MINUTES, late(90), firing=True) == Firing(
        "no checkpoint has completed since checkpoint 17, 1 h 30 min ago"
    )


def test_an_alert_fires_if_a_job_completes_no_checkpoint_after_its_start() -> None:
    never = replace(RUNNING, checkpoint=None, checkpoint_reported_at=None)
    assert verdict_of(TEN_MINUTES, replace(never, begun_at=NOW - 9 * MINUTE)) == NotFiring("the job was started")
    found = verdict_of(TEN_MINUTES, replace(never, begun_at=NOW - 11 * MINUTE))
    assert found == Firing("no checkpoint has completed since the job was started 11 min ago")


def test_a_start_by_a_user_resets_the_time_without_a_checkpoint() -> None:
    assert isinstance(verdict_of(TEN_MINUTES, replace(late(300), begun_at=NOW - 3 * MINUTE)), NotFiring)
    assert isinstance(verdict_of(TEN_MINUTES, replace(late(300), begun_at=NOW - 30 * MINUTE)), Firing)


def test_a_restart_after_a_failure_does_not_reset_the_time_without_a_checkpoint() -> None:
    """``begun_at`` refers to the last start by a user or a plan, so a new driver after a failure does not change ``begun_at``."""
    assert isinstance(verdict_of(TEN_MINUTES, replace(late(30), run_state=RunState.INITIALIZING)), Firing)


@pytest.mark.parametrize("state", [None, *RunState])
@pytest.mark.parametrize("desired", [DesiredState.SUSPENDED, DesiredState.CANCELLED])
def test_no_alert_fires_for_a_suspended_or_cancelled_job(desired: DesiredState, state: RunState | None) -> None:
    facts = replace(late(600), desired=desired, run_state=state, failures=50, failed_checkpoints=50, restarts=(NOW,) * 50)
    for condition in (TEN_MINUTES, Failures(1), Restarts(1, 10), LagAbove(records=1), Unhealthy()):
        assert verdict_of(condition, facts, firing=True) == NotFiring("the job was suspended or cancelled")


def test_no_alert_about_checkpoints_fires_for_a_job_that_is_not_expected_to_take_checkpoints() -> None:
    assert verdict_of(TEN_MINUTES, replace(late(600), run_state=RunState.FINISHED)) == NotFiring("the job has finished")
    assert isinstance(verdict_of(TEN_MINUTES, replace(late(600), begun_at=None)), NotFiring)
    assert isinstance(verdict_of(TEN_MINUTES, replace(late(600), interval_s=None)), NotFiring)


def test_an_alert_about_checkpoints_waits_for_at_least_two_checkpoint_intervals() -> None:
    hourly = replace(late(119), interval_s=3600.0)
    assert isinstance(verdict_of(TEN_MINUTES, hourly), NotFiring)
    assert isinstance(verdict_of(TEN_MINUTES, replace(late(120), interval_s=3600.0)), Firing)


def test_an_outage_of_the_control_plane_neither_fires_nor_resolves_an_alert() -> None:
    assert verdict_of(TEN_MINUTES, late(60), available_since=NOW - 9 * MINUTE) == Unknown()
    assert verdict_of(TEN_MINUTES, late(60), available_since=NOW - 9 * MINUTE, firing=True) == Unknown()
    assert verdict_of(TEN_MINUTES, late(60), available_since=None) == Unknown()
    assert isinstance(verdict_of(TEN_MINUTES, late(60), available_since=NOW - 10 * MINUTE), Firing)
    assert isinstance(verdict_of(TEN_MINUTES, RUNNING, available_since=NOW - MINUTE, firing=True), NotFiring), (
        "a new checkpoint always counts"
    )
    hourly = replace(late(240), interval_s=3600.0)
    assert verdict_of(TEN_MINUTES, hourly, available_since=NOW - 60 * MINUTE) == Unknown(), (
        "the outage ended less than two intervals ago"
    )


MOMENTS = st.integers(0, 10_000).map(lambda seconds: NOW - timedelta(seconds=seconds))


@given(
    minutes=st.integers(1, 120),
    begun_at=st.none() | MOMENTS,
    reported_at=st.none() | MOMENTS,
    available_since=st.none() | MOMENTS,
    interval_s=st.none() | st.floats(0.1, 10_000),
    later=st.integers(0, 100_000),
    firing=st.booleans(),
)
def test_an_alert_about_checkpoints_never_fires_early_and_resolves_only_after_a_checkpoint(
    minutes: int,
    begun_at: datetime | None,
    reported_at: datetime | None,
    available_since: datetime | None,
    interval_s: float | None,
    later: int,
    firing: bool,
) -> None:
    facts = replace(
        RUNNING,
        begun_at=begun_at,
        checkpoint=None if reported_at is None else 3,
        checkpoint_reported_at=reported_at,
        interval_s=interval_s,
    )
    condition, now = NoCheckpoint(minutes), NOW + timedelta(seconds=later)
    found = verdict_of(condition, facts, available_since=available_since, firing=firing, now=now)
    if isinstance(found, Firing):
        assert begun_at is not None and available_since is not None and interval_s is not None
        time = timedelta(minutes=minutes)
        assert all(now - at >= time for at in (begun_at, available_since, reported_at) if at is not None)
        for hours in (1, 100):
            after = verdict_of(condition, facts, available_since=available_since, firing=True, now=now + timedelta(hours=hours))
            assert isinstance(after, Firing), "the alert keeps firing if no new event arrives"
    new_checkpoint = replace(facts, checkpoint=4, checkpoint_reported_at=now)
    assert not isinstance(verdict_of(condition, new_checkpoint, available_since=available_since, firing=firing, now=now), Firing)


# ---- failures ----------------------------------------------------------------------------------


def test_an_alert_fires_for_consecutive_failures_of_the_job_or_of_its_checkpoints() -> None:
    three = Failures(3)
    assert isinstance(verdict_of(three, replace(RUNNING, failures=2, failed_checkpoints=2)), NotFiring)
    failed = replace(RUNNING, run_state=RunState.INITIALIZING, failures=3, last_failure_at=NOW)
    assert verdict_of(three, failed) == Firing("the job has failed 3 times without completing a checkpoint")
    assert verdict_of(three, replace(RUNNING, failed_checkpoints=4)) == Firing("4 checkpoints in a row have failed")
    assert verdict_of(Failures(1), replace(failed, failures=1)) == Firing(
        "the job has failed once without completing a checkpoint"
    )


def test_an_alert_about_failures_resolves_if_the_job_runs_for_long_enough() -> None:
    failed = replace(RUNNING, failures=3, last_failure_at=NOW - timedelta(seconds=300))
    assert verdict_of(Failures(3), failed, firing=True) == NotFiring("the job runs again")
    assert isinstance(verdict_of(Failures(3), replace(failed, last_failure_at=NOW - timedelta(seconds=299))), Firing)
    assert isinstance(verdict_of(Failures(3), replace(failed, run_state=RunState.FAILED)), Firing), (
        "the alert fires while the job does not run"
    )


def test_an_alert_about_failures_fires_even_below_its_limit_if_restarts_have_stopped() -> None:
    restarts_stopped_reason = replace(
        RUNNING,
        run_state=RunState.FAILED,
        failures=1,
        restarts_stopped_reason="the failure is permanent:\nno such column",
    )
    assert verdict_of(Failures(3), restarts_stopped_reason) == Firing(
        "Weir does not restart the job: the failure is permanent: no such column"
    )


# ---- restarts ----------------------------------------------------------------------------------


def ago(*minutes: float) -> tuple[datetime, ...]:
    return tuple(NOW - one * MINUTE for one in minutes)


def test_an_alert_about_restarts_resolves_only_at_half_of_its_limit() -> None:
    condition = Restarts(count=4, minutes=10)
    assert verdict_of(condition, replace(RUNNING, restarts=ago(1, 2, 3, 9.9))) == Firing(
        "the job was restarted 4 times within 10 min"
    )
    assert verdict_of(condition, replace(RUNNING, restarts=ago(1, 2, 3, 10))) == NotFiring(
        "the job was restarted 3 times within the last 10 min"
    )
    assert isinstance(verdict_of(condition, replace(RUNNING, restarts=ago(1, 2, 3, 10)), firing=True), Firing)
    assert isinstance(verdict_of(condition, replace(RUNNING, restarts=ago(1, 2, 10, 11)), firing=True), NotFiring)


@given(
    gaps=st.lists(st.integers(1, 400), max_size=60), count=st.integers(1, 6), minutes=st.integers(1, 20)
)  # fmt: skip
def test_with_random_restarts_an_alert_fires_at_its_limit_and_resolves_at_half_of_the_limit(
    gaps: list[int], count: int, minutes: int
) -> None:
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
        verdict = verdict_of(condition, replace(RUNNING, restarts=known), firing=firing, now=moment)
        if isinstance(verdict, Firing) and not firing:
            assert within >= count
        if isinstance(verdict, NotFiring) and firing:
            assert within <= count // 2
        firing = isinstance(verdict, Firing)
        assert firing or within < count, "the alert fires when the number of restarts reaches the limit"
        moment += timedelta(seconds=15)
    assert not firing, "the alert resolves if no further restart happens"


# ---- lag ---------------------------------------------------------------------------------------


def lagging(now: float, before: float | None, *, source: str = "in", unit: str = "records") -> AlertFacts:
    return replace(RUNNING, lags=(Lag(source, unit, now, before),))  # type: ignore[arg-type]  # the strings are literals of Lag


def test_an_alert_fires_if_the_lag_of_a_source_stays_above_the_limit() -> None:
    rule = LagAbove(records=1_000_000)
    assert verdict_of(rule, lagging(2_500_000, 1_500_000)) == Firing("source in is 2,500,000 records behind, more than 1,000,000")
    assert isinstance(verdict_of(rule, lagging(2_500_000, 900_000)), NotFiring), "one minute ago, the lag was below the limit"
    assert isinstance(verdict_of(rule, lagging(2_500_000, None)), NotFiring), "the lag one minute ago is unknown"
    assert isinstance(verdict_of(rule, lagging(1_000_000, 2_500_000)), NotFiring)
    assert isinstance(verdict_of(LagAbove(seconds=30.5), lagging(31, 31, unit="seconds")), Firing)
    assert isinstance(verdict_of(rule, lagging(9e9, 9e9, unit="seconds")), NotFiring), (
        "the unit of the lag differs from the unit of the limit"
    )
    assert isinstance(verdict_of(replace(rule, source="other"), lagging(9e9, 9e9)), NotFiring)
    assert isinstance(verdict_of(replace(rule, source="in"), lagging(9e9, 9e9)), Firing)


def test_an_alert_about_lag_resolves_only_if_the_lag_is_clearly_below_the_limit() -> None:
    rule = LagAbove(records=1_000)
    assert isinstance(verdict_of(rule, lagging(1_000 * LAG_RESOLVE_RATIO + 1, 1_000), firing=True), Firing)
    assert isinstance(verdict_of(rule, lagging(1_000 * LAG_RESOLVE_RATIO, 1_000), firing=True), NotFiring)


def test_an_alert_about_lag_is_unchanged_while_the_lag_is_unknown_and_resolves_if_there_are_no_lag_gauges() -> None:
    assert verdict_of(LagAbove(records=1), replace(RUNNING, lags=None), firing=True) == Unknown()
    assert isinstance(verdict_of(LagAbove(records=1), replace(RUNNING, lags=()), firing=True), NotFiring)


# ---- health ------------------------------------------------------------------------------------

SLOW_CHECKPOINT = replace(RUNNING, checkpoint_ms=52_600)
LIMITED = Diagnosis(bottleneck=replace(SLOW.diagnosis().bottleneck, since=NOW - 4 * MINUTE))  # type: ignore[type-var]  # SLOW has a bottleneck


def test_an_alert_fires_if_a_running_job_is_degraded_for_the_reason_of_the_rule() -> None:
    expected = Firing("Checkpoint 17 took 52 s; the checkpoint interval is 10 s")
    for rule in (Unhealthy("slow-checkpoints"), Unhealthy(None)):
        assert verdict_of(rule, SLOW_CHECKPOINT) == expected
        assert isinstance(verdict_of(rule, RUNNING), NotFiring)
        assert verdict_of(rule, replace(SLOW_CHECKPOINT, run_state=RunState.RESTARTING)) == NotFiring("the job is not running")
    assert verdict_of(Unhealthy("restarts"), SLOW_CHECKPOINT) == NotFiring("the reason no longer applies")
    assert verdict_of(Unhealthy(None), RUNNING) == NotFiring("the job is healthy")


def test_an_alert_about_a_bottleneck_resolves_only_when_the_bottleneck_has_disappeared() -> None:
    rule, limited = Unhealthy("bottleneck"), replace(RUNNING, diagnosis=LIMITED)
    assert isinstance(verdict_of(rule, limited), NotFiring), (
        "neither the lag nor the checkpoints show that the bottleneck matters"
    )
    growing = replace(limited, diagnosis=replace(LIMITED, lag_grows=True))
    assert verdict_of(rule, growing) == Firing(
        "slow is the bottleneck: busy 100 % for 4 min, and its input is backpressured; the lag of the sources grows"
    )
    assert isinstance(verdict_of(rule, limited, firing=True), Firing)
    assert isinstance(verdict_of(rule, RUNNING, firing=True), NotFiring)


def test_an_alert_about_health_does_not_change_until_drivers_can_report_again_after_an_outage() -> None:
    rule = Unhealthy("no-checkpoint")
    assert isinstance(verdict_of(rule, late(3)), Firing)
    assert verdict_of(rule, late(3), available_since=NOW - timedelta(seconds=59), firing=True) == Unknown()
    assert isinstance(verdict_of(rule, late(3), available_since=NOW - timedelta(seconds=59)), NotFiring)
    assert isinstance(verdict_of(rule, RUNNING, available_since=NOW - MINUTE, firing=True), NotFiring)


# ---- all conditions ----------------------------------------------------------------------------

ANY_CONDITION = st.one_of(
    st.builds(NoCheckpoint, st.integers(1, 1_440)),
    st.builds(Failures, st.integers(1, 100)),
    st.builds(Restarts, st.integers(1, 100), st.integers(1, 1_440)),
    st.builds(LagAbove, st.integers(1, 1_000), st.floats(0.1, 1_000), st.none() | st.just("in")),
    st.builds(Unhealthy, st.none() | st.sampled_from(ReasonCode)),
)
ANY_FACTS = st.builds(
    AlertFacts,
    desired=st.sampled_from(DesiredState), run_state=st.none() | st.sampled_from(RunState), begun_at=st.none() | MOMENTS,
    checkpoint=st.none() | st.integers(1, 9), checkpoint_reported_at=st.none() | MOMENTS, interval_s=st.none() | st.floats(0.1, 10_000),
    reset_after_s=st.floats(1, 10_000), failures=st.integers(0, 100), last_failure_at=st.none() | MOMENTS,
    failed_checkpoints=st.integers(0, 100), restarts_stopped_reason=st.none() | st.text(), restarts=st.lists(MOMENTS, max_size=9).map(tuple),
    checkpoint_ms=st.none() | st.integers(0, 100_000), diagnosis=st.sampled_from([Diagnosis(), SLOW.diagnosis()]),
    lags=st.none() | st.lists(
        st.builds(Lag, st.just("in"), st.sampled_from(["records", "seconds"]), st.floats(0, 2_000), st.none() | st.floats(0, 2_000)),
        max_size=3,
    ).map(tuple),
)  # fmt: skip


@given(ANY_CONDITION, ANY_FACTS, st.none() | MOMENTS, st.booleans())
def test_an_alert_fires_only_while_the_desired_state_is_running_and_the_control_plane_is_available(
    condition: Condition, facts: AlertFacts, available_since: datetime | None, firing: bool
) -> None:
    found = verdict_of(condition, facts, available_since=available_since, firing=firing)
    if isinstance(found, Firing):
        assert facts.desired is DesiredState.RUNNING and facts.run_state is not RunState.FINISHED and available_since is not None
        assert found.message and "\n" not in found.message
        assert isinstance(verdict_of(condition, facts, available_since=available_since, firing=True), Firing), (
            "an alert keeps firing while its facts do not change"
        )


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (3_599, "59 min"), (3_600, "1 h"), (3_660, "1 h 1 min"), (90_000, "1 d 1 h")],
)
def test_a_duration_is_shown_in_its_two_largest_units(seconds: int, expected: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == expected
