"""The job's log in checkpoint storage: reads facts, creates entries, and says what came of it. It decides nothing.

The owner of the running generation now and then appends a summary of all that came before and then deletes what it
sums up (``summarise``, ``trim``). ``weir.storage.logreading`` is about reading a log while that happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from weir.errors import CheckpointError, StorageError, Superseded, UnknownOutcome
from weir.protocol.ids import Generation
from weir.protocol.joblog import Entry
from weir.protocol.logview import LogView, summary
from weir.storage.base import CheckpointStorage
from weir.storage.layout import JobLayout
from weir.storage.logfiles import LogFiles
from weir.storage.logreading import Known, NumberedEntry, is_newest, read

CREATE_ATTEMPTS_MAX = 3


@dataclass(frozen=True, slots=True)
class Appended:
    """The entry is in the log, at ``number``, for good."""

    number: int
    view: LogView
    """With the entry."""
    next_number: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Somebody else has that number, or had it before it was trimmed. The entry is not in the log (see ``_outcome``)."""

    entries: tuple[NumberedEntry, ...]
    """All from the number that was wanted to the end; none if that number is trimmed."""
    view: LogView
    """With these."""
    next_number: int


AppendOutcome: TypeAlias = Appended | Lost


class JobLog:
    """One reader and writer. Calls must not overlap. Any number of them, in any processes, may share one log."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._files = LogFiles(storage, layout)
        self._known: Known | None = None
        self._unresolved: str | None = None
        """The nonce of the entry of which nobody could say whether it is there."""

    @property
    def view(self) -> LogView:
        """As last read."""
        return self._so_far.view

    @property
    def next_number(self) -> int:
        return self._so_far.next_number

    @property
    def unsummarised(self) -> int:
        """How many entries there are since the last summary, or since the beginning."""
        return self._so_far.next_number - 1 - self._so_far.base

    @property
    def _so_far(self) -> Known:
        return self._known if self._known is not None else Known()

    def read(self) -> tuple[LogView, int]:
        """Take in what is new; the view and the number of the next entry.

        Raises CheckpointError for a hole or an entry that is damaged or cannot be where it is, StorageError. Then
        what was known stays as it was.
        """
        self._known = read(self._files, self._known)
        return self.view, self.next_number

    def append(self, entry: Entry, *, at: int) -> AppendOutcome:
        """Create ``entry`` as number ``at``, the next one the caller knows of.

        Calling again with the same entry (the same nonce) and number is safe and gives the same answer, as long as its
        writer has not summarised the log in between. Raises UnknownOutcome if nobody can say yet whether it is there: call
        again, and delete nothing until then; Superseded if a newer generation is in the log already; CheckpointError if
        the entry cannot follow what is there; StorageError if it surely was not written.
        """
        try:
            return self._append(entry, at)
        except UnknownOutcome:
            self._unresolved = entry.nonce
            raise
        except StorageError as error:
            if entry.nonce == self._unresolved:
                # This call has written nothing, but an earlier one may have.
                raise self._unknown(at, error) from error
            raise

    def _append(self, entry: Entry, at: int) -> AppendOutcome:
        if at > self.next_number:
            self.read()
        assert 1 <= at <= self.next_number, f"entry {at} would leave a hole, the next number is {self.next_number}"
        if at < self.next_number:
            return self._outcome(entry, at)
        if self.view.is_stale(entry):
            raise self._superseded(entry.generation)
        objection = self.view.objection(entry)
        if objection is not None:
            raise CheckpointError(f"{type(entry).__name__} cannot be entry {at} of the log of job {self._files.job}: {objection}")
        doubt: StorageError | None = None
        for _ in range(CREATE_ATTEMPTS_MAX):
            try:
                created = self._files.create(at, entry)
            except UnknownOutcome as error:
                created, doubt = False, error
            except StorageError as error:
                if doubt is None:
                    raise
                raise self._unknown(at, doubt) from error
            # Not created, or nobody knows: what stands there now tells. Nothing there: the write never arrived, or will
            # find the place taken when it does, since the next try writes the same.
            try:
                if created:
                    return self._created(entry, at)
                self.read()
                if at < self.next_number:
                    return self._outcome(entry, at)
            except StorageError as error:
                raise self._unknown(at, error) from error
        raise self._unknown(at, doubt) from doubt

    def _created(self, entry: Entry, at: int) -> AppendOutcome:
        """That the number was free does not mean that it never was taken: who was paused may have created one that is trimmed.

        So the entry is in the log only if nothing is above it, or if a reading of the log comes by it.
        """
        if is_newest(self._files, NumberedEntry(at, entry)):
            known = self._so_far
            known.take(entry)
            self._known = known
        else:
            self.read()
            if at >= self.next_number:
                raise StorageError("it is gone, and nothing is there instead")
        return self._outcome(entry, at)

    def _outcome(self, entry: Entry, at: int) -> AppendOutcome:
        """Of an attempt to create entry ``at``, which is not the end of the log any more.

        Below the newest summary nothing is known of a number, and nothing is taken from what may stand there. It need not be:

        - A summary is written by the process that runs its generation, and not while an entry of its own is in doubt. So for
          that process a summary it did not expect above ``at`` is of a newer generation: Superseded. If the entry was in the
          log after all, the newer generation knows it from the summary and does what follows from it.
        - A GenerationStarted that is in the log has fenced its own number: is stale. One that is not stale never was there.
        - What else has no generation of its own (a pin by the command line) is idempotent: Lost, and it is tried again.
        """
        known = self._so_far
        if at < known.base:
            if known.view.is_stale(entry):
                raise self._superseded(entry.generation)
            return Lost((), known.view, known.next_number)
        since = tuple(found for found in known.entries if found.number >= at)
        if since[0].entry.nonce == entry.nonce:
            return Appended(at, known.view, known.next_number)
        return Lost(since, known.view, known.next_number)

    def summarise(self, generation: Generation, *, nonce: str, timestamp_ms: int) -> AppendOutcome:
        """Append a summary of what is known. For the owner of ``generation`` only, and only while no entry of its own is in
        doubt (see ``_outcome``). Lost: somebody added an entry, which the next summary has in it.

        Raises what ``append`` raises; Superseded also if all that is new is that another generation has started.
        """
        if self.view.generation > generation:
            raise self._superseded(generation)
        return self.append(summary(self.view, nonce=nonce, timestamp_ms=timestamp_ms), at=self.next_number)

    def trim(self) -> int:
        """Delete every entry below the newest summary that is known to be in the log. Returns how many.

        From the oldest up: ``logreading`` relies on it. Who has been paused before may do so as well: what a
        summary in the log has made superfluous stays so. Raises StorageError, with some deleted; the next call goes on.
        """
        base = self._so_far.base
        doomed = [number for number in self._files.numbers() if number < base]
        self._files.delete(doomed)
        return len(doomed)

    def entries(self, *, first: int = 1) -> tuple[NumberedEntry, ...]:
        """All that are left from number ``first`` on, for people.

        Below the newest summary an entry may be one that a paused process created too late, and which is not in the log.
        """
        there = ((number, self._files.fetch(number)) for number in self._files.numbers() if number >= first)
        return tuple(NumberedEntry(number, entry) for number, entry in there if entry is not None)

    def _superseded(self, generation: Generation) -> Superseded:
        return Superseded(
            f"generation {self.view.generation} runs job {self._files.job} now, and this process is of generation "
            f"{generation}: it stops, nothing it still had in hand is committed"
        )

    def _unknown(self, at: int, cause: BaseException | None) -> UnknownOutcome:
        return UnknownOutcome(
            f"entry {at} of the log of job {self._files.job} may or may not be written: {cause or 'the store gave no answer'}"
        )
