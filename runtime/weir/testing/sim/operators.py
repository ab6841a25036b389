"""Operators of simulated jobs: sources, stateless operators, and an operator that delays records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import cast

from weir.connectors.files import file_identity
from weir.connectors.files.file_identity import InputFileIdentity
from weir.operators.base import Batch, Operator, PendingSnapshot, SnapshotReader, SnapshotWriter, SourceOperator, SplitBatch, Step
from weir.protocol.ids import CheckpointId, OperatorUid
from weir.protocol.snapshots import OperatorSnapshot, Split
from weir.testing.sim.input_files import InputFiles
from weir.testing.sim.records import Identity, SimBatch, SimRow, through
from weir.testing.sim.simulation import MS, Simulation


class SimSource(SourceOperator):
    """Reads splits of numbered records.

    Batch sizes are random, because a real source can split its records into different batches on a replay.
    """

    def __init__(self, simulation: Simulation, files: InputFiles, *, rows_max: int, row_bytes: int, splits_open_max: int) -> None:
        self._simulation = simulation
        self._files = files
        self._rows_max = rows_max
        self._row_bytes = row_bytes
        self._splits_open_max = splits_open_max
        self._open: dict[str, Split] = {}

    def add_split(self, split: Split) -> None:
        assert self.wants_split() and split.id not in self._open
        if _position(split) < _length(split):
            self._open[split.id] = split

    def wants_split(self) -> bool:
        return len(self._open) < self._splits_open_max

    def poll(self) -> SplitBatch | None:
        if not self._open or self._simulation.chance(0.1):
            return None
        split = self._simulation.random.choice(list(self._open.values()))
        restored = None if split.position is None else self.context.restored_checkpoint
        file_identity.check_unchanged(split.id, _listed(split), self._files.identity(split.id), restored=restored)
        start = _position(split)
        end = min(_length(split), start + 1 + int(self._simulation.random.random() * self._rows_max))
        number = int(split.id.rsplit("-", 1)[1])
        first = self._files.first_position(split.id)
        rows = [SimRow(Identity(self.context.uid, number, first + position, ()), ()) for position in range(start, end)]
        if end == _length(split):
            del self._open[split.id]
        else:
            self._open[split.id] = replace(split, position=end)
        return SplitBatch(SimBatch(rows, self._row_bytes), split)

    def unfinished(self) -> tuple[Split, ...]:
        return tuple(self._open.values())

    def next_poll_after_ns(self) -> int:
        return self._simulation.between(0, 2 * MS)


def _position(split: Split) -> int:
    return split.position if isinstance(split.position, int) else 0


def _length(split: Split) -> int:
    assert isinstance(split.payload, list) and isinstance(split.payload[0], int)
    return split.payload[0]


def _listed(split: Split) -> InputFileIdentity:
    assert isinstance(split.payload, list) and isinstance(split.payload[1], int)
    return InputFileIdentity(modified_ns=split.payload[1])


class SimStateless(Operator):
    """Map, filter, flat map and union: ``apply`` transforms one record. Sometimes the operator makes a blocking call."""

    def __init__(
        self, simulation: Simulation, apply: Callable[[Identity], Sequence[Identity]], *, rows_max: int, row_bytes: int
    ) -> None:
        self._simulation = simulation
        self._apply = apply
        self._rows_max = rows_max
        self._row_bytes = row_bytes

    def process(self, batch: Batch, input_index: int) -> Step:
        rows = [SimRow(identity, row.stamps) for row in _rows(batch) for identity in self._apply(row.identity)]
        if self._simulation.chance(0.05):
            assert self.context.run_in_background is not None
            call = self.context.run_in_background(lambda: None)
            while not call.done():
                yield None
        yield from sliced(rows, self._rows_max, self._row_bytes)


class SimDelay(Operator):
    """Delays the newest ``held_max`` records until more arrive or the input ends. The state of the operator is not keyed."""

    def __init__(self, simulation: Simulation, *, held_max: int, rows_max: int, row_bytes: int) -> None:
        self._simulation = simulation
        self._delayed_max = held_max
        self._rows_max = rows_max
        self._row_bytes = row_bytes
        self._delayed: list[SimRow] = []
        self._ended = False

    def process(self, batch: Batch, input_index: int) -> Step:
        assert not self._ended, "data after the end of input"
        self._delayed += [SimRow(through(row.identity, self.context.uid), row.stamps) for row in _rows(batch)]
        surplus = len(self._delayed) - self._delayed_max
        if surplus > 0:
            out, self._delayed = self._delayed[:surplus], self._delayed[surplus:]
            yield from sliced(out, self._rows_max, self._row_bytes)

    def on_end_of_input(self) -> Step:
        self._ended = True
        out, self._delayed = self._delayed, []
        yield from sliced(out, self._rows_max, self._row_bytes)

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot:
        return DelayedSnapshot(self._simulation, self.context.uid, self.context.subtask, [(None, tuple(self._delayed))])

    def restore(self, snapshots: Sequence[OperatorSnapshot], reader: SnapshotReader) -> None:
        for snapshot in snapshots:
            for file in snapshot.files:
                with reader.open(file) as rows:
                    self._delayed += cast("tuple[SimRow, ...]", rows)


class DelayedSnapshot:
    """A snapshot that needs several turns of the loop and is then written in the background.

    ``parts`` contains the key groups (None if the state is not keyed) and the content of each file. Empty files are omitted.
    """

    def __init__(
        self, simulation: Simulation, uid: OperatorUid, subtask: int, parts: Sequence[tuple[tuple[int, int] | None, object]]
    ) -> None:
        self._uid = uid
        self._subtask = subtask
        self._parts = [part for part in parts if part[1]]
        self._units = int(simulation.random.random() * 4)
        self._finished = False

    def advance(self) -> bool:
        assert not self._finished, "advance() was called after discard() or write()"
        self._units -= 1
        return self._units < 0

    def write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        assert not self._finished, "write() was called after discard() or write()"
        self._finished = True
        files = [writer.put(self._uid, [content], rows=1, key_groups=groups) for groups, content in self._parts]
        return OperatorSnapshot(self._uid, self._subtask, tuple(files))

    def discard(self) -> None:
        self._finished = True


def sliced(rows: Sequence[SimRow], rows_max: int, row_bytes: int) -> Iterator[Batch]:
    for start in range(0, len(rows), rows_max):
        yield SimBatch(rows[start : start + rows_max], row_bytes)


def _rows(batch: Batch) -> tuple[SimRow, ...]:
    assert isinstance(batch, SimBatch)
    return batch.rows
