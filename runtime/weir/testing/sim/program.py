"""The program of a simulated job: its operators and partitioners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from weir.connectors.sink_operator import SinkOperator
from weir.graph.key_groups import subtask_of
from weir.graph.logical import LogicalOperator, OperatorKind, Partitioning
from weir.graph.physical import Edge, PhysicalGraph
from weir.operators.base import Batch, Operator, SourceOperator
from weir.protocol.ids import SubtaskId
from weir.subtask.environment import BatchPartitioner
from weir.testing.sim.graphs import transform
from weir.testing.sim.input_files import InputFiles
from weir.testing.sim.operators import SimDelay, SimSource, SimStateless, sliced
from weir.testing.sim.records import SimBatch, SimRow, key_group, key_of
from weir.testing.sim.simulation import Simulation
from weir.testing.sim.sinks import SimFold, SimSinkWriter
from weir.testing.sim.storage import SimStorage, StoragePort


class SimProgram:
    """``rows_max``: maximum rows of a batch. ``held_max``: maximum rows that a partitioner or a delaying operator buffers."""

    def __init__(
        self,
        simulation: Simulation,
        storage: SimStorage,
        port: StoragePort,
        files: InputFiles,
        *,
        rows_max: int,
        row_bytes: int,
        held_max: int,
    ) -> None:
        self._simulation = simulation
        self._storage = storage
        self._port = port
        self._files = files
        self._rows_max = rows_max
        self._row_bytes = row_bytes
        self._held_max = held_max

    def operators(self, graph: PhysicalGraph, subtask: SubtaskId) -> Sequence[Operator | SourceOperator]:
        return [self._operator(graph.operator(uid)) for uid in graph.chains[subtask.chain].operators]

    def _operator(self, operator: LogicalOperator) -> Operator | SourceOperator:
        rows_max, row_bytes = self._rows_max, self._row_bytes
        match operator.kind:
            case OperatorKind.SOURCE:
                return SimSource(
                    self._simulation, self._files, rows_max=rows_max, row_bytes=row_bytes, splits_open_max=1 + self._held_max % 2
                )
            case OperatorKind.MAP_BATCHES:
                return SimDelay(self._simulation, held_max=self._held_max, rows_max=rows_max, row_bytes=row_bytes)
            case OperatorKind.AGGREGATE:
                assert isinstance(operator.config, dict) and isinstance(operator.config["divisor"], int)
                return SimFold(self._simulation, divisor=operator.config["divisor"], rows_max=rows_max, row_bytes=row_bytes)
            case OperatorKind.SINK:
                return SinkOperator(SimSinkWriter(self._storage, self._port))
            case kind:
                uid = operator.uid
                return SimStateless(
                    self._simulation, lambda identity: transform(kind, uid, identity), rows_max=rows_max, row_bytes=row_bytes
                )

    def partitioner(self, graph: PhysicalGraph, edge: Edge, source_index: int, rows_sent: int) -> BatchPartitioner:
        target = graph.chains[edge.target]
        if edge.partitioning is Partitioning.HASH:
            divisor = int(edge.key[0].removeprefix("k"))
            maximum = graph.max_parallelism[target.operators[0]]
            return _KeyPartitioner(divisor, target.parallelism, maximum, self._row_bytes, self._held_max)
        match edge.partitioning:
            case Partitioning.REBALANCE:
                return _RoundRobin(target.parallelism, source_index + rows_sent, self._row_bytes)
            case Partitioning.FORWARD:
                return _SingleTarget(source_index)
            case _:
                return _SingleTarget(0)

    def may_join(self, graph: PhysicalGraph, edge: int) -> bool:
        return True

    def join(self, batches: Sequence[Batch]) -> Batch:
        return SimBatch((row for batch in cast("Sequence[SimBatch]", batches) for row in batch.rows), self._row_bytes)

    def slice_batch(self, batch: Batch, bytes_max: int) -> Iterable[Batch]:
        assert isinstance(batch, SimBatch)
        return sliced(batch.rows, max(1, bytes_max // self._row_bytes), self._row_bytes)


class _SingleTarget:
    pending_rows = 0

    def __init__(self, target: int) -> None:
        self._target = target

    def add(self, batch: Batch) -> list[tuple[int, Batch]]:
        return [(self._target, batch)]

    def flush(self) -> list[tuple[int, Batch]]:
        return []


class _RoundRobin:
    """Sends row n to target ``n % targets``."""

    def __init__(self, targets: int, first_row: int, row_bytes: int) -> None:
        self._targets = targets
        self._next_row = first_row
        self._row_bytes = row_bytes

    def add(self, batch: Batch) -> list[tuple[int, Batch]]:
        assert isinstance(batch, SimBatch)
        first, self._next_row = self._next_row, self._next_row + len(batch.rows)
        parts = [(target, batch.rows[(target - first) % self._targets :: self._targets]) for target in range(self._targets)]
        return [(target, SimBatch(rows, self._row_bytes)) for target, rows in parts if rows]

    def flush(self) -> list[tuple[int, Batch]]:
        return []

    @property
    def pending_rows(self) -> int:
        return 0


class _KeyPartitioner:
    """Buffers rows for each target until there are more than ``held_max``."""

    def __init__(self, divisor: int, parallelism: int, max_parallelism: int, row_bytes: int, held_max: int) -> None:
        self._divisor = divisor
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._row_bytes = row_bytes
        self._held_max = held_max
        self._held: list[list[SimRow]] = [[] for _ in range(parallelism)]

    def add(self, batch: Batch) -> list[tuple[int, Batch]]:
        assert isinstance(batch, SimBatch)
        for row in batch.rows:
            group = key_group(key_of(row.identity, self._divisor), self._max_parallelism)
            self._held[subtask_of(group, self._parallelism, self._max_parallelism)].append(row)
        return self._take(self._held_max)

    def flush(self) -> list[tuple[int, Batch]]:
        return self._take(0)

    @property
    def pending_rows(self) -> int:
        return sum(len(rows) for rows in self._held)

    def _take(self, held_max: int) -> list[tuple[int, Batch]]:
        dealt: list[tuple[int, Batch]] = []
        for target, rows in enumerate(self._held):
            if len(rows) > held_max:
                dealt.append((target, SimBatch(rows, self._row_bytes)))
                self._held[target] = []
        return dealt
