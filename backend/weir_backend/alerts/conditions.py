"""Decide whether a rule holds for a job. The functions are pure and use neither clock nor database.

A verdict is firing, not firing or unknown. An unknown verdict neither raises nor resolves an alert. For example, the verdict for
a running job is unknown while the API or the workers are unavailable, because reports of the driver are then missing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias, assert_never

from weir_backend.jobs.health import RunningFacts, checkpoint_patience, running_reasons
from weir_backend.jobs.schemas import ReasonCode
from weir_backend.kit.durations import format_duration
from weir_backend.metrics.diagnosis import bottleneck_sentence
from weir_backend.models import AlertKind, DesiredState, RunState

INTERVALS_MISSED = 2
"""Weir raises an alert about missing checkpoints only after ``INTERVALS_MISSED`` checkpoint intervals without a completed checkpoint.
``INTERVALS_MISSED`` is a lower limit: a rule can set a longer time, but a shorter time has no effect."""
LAG_RESOLVE_RATIO = 0.8
"""An alert about lag is resolved only when the lag falls to ``LAG_RESOLVE_RATIO`` times the limit. If the alert were resolved at the limit
itself, a lag near the limit would raise an alert every minute."""
REASON_CHARACTERS_MAX = 300
LAG_DURATION = timedelta(minutes=1)
"""A rule about lag fires only if the lag is above the limit both now and ``LAG_DURATION`` ago, so that short peaks raise no
alert."""


@dataclass(frozen=True, slots=True)
class NoCheckpoint:
    minutes: int


@dataclass(frozen=True, slots=True)
class Failures:
    count: int


@dataclass(frozen=True, slots=True)
class LagAbove:
    """Limits for the lag of the source with uid ``source``, or of any source if ``source`` is None. At least one of ``records`` and
    ``seconds`` is set."""

    records: int | None = None
    seconds: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Restarts:
    count: int
    minutes: int


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """The job is running and degraded for ``reason``, or for any reason if ``reason`` is None."""

    reason: str | None = None


Condition: TypeAlias = NoCheckpoint | Failures | LagAbove | Restarts | Unhealthy
CONDITIONS: dict[AlertKind, type[Condition]] = {
    AlertKind.NO_CHECKPOINT: NoCheckpoint,
    AlertKind.FAILURES: Failures,
    AlertKind.LAG: LagAbove,
    AlertKind.RESTARTS: Restarts,
    AlertKind.HEALTH: Unhealthy,
}


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a source, over all its subtasks.

    ``before`` is the value that the lag had ``LAG_DURATION`` ago, or None if that value is unknown.
    """

    source: str
    unit: Literal["records", "seconds"]
    now: float
    before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertFacts(RunningFacts):
    """The facts about a job that the rules need. Times are by the clock of the control plane, unless stated otherwise.

    ``run_state`` is the state of the newest run. ``failures`` is counted since the last completed checkpoint or since ``begun_at``, whichever is
    later. ``restarts_stopped_reason`` is the reason why Weir does not restart the job, if any. The ``diagnosis`` is loaded only if a rule
    needs it."""

    desired: DesiredState
    run_state: RunState | None
    reset_after_s: float
    failures: int = 0
    last_failure_at: datetime | None = None
    restarts_stopped_reason: str | None = None
    lags: tuple[Lag, ...] | None = None
    """The lag of each source. ``lags`` is None if the slots have not reported recently, or if no rule is about lag."""


@dataclass(frozen=True, slots=True)
class Firing:
    """The condition holds. ``message`` is one sentence, without the name of the job."""

    message: str


@dataclass(frozen=True, slots=True)
class NotFiring:
    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """It is unknown whether the condition holds, so a firing alert continues to fire and no new alert is raised."""


Verdict: TypeAlias = Firing | NotFiring | Unknown


def evaluate(
    condition: Condition, facts: AlertFacts, *, available_since: datetime | None, firing: bool, now: datetime
) -> Verdict:
    """Return whether the condition holds. ``available_since`` is the time since which the API and the workers have been available, or None if
    one of them is unavailable."""
    if facts.desired is not DesiredState.RUNNING:
        return NotFiring("the job was suspended or cancelled")
    if facts.run_state is RunState.FINISHED:
        return NotFiring("the job has finished")
    if available_since is None:
        return Unknown()
    match condition:
        case NoCheckpoint(minutes):
            return _no_checkpoint(timedelta(minutes=minutes), facts, available_since, now)
        case Failures(count):
            return _failures(count, facts, now)
        case LagAbove():
            return _lag(condition, facts, firing)
        case Restarts(count, minutes):
            return _restarts(count, timedelta(minutes=minutes), facts, firing, now)
        case Unhealthy(reason):
            return _health(reason, facts, available_since, firing, now)
        case _:
            assert_never(condition)


def _no_checkpoint(time: timedelta, facts: AlertFacts, available_since: datetime, now: datetime) -> Verdict:
    if facts.interval_s is None:
        return NotFiring("the job takes no periodic checkpoints")
    if facts.begun_at is None:
        return NotFiring("the job has not started")
    patience = max(time, timedelta(seconds=INTERVALS_MISSED * facts.interval_s))
    reported_at = facts.checkpoint_reported_at
    since = max(facts.begun_at, reported_at) if reported_at is not None else facts.begun_at
    if now - since < patience:
        return NotFiring(f"checkpoint {facts.checkpoint} is completed" if since == reported_at else "the job was started")
    if now - available_since < patience:
        return Unknown()
    if since == reported_at:
        return Firing(f"no checkpoint has completed since checkpoint {facts.checkpoint}, {format_duration(now - since)} ago")
    return Firing(f"no checkpoint has completed since the job was started {format_duration(now - since)} ago")


def _failures(count: int, facts: AlertFacts, now: datetime) -> Verdict:
    if facts.restarts_stopped_reason is not None:
        # Fire even if the job has failed less often than the count in the rule, because a job that is not restarted cannot fail
        # again.
        return Firing(f"Weir does not restart the job: {' '.join(facts.restarts_stopped_reason.split())[:REASON_CHARACTERS_MAX]}")
    if facts.failures >= count and not _is_well(facts, now):
        return Firing(f"the job has failed {_times(facts.failures)} without completing a checkpoint")
    if facts.failed_checkpoints >= count:
        return Firing(f"{facts.failed_checkpoints} checkpoints in a row have failed")
    return NotFiring("the job runs again")


def _is_well(facts: AlertFacts, now: datetime) -> bool:
    """Return whether the job has run without a failure for so long that its restart strategy resets the count of restarts."""
    if facts.run_state is not RunState.RUNNING or facts.last_failure_at is None:
        return False
    return now - facts.last_failure_at >= timedelta(seconds=facts.reset_after_s)


def _lag(condition: LagAbove, facts: AlertFacts, firing: bool) -> Verdict:
    if facts.lags is None:
        return Unknown()
    limits = {"records": condition.records, "seconds": condition.seconds}
    for lag in facts.lags:
        limit = limits[lag.unit]
        if limit is None or condition.source not in (None, lag.source):
            continue
        lasts = (
            lag.now > LAG_RESOLVE_RATIO * limit if firing else lag.now > limit and lag.before is not None and lag.before > limit
        )
        if lasts:
            return Firing(
                f"source {lag.source} is {_number(lag.now)} {lag.unit} behind, more than {_number(LAG_RESOLVE_RATIO * limit if firing else limit)}"
            )
    return NotFiring("the sources have caught up")


def _restarts(count: int, time: timedelta, facts: AlertFacts, firing: bool, now: datetime) -> Verdict:
    found = sum(1 for at in facts.restarts if now - at < time)
    # Resolve the alert only when the number of restarts falls to half the ``count`` of the rule. If the alert were resolved as soon
    # as the number falls below ``count``, the next restart could raise another alert.
    if found >= count or (firing and found > count // 2):
        return Firing(f"the job was restarted {_times(found)} within {format_duration(time)}")
    return NotFiring(f"the job was restarted {_times(found)} within the last {format_duration(time)}")


def _health(reason: str | None, facts: AlertFacts, available_since: datetime, firing: bool, now: datetime) -> Verdict:
    if facts.run_state is not RunState.RUNNING:
        # The rules about failures and missing checkpoints cover jobs that do not run.
        return NotFiring("the job is not running")
    found = [one for one in running_reasons(facts, available_since=available_since, now=now) if reason in (None, one.code)]
    if found:
        return Firing(found[0].text.removesuffix("."))
    if firing and reason == ReasonCode.BOTTLENECK and facts.diagnosis.bottleneck is not None:
        # Resolve the alert only when the bottleneck has disappeared. Otherwise, Weir would resolve the alert each time the lag stops growing for a
        # minute.
        return Firing(bottleneck_sentence(facts.diagnosis, now).removesuffix("."))
    if firing and now - available_since < checkpoint_patience(facts.interval_s or 0):
        return Unknown()
    return NotFiring("the reason no longer applies" if reason is not None else "the job is healthy")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
