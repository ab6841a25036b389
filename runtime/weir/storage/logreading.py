"""Reading a job's log, also while its owner deletes what a summary has made superfluous.

Two facts carry it. The newest entry is never deleted, and what is deleted lies below a summary that is in
the log; so the last run of numbers without a hole always holds the newest summary and all that follows it.
And entries are deleted from the oldest up; so who finds an entry still there knows that none above it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.errors import CheckpointError, StorageError
from weir.protocol.joblog import Entry, LogSummarised
from weir.protocol.logview import LogView, base_view
from weir.storage.logfiles import LogFiles

READ_ATTEMPTS_MAX = 10
EMPTY_LISTINGS = 3
"""A listing that shows nothing though there is a log has met with the deletion of all that was there when it began. That
takes a summary of hundreds of entries for each, so not that many in a row do."""


@dataclass(frozen=True, slots=True)
class NumberedEntry:
    number: int
    entry: Entry


@dataclass(slots=True)
class Known:
    """What a reader knows: the view, and the entries from the newest summary (or the first entry) on, without a hole."""

    view: LogView = field(default_factory=LogView)
    base: int = 0
    """Number of the newest summary; 0: there is none."""
    entries: list[NumberedEntry] = field(default_factory=list)

    @property
    def next_number(self) -> int:
        return self.entries[-1].number + 1 if self.entries else 1

    def copy(self) -> Known:
        return Known(self.view, self.base, list(self.entries))

    def take(self, entry: Entry) -> None:
        """As the next one. Raises CheckpointError if it cannot be that."""
        number = self.next_number
        self.view = self.view.apply(entry)
        if isinstance(entry, LogSummarised):
            self.base = number
            self.entries.clear()
        self.entries.append(NumberedEntry(number, entry))

    @staticmethod
    def beginning_with(number: int, entry: LogSummarised) -> Known:
        return Known(base_view(entry), number, [NumberedEntry(number, entry)])


def read(files: LogFiles, known: Known | None) -> Known:
    """What is known once all that is new is taken in; ``known`` itself is left as it is. None: nothing yet.

    Raises CheckpointError for a hole or an entry that is damaged or cannot be where it is, StorageError.
    """
    failure: CheckpointError | None = None
    reading = known.copy() if known is not None else None
    for _ in range(READ_ATTEMPTS_MAX):
        try:
            if reading is None:
                reading = _from_scratch(files)
            if reading is not None and _to_the_end(files, reading):
                return reading
        except CheckpointError as error:
            # What looks like a hole or a contradiction may be a log that was trimmed between two looks at it, or the entry
            # that a paused process wrote at a trimmed number. Damage is there the next time too.
            if failure is not None and str(error) == str(failure):
                raise
            failure = error
        reading = None
    raise StorageError(f"the log of job {files.job} changes faster than it can be read: try again")


def is_newest(files: LogFiles, found: NumberedEntry) -> bool:
    """Whether the log ends with this entry, which was there when this was called.

    A listing takes time, in which this process may be paused: entries that were there when it began may be deleted,
    and their successors created, before it comes to them. Then it shows neither. But what is deleted is deleted from
    the oldest up, this entry first; so if it is still there afterwards, nothing above it was missed.
    """
    listed = files.numbers()
    if not listed or listed[-1] != found.number:
        return False
    there = files.fetch(found.number)
    return there is not None and there.nonce == found.entry.nonce


def _to_the_end(files: LogFiles, reading: Known) -> bool:
    """Take in what follows. False: the end that was found is none, the log was trimmed meanwhile.

    That an entry is missing does not mean that the log ends there: only a listing made after the miss can tell.
    """
    while (entry := files.fetch(reading.next_number)) is not None:
        _take(files, reading, entry)
    if not reading.entries:
        return not any(files.numbers() for _ in range(EMPTY_LISTINGS))
    return is_newest(files, reading.entries[-1])


def _from_scratch(files: LogFiles) -> Known | None:
    """From the last run of numbers, back to the newest summary in it. What is below that is never looked at.

    None: an entry was deleted between the listing and the look at it.
    """
    run = _last_run(files.numbers())
    newest_first: list[Entry] = []
    for number in reversed(run):
        entry = files.fetch(number)
        if entry is None:
            return None
        if isinstance(entry, LogSummarised):
            return _folded(files, _begin(files, number, entry), newest_first)
        newest_first.append(entry)
    if run and run[0] != 1:
        raise CheckpointError(
            f"the log of job {files.job} has a hole: {files.path(run[0] - 1)} is missing, but {files.path(run[-1])} "
            "is there. What is committed cannot be known; bring the missing entry back from a backup, "
            "or start the job in another checkpoint directory"
        )
    return _folded(files, Known(), newest_first)


def _folded(files: LogFiles, known: Known, newest_first: list[Entry]) -> Known:
    for entry in reversed(newest_first):
        _take(files, known, entry)
    return known


def _begin(files: LogFiles, number: int, entry: LogSummarised) -> Known:
    try:
        return Known.beginning_with(number, entry)
    except CheckpointError as error:
        raise _contradiction(files, number, error) from None


def _take(files: LogFiles, known: Known, entry: Entry) -> None:
    try:
        known.take(entry)
    except CheckpointError as error:
        raise _contradiction(files, known.next_number, error) from None


def _contradiction(files: LogFiles, number: int, error: CheckpointError) -> CheckpointError:
    return CheckpointError(f"the log of job {files.job} contradicts itself at {files.path(number)}: {error}")


def _last_run(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """The longest tail without a hole; ``numbers`` ascending."""
    first = len(numbers) - 1
    while first > 0 and numbers[first - 1] == numbers[first] - 1:
        first -= 1
    return numbers[max(first, 0) :]
