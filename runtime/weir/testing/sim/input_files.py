"""The input files of a simulated job. A file can be replaced by another version, which has other records."""

from __future__ import annotations

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
        return tuple(
            Split(split_id, [length, self.identity(split_id).modified_ns])
            for number, length in enumerate(shape.lengths)
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
