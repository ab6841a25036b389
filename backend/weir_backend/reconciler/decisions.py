"""Decide the next step for one job. Pure, without clock and database: facts in, one decision out.

The decision can be made at any time, repeatedly, and after a crash while a decision was being executed: the facts of the next call contain what was
done.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar, assert_never

from weir_backend.models import DesiredState, RunState, SpecState
from weir_backend.runs.start import RunStart

SUBMIT_RETRY = timedelta(seconds=20)
"""A run whose driver has not reported after this time is submitted again. The launcher prevents a second driver of the run."""
FIRST_RUN_RESTARTS_MAX = 2
"""Limit for a version that has never run, because the user who has just deployed it waits for the result."""
CANCEL_TIMEOUT = timedelta(seconds=60)
"""How long after the command to cancel a live driver is killed. A driver that is still alive then hangs or cannot receive the command. Killing it
is safe, because the job log fences it."""
FENCED_FOR = timedelta(days=1)
"""After a job was reassigned, workers check for this time whether its old driver still runs."""
UNREACHABLE_AFTER = timedelta(minutes=5)
"""A host is unreachable if neither a worker on it nor the driver has contacted the control plane for this time. Then its jobs are reassigned. The
time is longer than a restart of a host takes."""
HANGING_AFTER_INTERVALS = 3
"""A driver hangs if no checkpoint has completed for this many intervals plus the checkpoint timeout."""
CHECKPOINT_TIMEOUT_MIN = timedelta(minutes=10)
"""The minimum time to wait for a checkpoint. It applies even if the checkpoint timeout of the job is shorter, because that timeout does not include
writing the log entry."""
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
        """Return the delay before a restart that follows ``restarts`` consecutive restarts."""
        # The exponent is bounded, so that the float does not overflow.
        return float(min(self.max_s, self.initial_s * self.multiplier ** min(restarts, 64)))


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The run that has not ended. ``seen`` is True if its driver has reported, or if a worker knows its process. ``commands`` contains the kinds of
    the commands that were sent to the driver and that it has not refused."""

    state: RunState
    submitted_at: datetime | None
    seen: bool
    commands: frozenset[str]
    ran: bool = False
    """The run has reached RUNNING before, or is RUNNING."""


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run, which has ended. ``kind`` is the class of the error that made it fail, or '' if it is unknown."""

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
    """The newest run, if it has ended. None if there is a live run."""
    restarts: int
    restart_at: datetime | None
    restarts_stopped_reason: str | None
    strategy: Strategy
    has_run: bool = True
    """A run of this version of the spec has reached RUNNING."""
    start: RunStart = RunStart()
    """Where the next run starts."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until ``until``, or until an event if ``until`` is None. ``why`` says why the job is not in its desired state yet; it is '' if
    this needs no explanation."""

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
    """End the live run, whose driver was never started."""

    state: RunState
    reason: str


@dataclass(frozen=True, slots=True)
class RestartLater:
    restarts: int
    restart_at: datetime


@dataclass(frozen=True, slots=True)
class GiveUp:
    reason: str


Decision: TypeAlias = Wait | BeginRun | Submit | GiveCommand | EndRun | RestartLater | GiveUp
_Decision = TypeVar("_Decision")


def decide(facts: JobFacts, now: datetime) -> Decision:
    match facts.desired:
        case DesiredState.RUNNING:
            return _with_live_run(facts, facts.live, now) if facts.live else _without_run(facts, facts.last, now)
        case DesiredState.SUSPENDED:
            return stop(facts.live, "Suspend", now)
        case DesiredState.CANCELLED:
            return stop(facts.live, "Cancel", now)
        case _:
            assert_never(facts.desired)


def wait_for_gc(decision: _Decision, retention_until: datetime | None, now: datetime) -> _Decision | Wait:
    """Delay the start of a run while a worker garbage-collects checkpoints of the job: the worker appends a generation to the job log, which would
    fence the driver."""
    if isinstance(decision, BeginRun) and retention_until is not None and now < retention_until:
        return Wait(until=retention_until, why="A worker is deleting old checkpoints.")
    return decision


def _with_live_run(facts: JobFacts, live: LiveRun, now: datetime) -> Decision:
    if live.seen:
        return Wait()
    return submit(live, now)


def submit(live: LiveRun, now: datetime) -> Submit | Wait:
    """Decide about a run whose driver has not reported yet."""
    if live.submitted_at is None or now >= live.submitted_at + SUBMIT_RETRY:
        return Submit()
    return Wait(until=live.submitted_at + SUBMIT_RETRY, why="The driver is starting.")


def _without_run(facts: JobFacts, last: LastRun | None, now: datetime) -> Decision:
    if facts.spec_state is SpecState.COMPILING:
        return Wait(why="The code is being compiled.")
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
        return GiveUp(f"A restart would not fix this failure: {last.reason}")
    was_well = last.running_at is not None and last.ended_at - last.running_at >= timedelta(seconds=facts.strategy.reset_after_s)
    before = 0 if was_well else facts.restarts
    attempts = facts.strategy.attempts if facts.has_run else min(facts.strategy.attempts, FIRST_RUN_RESTARTS_MAX)
    if before >= attempts:
        return GiveUp(f"The job has failed {before + 1} times in a row, last with: {last.reason}")
    return RestartLater(before + 1, last.ended_at + timedelta(seconds=facts.strategy.delay_s(before)))


def must_be_killed(cancelled_at: datetime | None, now: datetime) -> bool:
    """Return whether to kill a live driver. ``cancelled_at`` is when the command to cancel was first sent to it, or None if it was never sent."""
    return cancelled_at is not None and now >= cancelled_at + CANCEL_TIMEOUT


def unreachable_since(now: datetime, available_since: datetime | None) -> datetime | None:
    """Return the time limit for reachability: a host is unreachable if its last contact was before this time. Return None if it is unknown which
    hosts are unreachable, because the control plane was not available for long enough. ``available_since`` is the time since which the control
    plane is available, or None if it is not."""
    return now - UNREACHABLE_AFTER if available_since is not None and available_since <= now - UNREACHABLE_AFTER else None


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
    ``heard_at`` is the time of its last contact. ``progressed_at`` is the time of the newest entry in the job log, or None if it is unknown.
    ``min_distance_s`` is the minimum time between checkpoints, or None if the job takes no periodic checkpoints, so that progress is unknown.
    ``timeout_s``: the checkpoint timeout. ``since``: from ``unreachable_since``."""
    if since is None or heard_at >= since or min_distance_s is None or progressed_at is None:
        return False
    takes = max(CHECKPOINT_TIMEOUT_MIN, timedelta(seconds=timeout_s))
    return progressed_at < now - max(UNREACHABLE_AFTER, HANGING_AFTER_INTERVALS * timedelta(seconds=min_distance_s) + takes)


def stop(live: LiveRun | None, command: str, now: datetime) -> Wait | EndRun | GiveCommand | Submit:
    """Decide how to stop the live run. ``command``: Suspend or Cancel."""
    if live is None:
        return Wait()
    if live.submitted_at is None:
        return EndRun(RunState.CANCELED, "stopped before its driver was started")
    if command not in live.commands:
        return GiveCommand(command)
    if not live.seen:
        # The driver receives the command when it starts. If the driver was never started, a worker detects this.
        return submit(live, now)
    return Wait(why="The driver is stopping.")
