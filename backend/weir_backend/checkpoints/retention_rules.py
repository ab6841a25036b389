"""Decide which checkpoints can be deleted, and why other checkpoints are kept. The functions are pure: they compute decisions from facts, without
clock, database and files.

The rules in this module apply to jobs that are not running. The driver of a running job itself retires the checkpoints of the
job. A checkpoint is deleted in four steps. First, ``deleting_since`` is set in the database, so that no new plan or pin can refer
to the checkpoint. Second, an entry in the job log retires the checkpoint, so that no run can restore it. Third, the files of the
checkpoint are deleted. Fourth, the checkpoint is marked as discarded in the database. If a worker crashes, the next worker
continues with the first step that was not completed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto

from weir.protocol.ids import CheckpointId
from weir.protocol.job_log import Purpose
from weir.protocol.log_view import LogView
from weir_backend.actions.rules import OPEN, PLAN_VALID_FOR, Refusal, applying_refusal
from weir_backend.models import DesiredState, Job, PinHolder, PlanState, Run, RunState

UNDO_PIN = "an undo of plan "
"""If a pin keeps a safety savepoint for an undo, the reason of the pin starts with ``UNDO_PIN``."""
_PENDING = " (not yet in the job log)"
_NEWEST_UNDAMAGED = "This checkpoint is the newest checkpoint without known damage."


@dataclass(frozen=True, slots=True)
class GcJobFacts:
    """The facts about a job that decide whether its checkpoints can be deleted. ``live_run`` is the number of the run that has not ended, if any.
    ``last_state`` is the state of the newest run. ``applying`` is the plan that is being applied, if any. ``neighbour`` is the name of another job
    that has run with the same job log, if any. ``known_generation`` is the newest generation that a run of this job has reported."""

    desired: DesiredState
    live_run: int | None
    last_state: RunState | None
    restarts_stopped: bool
    applying: int | None
    neighbour: str | None
    known_generation: int

    @classmethod
    def of(cls, job: Job, run: Run | None, applying: int | None, neighbour: str | None, known_generation: int = 0) -> GcJobFacts:
        """Return the facts that decide whether checkpoints of a job can be deleted. ``run`` is the newest run of the job."""
        return cls(
            desired=job.desired_state,
            live_run=run.number if run is not None and run.ended_at is None else None,
            last_state=run.state if run is not None else None,
            restarts_stopped=job.restarts_stopped_reason is not None,
            applying=applying,
            neighbour=neighbour,
            known_generation=known_generation,
        )


def gc_obstacle(facts: GcJobFacts, *, log_generation: int | None = None) -> Refusal | None:
    """Return the reason why no worker may delete files of this job now, or None if workers may delete files. ``log_generation`` is
    ``LogFacts.run_generation``, or None if this generation is unknown."""
    if facts.applying is not None:
        # Check ``applying`` before ``live_run``. The refusal for a live run suggests suspending the job, but no user can suspend a job
        # while a plan is being applied.
        return applying_refusal(facts.applying)
    if facts.live_run is not None:
        reason = f"Run {facts.live_run} has not ended, and only its driver may delete checkpoints of this job."
        return Refusal("running", reason, "Suspend the job first.")
    if facts.desired is DesiredState.RUNNING and facts.last_state is not RunState.FINISHED and not facts.restarts_stopped:
        return Refusal("running", "The job is about to start.", "Suspend the job first.")
    if facts.neighbour is not None:
        reason = f"Job '{facts.neighbour}' has run with the same checkpoint directory and job name, so both jobs share these checkpoints."
        return Refusal("shared", reason, "Give each job its own checkpoint directory.")
    if log_generation is not None and log_generation > facts.known_generation:
        return Refusal(
            "unknown-generation",
            f"No run of this job has reported generation {log_generation} of the job log (the newest reported generation is "
            f"{facts.known_generation}). Another application may be using this checkpoint directory.",
            "Find that application. Checkpoints can be deleted after a run of this job has reached RUNNING again.",
        )
    return None


@dataclass(frozen=True, slots=True)
class PlanReference:
    """A plan that can refer to checkpoints. ``target`` is the checkpoint that the plan restores. ``safety`` is the job's newest
    checkpoint after the plan has stopped the job. An undo of the plan restores the checkpoint ``safety``. ``undone`` is True if
    an undo of the plan was applied."""

    id: int
    state: PlanState
    target: int | None
    safety: int | None
    created_at: datetime
    ended_at: datetime | None
    undone: bool


def plan_references(
    plans: Iterable[PlanReference], next_start: int | None, now: datetime, *, undo_kept: timedelta
) -> dict[int, list[Refusal]]:
    """Return the reasons why plans or the next run need checkpoints, by checkpoint number."""
    found: defaultdict[int, list[Refusal]] = defaultdict(list)

    def keep(number: int, reason: str, next_step: str) -> None:
        found[number].append(Refusal("referenced", reason, next_step))

    for plan in plans:
        if plan.state in OPEN and now - plan.created_at <= PLAN_VALID_FOR and plan.target:
            reason = f"Plan {plan.id} is {plan.state.lower()} and would restore this checkpoint."
            keep(plan.target, reason, "Discard the plan, or choose another checkpoint.")
        if plan.state is PlanState.APPLYING:
            for number in {plan.target, plan.safety} - {None}:
                assert number is not None
                keep(number, f"Plan {plan.id} is being applied.", "Wait until the plan has ended.")
        if plan.state is PlanState.APPLIED and plan.safety and not plan.undone:
            until = (plan.ended_at or plan.created_at) + undo_kept
            if now < until:
                reason = f"Until {until:%Y-%m-%d}, an undo of plan {plan.id} would return to this checkpoint."
                keep(plan.safety, reason, "Wait until that date, or choose another checkpoint.")
    if next_start:
        keep(next_start, "The next run starts from this checkpoint.", "Start the job first, or choose another checkpoint.")
    return dict(found)


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """The facts from the database about a completed checkpoint that is not discarded. ``asked`` is True if a user has requested the
    deletion of the checkpoint. ``deleting`` is True if the checkpoint is marked for deletion."""

    number: int
    generation: int = 1
    """The generation of the runtime that completed the checkpoint."""
    is_savepoint: bool = False
    pinned: bool = False
    damaged: bool = False
    asked: bool = False
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The facts that a worker has read from the storage of a job. ``expired`` contains the checkpoints that
    ``weir.storage.garbage_collection.plan_retention`` returns. ``unpublished`` contains the checkpoints whose output Weir may have
    to commit again if a later checkpoint is restored."""

    view: LogView
    expired: frozenset[int]
    unpublished: frozenset[int] = frozenset()

    @property
    def run_generation(self) -> int:
        """The newest generation that was started to run the job. Generations that were started only for maintenance are ignored."""
        return max((one.generation for one in self.view.generations if one.purpose is Purpose.RUN), default=0)


@dataclass(frozen=True, slots=True)
class GcDecision:
    """The decision for each checkpoint of a job."""

    expire: tuple[int, ...] = ()
    """Checkpoints to delete because of their age."""
    delete: tuple[int, ...] = ()
    """Checkpoints to delete on request."""
    unpin: tuple[int, ...] = ()
    """The checkpoints in ``delete`` that are pinned in the job log."""
    refused: Mapping[int, str] | None = None
    """The requested deletions that are refused, by checkpoint number, with the reason."""
    finish: tuple[int, ...] = ()
    """Checkpoints that are retired in the job log but whose deletion is not finished, because a worker crashed."""
    retired: tuple[int, ...] = ()
    """Checkpoints that a driver retired."""
    repin: tuple[int, ...] = ()
    """Kept checkpoints whose pin is missing in the job log."""

    @property
    def to_delete(self) -> tuple[int, ...]:
        return tuple(sorted((*self.expire, *self.delete)))

    @property
    def touches_storage(self) -> bool:
        return bool(self.to_delete or self.finish)


def decide(
    log: LogFacts, rows: Collection[CheckpointFacts], references: Mapping[int, Sequence[Refusal]], *, obstacle: str | None
) -> GcDecision:
    """Return the decision for each checkpoint of a job. ``references`` contains the reasons that ``plan_references`` returns.
    ``obstacle`` is the reason why no checkpoint can be deleted now, or None."""
    view = log.view
    kept = {int(record.checkpoint) for record in view.kept}
    by_number = {row.number: row for row in rows}
    retired = {row.number for row in rows if presence_in_log(view, row.number, row.generation) is LogPresence.RETIRED}
    unfinished = {number for number in retired if by_number[number].deleting or by_number[number].asked}
    asked = [row for row in rows if row.asked and row.number in kept]
    unpinned = {row.number for row in rows if row.number in kept and (row.pinned or row.is_savepoint)} - set(view.pinned)
    if obstacle is not None:
        return GcDecision(
            refused={row.number: obstacle for row in asked}, retired=tuple(sorted(retired)), repin=tuple(sorted(unpinned))
        )
    reasons = _kept_because(log, by_number, references)
    delete = {row.number for row in asked if _deletion_refused_because(view, row, reasons) is None}
    savepoints = {row.number for row in rows if row.is_savepoint}
    expire = (log.expired & kept) - reasons.keys() - delete - savepoints
    return GcDecision(
        expire=tuple(sorted(expire)),
        delete=tuple(sorted(delete)),
        unpin=tuple(sorted(number for number in delete if number in view.pinned)),
        refused={row.number: why for row in asked if (why := _deletion_refused_because(view, row, reasons)) is not None},
        finish=tuple(sorted(unfinished)),
        retired=tuple(sorted(retired - unfinished)),
        repin=tuple(sorted(unpinned - delete)),
    )


def deletion_refusal(
    number: int,
    *,
    pinned: bool,
    references: Mapping[int, Sequence[Refusal]],
    newest: int | None,
    newest_undamaged: int | None,
) -> Refusal | None:
    """Return the reason why a user must not delete the checkpoint, or None if the database contains no reason. The job log can
    contain further reasons to keep the checkpoint. Users may delete savepoints."""
    # If the platform has pinned the checkpoint for a plan, the reason names the plan and not the pin.
    if number in references:
        first = references[number][0]
        return replace(first, reason=f"Checkpoint {number} is still needed. {first.reason}")
    if pinned:
        return Refusal("pinned", f"Checkpoint {number} is pinned.", "Unpin it first.")
    if number == newest:
        return Refusal(
            "newest", f"The job resumes from checkpoint {number}, because it is the newest.", "Choose another checkpoint."
        )
    if number == newest_undamaged:
        reason = f"Checkpoint {number} is the newest checkpoint without known damage."
        return Refusal("newest", reason, "Choose another checkpoint.")
    return None


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of a job. ``current`` contains the checkpoints of the branch that the job continues. ``starts`` contains the checkpoints in
    ``current`` at which an abandoned branch starts."""

    current: frozenset[int]
    starts: frozenset[int]


def branches_of(checkpoints: Mapping[int, int], restores: Mapping[int, int | None]) -> Branches:
    """Return the branches of a job, from rows of the database.

    ``checkpoints`` maps each kept checkpoint to the number of the run that completed it. For each run that did not resume,
    ``restores`` maps the number of the run to the checkpoint of this job that the run restored. ``restores`` maps a run to None
    if the run restored an external checkpoint or started without state."""
    firsts = sorted(restores)

    def first_of(checkpoint: int) -> int:
        """Return the number of the run that started the branch of the checkpoint, or 0 if that run is unknown. Every run that does not
        resume from the newest checkpoint starts a new branch. The checkpoint belongs to the newest branch that had started when the
        checkpoint was completed."""
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
    pins: Sequence[tuple[PinHolder, str, str]],
    pin_in_force: bool,
    is_savepoint: bool,
    references: Mapping[int, Sequence[Refusal]],
    newest: int | None,
    newest_undamaged: int | None,
    branches: Branches,
    retained: int,
) -> list[str]:
    """Return the reasons why the files of a completed checkpoint are kept, as sentences, with the strongest reason first. The result
    contains only reasons that are stored in the database. Even if the result is empty, the files may have to be kept, because the job log
    can contain further reasons. ``pins`` contains the holder, the name of the user and the reason of each pin.
    ``newest_undamaged`` is the newest checkpoint of the current branch that has no known damage, or None if the job is running.
    ``retained`` is the number of checkpoints that the job retains."""
    found = []
    if number == newest:
        found.append("The job resumes from this checkpoint, because it is the newest.")
    elif number == newest_undamaged:
        found.append(_NEWEST_UNDAMAGED)
    for holder, user, reason in pins:
        # Omit a pin for an undo if a plan refers to the checkpoint, because the result then contains the reason of the plan.
        if holder is not PinHolder.UNDO or number not in references:
            by, why, pending = f" by {user}" if user else "", f": {reason}" if reason else "", "" if pin_in_force else _PENDING
            found.append(f"This checkpoint is pinned{by}{why}{pending}.")
    found += [reference.reason for reference in references.get(number, ())]
    if number in branches.starts:
        found.append("An abandoned branch starts at this checkpoint.")
    is_abandoned = number not in branches.current
    if is_savepoint or is_abandoned:
        what = " ".join(filter(None, ("a savepoint" if is_savepoint else "", "on an abandoned branch" if is_abandoned else "")))
        found.append(f"This checkpoint is {what}, so it stays until a user deletes it.")
    elif number != newest and sum(other > number for other in branches.current) < retained:
        found.append(f"This checkpoint is one of the newest {retained} checkpoints, which the job retains.")
    return found


def _kept_because(
    log: LogFacts, rows: Mapping[int, CheckpointFacts], references: Mapping[int, Sequence[Refusal]]
) -> dict[int, str]:
    """Return the reasons to keep checkpoints, by checkpoint number. The reasons apply to expired checkpoints and to requested deletions.
    The result contains no special reason for savepoints, because users may delete savepoints. ``decide`` deletes a savepoint only
    if a user has requested the deletion."""
    view = log.view
    reasons = {number: found[0].sentence for number, found in references.items()}
    for row in rows.values():
        if row.pinned:
            reasons.setdefault(row.number, "This checkpoint is pinned. Unpin the checkpoint first.")
    if view.newest is not None:
        reasons.setdefault(view.newest.checkpoint, "The job resumes from this checkpoint, because it is the newest.")
    undamaged = [
        record.checkpoint for record in view.restorable if not (record.checkpoint in rows and rows[record.checkpoint].damaged)
    ]
    if undamaged:
        reasons.setdefault(max(undamaged), _NEWEST_UNDAMAGED)
    for number, branch in branch_points(view).items():
        reasons.setdefault(number, f"{branch} starts at this checkpoint. Delete that branch first.")
    for left in (*view.abandonment_due, *view.reinstatement_due):
        reasons.setdefault(left.checkpoint, "The sinks have not processed the last rollback or undo yet. Run the job first.")
    for number in log.unpublished:
        reasons.setdefault(
            number,
            "A restore may have to commit the output of this checkpoint again. Run the job until it has completed another checkpoint.",
        )
    return reasons


def _deletion_refused_because(view: LogView, row: CheckpointFacts, reasons: Mapping[int, str]) -> str | None:
    if row.number in reasons:
        return f"Checkpoint {row.number} is kept. {reasons[row.number]}"
    if row.number in view.pinned and not row.is_savepoint:
        return f"Checkpoint {row.number} is kept. The job log contains a pin that was not set through the control plane."
    return None


def branch_points(view: LogView) -> dict[int, str]:
    """Return the checkpoints of the current branch at which an abandoned branch with kept checkpoints starts. In the result, each key is a
    checkpoint number, and each value describes an abandoned branch. An abandoned branch and the checkpoint at which it starts are kept until a user
    deletes the branch. A restart starts no new branch."""
    current = set(view.current)
    found: dict[int, str] = {}
    for record in view.abandoned:
        shared = [one for one in view.ancestry(record.checkpoint) if one in current]
        if shared:
            found.setdefault(int(max(shared)), f"The abandoned branch of checkpoint {record.checkpoint}")
    return found


def unpublished_checkpoints(view: LogView, published_up_to: Mapping[int, int]) -> frozenset[int]:
    """Return the kept checkpoints whose output Weir may have to commit again when a later checkpoint on their branch is restored.
    ``published_up_to`` maps kept checkpoints to the field ``published_up_to`` of their manifests. The field ``published_up_to`` is needed
    for job logs of older versions of Weir, because these job logs do not record publications. If ``published_up_to`` does not contain a
    kept checkpoint, the value 0 is used, because the manifest of the checkpoint does not prove any publication."""
    ancestries = {record.checkpoint: view.ancestry(record.checkpoint) for record in view.kept}
    unpublished: set[int] = set()
    published: set[int] = set()
    for later, ancestry in ancestries.items():
        limit = max(published_up_to.get(later, 0), view.published_up_to(later))
        for checkpoint in ancestry:
            if checkpoint != later:
                (published if checkpoint <= limit else unpublished).add(int(checkpoint))
    return frozenset(unpublished - published)


class LogPresence(Enum):
    KEPT = auto()
    RETIRED = auto()
    """The checkpoint is retired in the job log, so missing files are not damage."""
    UNKNOWN = auto()
    """The job log has never contained the checkpoint, so the job log belongs to another job or is an old copy."""


def presence_in_log(view: LogView, number: int, generation: int) -> LogPresence:
    """Return the state of the checkpoint in the job log: kept, retired, or unknown because the job log has never contained it.
    ``generation`` is the generation of the runtime that completed the checkpoint."""
    if view.find(CheckpointId(number)) is not None:
        return LogPresence.KEPT
    reaches = number <= view.highest_checkpoint and generation <= view.generation
    return LogPresence.RETIRED if reaches else LogPresence.UNKNOWN
