"""Ingest events from drivers, and deliver commands to them."""

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
from weir_backend.kit.notifications import job_key, publish, run_key
from weir_backend.kit.tasks import Tasks, enqueue_after_commit
from weir_backend.link import repository
from weir_backend.link.batches import decode, until_final_state
from weir_backend.link.changes import RunFacts, RunRow
from weir_backend.link.projection import project
from weir_backend.models import Run

CONTACT_INTERVAL = timedelta(seconds=5)


class MissingEvents(Conflict):
    """Events before this batch are missing, and the driver can still send some of them. ``stored`` is the number of the last stored event."""

    def __init__(self, stored: int) -> None:
        super().__init__(
            "missing-events",
            f"Event {stored + 1} and later events are missing before this batch.",
            f"Send the events from number {stored + 1}.",
            stored=stored,
        )


@dataclass(frozen=True, slots=True)
class KnownRun:
    """An authenticated run."""

    id: int
    job_id: int
    over: bool
    last_command: int
    last_contact_at: datetime | None


def known_run(session: Session, run_id: int, secret: str | None) -> KnownRun:
    """Authenticate a run by its token. Raises NotFound, Unauthenticated, and Gone if the run is fenced."""
    if secret is None:
        raise Unauthenticated(
            "unauthenticated", "This request requires the token of the run.", "Send the header 'Authorization: Bearer TOKEN'."
        )
    found = repository.authentication_row(session, run_id)
    if found is None:
        raise NotFound("no-run", f"Run {run_id} does not exist.")
    job_id, token_digest, fenced_at, ended_at, last_command, last_contact_at = found
    if not secrets.compare_digest(bytes(token_digest), digest(secret)):
        raise Unauthenticated("unauthenticated", f"The token does not belong to run {run_id}.")
    if fenced_at is not None:
        raise _fenced(run_id)
    return KnownRun(run_id, job_id, ended_at is not None, last_command, last_contact_at)


def ingest(session: Session, tasks: Tasks, run_id: int, secret: str | None, *, first: int, oldest: int, body: bytes) -> int:
    """Store a batch of events. Return the number of the last stored event. Raises NotFound, Unauthenticated, Gone, Invalid, MissingEvents."""
    known = known_run(session, run_id, secret)
    try:
        events = decode(body)
        if events[0].number != first:
            raise ProtocolError(f"the batch starts with event {events[0].number}, but the query parameter `first` is {first}")
        return store(session, tasks, known, events, oldest=oldest)
    except ProtocolError as error:
        raise Invalid("batch", f"The body is not a valid batch of events: {error}.") from None
    except RecursionError:
        raise Invalid("batch", "The body is not a valid batch of events: it is nested too deeply.") from None


def _fenced(run_id: int) -> Gone:
    return Gone("fenced", f"Run {run_id} is fenced: another run has taken over the job.", "Stop the driver.")


def store(
    session: Session,
    tasks: Tasks,
    known: KnownRun,
    events: Sequence[NumberedEvent],
    *,
    oldest: int,
    from_spool: bool = False,
) -> int:
    """Store one or more consecutive events. Return the number of the last stored event of the run.

    ``oldest`` is the number of the oldest event that the driver can still send. ``from_spool`` is True if the events come from the spool of a
    dead driver. Events from a spool are accepted even if the run is fenced, because the driver is not running any more. After a run has ended,
    only answers to its unanswered commands are accepted.

    Raises MissingEvents if events before this batch are missing and the driver can still send them. Raises Gone if the run is fenced or has
    ended. Raises ProtocolError if an event contains a value that a correct driver never sends.
    """
    event_number, run, fenced = repository.locked(session, known.job_id, known.id)
    if fenced and not from_spool:
        raise _fenced(run.id)
    moment = now()
    contact = not from_spool and (known.last_contact_at is None or known.last_contact_at <= moment - CONTACT_INTERVAL)
    fresh: Sequence[NumberedEvent] = [one for one in events if one.number > run.stored_event]
    if not fresh:
        if contact:
            repository.touch(session, run.id, moment)
        return run.stored_event
    over = run.ended_at is not None
    if over and from_spool:
        return run.stored_event
    fresh = fresh if over else until_final_state(fresh)
    if fresh[0].number > run.stored_event + 1 and oldest < fresh[0].number:
        # Do not skip events that the driver can still send.
        raise MissingEvents(run.stored_event)
    facts = repository.facts_for(session, event_number, run, fresh)
    if over and not _answer_open_commands([one.event for one in fresh], facts):
        raise Gone("over", f"Run {run.id} has ended, and all its events are stored.", "Send no further events.")
    changes = project(facts, fresh, received_at=moment)
    repository.write(session, changes, moment=moment, contact=contact)
    _notify(session, tasks, run, visible=changes.state_changed or changes.visible, state_changed=changes.state_changed)
    return run.stored_event


def _answer_open_commands(events: Sequence[Event], facts: RunFacts) -> bool:
    """Return whether every event answers an unanswered command, and no two events answer the same command."""
    answered = [event.command if isinstance(event, CommandAnswered) else None for event in events]
    rows = [facts.commands.get(number) if number is not None else None for number in answered]
    return len(set(answered)) == len(answered) and all(row is not None and row.outcome is None for row in rows)


def _notify(session: Session, tasks: Tasks, run: RunRow, *, visible: bool, state_changed: bool) -> None:
    """Notify event streams, waiting requests and the reconciler. ``visible`` is True if event streams show at least one of the changes. For
    most batches, ``visible`` is False."""
    if visible:
        publish(session, job_key(run.job_id))
    if run.ended_at is not None:
        publish(session, run_key(run.id))
    if state_changed:
        enqueue_after_commit(session, tasks, names.RECONCILE, run.job_id)


def commands_after(session: Session, run_id: int, secret: str | None, *, after: int) -> list[tuple[int, str, dict[str, Any]]]:
    """Return the number, kind and fields of each command after number ``after``. Raises NotFound, Unauthenticated, and Gone if the run is fenced or
    has ended."""
    known = known_run(session, run_id, secret)
    if known.over:
        raise Gone("over", f"Run {run_id} has ended.")
    moment = now()
    if known.last_contact_at is None or known.last_contact_at <= moment - CONTACT_INTERVAL:
        repository.touch(session, run_id, moment)
    if after > known.last_command:
        # The driver has received commands that the database does not contain, because the database was restored from an older backup. Skip the
        # command numbers that the driver has received, so that new commands do not reuse them.
        repository.skip_commands(session, run_id, after)
    return repository.commands_of(session, run_id, after)


def store_unsent(session: Session, tasks: Tasks, run_id: int, events: Sequence[NumberedEvent]) -> int:
    """Store events that a dead driver could not send. Raises ProtocolError."""
    found = session.execute(select(Run.job_id, Run.ended_at, Run.last_command, Run.last_contact_at).where(Run.id == run_id)).one()
    job_id, ended_at, last_command, last_contact_at = found
    known = KnownRun(run_id, job_id, ended_at is not None, last_command, last_contact_at)
    return store(session, tasks, known, events, oldest=events[0].number, from_spool=True)
