"""The state and health of a job. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from weir_backend.jobs.schemas import Health, ReasonCode
from weir_backend.kit.durations import format_duration
from weir_backend.metrics.diagnosis import Diagnosis, bottleneck_sentence, stall_sentence
from weir_backend.models import DesiredState, RunState, SpecState

_TRANSITIONAL = frozenset(
    {RunState.CREATED, RunState.INITIALIZING, RunState.RESTARTING, RunState.FAILING, RunState.CANCELLING, RunState.RECONCILING}
)
_STARTING = frozenset({RunState.CREATED, RunState.INITIALIZING})
NO_CHECKPOINT_INTERVALS, NO_CHECKPOINT_MIN = 3, timedelta(minutes=1)
"""A running job is degraded if no checkpoint has completed for ``NO_CHECKPOINT_INTERVALS`` checkpoint intervals or for ``NO_CHECKPOINT_MIN``,
whichever is longer."""
SLOW_CHECKPOINT_INTERVALS, SLOW_CHECKPOINT_MIN = 2, timedelta(seconds=10)
"""A checkpoint is slow if it takes longer than ``SLOW_CHECKPOINT_INTERVALS`` checkpoint intervals, and longer than ``SLOW_CHECKPOINT_MIN``."""
FAILED_CHECKPOINTS_MIN = 2
RESTARTS_MIN, RESTARTS_WITHIN = 2, timedelta(minutes=10)
"""One restart does not make a job degraded, because Weir has handled the failure."""
BOTTLENECK_AFTER = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class HealthReason:
    """``text`` is one or more sentences."""

    code: ReasonCode
    text: str


@dataclass(frozen=True, slots=True)
class JobHealth:
    """``reasons`` is empty if the job is healthy. ``reason`` is the text of the reasons, or why the newest run of a stopped job failed."""

    state: RunState
    health: Health
    reason: str
    reasons: tuple[HealthReason, ...] = ()


def job_health(
    *,
    desired: DesiredState,
    spec_state: SpecState,
    spec_problem: str | None,
    run_state: RunState | None,
    run_reason: str,
    restarts_stopped_reason: str | None,
    restart_at: datetime | None,
    running: tuple[HealthReason, ...] = (),
) -> JobHealth:
    """Return the state of a job, its health, and the reasons for its health. ``run_state`` is the state of the newest run, or None if the job has
    no run. ``running`` is the result of ``running_reasons``, for a job that is running."""
    state = run_state or RunState.CREATED
    if desired is DesiredState.RUNNING:
        if spec_state is SpecState.INVALID and run_state is None:
            return _unhealthy(
                state, Health.NEEDS_ATTENTION, ReasonCode.INVALID_CODE, f"The code does not compile: {spec_problem}"
            )
        if restarts_stopped_reason is not None:
            return _unhealthy(state, Health.NEEDS_ATTENTION, ReasonCode.RESTARTS_STOPPED, restarts_stopped_reason)
        if state is RunState.RECONCILING:
            text = "The driver is unreachable. Weir is checking whether the driver is running."
            return _unhealthy(state, Health.DEGRADED, ReasonCode.DRIVER_UNREACHABLE, text)
        if state is RunState.RUNNING and running:
            return JobHealth(state, Health.DEGRADED, " ".join(one.text for one in running), running)
        if state in (RunState.RUNNING, RunState.FINISHED):
            return JobHealth(state, Health.HEALTHY, "")
        if state is RunState.FAILED and restart_at is not None:
            text = f"The job failed and will restart soon: {run_reason}"
            return _unhealthy(state, Health.DEGRADED, ReasonCode.RESTART_SCHEDULED, text)
        if spec_state is SpecState.COMPILING and run_state is None:
            return _unhealthy(state, Health.DEGRADED, ReasonCode.COMPILING, "A worker is compiling the user code.")
        text = run_reason or ("The job is starting." if state in _STARTING else f"The job is {state.value}.")
        return _unhealthy(state, Health.DEGRADED, ReasonCode.NOT_RUNNING, text)
    if state in _TRANSITIONAL or state is RunState.RUNNING:
        if run_state is None:
            return JobHealth(state, Health.HEALTHY, "")
        return _unhealthy(state, Health.DEGRADED, ReasonCode.STOPPING, "The job is stopping.")
    return JobHealth(state, Health.HEALTHY, run_reason if state is RunState.FAILED else "")


def _unhealthy(state: RunState, health: Health, code: ReasonCode, text: str) -> JobHealth:
    return JobHealth(state, health, text, (HealthReason(code, text),))


# ---- running jobs ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningFacts:
    """The facts about a running job. Times are by the clock of the control plane, unless stated otherwise.

    ``begun_at`` is the time at which the job first reached RUNNING after its last start by a user or a plan. Until the job reaches RUNNING,
    ``begun_at`` is the time of the start. ``begun_at`` is None if the job was never started. A restart after a failure does not count as a
    start. ``checkpoint_ms`` is the end-to-end duration of the newest completed checkpoint ``checkpoint``. ``interval_s`` is the larger of the
    checkpoint interval and the minimum pause, or None if the job takes no periodic checkpoints. ``failed_checkpoints`` is counted since the
    last completed checkpoint or since ``begun_at``, whichever is later. ``restarts`` contains one time for each restart: the time by the
    clock of the driver, or the time at which the control plane received the report, whichever is earlier."""

    begun_at: datetime | None
    checkpoint: int | None
    checkpoint_reported_at: datetime | None
    interval_s: float | None
    checkpoint_ms: int | None = None
    failed_checkpoints: int = 0
    restarts: tuple[datetime, ...] = ()
    diagnosis: Diagnosis = Diagnosis()


def running_reasons(facts: RunningFacts, *, available_since: datetime | None, now: datetime) -> tuple[HealthReason, ...]:
    """Return why a running job is degraded, or an empty tuple. ``available_since`` is the time since which drivers have been able to report
    checkpoints. It is None while drivers cannot report checkpoints."""
    found: list[HealthReason] = []
    slow = _slow_checkpoint(facts)
    late = _no_checkpoint(facts, available_since, now)
    bottleneck = facts.diagnosis.bottleneck
    if late is not None:
        found.append(HealthReason(ReasonCode.NO_CHECKPOINT, late))
    if facts.failed_checkpoints >= FAILED_CHECKPOINTS_MIN:
        text = f"{facts.failed_checkpoints} checkpoints in a row have failed."
        found.append(HealthReason(ReasonCode.FAILED_CHECKPOINTS, text))
    if slow is not None:
        found.append(HealthReason(ReasonCode.SLOW_CHECKPOINTS, slow))
    if facts.diagnosis.stall is not None:
        found.append(HealthReason(ReasonCode.NO_THROUGHPUT, stall_sentence(facts.diagnosis.stall, now)))
    if bottleneck is not None and now - bottleneck.since >= BOTTLENECK_AFTER:
        effects = ["the lag of the sources grows"] if facts.diagnosis.lag_grows else []
        effects += ["checkpoints are late"] if slow is not None or late is not None else []
        if effects:
            text = f"{bottleneck_sentence(facts.diagnosis, now).removesuffix('.')}; {' and '.join(effects)}."
            found.append(HealthReason(ReasonCode.BOTTLENECK, text))
    restarts = sum(1 for at in facts.restarts if now - at < RESTARTS_WITHIN)
    if restarts >= RESTARTS_MIN:
        text = f"The job was restarted {restarts} times within the last {format_duration(RESTARTS_WITHIN)}."
        found.append(HealthReason(ReasonCode.RESTARTS, text))
    return tuple(found)


def checkpoint_patience(interval_s: float) -> timedelta:
    """Return how long a healthy job can be without a new checkpoint."""
    return max(NO_CHECKPOINT_MIN, timedelta(seconds=NO_CHECKPOINT_INTERVALS * interval_s))


def _no_checkpoint(facts: RunningFacts, available_since: datetime | None, now: datetime) -> str | None:
    if facts.interval_s is None or facts.begun_at is None or available_since is None:
        return None
    reported_at = facts.checkpoint_reported_at
    since = max(facts.begun_at, reported_at) if reported_at is not None else facts.begun_at
    if now - max(since, available_since) < checkpoint_patience(facts.interval_s):
        return None
    interval = f"the checkpoint interval is {_interval(facts.interval_s)}."
    if since == reported_at:
        return f"No checkpoint has completed since checkpoint {facts.checkpoint}, {format_duration(now - since)} ago; {interval}"
    return f"No checkpoint has completed since the job was started {format_duration(now - since)} ago; {interval}"


def _slow_checkpoint(facts: RunningFacts) -> str | None:
    if facts.interval_s is None or facts.checkpoint_ms is None or facts.begun_at is None or facts.checkpoint_reported_at is None:
        return None
    took = timedelta(milliseconds=facts.checkpoint_ms)
    limit = max(SLOW_CHECKPOINT_MIN, timedelta(seconds=SLOW_CHECKPOINT_INTERVALS * facts.interval_s))
    if took <= limit or facts.checkpoint_reported_at < facts.begun_at:
        return None
    return (
        f"Checkpoint {facts.checkpoint} took {format_duration(took)}; the checkpoint interval is {_interval(facts.interval_s)}."
    )


def _interval(interval_s: float) -> str:
    return f"{interval_s:g} s" if interval_s < 120 else format_duration(timedelta(seconds=interval_s))
