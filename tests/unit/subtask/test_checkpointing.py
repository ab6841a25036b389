"""The times at which a slot gathers and writes the snapshots of its subtasks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from weir.operators.base import PendingSnapshot, SnapshotWriter
from weir.protocol.ids import CheckpointId, OperatorUid, SubtaskId
from weir.protocol.snapshots import OperatorSnapshot
from weir.subtask.checkpointing import HELD_NS_MAX, SlotCheckpoints, SubtaskCheckpoint
from weir.subtask.environment import SlotEnvironment


@dataclass
class Handle:
    units: int = 1
    discarded: bool = False
    fails: bool = False

    def advance(self) -> bool:
        if self.fails:
            raise ValueError("no such row")
        self.units -= 1
        return self.units == 0

    def write(self, writer: SnapshotWriter) -> OperatorSnapshot:
        return OperatorSnapshot(OperatorUid("sum"), 0)

    def discard(self) -> None:
        self.discarded = True


@dataclass
class Clock:
    """A fake clock. Each call of ``monotonic_ns`` adds 1 ms to the time. Each call of ``core_wait_ns`` adds 0.5 ms to the core
    wait."""

    now_ns: int = 0
    waited_ns: int = field(default=0)

    def monotonic_ns(self) -> int:
        self.now_ns += 1_000_000
        return self.now_ns

    def core_wait_ns(self) -> int:
        self.waited_ns += 500_000
        return self.waited_ns


def local(checkpoint: int, chain: int, *handles: Handle) -> SubtaskCheckpoint:
    return SubtaskCheckpoint(
        CheckpointId(checkpoint),
        SubtaskId(chain, 0),
        cast("tuple[PendingSnapshot, ...]", handles),
        (),
        (),
        (),
        ended=False,
        sync_ns=3_000_000,
        sync_cpu_ns=1_000_000,
        sync_core_wait_ns=2_000_000,
        alignment_ns=0,
        began_ns=0,
    )


def run_async_phase(checkpoints: SlotCheckpoints) -> SlotEnvironment:
    ports = cast("SlotEnvironment", Clock())
    while checkpoints.gather(ports):
        pass
    return ports


def test_a_slot_writes_snapshots_after_all_of_its_subtasks_have_taken_their_snapshots() -> None:
    checkpoints = SlotCheckpoints(2)
    first, second = local(1, 0, Handle()), local(1, 1, Handle())
    checkpoints.add(first)
    run_async_phase(checkpoints)
    assert checkpoints.due(0) == []

    checkpoints.add(second)
    run_async_phase(checkpoints)
    assert checkpoints.due(0) == [first, second]
    assert checkpoints.due(0) == []


def test_a_slot_writes_its_snapshots_only_after_it_has_gathered_all_of_them() -> None:
    checkpoints = SlotCheckpoints(2)
    first, second = local(1, 0, Handle()), local(1, 1, Handle(units=2))
    checkpoints.add(first)
    checkpoints.add(second)
    ports = cast("SlotEnvironment", Clock())
    while checkpoints.gathering is not None:
        assert checkpoints.due(0) == []
        checkpoints.gather(ports)
    assert checkpoints.due(0) == [first, second]


def test_a_slot_writes_snapshots_after_a_time_limit_if_one_subtask_aligns_slowly() -> None:
    checkpoints = SlotCheckpoints(2)
    checkpoints.add(local(1, 0, Handle()))
    run_async_phase(checkpoints)
    wake_at_ns = checkpoints.wake_at_ns()

    assert wake_at_ns is not None
    assert checkpoints.due(wake_at_ns - 1) == []
    assert [one.subtask.chain for one in checkpoints.due(wake_at_ns)] == [0]
    assert wake_at_ns >= HELD_NS_MAX
    assert checkpoints.wake_at_ns() is None


def test_a_snapshot_without_state_is_acknowledged_together_with_the_others() -> None:
    checkpoints = SlotCheckpoints(2)
    checkpoints.add(local(1, 0))
    run_async_phase(checkpoints)
    assert checkpoints.due(0) == []
    checkpoints.add(local(1, 1))
    run_async_phase(checkpoints)
    assert [one.subtask.chain for one in checkpoints.due(0)] == [0, 1]


def test_the_snapshots_of_an_aborted_checkpoint_are_neither_copied_nor_written() -> None:
    checkpoints = SlotCheckpoints(2)
    waiting, gathering, later = Handle(), Handle(units=5), Handle()
    checkpoints.add(local(1, 0, waiting))
    run_async_phase(checkpoints)
    checkpoints.add(local(1, 1, gathering))
    checkpoints.abort(CheckpointId(1))
    checkpoints.add(local(2, 0, later))
    checkpoints.add(local(2, 1))
    run_async_phase(checkpoints)

    assert [one.checkpoint for one in checkpoints.due(0)] == [2, 2]
    assert (waiting.discarded, gathering.discarded, later.discarded) == (True, True, False)


def test_snapshots_of_an_aborted_checkpoint_do_not_count_for_the_next_checkpoint() -> None:
    checkpoints = SlotCheckpoints(2)
    checkpoints.add(local(1, 0, Handle()))
    checkpoints.abort(CheckpointId(1))
    checkpoints.add(local(2, 0, Handle()))
    run_async_phase(checkpoints)
    assert checkpoints.due(0) == []


def test_all_snapshots_are_discarded_when_the_deployment_ends() -> None:
    checkpoints = SlotCheckpoints(3)
    waiting, gathering = Handle(), Handle(units=5)
    checkpoints.add(local(1, 0, waiting))
    run_async_phase(checkpoints)
    checkpoints.add(local(1, 1, gathering))
    checkpoints.discard_all()

    assert waiting.discarded and gathering.discarded
    assert checkpoints.gathering is None and checkpoints.wake_at_ns() is None


def test_a_snapshot_runs_no_copy_step_after_a_failed_copy_step() -> None:
    checkpoints = SlotCheckpoints(1)
    checkpoints.add(local(1, 0, Handle(fails=True)))
    with pytest.raises(ValueError, match="no such row"):
        checkpoints.gather(cast("SlotEnvironment", Clock()))
    assert not checkpoints.gather(cast("SlotEnvironment", Clock()))


def test_the_start_delay_is_the_time_from_the_trigger_to_the_start_of_alignment() -> None:
    checkpoints = SlotCheckpoints(subtasks=3)
    checkpoints.triggered(CheckpointId(1), 2_000_000)
    found = []
    for chain, (began_ns, alignment_ns) in enumerate([(2_500_000, 0), (9_000_000, 3_000_000), (1_900_000, 0)]):
        one = replace(local(1, chain, Handle()), began_ns=began_ns, alignment_ns=alignment_ns)
        checkpoints.add(one)
        found.append(one.start_delay_ns)
    assert found == [500_000, 4_000_000, 0], (
        "the delay of chain 2 is 0, because its barrier arrived before the slot received the trigger"
    )
    untriggered = local(2, 0, Handle())
    checkpoints.add(untriggered)
    assert untriggered.start_delay_ns == 0


def test_snapshot_durations_distinguish_work_from_waiting_for_a_core() -> None:
    one = local(1, 0, Handle(units=2))
    ports = cast("SlotEnvironment", Clock())
    while not one.advance(ports):
        pass
    one.written_ns = one.began_ns + 10_000_000
    statistics = one.snapshot(()).statistics

    assert statistics.async_ms == 10.0
    assert (statistics.sync_us, statistics.sync_cpu_us, statistics.sync_core_wait_us) == (3_000, 1_000, 2_000)
    assert (statistics.longest_batch_ms, statistics.longest_batch_core_wait_ms) == (1.0, 0.5)
