"""The job log in checkpoint storage: reading entries, creating entries and reporting the outcome. This module makes no
decisions.

The owner of the running generation regularly appends a summary of all earlier entries and then deletes these entries
(``summarise``, ``trim``). ``weir.storage.log_reader`` can read a log while the owner summarises and trims it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from weir.errors import CheckpointError, StorageError, Superseded, UnknownOutcome
from weir.protocol.ids import Generation
from weir.protocol.job_log import Entry
from weir.protocol.log_view import LogView, summary
from weir.storage.base import CheckpointStorage
from weir.storage.layout import JobLayout
from weir.storage.log_reader import LogFiles, LogState, NumberedEntry, is_newest, read_log

CREATE_ATTEMPTS_MAX = 3


@dataclass(frozen=True, slots=True)
class Appended:
    """The entry is durably in the log, at ``number``."""

    number: int
    view: LogView
    """The log view including the entry."""
    next_number: int


@dataclass(frozen=True, slots=True)
class NumberTaken:
    """Another process has created an entry with the requested number. The entry of the other process may already be trimmed.

    The caller's entry is not in the log (see ``_outcome``).
    """

    entries: tuple[NumberedEntry, ...]
    """All entries from the requested number to the end. The tuple is empty if the entry with that number is trimmed."""
    view: LogView
    """The log view including ``entries``."""
    next_number: int


AppendOutcome: TypeAlias = Appended | NumberTaken


class JobLog:
    """Reader and writer of one log. Calls to one instance must not overlap. A log can have any number of readers and writers,
    in any process."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._files = LogFiles(storage, layout)
        self._state: LogState | None = None
        self._unresolved: str | None = None
        """Nonce of the entry whose outcome is unknown: this process may have written the entry, and the entry may be durable."""

    @property
    def view(self) -> LogView:
        """The log view as of the last read."""
        return self._current_state.view

    @property
    def next_number(self) -> int:
        return self._current_state.next_number

    @property
    def unsummarised(self) -> int:
        """Number of entries since the last summary, or since the start of the log."""
        return self._current_state.next_number - 1 - self._current_state.base

    @property
    def _current_state(self) -> LogState:
        return self._state if self._state is not None else LogState()

    def read(self) -> tuple[LogView, int]:
        """Read new entries. Return the view and the number of the next entry.

        Raise StorageError, or CheckpointError if the log has a gap or an entry that is damaged or contradicts other entries.
        After an error the view is unchanged.

        All entries in the view that this process has written are durable, even after an UnknownOutcome. The view can contain
        entries of other processes that are not durable yet: a power cut could remove these entries. When this process appends an
        entry, all earlier entries become durable.
        """
        state = read_log(self._files, self._state)
        if self._unresolved is not None and state.entries:
            # Creating the newest entry again changes nothing, but makes this entry and all earlier entries durable.
            newest = state.entries[-1]
            self._files.create(newest.number, newest.entry)
        self._state = state
        return self.view, self.next_number

    def append(self, entry: Entry, *, at: int) -> AppendOutcome:
        """Create ``entry`` with number ``at``. ``at`` is the ``next_number`` that the caller last saw. Another process may have
        used this number in the meantime. The entry is appended only if it is known to be durable.

        It is safe to call ``append`` again with the same entry (same nonce) and the same number. Both calls have the same
        outcome, unless a process has appended a summary between the two calls. Raise UnknownOutcome if it is unknown whether the
        entry is durably in the log. After UnknownOutcome, call ``append`` again, and delete no files until the outcome is known.
        Raise Superseded if a newer generation is in the log, CheckpointError if the entry cannot follow the existing entries, or
        StorageError if the entry was certainly not written.
        """
        try:
            outcome = self._append(entry, at)
        except UnknownOutcome:
            self._unresolved = entry.nonce
            raise
        except StorageError as error:
            if entry.nonce == self._unresolved:
                # This call has not written the entry, but an earlier call may have written it.
                raise self._unknown(at, error) from error
            raise
        if entry.nonce == self._unresolved:
            self._unresolved = None
        return outcome

    def _append(self, entry: Entry, at: int) -> AppendOutcome:
        if at > self.next_number:
            self.read()
        assert 1 <= at <= self.next_number, f"entry {at} would leave a gap, the next number is {self.next_number}"
        if at < self.next_number:
            return self._outcome(entry, at)
        if self.view.is_stale(entry):
            raise self._superseded(entry.generation)
        objection = self.view.objection(entry)
        if objection is not None:
            raise CheckpointError(
                f"{type(entry).__name__} cannot be entry {at} of the log of job '{self._files.job}': {objection}"
            )
        unknown: StorageError | None = None
        for _ in range(CREATE_ATTEMPTS_MAX):
            try:
                created = self._files.create(at, entry)
            except UnknownOutcome as error:
                # Do not read the log to determine the outcome, because an entry that can be read may not be durable.
                # The next attempt writes the same entry. If an earlier attempt has written the entry, the number is taken, and
                # the answer to the next attempt proves that the entry is durable.
                unknown = error
                continue
            except StorageError as error:
                if unknown is None:
                    raise
                raise self._unknown(at, unknown) from error
            # The number is taken, and every entry up to this number is durable. So the outcome of every earlier entry of this
            # process is known: an entry that is not in the log now can no longer be created.
            self._unresolved = None
            try:
                if created:
                    return self._created(entry, at)
                self.read()
                if at < self.next_number:
                    return self._outcome(entry, at)
            except StorageError as error:
                raise self._unknown(at, error) from error
        raise self._unknown(at, unknown) from unknown

    def _created(self, entry: Entry, at: int) -> AppendOutcome:
        """Return the outcome of a successful create.

        A process that was paused can create an entry at a number that has been trimmed in the meantime. An entry at a trimmed
        number is not part of the log. So the new entry is in the log only if it is the newest entry, or if a full read of the
        log includes it.
        """
        if is_newest(self._files, NumberedEntry(at, entry)):
            state = self._current_state
            state.apply(entry)
            self._state = state
        else:
            self.read()
            if at >= self.next_number:
                raise StorageError("the entry has disappeared and no other entry has its number")
        return self._outcome(entry, at)

    def _outcome(self, entry: Entry, at: int) -> AppendOutcome:
        """Return the outcome of an attempt to create ``entry`` with number ``at``. ``next_number`` must already be higher than
        ``at``.

        Entries below the newest summary are not part of the log and cannot be read. But the following rules determine the
        outcome:

        - A process appends a summary only for its own generation, and only while the outcome of all its entries is known. So an
          unexpected summary above ``at`` is from a newer generation, and Superseded is raised. If the entry is in the log after
          all, the newer generation knows the entry from the summary and acts on it.
        - A GenerationStarted in the log uses up its generation number, so the entry then counts as stale. A GenerationStarted
          that is not stale is therefore not in the log.
        - Other entries of a process that owns no generation (a pin by the command line) are idempotent. For idempotent entries,
          ``_outcome`` returns NumberTaken, and the caller retries.
        """
        state = self._current_state
        if at < state.base:
            if state.view.is_stale(entry):
                raise self._superseded(entry.generation)
            return NumberTaken((), state.view, state.next_number)
        since = tuple(numbered for numbered in state.entries if numbered.number >= at)
        if since[0].entry.nonce == entry.nonce:
            return Appended(at, state.view, state.next_number)
        return NumberTaken(since, state.view, state.next_number)

    def summarise(self, generation: Generation, *, nonce: str, timestamp_ms: int) -> AppendOutcome:
        """Append a summary of the view.

        Only the owner of ``generation`` may append a summary, and only while the outcome of all its entries is known (see
        ``_outcome``). Return NumberTaken if another process has added an entry. The next summary includes the entry of the other
        process.

        Raise the errors of ``append``, and Superseded if another generation has started.
        """
        if self.view.generation > generation:
            raise self._superseded(generation)
        return self.append(summary(self.view, nonce=nonce, timestamp_ms=timestamp_ms), at=self.next_number)

    def trim(self) -> int:
        """Delete every entry below the newest summary known to be in the log. Return the number of entries deleted.

        Entries are deleted in ascending order, because ``log_reader`` relies on this order. A process may call ``trim`` even
        after a long pause, because entries below a summary are never needed again. If only some entries could be deleted,
        raise StorageError. The next call deletes the remaining entries.
        """
        base = self._current_state.base
        superfluous = [number for number in self._files.numbers() if number < base]
        self._files.delete(superfluous)
        return len(superfluous)

    def entries(self, *, first: int = 1) -> tuple[NumberedEntry, ...]:
        """Return the existing entries from number ``first`` on, for display.

        The result can include entries that are not part of the log, because a paused process created them too late, below the
        newest summary.
        """
        stored = ((number, self._files.fetch(number)) for number in self._files.numbers() if number >= first)
        return tuple(NumberedEntry(number, entry) for number, entry in stored if entry is not None)

    def _superseded(self, generation: Generation) -> Superseded:
        return Superseded(
            f"Another driver has taken over job {self._files.job}: its generation is {self.view.generation}, this driver's is {generation}. "
            "This driver stops and commits nothing more."
        )

    def _unknown(self, at: int, cause: BaseException | None) -> UnknownOutcome:
        return UnknownOutcome(
            f"Entry {at} of the log of job '{self._files.job}' may or may not have been written: "
            f"{cause or 'the storage did not answer'}"
        )
