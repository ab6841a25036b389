"""What to do next for one job. No clock, no database: facts in, one decision out.

Safe to ask at any time, as often as one likes, and after a crash in the middle of carrying a decision out: what was done is among the
facts the next time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, TypeVar, assert_never

from weir_backend.models import DesiredState, RunState, SpecState

SUBMIT_AGAIN = timedelta(seconds=20)
"""After which a run whose driver nobody has seen is submitted once more. That two drivers of one run live at once is prevented where they start."""
RESTARTS_OF_WHAT_NEVER_RAN = 2
"""At most so many of a version that has never run: whoever has just deployed it waits for an answer."""
CANCEL_TAKES = timedelta(seconds=60)
"""A driver that was told to cancel so long ago and still lives hears nothing, or hangs. The job's log fences whatever it may be doing."""
FENCED_FOR = timedelta(days=1)
"""So long it is looked for what goes on though its job was taken from it."""
SILENT_FOR = timedelta(minutes=5)
"""Neither a worker of its machine nor the driver itself has said anything for so long: what they were doing is taken from them. Long, since
a machine that starts anew brings its workers back, which find out for certain."""
HANGS_AFTER_INTERVALS = 3
"""And so many intervals of its checkpoints, plus what the slowest one may take, have to go by without one."""
CHECKPOINT_TAKES = timedelta(minutes=10)
"""At least, though the job may give up its own sooner: once all have acknowledged, storage has no such limit."""
HOPELESS = frozenset({"ConfigError", "GraphError", "RestoreError", "ProtocolError"})
"""Kinds of errors that another try does not mend: somebody has to change something."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """See ``jobs.spec.RestartStrategy``."""

    attempts: int
    initial_s: float
    max_s: float
    multiplier: float
    well_after_s: float

    def delay_s(self, restarts: int) -> float:
        """Before a restart that ``restarts`` others in a row came before."""
        # The exponent is bounded, as a float is.
        return float(min(self.max_s, self.initial_s * self.multiplier ** min(restarts, 64)))


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run begins. ``checkpoint`` 0: from nothing, leaving behind whatever there is. ``path``: with a copy of a checkpoint from
    elsewhere, as ``weir run --from-path`` takes it. Neither: with the newest one of the job's history, or from nothing if there is none."""

    checkpoint: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class GoBack:
    """Runs after number ``after_run`` begin with ``checkpoint`` or ``path`` (see ``Start``), until any of them has run: then the job has
    gone back, and the newest checkpoint is the right one again, for good. That two runs go back, as the first one died on the way, does
    no harm: nothing was completed between."""

    checkpoint: int | None
    after_run: int
    path: str | None = None


def next_start(wanted: GoBack | None, *, has_gone_back: bool) -> Start:
    """``has_gone_back``: any run after number ``wanted.after_run`` has reached RUNNING."""
    return Start() if wanted is None or has_gone_back else Start(wanted.checkpoint, wanted.path)


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The run that is not over. ``seen``: its driver has told something, or a worker has its process. ``commands``: kinds of those
    given to it and not refused."""

    state: RunState
    submitted_at: datetime | None
    seen: bool
    commands: frozenset[str]
    ran: bool = False
    """It has reached RUNNING, whatever it does now."""


@dataclass(frozen=True, slots=True)
class LastRun:
    """The newest run, which is over. ``kind``: class of the error it failed with, '' if nobody told."""

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
    """Only if there is no live one."""
    restarts: int
    not_before: datetime | None
    gave_up: str | None
    strategy: Strategy
    has_run: bool = True
    """Some run of this version of the spec has reached RUNNING."""
    start: Start = Start()
    """Of the next run."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do. ``until`` None: until something happens. ``why`` the job is not where it is wanted; '': it is, or on its way."""

    until: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class BeginRun:
    """Mint the next run."""

    cause: str
    start: Start = Start()


@dataclass(frozen=True, slots=True)
class Submit:
    """Have a worker start the driver of the live run."""


@dataclass(frozen=True, slots=True)
class Give:
    """Give the live run this command."""

    command: str


@dataclass(frozen=True, slots=True)
class EndRun:
    """The live run is over without having begun."""

    state: RunState
    reason: str


@dataclass(frozen=True, slots=True)
class RestartLater:
    restarts: int
    not_before: datetime


@dataclass(frozen=True, slots=True)
class GiveUp:
    reason: str


Decision: TypeAlias = Rest | BeginRun | Submit | Give | EndRun | RestartLater | GiveUp
_Decision = TypeVar("_Decision")


def decide(facts: JobFacts, now: datetime) -> Decision:
    match facts.desired:
        case DesiredState.RUNNING:
            return _towards_running(facts, facts.live, now) if facts.live else _without_run(facts, facts.last, now)
        case DesiredState.SUSPENDED:
            return towards_rest(facts.live, "Suspend", now)
        case DesiredState.CANCELLED:
            return towards_rest(facts.live, "Cancel", now)
        case _:
            assert_never(facts.desired)


def held_back(decision: _Decision, tidied_until: datetime | None, now: datetime) -> _Decision | Rest:
    """No run is begun while a worker lets go of checkpoints of the job: it takes a generation in the job's log, which a driver that starts
    beside it would be fenced by."""
    if isinstance(decision, BeginRun) and tidied_until is not None and now < tidied_until:
        return Rest(until=tidied_until, why="a worker is letting go of old checkpoints")
    return decision


def _towards_running(facts: JobFacts, live: LiveRun, now: datetime) -> Decision:
    if live.seen:
        return Rest()
    return submit(live, now)


def submit(live: LiveRun, now: datetime) -> Submit | Rest:
    """Of a run whose driver nobody has seen."""
    if live.submitted_at is None or now >= live.submitted_at + SUBMIT_AGAIN:
        return Submit()
    return Rest(until=live.submitted_at + SUBMIT_AGAIN, why="its driver is being started")


def _without_run(facts: JobFacts, last: LastRun | None, now: datetime) -> Decision:
    if facts.spec_state is SpecState.COMPILING:
        return Rest(why="its code is being compiled")
    if facts.spec_state is SpecState.INVALID:
        return Rest(why=f"its code does not compile: {facts.spec_problem}")
    if facts.gave_up is not None:
        return Rest(why=facts.gave_up)
    if last is None:
        return BeginRun("start", facts.start)
    match last.state:
        case RunState.SUSPENDED | RunState.CANCELED:
            return BeginRun("start", facts.start)
        case RunState.FINISHED:
            return Rest()
        case RunState.FAILED:
            return _after_failure(facts, last, now)
        case _:
            raise AssertionError(f"a run in state {last.state} is not over")


def _after_failure(facts: JobFacts, last: LastRun, now: datetime) -> Decision:
    if facts.not_before is not None:
        if now < facts.not_before:
            return Rest(until=facts.not_before, why=f"it has failed and is started again soon: {last.reason}")
        return BeginRun("restart", facts.start)
    if last.kind in HOPELESS:
        return GiveUp(f"another try would fail like this one: {last.reason}")
    was_well = last.running_at is not None and last.ended_at - last.running_at >= timedelta(seconds=facts.strategy.well_after_s)
    before = 0 if was_well else facts.restarts
    attempts = facts.strategy.attempts if facts.has_run else min(facts.strategy.attempts, RESTARTS_OF_WHAT_NEVER_RAN)
    if before >= attempts:
        return GiveUp(f"it has failed {before + 1} times in a row, the last time with: {last.reason}")
    return RestartLater(before + 1, last.ended_at + timedelta(seconds=facts.strategy.delay_s(before)))


def is_to_be_killed(cancelled_at: datetime | None, now: datetime) -> bool:
    """Of a driver whose process lives. ``cancelled_at``: when it was first told to cancel; None: it was not."""
    return cancelled_at is not None and now >= cancelled_at + CANCEL_TAKES


def silent_before(now: datetime, there_since: datetime | None) -> datetime | None:
    """Machines that have said nothing since then are gone. None: of none can that be said, as nobody was there to hear it.
    ``there_since``: of the control plane; None: it is not there."""
    return now - SILENT_FOR if there_since is not None and there_since <= now - SILENT_FOR else None


def hangs(
    heard_at: datetime,
    progressed_at: datetime | None,
    *,
    apart_s: float | None,
    timeout_s: float,
    since: datetime | None,
    now: datetime,
) -> bool:
    """Of a driver that runs and whose process lives. Not one that only cannot reach the control plane: that one goes on completing
    checkpoints, and is to be left alone.

    ``heard_at``: when it last said anything. ``progressed_at``: the newest entry in the job's log; None: nobody can read it, or there is none.
    ``apart_s``: how far its checkpoints are apart; None: it takes none by itself, so nothing can be said. ``timeout_s``: after which it gives one up.
    ``since``: see ``silent_before``.
    """
    if since is None or heard_at >= since or apart_s is None or progressed_at is None:
        return False
    takes = max(CHECKPOINT_TAKES, timedelta(seconds=timeout_s))
    return progressed_at < now - max(SILENT_FOR, HANGS_AFTER_INTERVALS * timedelta(seconds=apart_s) + takes)


def towards_rest(live: LiveRun | None, command: str, now: datetime) -> Rest | EndRun | Give | Submit:
    """``command``: Suspend or Cancel."""
    if live is None:
        return Rest()
    if live.submitted_at is None:
        return EndRun(RunState.CANCELED, "it was stopped before its driver was started")
    if command not in live.commands:
        return Give(command)
    if not live.seen:
        # It has to come up to hear that it is to stop; if it never came up, somebody has to find that out.
        return submit(live, now)
    return Rest(why="it is told to stop")
