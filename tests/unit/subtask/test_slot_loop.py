"""The loop of a slot."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
from slot_cases import MIB, SOURCE, Bench, Collecting, ListSource, RoundRobin, Rows, control_event, data

from weir.errors import InputError, Retry, StorageError, UserCodeError
from weir.graph.compile import compile_graph
from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.operators.base import BUFFER_ROWS_ENOUGH, Batch, SplitBatch, Step
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.messages import (
    Acknowledge,
    AssignSplit,
    Cancelled,
    CancelSubtasks,
    Decline,
    Deployed,
    NotifyCheckpointAborted,
    RequestSplit,
    Start,
    SubtaskEnded,
    SubtaskFailed,
    TriggerCheckpoint,
)
from weir.protocol.snapshots import Split
from weir.subtask.channels import CREDIT_PARTS, WINDOW_BYTES, InputChannel, Outputs
from weir.subtask.slot import ALIGNING_FLUSH_AGE_NS, SlotRuntime
from weir.subtask.subtask import LOOK_AHEAD_NS_MAX

ONE = Generation(1)
FROM_PEER = ChannelId(0, 1, 0)
TO_PEER = ChannelId(0, 0, 1)


def bench_with_split(bench: Bench) -> Bench:
    """Run turns and assign the only split to the source."""
    bench.turns()
    bench.runtime.on_control(AssignSplit(ONE, SOURCE, 0, Split("all", None), CheckpointId(1)))
    return bench


def test_a_slot_reports_its_deployment_and_waits_for_the_start_message() -> None:
    bench = Bench(ListSource([Rows(1)]), Collecting()).deploy(started=False)
    bench.turns()
    assert bench.messages(Deployed) == [Deployed(ONE)]
    assert not bench.messages(RequestSplit)
    bench.runtime.on_control(Start(ONE))
    bench.turns()
    assert len(bench.messages(RequestSplit)) == 1, "the split is requested only once"


class Pipelines:
    """A slot with ``count`` pipelines, each with a source that always has input, a shuffle and a sink."""

    def __init__(self, count: int) -> None:
        self.sources = [ListSource([Rows(number) for number in range(500)]) for _ in range(count)]
        self.sinks = [Collecting() for _ in range(count)]
        columns = (Column("key", "int64"),)
        inputs = [Input(OperatorUid(f"in{n}"), Partitioning.HASH, ("key",)) for n in range(count)]
        operators: list[LogicalOperator] = []
        for n, one in enumerate(inputs):
            operators.append(LogicalOperator(one.operator, "in", OperatorKind.SOURCE, (), columns, ""))
            operators.append(LogicalOperator(OperatorUid(f"out{n}"), "out", OperatorKind.SINK, (one,), columns, ""))
        self.bench = Bench(ListSource([]), Collecting())
        self.bench.graph = compile_graph(LogicalGraph("job", tuple(operators)), slots=1)
        self.bench._parts = {OperatorUid(f"in{n}"): source for n, source in enumerate(self.sources)}
        self.bench._parts |= {OperatorUid(f"out{n}"): sink for n, sink in enumerate(self.sinks)}
        self.bench.deploy()
        self.bench.turns()
        for n in range(count):
            self.bench.runtime.on_control(AssignSplit(ONE, OperatorUid(f"in{n}"), 0, Split("all", None), CheckpointId(1)))


def test_sources_of_a_slot_take_turns() -> None:
    """A source that always has input must not keep the other sources from reading."""
    pipelines = Pipelines(3)
    pipelines.bench.turns(60)
    left = [len(source.batches) for source in pipelines.sources]
    assert max(left) - min(left) <= 1 and max(left) < 495


def test_a_source_does_not_keep_the_sink_of_another_pipeline_from_running() -> None:
    pipelines = Pipelines(3)
    pipelines.bench.turns(60)
    arrived = [len(sink.arrived) for sink in pipelines.sinks]
    assert max(arrived) - min(arrived) <= 1 and min(arrived) > 5


def test_a_busy_slot_does_not_scan_all_subtasks_before_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    pipelines = Pipelines(20)
    bench = pipelines.bench

    def monotonic_ns() -> int:
        bench.now_ns += 1_000
        return bench.now_ns

    monkeypatch.setattr(bench, "monotonic_ns", monotonic_ns)
    scans: list[int] = []
    scan = SlotRuntime._scan
    monkeypatch.setattr(SlotRuntime, "_scan", lambda self, *args: scans.append(1) or scan(self, *args))
    assert bench.turns(200) == 200
    arrived = [len(sink.arrived) for sink in pipelines.sinks]
    assert len(scans) < 100 and max(arrived) - min(arrived) <= 1 and min(arrived) > 2


@pytest.mark.parametrize("restored", [None, CheckpointId(5)])
def test_an_operator_knows_the_checkpoint_from_which_it_was_restored(restored: CheckpointId | None) -> None:
    source = ListSource([])
    Bench(source, Collecting()).deploy(restored=restored)
    assert source.context.restored_checkpoint == restored


def test_the_end_of_input_follows_the_last_record_through_a_chain() -> None:
    keyed = Collecting()
    bench = bench_with_split(Bench(ListSource([Rows(1, 2), Rows(3)]), keyed).deploy())
    bench.turns()
    bench.runtime.on_control(AssignSplit(ONE, SOURCE, 0, None, CheckpointId(1)))
    bench.turns()
    assert keyed.arrived == [1, 2, 3]
    assert keyed.ended
    assert [ended.subtask for ended in bench.messages(SubtaskEnded)] == [SubtaskId(0, 0), SubtaskId(1, 0)]


def test_a_source_that_waits_for_a_split_is_idle_and_takes_part_in_checkpoints() -> None:
    keyed = Collecting()
    bench = Bench(ListSource([Rows(1)]), keyed).deploy()
    bench.turns()
    assert bench.runtime.wake_at_ns() is None, "the loop does not poll"
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    work, done = bench.background_work.pop()
    done(work(), None)
    assert {message.checkpoint for message in bench.messages(Acknowledge)} == {1}
    bench.runtime.on_control(AssignSplit(ONE, SOURCE, 0, Split("all", None), CheckpointId(2)))
    bench.turns()
    assert keyed.arrived == [1]
    assert len(bench.messages(RequestSplit)) == 2, "one request for each split"


def test_downstream_subtasks_run_before_the_source_in_each_turn() -> None:
    keyed = Collecting()
    bench = bench_with_split(Bench(ListSource([Rows(number) for number in range(5)]), keyed).deploy())
    source = bench.runtime._program._parts[SOURCE]  # type: ignore[attr-defined]  # ``Bench`` is the program
    lag = 0
    while bench.turns(1):
        lag = max(lag, 5 - len(source.batches) - len(keyed.arrived))
    assert keyed.arrived == [0, 1, 2, 3, 4]
    assert lag <= 1


def test_after_a_trigger_the_source_takes_a_snapshot_and_sends_a_barrier_behind_its_data() -> None:
    keyed = Collecting()
    bench = bench_with_split(Bench(ListSource([Rows(1), Rows(2)]), keyed).deploy())
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    assert keyed.snapshots == [1]
    assert not bench.messages(Acknowledge), "one message acknowledges all snapshots, after they are written"
    work, done = bench.background_work.pop()
    done(work(), None)
    (acknowledged,) = bench.messages(Acknowledge)
    assert [one.chain for one in acknowledged.snapshots] == [0, 1]
    assert [split.id for split in acknowledged.snapshots[0].operators[0].splits] == ["all"]


def test_a_trigger_is_handled_before_batches_that_wait_for_a_downstream_subtask() -> None:
    keyed = Collecting()
    bench = Bench(ListSource([]), keyed, slots=2).deploy()
    bench.turns()
    for sequence in range(3):
        bench.runtime.on_frame(data(FROM_PEER, sequence, Rows(sequence)))
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns(1)
    assert [frame.kind for slot, frame in bench.frames if slot == 1] == [FrameKind.BARRIER]
    assert keyed.arrived == []
    bench.turns()
    assert keyed.arrived == [0, 1, 2]


def test_a_failed_background_write_declines_the_checkpoint_without_failing_the_subtask() -> None:
    keyed = Collecting()
    bench = bench_with_split(Bench(ListSource([Rows(1)]), keyed).deploy())
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    bench.background_work.pop()[1](None, StorageError("disk full"))
    (declined,) = bench.messages(Decline)
    assert (declined.subtask, declined.reason) == (SubtaskId(1, 0), "StorageError: disk full")
    assert not bench.messages(SubtaskFailed)


def test_data_behind_a_barrier_waits_for_the_barriers_of_all_channels() -> None:
    keyed = Collecting()
    bench = Bench(ListSource([]), keyed, slots=2).deploy()
    for frame in (
        data(FROM_PEER, 0, Rows("before")),
        control_event(FrameKind.BARRIER, FROM_PEER, 1, 1),
        data(FROM_PEER, 1, Rows("after")),
    ):
        bench.runtime.on_frame(frame)
    bench.turns()
    assert keyed.arrived == ["before"]
    assert keyed.snapshots == []
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    assert keyed.snapshots == [1]
    assert keyed.arrived == ["before", "after"]


@pytest.mark.parametrize(("slots", "naps"), [(2, False), (16, True)])
@pytest.mark.parametrize("buffer_ms", [80, 10_000])
def test_a_slot_of_a_large_job_collects_barriers_while_it_aligns(slots: int, naps: bool, buffer_ms: float) -> None:
    bench = Bench(ListSource([]), Collecting(), slots=slots, buffer_ms=buffer_ms).deploy()
    bench.turns()
    assert bench.runtime.nap_ns(worked=True) == 0
    bench.runtime.on_frame(control_event(FrameKind.BARRIER, FROM_PEER, 0, 1))
    bench.turns()
    assert bench.runtime.nap_ns(worked=True) == (5_000_000 if naps else 0)


def test_the_work_for_the_barriers_of_a_checkpoint_grows_linearly_with_the_number_of_channels() -> None:
    slots, checked = 64, 0
    bench = Bench(ListSource([]), Collecting(), slots=slots).deploy()
    for slot in range(1, slots):
        channel = ChannelId(FROM_PEER.edge, slot, FROM_PEER.target)
        bench.runtime.on_frame(control_event(FrameKind.BARRIER, channel, 0, 1))
    head = InputChannel.head.fget  # type: ignore[attr-defined]  # the function of the property

    def count(self: InputChannel) -> Frame | None:
        nonlocal checked
        checked += 1
        return head(self)  # type: ignore[no-any-return]  # see above

    with patch.object(InputChannel, "head", property(count)):
        bench.turns()
    assert checked < 8 * slots


def test_batches_behind_a_control_event_wait_until_the_outputs_have_room() -> None:
    keyed = Collecting(lambda batch: iter((batch,)))
    bench = Bench(ListSource([]), keyed, slots=2).deploy()
    outputs = Outgoing()
    outputs.batches = [("full",)]
    assert bench.runtime._deployment is not None
    runtime = next(one for one in bench.runtime._deployment.subtasks if one.subtask.chain == 1)
    runtime.outputs = outputs  # type: ignore[assignment]  # has the methods that a step uses
    for frame in (
        control_event(FrameKind.IDLE, FROM_PEER, 0),
        data(FROM_PEER, 0, Rows("a")),
    ):
        bench.runtime.on_frame(frame)
    bench.turns()
    assert keyed.arrived == [] and outputs.batches == [("full",)]
    outputs.batches = []
    bench.turns()
    assert outputs.batches == [("a",)]


class Batches(Collecting):
    """A ``Collecting`` operator that also records the rows of each batch."""

    def __init__(self) -> None:
        super().__init__(self._note)
        self.batches: list[tuple[object, ...]] = []

    def _note(self, batch: Batch) -> Step:
        self.batches.append(batch.rows)
        return iter(())


def test_small_batches_that_are_waiting_in_a_channel_are_joined_into_one_batch() -> None:
    keyed = Batches()
    bench = Bench(ListSource([]), keyed, slots=2, batch_rows=4).deploy()
    for sequence, rows in {0: ("a",), 1: ("b", "c"), 3: ("d", "e"), 5: ("f", "g", "h"), 8: ("i",)}.items():
        bench.runtime.on_frame(data(FROM_PEER, sequence, Rows(*rows)))
    bench.turns()
    # The limit is four rows. The first two batches have three rows in total, so the third batch does not fit. The batch of three
    # rows exceeds half of the limit, so it is not joined.
    assert keyed.batches == [("a", "b", "c"), ("d", "e"), ("f", "g", "h"), ("i",)]


def test_the_credit_of_joined_batches_is_returned() -> None:
    bench = Bench(ListSource([]), Batches(), slots=2).deploy()
    for sequence in range(3):
        bench.runtime.on_frame(data(FROM_PEER, sequence, Rows(sequence, nbytes=MIB)))
    bench.turns()
    credits = [frame.argument for slot, frame in bench.frames if slot == 1 and frame.kind is FrameKind.CREDIT]
    assert sum(credits) == 3 * MIB


def test_batches_are_processed_separately_if_they_cannot_be_joined() -> None:
    keyed = Batches()
    bench = Bench(ListSource([]), keyed, slots=2)
    bench.joins = False
    bench.deploy()
    for sequence in range(3):
        bench.runtime.on_frame(data(FROM_PEER, sequence, Rows(sequence)))
    bench.turns()
    assert keyed.batches == [(0,), (1,), (2,)]


def test_no_batch_is_joined_across_a_barrier() -> None:
    keyed = Batches()
    bench = bench_with_split(Bench(ListSource([Rows("own")]), keyed, slots=2).deploy())
    for frame in (
        data(FROM_PEER, 0, Rows("before")),
        control_event(FrameKind.BARRIER, FROM_PEER, 1, 1),
        data(FROM_PEER, 1, Rows("after")),
        data(FROM_PEER, 2, Rows("later")),
    ):
        bench.runtime.on_frame(frame)
    bench.turns()
    assert not any({"before", "after"} <= set(batch) for batch in keyed.batches)
    assert "after" not in keyed.arrived
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    assert keyed.snapshots == [1]
    assert keyed.batches[-1] == ("after", "later")


class HoldingPartitioner(RoundRobin):
    """A partitioner that keeps all batches until ``flush``, and then sends them to the peer."""

    def __init__(self) -> None:
        super().__init__(2)
        self._held: list[Batch] = []

    @property
    def pending_rows(self) -> int:  # type: ignore[override]  # the base class has a constant
        return sum(batch.num_rows for batch in self._held)

    def add(self, batch: Batch) -> list[tuple[int, Batch]]:
        self._held.append(batch)
        return []

    def flush(self) -> list[tuple[int, Batch]]:
        held, self._held = self._held, []
        return [(1, batch) for batch in held]


class Outgoing:
    """Outputs with room for one batch, or for all batches if ``room`` is True."""

    pending_since_ns = None

    def __init__(self, *, room: bool = False) -> None:
        self.batches: list[tuple[object, ...]] = []
        self.room = room

    def has_room(self) -> bool:
        return self.room or not self.batches

    def full_channels(self) -> tuple[()]:
        return ()

    def add(self, batch: Batch, now_ns: int) -> None:
        self.batches.append(batch.rows)


def sent(bench: Bench) -> list[FrameKind]:
    return [frame.kind for slot, frame in bench.frames if slot == 1 and frame.channel == TO_PEER]


def bench_holding_rows(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(ListSource([Rows("held")]), Collecting(), slots=2)
    monkeypatch.setattr(bench, "partitioner", lambda *_: HoldingPartitioner())
    return bench_with_split(bench.deploy())


def test_a_slot_without_work_flushes_its_partitioners_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_holding_rows(monkeypatch)
    bench.turns()
    assert sent(bench) == [FrameKind.DATA]


def test_an_aligning_slot_flushes_its_partitioners_after_a_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_holding_rows(monkeypatch)
    bench.runtime.on_frame(control_event(FrameKind.BARRIER, FROM_PEER, 0, 1))
    bench.turns()
    assert sent(bench) == []
    wake_at_ns = bench.runtime.wake_at_ns()
    assert wake_at_ns is not None and bench.now_ns < wake_at_ns <= bench.now_ns + ALIGNING_FLUSH_AGE_NS
    bench.now_ns = wake_at_ns - 1_000  # a turn of ``Bench`` takes 1 µs
    assert bench.turns() == 1
    assert sent(bench) == [FrameKind.DATA]


def test_an_aligning_slot_with_a_buffer_timeout_does_not_delay_the_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(ListSource([Rows("held")]), Collecting(), slots=2, buffer_ms=20)
    monkeypatch.setattr(bench, "partitioner", lambda *_: HoldingPartitioner())
    bench_with_split(bench.deploy())
    bench.runtime.on_frame(control_event(FrameKind.BARRIER, FROM_PEER, 0, 1))
    bench.turns()
    assert sent(bench) == [FrameKind.DATA]


MS = 1_000_000
LOCAL = ChannelId(0, 0, 0)


class Rounds:
    """A slot with one channel from a peer and one from its own source. Both channels have just delivered a batch."""

    def __init__(self) -> None:
        self.keyed = Batches()
        self.bench = Bench(ListSource([]), self.keyed, slots=2, buffer_ms=20).deploy()
        self._sequences = {FROM_PEER: 0, LOCAL: 0}
        self.arrive(FROM_PEER, "first")
        self.arrive(LOCAL, "first")
        self.bench.now_ns += 20 * MS
        self.bench.turns()
        self.keyed.batches.clear()

    def arrive(self, channel: ChannelId, *rows: object, nbytes: int = 8) -> None:
        frame = data(channel, self._sequences[channel], Rows(*rows, nbytes=nbytes))
        self._sequences[channel] += len(rows)
        deployment = self.bench.runtime._deployment
        assert deployment is not None
        deployment.inputs[channel].push(frame)
        self.bench.turns()

    def barrier(self, channel: ChannelId) -> None:
        self.bench.runtime.on_frame(control_event(FrameKind.BARRIER, channel, self._sequences[channel], 1))
        self.bench.turns()


def test_a_small_batch_waits_for_the_channels_that_have_delivered_a_batch_lately() -> None:
    rounds = Rounds()
    rounds.arrive(FROM_PEER, "a")
    assert rounds.keyed.batches == []
    rounds.arrive(LOCAL, "b")
    assert [set(batch) for batch in rounds.keyed.batches] == [{"a", "b"}]


def test_a_small_batch_waits_at_most_for_the_buffer_timeout() -> None:
    rounds = Rounds()
    arrived_ns = rounds.bench.now_ns
    rounds.arrive(FROM_PEER, "a")
    wake_at_ns = rounds.bench.runtime.wake_at_ns()
    assert wake_at_ns is not None and arrived_ns + 20 * MS <= wake_at_ns <= arrived_ns + 20 * MS + 10_000
    rounds.bench.now_ns = wake_at_ns - 2_000
    rounds.bench.turns()
    assert rounds.keyed.batches == []
    rounds.bench.now_ns = wake_at_ns
    rounds.bench.turns()
    assert rounds.keyed.batches == [("a",)]


def test_a_batch_does_not_wait_for_a_channel_that_has_delivered_nothing_lately() -> None:
    rounds = Rounds()
    rounds.bench.now_ns += 40 * MS
    rounds.arrive(FROM_PEER, "a")
    assert rounds.keyed.batches == [("a",)]


def test_a_batch_with_enough_rows_does_not_wait() -> None:
    rounds = Rounds()
    rounds.arrive(FROM_PEER, *range(BUFFER_ROWS_ENOUGH))
    assert len(rounds.keyed.batches) == 1


def test_a_batch_that_takes_much_of_the_credit_of_its_channel_does_not_wait() -> None:
    rounds = Rounds()
    rounds.arrive(FROM_PEER, "a", nbytes=WINDOW_BYTES // CREDIT_PARTS)
    assert rounds.keyed.batches == [("a",)]


def test_a_batch_in_front_of_a_barrier_waits_for_the_batch_or_the_barrier_of_the_other_channel() -> None:
    rounds = Rounds()
    rounds.arrive(FROM_PEER, "a")
    rounds.barrier(FROM_PEER)
    assert rounds.keyed.batches == []
    rounds.barrier(LOCAL)
    assert rounds.keyed.batches == [("a",)]
    assert rounds.keyed.snapshots == [1]


def test_a_batch_does_not_wait_for_a_channel_that_has_delivered_its_barrier() -> None:
    rounds = Rounds()
    rounds.barrier(FROM_PEER)
    rounds.arrive(LOCAL, "b")
    assert rounds.keyed.batches == [("b",)]


def test_rows_that_follow_a_flush_wait_for_the_buffer_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ListSource([])
    bench = Bench(source, Collecting(), slots=2, buffer_ms=20)
    monkeypatch.setattr(bench, "partitioner", lambda *_: HoldingPartitioner())
    bench_with_split(bench.deploy())

    def emit(*batches: Rows) -> None:
        source.batches += batches
        bench.now_ns += MS  # the time of the next poll
        bench.turns()

    emit(Rows(1), Rows(2))
    assert [frame.batch.rows for _, frame in bench.frames if frame.batch] == [(1,), (2,)], "the first rows are sent at once"  # type: ignore[attr-defined]
    bench.frames.clear()
    source.splits = [Split("all", None)]
    emit(Rows(3), Rows(4))
    assert bench.frames == []
    wake_at_ns = bench.runtime.wake_at_ns()
    assert wake_at_ns is not None and bench.now_ns < wake_at_ns <= bench.now_ns + 15 * MS
    bench.now_ns = wake_at_ns
    bench.turns()
    assert [frame.batch.rows for _, frame in bench.frames] == [(3,), (4,)]  # type: ignore[attr-defined]  # ``Rows``


def test_a_barrier_sends_the_rows_that_wait_in_a_buffer_first(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ListSource([Rows(1)])
    bench = Bench(source, Collecting(), slots=2, buffer_ms=20)
    monkeypatch.setattr(bench, "partitioner", lambda *_: HoldingPartitioner())
    bench_with_split(bench.deploy())
    bench.turns()
    source.batches, source.splits = [Rows(2)], [Split("all", None)]
    bench.now_ns += MS
    bench.turns()
    assert sent(bench) == [FrameKind.DATA]
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    assert sent(bench) == [FrameKind.DATA, FrameKind.DATA, FrameKind.BARRIER]


def test_a_slot_fails_if_a_frame_is_missing_between_two_batches_that_it_could_join() -> None:
    bench = Bench(ListSource([]), Batches(), slots=2).deploy()
    for sequence in (0, 2):
        bench.runtime.on_frame(data(FROM_PEER, sequence, Rows(sequence)))
    bench.turns()
    (failed,) = bench.messages(SubtaskFailed)
    assert "expected 1" in failed.reason


def test_the_abort_of_a_checkpoint_unblocks_the_data_behind_its_barrier() -> None:
    keyed = Collecting()
    bench = Bench(ListSource([]), keyed, slots=2).deploy()
    for frame in (control_event(FrameKind.BARRIER, FROM_PEER, 0, 1), data(FROM_PEER, 0, Rows("after"))):
        bench.runtime.on_frame(frame)
    bench.turns()
    assert keyed.arrived == []
    bench.runtime.on_control(NotifyCheckpointAborted(ONE, CheckpointId(1)))
    bench.turns()
    assert keyed.arrived == ["after"]
    assert keyed.snapshots == []


def test_a_source_is_not_polled_while_its_outputs_have_no_room() -> None:
    big = [Rows(number, nbytes=3 * MIB) for number in range(8)]
    bench = bench_with_split(Bench(ListSource(big), Collecting(), slots=2).deploy())
    bench.turns()
    to_peer = [frame for slot, frame in bench.frames if slot == 1 and frame.kind is FrameKind.DATA]
    assert len(to_peer) == 1
    assert bench.runtime.wake_at_ns() is None, "the loop would busy-wait if the wake-up time were in the past"
    account = bench.runtime._deployment.subtasks[-1].account  # type: ignore[union-attr]  # it was deployed above
    before = account.backpressured_ns
    bench.now_ns += 50_000
    bench.runtime.turn()
    assert account.backpressured_ns - before == 50_000
    for frame in to_peer:
        bench.runtime.on_frame(control_event(FrameKind.CREDIT, TO_PEER, 0, frame.bytes_held))
    assert bench.turns() > 0


def test_a_subtask_is_busy_during_a_blocking_call_and_backpressured_while_its_output_is_full() -> None:
    waiting = [True]

    def work(batch: Batch) -> Step:
        while waiting[0]:
            yield None

    bench = bench_with_split(Bench(ListSource([Rows(number, nbytes=5 * MIB) for number in range(3)]), Collecting(work)).deploy())
    bench.turns()
    consumer, source = bench.runtime._deployment.subtasks  # type: ignore[union-attr]  # it was deployed above
    backpressured, busy = source.account.backpressured_ns, consumer.account.busy_ns
    # The loop polls the blocking call after 1 ms, so it polls the call only in the second turn.
    for passed_ns in (100_000, 2_000_000):
        bench.now_ns += passed_ns
        bench.runtime.turn()
    assert source.account.backpressured_ns - backpressured == 2_100_000
    assert consumer.account.busy_ns - busy == 2_100_000
    assert seconds(source.account.queued_ns * 1_000) == seconds(consumer.account.queued_ns * 1_000) == 0
    for runtime in (consumer, source):
        account = runtime.account
        total = account.busy_ns + account.idle_ns + account.backpressured_ns + account.queued_ns
        assert total == account._settled_ns


def seconds(ns: int) -> int:
    """Round to whole seconds, because the clock of ``Bench`` advances 1 µs per turn."""
    return round(ns / 1_000_000_000)


def test_each_subtask_keeps_its_last_activity_while_the_loop_sleeps() -> None:
    bench = Bench(ListSource([Rows(1)]), Collecting()).deploy()
    bench.turns()
    consumer, source = bench.runtime._deployment.subtasks  # type: ignore[union-attr]  # it was deployed above
    bench.now_ns += 5_000_000_000
    bench.runtime.on_control(AssignSplit(ONE, SOURCE, 0, Split("all", None), CheckpointId(1)))
    bench.turns()
    assert seconds(source.account.idle_ns) == seconds(consumer.account.idle_ns) == 5
    assert seconds(source.account.queued_ns) == seconds(consumer.account.queued_ns) == 0


def test_a_subtask_that_could_run_is_queued_while_another_subtask_runs() -> None:
    def work(batch: Batch) -> Step:
        bench.now_ns += 1_000_000_000
        yield from ()

    bench = bench_with_split(Bench(ListSource([Rows(1), Rows(2)]), Collecting(work)).deploy())
    bench.turns()
    consumer, source = bench.runtime._deployment.subtasks  # type: ignore[union-attr]  # it was deployed above
    assert seconds(consumer.account.busy_ns) == 2
    assert seconds(source.account.queued_ns) == 1
    assert seconds(source.account.idle_ns) == 1, "during the second step, the source has no batch left"


def test_the_loop_polls_a_blocking_call_again_after_a_millisecond() -> None:
    pulls: list[int] = []

    def work(batch: Batch) -> Step:
        for number in range(3):
            pulls.append(number)
            yield None

    bench = bench_with_split(Bench(ListSource([Rows(1)]), Collecting(work)).deploy())
    bench.turns()
    assert pulls == [0]
    wake_at_ns = bench.runtime.wake_at_ns()
    assert wake_at_ns is not None
    assert 0 < wake_at_ns - bench.now_ns <= 1_000_000
    bench.now_ns = wake_at_ns
    bench.turns()
    assert pulls == [0, 1]


def test_a_checkpoint_trigger_after_the_last_batch_of_a_step_does_not_wait_for_room() -> None:
    bench = bench_with_split(
        Bench(ListSource([Rows("here"), Rows("there", nbytes=5 * MIB), Rows("later")]), Collecting(), slots=2).deploy()
    )
    bench.turns()
    assert sent(bench) == [FrameKind.DATA], "the channel to the peer is full"
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    assert sent(bench) == [FrameKind.DATA, FrameKind.BARRIER]


def test_a_step_that_produces_several_batches_waits_for_room_before_each_batch() -> None:
    keyed = Collecting(lambda batch: iter([Rows(row) for row in batch.rows]))
    outputs = Outgoing()
    bench = bench_with_split(Bench(ListSource([Rows(1, 2, 3)]), keyed).deploy())
    runtime = bench.runtime._deployment.subtasks[0]  # type: ignore[union-attr]  # it was deployed above
    runtime.outputs = outputs  # type: ignore[assignment]  # has the methods that a step uses
    bench.turns()
    assert outputs.batches == [(1,)]
    outputs.room = True
    bench.turns(2)
    assert outputs.batches == [(1,), (2,), (3,)]


def test_a_slow_step_produces_only_one_batch_per_turn() -> None:
    produced = []

    def slow(batch: Batch) -> Step:
        for row in batch.rows:
            bench.now_ns += LOOK_AHEAD_NS_MAX + 1
            produced.append(row)
            yield Rows(row)

    bench = bench_with_split(Bench(ListSource([Rows(1, 2, 3)]), Collecting(slow)).deploy())
    bench.runtime._deployment.subtasks[0].outputs = Outgoing(room=True)  # type: ignore[union-attr, assignment]  # deployed above
    while not produced:
        bench.turns(1)
    assert produced == [1]
    bench.turns()
    assert produced == [1, 2, 3]


def test_a_subtask_takes_no_snapshot_in_the_middle_of_a_step() -> None:
    waiting = [True]

    def work(batch: Batch) -> Step:
        while waiting[0]:
            yield None

    keyed = Collecting(work)
    bench = bench_with_split(Bench(ListSource([Rows(1)]), keyed).deploy())
    bench.turns()
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    assert keyed.snapshots == []
    waiting[0] = False
    bench.now_ns += 2_000_000
    bench.turns()
    assert keyed.snapshots == [1]


@pytest.mark.parametrize(
    ("error", "kind", "restartable"),
    [
        (lambda: UserCodeError("division by zero in score"), "UserCodeError", False),
        (lambda: InputError("line 3 is not JSON"), "InputError", False),
        (lambda: StorageError("no answer"), "StorageError", True),
        (lambda: RuntimeError("a bug"), "RuntimeError", True),
    ],
)
def test_an_operator_that_raises_fails_its_subtask_and_stops_the_slot(
    error: Callable[[], Exception], kind: str, restartable: bool
) -> None:
    def work(batch: Batch) -> Step:
        raise error()

    bench = bench_with_split(Bench(ListSource([Rows(1), Rows(2)]), Collecting(work)).deploy())
    bench.turns()
    (failed,) = bench.messages(SubtaskFailed)
    assert (failed.generation, failed.subtask, failed.kind, failed.restartable) == (1, SubtaskId(1, 0), kind, restartable)
    assert str(error()) in failed.reason
    assert not bench.runtime.turn()


@pytest.mark.parametrize(("retry", "restartable"), [(Retry.NEVER, False), (Retry.BACKOFF, True)])
def test_the_report_of_an_input_error_names_the_source(retry: Retry, restartable: bool) -> None:
    class Unreadable(ListSource):
        def poll(self) -> SplitBatch | None:
            raise InputError("the disk did not answer", retry=retry)

    bench = bench_with_split(Bench(Unreadable([Rows(1)]), Collecting()).deploy())
    bench.turns()
    (failed,) = bench.messages(SubtaskFailed)
    assert failed.reason == "Source 'source': the disk did not answer"
    assert failed.restartable is restartable


def test_the_report_of_a_user_code_error_names_the_place_in_the_input() -> None:
    def parse(batch: Batch) -> Step:
        yield batch
        if batch.rows == ("bad",):
            raise UserCodeError("map 'parse': parse raised ValueError")

    source = ListSource([Rows("good"), Rows("bad"), Rows("good")])
    bench = bench_with_split(Bench(source, Collecting(), chained=Collecting(parse)).deploy())
    bench.turns()
    (failed,) = bench.messages(SubtaskFailed)
    assert (failed.kind, failed.restartable) == ("UserCodeError", False)
    assert failed.reason == (
        "map 'parse': parse raised ValueError. The record is in the batch of source 'source' that begins at all, with 2 batches left"
    )


def test_a_slot_fails_if_a_data_connection_is_lost() -> None:
    bench = Bench(ListSource([]), Collecting(), slots=2).deploy()
    bench.runtime.on_peer_lost(1, "connection reset")
    (failed,) = bench.messages(SubtaskFailed)
    assert (failed.kind, failed.restartable) == ("SlotError", True)
    assert "slot 1" in failed.reason


def test_a_slot_fails_if_a_frame_is_missing() -> None:
    bench = Bench(ListSource([]), Collecting(), slots=2).deploy()
    bench.runtime.on_frame(data(FROM_PEER, 1, Rows("second")))
    bench.turns()
    (failed,) = bench.messages(SubtaskFailed)
    assert failed.kind == "ProtocolError"


def test_frames_and_messages_of_another_generation_have_no_effect() -> None:
    keyed = Collecting()
    bench = Bench(ListSource([]), keyed, slots=2).deploy(generation=2)
    bench.runtime.on_frame(data(FROM_PEER, 0, Rows("old"), generation=1))
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    assert keyed.arrived == []
    assert not bench.messages(Acknowledge)


def test_a_deploy_message_that_arrives_after_the_cancel_of_its_generation_has_no_effect() -> None:
    bench = Bench(ListSource([]), Collecting())
    bench.runtime.on_control(CancelSubtasks(Generation(3)))
    assert bench.messages(Cancelled) == [Cancelled(Generation(3))]
    bench.deploy(generation=3)
    assert bench.runtime.generation is None
    bench.deploy(generation=4)
    assert bench.runtime.generation == 4


def test_a_cancelled_attempt_is_deployed_again_with_the_next_attempt_of_its_generation() -> None:
    bench = Bench(ListSource([]), Collecting()).deploy(generation=3)
    bench.runtime.on_control(CancelSubtasks(Generation(3), 0))
    assert bench.messages(Cancelled) == [Cancelled(Generation(3))]
    bench.deploy(generation=3)
    assert bench.runtime.generation is None
    bench.deploy(generation=3, attempt=1)
    assert bench.runtime.generation == 3


def test_a_source_that_is_restored_as_ended_requests_no_split() -> None:
    keyed = Collecting()
    ended = (SubtaskId(0, 0), SubtaskId(1, 0))
    bench = Bench(ListSource([Rows(1)]), keyed).deploy(ended=ended)
    bench.turns()
    assert not bench.messages(RequestSplit)
    assert [message.subtask for message in bench.messages(SubtaskEnded)] == list(ended)
    assert not keyed.ended, "``on_end_of_input`` ran before the snapshot was taken, so it must not run again"


def test_a_subtask_that_is_restored_as_ended_records_its_end_in_its_next_snapshot() -> None:
    ended = (SubtaskId(0, 0), SubtaskId(1, 0))
    bench = Bench(ListSource([Rows(1)]), Collecting()).deploy(ended=ended)
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    work, done = bench.background_work.pop()
    done(work(), None)
    snapshots = [taken for message in bench.messages(Acknowledge) for taken in message.snapshots]
    assert [(one.chain, one.ended) for one in snapshots] == [(0, True), (1, True)]


class PacedSource(ListSource):
    """A source that has no batch at its first poll, and asks for the next poll after ``wait_ms``."""

    def __init__(self, wait_ms: int) -> None:
        super().__init__([Rows("late")])
        self._wait_ms = wait_ms
        self._polled = False

    def poll(self) -> SplitBatch | None:
        if self._polled:
            return super().poll()
        self._polled = True
        return None

    def next_poll_after_ns(self) -> int:
        return self._wait_ms * MS


def paced_bench(wait_ms: int) -> Bench:
    """Return a slot whose buffer timeout is 20 ms, and whose source has just been polled without a result."""
    bench = bench_with_split(Bench(PacedSource(wait_ms), Collecting(), slots=2, buffer_ms=20).deploy())
    bench.turns()
    bench.frames.clear()
    return bench


def trigger(bench: Bench) -> list[FrameKind]:
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.turns()
    return [frame.kind for _, frame in bench.frames]


def test_a_trigger_waits_for_the_next_batch_of_the_source() -> None:
    bench = paced_bench(wait_ms=15)
    assert trigger(bench) == []
    wake_at_ns = bench.runtime.wake_at_ns()
    assert wake_at_ns is not None and bench.now_ns < wake_at_ns <= bench.now_ns + 15 * MS
    bench.now_ns = wake_at_ns
    bench.turns()
    assert bench.runtime._deployment is not None
    source = bench.runtime._deployment.subtasks[-1]
    assert (source.records_in, source.outputs.epoch) == (1, 2)
    assert [frame.kind for _, frame in bench.frames] == [FrameKind.BARRIER], "the batch is for the subtask in the same slot"


def test_a_trigger_does_not_wait_for_a_batch_after_the_buffer_timeout() -> None:
    assert trigger(paced_bench(wait_ms=25)) == [FrameKind.BARRIER]


def test_a_trigger_does_not_wait_for_a_source_whose_outputs_have_no_room() -> None:
    bench = paced_bench(wait_ms=15)
    assert trigger(bench) == []
    assert bench.runtime._deployment is not None
    with patch.object(Outputs, "has_room", lambda self: False):
        bench.turns()
    assert [frame.kind for _, frame in bench.frames] == [FrameKind.BARRIER]


def test_a_split_that_was_assigned_for_an_earlier_epoch_is_refused() -> None:
    bench = Bench(ListSource([Rows(1)]), Collecting()).deploy()
    bench.turns()
    bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(1)))
    bench.runtime.on_control(AssignSplit(ONE, SOURCE, 0, Split("late", None), CheckpointId(1)))
    (failed,) = bench.messages(SubtaskFailed)
    assert failed.kind == "ProtocolError"


class RecordingWatermarks(Collecting):
    def __init__(self) -> None:
        super().__init__()
        self.watermarks_ms: list[int] = []

    def on_watermark(self, watermark_ms: int) -> Step:
        self.watermarks_ms.append(watermark_ms)
        return iter(())


def test_a_restored_subtask_continues_from_the_watermark_that_it_had_emitted() -> None:
    """The source of this slot has ended and never sends a watermark, so only the watermark of the peer counts."""
    keyed, subtask = RecordingWatermarks(), SubtaskId(1, 0)
    bench = Bench(ListSource([]), keyed, slots=2).deploy(ended=(SubtaskId(0, 0),), watermarks=((subtask, 100),))
    stored = []
    for checkpoint, watermark_ms in ((1, 60), (2, 120)):
        bench.runtime.on_frame(control_event(FrameKind.WATERMARK, FROM_PEER, 0, watermark_ms))
        bench.runtime.on_frame(control_event(FrameKind.BARRIER, FROM_PEER, 0, checkpoint))
        bench.runtime.on_control(TriggerCheckpoint(ONE, CheckpointId(checkpoint)))
        bench.turns()
        for work, done in bench.background_work:
            done(work(), None)
        bench.background_work.clear()
        snapshots = [taken for message in bench.messages(Acknowledge) for taken in message.snapshots]
        stored.append([one.watermark_ms for one in snapshots if SubtaskId(one.chain, one.index) == subtask][-1])
    assert keyed.watermarks_ms == [120]
    assert stored == [100, 120]
