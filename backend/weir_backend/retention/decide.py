"""Which checkpoints may go, and what each is kept for that may not. Facts in, decisions out: no clock, no database, no files.

Of a running job only its driver retires. Here it is about jobs at rest. A checkpoint goes in this order, and whoever dies on the way is
followed by somebody who goes on from what he finds:

    marked in the database  ─>  retired in the job's log  ─>  files deleted  ─>  discarded in the database
    nothing may refer to it     nothing can restore it
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from weir.protocol.joblog import Purpose
from weir.protocol.logview import LogView
from weir_backend.checkpoints.presence import Presence, presence
from weir_backend.models import DesiredState, PlanKind, PlanState, RunState


@dataclass(frozen=True, slots=True)
class JobFacts:
    """``live_run``: number of the run that is not over. ``last_state``: of the newest run. ``applying``: the plan that is being applied.
    ``neighbour``: another job that has run with the same log. ``known_generation``: the newest of the runtime's that a run of this
    job has told of."""

    desired: DesiredState
    live_run: int | None
    last_state: RunState | None
    gave_up: bool
    applying: int | None
    neighbour: str | None
    known_generation: int


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why nobody but a driver may delete anything of this job now."""

    code: str
    why: str
    next_step: str


def obstacle(facts: JobFacts, *, log_generation: int | None = None) -> Obstacle | None:
    """``log_generation``: the newest one in the job's log that was started to run the job; None: nobody has looked."""
    if facts.live_run is not None:
        return Obstacle(
            "running", f"run {facts.live_run} is not over: of a running job only its driver deletes", "suspend the job first"
        )
    if facts.applying is not None:
        return Obstacle("plan-applying", f"plan {facts.applying} is being applied to this job", "wait until it is over")
    if facts.desired is DesiredState.RUNNING and facts.last_state is not RunState.FINISHED and not facts.gave_up:
        return Obstacle("running", "the job is about to be started", "suspend it first")
    if facts.neighbour is not None:
        return Obstacle(
            "shared",
            f"job '{facts.neighbour}' has run with the same checkpoint directory and name in its code, so its checkpoints are these, too",
            "give each job a directory of its own",
        )
    if log_generation is not None and log_generation > facts.known_generation:
        return Obstacle(
            "strange-generation",
            f"generation {log_generation} of the job's log was started by no run that has told of it (the newest known is "
            f"{facts.known_generation}): something else may run with this checkpoint directory",
            "find out what it is; once a run of this job has reached RUNNING again, this is settled",
        )
    return None


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """``target``: what it goes back to. ``safety``: what the job was stopped with for it. ``undone``: an undo of it was applied."""

    id: int
    kind: PlanKind
    state: PlanState
    target: int | None
    safety: int | None
    created_at: datetime
    ended_at: datetime | None
    undone: bool


def referred(
    plans: Iterable[PlanFacts], next_start: int | None, now: datetime, *, undo_kept: timedelta, valid_for: timedelta
) -> dict[int, str]:
    """Checkpoints that plans, or the next run, may go back to, and how that is said. ``valid_for``: the time in which a plan can be applied."""
    found: dict[int, str] = {}
    for plan in plans:
        name = f"plan {plan.id} ({plan.kind.value})"
        if plan.state in (PlanState.PROPOSED, PlanState.APPROVED) and now - plan.created_at <= valid_for and plan.target:
            found.setdefault(plan.target, f"{name} is {plan.state.value} and would go back to it: withdraw that first")
        if plan.state is PlanState.APPLYING:
            for number in filter(None, (plan.target, plan.safety)):
                found.setdefault(number, f"{name} is being applied")
        if plan.state is PlanState.APPLIED and plan.safety and not plan.undone:
            until = (plan.ended_at or plan.created_at) + undo_kept
            if now < until:
                found.setdefault(plan.safety, f"{name} was applied, and until {until:%Y-%m-%d} an undo of it would return to it")
    if next_start is not None:
        found.setdefault(next_start, "the next run begins with it")
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """A completed checkpoint that is not discarded, as the database has it. ``asked``: somebody wants it deleted. ``leaving``: it was marked
    before."""

    number: int
    generation: int = 1
    """The runtime's that has completed it."""
    is_savepoint: bool = False
    pinned: bool = False
    damaged: bool = False
    asked: bool = False
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What a worker has read in storage. ``expired``: what the rules of ``weir.storage.retention`` let go of. ``unpublished``: what
    they committed may have to be committed again by a restore of a later one."""

    view: LogView
    expired: frozenset[int]
    unpublished: frozenset[int] = frozenset()

    @property
    def run_generation(self) -> int:
        """The newest one that was started to run the job, and not to delete something."""
        return max((one.generation for one in self.view.generations if one.purpose is Purpose.RUN), default=0)


@dataclass(frozen=True, slots=True)
class Decided:
    """``expire``, ``delete``: what goes, by age or as asked for. ``unpin``: savepoints among the latter. ``refused``: what was asked for and
    stays. ``finish``: retired already, by somebody who died before he had deleted their files or said so. ``retired``: rows whose
    driver has let go of them. ``repin``: what stays and is not pinned in the log as it should be, as somebody who wanted to delete a
    savepoint got no further than that, or as the log was set back."""

    expire: tuple[int, ...] = ()
    delete: tuple[int, ...] = ()
    unpin: tuple[int, ...] = ()
    refused: Mapping[int, str] | None = None
    finish: tuple[int, ...] = ()
    retired: tuple[int, ...] = ()
    repin: tuple[int, ...] = ()

    @property
    def going(self) -> tuple[int, ...]:
        return tuple(sorted((*self.expire, *self.delete)))

    @property
    def touches_storage(self) -> bool:
        return bool(self.going or self.finish)


def decide(log: LogFacts, rows: Collection[Row], references: Mapping[int, str], *, in_the_way: str | None) -> Decided:
    """``references``: see ``referred``. ``in_the_way``: why nothing may be deleted at all."""
    view = log.view
    kept = {int(record.checkpoint) for record in view.kept}
    by_number = {row.number: row for row in rows}
    gone = {row.number for row in rows if presence(view, row.number, row.generation) is Presence.RETIRED}
    begun = {number for number in gone if by_number[number].leaving or by_number[number].asked}
    asked = [row for row in rows if row.asked and row.number in kept]
    unpinned = {row.number for row in rows if row.number in kept and (row.pinned or row.is_savepoint)} - set(view.pinned)
    if in_the_way is not None:
        return Decided(
            refused={row.number: in_the_way for row in asked}, retired=tuple(sorted(gone)), repin=tuple(sorted(unpinned))
        )
    held = _held(log, by_number, references)
    delete = {row.number for row in asked if _holds_when_asked(view, row, held) is None}
    expire = {
        number
        for number in log.expired
        if number in kept and number not in held and number not in delete and not _owned(by_number, number)
    }
    return Decided(
        expire=tuple(sorted(expire)),
        delete=tuple(sorted(delete)),
        unpin=tuple(sorted(number for number in delete if number in view.pinned)),
        refused={row.number: why for row in asked if (why := _holds_when_asked(view, row, held)) is not None},
        finish=tuple(sorted(begun)),
        retired=tuple(sorted(gone - begun)),
        repin=tuple(sorted(unpinned - delete)),
    )


def held_by(row: Row, references: Mapping[int, str], *, newest: int | None) -> tuple[str, str] | None:
    """Why somebody may not delete it, as far as the database knows: a code, and a sentence. A savepoint is his who took it: he may."""
    # First what says more: the platform pins what plans need.
    if row.number in references:
        return "referred-to", f"checkpoint {row.number} is still needed: {references[row.number]}"
    if row.pinned:
        return "pinned", f"checkpoint {row.number} is pinned: let go of it first"
    if row.number == newest:
        return "newest", f"checkpoint {row.number} is the newest completed one, with which the job would go on"
    return None


def _held(log: LogFacts, rows: Mapping[int, Row], references: Mapping[int, str]) -> dict[int, str]:
    """Everything that stays, however old it is, but for savepoints, and what is pinned: these are the matter of their owners."""
    view = log.view
    held = {number: f"it is still needed: {why}" for number, why in references.items()}
    for row in rows.values():
        if row.pinned:
            held.setdefault(row.number, "it is pinned: let go of it first")
    if view.newest is not None:
        held.setdefault(view.newest.checkpoint, "it is the newest one of the job, with which it would go on")
    whole = [
        record.checkpoint for record in view.restorable if not (record.checkpoint in rows and rows[record.checkpoint].damaged)
    ]
    if whole:
        held.setdefault(max(whole), "it is the newest one that is not known to be damaged")
    for number, branch in branch_points(view).items():
        held.setdefault(number, f"{branch} begins at it: delete what was left behind there first")
    for left in (*view.abandonment_due, *view.reinstatement_due):
        held.setdefault(left.checkpoint, "a job that went back or forth has not told its sinks of it yet: let it run first")
    for number in log.unpublished:
        held.setdefault(number, "what it committed may have to be committed again: let the job run on for a checkpoint first")
    return held


def _owned(rows: Mapping[int, Row], number: int) -> bool:
    return number in rows and rows[number].is_savepoint


def _holds_when_asked(view: LogView, row: Row, held: Mapping[int, str]) -> str | None:
    if row.number in held:
        return f"checkpoint {row.number} stays: {held[row.number]}"
    if row.number in view.pinned and not row.is_savepoint:
        return f"checkpoint {row.number} stays: it is pinned in the job's log, by somebody who did not come this way"
    return None


def branch_points(view: LogView) -> dict[int, str]:
    """Checkpoints of the current line at which one departs that was left behind and is kept still, and how that is called.

    A restart goes on from where the one before was: that is no branch. What was left behind stays until somebody deletes it, and as
    long as it does it can be seen, and be gone back to, from where it came.
    """
    current = set(view.current)
    found: dict[int, str] = {}
    for record in view.abandoned:
        shared = [one for one in view.ancestry(record.checkpoint) if one in current]
        if shared:
            found.setdefault(int(max(shared)), f"the line of checkpoint {record.checkpoint}, which was gone back behind,")
    return found


def unpublished(view: LogView, published_up_to: Mapping[int, int]) -> frozenset[int]:
    """Kept checkpoints whose output a restore of a later one on their line would have to commit again, as nothing says that it was.

    ``published_up_to``: of each kept checkpoint, what its manifest says; one that is missing says nothing.
    """
    lines = {record.checkpoint: view.ancestry(record.checkpoint) for record in view.kept}
    needed: set[int] = set()
    settled: set[int] = set()
    for later, line in lines.items():
        said = published_up_to.get(later, 0)
        for one in line:
            if one != later:
                (settled if one <= said else needed).add(int(one))
    return frozenset(needed - settled)
