"""Plans what each slot restores from a completed checkpoint, with the same or a different parallelism."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from weir.errors import RestoreError
from weir.graph.key_groups import key_group_range
from weir.graph.logical import OperatorKind, Partitioning
from weir.graph.physical import Edge, PhysicalGraph
from weir.kernel.checkpoints import PendingCheckpoint
from weir.kernel.split_assigner import SplitAssigner, SplitList
from weir.protocol.ids import ChannelId, CheckpointId, OperatorUid, SubtaskId
from weir.protocol.manifest import AssignerState
from weir.protocol.messages import RestoredChannel, RestoredOperator
from weir.protocol.snapshots import ChannelSnapshot, Committable, OperatorSnapshot, Split, SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """A completed checkpoint in the form that the kernel needs.

    ``graph`` is the graph of the generation that took the checkpoint.
    """

    checkpoint: CheckpointId
    graph: PhysicalGraph
    subtasks: tuple[SubtaskSnapshot, ...]
    assigners: Mapping[OperatorUid, AssignerState]

    @classmethod
    def of_pending(
        cls, pending: PendingCheckpoint, graph: PhysicalGraph, assigners: Mapping[OperatorUid, AssignerState]
    ) -> RestorePoint:
        """Return the restore point of a checkpoint that the job has just completed with ``graph``."""
        subtasks = tuple(snapshot for _, snapshot in sorted(pending.snapshots.items()))
        return cls(pending.checkpoint, graph, subtasks, assigners)

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

    def operator_snapshots(self) -> dict[OperatorUid, list[OperatorSnapshot]]:
        result: dict[OperatorUid, list[OperatorSnapshot]] = defaultdict(list)
        for subtask in self.subtasks:
            for snapshot in subtask.operators:
                result[snapshot.operator].append(snapshot)
        return dict(result)

    def committables(self) -> tuple[Committable, ...]:
        return tuple(
            committable for subtask in self.subtasks for operator in subtask.operators for committable in operator.committables
        )


@dataclass(frozen=True, slots=True)
class SlotRestore:
    """What one slot restores."""

    operators: tuple[RestoredOperator, ...]
    channels: tuple[RestoredChannel, ...]
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

    Raises RestoreError if the checkpoint contains state of an operator that is not in the graph (names the operator), or if the
    checkpoint is inconsistent (names the channel).
    """
    if point is None:
        return [SlotRestore((), _new_channels(graph, slot), ()) for slot in range(graph.slots)]
    operators = _restore_operators(graph, point)
    ended = _restore_ended(graph, point)
    channels = _restore_channels(graph, point, ended)
    watermarks = _restore_watermarks(graph, point)
    result = []
    for slot in range(graph.slots):
        mine = set(graph.subtasks_of_slot(slot))
        own_channels = {channel for subtask in mine for channel in (*graph.inputs_of(subtask), *graph.outputs_of(subtask))}
        result.append(
            SlotRestore(
                tuple(restored for restored in operators if restored.subtask == slot),
                tuple(channels[channel] for channel in sorted(own_channels)),
                tuple(sorted(mine & ended)),
                tuple((subtask, watermarks[subtask]) for subtask in sorted(mine & watermarks.keys())),
            )
        )
    return result


def _new_channels(graph: PhysicalGraph, slot: int) -> tuple[RestoredChannel, ...]:
    own = {
        channel for subtask in graph.subtasks_of_slot(slot) for channel in (*graph.inputs_of(subtask), *graph.outputs_of(subtask))
    }
    return tuple(RestoredChannel(channel, 0, None) for channel in sorted(own))


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
        parallelism = graph.chain_of(uid).parallelism
        maximum = graph.max_parallelism[uid]
        for subtask in range(parallelism):
            share = _share(stateful, subtask, parallelism, key_group_range(subtask, parallelism, maximum))
            if share:
                result.append(RestoredOperator(uid, subtask, share))
    return result


def _share(
    snapshots: Iterable[OperatorSnapshot], subtask: int, parallelism: int, key_groups: tuple[int, int]
) -> tuple[OperatorSnapshot, ...]:
    """Return the snapshots for ``subtask``: keyed files by key group, other state by subtask number modulo the parallelism."""
    first, last = key_groups
    result = []
    for snapshot in snapshots:
        assigned_here = snapshot.subtask % parallelism == subtask
        files = tuple(
            file
            for file in snapshot.files
            if (assigned_here if file.key_groups is None else file.key_groups[0] <= last and first <= file.key_groups[1])
        )
        inline = snapshot.inline if assigned_here else None
        if files or inline is not None:
            result.append(OperatorSnapshot(snapshot.operator, snapshot.subtask, files, inline))
    return tuple(result)


def _edge_identity(graph: PhysicalGraph, edge: Edge) -> tuple[OperatorUid, OperatorUid, int]:
    return graph.chains[edge.source].operators[-1], graph.chains[edge.target].operators[0], edge.target_input


def _restore_channels(
    graph: PhysicalGraph, point: RestorePoint, ended: Collection[SubtaskId]
) -> dict[ChannelId, RestoredChannel]:
    """Sequence numbers never restart.

    A new channel continues after the highest sequence number of its edge. If the edge is also new, the channel continues after
    the highest sequence number of the job. A channel is restored as ended if and only if its sender is in ``ended``. If a channel
    had ended in the checkpoint, but its sender is not in ``ended``, the channel is not restored as ended. The sender can then
    send data again.
    """
    sent: dict[ChannelId, int] = {}
    consumed: dict[ChannelId, ChannelSnapshot] = {}
    for subtask in point.subtasks:
        sent.update({end.channel: end.sequence for end in subtask.outputs})
        consumed.update({end.channel: end for end in subtask.inputs})
    inconsistent = [channel for channel, end in consumed.items() if sent.get(channel) != end.sequence]
    if inconsistent:
        raise RestoreError(
            f"checkpoint {point.checkpoint} is inconsistent: at the barrier of channel {inconsistent[0]}, the next data frame of the "
            f"sender is number {sent.get(inconsistent[0])}, but the receiver expects number {consumed[inconsistent[0]].sequence}. "
            "Restore an older checkpoint and report this error"
        )
    highest_of_job = max(sent.values(), default=0)
    old_edges = {_edge_identity(point.graph, edge): edge for edge in point.graph.edges}
    result = {}
    for edge in graph.edges:
        old = old_edges.get(_edge_identity(graph, edge))
        old_channels = list(point.graph.channels_of_edge(old)) if old is not None else []
        same_shape = old is not None and _shape(graph, edge) == _shape(point.graph, old)
        highest = max((sent[channel] for channel in old_channels), default=highest_of_job)
        ends = [consumed[channel] for channel in old_channels]
        lowest_watermark, idle = _lowest_watermark(ends), _all_idle(ends)
        for channel in graph.channels_of_edge(edge):
            sender_ended = SubtaskId(edge.source, channel.source) in ended
            if same_shape and old is not None:
                end = consumed[ChannelId(old.index, channel.source, channel.target)]
                result[channel] = RestoredChannel(channel, end.sequence, end.watermark_ms, end.idle, sender_ended)
            else:
                result[channel] = RestoredChannel(channel, highest, lowest_watermark, idle, sender_ended)
    return result


def _shape(graph: PhysicalGraph, edge: Edge) -> tuple[Partitioning, int, int]:
    return edge.partitioning, graph.chains[edge.source].parallelism, graph.chains[edge.target].parallelism


def _lowest_watermark(ends: Iterable[ChannelSnapshot]) -> int | None:
    return _lowest([end.watermark_ms for end in ends if not end.ended])


def _lowest(watermarks: Collection[int | None]) -> int | None:
    """Return the lowest watermark. None means minus infinity. So the result is None if one of the watermarks is None, or if
    ``watermarks`` is empty."""
    defined = [watermark for watermark in watermarks if watermark is not None]
    return min(defined) if watermarks and len(defined) == len(watermarks) else None


def _all_idle(ends: Iterable[ChannelSnapshot]) -> bool:
    """A new channel can carry the records of any old channel, so it is idle only if all old channels were idle."""
    open_ends = [end for end in ends if not end.ended]
    return bool(open_ends) and all(end.idle for end in open_ends)


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

    def emitted(uid: OperatorUid, index: int, parallelism: int) -> int | None:
        old = before.get(uid, {})
        return old[index] if len(old) == parallelism else _lowest(old.values())

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

    def had_ended(uid: OperatorUid, index: int, parallelism: int) -> bool:
        old = before.get(uid)
        if old is None or (graph.operator(uid).kind is OperatorKind.SOURCE and uid not in point.assigners):
            # The operator has not read any input: it is new, or it is a source whose uid belonged to an operator of another kind.
            return False
        return old[index] if len(old) == parallelism else all(old.values())

    result: set[SubtaskId] = set()
    for chain in graph.chains:
        for index in range(chain.parallelism):
            own = SubtaskId(chain.index, index)
            senders = {
                SubtaskId(graph.edges[channel.edge].source, channel.source)
                for channel in graph.inputs_of(own)
                if not graph.edges[channel.edge].feedback
            }
            if senders <= result and all(had_ended(uid, index, chain.parallelism) for uid in chain.operators):
                result.add(own)
    return result
