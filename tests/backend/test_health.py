"""The health of a job, without a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.backend.metrics.test_diagnosis import SLOW, STUCK, THREE, Load, Scenario

from weir_backend.jobs.health import HealthReason, JobHealth, RunningFacts, job_health, running_reasons
from weir_backend.jobs.schemas import Health, ReasonCode
from weir_backend.metrics.diagnosis import diagnose
from weir_backend.models import DesiredState, RunState, SpecState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3)
WELL = RunningFacts(
    begun_at=LONG_AGO, checkpoint=17, checkpoint_reported_at=NOW - timedelta(seconds=8), checkpoint_ms=40, interval_s=10.0
)


def reasons_of(facts: RunningFacts, *, available_since: datetime | None = LONG_AGO) -> dict[str, str]:
    return {one.code.value: one.text for one in running_reasons(facts, available_since=available_since, now=NOW)}


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def test_a_job_with_recent_fast_checkpoints_is_healthy() -> None:
    assert reasons_of(WELL) == {}


def test_a_job_without_a_recent_checkpoint_is_degraded() -> None:
    assert reasons_of(replace(WELL, checkpoint_reported_at=ago(seconds=59))) == {}, "no checkpoint is missing before one minute"
    assert reasons_of(replace(WELL, checkpoint_reported_at=ago(minutes=3))) == {
        "no-checkpoint": "No checkpoint has completed since checkpoint 17, 3 min ago; the checkpoint interval is 10 s."
    }
    never = replace(WELL, checkpoint=None, checkpoint_reported_at=None, checkpoint_ms=None, interval_s=600.0)
    assert reasons_of(replace(never, begun_at=ago(minutes=29))) == {}, "a checkpoint is missing after three intervals"
    assert reasons_of(replace(never, begun_at=ago(minutes=30))) == {
        "no-checkpoint": "No checkpoint has completed since the job was started 30 min ago; the checkpoint interval is 10 min."
    }


def test_a_missing_checkpoint_is_no_reason_if_none_is_expected_or_the_driver_could_not_report_it() -> None:
    late = replace(WELL, checkpoint_reported_at=ago(hours=3))
    assert reasons_of(late) != {} == reasons_of(replace(late, interval_s=None)) == reasons_of(replace(late, begun_at=None))
    assert reasons_of(late, available_since=None) == reasons_of(late, available_since=ago(seconds=50)) == {}
    assert reasons_of(replace(late, begun_at=ago(seconds=20))) == {}, "the job was started again"


@pytest.mark.parametrize(
    ("interval_s", "took_ms", "slow"),
    [(10.0, 20_000, False), (10.0, 20_001, True), (1.0, 10_000, False), (1.0, 10_001, True), (None, 10**6, False), (10.0, None, False)],
)  # fmt: skip
def test_a_job_is_degraded_if_its_newest_checkpoint_took_longer_than_two_intervals(
    interval_s: float | None, took_ms: int | None, slow: bool
) -> None:
    assert ("slow-checkpoints" in reasons_of(replace(WELL, interval_s=interval_s, checkpoint_ms=took_ms))) is slow


def test_a_slow_checkpoint_is_a_reason_unless_it_is_older_than_the_newest_start_of_the_job() -> None:
    slow = replace(WELL, checkpoint_ms=52_600)
    assert reasons_of(slow) == {"slow-checkpoints": "Checkpoint 17 took 52 s; the checkpoint interval is 10 s."}
    assert reasons_of(replace(slow, begun_at=ago(seconds=2))) == {}


def test_failed_checkpoints_and_restarts_make_a_job_degraded() -> None:
    assert reasons_of(replace(WELL, failed_checkpoints=1)) == {}
    assert reasons_of(replace(WELL, failed_checkpoints=2)) == {"failed-checkpoints": "2 checkpoints in a row have failed."}
    assert reasons_of(replace(WELL, restarts=(ago(minutes=1), ago(minutes=10)))) == {}
    assert reasons_of(replace(WELL, restarts=(ago(minutes=1), ago(minutes=9)))) == {
        "restarts": "The job was restarted 2 times within the last 10 min."
    }


def test_a_bottleneck_makes_a_job_degraded_only_together_with_growing_lag_or_late_checkpoints() -> None:
    limited = replace(WELL, diagnosis=SLOW.diagnosis())
    sentence = "slow is the bottleneck: busy 100 % for 4 min, and its input is backpressured"
    assert reasons_of(limited) == {}, "the job processes records as fast as it can"
    assert reasons_of(replace(limited, checkpoint_ms=52_600))["bottleneck"] == f"{sentence}; checkpoints are late."
    assert (
        reasons_of(replace(limited, checkpoint_reported_at=ago(minutes=3)))["bottleneck"] == f"{sentence}; checkpoints are late."
    )
    lagging = replace(SLOW, lag={"read.lag_records": (0, 10)})
    assert reasons_of(replace(WELL, diagnosis=lagging.diagnosis())) == {
        "bottleneck": "slow is the bottleneck: busy 100 % for 4 min, its input is backpressured, and the sources are 3,000 records behind; "
        "the lag of the sources grows."
    }
    just_now = diagnose(lagging.samples()[-12:], lagging.deployed(), now=NOW)
    assert just_now.bottleneck is not None and just_now.lag_grows
    assert reasons_of(replace(WELL, diagnosis=just_now)) == {}, "the bottleneck is too recent"


def test_a_chain_that_processes_no_records_makes_a_job_degraded() -> None:
    stuck = Scenario(THREE, [[Load(0.1, backpressured=0.9)], [STUCK], [Load(records_in=0)]])
    assert reasons_of(replace(WELL, diagnosis=stuck.diagnosis())) == {
        "no-throughput": "slow has processed no records for 4 min, although records wait in its input."
    }


# ---- all states --------------------------------------------------------------------------------


def health_of(state: RunState | None, **more: Any) -> JobHealth:
    known: dict[str, Any] = {
        "desired": DesiredState.RUNNING, "spec_state": SpecState.VALID, "spec_problem": None, "run_state": state, "run_reason": "",
        "restarts_stopped_reason": None, "restart_at": None,
    }  # fmt: skip
    return job_health(**known | more)


REASON = HealthReason(ReasonCode.SLOW_CHECKPOINTS, "Checkpoint 17 took 52 s.")


def test_a_running_job_is_degraded_for_all_its_reasons() -> None:
    other = HealthReason(ReasonCode.RESTARTS, "The job was restarted 2 times.")
    assert health_of(RunState.RUNNING) == JobHealth(RunState.RUNNING, Health.HEALTHY, "")
    assert health_of(RunState.RUNNING, running=(REASON, other)) == JobHealth(
        RunState.RUNNING,
        Health.DEGRADED,
        "Checkpoint 17 took 52 s. The job was restarted 2 times.",
        (REASON, other),
    )
    suspending = health_of(RunState.RUNNING, running=(REASON,), desired=DesiredState.SUSPENDED)
    assert [one.code for one in suspending.reasons] == ["stopping"]


@pytest.mark.parametrize(
    ("state", "more", "health", "code"),
    [
        (None, {"spec_state": SpecState.INVALID, "spec_problem": "no"}, Health.NEEDS_ATTENTION, ReasonCode.INVALID_CODE),
        (RunState.FAILED, {"restarts_stopped_reason": "ten failures"}, Health.NEEDS_ATTENTION, ReasonCode.RESTARTS_STOPPED),
        (RunState.RECONCILING, {}, Health.DEGRADED, ReasonCode.DRIVER_UNREACHABLE),
        (RunState.FAILED, {"restart_at": NOW}, Health.DEGRADED, ReasonCode.RESTART_SCHEDULED),
        (None, {"spec_state": SpecState.COMPILING}, Health.DEGRADED, ReasonCode.COMPILING),
        (RunState.INITIALIZING, {}, Health.DEGRADED, ReasonCode.NOT_RUNNING),
        (RunState.RESTARTING, {"run_reason": "slot 2 was lost"}, Health.DEGRADED, ReasonCode.NOT_RUNNING),
        (RunState.CANCELLING, {"desired": DesiredState.CANCELLED}, Health.DEGRADED, ReasonCode.STOPPING),
    ],
)
def test_each_unhealthy_state_has_a_reason_with_a_code(
    state: RunState | None, more: dict[str, Any], health: Health, code: ReasonCode
) -> None:
    found = health_of(state, **more)
    assert (found.health, [one.code for one in found.reasons]) == (health, [code])
    assert found.reason == found.reasons[0].text != ""
