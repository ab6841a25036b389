"""Plans what each slot restores from a completed checkpoint, with the same or a different parallelism."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weir.errors import RestoreError
from weir.graph.key_groups import subtask_of
from weir.graph.logical import OperatorKind, Partitioning
from weir.graph.physical import Edge, PhysicalGraph
from weir.kernel.checkpoints import PendingCheckpoint
from weir.kernel.split_assigner import SplitAssigner, SplitList
from weir.protocol.channel_state import NO_WATERMARK, EdgeChannels, EdgeSnapshot, PackedInts
from weir.protocol.ids import CheckpointId, OperatorUid, SubtaskId
from weir.protocol.manifest import AssignerState
from weir.protocol.messages import RestoredOperator
from weir.protocol.snapshots import Committable, OperatorSnapshot, Split, StateFile, SubtaskSnapshot

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """A completed checkpoint in the form that the kernel needs.

    ``graph`` is the graph of the generation that took the checkpoint. ``channels`` are the channels of its edges.
    """

    checkpoint: CheckpointId
    graph: PhysicalGraph
    subtasks: tuple[SubtaskSnapshot, ...]
    assigners: Mapping[OperatorUid, AssignerState]
    channels: tuple[EdgeChannels, ...]

    @classmethod
    def of_pending(
        cls, pending: PendingCheckpoint, graph: PhysicalGraph, assigners: Mapping[OperatorUid, AssignerState]
    ) -> RestorePoint:
        """Return the restore point of a checkpoint that the job has just completed with ``graph``."""
        return cls(pending.checkpoint, graph, tuple(pending.ordered_snapshots()), assigners, pending.channels)

    def without(self, operators: Collection[OperatorUid]) -> RestorePoint:
        """Return the restore point without the state of ``operators``.

        The committables of these operators are still committed, because a commit after a restore reads them from the manifest.
        """
        subtasks = tuple(
            replace(subtask, operators=tuple(snapshot for snapshot in subtask.operators if snapshot.operator not in operators))
            for subtask in self.subtasks
        )
        return replace(
            self, subtasks=subtasks, assigners={uid: state for uid, state in self.assigners.items() if uid not in operators}
        )

    def splits_of(self, index: int) -> dict[OperatorUid, OperatorSnapshot]:
        """Return the snapshot of subtask ``index`` of each source."""
        return {
            snapshot.operator: snapshot
            for subtask in self.subtasks
            if subtask.index == index
            for snapshot in subtask.operators
            if snapshot.operator in self.assigners
        }

    def with_splits_returned(self, index: int | None = None) -> RestorePoint:
        """Return the same restore point, except that the unfinished splits of subtask ``index`` of each source are unassigned. If
        ``index`` is None, the splits of all subtasks are unassigned.

        Call this method after the assigners have taken the splits back. If the subtask is lost again before the next checkpoint, the
        assigners must not take the same splits back again."""
        assigners = dict(self.assigners)
        subtasks = []
        for subtask in self.subtasks:
            operators = []
            for snapshot in subtask.operators:
                state = assigners.get(snapshot.operator)
                if state is not None and index in (None, subtask.index):
                    assigners[snapshot.operator] = replace(state, pending=(*state.pending, *snapshot.splits))
                    snapshot = replace(snapshot, splits=(), records=0)
                operators.append(snapshot)
            subtasks.append(replace(subtask, operators=tuple(operators)))
        return replace(self, subtasks=tuple(subtasks), assigners=assigners)

    def operator_snapshots(self) -> dict[OperatorUid, list[OperatorSnapshot]]:
        result: dict[OperatorUid, list[OperatorSnapshot]] = defaultdict(list)
        for subtask in self.subtasks:
            for snapshot in subtask.operators:
                result[snapshot.operator].append(snapshot)
        return dict(result)

    @property
    def records(self) -> int:
        """The number of records that the sources had read up to the checkpoint."""
        return sum(state.records for state in self.assigners.values())

    def committables(self) -> tuple[Committable, ...]:
        return tuple(
            committable for subtask in self.subtasks for operator in subtask.operators for committable in operator.committables
        )


@dataclass(frozen=True, slots=True)
class SlotRestore:
    """What one slot restores."""

    operators: tuple[RestoredOperator, ...]
    inputs: tuple[EdgeSnapshot, ...]
    outputs: tuple[EdgeSnapshot, ...]
    ended: tuple[SubtaskId, ...]
    watermarks: tuple[tuple[SubtaskId, int], ...] = ()


def restored_assigners(
    point: RestorePoint, split_lists: Mapping[OperatorUid, Sequence[SplitList]]
) -> dict[OperatorUid, SplitAssigner]:
    """Return the assigners of a restored job. The assigners assign the unfinished splits again, with their positions."""
    unfinished: dict[OperatorUid, list[Split]] = defaultdict(list)
    for uid, snapshots in point.operator_snapshots().items():
        for snapshot in snapshots:
            unfinished[uid].extend(snapshot.splits)
    return {uid: SplitAssigner.restored(state, unfinished[uid], split_lists[uid]) for uid, state in point.assigners.items()}


def plan_restore(graph: PhysicalGraph, point: RestorePoint | None) -> list[SlotRestore]:
    """Return one item for each slot, with the state that the slot restores.

    Raises RestoreError if the checkpoint contains state of an operator that is not in the graph (names the operator).
    """
    if point is None:
        edges = [EdgeRestore(edge, sequences=0) for edge in graph.edges]
        return [SlotRestore((), *_edges_of_slot(graph, edges, slot), ()) for slot in range(graph.slots)]
    operators: dict[int, list[RestoredOperator]] = defaultdict(list)
    for restored in _restore_operators(graph, point):
        operators[restored.subtask].append(restored)
    ended = _restore_ended(graph, point)
    edges = _restore_edges(graph, point, ended)
    watermarks = _restore_watermarks(graph, point)
    result = []
    for slot in range(graph.slots):
        mine = sorted(graph.subtasks_of_slot(slot))
        result.append(
            SlotRestore(
                tuple(operators[slot]),
                *_edges_of_slot(graph, edges, slot),
                tuple(subtask for subtask in mine if subtask in ended),
                tuple((subtask, watermarks[subtask]) for subtask in mine if subtask in watermarks),
            )
        )
    return result


@dataclass(frozen=True, slots=True)
class EdgeRestore:
    """The restored state of all channels of an edge: arrays with one row for each sender and one column for each of its channels,
    or one number for all channels. None: no channel has a watermark, is idle, or has ended.

    ``ended`` has one item for each sender.
    """

    edge: Edge
    sequences: npt.NDArray[np.int64] | int
    watermarks_ms: npt.NDArray[np.int64] | int | None = None
    idle: npt.NDArray[np.int64] | int | None = None
    ended: list[int] | None = None

    def at_sender(self, graph: PhysicalGraph, index: int) -> EdgeSnapshot:
        if isinstance(self.sequences, int):
            return EdgeSnapshot(self.edge.index, PackedInts(len(graph.targets_of(self.edge, index)), self.sequences))
        return EdgeSnapshot(self.edge.index, PackedInts.pack(self.sequences[index]))

    def at_receiver(self, graph: PhysicalGraph, index: int) -> EdgeSnapshot:
        senders = graph.sources_of(self.edge, index)

        def own(values: npt.NDArray[np.int64] | int) -> PackedInts:
            if isinstance(values, int):
                return PackedInts(len(senders), values)
            forward = self.edge.partitioning is Partitioning.FORWARD
            return PackedInts.pack(values[index] if forward else values[:, index])

        return EdgeSnapshot(
            self.edge.index,
            own(self.sequences),
            None if self.watermarks_ms is None else own(self.watermarks_ms),
            None if self.idle is None else own(self.idle),
            None if self.ended is None else PackedInts.pack(self.ended[senders.start : senders.stop]),
        )


def _edges_of_slot(
    graph: PhysicalGraph, edges: Iterable[EdgeRestore], slot: int
) -> tuple[tuple[EdgeSnapshot, ...], tuple[EdgeSnapshot, ...]]:
    """Return the inputs and the outputs of the subtasks of ``slot``."""
    edges = tuple(edges)
    inputs = (one.at_receiver(graph, slot) for one in edges if slot < graph.chains[one.edge.target].parallelism)
    outputs = (one.at_sender(graph, slot) for one in edges if slot < graph.chains[one.edge.source].parallelism)
    return tuple(inputs), tuple(outputs)


def _restore_operators(graph: PhysicalGraph, point: RestorePoint) -> list[RestoredOperator]:
    present = {uid for chain in graph.chains for uid in chain.operators}
    result = []
    for uid, snapshots in sorted(point.operator_snapshots().items()):
        stateful = [snapshot for snapshot in snapshots if snapshot.files or snapshot.inline is not None]
        if not stateful:
            continue
        if uid not in present:
            raise RestoreError(
                f"operator '{uid}' has state in checkpoint {point.checkpoint} but is not in the graph: set uid='{uid}' on the "
                "operator that restores it, or pass --allow-non-restored-state"
            )
        shares = _share(stateful, graph.chain_of(uid).parallelism, graph.max_parallelism[uid])
        result += [RestoredOperator(uid, subtask, tuple(share)) for subtask, share in sorted(shares.items())]
    return result


def _share(snapshots: Iterable[OperatorSnapshot], parallelism: int, max_parallelism: int) -> dict[int, list[OperatorSnapshot]]:
    """Divide the snapshots among the subtasks: keyed files by key group, other state by subtask number modulo the parallelism."""
    shares: dict[int, list[OperatorSnapshot]] = defaultdict(list)
    for snapshot in snapshots:
        home = snapshot.subtask % parallelism
        files: dict[int, list[StateFile]] = defaultdict(list)
        for file in snapshot.files:
            if file.key_groups is None:
                files[home].append(file)
                continue
            first, last = (subtask_of(group, parallelism, max_parallelism) for group in file.key_groups)
            for subtask in range(first, last + 1):
                files[subtask].append(file)
        if snapshot.inline is not None:
            files.setdefault(home, [])
        for subtask, own in files.items():
            inline = snapshot.inline if subtask == home else None
            shares[subtask].append(OperatorSnapshot(snapshot.operator, snapshot.subtask, tuple(own), inline))
    return shares


def _edge_identity(graph: PhysicalGraph, edge: Edge) -> tuple[OperatorUid, OperatorUid, int]:
    return graph.chains[edge.source].operators[-1], graph.chains[edge.target].operators[0], edge.target_input


def _restore_edges(graph: PhysicalGraph, point: RestorePoint, ended: Collection[SubtaskId]) -> list[EdgeRestore]:
    """Sequence numbers never restart.

    A new channel continues after the highest sequence number of its edge. If the edge is also new, the channel continues after
    the highest sequence number of the job. A channel is restored as ended if and only if its sender is in ``ended``. If a channel
    had ended in the checkpoint, but its sender is not in ``ended``, the channel is not restored as ended. The sender can then
    send data again.
    """
    channels = {one.edge: one for one in point.channels}
    highest_of_job = max((one.sequences.highest for one in channels.values()), default=0)
    old_edges = {_edge_identity(point.graph, edge): edge for edge in point.graph.edges}
    result = []
    for edge in graph.edges:
        old = old_edges.get(_edge_identity(graph, edge))
        senders = [int(SubtaskId(edge.source, index) in ended) for index in range(graph.chains[edge.source].parallelism)]
        ended_senders = senders if any(senders) else None
        if old is None:
            result.append(EdgeRestore(edge, highest_of_job, ended=ended_senders))
            continue
        before = channels[old.index]
        if _shape(graph, edge) == _shape(point.graph, old):
            arrays = [
                None if one is None else one.unpack().reshape(before.senders, before.fan_out)
                for one in (before.sequences, before.watermarks_ms, before.idle)
            ]
            assert arrays[0] is not None
            result.append(EdgeRestore(edge, arrays[0], arrays[1], arrays[2], ended_senders))
            continue
        idle = 1 if _all_idle(before) else None
        result.append(EdgeRestore(edge, before.sequences.highest, _lowest_watermark(before), idle, ended_senders))
    return result


def _shape(graph: PhysicalGraph, edge: Edge) -> tuple[Partitioning, int, int]:
    return edge.partitioning, graph.chains[edge.source].parallelism, graph.chains[edge.target].parallelism


def _open(channels: EdgeChannels, values: PackedInts) -> npt.NDArray[np.int64]:
    """Return the values of the channels that have not ended."""
    return values.unpack() if channels.ended is None else values.unpack()[channels.ended.unpack() == 0]


def _lowest_watermark(channels: EdgeChannels) -> int | None:
    if channels.watermarks_ms is None:
        return None
    watermarks_ms = _open(channels, channels.watermarks_ms)
    lowest = int(watermarks_ms.min()) if len(watermarks_ms) else NO_WATERMARK
    return None if lowest == NO_WATERMARK else lowest


def _lowest(watermarks: Collection[int | None]) -> int | None:
    """Return the lowest watermark. None means minus infinity. So the result is None if one of the watermarks is None, or if
    ``watermarks`` is empty."""
    defined = [watermark for watermark in watermarks if watermark is not None]
    return min(defined) if watermarks and len(defined) == len(watermarks) else None


def _all_idle(channels: EdgeChannels) -> bool:
    """A new channel can carry the records of any old channel, so it is idle only if all old channels were idle."""
    if channels.idle is None:
        return False
    idle = _open(channels, channels.idle)
    return bool(len(idle) and idle.all())


def _restore_watermarks(graph: PhysicalGraph, point: RestorePoint) -> dict[SubtaskId, int]:
    """Return the watermarks that count as emitted.

    An operator with unchanged parallelism keeps the watermark of each subtask. An operator with changed parallelism gets the
    lowest watermark of its subtasks, because the state of a new subtask can be from any of them. If the operators of a new chain
    have different watermarks, the chain gets the highest watermark, because the watermark of an operator must not go back.
    """
    before: dict[OperatorUid, dict[int, int | None]] = defaultdict(dict)
    for subtask in point.subtasks:
        for uid in point.graph.chains[subtask.chain].operators:
            before[uid][subtask.index] = subtask.watermark_ms

    lowest = {uid: _lowest(old.values()) for uid, old in before.items()}

    def emitted(uid: OperatorUid, index: int, parallelism: int) -> int | None:
        old = before.get(uid, {})
        return old[index] if len(old) == parallelism else lowest.get(uid)

    result: dict[SubtaskId, int] = {}
    for chain in graph.chains:
        for index in range(chain.parallelism):
            watermarks = [emitted(uid, index, chain.parallelism) for uid in chain.operators]
            defined = [watermark for watermark in watermarks if watermark is not None]
            if defined:
                result[SubtaskId(chain.index, index)] = max(defined)
    return result


def _restore_ended(graph: PhysicalGraph, point: RestorePoint) -> set[SubtaskId]:
    """Return the subtasks that have already ended when the job starts.

    A subtask has already ended if all its operators had ended in the checkpoint and all its upstream subtasks in the new graph
    have already ended. Chains can change with the parallelism, so each operator is checked separately. An operator with
    unchanged parallelism has ended in the same subtasks as before. An operator with changed parallelism has ended only if it
    had ended in all its subtasks. Upstream subtasks are checked because some of them can be new.
    """
    before: dict[OperatorUid, dict[int, bool]] = defaultdict(dict)
    for subtask in point.subtasks:
        for uid in point.graph.chains[subtask.chain].operators:
            before[uid][subtask.index] = subtask.ended

    ended_everywhere = {uid: all(old.values()) for uid, old in before.items()}

    def had_ended(uid: OperatorUid, index: int, parallelism: int) -> bool:
        old = before.get(uid)
        if old is None or (graph.operator(uid).kind is OperatorKind.SOURCE and uid not in point.assigners):
            # The operator has not read any input: it is new, or it is a source whose uid belonged to an operator of another kind.
            return False
        return old[index] if len(old) == parallelism else ended_everywhere[uid]

    result: set[SubtaskId] = set()
    all_ended: set[int] = set()
    """The chains of which every subtask has ended."""
    for chain in graph.chains:
        edges = [edge for edge in graph.edges if edge.target == chain.index and not edge.feedback]
        for index in range(chain.parallelism):
            senders_ended = all(
                SubtaskId(edge.source, index) in result if edge.partitioning is Partitioning.FORWARD else edge.source in all_ended
                for edge in edges
            )
            if senders_ended and all(had_ended(uid, index, chain.parallelism) for uid in chain.operators):
                result.add(SubtaskId(chain.index, index))
        if all(SubtaskId(chain.index, index) in result for index in range(chain.parallelism)):
            all_ended.add(chain.index)
    return result
