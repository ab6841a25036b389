"""The entries of a job's log as objects in checkpoint storage.

Entry n is the object ``log/<n>.json``, created only if absent: ``{"checksum": ..., "entry": {...}}``, the
checksum over the entry's own text.
"""

from __future__ import annotations

from collections.abc import Iterable

from weir.errors import CheckpointError, NotFound, ProtocolError
from weir.protocol import codec
from weir.protocol.joblog import Entry, decode_entry, encode_entry
from weir.storage.base import CheckpointStorage
from weir.storage.checksums import checksum
from weir.storage.layout import JobLayout, log_number


class LogFiles:
    """Knows nothing of what entries mean. All methods raise StorageError as the storage does."""

    def __init__(self, storage: CheckpointStorage, layout: JobLayout) -> None:
        self._storage = storage
        self._layout = layout

    @property
    def job(self) -> str:
        return self._layout.job

    def numbers(self) -> tuple[int, ...]:
        """Of the entries that are there, ascending."""
        numbers = (log_number(self._layout.relative(found.path)) for found in self._storage.list(self._layout.log))
        return tuple(sorted(number for number in numbers if number is not None))

    def fetch(self, number: int) -> Entry | None:
        """None: there is none. Raises CheckpointError for a damaged one."""
        try:
            data = self._storage.get(self._layout.log_entry(number))
        except NotFound:
            return None
        try:
            return _unseal(data)
        except ProtocolError as error:
            raise CheckpointError(
                f"entry {number} of the log of job {self.job} is damaged: {error}. It is {self.path(number)}; "
                "what is committed cannot be known without it: bring it back from a backup, or start the job in another checkpoint directory"
            ) from None

    def create(self, number: int, entry: Entry) -> bool:
        """Only if absent. Raises UnknownOutcome when the answer was lost."""
        return self._storage.create(self._layout.log_entry(number), _seal(entry))

    def delete(self, numbers: Iterable[int]) -> None:
        """In the order given, where the storage deletes one by one."""
        self._storage.delete([self._layout.log_entry(number) for number in numbers])

    def path(self, number: int) -> str:
        return f"{self._storage.url}/{self._layout.log_entry(number)}"


def _seal(entry: Entry) -> bytes:
    text = encode_entry(entry)
    return b'{"checksum":"' + checksum((text,)).encode() + b'","entry":' + text + b"}\n"


def _unseal(data: memoryview) -> Entry:
    value = codec.parse(data, "it")
    if not isinstance(value, dict) or value.keys() != {"checksum", "entry"}:
        raise ProtocolError("expected an object of checksum and entry")
    text = codec.write(value["entry"], errors="replace")
    if checksum((text,)) != value["checksum"]:
        raise ProtocolError("its checksum does not fit its text")
    return decode_entry(text)
