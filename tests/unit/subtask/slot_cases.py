"""A slot in a test environment without sockets. Tests advance the clock of the slot and run its background work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from weir.graph.compile import compile_graph
from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.graph.physical import Edge, PhysicalGraph
from weir.kernel.restore import plan_restore
from weir.operators.base import Batch, Operator, PendingSnapshot, SourceOperator, SplitBatch, Step
from weir.protocol import codec
from weir.protocol.channel_state import PackedInts
from weir.protocol.frames import Frame, FrameKind
from weir.protocol.ids import ChannelId, CheckpointId, Generation, OperatorUid, SlotIndex, SubtaskId
from weir.protocol.messages import Deploy, FromSlot, Peer, RestoredOperator, Start
from weir.protocol.snapshots import OperatorSnapshot, Split, StateFile
from weir.storage.state_files import RestoreProgress
from weir.subtask.deployment import SlotSettings
from weir.subtask.slot import SlotRuntime

SOURCE, MAP, KEYED = OperatorUid("source"), OperatorUid("map"), OperatorUid("keyed")
KIB, MIB = 1024, 1024 * 1024


class Rows:
    """A batch with the attributes that the slot runtime uses."""

    def __init__(self, *rows: object, nbytes: int = 8) -> None:
        self.rows = rows
        self.num_rows = len(rows)
        self.nbytes = nbytes


def slice_rows(batch: Batch, bytes_max: int) -> Iterator[Rows]:
    assert isinstance(batch, Rows)
    row_bytes = batch.nbytes // batch.num_rows
    rows_max = max(1, bytes_max // max(1, row_bytes))
    for first in range(0, batch.num_rows, rows_max):
        rows = batch.rows[first : first + rows_max]
        yield Rows(*rows, nbytes=row_bytes * len(rows))


class ListSource(SourceOperator):
    """A source with one split. Each poll of the source returns the next batch."""

    def __init__(self, batches: Sequence[Rows]) -> None:
        self.batches = list(batches)
        self.splits: list[Split] = []

    def add_split(self, split: Split) -> None:
        self.splits.append(split)

    def wants_split(self) -> bool:
        return not self.splits

    def poll(self) -> SplitBatch | None:
        polled = SplitBatch(self.batches.pop(0), self.splits[0]) if self.batches else None
        self.splits = [replace(split, position=len(self.batches)) for split in self.splits if self.batches]
        return polled

    def locate(self, split: Split) -> str:
        return f"{split.id}, with {split.position} batches left"

    def unfinished(self) -> tuple[Split, ...]:
        return tuple(self.splits)


class Collecting(Operator):
    """An operator that collects its input. ``work``, if given, returns the ``Step`` for each batch."""

    def __init__(self, work: Callable[[Batch], Step] | None = None) -> None:
        self.arrived: list[object] = []
        self.snapshots: list[int] = []
        self.ended = False
        self._work = work

    def process(self, batch: Batch, input_index: int) -> Step:
        self.arrived += batch.rows
        return self._work(batch) if self._work is not None else iter(())

    def on_end_of_input(self) -> Step:
        self.ended = True
        return iter(())

    def snapshot(self, checkpoint: CheckpointId) -> PendingSnapshot:
        self.snapshots.append(checkpoint)
        return Written(self.context.uid, self.context.subtask)


class Written:
    def __init__(self, uid: OperatorUid, subtask: int) -> None:
        self._snapshot = OperatorSnapshot(uid, subtask)

    def advance(self) -> bool:
        return True

    def write(self, writer: object) -> OperatorSnapshot:
        return self._snapshot

    def discard(self) -> None:
        pass


class Files:
    """Fake snapshot files. ``flush`` raises if the test sets ``fails``."""

    def __init__(self) -> None:
        self.flushes = 0
        self.fails = False

    def writer(self, subtask: SubtaskId) -> object:
        return None

    def flush(self) -> None:
        self.flushes += 1
        if self.fails:
            raise OSError("disk full")


class RoundRobin:
    """A partitioner that sends the first batch to the first target, the second batch to the second, and so on."""

    pending_rows = 0

    def __init__(self, targets: int) -> None:
        self._targets = targets
        self._next = 0

    def add(self, batch: Batch) -> list[tuple[int, Batch]]:
        self._next += 1
        return [((self._next - 1) % self._targets, batch)]

    def flush(self) -> list[tuple[int, Batch]]:
        return []


class FakeBackground:
    """Fake background executors of a deployment. ``Bench.background_work`` contains the calls that a test
    has to run. Tests set ``is_idle``."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.is_idle = True
        self.log: list[str] = []

    def call(self, work: Callable[[], object]) -> Any:
        raise AssertionError("the operators of this test make no blocking calls")

    def encode(self, work: Callable[[], object]) -> Any:
        raise AssertionError("the sinks of this test encode nothing")

    def write(self, work: Callable[[], object], done: Callable[[object, BaseException | None], None]) -> None:
        self._bench.background_work.append((work, done))

    def cancel_queued(self) -> None:
        self.log.append("cancel queued")

    def close(self) -> None:
        self.log.append("close")


class Bench:
    """Slot 0, with its environment and its program. The test provides the source, an operator in the chain of the source (if any)
    and the keyed operator."""

    def __init__(
        self,
        source: ListSource,
        keyed: Operator,
        *,
        chained: Operator | None = None,
        slots: int = 1,
        batch_rows: int = 65_536,
        buffer_ms: float = 0,
    ) -> None:
        self.graph = graph(slots, chained=chained is not None)
        self.joins = True
        self.now_ns = 0
        self.sent: list[FromSlot] = []
        self.files = Files()
        self.frames: list[tuple[int, Frame]] = []
        self.readers: list[tuple[Sequence[StateFile], RestoreProgress]] = []
        self.background_work: list[tuple[Callable[[], object], Callable[[object, BaseException | None], None]]] = []
        self.backgrounds: list[FakeBackground] = []
        self._parts: dict[OperatorUid, Operator | SourceOperator] = {SOURCE: source, KEYED: keyed}
        if chained is not None:
            self._parts[MAP] = chained
        self.runtime = SlotRuntime(self, self, SlotSettings(batch_rows=batch_rows, buffer_timeout_ms=buffer_ms))  # type: ignore[arg-type]  # the same object is the environment and the program

    # ---- program ---------------------------------------------------------------------------------

    def operators(self, graph: PhysicalGraph, subtask: SubtaskId) -> Sequence[Operator | SourceOperator]:
        return [self._parts[uid] for uid in graph.chains[subtask.chain].operators]

    def partitioner(self, graph: PhysicalGraph, edge: Edge, source_index: int, rows_sent: int) -> RoundRobin:
        return RoundRobin(graph.chains[edge.target].parallelism)

    def may_join(self, graph: PhysicalGraph, edge: int) -> bool:
        return self.joins

    def join(self, batches: Sequence[Rows]) -> Rows:
        return Rows(*(row for batch in batches for row in batch.rows), nbytes=sum(batch.nbytes for batch in batches))

    def slice_batch(self, batch: Batch, bytes_max: int) -> Iterator[Rows]:
        return slice_rows(batch, bytes_max)

    # ---- environment -----------------------------------------------------------------------------------

    def monotonic_ns(self) -> int:
        return self.now_ns

    def core_wait_ns(self) -> int:
        return 0

    def thread_cpu_ns(self) -> int:
        return self.now_ns

    def send_control(self, message: FromSlot) -> None:
        self.sent.append(message)

    def send_frame(self, slot: int, frame: Frame) -> None:
        self.frames.append((slot, frame))

    def open_channels(self, deploy: Deploy, graph: PhysicalGraph) -> None:
        pass

    def channels_ready(self) -> bool:
        return True

    def close_channels(self) -> None:
        pass

    def open_background(self) -> FakeBackground:
        self.backgrounds.append(FakeBackground(self))
        return self.backgrounds[-1]

    def step_begins(self, chain: int) -> None:
        pass

    def snapshot_files(self, generation: Generation, checkpoint: CheckpointId) -> Any:
        return self.files

    def snapshot_reader(self, files: Sequence[StateFile], progress: RestoreProgress) -> AbstractContextManager[Any]:
        self.readers.append((files, progress))
        return nullcontext()

    def rss_bytes(self) -> int:
        return 0

    # ---- test actions --------------------------------------------------------------------------------

    def deploy(
        self,
        generation: int = 1,
        *,
        ended: tuple[SubtaskId, ...] = (),
        watermarks: tuple[tuple[SubtaskId, int], ...] = (),
        started: bool = True,
        restored: CheckpointId | None = None,
        operators: tuple[RestoredOperator, ...] = (),
        attempt: int = 0,
    ) -> Bench:
        new = plan_restore(self.graph, None)[0]
        senders = [
            [int(SubtaskId(0, source) in ended) for source in self.graph.sources_of(self.graph.edges[one.edge], 0)]
            for one in new.inputs
        ]
        self.runtime.on_control(
            Deploy(
                Generation(generation),
                SlotIndex(0),
                codec.to_json(self.graph),
                tuple(Peer(SlotIndex(slot), "host", 1) for slot in range(self.graph.slots)),
                restored,
                operators,
                tuple(replace(one, ended=PackedInts.pack(flags)) for one, flags in zip(new.inputs, senders, strict=True)),
                new.outputs,
                ended,
                CheckpointId(1),
                watermarks,
                attempt,
            )
        )
        if started:
            self.runtime.on_control(Start(Generation(generation)))
        return self

    def turns(self, limit: int = 100) -> int:
        """Run turns until a turn has no work. Return the number of turns that had work."""
        for done in range(limit):
            self.now_ns += 1_000
            if not self.runtime.turn():
                return done
        return limit

    def messages(self, kind: type) -> list[Any]:
        return [message for message in self.sent if isinstance(message, kind)]


def graph(slots: int, *, chained: bool = False) -> PhysicalGraph:
    columns = (Column("key", "int64"),)
    key = Input(MAP if chained else SOURCE, Partitioning.HASH, ("key",))
    chain = (LogicalOperator(MAP, "map", OperatorKind.MAP, (Input(SOURCE),), columns, ""),) if chained else ()
    operators = (
        LogicalOperator(SOURCE, "source", OperatorKind.SOURCE, (), columns, ""),
        *chain,
        LogicalOperator(KEYED, "keyed", OperatorKind.AGGREGATE, (key,), columns, "", stateful=True),
        LogicalOperator(OperatorUid("sink"), "sink", OperatorKind.SINK, (Input(KEYED),), columns, ""),
    )
    compiled = compile_graph(LogicalGraph("job", operators), slots=slots)
    keyed = compiled.chains[1]
    # Remove the sink, so that the keyed operator is the last operator.
    return PhysicalGraph(
        compiled.logical,
        slots,
        (compiled.chains[0], replace(keyed, operators=(KEYED,))),
        compiled.edges,
        compiled.max_parallelism,
    )


def data(channel: ChannelId, sequence: int, batch: Rows, generation: int = 1) -> Frame:
    return Frame(FrameKind.DATA, channel, Generation(generation), 1, sequence, batch.nbytes, batch, batch.nbytes)


def control_event(kind: FrameKind, channel: ChannelId, sequence: int, argument: int = 0, generation: int = 1) -> Frame:
    return Frame(kind, channel, Generation(generation), 1, sequence, argument)
