"""Decide the next step for one job. The functions are pure and use neither clock nor database.

A decision can be computed at any time and repeatedly. If the reconciler crashes while it executes a decision, the next decision is still correct,
because its facts contain all steps that were executed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar, assert_never

from weir_backend.models import DesiredState, RunState, SpecState
from weir_backend.runs.start import RunStart

SUBMIT_RETRY = timedelta(seconds=20)
"""If the driver of a run does not report within ``SUBMIT_RETRY`` after the submission, the run is submitted again. If a run is submitted twice,
the launcher still starts only one driver."""
FIRST_RUN_RESTARTS_MAX = 2
"""The maximum number of restarts for a version of the spec that has never reached RUNNING. The maximum is low, because the user who has just
deployed the version is waiting for the result."""
CANCEL_TIMEOUT = timedelta(seconds=60)
"""A worker kills a driver that does not stop within ``CANCEL_TIMEOUT`` after the command to cancel. A driver that exceeds ``CANCEL_TIMEOUT``
hangs or cannot receive the command. Killing a driver is safe, because the next driver of the job fences it through the job log."""
FENCED_FOR = timedelta(days=1)
"""For ``FENCED_FOR`` after the reassignment of a job, workers check whether the old driver of the job is still running."""
HOST_UNREACHABLE_AFTER = timedelta(minutes=5)
"""The host of a run is unreachable if neither the workers of the host nor the driver of the run have contacted the control plane for
``HOST_UNREACHABLE_AFTER``. Weir reassigns the jobs of an unreachable host. ``HOST_UNREACHABLE_AFTER`` is longer than the restart of a host, so
that a restart causes no reassignment."""
HANGING_AFTER_INTERVALS = 3
"""An unreachable driver counts as hanging if it has completed no checkpoint for ``HANGING_AFTER_INTERVALS`` checkpoint intervals plus the
checkpoint timeout."""
CHECKPOINT_TIMEOUT_MIN = timedelta(minutes=10)
"""The minimum time that ``is_hanging`` allows for a checkpoint. ``is_hanging`` uses this minimum instead of a shorter checkpoint timeout of the
job, because the checkpoint timeout does not include writing the log entry."""
PERMANENT_FAILURES = frozenset({"ConfigError", "GraphError", "RestoreError", "ProtocolError"})
"""The kinds of errors that a restart does not fix."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """See ``jobs.spec.RestartStrategy``."""

    attempts: int
    initial_s: float
    max_s: float
    multiplier: float
    reset_after_s: float

    def delay_s(self, restarts: int) -> float:
        """Return the delay before the next restart, after ``restarts`` consecutive restarts."""
        # Limit the exponent, because a larger power could overflow a float.
        return float(min(self.max_s, self.initial_s * self.multiplier ** min(restarts, 64)))


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A live run: a run that has not ended. ``seen`` is True if the driver of the run has reported, or if a worker has recorded the driver
    process. ``commands`` contains the kinds of the commands that were sent to the driver, except commands that the driver has refused."""

    state: RunState
    submitted_at: datetime | None
    seen: bool
    commands: frozenset[str]
    ran: bool = False
    """True if the run has reached RUNNING."""


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run of a job, if this run has ended. ``kind`` is the class of the error that made the run fail, or '' if the class is
    unknown."""

    state: RunState
    kind: str
    reason: str
    running_at: datetime | None
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class JobFacts:
    desired: DesiredState
    spec_state: SpecState
    spec_problem: str | None
    live: LiveRun | None
    last: LastRun | None
    """The newest run of the job, if this run has ended. ``last`` is None if the job has a live run or has never had a run."""
    restarts: int
    restart_at: datetime | None
    restarts_stopped_reason: str | None
    strategy: Strategy
    has_run: bool = True
    """True if any run with the job's current spec version has reached RUNNING."""
    start: RunStart = RunStart()
    """The start point of the next run."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing before the time ``until``, or before the next event if ``until`` is None. ``why`` is the reason why the job is not in its
    desired state yet, or '' if no explanation is needed."""

    until: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class BeginRun:
    """Create the next run."""

    cause: str
    start: RunStart = RunStart()


@dataclass(frozen=True, slots=True)
class Submit:
    """Have a worker start the driver of the live run."""


@dataclass(frozen=True, slots=True)
class GiveCommand:
    """Send this command to the driver of the live run."""

    command: str


@dataclass(frozen=True, slots=True)
class EndRun:
    """End the live run before its driver is started."""

    state: RunState
    reason: str


@dataclass(frozen=True, slots=True)
class RestartLater:
    restarts: int
    restart_at: datetime


@dataclass(frozen=True, slots=True)
class StopRestarts:
    reason: str


Decision: TypeAlias = Wait | BeginRun | Submit | GiveCommand | EndRun | RestartLater | StopRestarts
_Decision = TypeVar("_Decision")


def decide(facts: JobFacts, now: datetime) -> Decision:
    match facts.desired:
        case DesiredState.RUNNING:
            return _with_live_run(facts.live, now) if facts.live else _without_run(facts, facts.last, now)
        case DesiredState.SUSPENDED:
            return stop(facts.live, "Suspend", now)
        case DesiredState.CANCELLED:
            return stop(facts.live, "Cancel", now)
        case _:
            assert_never(facts.desired)


def wait_for_gc(decision: _Decision, retention_until: datetime | None, now: datetime) -> _Decision | Wait:
    """Delay the start of a run while a worker garbage-collects checkpoints of the job. The worker appends a generation to the job log, and this
    generation would fence a driver that starts in the meantime."""
    if isinstance(decision, BeginRun) and retention_until is not None and now < retention_until:
        return Wait(until=retention_until, why="A worker is deleting old checkpoints.")
    return decision


def _with_live_run(live: LiveRun, now: datetime) -> Decision:
    if live.seen:
        return Wait()
    return submit(live, now)


def submit(live: LiveRun, now: datetime) -> Submit | Wait:
    """Decide whether to submit a run whose driver has not reported yet."""
    if live.submitted_at is None or now >= live.submitted_at + SUBMIT_RETRY:
        return Submit()
    return Wait(until=live.submitted_at + SUBMIT_RETRY, why="The driver is starting.")


def _without_run(facts: JobFacts, last: LastRun | None, now: datetime) -> Decision:
    if facts.spec_state is SpecState.COMPILING:
        return Wait(why="A worker is compiling the user code.")
    if facts.spec_state is SpecState.INVALID:
        return Wait(why=f"The code does not compile: {facts.spec_problem}")
    if facts.restarts_stopped_reason is not None:
        return Wait(why=facts.restarts_stopped_reason)
    if last is None:
        return BeginRun("start", facts.start)
    match last.state:
        case RunState.SUSPENDED | RunState.CANCELED:
            return BeginRun("start", facts.start)
        case RunState.FINISHED:
            return Wait()
        case RunState.FAILED:
            return _after_failure(facts, last, now)
        case _:
            raise AssertionError(f"a run in state {last.state} has not ended")


def _after_failure(facts: JobFacts, last: LastRun, now: datetime) -> Decision:
    if facts.restart_at is not None:
        if now < facts.restart_at:
            return Wait(until=facts.restart_at, why=f"The job has failed and will restart: {last.reason}")
        return BeginRun("restart", facts.start)
    if last.kind in PERMANENT_FAILURES:
        return StopRestarts(f"A restart would not fix this failure: {last.reason}")
    was_well = last.running_at is not None and last.ended_at - last.running_at >= timedelta(seconds=facts.strategy.reset_after_s)
    before = 0 if was_well else facts.restarts
    attempts = facts.strategy.attempts if facts.has_run else min(facts.strategy.attempts, FIRST_RUN_RESTARTS_MAX)
    if before >= attempts:
        return StopRestarts(f"The job has failed {before + 1} times in a row, last with: {last.reason}")
    return RestartLater(before + 1, last.ended_at + timedelta(seconds=facts.strategy.delay_s(before)))


def must_be_killed(cancelled_at: datetime | None, now: datetime) -> bool:
    """Return whether a worker must kill a live driver. ``cancelled_at`` is the time at which the command to cancel was first sent to the driver,
    or None if this command was never sent."""
    return cancelled_at is not None and now >= cancelled_at + CANCEL_TIMEOUT


def unreachable_since(now: datetime, available_since: datetime | None) -> datetime | None:
    """Return the limit for reachability: a host is unreachable if its last contact was before this time. Return None if the control plane has not
    been available for long enough to know which hosts are unreachable. ``available_since`` is the time since which the control plane has been
    available, or None if the control plane is not available."""
    limit = now - HOST_UNREACHABLE_AFTER
    return limit if available_since is not None and available_since <= limit else None


def is_hanging(
    heard_at: datetime,
    progressed_at: datetime | None,
    *,
    min_distance_s: float | None,
    timeout_s: float,
    since: datetime | None,
    now: datetime,
) -> bool:
    """Return whether a live driver hangs. A driver that completes checkpoints does not hang, even if it cannot reach the control plane.
    ``heard_at`` is the time of the driver's last contact. ``progressed_at`` is the time of the newest completed checkpoint or of the last started
    generation in the job log, or None if this time is unknown. ``min_distance_s`` is the minimum number of seconds between two checkpoints, or None
    if the job takes no periodic checkpoints. Without periodic checkpoints, the progress of the driver is unknown, so ``is_hanging`` returns False.
    ``timeout_s`` is the checkpoint timeout. ``since`` is the result of ``unreachable_since``."""
    if since is None or heard_at >= since or min_distance_s is None or progressed_at is None:
        return False
    takes = max(CHECKPOINT_TIMEOUT_MIN, timedelta(seconds=timeout_s))
    return progressed_at < now - max(HOST_UNREACHABLE_AFTER, HANGING_AFTER_INTERVALS * timedelta(seconds=min_distance_s) + takes)


def stop(live: LiveRun | None, command: str, now: datetime) -> Wait | EndRun | GiveCommand | Submit:
    """Decide how to stop the live run. ``command`` is Suspend or Cancel."""
    if live is None:
        return Wait()
    if live.submitted_at is None:
        return EndRun(RunState.CANCELED, "stopped before its driver was started")
    if command not in live.commands:
        return GiveCommand(command)
    if not live.seen:
        # The driver receives the command when it starts. If the driver does not report in time, submit the run again.
        return submit(live, now)
    return Wait(why="The driver is stopping.")
