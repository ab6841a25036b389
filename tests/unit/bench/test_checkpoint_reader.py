"""Reading source positions, operator state and sink totals from a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import IO

import pyarrow as pa

from bench.checkpoint_reader import SplitRead, contents_of
from weir import sources
from weir.connectors.base import Source
from weir.connectors.stats_sink import Totals
from weir.protocol.codec import to_json
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.manifest import AssignerState, CheckpointStatistics, Manifest
from weir.protocol.snapshots import OperatorSnapshot, Split, StateFile, SubtaskSnapshot, SubtaskStatistics

READ, COUNT, SINK = OperatorUid("read"), OperatorUid("count"), OperatorUid("sink")


@dataclass(frozen=True, slots=True)
class Files:
    tables: Mapping[str, pa.Table]

    @contextmanager
    def open(self, file: StateFile) -> Iterator[IO[bytes]]:
        content = BytesIO()
        with pa.ipc.new_file(content, self.tables[file.path].schema) as writer:
            writer.write_table(self.tables[file.path])
        yield BytesIO(content.getvalue())


def manifest(operators: list[OperatorSnapshot], assigner: AssignerState) -> Manifest:
    subtasks = tuple(
        SubtaskSnapshot(0, number, (one,), ended=False, statistics=SubtaskStatistics())
        for number, one in enumerate(operators)
    )  # fmt: skip
    return Manifest(
        "job", CheckpointId(4), Generation(1), "main", None, 0, 0, is_savepoint=False, drained=False, graph=None,
        subtasks=subtasks, assigners={READ: assigner}, statistics=CheckpointStatistics(),
    )  # fmt: skip


def example_sources() -> tuple[dict[OperatorUid, Source], tuple[Split, ...]]:
    source = sources.generator({"n": sources.row_index()}, rows=100, splits=4)
    return {READ: source}, source.splits(2)


def test_the_reader_returns_only_started_and_finished_splits() -> None:
    source_map, (finished, started, assigned, _) = example_sources()
    positions = (Split(started.id, started.payload, 17), Split(assigned.id, assigned.payload))
    taken = manifest([OperatorSnapshot(READ, 0, splits=positions)], AssignerState((), finished=1, next=3))

    assert contents_of(taken, Files({}), source_map, 2).splits[READ] == (SplitRead(finished, None), SplitRead(started, 17))


def test_the_reader_merges_the_states_and_totals_of_all_subtasks() -> None:
    source_map, _ = example_sources()
    files = Files({"a": pa.table({"key": [1], "count": [5]}), "b": pa.table({"key": [2], "count": [7]})})
    parts = [OperatorSnapshot(COUNT, number, files=(StateFile(path, 1, ""),)) for number, path in enumerate("ab")]
    sums = [
        OperatorSnapshot(SINK, number, inline=to_json(Totals(rows, {"count": rows * 10}))) for number, rows in enumerate((1, 3))
    ]
    contents = contents_of(manifest([*parts, *sums], AssignerState((), 4, next=4)), files, source_map, 2)

    assert contents.states[COUNT].to_pydict() == {"key": [1, 2], "count": [5, 7]}
    assert contents.totals == Totals(4, {"count": 40})
