"""Taking in what a driver tells, and handing out what it is to do."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from weir.errors import ProtocolError
from weir.protocol.events import CommandAnswered, Event, NumberedEvent
from weir_backend.errors import Conflict, Gone, Invalid, NotFound, Unauthenticated
from weir_backend.kit import tasks as names
from weir_backend.kit.access import digest
from weir_backend.kit.clock import now
from weir_backend.kit.tasks import Tasks, ask
from weir_backend.kit.wakeups import job_key, run_key, wake
from weir_backend.link import repository
from weir_backend.link.batch import decode, up_to_its_end
from weir_backend.link.fold import fold
from weir_backend.link.rows import Facts, RunRow
from weir_backend.models import Run

CONTACT_EVERY = timedelta(seconds=5)


class Hole(Conflict):
    """Events before this batch are missing, and can still be sent. ``stored``: what there is."""

    def __init__(self, stored: int) -> None:
        super().__init__(
            "hole", f"events after {stored} are missing before this batch", f"send them from {stored + 1} on", stored=stored
        )


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run whose token was shown."""

    id: int
    job_id: int
    over: bool
    last_command: int
    last_contact_at: datetime | None


def known_run(session: Session, run_id: int, secret: str | None) -> KnownRun:
    """Raises NotFound, Unauthenticated, and Gone if the control plane has taken the job from this run."""
    if secret is None:
        raise Unauthenticated("unauthenticated", "this needs the token of the run", "send 'Authorization: Bearer TOKEN'")
    found = repository.shown(session, run_id)
    if found is None:
        raise NotFound("no-run", f"there is no run {run_id}")
    job_id, token_digest, fenced_at, ended_at, last_command, last_contact_at = found
    if not secrets.compare_digest(bytes(token_digest), digest(secret)):
        raise Unauthenticated("unauthenticated", f"this is not the token of run {run_id}")
    if fenced_at is not None:
        raise _fenced(run_id)
    return KnownRun(run_id, job_id, ended_at is not None, last_command, last_contact_at)


def take_in(session: Session, tasks: Tasks, run_id: int, secret: str | None, *, first: int, oldest: int, body: bytes) -> int:
    """The number of the last event that is stored. Raises NotFound, Unauthenticated, Gone, Invalid, Hole."""
    known = known_run(session, run_id, secret)
    try:
        events = decode(body)
        if events[0].number != first:
            raise ProtocolError(f"the batch begins with event {events[0].number}, and first says {first}")
        return store(session, tasks, known, events, oldest=oldest)
    except ProtocolError as error:
        raise Invalid("batch", f"this is no batch of events: {error}") from None
    except RecursionError:
        raise Invalid("batch", "this is no batch of events: it is nested too deeply") from None


def _fenced(run_id: int) -> Gone:
    return Gone("fenced", f"run {run_id} is over: the job was taken from it", "stop; another run has the job")


def store(
    session: Session,
    tasks: Tasks,
    known: KnownRun,
    events: Sequence[NumberedEvent],
    *,
    oldest: int,
    left_behind: bool = False,
) -> int:
    """``oldest``: none below it can be had any more. ``left_behind``: they were found in the spool of a driver that is gone, so they
    come from no zombie, even if its run is fenced. At least one event, without holes.

    What comes after the event by which a run says that it is over is taken in only where somebody waits for it: a token is of use for
    as long as the run.

    Raises Hole, Gone, and ProtocolError for values that no driver of ours sends.
    """
    event_number, run, fenced = repository.locked(session, known.job_id, known.id)
    if fenced and not left_behind:
        raise _fenced(run.id)
    moment = now()
    contact = not left_behind and (known.last_contact_at is None or known.last_contact_at <= moment - CONTACT_EVERY)
    fresh: Sequence[NumberedEvent] = [one for one in events if one.number > run.stored_event]
    if not fresh:
        if contact:
            repository.touch(session, run.id, moment)
        return run.stored_event
    over = run.ended_at is not None
    if over and left_behind:
        return run.stored_event
    fresh = fresh if over else up_to_its_end(fresh)
    if fresh[0].number > run.stored_event + 1 and oldest < fresh[0].number:
        # Some of what is missing can still be had: nothing is given up that need not be.
        raise Hole(run.stored_event)
    facts = repository.facts_for(session, event_number, run, fresh)
    if over and not _are_awaited([one.event for one in fresh], facts):
        raise Gone("over", f"run {run.id} is over: what it told before its end is known", "there is nothing more to tell")
    changes = fold(facts, fresh, received_at=moment)
    repository.write(session, changes, moment=moment, contact=contact)
    _tell(session, tasks, run, anything=changes.state_changed or changes.shown, state_changed=changes.state_changed)
    return run.stored_event


def _are_awaited(events: Sequence[Event], facts: Facts) -> bool:
    """Of a run that is over: what it says, once, of commands that it was given and has said nothing of yet."""
    answered = [event.command if isinstance(event, CommandAnswered) else None for event in events]
    rows = [facts.commands.get(number) if number is not None else None for number in answered]
    return len(set(answered)) == len(answered) and all(row is not None and row.outcome is None for row in rows)


def _tell(session: Session, tasks: Tasks, run: RunRow, *, anything: bool, state_changed: bool) -> None:
    """``anything``: that streams show. Most batches are samples, and wake nobody."""
    if anything:
        wake(session, job_key(run.job_id))
    if run.ended_at is not None:
        wake(session, run_key(run.id))
    if state_changed:
        ask(session, tasks, names.RECONCILE, run.job_id)


def commands_after(session: Session, run_id: int, secret: str | None, *, after: int) -> list[tuple[int, str, dict[str, Any]]]:
    """Number, kind and fields. Raises NotFound, Unauthenticated, Gone: also if the run has told its end."""
    known = known_run(session, run_id, secret)
    if known.over:
        raise Gone("over", f"run {run_id} is over")
    moment = now()
    if known.last_contact_at is None or known.last_contact_at <= moment - CONTACT_EVERY:
        repository.touch(session, run_id, moment)
    if after > known.last_command:
        # We were set back to a time before those commands: their numbers are spent all the same.
        repository.skip_commands(session, run_id, after)
    return repository.commands_of(session, run_id, after)


def store_leftover(session: Session, tasks: Tasks, run_id: int, events: Sequence[NumberedEvent]) -> int:
    """Events that a driver which is gone has left in its spool. Raises ProtocolError, Gone never."""
    found = session.execute(select(Run.job_id, Run.ended_at, Run.last_command, Run.last_contact_at).where(Run.id == run_id)).one()
    job_id, ended_at, last_command, last_contact_at = found
    known = KnownRun(run_id, job_id, ended_at is not None, last_command, last_contact_at)
    return store(session, tasks, known, events, oldest=events[0].number, left_behind=True)
