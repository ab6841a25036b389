"""For tests of connectors: an operator context, and classes that read a source in the same way as a slot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from weir.connectors.base import Source
from weir.connectors.files.read_ahead import ReadAheadReader
from weir.connectors.registry import source_from
from weir.operators.base import OperatorContext, SourceOperator, SplitBatch
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.snapshots import Split


def make_context(
    *,
    subtask: int = 0,
    parallelism: int = 1,
    generation: int = 1,
    attempt: int = 0,
    batch_rows: int = 65_536,
    job: str = "job",
    uid: str = "op",
    restored: CheckpointId | None = None,
    buffer_ns: int = 0,
) -> OperatorContext:
    return OperatorContext(
        job=job,
        uid=OperatorUid(uid),
        name=uid,
        subtask=subtask,
        parallelism=parallelism,
        max_parallelism=128,
        key_groups=(0, 127),
        generation=Generation(generation),
        batch_rows=batch_rows,
        restored_checkpoint=restored,
        attempt=attempt,
        buffer_ns=buffer_ns,
    )


ReadAll = Callable[..., pa.Table]


def poll(reader: SourceOperator) -> pa.RecordBatch | None:
    """Poll the reader. Return the records without their split."""
    polled = reader.poll()
    return None if polled is None else polled.records


class Reading:
    """Reads a source in the same way as the loop of a slot. The source is rebuilt from its description, as in a slot."""

    def __init__(
        self,
        source: Source,
        splits: Iterable[Split],
        *,
        batch_rows: int = 65_536,
        generation: int = 1,
        restored: CheckpointId | None = None,
    ) -> None:
        self.reader: SourceOperator = source_from(source.describe()).reader()
        self.reader.open(make_context(batch_rows=batch_rows, generation=generation, restored=restored))
        self._todo = list(splits)

    def batches(self) -> Iterator[pa.RecordBatch]:
        return (polled.records for polled in self.polled())

    def places(self) -> list[str]:
        """Return the place at which each batch begins, as error messages show it."""
        return [self.reader.locate(polled.split) for polled in self.polled()]

    def polled(self) -> Iterator[SplitBatch]:
        while self._todo or self.reader.unfinished():
            while self._todo and self.reader.wants_split():
                self.reader.add_split(self._todo.pop(0))
            polled = self.reader.poll()
            if polled is not None:
                yield polled
            elif isinstance(self.reader, ReadAheadReader):
                assert self.reader.wait(10), "the reader returned no batch within 10 s"

    def remaining(self) -> tuple[Split, ...]:
        return (*self.reader.unfinished(), *self._todo)


def read_with_restarts(source: Source, restart_after: list[int], *, batch_rows: int) -> pa.Table:
    """Read the source with one reader after another. Reader number n reads ``restart_after[n]`` batches, and the last reader reads
    the rest. Each reader continues at the positions that the previous reader has reached."""
    splits, batches = source.splits(2), []
    for stop in [*restart_after, -1]:
        reading = Reading(source, splits, batch_rows=batch_rows)
        iterator = reading.batches()
        count = 0
        while count != stop and (batch := next(iterator, None)) is not None:
            batches.append(batch)
            count += 1
        splits = reading.remaining()
        reading.reader.close()
    return pa.Table.from_batches(batches, schema=source.schema())
