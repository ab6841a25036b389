"""A small job and snapshots of it, for tests of the kernel."""

from __future__ import annotations

from collections.abc import Iterable

from weir.graph.compile import compile_graph
from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.graph.physical import PhysicalGraph
from weir.kernel.checkpoints import CheckpointKind, PendingCheckpoint
from weir.kernel.restore import RestorePoint
from weir.kernel.split_assigner import SplitAssigner, SplitList
from weir.protocol.channel_state import EdgeChannels, EdgeSnapshot, PackedInts, assemble
from weir.protocol.ids import ChannelId, CheckpointId, Generation, OperatorUid, SlotIncarnation, SubtaskId
from weir.protocol.manifest import count_finished
from weir.protocol.messages import Register
from weir.protocol.snapshots import (
    Committable,
    JsonValue,
    OperatorSnapshot,
    Split,
    StateFile,
    SubtaskSnapshot,
    SubtaskStatistics,
)

SOURCE, TOTALS, SINK = OperatorUid("source"), OperatorUid("totals"), OperatorUid("sink")
COLUMNS = (Column("key", "int64"),)


def graph(slots: int, *, totals: str = "totals") -> PhysicalGraph:
    """Return the graph source -> [by key] totals -> sink, with two chains and one edge with ``slots`` x ``slots`` channels."""
    uid = OperatorUid(totals)
    operators = (
        LogicalOperator(SOURCE, "source", OperatorKind.SOURCE, (), COLUMNS, ""),
        LogicalOperator(
            uid, "totals", OperatorKind.AGGREGATE, (Input(SOURCE, Partitioning.HASH, ("key",)),), COLUMNS, "",
            max_parallelism=8, stateful=True,
        ),
        LogicalOperator(SINK, "sink", OperatorKind.SINK, (Input(uid),), COLUMNS, ""),
    )  # fmt: skip
    return compile_graph(LogicalGraph("job", operators), slots=slots)


def graph_without_shuffles(slots: int) -> PhysicalGraph:
    """Return the graph source -> sink, with one chain and no channels."""
    operators = (
        LogicalOperator(SOURCE, "source", OperatorKind.SOURCE, (), COLUMNS, ""),
        LogicalOperator(SINK, "sink", OperatorKind.SINK, (Input(SOURCE),), COLUMNS, ""),
    )
    return compile_graph(LogicalGraph("job", operators), slots=slots)


def snapshot(
    of: PhysicalGraph, subtask: SubtaskId, *, checkpoint: int = 1, sequence: int = 5, ended: bool = False, records: int = 0
) -> SubtaskSnapshot:
    """Return the snapshot that the subtask acknowledges. A snapshot of the source contains one unfinished split, unless the
    subtask has ended. ``records``: the number of records that the subtask of the source has read since its deployment. A snapshot
    of ``totals`` contains a file with all key groups of the subtask."""
    if subtask.chain == 0:
        split = Split(f"split{subtask.index}", None, 3, subtask.index)
        operators = (OperatorSnapshot(SOURCE, subtask.index, splits=() if ended else (split,), records=records),)
    else:
        parallelism = of.chains[1].parallelism
        width = 8 // parallelism
        groups = (subtask.index * width, subtask.index * width + width - 1)
        file = StateFile(f"state/{subtask.index}", 1, "x", 1, groups)
        committable = Committable("job", SINK, Generation(1), CheckpointId(checkpoint), subtask.index, f"part-{subtask.index}")
        operators = (
            OperatorSnapshot(of.chains[1].operators[0], subtask.index, files=(file,)),
            OperatorSnapshot(SINK, subtask.index, committables=(committable,)),
        )
    return SubtaskSnapshot(
        subtask.chain,
        subtask.index,
        operators,
        inputs=inputs(of, subtask, sequence),
        outputs=outputs(of, subtask, sequence),
        ended=ended,
        statistics=SubtaskStatistics(),
    )


def inputs(of: PhysicalGraph, subtask: SubtaskId, sequence: int) -> tuple[EdgeSnapshot, ...]:
    """Return the inputs of a subtask. The watermark of the channel from sender i is 1000 + i ms."""
    edges = [(edge.index, of.sources_of(edge, subtask.index)) for edge in of.edges if edge.target == subtask.chain]
    return tuple(
        EdgeSnapshot(edge, PackedInts(len(sources), sequence), PackedInts.pack([1_000 + source for source in sources]))
        for edge, sources in edges
    )


def outputs(of: PhysicalGraph, subtask: SubtaskId, sequence: int) -> tuple[EdgeSnapshot, ...]:
    edges = [(edge.index, of.targets_of(edge, subtask.index)) for edge in of.edges if edge.source == subtask.chain]
    return tuple(EdgeSnapshot(edge, PackedInts(len(targets), sequence)) for edge, targets in edges)


def channels_of(subtasks: Iterable[SubtaskSnapshot]) -> tuple[EdgeChannels, ...]:
    subtasks = tuple(subtasks)
    return assemble([(one.index, one.outputs) for one in subtasks], [(one.index, one.inputs) for one in subtasks])


def restore_point(of: PhysicalGraph) -> RestorePoint:
    """Return checkpoint 7, with two assigned splits and one pending split."""
    pending = PendingCheckpoint(CheckpointId(7), CheckpointKind.PERIODIC, 0)
    for subtask in sorted(of.subtasks(), reverse=True):
        pending.snapshots[subtask] = snapshot(of, subtask, checkpoint=7)
    assigner = SplitAssigner((split_list("split0", "split1", "rest"),))
    for subtask in range(2):
        assigner.request(subtask, CheckpointId(1))
    pending.channels = channels_of(pending.ordered_snapshots())
    return RestorePoint.of_pending(pending, of, count_finished({SOURCE: assigner.snapshot()}, pending.operators()))


def split_list(*ids: str, first: int = 0, known: JsonValue = None) -> SplitList:
    splits = tuple(Split(split_id, f"payload of {split_id}", index=index) for index, split_id in enumerate(ids, first))
    return SplitList(StateFile(f"state/source/splits-{first}-{known}", 1, "x", len(ids)), splits, first, known)


def register(number: int) -> Register:
    return Register(SlotIncarnation(f"slot{number}"), number, number, "host", 1000 + number, number, "executor")


def channel(source: int, target: int) -> ChannelId:
    return ChannelId(0, source, target)
