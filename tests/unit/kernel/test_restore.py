"""Planning which state each slot restores from a completed checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from kernel_cases import (
    COLUMNS,
    SINK,
    SOURCE,
    TOTALS,
    channels_of,
    graph,
    inputs,
    outputs,
    restore_point,
    snapshot,
    split_list,
)

from weir.errors import RestoreError
from weir.graph.compile import compile_graph
from weir.graph.key_groups import key_group_range
from weir.graph.logical import Input, LogicalGraph, LogicalOperator, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.kernel.restore import RestorePoint, SlotRestore, plan_restore, restored_assigners
from weir.kernel.split_assigner import SplitAssigner, unlisted_splits
from weir.protocol.channel_state import PackedInts
from weir.protocol.ids import ChannelId, CheckpointId, OperatorUid, SubtaskId
from weir.protocol.manifest import AssignerState, count_finished
from weir.protocol.snapshots import Split, SubtaskSnapshot

ALL_ASSIGNED = {SOURCE: AssignerState((), 1)}


def point(of: PhysicalGraph, *, ended: tuple[SubtaskId, ...] = ()) -> RestorePoint:
    subtasks = tuple(snapshot(of, subtask, ended=subtask in ended) for subtask in of.subtasks())
    states = {SOURCE: AssignerState((Split("returned", None, 5, 7),), 2, next=8)}
    return RestorePoint(CheckpointId(1), of, subtasks, states, channels_of(subtasks))


@dataclass(frozen=True)
class Restored:
    """A channel of a restore plan."""

    channel: ChannelId
    sequence: int
    watermark_ms: int | None
    idle: bool
    ended: bool


def restored_inputs(of: PhysicalGraph, restores: Sequence[SlotRestore]) -> list[Restored]:
    """Return every channel of the plan, as its receiver restores it. The senders continue with the same sequence numbers."""
    sent = {
        ChannelId(end.edge, slot, target): sequence
        for slot, restore in enumerate(restores)
        for end in restore.outputs
        for target, sequence in zip(of.targets_of(of.edges[end.edge], slot), end.sequences.unpack().tolist(), strict=True)
    }
    result = []
    for slot, restore in enumerate(restores):
        for end in restore.inputs:
            for position, source in enumerate(of.sources_of(of.edges[end.edge], slot)):
                watermark_ms, idle, ended = (
                    None if array is None else int(array.unpack()[position]) for array in (end.watermarks_ms, end.idle, end.ended)
                )
                sequence = int(end.sequences.unpack()[position])
                channel = ChannelId(end.edge, source, slot)
                assert sent.pop(channel) == sequence
                result.append(Restored(channel, sequence, watermark_ms, bool(idle), bool(ended)))
    assert not sent
    return result


def test_a_restore_point_contains_the_snapshots_of_its_checkpoint_in_order() -> None:
    of = graph(2)
    taken = restore_point(of)
    assert taken.checkpoint == 7
    assert [(one.chain, one.index) for one in taken.subtasks] == sorted(of.subtasks())
    assert len(taken.committables()) == 2


def test_all_channels_start_at_zero_without_a_checkpoint() -> None:
    restored = restored_inputs(graph(2), plan_restore(graph(2), None))
    assert len(restored) == 4
    assert {one.sequence for one in restored} == {0}


def test_each_slot_restores_its_own_state_if_the_graph_has_not_changed() -> None:
    of = graph(2)
    restores = plan_restore(of, point(of))
    for slot, restore in enumerate(restores):
        (restored,) = restore.operators
        assert (restored.operator, restored.subtask) == (TOTALS, slot)
        assert [file.path for one in restored.snapshots for file in one.files] == [f"state/{slot}"]
    own = {one.channel: one for one in restored_inputs(of, restores)}
    assert {one.sequence for one in own.values()} == {5}
    assert {one.channel.source: one.watermark_ms for one in own.values()} == {0: 1_000, 1: 1_001}


@pytest.mark.parametrize(("before", "after"), [(2, 4), (4, 2), (2, 3), (4, 1), (1, 3)])
def test_each_slot_restores_the_state_of_its_key_groups_after_a_rescale(before: int, after: int) -> None:
    restores = plan_restore(graph(after), point(graph(before)))
    for slot, restore in enumerate(restores):
        first, last = key_group_range(slot, after, 8)
        files = [file for restored in restore.operators for one in restored.snapshots for file in one.files]
        covered = {group for file in files if file.key_groups for group in range(file.key_groups[0], file.key_groups[1] + 1)}
        assert set(range(first, last + 1)) <= covered
        assert all(file.key_groups and file.key_groups[0] <= last and first <= file.key_groups[1] for file in files)


def test_sequence_numbers_continue_above_the_highest_earlier_number_after_a_rescale() -> None:
    restored = restored_inputs(graph(3), plan_restore(graph(3), point(graph(2))))
    assert {one.sequence for one in restored} == {5}
    assert {one.watermark_ms for one in restored} == {1_000}, (
        "each channel restores the lowest watermark of all channels of the edge"
    )


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("idle", [0, 1, 4])
def test_a_rescale_restores_channels_as_idle_only_if_all_channels_were_idle(slots: int, idle: int) -> None:
    of = graph(2)
    complete = point(of)
    (channels,) = complete.channels
    channels = replace(channels, idle=PackedInts.pack([int(number < idle) for number in range(4)]))
    restores = plan_restore(graph(slots), replace(complete, channels=(channels,)))
    found = {restored.channel: restored.idle for restored in restored_inputs(graph(slots), restores)}
    expected = idle if slots == 2 else (len(found) if idle == 4 else 0)
    assert sum(found.values()) == expected


@pytest.mark.parametrize(("slots", "ended"), [(2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)])
def test_the_channels_of_an_ended_sender_are_restored_as_ended(slots: int, ended: int) -> None:
    """After a rescale, the senders are restored as ended only if all earlier senders had ended. If an earlier sender had
    not ended, the new senders read its unfinished splits."""
    of = graph(2)
    restores = plan_restore(graph(slots), point(of, ended=tuple(SubtaskId(0, index) for index in range(ended))))
    found = {restored.channel: restored.ended for restored in restored_inputs(graph(slots), restores)}
    expected = ended if slots == 2 else slots * (ended == 2)
    assert {channel.source for channel, channel_ended in found.items() if channel_ended} == set(range(expected))
    assert all(channel_ended == (channel.source < expected) for channel, channel_ended in found.items())


@pytest.mark.parametrize(("slots", "expected"), [(2, [300, 200]), (3, [200] * 3), (1, [200])])
def test_subtasks_restore_the_emitted_watermark(slots: int, expected: list[int]) -> None:
    """After a rescale, each subtask restores the lowest watermark, because its state can be from any old subtask."""
    of = graph(2)
    complete = point(of)
    subtasks = tuple(replace(one, watermark_ms=(300, 200)[one.index] if one.chain == 1 else None) for one in complete.subtasks)
    restores = plan_restore(graph(slots), replace(complete, subtasks=subtasks))
    assert [restore.watermarks for restore in restores] == [
        ((SubtaskId(1, slot), watermark_ms),) for slot, watermark_ms in enumerate(expected)
    ]


def test_a_rescale_restores_an_emitted_watermark_only_if_all_subtasks_had_emitted_a_watermark() -> None:
    of = graph(2)
    complete = point(of)
    subtasks = tuple(replace(one, watermark_ms=(300, None)[one.index] if one.chain == 1 else None) for one in complete.subtasks)
    restores = plan_restore(graph(3), replace(complete, subtasks=subtasks))
    assert [restore.watermarks for restore in restores] == [(), (), ()]


def requested(assigner: SplitAssigner, count: int) -> list[Split | None]:
    return [one.split for _ in range(count) for one in assigner.request(0, CheckpointId(1))]


LIST = split_list(*(f"split{number}" for number in range(9)))


def test_unfinished_splits_keep_their_positions_and_are_assigned_before_pending_splits() -> None:
    restored = point(graph(2))
    state = replace(restored.assigners[SOURCE], split_lists=(LIST.reference,))
    assigner = restored_assigners(replace(restored, assigners={SOURCE: state}), {SOURCE: (LIST,)})[SOURCE]
    assert requested(assigner, 5) == [
        Split("split0", "payload of split0", 3, 0),
        Split("split1", "payload of split1", 3, 1),
        Split("returned", "payload of split7", 5, 7),
        Split("split8", "payload of split8", None, 8),
        None,
    ]
    assert assigner.snapshot() == AssignerState((), 2 + 4, (LIST.reference,), next=9)


def test_the_state_of_an_assigner_does_not_grow_with_the_number_of_splits() -> None:
    many = split_list(*(f"split{number}" for number in range(10_000)))
    assigner = SplitAssigner((many,))
    at_start = assigner.snapshot()
    requested(assigner, 9_000)
    assert at_start == AssignerState((), 0, (many.reference,), next=0)
    assert assigner.snapshot() == AssignerState((), 9_000, (many.reference,), next=9_000)


def test_the_state_of_an_assigner_contains_returned_splits_without_their_payload() -> None:
    started = Split("split1", None, 30, 1)
    assigner = SplitAssigner.restored(AssignerState((), 2, (LIST.reference,), next=3), (started,), (LIST,))
    assert assigner.snapshot() == AssignerState((started,), 2, (LIST.reference,), next=3)


def test_splits_in_the_snapshots_of_a_source_do_not_count_as_finished() -> None:
    of = graph(2)
    states = {SOURCE: AssignerState((), 7, (LIST.reference,), next=7)}
    snapshots = [operator for subtask in of.subtasks() for operator in snapshot(of, subtask).operators]
    assert count_finished(states, snapshots)[SOURCE].finished == 7 - 2


def test_the_records_of_a_checkpoint_continue_after_those_of_the_restored_checkpoint() -> None:
    def checkpoint(assigner: SplitAssigner, *, slots: int, records: int) -> RestorePoint:
        """Return a checkpoint of a generation whose source subtasks have read ``records`` records each."""
        of = graph(slots)
        subtasks = tuple(snapshot(of, subtask, ended=True, records=records) for subtask in of.subtasks())
        operators = [operator for subtask in subtasks for operator in subtask.operators]
        return RestorePoint(
            CheckpointId(1), of, subtasks, count_finished({SOURCE: assigner.snapshot()}, operators), channels_of(subtasks)
        )

    def restored(point: RestorePoint) -> SplitAssigner:
        return restored_assigners(point, {SOURCE: (LIST,)})[SOURCE]

    new = SplitAssigner((LIST,))
    assert [checkpoint(new, slots=2, records=count).records for count in (30, 50)] == [60, 100]
    first = checkpoint(new, slots=2, records=50)
    second = checkpoint(restored(first), slots=4, records=7)
    assert second.records == 100 + 4 * 7
    assert checkpoint(restored(second), slots=1, records=0).records == second.records
    assert checkpoint(restored(first), slots=1, records=1).records == 101, "a rollback continues from the older checkpoint"
    assert second.without([SOURCE]).records == 0, "a source without its state reads all records again"


def test_a_checkpoint_of_an_older_version_without_split_lists_can_be_restored() -> None:
    waiting, started, unfinished = Split("a", "payload of a"), Split("b", {"file": "b"}, 9), Split("c", {"file": "c"}, 2)
    state = AssignerState((waiting, started), 4)
    assert unlisted_splits(state) == (waiting,)
    listed = split_list("a")
    assigner = SplitAssigner.restored(state, (unfinished,), (listed,))
    assert assigner.snapshot() == AssignerState((unfinished, started), 4, (listed.reference,), next=0)
    assert requested(assigner, 4) == [unfinished, started, listed.splits[0], None]


def test_the_error_for_state_whose_operator_is_missing_names_this_operator() -> None:
    with pytest.raises(RestoreError, match="operator 'totals' has state .* uid='totals'"):
        plan_restore(graph(2, totals="renamed"), point(graph(2)))


def test_a_rescale_restores_subtasks_as_ended_only_if_all_subtasks_had_ended() -> None:
    of = graph(2)
    one, both = (SubtaskId(0, 0),), (SubtaskId(0, 0), SubtaskId(0, 1))
    assert [restore.ended for restore in plan_restore(of, point(of, ended=one))] == [one, ()]
    assert [restore.ended for restore in plan_restore(graph(3), point(of, ended=one))] == [(), (), ()]
    assert [restore.ended for restore in plan_restore(graph(3), point(of, ended=both))] == [
        (SubtaskId(0, 0),), (SubtaskId(0, 1),), (SubtaskId(0, 2),),
    ]  # fmt: skip


def pipeline(slots: int, *names: str) -> PhysicalGraph:
    """Return a source of parallelism 2, followed by operators with one subtask per slot. With two slots, all operators are fused
    into one chain."""
    operators = [LogicalOperator(SOURCE, "source", OperatorKind.SOURCE, (), COLUMNS, "", parallelism=2)]
    for name in names:
        before = Input(operators[-1].uid)
        operators.append(LogicalOperator(OperatorUid(name), name, OperatorKind.MAP_BATCHES, (before,), COLUMNS, ""))
    operators.append(LogicalOperator(SINK, "sink", OperatorKind.SINK, (Input(operators[-1].uid),), COLUMNS, ""))
    return compile_graph(LogicalGraph("job", tuple(operators)), slots=slots)


def ended_pipeline(of: PhysicalGraph, *, chains: tuple[int, ...]) -> RestorePoint:
    def taken(subtask: SubtaskId) -> SubtaskSnapshot:
        return replace(snapshot(graph(2), SubtaskId(0, 0)), chain=subtask.chain, index=subtask.index, operators=(),
                       ended=subtask.chain in chains,
                       inputs=inputs(of, subtask, 5), outputs=outputs(of, subtask, 5))  # fmt: skip

    subtasks = tuple(taken(subtask) for subtask in of.subtasks())
    return RestorePoint(CheckpointId(1), of, subtasks, ALL_ASSIGNED, channels_of(subtasks))


def test_a_chain_is_not_restored_as_ended_if_one_of_its_operators_had_not_ended() -> None:
    """If the chain had ended, the job would finish without the records that the operator has buffered (found by seed 121904 of
    the simulator)."""
    of = pipeline(3, "hold")
    assert [chain.operators for chain in of.chains] == [("source",), ("hold", "sink")]
    assert [chain.operators for chain in pipeline(2, "hold").chains] == [("source", "hold", "sink")]
    only_the_source = ended_pipeline(of, chains=(0,))
    assert [restore.ended for restore in plan_restore(pipeline(2, "hold"), only_the_source)] == [(), ()]
    both = ended_pipeline(of, chains=(0, 1))
    assert [restore.ended for restore in plan_restore(pipeline(2, "hold"), both)] == [(SubtaskId(0, 0),), (SubtaskId(0, 1),)]


def test_an_operator_that_had_ended_is_restored_as_ended_in_a_new_chain() -> None:
    at = ended_pipeline(pipeline(2, "hold"), chains=(0,))
    assert [restore.ended for restore in plan_restore(pipeline(3, "hold"), at)] == [
        (SubtaskId(0, 0), SubtaskId(1, 0)), (SubtaskId(0, 1), SubtaskId(1, 1)), (SubtaskId(1, 2),),
    ]  # fmt: skip


def test_an_ended_chain_that_gets_a_new_operator_does_not_count_as_ended() -> None:
    at = ended_pipeline(pipeline(2, "hold"), chains=(0,))
    assert [restore.ended for restore in plan_restore(pipeline(2, "hold", "new"), at)] == [(), ()]


def test_a_source_is_not_restored_as_ended_if_its_uid_belonged_to_a_different_operator_kind() -> None:
    """The uid of a stateless operator that has ended can become the uid of a new source. The new source must still read its
    input."""
    at = ended_pipeline(pipeline(2, "map"), chains=(0,))
    new = OperatorUid("map")
    sources = [LogicalOperator(uid, uid, OperatorKind.SOURCE, (), COLUMNS, "") for uid in (SOURCE, new)]
    both = LogicalOperator(OperatorUid("both"), "both", OperatorKind.UNION, (Input(SOURCE), Input(new)), COLUMNS, "")
    sink = LogicalOperator(SINK, "sink", OperatorKind.SINK, (Input(both.uid),), COLUMNS, "")
    after = compile_graph(LogicalGraph("job", (*sources, both, sink)), slots=2)
    assert [[after.chains[one.chain].operators for one in restore.ended] for restore in plan_restore(after, at)] == [
        [(SOURCE,)]
    ] * 2


def test_a_subtask_with_new_upstream_subtasks_has_not_ended() -> None:
    """The edges from the source to two operators change from forward to rebalance, because the source gets three subtasks."""

    def fan_out(slots: int) -> PhysicalGraph:
        source = LogicalOperator(SOURCE, "source", OperatorKind.SOURCE, (), COLUMNS, "")
        sinks = [
            LogicalOperator(OperatorUid(name), name, OperatorKind.SINK, (Input(SOURCE),), COLUMNS, "", parallelism=2)
            for name in ("left", "right")
        ]
        return compile_graph(LogicalGraph("job", (source, *sinks)), slots=slots)

    def taken(of: PhysicalGraph, subtask: SubtaskId) -> SubtaskSnapshot:
        return replace(snapshot(of, SubtaskId(0, subtask.index)), chain=subtask.chain, operators=(), ended=subtask.index == 0,
                       inputs=inputs(of, subtask, 5), outputs=outputs(of, subtask, 5))  # fmt: skip

    of = fan_out(2)
    subtasks = tuple(taken(of, subtask) for subtask in of.subtasks())
    at = RestorePoint(CheckpointId(1), of, subtasks, ALL_ASSIGNED, channels_of(subtasks))
    assert [len(restore.ended) for restore in plan_restore(of, at)] == [3, 0]
    assert [restore.ended for restore in plan_restore(fan_out(3), at)] == [(), (), ()]
