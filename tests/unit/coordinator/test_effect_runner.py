"""The effect runner reports the result of every effect to the job master, even after a bug or a storage error."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.coordinator.test_garbage_collector import LAYOUT, _ImmediateExecutor
from tests.unit.coordinator.test_log_executor import GRAPH
from tests.unit.coordinator.test_sinks import SINK, Recording

from weir.connectors.base import Discovered, Source
from weir.coordinator.compiled_job import CompiledJob
from weir.coordinator.effect_runner import EffectRunner, Executors
from weir.errors import InputError, Retry, SinkError
from weir.kernel.checkpoints import CheckpointKind, CommitPermit, PendingCheckpoint
from weir.kernel.effects import AppendLog, Commit, Discover, Prepare, RecordCompleted, StartGeneration, WriteManifest
from weir.kernel.restore import RestorePoint
from weir.kernel.split_assigner import SplitList
from weir.operators.base import SourceOperator
from weir.protocol.channel_state import EdgeSnapshot, PackedInts
from weir.protocol.ids import Attempt, CheckpointId, Generation, OperatorUid, SubtaskId
from weir.protocol.job_log import GenerationStarted
from weir.protocol.manifest import AssignerState
from weir.protocol.snapshots import Committable, JsonValue, Split, SubtaskSnapshot, SubtaskStatistics
from weir.storage.base import CheckpointStorage
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage
from weir.storage.split_lists import read_split_list
from weir.storage.state_files import StateFiles, StateReader


class Broken(Recording):
    error: BaseException = ZeroDivisionError("division by zero")

    def commit(self, permit: object, committables: object) -> None:
        raise self.error

    def abort_after(self, checkpoint: CheckpointId, *, before: Attempt) -> None:
        raise self.error


class RecordingMaster:
    """A fake job master that records the calls of the effect runner."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, *args))


def _runner(sink: Recording, storage: MemoryStorage | None = None) -> tuple[EffectRunner, RecordingMaster]:
    storage, executor, master = storage or MemoryStorage(), _ImmediateExecutor(), RecordingMaster()
    log = JobLog(storage, LAYOUT)
    log.read()
    runner = EffectRunner(
        CompiledJob(GRAPH, {}, {SINK: sink}),
        storage,
        log,
        executors=Executors(executor, executor, executor, threading.Event(), executor, executor),
    )
    runner.start(lambda event: event(master, 0))  # type: ignore[arg-type,func-returns-value]  # a RecordingMaster
    runner.submit(AppendLog(StartGeneration(Generation(1), None, CheckpointId(1))))
    return runner, master


def _commit() -> Commit:
    committable = Committable("job", SINK, Generation(1), CheckpointId(1), 0, None)
    return Commit(CommitPermit(CheckpointId(1), Generation(1)), (committable,))


@pytest.mark.parametrize("retry", list(Retry))
def test_a_failed_commit_is_retried_only_if_a_retry_can_help(retry: Retry) -> None:
    sink = Broken()
    runner, master = _runner(sink)
    error = SinkError("the disk did not answer")
    error.retry = retry
    runner.submit(Prepare(Generation(1), None, None, ()))
    sink.error = error
    runner.submit(_commit())
    (call,) = [call for call in master.calls if call[0] == "on_commit_failed"]
    assert call[2:4] == ("sink 'out': the disk did not answer", retry is Retry.BACKOFF)


def test_an_unexpected_exception_in_a_commit_fails_the_job_and_is_reported_as_the_reason() -> None:
    runner, master = _runner(Broken())
    runner.submit(Prepare(Generation(1), None, None, ()))
    runner.submit(_commit())
    (call,) = [call for call in master.calls if call[0] == "on_commit_failed"]
    assert call[2:4] == ("sink 'out': internal error: ZeroDivisionError: division by zero", False)


def test_a_panic_in_a_library_fails_the_job() -> None:
    class Panic(BaseException):
        """An error like the panics of Rust libraries."""

    sink = Broken()
    runner, master = _runner(sink)
    runner.submit(Prepare(Generation(1), None, None, ()))
    sink.error = Panic("index out of bounds")
    runner.submit(_commit())
    (call,) = [call for call in master.calls if call[0] == "on_commit_failed"]
    assert call[2:4] == ("sink 'out': internal error: Panic: index out of bounds", False)


def test_an_unexpected_exception_in_a_preparation_fails_the_job_and_is_reported_as_the_reason() -> None:
    runner, master = _runner(Broken())
    runner.submit(Prepare(Generation(1), None, None, ()))
    (call,) = [call for call in master.calls if call[0] == "on_prepare_failed"]
    assert call[1:4] == ("internal error: ZeroDivisionError: division by zero", "ZeroDivisionError", False)


def test_an_unexpected_exception_while_writing_a_manifest_aborts_the_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    runner, master = _runner(Recording())
    monkeypatch.setattr("weir.coordinator.effect_runner.write_manifest", lambda *args: 1 // 0)
    runner.submit(WriteManifest(Generation(1), PendingCheckpoint(CheckpointId(1), CheckpointKind.PERIODIC, triggered_ms=0), {}))
    (call,) = [call for call in master.calls if call[0] == "on_manifest_failed"]
    assert call[1:3] == (1, 1) and "ZeroDivisionError" in call[3]


def test_a_checkpoint_whose_channels_have_two_different_ends_is_aborted() -> None:
    runner, master = _runner(Recording())
    pending = PendingCheckpoint(CheckpointId(1), CheckpointKind.PERIODIC, triggered_ms=0)
    sender = SubtaskSnapshot(0, 0, (), False, SubtaskStatistics(), outputs=(EdgeSnapshot(0, PackedInts(1, 5)),))
    receiver = SubtaskSnapshot(1, 0, (), False, SubtaskStatistics(), inputs=(EdgeSnapshot(0, PackedInts(1, 4)),))
    pending.snapshots |= {SubtaskId(0, 0): sender, SubtaskId(1, 0): receiver}
    runner.submit(WriteManifest(Generation(1), pending, {}))
    (call,) = [call for call in master.calls if call[0] == "on_manifest_failed"]
    assert "channel e0:0>0, the next row of the sender is number 5, but the receiver expects number 4" in call[3]


def test_an_unexpected_exception_of_the_job_log_is_reported_as_a_failed_append() -> None:
    runner, master = _runner(Recording())
    without_manifest = PendingCheckpoint(CheckpointId(7), CheckpointKind.PERIODIC, triggered_ms=0)
    runner.submit(AppendLog(RecordCompleted(Generation(1), without_manifest)))
    (call,) = [call for call in master.calls if call[0] == "on_log_failed"]
    assert "internal error: KeyError" in call[2]


def test_files_of_an_aborted_checkpoint_are_deleted_after_several_later_checkpoints() -> None:
    storage = MemoryStorage()
    runner, master = _runner(Recording(), storage)
    layout = JobLayout("job")

    def complete(checkpoint: int) -> None:
        pending = PendingCheckpoint(CheckpointId(checkpoint), CheckpointKind.PERIODIC, triggered_ms=0)
        runner.submit(WriteManifest(Generation(1), pending, {}))
        runner.submit(AppendLog(RecordCompleted(Generation(1), pending)))
        runner.submit(Commit(CommitPermit(CheckpointId(checkpoint), Generation(1)), ()))

    complete(1)
    files = StateFiles(storage, layout, generation=Generation(1), checkpoint=CheckpointId(2), attempt="a")
    file = files.writer(SubtaskId(0, 0)).put(SINK, [b"state"], rows=1, key_groups=None)
    files.flush()
    orphan = layout.absolute(file.path)
    for checkpoint in (3, 4, 5):
        assert any(found.path == orphan for found in storage.list("")), "a file is kept while its checkpoint may still be pending"
        complete(checkpoint)
    complete(6)
    complete(7)
    assert not any(found.path == orphan for found in storage.list(""))
    assert not [call for call in master.calls if "failed" in call[0]]


def test_the_effect_runner_finds_a_newer_generation_in_the_job_log() -> None:
    storage = MemoryStorage()
    runner, _ = _runner(Recording(), storage)
    runner.close()
    assert runner.successor() is None
    second_driver = JobLog(storage, LAYOUT)
    number = second_driver.read()[1]
    second_driver.append(GenerationStarted(Generation(2), None, "b2", CheckpointId(1), "n", 0), at=number)
    assert runner.successor() == 2


SOURCE = OperatorUid("in")


class Splits(Source):
    """A source that counts how often its splits are enumerated."""

    kind = "splits"
    enumerated = 0

    def schema(self) -> pa.Schema:
        return pa.schema([])

    def splits(self, parallelism: int) -> tuple[Split, ...]:
        self.enumerated += 1
        return (Split("a", {"file": "a"}), Split("b", {"file": "b"}))

    def reader(self) -> SourceOperator:
        raise AssertionError("only slots read splits")


def _prepared(
    storage: CheckpointStorage, source: Source, *points: RestorePoint | None
) -> list[dict[OperatorUid, tuple[SplitList, ...]]]:
    """Prepare one generation for each restore point, in one process. Return the split lists of each generation."""
    log = JobLog(storage, LAYOUT)
    log.read()
    executor, master = _ImmediateExecutor(), RecordingMaster()
    plan = CompiledJob(GRAPH, {SOURCE: source}, {SINK: Recording()})
    runner = EffectRunner(
        plan, storage, log, executors=Executors(executor, executor, executor, threading.Event(), executor, executor)
    )
    runner.start(lambda event: event(master, 0))  # type: ignore[arg-type,func-returns-value]  # a RecordingMaster
    first = log.view.next_generation
    for generation, point in enumerate(points, first):
        runner.submit(AppendLog(StartGeneration(Generation(generation), None, log.view.next_checkpoint)))
        runner.submit(Prepare(Generation(generation), None, point, () if point is not None else (SOURCE,)))
    assert not [call for call in master.calls if "failed" in call[0]], master.calls
    return [call[1] for call in master.calls if call[0] == "on_prepared"]


def _point(state: AssignerState) -> RestorePoint:
    return RestorePoint(CheckpointId(1), GRAPH, (), {SOURCE: state}, ())


class CountingStorage(MemoryStorage):
    """A storage that counts how often split lists are read."""

    reads = 0

    def get(self, path: str) -> memoryview:
        self.reads += "splits" in path
        return super().get(path)


def test_the_splits_of_a_source_are_enumerated_once_and_their_list_is_read_once_per_process() -> None:
    storage, source = CountingStorage(), Splits()
    (listed,) = _prepared(storage, source, None)
    state = AssignerState((), 0, (listed[SOURCE][0].reference,))
    assert _prepared(storage, source, _point(state), _point(state)) == [listed, listed]
    assert (source.enumerated, storage.reads) == (1, 1)


def test_a_restore_writes_the_pending_splits_of_a_checkpoint_of_an_older_version_to_a_split_list() -> None:
    storage, source = CountingStorage(), Splits()
    state = AssignerState((Split("started", {"file": "s"}, 7), Split("c", {"file": "c"})), 1)
    (listed,) = _prepared(storage, source, _point(state))
    assert [one.splits for one in listed[SOURCE]] == [(Split("c", {"file": "c"}, index=0),)]
    assert source.enumerated == 0
    assert _prepared(storage, source, _point(AssignerState((), 0, (listed[SOURCE][0].reference,)))) == [listed]


def test_the_split_lists_of_two_preparations_have_different_paths() -> None:
    storage, source = CountingStorage(), Splits()
    first, second = _prepared(storage, source, None, None)
    assert first[SOURCE][0].splits == second[SOURCE][0].splits
    assert first[SOURCE][0].file.path != second[SOURCE][0].file.path


class Growing(Splits):
    """A source that discovers splits. ``items`` are the splits that exist. ``known`` is the number of discovered splits."""

    discover_every_ms = 50

    def __init__(self, *items: str) -> None:
        self.items = list(items)
        self.error: BaseException | None = None

    def known_after(self, splits: Sequence[Split]) -> JsonValue:
        return len(splits)

    def discover(self, known: JsonValue, parallelism: int) -> Discovered:
        assert isinstance(known, int)
        if self.error is not None:
            raise self.error
        new = self.items[known:]
        return Discovered(tuple(Split(item, item) for item in new), known + len(new), tuple(f"{item} is new" for item in new))


class GrowingRun:
    """An effect runner with a source that discovers splits, and the answers to the job master."""

    def __init__(self, source: Growing) -> None:
        self.storage, self.master, executor = CountingStorage(), RecordingMaster(), _ImmediateExecutor()
        log = JobLog(self.storage, LAYOUT)
        log.read()
        executors = Executors(executor, executor, executor, threading.Event(), executor, executor)
        plan = CompiledJob(GRAPH, {SOURCE: source}, {SINK: Recording()}, retained=1)
        self.runner = EffectRunner(plan, self.storage, log, executors=executors)
        self.runner.start(lambda event: event(self.master, 0))  # type: ignore[arg-type,func-returns-value]  # a RecordingMaster
        self.runner.submit(AppendLog(StartGeneration(Generation(1), None, CheckpointId(1))))
        self.runner.submit(Prepare(Generation(1), None, None, (SOURCE,)))
        name, lists, _, self.warnings = self.master.calls.pop()
        assert name == "on_prepared"
        (self.first,) = lists[SOURCE]

    def discover(self, known: int) -> tuple[Any, ...]:
        self.runner.submit(Discover(Generation(1), SOURCE, known, known))
        return self.master.calls.pop()

    def complete(self, checkpoint: int, *lists: SplitList) -> None:
        pending = PendingCheckpoint(CheckpointId(checkpoint), CheckpointKind.PERIODIC, triggered_ms=0)
        state = AssignerState((), 0, tuple(one.reference for one in lists))
        self.runner.submit(WriteManifest(Generation(1), pending, {SOURCE: state}))
        self.runner.submit(AppendLog(RecordCompleted(Generation(1), pending)))
        self.runner.submit(Commit(CommitPermit(CheckpointId(checkpoint), Generation(1)), ()))
        assert not [call for call in self.master.calls if "failed" in call[0]], self.master.calls

    def stored(self, one: SplitList) -> bool:
        return LAYOUT.absolute(one.file.path) in {stored.path for stored in self.storage.list("")}


def test_the_first_splits_of_a_followed_source_are_discovered_when_the_job_is_prepared() -> None:
    run = GrowingRun(Growing("a"))
    assert (run.first.splits, run.first.known) == ((Split("a", "a", index=0),), 1)
    assert list(run.warnings) == ["a is new"]


def test_a_job_whose_input_cannot_be_listed_does_not_start() -> None:
    source = Growing()
    source.error = InputError("/in: no input file found.")
    storage, executor, master = MemoryStorage(), _ImmediateExecutor(), RecordingMaster()
    log = JobLog(storage, LAYOUT)
    log.read()
    executors = Executors(executor, executor, executor, threading.Event(), executor, executor)
    runner = EffectRunner(CompiledJob(GRAPH, {SOURCE: source}, {}), storage, log, executors=executors)
    runner.start(lambda event: event(master, 0))  # type: ignore[arg-type,func-returns-value]  # a RecordingMaster
    runner.submit(AppendLog(StartGeneration(Generation(1), None, CheckpointId(1))))
    runner.submit(Prepare(Generation(1), None, None, (SOURCE,)))
    assert master.calls[-1] == ("on_prepare_failed", "/in: no input file found.", "InputError", False, 0)


def test_a_discovery_that_never_ends_does_not_delay_the_end_of_the_process() -> None:
    started, release = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        release.wait()

    executors = Executors()
    running = executors.discovery.submit(hang)
    started.wait()
    executors.close()
    release.set()
    assert running.result() is None


def test_a_discovery_writes_a_durable_list_with_the_known_input_if_it_finds_splits() -> None:
    source = Growing()
    run = GrowingRun(source)
    assert run.discover(0) == ("on_discovered", Generation(1), SOURCE, 0, None, 0, ())
    source.items += ["a", "b"]
    name, _, _, known, listed, _, warnings = run.discover(0)
    assert (name, known, warnings) == ("on_discovered", 2, ("a is new", "b is new"))
    assert listed.splits == (Split("a", "a", index=0), Split("b", "b", index=1))
    with StateReader(run.storage, LAYOUT, CheckpointId(1)) as reader:
        assert read_split_list(reader, listed.reference) == listed
        assert read_split_list(reader, run.first.reference).known == 0


def test_a_failed_discovery_is_reported_and_a_bug_fails_the_job() -> None:
    source = Growing()
    run = GrowingRun(source)
    source.error = InputError("/in: Permission denied.")
    assert run.discover(0) == ("on_discovery_failed", Generation(1), SOURCE, "/in: Permission denied.", 0)
    source.error = ZeroDivisionError("division by zero")
    assert run.discover(0) == ("fail", "internal error: ZeroDivisionError: division by zero", "ZeroDivisionError", 0)


def test_a_restored_source_that_begins_to_follow_stores_what_its_split_list_contains() -> None:
    storage = CountingStorage()
    (listed,) = _prepared(storage, Splits(), None)
    state = AssignerState((), 0, (listed[SOURCE][0].reference,))
    (lists,) = _prepared(storage, Growing(), _point(state))
    first, second = lists[SOURCE]
    assert first == listed[SOURCE][0]
    assert (second.splits, second.first, second.known) == ((), 2, 2)
    state = AssignerState((), 2, (second.reference,), 2)
    assert _prepared(storage, Growing(), _point(state)) == [{SOURCE: (second,)}]


def test_a_discovered_split_list_is_kept_until_a_checkpoint_refers_to_it_or_to_a_newer_one() -> None:
    source = Growing()
    run = GrowingRun(source)
    source.items.append("a")
    first = run.discover(0)[4]
    for checkpoint in (1, 3, 4):  # the aborted checkpoint 2 causes a deletion of orphans
        run.complete(checkpoint, run.first)
    assert run.stored(first)
    source.items.append("b")
    second = run.discover(1)[4]
    source.items.append("c")
    third = run.discover(2)[4]
    run.complete(6, second)
    assert [run.stored(one) for one in (first, second, third)] == [False, True, True]
    run.complete(7, third)
    run.complete(8, third)
    assert [run.stored(one) for one in (run.first, second, third)] == [False, False, True]
