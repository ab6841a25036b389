"""Whether a rule holds for a job. No clock, no database: facts in, one verdict out.

A verdict is asked for again every few seconds, so there is a third one beside yes and no: what cannot be judged now leaves everything as
it is. The control plane's own absence is such a case: it must neither raise an alert nor end one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias, assert_never

from weir_backend.models import AlertKind, DesiredState, RunState

INTERVALS_MISSED = 2
"""A job that takes a checkpoint an hour is not late after ten minutes: it is after so many of its own intervals."""
LAG_CALM = 0.8
"""An alert about lag is over once that is below this part of what it fired at: a source that hovers there is no news each minute."""
GAVE_UP_CHARACTERS_MAX = 300
LAG_LASTS = timedelta(minutes=1)
"""It fires for a source that was behind so long ago, too: one that catches up by itself needs nobody."""


@dataclass(frozen=True, slots=True)
class NoCheckpoint:
    minutes: int


@dataclass(frozen=True, slots=True)
class Failures:
    count: int


@dataclass(frozen=True, slots=True)
class LagAbove:
    """Of ``source`` (a uid; None: of any). At least one of ``records`` and ``seconds``."""

    records: int | None = None
    seconds: float | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Restarts:
    count: int
    minutes: int


Condition: TypeAlias = NoCheckpoint | Failures | LagAbove | Restarts
CONDITIONS: dict[AlertKind, type[Condition]] = {
    AlertKind.NO_CHECKPOINT: NoCheckpoint,
    AlertKind.FAILURES: Failures,
    AlertKind.LAG: LagAbove,
    AlertKind.RESTARTS: Restarts,
}


@dataclass(frozen=True, slots=True)
class Lag:
    """Of one source, over all its subtasks. ``before``: ``LAG_LASTS`` ago; None: it did not tell then."""

    source: str
    unit: Literal["records", "seconds"]
    now: float
    before: float | None


@dataclass(frozen=True, slots=True)
class JobFacts:
    """Times are by the control plane's clock, unless they are said to be a driver's.

    ``run_state``: of the newest run. ``begun_at``: since when it is to run and nobody has stopped it: restarts after failures do not begin
    anew. ``interval_s``: or its pause between checkpoints, if that is longer; None: it takes none by itself. ``failures``,
    ``failed_checkpoints``: since the last completed checkpoint, and since somebody has started it. ``restarts``: when, by the driver's clock,
    but never later than it was told. ``gave_up``: why nobody tries any more to start it.
    """

    desired: DesiredState
    run_state: RunState | None
    begun_at: datetime | None
    checkpoint: int | None
    checkpoint_told_at: datetime | None
    interval_s: float | None
    well_after_s: float
    failures: int = 0
    last_failure_at: datetime | None = None
    failed_checkpoints: int = 0
    gave_up: str | None = None
    restarts: tuple[datetime, ...] = ()
    lags: tuple[Lag, ...] | None = None
    """None: its slots have told nothing for a while, or nobody has asked for this."""


@dataclass(frozen=True, slots=True)
class Holds:
    """``message``: one sentence, without the name of the job."""

    message: str


@dataclass(frozen=True, slots=True)
class Clear:
    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A firing alert goes on firing, and none begins."""


Verdict: TypeAlias = Holds | Clear | Unknown


def judge(condition: Condition, facts: JobFacts, *, there_since: datetime | None, firing: bool, now: datetime) -> Verdict:
    """``there_since``: since when drivers could reach the control plane and somebody looked after them; None: now they cannot."""
    if facts.desired is not DesiredState.RUNNING:
        return Clear("the job is not wanted to run")
    if facts.run_state is RunState.FINISHED:
        return Clear("the job has finished")
    if there_since is None:
        return Unknown()
    match condition:
        case NoCheckpoint(minutes):
            return _no_checkpoint(timedelta(minutes=minutes), facts, there_since, now)
        case Failures(count):
            return _failures(count, facts, now)
        case LagAbove():
            return _lag(condition, facts, firing)
        case Restarts(count, minutes):
            return _restarts(count, timedelta(minutes=minutes), facts, firing, now)
        case _:
            assert_never(condition)


def _no_checkpoint(time: timedelta, facts: JobFacts, there_since: datetime, now: datetime) -> Verdict:
    if facts.interval_s is None:
        return Clear("the job takes no checkpoints by itself")
    if facts.begun_at is None:
        return Clear("the job has not begun")
    patience = max(time, timedelta(seconds=INTERVALS_MISSED * facts.interval_s))
    told_at = facts.checkpoint_told_at
    since = max(facts.begun_at, told_at) if told_at is not None else facts.begun_at
    if now - since < patience:
        return Clear(f"checkpoint {facts.checkpoint} is completed" if since == told_at else "the job was started")
    if now - there_since < patience:
        return Unknown()
    if since == told_at:
        return Holds(f"no checkpoint has completed for {spell(now - since)}: the last one was {facts.checkpoint}")
    return Holds(f"no checkpoint has completed since the job was started {spell(now - since)} ago")


def _failures(count: int, facts: JobFacts, now: datetime) -> Verdict:
    if facts.gave_up is not None:
        # It will not fail any more, however many failures the rule waits for.
        return Holds(f"it was given up: {' '.join(facts.gave_up.split())[:GAVE_UP_CHARACTERS_MAX]}")
    if facts.failures >= count and not _is_well(facts, now):
        return Holds(f"it has failed {_times(facts.failures)} in a row, without a completed checkpoint in between")
    if facts.failed_checkpoints >= count:
        return Holds(f"{facts.failed_checkpoints} checkpoints in a row have failed")
    return Clear("it is well again")


def _is_well(facts: JobFacts, now: datetime) -> bool:
    """It has run for so long without a failure that its restart strategy, too, would call the next one the first."""
    if facts.run_state is not RunState.RUNNING or facts.last_failure_at is None:
        return False
    return now - facts.last_failure_at >= timedelta(seconds=facts.well_after_s)


def _lag(condition: LagAbove, facts: JobFacts, firing: bool) -> Verdict:
    if facts.lags is None:
        return Unknown()
    limits = {"records": condition.records, "seconds": condition.seconds}
    for lag in facts.lags:
        limit = limits[lag.unit]
        if limit is None or condition.source not in (None, lag.source):
            continue
        lasts = lag.now > LAG_CALM * limit if firing else lag.now > limit and lag.before is not None and lag.before > limit
        if lasts:
            return Holds(
                f"source {lag.source} is {_number(lag.now)} {lag.unit} behind, more than {_number(LAG_CALM * limit if firing else limit)}"
            )
    return Clear("its sources have caught up")


def _restarts(count: int, time: timedelta, facts: JobFacts, firing: bool, now: datetime) -> Verdict:
    found = sum(1 for at in facts.restarts if now - at < time)
    # A storm is over once it is half of one: at its edge every restart would be an alert of its own.
    if found >= count or (firing and found > count // 2):
        return Holds(f"it was restarted {_times(found)} within {spell(time)}")
    return Clear(f"it was restarted {_times(found)} within the last {spell(time)}")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def spell(span: timedelta) -> str:
    """For people: the two largest units, nothing below a minute but for what is shorter than two."""
    seconds = int(span.total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if hours < 1:
        return f"{minutes} min"
    if days < 1:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{days} d {hours % 24} h" if hours % 24 else f"{days} d"
