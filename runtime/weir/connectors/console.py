"""Committed rows, printed by the coordinator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

import pyarrow as pa

from weir.connectors.base import CommitPermit, Committer, PendingCommit, Sink, SinkWriter
from weir.connectors.descriptions import describe
from weir.errors import SinkError
from weir.operators.base import OperatorContext
from weir.protocol.codec import from_json
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import Committable, JsonValue


@dataclass(frozen=True, slots=True)
class PrintedRows:
    """Payload of a committable: the first rows of an epoch as text, and how many there were."""

    lines: tuple[str, ...]
    rows: int

    def finish(self) -> Sequence[JsonValue]:
        return [{"lines": list(self.lines), "rows": self.rows}]


@dataclass(frozen=True, slots=True)
class ConsoleSink(Sink):
    """At most ``rows`` rows of each writer and checkpoint are shown. A restarted coordinator prints
    the epochs again of which its checkpoint does not know that they were printed: mostly the last one."""

    rows: int = 20

    kind = "console"

    def describe(self) -> JsonValue:
        return describe(self)

    def check(self, schema: pa.Schema) -> None:
        """Everything can be printed."""

    def writer(self) -> ConsoleWriter:
        return ConsoleWriter(self.rows)

    def committer(self) -> ConsoleCommitter:
        return ConsoleCommitter()


class ConsoleWriter(SinkWriter):
    def __init__(self, rows_shown: int) -> None:
        self._rows_shown = rows_shown
        self._lines: list[str] = []
        self._rows = 0

    def open(self, context: OperatorContext) -> None:
        """Nothing to prepare."""

    def write(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        room = self._rows_shown - len(self._lines)
        if room > 0:
            for row in batch.slice(0, room).to_pylist():
                self._lines.append("  ".join(f"{name}={value}" for name, value in row.items()))

    def pre_commit(self, checkpoint: CheckpointId) -> PendingCommit | None:
        if not self._rows:
            return None
        epoch = PrintedRows(tuple(self._lines), self._rows)
        self._lines, self._rows = [], 0
        return epoch


class ConsoleCommitter(Committer):
    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out
        self._printed: dict[int, CheckpointId] = {}
        """Per writer the last checkpoint shown; checkpoint numbers are never used twice."""

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        try:
            self._print(self._out or sys.stdout, committables)
        except (OSError, ValueError) as error:  # ValueError: it is closed, or of an encoding that lacks a character
            raise SinkError(
                f"console sink: checkpoint {permit.checkpoint} could not be printed ({error}); "
                "was the program that reads the output ended? Resume the job with an output that stays open"
            ) from error

    def _print(self, out: TextIO, committables: Sequence[Committable]) -> None:
        for committable in sorted(committables, key=lambda one: (one.checkpoint, one.writer)):
            if self._printed.get(committable.writer, -1) >= committable.checkpoint:
                continue
            epoch = from_json(PrintedRows, committable.payload)
            lines = list(epoch.lines)
            if epoch.rows > len(epoch.lines):
                lines.append(f"... {epoch.rows - len(epoch.lines)} more of checkpoint {committable.checkpoint}")
            # In one piece: the log of a driver goes to the same place, and would come in between the halves of a row.
            out.write("".join(f"{line}\n" for line in lines))
            self._printed[committable.writer] = committable.checkpoint
        out.flush()

    def abort_after(self, checkpoint: CheckpointId, *, before_generation: Generation) -> None:
        """Nothing is staged outside the checkpoint."""
