"""The console sink. The coordinator prints the committed rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

import pyarrow as pa

from weir.connectors.base import Committer, PendingCommit, Sink, SinkWriter
from weir.errors import SinkError
from weir.kernel.checkpoints import CommitPermit
from weir.operators.base import OperatorContext
from weir.protocol.codec import from_json
from weir.protocol.ids import Attempt, CheckpointId
from weir.protocol.snapshots import Committable, JsonValue


@dataclass(frozen=True, slots=True)
class PrintedRows:
    """The payload of a committable: the first rows of an epoch as text, and the total number of rows of the epoch."""

    lines: tuple[str, ...]
    rows: int

    def finish(self) -> Sequence[JsonValue]:
        return [{"lines": list(self.lines), "rows": self.rows}]


@dataclass(frozen=True, slots=True)
class ConsoleSink(Sink):
    """Prints at most ``rows`` rows per writer and checkpoint.

    If the driver fails after it has printed a checkpoint but before the publication is in the job log, the next driver prints
    the checkpoint again.
    """

    rows: int = 20

    kind = "console"

    def check(self, schema: pa.Schema) -> None:
        """Accept every schema, because rows of all types can be printed."""

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
        """Do nothing, because the writer only collects text."""

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
        """The last printed checkpoint of each writer. Checkpoint ids are never reused."""

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        try:
            self._print(self._out or sys.stdout, committables)
        except (OSError, ValueError) as error:  # stdout raises ValueError if it is closed or cannot encode a character
            raise SinkError(
                f"console sink: cannot print checkpoint {permit.checkpoint}: {error}. "
                "If stdout is piped to a program, that program may have exited. Resume the job with stdout connected to a "
                "terminal, a file or a running program."
            ) from error

    def _print(self, out: TextIO, committables: Sequence[Committable]) -> None:
        for committable in sorted(committables, key=lambda committable: (committable.checkpoint, committable.writer)):
            if self._printed.get(committable.writer, -1) >= committable.checkpoint:
                continue
            epoch = from_json(PrintedRows, committable.payload)
            lines = list(epoch.lines)
            if epoch.rows > len(epoch.lines):
                lines.append(f"... {epoch.rows - len(epoch.lines)} more rows of checkpoint {committable.checkpoint}")
            # Write each epoch in one call, so that the driver does not write a log line between two rows.
            out.write("".join(f"{line}\n" for line in lines))
            self._printed[committable.writer] = committable.checkpoint
        out.flush()

    def abort_after(self, checkpoint: CheckpointId, *, before: Attempt) -> None:
        """Do nothing, because staged rows exist only in the checkpoint."""
