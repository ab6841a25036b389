"""The input files of a simulated job. A file can be replaced by another version, which has other records."""

from __future__ import annotations

from collections.abc import Iterable

from weir.connectors.files.file_identity import InputFileIdentity
from weir.protocol.ids import OperatorUid
from weir.protocol.snapshots import Split
from weir.testing.sim.graphs import SourceShape

REPLACED_FROM = 1_000
"""The first position of the records in a replaced file. The expected output contains no records from this position on."""


class InputFiles:
    """Each split is a file."""

    def __init__(self) -> None:
        self._replaced: set[str] = set()
        self.ever_replaced = False

    def list(self, uid: OperatorUid, shape: SourceShape) -> tuple[Split, ...]:
        """Return the splits of a source. The expected output is computed from the original files, so a job must never list other
        files."""
        self.put_back()
        return self._splits(uid, shape, range(len(shape.lengths)))

    def discover(self, uid: OperatorUid, shape: SourceShape, known: int, *, now_ns: int) -> tuple[Split, ...]:
        """Return the splits that have appeared after the first ``known`` splits. As in ``list``, these splits are original files."""
        numbers = [number for number, appears_ns in enumerate(shape.appears_ns) if number >= known and appears_ns <= now_ns]
        self._replaced -= {f"{uid}-{number}" for number in numbers}
        return self._splits(uid, shape, numbers)

    def _splits(self, uid: OperatorUid, shape: SourceShape, numbers: Iterable[int]) -> tuple[Split, ...]:
        return tuple(
            Split(split_id, [shape.lengths[number], self.identity(split_id).modified_ns])
            for number in numbers
            for split_id in (f"{uid}-{number}",)
        )

    def identity(self, split_id: str) -> InputFileIdentity:
        return InputFileIdentity(modified_ns=2 if split_id in self._replaced else 1)

    def first_position(self, split_id: str) -> int:
        return REPLACED_FROM if split_id in self._replaced else 0

    def replace(self, split_id: str) -> None:
        self._replaced.add(split_id)
        self.ever_replaced = True

    def put_back(self) -> None:
        """A user puts the original files back, as the error message says."""
        self._replaced.clear()
