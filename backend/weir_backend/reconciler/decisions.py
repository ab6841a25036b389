"""The next step for one job. No clock, no database: facts in, one decision out.

It can be called at any time, as often as needed, and after a crash during a decision: what was done is among the facts of the next call.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar, assert_never

from weir_backend.models import DesiredState, RunState, SpecState
from weir_backend.runs.start import RunStart

SUBMIT_RETRY = timedelta(seconds=20)
"""A run whose driver has not reported by then is submitted again. The start of drivers prevents two drivers of one run."""
FIRST_RUN_RESTARTS_MAX = 2
"""Limit for a version that has never run: the user who has deployed it waits for an answer."""
CANCEL_TIMEOUT = timedelta(seconds=60)
"""A driver that still lives so long after it was told to cancel does not hear it, or hangs. The job log fences it."""
FENCED_FOR = timedelta(days=1)
"""For so long workers look for drivers that still run although their job was reassigned."""
UNREACHABLE_AFTER = timedelta(minutes=5)
"""A host is unreachable when neither a worker on it nor the driver has contacted the control plane for so long; its jobs are then reassigned. A
host that restarts brings its workers back sooner."""
HANGING_AFTER_INTERVALS = 3
"""A driver hangs if no checkpoint has completed for so many intervals, plus the time that the slowest may take."""
CHECKPOINT_TIMEOUT_MIN = timedelta(minutes=10)
"""At least, even if the job's own timeout is shorter: writing the log entry has no such limit."""
PERMANENT_FAILURES = frozenset({"ConfigError", "GraphError", "RestoreError", "ProtocolError"})
"""Kinds of errors that a restart does not fix."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """See ``jobs.spec.RestartStrategy``."""

    attempts: int
    initial_s: float
    max_s: float
    multiplier: float
    reset_after_s: float

    def delay_s(self, restarts: int) -> float:
        """Return the delay before a restart that follows ``restarts`` others in a row."""
        # The exponent is bounded, as a float is.
        return float(min(self.max_s, self.initial_s * self.multiplier ** min(restarts, 64)))


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The run that has not ended. ``seen``: its driver has reported, or a worker has its process. ``commands``: kinds of those given to it and not
    refused."""

    state: RunState
    submitted_at: datetime | None
    seen: bool
    commands: frozenset[str]
    ran: bool = False
    """It has reached RUNNING, whatever its state is now."""


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run, which has ended. ``kind``: class of the error that it failed with; '' if unknown."""

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
    """Only without a live run."""
    restarts: int
    restart_at: datetime | None
    restarts_stopped_reason: str | None
    strategy: Strategy
    has_run: bool = True
    """A run of this version of the spec has reached RUNNING."""
    start: RunStart = RunStart()
    """Of the next run."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do. ``until`` None: until an event. ``why``: why the job is not in its desired state; '' if it is, or on its way."""

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
    """Give the live run this command."""

    command: str


@dataclass(frozen=True, slots=True)
class EndRun:
    """End the live run before its driver was started."""

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
    """Start no run while a worker garbage-collects checkpoints of the job: the worker takes a generation of the job log, which would fence the
    driver."""
    if isinstance(decision, BeginRun) and retention_until is not None and now < retention_until:
        return Wait(until=retention_until, why="A worker is deleting old checkpoints.")
    return decision


def _with_live_run(facts: JobFacts, live: LiveRun, now: datetime) -> Decision:
    if live.seen:
        return Wait()
    return submit(live, now)


def submit(live: LiveRun, now: datetime) -> Submit | Wait:
    """For a run whose driver has not reported."""
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
    """Of a driver whose process lives. ``cancelled_at``: when it was first told to cancel; None: never."""
    return cancelled_at is not None and now >= cancelled_at + CANCEL_TIMEOUT


def unreachable_since(now: datetime, there_since: datetime | None) -> datetime | None:
    """Return the time before which an unreachable host was last heard of. None: unknown, as the control plane was away. ``there_since``: since
    when it is there; None: it is not."""
    return now - UNREACHABLE_AFTER if there_since is not None and there_since <= now - UNREACHABLE_AFTER else None


def is_hanging(
    heard_at: datetime,
    progressed_at: datetime | None,
    *,
    min_distance_s: float | None,
    timeout_s: float,
    since: datetime | None,
    now: datetime,
) -> bool:
    """Of a driver that runs and whose process lives. A driver that only cannot reach the control plane still completes checkpoints.

    ``heard_at``: its last report. ``progressed_at``: the newest entry in the job log; None: unreadable, or there is none. ``apart_s``: the time
    between checkpoints; None: it takes none periodically, so nothing can be said. ``timeout_s``: of a checkpoint. ``since``: see
    ``unreachable_since``.
    """
    if since is None or heard_at >= since or min_distance_s is None or progressed_at is None:
        return False
    takes = max(CHECKPOINT_TIMEOUT_MIN, timedelta(seconds=timeout_s))
    return progressed_at < now - max(UNREACHABLE_AFTER, HANGING_AFTER_INTERVALS * timedelta(seconds=min_distance_s) + takes)


def stop(live: LiveRun | None, command: str, now: datetime) -> Wait | EndRun | GiveCommand | Submit:
    """``command``: Suspend or Cancel."""
    if live is None:
        return Wait()
    if live.submitted_at is None:
        return EndRun(RunState.CANCELED, "stopped before its driver was started")
    if command not in live.commands:
        return GiveCommand(command)
    if not live.seen:
        # The driver has to start to receive the command; if it never started, a worker has to find that out.
        return submit(live, now)
    return Wait(why="The driver was told to stop.")
