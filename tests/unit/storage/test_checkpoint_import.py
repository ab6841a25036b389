"""Import of checkpoints of another job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from tests.unit.graph.graph_builders import counts, graph, operator, sink, word_count
from tests.unit.storage.storage_builders import UID, RunningJob, manifest_of, nonce

from weir.errors import CheckpointError, ConfigError, StorageError
from weir.graph.compile import compile_graph
from weir.graph.logical import LogicalGraph, OperatorKind
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.ids import CheckpointId, Generation, OperatorUid
from weir.protocol.job_log import CheckpointCompleted, CheckpointImported, Purpose
from weir.protocol.log_view import SKIPPED_IDS_MAX
from weir.protocol.manifest import Manifest
from weir.protocol.snapshots import Committable, OperatorSnapshot, Split, StateFile
from weir.storage.base import CheckpointStorage
from weir.storage.checkpoint_import import ImportResult, find_external_checkpoint, import_checkpoint
from weir.storage.garbage_collection import StateReferences, delete_orphans
from weir.storage.inspection import verify
from weir.storage.layout import JobLayout
from weir.storage.location import JobLocation
from weir.storage.manifests import read_manifest, write_manifest
from weir.storage.memory import MemoryStorage
from weir.storage.split_lists import read_split_list
from weir.storage.state_files import StateReader

OUT = OperatorUid("out")
OURS = "other flights"


class Origin(RunningJob):
    """A job whose manifests can be restored. The manifests contain a graph, and the state and the committables of a sink."""

    graph: LogicalGraph = word_count()

    def complete_with_sink(self, checkpoint: int, *files: StateFile, split_list: StateFile | None = None) -> None:
        manifest = manifest_of(self.generation, checkpoint, files, split_list=split_list)
        committable = Committable(manifest.job, OUT, self.generation, CheckpointId(checkpoint), 0, "part-1")
        written_by_sink = OperatorSnapshot(OUT, 0, inline={"rows": 5}, committables=(committable,))
        (subtask,) = manifest.subtasks
        manifest = replace(
            manifest,
            graph=codec.to_json(compile_graph(self.graph, slots=1)),
            subtasks=(replace(subtask, operators=(*subtask.operators, written_by_sink)),),
        )
        written = write_manifest(self.storage, self.layout, manifest)
        self.append(
            CheckpointCompleted(
                self.generation, CheckpointId(checkpoint), written.path, written.checksum, 1, nonce(), 2_000
            )
        )  # fmt: skip

    @property
    def location(self) -> JobLocation:
        return JobLocation(self.storage, self.layout)


def origin(storage: CheckpointStorage | None = None, *, checkpoints: int = 2) -> Origin:
    job = Origin(storage or MemoryStorage())
    job.start(1)
    for number in range(1, checkpoints + 1):
        job.complete_with_sink(number, job.write_state(number))
    return job


def target(storage: CheckpointStorage | None = None) -> RunningJob:
    return RunningJob(storage or MemoryStorage(), layout=JobLayout(OURS))


def imported(
    source: Origin,
    into: RunningJob,
    checkpoint: int | None = None,
    *,
    abandonable: Sequence[int] | None = (),
    nonce_: str | None = None,
) -> ImportResult:
    number = CheckpointId(checkpoint) if checkpoint is not None else None
    foreign = find_external_checkpoint(source.location, number, job=OURS)
    confirmed = None if abandonable is None else frozenset(map(CheckpointId, abandonable))
    return import_checkpoint(
        foreign, JobLocation(into.storage, into.layout), abandonable=confirmed, nonce=nonce_ or nonce(), timestamp_ms=7
    )  # fmt: skip


def newest(job: RunningJob) -> Manifest:
    record = job.log.read()[0].newest
    assert record is not None
    return read_manifest(job.storage, job.layout, record)


def contents(storage: CheckpointStorage) -> dict[str, bytes]:
    return {one.path: bytes(storage.get(one.path)) for one in storage.list("")}


def test_a_new_job_resumes_from_an_imported_checkpoint(open_again: Callable[[], CheckpointStorage]) -> None:
    source, target_job = origin(), target(open_again())
    found = imported(source, target_job)
    view, _ = target_job.log.read()
    assert [one.checkpoint for one in view.restorable] == [found.checkpoint] == list(view.pinned)
    assert view.generations[-1].purpose is Purpose.IMPORT and view.generations[-1].restored_from is None
    manifest = newest(target_job)
    assert (manifest.job, manifest.checkpoint, manifest.generation) == (OURS, found.checkpoint, view.generation)
    assert manifest.is_savepoint and manifest.restored_from is None and manifest.branch == view.branch
    assert codec.from_json(PhysicalGraph, manifest.graph).logical.job == OURS
    assert verify(open_again(), target_job.layout, found.checkpoint).intact
    assert found.bytes == sum(file.bytes for file in manifest.referenced_files()) > 0
    assert manifest.assigners == read_manifest(source.storage, source.layout, source.log.view.kept[-1]).assigners


def test_an_import_copies_the_split_lists_of_sources() -> None:
    source, target_job = origin(checkpoints=0), target()
    listed = source.list_splits(1, Split("a", {"file": "a"}), Split("b", {"file": "b"}))
    source.complete_with_sink(1, split_list=listed.file)
    found = imported(source, target_job)
    source.storage.delete(list(contents(source.storage)))
    (state,) = newest(target_job).assigners.values()
    (copied,) = state.split_lists
    assert copied.file.path != listed.file.path
    with StateReader(target_job.storage, target_job.layout, found.checkpoint) as reader:
        copy = read_split_list(reader, copied)
    assert copy.splits == listed.splits
    assert verify(target_job.storage, target_job.layout, found.checkpoint).intact


def test_an_imported_checkpoint_can_be_restored_after_its_original_is_deleted() -> None:
    source, target_job = origin(), target()
    before = contents(source.storage)
    found = imported(source, target_job)
    assert contents(source.storage) == before
    source.storage.delete(list(before))
    assert verify(target_job.storage, target_job.layout, found.checkpoint).intact
    manifest = newest(target_job)
    assert manifest.imported_from is not None
    assert (manifest.imported_from.directory, manifest.imported_from.checkpoint) == (source.location.url, 2)
    assert source.location.url.endswith("route.20delays.2f2026")


def test_the_state_of_sinks_is_not_imported() -> None:
    source, target_job = origin(), target()
    imported(source, target_job)
    manifest = newest(target_job)
    assert manifest.committables() == ()
    assert [one.inline for one in manifest.operators() if one.operator == OUT] == [None]
    logical = codec.from_json(PhysicalGraph, manifest.graph).logical
    assert {one.uid: one.stateful for one in logical.operators if one.kind is OperatorKind.SINK} == {OUT: False}
    assert manifest.published_up_to == manifest.checkpoint, "the new job has no output before the imported checkpoint"
    state = next(one for one in manifest.operators() if one.operator == UID)
    assert state.inline == {"offsets": [1, 2, {"lag": None}]}, "other operators keep their state"


def test_an_import_copies_the_newest_checkpoint_of_the_branch_unless_another_checkpoint_is_requested() -> None:
    source = origin(checkpoints=3)
    source.start(2, restored_from=1)  # abandons checkpoints 2 and 3
    for chosen, file in ((None, "1"), (3, "3")):
        target_job = target()
        imported(source, target_job, chosen)
        (state,) = newest(target_job).referenced_files()
        data = target_job.storage.get(target_job.layout.absolute(state.path))[state.offset :][: state.bytes]
        assert bytes(data) == b"state of " + file.encode()


def test_an_import_copies_each_referenced_file_exactly_once() -> None:
    source = origin(checkpoints=0)
    large, shared = source.write_state(1, data=bytes(5 << 20)), source.write_state(1, attempt="b")
    source.complete_with_sink(1, large, shared)
    source.complete_with_sink(2, large, shared, shared, source.write_state(2))
    target_job = target()
    found = imported(source, target_job)
    files = newest(target_job).referenced_files()
    assert len(files) == 3 and verify(target_job.storage, target_job.layout, found.checkpoint).intact
    assert found.bytes == sum(file.bytes for file in files)
    assert {path for path in target_job.paths() if path.startswith("state/")} == {file.path for file in files}


@pytest.mark.parametrize("damage", ["missing", "damaged", "short"])
def test_an_import_of_a_damaged_checkpoint_has_no_effect(damage: str) -> None:
    source, target_job = origin(), target()
    record = source.log.view.restore_point(CheckpointId(2))
    (file,) = read_manifest(source.storage, source.layout, record).referenced_files()
    path = source.layout.absolute(file.path)
    if damage == "missing":
        source.storage.delete([path])
    else:
        data = bytes(source.storage.get(path))
        source.storage.put(path, (data[:-1] if damage == "short" else b"X" + data[1:],))
    with pytest.raises(CheckpointError, match=rf"Cannot import checkpoint .*#2: .*{file.path}"):
        imported(source, target_job, 2)
    assert target_job.log.read()[0].generation == 0
    assert imported(source, target_job, 1).checkpoint == 1, "the undamaged checkpoint can be imported"


def test_a_missing_checkpoint_is_refused() -> None:
    source = origin()
    with pytest.raises(CheckpointError, match="checkpoint 9 does not exist"):
        imported(source, target(), 9)
    with pytest.raises(CheckpointError, match="has no completed checkpoint"):
        imported(Origin(MemoryStorage()), target())


def test_a_checkpoint_of_a_job_that_reads_staged_rows_cannot_be_imported() -> None:
    source = origin(checkpoints=0)
    source.graph = graph(
        operator("lines", OperatorKind.SOURCE, config={"kind": "dataframe", "directory": "/x"}),
        counts("count", "lines", "word"), sink("out", "count"),
    )  # fmt: skip
    source.complete_with_sink(1, source.write_state(1))
    with pytest.raises(ConfigError, match=r"source 'lines' reads the staged rows of a Spark query"):
        imported(source, target())


def test_an_import_into_a_job_that_has_checkpoints_needs_a_confirmation() -> None:
    source, target_job = origin(), target()
    target_job.start(1)
    target_job.complete(1)
    target_job.complete(2)
    before = contents(target_job.storage)
    for confirmed in ((), (1,)):
        with pytest.raises(ConfigError, match=rf"Job '{OURS}' has checkpoints in .* \(newest: 2\)"):
            imported(source, target_job, abandonable=confirmed)
    assert contents(target_job.storage) == before
    for confirmed in ((1, 2), None):
        again = target(MemoryStorage())
        for path, data in before.items():
            again.storage.put(path, (data,))
        found = imported(source, again, abandonable=confirmed)
        view, _ = again.log.read()
        assert found.checkpoint == 2 + 1 + SKIPPED_IDS_MAX, "the import uses an id that the previous driver cannot have used"
        assert [one.checkpoint for one in view.restorable] == [found.checkpoint]
        assert [one.checkpoint for one in view.abandoned] == [1, 2], "the abandoned checkpoints can be restored"
        assert [(left.checkpoint, left.after) for left in view.abandonment_due] == [(1, 0), (2, 0)], "their output is revoked"


def test_a_repeated_import_returns_the_existing_checkpoint() -> None:
    source, target_job = origin(), target()
    first = imported(source, target_job)
    again = imported(source, target_job, abandonable=())
    assert (again.checkpoint, again.generation, again.bytes) == (first.checkpoint, first.generation, 0)
    assert len(target_job.log.read()[0].kept) == 1
    with pytest.raises(ConfigError, match="has checkpoints in"):
        imported(source, target_job, 1)
    target_job.start(2, restored_from=first.checkpoint)
    target_job.complete(first.checkpoint + 1)
    with pytest.raises(ConfigError, match="has checkpoints in"):
        imported(source, target_job)


class Failing(MemoryStorage):
    """Storage that fails permanently after ``writes`` writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    def _count_write(self) -> None:
        if self.left == 0:
            raise StorageError("the disk failed")
        self.left -= 1

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        self._count_write()
        super().put(path, data)

    def create(self, path: str, data: bytes) -> bool:
        self._count_write()
        return super().create(path, data)


def test_an_import_that_fails_at_any_write_has_no_effect_and_can_be_repeated() -> None:
    source = origin()
    cuts = 0
    while True:
        storage = Failing(writes=100)
        target_job = target(storage)
        target_job.start(1)
        target_job.complete(1)
        storage.left = cuts
        try:
            imported(source, target_job, abandonable=(1,))
        except StorageError:
            view, _ = target(storage).log.read()
            assert [one.checkpoint for one in view.restorable] == [1], f"failed after {cuts} writes"
        else:
            break
        storage.left = 100
        again = imported(source, target(storage), abandonable=(1,))
        assert verify(storage, target_job.layout, again.checkpoint).intact
        # The garbage collector deletes the files of the failed attempt after the job has continued.
        after = target(storage)
        after.start(again.generation + 1, restored_from=again.checkpoint)
        for number in range(1, 4):
            after.complete(again.checkpoint + number)
        view, _ = after.log.read()
        delete_orphans(storage, after.layout, view, references=StateReferences(storage, after.layout))
        named = {file.path for record in view.kept for file in read_manifest(storage, after.layout, record).referenced_files()}
        assert {path for path in after.paths() if path.startswith("state/")} == named
        cuts += 1
    assert cuts == 3, "an import writes a state file, a manifest and a log entry"


class OvertakenStorage(MemoryStorage):
    """Storage that calls ``first`` before it creates the next object, to simulate a faster process."""

    def __init__(self) -> None:
        super().__init__()
        self.first: Callable[[], object] | None = None

    def create(self, path: str, data: bytes) -> bool:
        first, self.first = self.first, None
        if first is not None:
            first()
        return super().create(path, data)


@pytest.mark.parametrize("other", ["imports", "starts"])
def test_an_import_has_no_effect_if_another_process_appends_to_the_job_log_first(other: str) -> None:
    source, storage = origin(), OvertakenStorage()
    if other == "imports":
        storage.first = lambda: imported(source, target(storage), 1)
    else:
        storage.first = lambda: target(storage).start(1)
    with pytest.raises(ConfigError, match="another process has written to the log"):
        imported(source, target(storage), 2)
    view, _ = target(storage).log.read()
    assert (view.generation, len(view.kept)) == (1, 1 if other == "imports" else 0)


def test_an_import_starts_a_generation_and_fences_older_generations() -> None:
    source, target_job = origin(), target()
    target_job.start(1)
    target_job.complete(1)
    found = imported(source, target_job, abandonable=(1,))
    view, _ = target_job.log.read()
    stale = CheckpointCompleted(Generation(1), CheckpointId(2), "m", "c", 1, "n", 0)
    assert view.generation == found.generation == 2 and view.is_stale(stale)
    entry = CheckpointImported(Generation(2), CheckpointId(999), "b2", "m", "c", 1, "n", 0)
    assert view.is_stale(entry)
    assert view.objection(replace(entry, generation=Generation(3), checkpoint=CheckpointId(1))) is not None
