"""The job's log in checkpoint storage: reads facts, creates entries, and says what came of it. It decides nothing.

Entry n is the object ``log/<n>.json``, created only if absent: ``{"checksum": ..., "entry": {...}}``, the
checksum over the entry's own text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from weir.errors import CheckpointError, NotFound, ProtocolError, StorageError, Superseded, UnknownOutcome
from weir.protocol.joblog import Entry, decode_entry, encode_entry
from weir.protocol.logview import LogView
from weir.storage.base import CheckpointStorage
from weir.storage.checksums import checksum
from weir.storage.layout import JobLayout, log_number

CREATE_ATTEMPTS_MAX = 3


@dataclass(frozen=True, slots=True)
class NumberedEntry:
    number: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class Appended:
    """The entry is in the log, at ``number``, for good."""

    number: int
    view: LogView
    """With the entry."""
    next_number: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Somebody else has that number. The entry is not in the log."""

    entries: tuple[NumberedEntry, ...]
    """All from the number that was wanted to the end."""
    view: LogView
    """With these."""
    next_number: int


AppendOutcome: TypeAlias = Appended | Lost


class JobLog:
    """One reader and writer. Calls must not overlap. Any number of them, in any processes, may share one log."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._storage = storage
        self._layout = layout
        self._view = LogView()
        self._next = 1
        self._listed = False
        self._unresolved: str | None = None
        """The nonce of the entry of which nobody could say whether it is there."""

    @property
    def view(self) -> LogView:
        """As last read."""
        return self._view

    @property
    def next_number(self) -> int:
        return self._next

    def read(self) -> tuple[LogView, int]:
        """Take in what is new; the view and the number of the next entry.

        Raises CheckpointError for a hole or an entry that is damaged or cannot be where it is, StorageError.
        """
        listed = () if self._listed else self._list()
        while (entry := self._fetch(self._next)) is not None:
            self._take(entry)
        if listed and listed[-1] >= self._next:
            raise CheckpointError(
                f"the log of job {self._layout.job} has a hole: {self._path(self._next)} is missing, but {self._path(listed[-1])} "
                "is there. What is committed cannot be known; bring the missing entry back from a backup, "
                "or start the job in another checkpoint directory"
            )
        self._listed = True
        return self._view, self._next

    def append(self, entry: Entry, *, at: int) -> AppendOutcome:
        """Create ``entry`` as number ``at``, the next one the caller knows of.

        Calling again with the same entry (the same nonce) and number is safe and gives the same answer. Raises
        UnknownOutcome if nobody can say yet whether it is there: call again, and delete nothing until then;
        Superseded if a newer generation is in the log already; CheckpointError if the entry cannot follow what is there;
        StorageError if it surely was not written.
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
        if at > self._next:
            self.read()
        assert 1 <= at <= self._next, f"entry {at} would leave a hole, the next number is {self._next}"
        if at < self._next:
            return self._outcome(entry, at)
        if self._view.is_stale(entry):
            raise Superseded(
                f"generation {self._view.generation} runs job {self._layout.job} now, and this process is of generation "
                f"{entry.generation}: it stops, nothing it still had in hand is committed"
            )
        objection = self._view.objection(entry)
        if objection is not None:
            raise CheckpointError(
                f"{type(entry).__name__} cannot be entry {at} of the log of job {self._layout.job}: {objection}"
            )
        data = _seal(entry)
        doubt: StorageError | None = None
        for _ in range(CREATE_ATTEMPTS_MAX):
            try:
                created = self._storage.create(self._layout.log_entry(at), data)
            except UnknownOutcome as error:
                created, doubt = False, error
            except StorageError as error:
                if doubt is None:
                    raise
                raise self._unknown(at, doubt) from error
            if created:
                self._take(entry)
                return Appended(at, self._view, self._next)
            # Not created, or nobody knows: what stands there now tells. Nothing there: the write never arrived, or will
            # find the place taken when it does, since the next try writes the same.
            try:
                self.read()
                if at < self._next:
                    return self._outcome(entry, at)
            except StorageError as error:
                raise self._unknown(at, error) from error
        raise self._unknown(at, doubt) from doubt

    def entries(self, *, first: int = 1) -> tuple[NumberedEntry, ...]:
        """All entries from number ``first`` on, for people."""
        found: list[NumberedEntry] = []
        while (entry := self._fetch(first + len(found))) is not None:
            found.append(NumberedEntry(first + len(found), entry))
        return tuple(found)

    def _outcome(self, entry: Entry, at: int) -> AppendOutcome:
        since = tuple(found for found in self.entries(first=at) if found.number < self._next)
        if since and since[0].entry.nonce == entry.nonce:
            return Appended(at, self._view, self._next)
        return Lost(since, self._view, self._next)

    def _take(self, entry: Entry) -> None:
        try:
            self._view = self._view.apply(entry)
        except CheckpointError as error:
            raise CheckpointError(
                f"the log of job {self._layout.job} contradicts itself at {self._path(self._next)}: {error}"
            ) from None
        self._next += 1

    def _list(self) -> tuple[int, ...]:
        numbers = (log_number(self._layout.relative(found.path)) for found in self._storage.list(self._layout.log))
        return tuple(sorted(number for number in numbers if number is not None))

    def _fetch(self, number: int) -> Entry | None:
        try:
            data = self._storage.get(self._layout.log_entry(number))
        except NotFound:
            return None
        try:
            return _unseal(data)
        except ProtocolError as error:
            raise CheckpointError(
                f"entry {number} of the log of job {self._layout.job} is damaged: {error}. It is {self._path(number)}; "
                "what is committed cannot be known without it: bring it back from a backup, or start the job in another checkpoint directory"
            ) from None

    def _path(self, number: int) -> str:
        return f"{self._storage.url}/{self._layout.log_entry(number)}"

    def _unknown(self, at: int, cause: BaseException | None) -> UnknownOutcome:
        return UnknownOutcome(
            f"entry {at} of the log of job {self._layout.job} may or may not be written: {cause or 'the store gave no answer'}"
        )


def _seal(entry: Entry) -> bytes:
    text = encode_entry(entry)
    return b'{"checksum":"' + checksum((text,)).encode() + b'","entry":' + text + b"}\n"


def _unseal(data: memoryview) -> Entry:
    try:
        value = json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not JSON ({error})") from None
    if not isinstance(value, dict) or value.keys() != {"checksum", "entry"}:
        raise ProtocolError("expected an object of checksum and entry")
    text = json.dumps(value["entry"], separators=(",", ":"), ensure_ascii=False).encode(errors="replace")
    if checksum((text,)) != value["checksum"]:
        raise ProtocolError("its checksum does not fit its text")
    return decode_entry(text)
