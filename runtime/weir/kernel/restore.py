"""From a completed checkpoint to what every slot gets back, also with another parallelism."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from weir.errors import RestoreError
from weir.graph.keygroups import key_group_range
from weir.graph.logical import OperatorKind, Partitioning
from weir.graph.physical import Edge, PhysicalGraph
from weir.kernel.checkpoints import PendingCheckpoint
from weir.kernel.splits import SplitAssigner
from weir.protocol.ids import ChannelId, CheckpointId, OperatorUid, SubtaskId
from weir.protocol.manifest import AssignerState
from weir.protocol.messages import RestoredChannel, RestoredOperator
from weir.protocol.snapshots import ChannelSnapshot, Committable, OperatorSnapshot, Split, SubtaskSnapshot


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """A completed checkpoint as the kernel needs it. ``graph`` is the one it was taken of."""

    checkpoint: CheckpointId
    graph: PhysicalGraph
    subtasks: tuple[SubtaskSnapshot, ...]
    assigners: Mapping[OperatorUid, AssignerState]

    @classmethod
    def taken(
        cls, pending: PendingCheckpoint, graph: PhysicalGraph, assigners: Mapping[OperatorUid, AssignerState]
    ) -> RestorePoint:
        """The checkpoint that ``graph`` has just completed."""
        subtasks = tuple(snapshot for _, snapshot in sorted(pending.snapshots.items()))
        return cls(pending.checkpoint, graph, subtasks, assigners)

    def without(self, operators: Collection[OperatorUid]) -> RestorePoint:
        """Their state left behind, on purpose. What of it is to be committed is not this one's matter: the manifest says it."""
        subtasks = tuple(
            replace(subtask, operators=tuple(one for one in subtask.operators if one.operator not in operators))
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
    """The share of one slot."""

    operators: tuple[RestoredOperator, ...]
    channels: tuple[RestoredChannel, ...]
    ended: tuple[SubtaskId, ...]


def restored_assigners(point: RestorePoint) -> dict[OperatorUid, SplitAssigner]:
    """The splits that sources had in work go back to their assigner, with positions: dealt out anew whatever the parallelism."""
    unfinished: dict[OperatorUid, list[Split]] = defaultdict(list)
    for uid, snapshots in point.operator_snapshots().items():
        for snapshot in snapshots:
            unfinished[uid].extend(snapshot.splits)
    return {uid: SplitAssigner.restored(state, unfinished[uid]) for uid, state in point.assigners.items()}


def plan_restore(graph: PhysicalGraph, point: RestorePoint | None) -> list[SlotRestore]:
    """One entry per slot. Raises RestoreError naming the operator whose state has nowhere to go."""
    if point is None:
        return [SlotRestore((), _fresh_channels(graph, slot), ()) for slot in range(graph.slots)]
    operators = _deal_operators(graph, point)
    channels = _restore_channels(graph, point)
    ended = _restore_ended(graph, point)
    result = []
    for slot in range(graph.slots):
        mine = set(graph.subtasks_of_slot(slot))
        own_channels = {channel for subtask in mine for channel in (*graph.inputs_of(subtask), *graph.outputs_of(subtask))}
        result.append(
            SlotRestore(
                tuple(restored for restored in operators if restored.subtask == slot),
                tuple(channels[channel] for channel in sorted(own_channels)),
                tuple(sorted(mine & ended)),
            )
        )
    return result


def _fresh_channels(graph: PhysicalGraph, slot: int) -> tuple[RestoredChannel, ...]:
    own = {
        channel for subtask in graph.subtasks_of_slot(slot) for channel in (*graph.inputs_of(subtask), *graph.outputs_of(subtask))
    }
    return tuple(RestoredChannel(channel, 0, None) for channel in sorted(own))


def _deal_operators(graph: PhysicalGraph, point: RestorePoint) -> list[RestoredOperator]:
    known = {uid for chain in graph.chains for uid in chain.operators}
    result = []
    for uid, snapshots in sorted(point.operator_snapshots().items()):
        stateful = [snapshot for snapshot in snapshots if snapshot.files or snapshot.inline is not None]
        if not stateful:
            continue
        if uid not in known:
            raise RestoreError(
                f"operator '{uid}' has state in checkpoint {point.checkpoint} but is not in the graph: give the operator "
                f"that continues it uid='{uid}', or allow state to be left behind"
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
    """Keyed files by overlap of key groups; everything else to the subtask of the same number, modulo the parallelism."""
    first, last = key_groups
    result = []
    for snapshot in snapshots:
        dealt_here = snapshot.subtask % parallelism == subtask
        files = tuple(
            file
            for file in snapshot.files
            if (dealt_here if file.key_groups is None else file.key_groups[0] <= last and first <= file.key_groups[1])
        )
        inline = snapshot.inline if dealt_here else None
        if files or inline is not None:
            result.append(OperatorSnapshot(snapshot.operator, snapshot.subtask, files, inline))
    return tuple(result)


def _edge_identity(graph: PhysicalGraph, edge: Edge) -> tuple[OperatorUid, OperatorUid, int]:
    return graph.chains[edge.source].operators[-1], graph.chains[edge.target].operators[0], edge.target_input


def _restore_channels(graph: PhysicalGraph, point: RestorePoint) -> dict[ChannelId, RestoredChannel]:
    """Numbers never restart: a channel that did not exist goes on after the highest number of its edge, else of the job."""
    sent: dict[ChannelId, int] = {}
    consumed: dict[ChannelId, ChannelSnapshot] = {}
    for subtask in point.subtasks:
        sent.update({end.channel: end.sequence for end in subtask.outputs})
        consumed.update({end.channel: end for end in subtask.inputs})
    torn = [channel for channel, end in consumed.items() if sent.get(channel) != end.sequence]
    if torn:
        raise RestoreError(
            f"checkpoint {point.checkpoint} is torn: channel {torn[0]} was sent {sent.get(torn[0])} and consumed "
            f"{consumed[torn[0]].sequence} data frames at the barrier; restore an older checkpoint and report this"
        )
    highest_of_all = max(sent.values(), default=0)
    old_edges = {_edge_identity(point.graph, edge): edge for edge in point.graph.edges}
    result = {}
    for edge in graph.edges:
        old = old_edges.get(_edge_identity(graph, edge))
        old_channels = list(point.graph.channels_of_edge(old)) if old is not None else []
        same_shape = old is not None and _shape(graph, edge) == _shape(point.graph, old)
        highest = max((sent[channel] for channel in old_channels), default=highest_of_all)
        ends = [consumed[channel] for channel in old_channels]
        lowest_watermark, idle = _lowest_watermark(ends), _all_idle(ends)
        for channel in graph.channels_of_edge(edge):
            if same_shape and old is not None:
                end = consumed[ChannelId(old.index, channel.source, channel.target)]
                result[channel] = RestoredChannel(channel, end.sequence, end.watermark_ms, end.idle)
            else:
                result[channel] = RestoredChannel(channel, highest, lowest_watermark, idle)
    return result


def _shape(graph: PhysicalGraph, edge: Edge) -> tuple[Partitioning, int, int]:
    return edge.partitioning, graph.chains[edge.source].parallelism, graph.chains[edge.target].parallelism


def _lowest_watermark(ends: Iterable[ChannelSnapshot]) -> int | None:
    marks = [end.watermark_ms for end in ends if not end.ended]
    known = [mark for mark in marks if mark is not None]
    return min(known) if marks and len(known) == len(marks) else None


def _all_idle(ends: Iterable[ChannelSnapshot]) -> bool:
    """A new channel may come from any of the old ones' subtasks, so one of them that is active makes it count."""
    open_ends = [end for end in ends if not end.ended]
    return bool(open_ends) and all(end.idle for end in open_ends)


def _restore_ended(graph: PhysicalGraph, point: RestorePoint) -> set[SubtaskId]:
    """A subtask has ended where every operator of its chain had: chains are cut otherwise when an operator's parallelism changes.

    An operator by subtask where its parallelism is the same, else only if all its subtasks had. And never before all that
    sends to it has: its channels may come from other subtasks than they did.
    """
    before: dict[OperatorUid, dict[int, bool]] = defaultdict(dict)
    for subtask in point.subtasks:
        for uid in point.graph.chains[subtask.chain].operators:
            before[uid][subtask.index] = subtask.ended

    def had_ended(uid: OperatorUid, index: int, parallelism: int) -> bool:
        old = before.get(uid)
        if old is None or (graph.operator(uid).kind is OperatorKind.SOURCE and uid not in point.assigners):
            return False  # new in the graph, or a source under a uid that was not one: nobody has read its input
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
