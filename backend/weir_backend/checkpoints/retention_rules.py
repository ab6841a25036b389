"""Which checkpoints may be deleted, and why the others are kept. Facts in, decisions out: no clock, no database, no files.

The driver of a running job retires its checkpoints; these rules are for jobs that do not run. A checkpoint is deleted in this order; after a crash,
the next worker continues from what it finds: marked in the database (nothing may refer to it), retired in the job log (nothing can restore it), files
deleted, discarded in the database.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from weir.protocol.ids import CheckpointId
from weir.protocol.job_log import Purpose
from weir.protocol.log_view import LogView
from weir_backend.actions.rules import OPEN, PLAN_VALID_FOR, Refusal, applying_refusal
from weir_backend.models import DesiredState, PlanState, RunState

UNDO_PIN = "an undo of plan "
"""Prefix of the reason of pins that keep a safety savepoint for an undo."""


@dataclass(frozen=True, slots=True)
class GcJobFacts:
    """``live_run``: number of the run that has not ended. ``last_state``: of the newest run. ``applying``: the plan that is being applied.
    ``neighbour``: another job that has run with the same job log. ``known_generation``: the newest generation that a run of this job has reported."""

    desired: DesiredState
    live_run: int | None
    last_state: RunState | None
    restarts_stopped: bool
    applying: int | None
    neighbour: str | None
    known_generation: int


def gc_obstacle(facts: GcJobFacts, *, log_generation: int | None = None) -> Refusal | None:
    """Return why only a driver may delete files of this job now. ``log_generation``: the newest generation in the job log that was started to
    run the job; None: unknown."""
    if facts.live_run is not None:
        reason = f"Run {facts.live_run} has not ended: only its driver may delete checkpoints."
        return Refusal("running", reason, "Suspend the job first.")
    if facts.applying is not None:
        return applying_refusal(facts.applying)
    if facts.desired is DesiredState.RUNNING and facts.last_state is not RunState.FINISHED and not facts.restarts_stopped:
        return Refusal("running", "The job is about to start.", "Suspend it first.")
    if facts.neighbour is not None:
        return Refusal(
            "shared",
            f"Job '{facts.neighbour}' has run with the same checkpoint directory and job name: both jobs share these checkpoints.",
            "Give each job its own checkpoint directory.",
        )
    if log_generation is not None and log_generation > facts.known_generation:
        return Refusal(
            "unknown-generation",
            f"No run of this job has reported generation {log_generation} of the job log (the newest reported one is "
            f"{facts.known_generation}): another application may use this checkpoint directory.",
            "Find that application. Once a run of this job is RUNNING again, checkpoints can be deleted.",
        )
    return None


@dataclass(frozen=True, slots=True)
class PlanReference:
    """``target``: what it restores. ``safety``: what the job was stopped with for it. ``undone``: an undo of it was applied."""

    id: int
    state: PlanState
    target: int | None
    safety: int | None
    created_at: datetime
    ended_at: datetime | None
    undone: bool


def plan_references(
    plans: Iterable[PlanReference], next_start: int | None, now: datetime, *, undo_kept: timedelta
) -> dict[int, list[str]]:
    """Return, by checkpoint number, which plans need it and whether the next run starts from it: sentences."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for plan in plans:
        if plan.state in OPEN and now - plan.created_at <= PLAN_VALID_FOR and plan.target:
            found[plan.target].append(f"Plan {plan.id} is {plan.state.lower()} and would restore it.")
        if plan.state is PlanState.APPLYING:
            for number in {plan.target, plan.safety} - {None}:
                assert number is not None
                found[number].append(f"Plan {plan.id} is being applied.")
        if plan.state is PlanState.APPLIED and plan.safety and not plan.undone:
            until = (plan.ended_at or plan.created_at) + undo_kept
            if now < until:
                found[plan.safety].append(f"Until {until:%Y-%m-%d}, an undo of plan {plan.id} would return to it.")
    if next_start:
        found[next_start].append("The next run starts from it.")
    return dict(found)


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """A completed checkpoint that is not discarded, from the database. ``asked``: a user has requested its deletion. ``deleting``: it was marked
    before."""

    number: int
    generation: int = 1
    """Of the runtime that completed it."""
    is_savepoint: bool = False
    pinned: bool = False
    damaged: bool = False
    asked: bool = False
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What a worker has read in storage. ``expired``: what the rules of ``weir.storage.garbage_collection`` expire. ``unpublished``: checkpoints
    whose output a restore of a later one may have to commit again."""

    view: LogView
    expired: frozenset[int]
    unpublished: frozenset[int] = frozenset()

    @property
    def run_generation(self) -> int:
        """The newest generation that was started to run the job, and not for maintenance."""
        return max((one.generation for one in self.view.generations if one.purpose is Purpose.RUN), default=0)


@dataclass(frozen=True, slots=True)
class GcDecision:
    """``expire``, ``delete``: what is deleted, by age or on request. ``unpin``: savepoints among the latter. ``refused``: requested deletions that
    are refused. ``finish``: retired by a worker that died before it deleted the files or reported them. ``retired``: rows that the driver has
    retired. ``repin``: kept checkpoints whose pin is missing in the job log."""

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


def decide(
    log: LogFacts, rows: Collection[CheckpointFacts], references: Mapping[int, Sequence[str]], *, in_the_way: str | None
) -> GcDecision:
    """``references``: see ``plan_references``. ``in_the_way``: why nothing may be deleted at all."""
    view = log.view
    kept = {int(record.checkpoint) for record in view.kept}
    by_number = {row.number: row for row in rows}
    gone = {row.number for row in rows if presence_in_log(view, row.number, row.generation) is LogPresence.RETIRED}
    begun = {number for number in gone if by_number[number].deleting or by_number[number].asked}
    asked = [row for row in rows if row.asked and row.number in kept]
    unpinned = {row.number for row in rows if row.number in kept and (row.pinned or row.is_savepoint)} - set(view.pinned)
    if in_the_way is not None:
        return GcDecision(
            refused={row.number: in_the_way for row in asked}, retired=tuple(sorted(gone)), repin=tuple(sorted(unpinned))
        )
    held = _kept_because(log, by_number, references)
    delete = {row.number for row in asked if _deletion_refused_because(view, row, held) is None}
    expire = {
        number
        for number in log.expired
        if number in kept and number not in held and number not in delete and not _is_savepoint(by_number, number)
    }
    return GcDecision(
        expire=tuple(sorted(expire)),
        delete=tuple(sorted(delete)),
        unpin=tuple(sorted(number for number in delete if number in view.pinned)),
        refused={row.number: why for row in asked if (why := _deletion_refused_because(view, row, held)) is not None},
        finish=tuple(sorted(begun)),
        retired=tuple(sorted(gone - begun)),
        repin=tuple(sorted(unpinned - delete)),
    )


def deletion_refusal(number: int, *, pinned: bool, references: Mapping[int, Sequence[str]], newest: int | None) -> Refusal | None:
    """Return why a user may not delete the checkpoint, as far as the database knows. Users may delete savepoints."""
    # The platform pins what plans need: the plan says more than the pin.
    if number in references:
        return Refusal(
            "referenced",
            f"Checkpoint {number} is still needed. {references[number][0]}",
            "Discard the plan, or choose another checkpoint.",
        )
    if pinned:
        return Refusal("pinned", f"Checkpoint {number} is pinned.", "Unpin it first.")
    if number == newest:
        return Refusal("newest", f"Checkpoint {number} is the newest one: the job resumes from it.", "Choose another one.")
    return None


@dataclass(frozen=True, slots=True)
class Branches:
    """``current``: the checkpoints of the branch that the job resumes. ``starts``: those of them at which an abandoned branch starts."""

    current: frozenset[int]
    starts: frozenset[int]


def branches_of(checkpoints: Mapping[int, int], restores: Mapping[int, int | None]) -> Branches:
    """Return the branches of a job, from what the database knows.

    ``checkpoints``: the number of the run that completed each kept checkpoint. ``restores``: by number of the runs that did not resume, the
    checkpoint that each restored; None: none of this job.
    """
    firsts = sorted(restores)

    def first_of(checkpoint: int) -> int:
        """The run that started the segment of this checkpoint. 0: the first segment."""
        return max((run for run in firsts if run <= checkpoints[checkpoint]), default=0)

    segments: defaultdict[int, list[int]] = defaultdict(list)
    for number in checkpoints:
        segments[first_of(number)].append(number)
    current: set[int] = set()
    first: int | None = firsts[-1] if firsts else 0
    up_to: float = math.inf
    seen: set[int] = set()
    while first is not None and first not in seen:
        seen.add(first)
        current |= {number for number in segments[first] if number <= up_to}
        restored = restores.get(first)
        first = first_of(restored) if restored is not None and restored in checkpoints else None
        up_to = restored if restored is not None else -math.inf
    starts: set[int] = set()
    for number in checkpoints.keys() - current:
        at: int | None = number
        while at is not None and at not in current and at in checkpoints:
            first = first_of(at)
            shared = [other for other in segments[first] if other < at and other in current]
            at = max(shared) if shared else restores.get(first)
        if at is not None and at in current:
            starts.add(at)
    return Branches(frozenset(current), frozenset(starts))


def kept_because(
    number: int,
    *,
    pin: str | None,
    pin_in_force: bool,
    is_savepoint: bool,
    references: Mapping[int, Sequence[str]],
    newest: int | None,
    branches: Branches,
    retained: int,
) -> list[str]:
    """Return why the files of a completed checkpoint are kept: sentences, the strongest reason first. Empty: they may be deleted at any time.

    ``pin``: the reason of its pin; None: it is not pinned. ``retained``: how many checkpoints the job retains.
    """
    found = []
    if number == newest:
        found.append("It is the newest checkpoint: the job resumes from it.")
    # The reference of a plan says more than the pin that the plan has set.
    if pin is not None and not (pin.startswith(UNDO_PIN) and number in references):
        found.append(f"It is pinned{f': {pin}' if pin else ''}{'' if pin_in_force else ' (not yet in the job log)'}.")
    found += references.get(number, ())
    if number in branches.starts:
        found.append("An abandoned branch starts at it.")
    is_abandoned = number not in branches.current
    if is_savepoint or is_abandoned:
        what = " ".join(filter(None, ("a savepoint" if is_savepoint else "", "on an abandoned branch" if is_abandoned else "")))
        found.append(f"It is {what}: it stays until a user deletes it.")
    elif number != newest and sum(other > number for other in branches.current) < retained:
        found.append(f"It is one of the newest {retained}.")
    return found


def _kept_because(log: LogFacts, rows: Mapping[int, CheckpointFacts], references: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """Return every checkpoint that is kept whatever its age, except savepoints and pinned ones, which users delete."""
    view = log.view
    held = {number: sentences[0] for number, sentences in references.items()}
    for row in rows.values():
        if row.pinned:
            held.setdefault(row.number, "It is pinned. Unpin it first.")
    if view.newest is not None:
        held.setdefault(view.newest.checkpoint, "It is the newest one: the job resumes from it.")
    whole = [
        record.checkpoint for record in view.restorable if not (record.checkpoint in rows and rows[record.checkpoint].damaged)
    ]
    if whole:
        held.setdefault(max(whole), "It is the newest one that is not known to be damaged.")
    for number, branch in branch_points(view).items():
        held.setdefault(number, f"{branch} starts at it. Delete that branch first.")
    for left in (*view.abandonment_due, *view.reinstatement_due):
        held.setdefault(left.checkpoint, "The sinks have not processed the last rollback or undo yet. Run the job first.")
    for number in log.unpublished:
        held.setdefault(number, "Its output may have to be committed again. Run the job for one more checkpoint first.")
    return held


def _is_savepoint(rows: Mapping[int, CheckpointFacts], number: int) -> bool:
    return number in rows and rows[number].is_savepoint


def _deletion_refused_because(view: LogView, row: CheckpointFacts, held: Mapping[int, str]) -> str | None:
    if row.number in held:
        return f"Checkpoint {row.number} is kept. {held[row.number]}"
    if row.number in view.pinned and not row.is_savepoint:
        return f"Checkpoint {row.number} is kept. It is pinned in the job log, and not through the control plane."
    return None


def branch_points(view: LogView) -> dict[int, str]:
    """Return the checkpoints of the current branch at which a kept abandoned branch starts, with the name of that branch.

    A restart continues its branch. An abandoned branch stays until a user deletes it, and so does the checkpoint that it starts at.
    """
    current = set(view.current)
    found: dict[int, str] = {}
    for record in view.abandoned:
        shared = [one for one in view.ancestry(record.checkpoint) if one in current]
        if shared:
            found.setdefault(int(max(shared)), f"The abandoned branch of checkpoint {record.checkpoint}")
    return found


def unpublished_checkpoints(view: LogView, published_up_to: Mapping[int, int]) -> frozenset[int]:
    """Return kept checkpoints whose output a restore of a later one on their branch may have to commit again.

    ``published_up_to``: from the manifest of each kept checkpoint; a missing one says nothing.
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


class LogPresence(Enum):
    KEPT = auto()
    RETIRED = auto()
    """The driver has retired it: its missing files are no damage."""
    UNKNOWN = auto()
    """The log does not contain it: it is another log, or it is incomplete."""


def presence_in_log(view: LogView, number: int, generation: int) -> LogPresence:
    """``generation``: of the runtime that completed it."""
    if view.find(CheckpointId(number)) is not None:
        return LogPresence.KEPT
    reaches = number <= view.highest_checkpoint and generation <= view.generation
    return LogPresence.RETIRED if reaches else LogPresence.UNKNOWN
