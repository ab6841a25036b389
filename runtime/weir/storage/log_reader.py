"""Reading of a job log, even while the log's owner is trimming the log.

Entry n is the object ``log/<n>.json``, created only if absent: ``{"checksum": ..., "entry": {...}}``. The checksum covers the
text of the entry.

Reading during a trim relies on two facts. First, the newest entry is never deleted, and deleted entries are below a summary that
is in the log. So the last gap-free sequence of numbers always contains the newest summary and all entries after it. Second,
entries are deleted in ascending order. So if an entry still exists, no entry with a higher number has been deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from weir.errors import CheckpointError, ObjectNotFound, ProtocolError, StorageError
from weir.protocol import codec
from weir.protocol.job_log import Entry, LogSummarised, decode_entry, encode_entry
from weir.protocol.log_view import LogView, base_view
from weir.storage.base import CheckpointStorage, checksum
from weir.storage.layout import JobLayout, log_number

READ_ATTEMPTS_MAX = 10
EMPTY_LISTINGS_MIN = 3
"""A listing can be empty although the log exists, if a trim deletes all entries that existed when the listing started. Trims
are rare, because a trim follows only after hundreds of entries. So if EMPTY_LISTINGS_MIN consecutive listings are empty, the log
has no entries."""


class LogFiles:
    """Lists, reads, creates and deletes the log entries of one job. The log view is derived elsewhere, in ``LogState``. Methods
    raise StorageError as the storage does."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._storage = storage
        self._layout = layout

    @property
    def job(self) -> str:
        return self._layout.job

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the existing entries, ascending."""
        numbers = (log_number(self._layout.relative(stored.path)) for stored in self._storage.list(self._layout.log))
        return tuple(sorted(number for number in numbers if number is not None))

    def fetch(self, number: int) -> Entry | None:
        """Return an entry, or None if the entry does not exist. Raise CheckpointError if the entry is damaged, or if a newer version
        of Weir wrote it."""
        try:
            data = self._storage.get(self._layout.log_entry(number))
        except ObjectNotFound:
            return None
        try:
            text = _unseal(data)
        except ProtocolError as error:
            raise CheckpointError(
                f"Entry {number} of the log of job '{self.job}' is damaged: {error}. The file is {self.path(number)}. "
                "Without this entry, Weir does not know which checkpoints are committed. "
                "Restore the file from a backup, or start the job in another checkpoint directory."
            ) from None
        try:
            return decode_entry(text)
        except ProtocolError as error:
            raise CheckpointError(
                f"This version of Weir cannot read entry {number} of the log of job '{self.job}' ({self.path(number)}): {error}. "
                "The file is not damaged. Upgrade Weir to the version that wrote the file."
            ) from None

    def create(self, number: int, entry: Entry) -> bool:
        """Create an entry only if its number is unused. Return False if an entry has this number. Raise UnknownOutcome if it
        is unknown whether the entry exists or whether it is durable."""
        return self._storage.create(self._layout.log_entry(number), _seal(entry))

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete entries. A storage that deletes one object at a time keeps the given order."""
        self._storage.delete([self._layout.log_entry(number) for number in numbers])

    def path(self, number: int) -> str:
        return f"{self._storage.url}/{self._layout.log_entry(number)}"


def _seal(entry: Entry) -> bytes:
    text = encode_entry(entry)
    return b'{"checksum":"' + checksum((text,)).encode() + b'","entry":' + text + b"}\n"


def _unseal(data: memoryview) -> bytes:
    """Return the text of an entry. Raise ProtocolError if the text is damaged."""
    value = codec.parse_json(data, "the entry")
    if not isinstance(value, dict) or value.keys() != {"checksum", "entry"}:
        raise ProtocolError("expected an object with the keys 'checksum' and 'entry'")
    text = codec.dump_json(value["entry"], errors="replace")
    if checksum((text,)) != value["checksum"]:
        raise ProtocolError("the checksum does not match the text of the entry")
    return text


@dataclass(frozen=True, slots=True)
class NumberedEntry:
    number: int
    entry: Entry


@dataclass(slots=True)
class LogState:
    """The state of a log after the last read. The state consists of the view and all entries from the newest summary on (from
    the first entry, if the log has no summary).
    """

    view: LogView = field(default_factory=LogView)
    base: int = 0
    """Number of the newest summary, or 0."""
    entries: list[NumberedEntry] = field(default_factory=list)

    @property
    def next_number(self) -> int:
        return self.entries[-1].number + 1 if self.entries else 1

    def copy(self) -> LogState:
        return LogState(self.view, self.base, list(self.entries))

    def apply(self, entry: Entry) -> None:
        """Add the next entry. Raise CheckpointError if ``entry`` cannot be the next entry."""
        number = self.next_number
        self.view = self.view.apply(entry)
        if isinstance(entry, LogSummarised):
            self.base = number
            self.entries.clear()
        self.entries.append(NumberedEntry(number, entry))

    @staticmethod
    def from_summary(number: int, entry: LogSummarised) -> LogState:
        return LogState(base_view(entry), number, [NumberedEntry(number, entry)])


def read_log(files: LogFiles, last_state: LogState | None) -> LogState:
    """Return the state of the log with all new entries. ``last_state`` is the state after the last read, or None.
    ``last_state`` is not changed.

    Raise CheckpointError if the log has a gap, or an entry that is damaged or contradicts earlier entries. Raise StorageError.
    """
    failure: CheckpointError | None = None
    reading = last_state.copy() if last_state is not None else None
    for _ in range(READ_ATTEMPTS_MAX):
        try:
            if reading is None:
                reading = _read_last_run(files)
            if reading is not None and _read_to_end(files, reading):
                return reading
        except CheckpointError as error:
            # If the log is trimmed between two reads, it seems to have a gap. The same is true if a paused process writes an entry
            # with a trimmed number. If the log is really damaged, the next read fails with the same error.
            if failure is not None and str(error) == str(failure):
                raise
            failure = error
        reading = None
    raise StorageError(f"Cannot read the log of job '{files.job}', because the log changes too fast. Retry.")


def is_newest(files: LogFiles, candidate: NumberedEntry) -> bool:
    """Return whether ``candidate`` is the last entry of the log. The candidate must have existed when ``is_newest`` is called.

    A listing takes time, and this process can be paused during the listing. Before the listing reaches an entry, another
    process can delete this entry and create later entries. The listing can miss all of these entries. But a trim deletes in
    ascending order and so deletes ``candidate`` before later entries. So if ``candidate`` still exists after the listing, the
    listing missed no later entry.
    """
    listed = files.numbers()
    if not listed or listed[-1] != candidate.number:
        return False
    stored = files.fetch(candidate.number)
    return stored is not None and stored.nonce == candidate.entry.nonce


def _read_to_end(files: LogFiles, reading: LogState) -> bool:
    """Add all following entries. Return False if the log has changed in the meantime, so that its end is still unknown.

    A missing next entry does not prove the end of the log. Only a later listing can prove the end.
    """
    while (entry := files.fetch(reading.next_number)) is not None:
        _apply(files, reading, entry)
    if not reading.entries:
        return not any(files.numbers() for _ in range(EMPTY_LISTINGS_MIN))
    return is_newest(files, reading.entries[-1])


def _read_last_run(files: LogFiles) -> LogState | None:
    """Return the state of the last gap-free sequence of entries, from its newest summary on. Entries below this summary
    are not read.

    Return None if an entry was deleted between the listing and the read.
    """
    run = _last_run(files.numbers())
    newest_first: list[Entry] = []
    for number in reversed(run):
        entry = files.fetch(number)
        if entry is None:
            return None
        if isinstance(entry, LogSummarised):
            return _apply_all(files, _state_from_summary(files, number, entry), newest_first)
        newest_first.append(entry)
    if run and run[0] != 1:
        raise CheckpointError(
            f"The log of job '{files.job}' has a gap: {files.path(run[0] - 1)} is missing, but {files.path(run[-1])} exists. "
            "Without the missing entry, Weir does not know which checkpoints are committed. Restore the file from a backup, or start the "
            "job in another checkpoint directory."
        )
    return _apply_all(files, LogState(), newest_first)


def _apply_all(files: LogFiles, state: LogState, newest_first: list[Entry]) -> LogState:
    for entry in reversed(newest_first):
        _apply(files, state, entry)
    return state


def _state_from_summary(files: LogFiles, number: int, entry: LogSummarised) -> LogState:
    try:
        return LogState.from_summary(number, entry)
    except CheckpointError as error:
        raise _contradiction(files, number, error) from None


def _apply(files: LogFiles, state: LogState, entry: Entry) -> None:
    try:
        state.apply(entry)
    except CheckpointError as error:
        raise _contradiction(files, state.next_number, error) from None


def _contradiction(files: LogFiles, number: int, error: CheckpointError) -> CheckpointError:
    return CheckpointError(f"The log of job '{files.job}' contradicts itself at {files.path(number)}: {error}")


def _last_run(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the longest gap-free suffix of ``numbers``, which are ascending."""
    first = len(numbers) - 1
    while first > 0 and numbers[first - 1] == numbers[first] - 1:
        first -= 1
    return numbers[max(first, 0) :]
