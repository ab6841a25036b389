"""Retention, deletion, garbage collection and inspection of checkpoints, with crashes after any write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from tests.unit.storage.storage_builders import JOB, RunningJob, completed, fold, pinned, retired, started

from weir.errors import CheckpointError, ConfigError, UnknownOutcome
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.log_view import CheckpointStatus
from weir.protocol.snapshots import StateFile
from weir.storage.base import CheckpointStorage, StoredObject
from weir.storage.garbage_collection import RetireResult, StateReferences, delete_orphans, plan_retention, retire_and_delete
from weir.storage.inspection import list_checkpoints, list_jobs, verify
from weir.storage.job_log import JobLog, NumberTaken
from weir.storage.layout import JobLayout
from weir.storage.manifests import read_manifest
from weir.storage.memory import MemoryStorage
from weir.storage.state_files import StateReader

LAYOUT = JobLayout(JOB)


def _retire(job: RunningJob, *checkpoints: int, protected: tuple[str, ...] = ()) -> RetireResult | NumberTaken:
    entry = retired(job.generation, *checkpoints)
    number = job.log.next_number
    return retire_and_delete(job.storage, job.layout, job.log, entry, at=number, references=job.references, protected=protected)


def _delete_orphans(job: RunningJob, protected: tuple[str, ...] = ()) -> list[str]:
    deleted = delete_orphans(job.storage, job.layout, job.log.read()[0], references=job.references, protected=protected)
    return [job.layout.relative(one.path) for one in deleted]


def _assert_all_kept_can_be_restored(storage: CheckpointStorage) -> None:
    view, _ = JobLog(storage, LAYOUT).read()
    for record in view.kept:
        with StateReader(storage, LAYOUT, record.checkpoint) as reader:
            for file in read_manifest(storage, LAYOUT, record).referenced_files():
                with reader.open(file) as content:
                    assert len(content.read()) == file.bytes


# ---- checkpoints to retire ---------------------------------------------------------------------


def test_checkpoints_that_are_older_than_the_retained_checkpoints_are_retired() -> None:
    view = fold(started(1), *(completed(1, number) for number in range(1, 6)))
    assert plan_retention(view, keep=2) == (1, 2, 3)
    assert plan_retention(view, keep=5) == plan_retention(view, keep=9) == ()


def test_savepoints_and_pinned_or_uncommitted_checkpoints_are_not_retired() -> None:
    view = fold(started(1), completed(1, 1, savepoint=True), *(completed(1, number) for number in range(2, 7)), pinned(1, 3))
    assert plan_retention(view, keep=1) == (2, 4, 5)
    assert plan_retention(view, keep=1, uncommitted_from=CheckpointId(4)) == (2,)


def test_the_restored_checkpoint_is_kept_until_the_new_generation_completes_a_checkpoint() -> None:
    view = fold(
        started(1),
        *(completed(1, number) for number in range(1, 5)),
        started(2, restored_from=2, branch="b2", first_checkpoint=5),
    )
    assert plan_retention(view, keep=1) == (1,)
    assert plan_retention(view.apply(completed(2, 5)), keep=1) == (1, 2)


def test_abandoned_checkpoints_are_retired_if_the_retention_policy_does_not_keep_them() -> None:
    view = fold(
        started(1),
        *(completed(1, number) for number in range(1, 5)),
        started(2, restored_from=2, branch="b2", first_checkpoint=5),
    )
    assert plan_retention(view, keep=1, keep_abandoned=False) == (1, 3, 4)


def test_a_retention_policy_of_zero_checkpoints_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        plan_retention(fold(started(1)), keep=0)


# ---- retiring and deleting -------------------------------------------------------------------


@pytest.fixture
def job(storage: CheckpointStorage) -> RunningJob:
    running = RunningJob(storage)
    running.start(1)
    return running


def test_the_files_of_a_retired_checkpoint_are_deleted_unless_another_checkpoint_references_them(job: RunningJob) -> None:
    base = job.complete(1)
    delta = job.complete(2, also=(base,))
    job.complete(3, also=(base,))
    outcome = _retire(job, 1, 2)
    assert isinstance(outcome, RetireResult)
    assert outcome.deleted == (delta.path, "checkpoints/1/manifest-g1.json", "checkpoints/2/manifest-g1.json")
    assert base.path in job.paths()
    _assert_all_kept_can_be_restored(job.storage)
    with pytest.raises(CheckpointError, match="retired"):
        verify(job.storage, job.layout, CheckpointId(1))


def test_a_superseded_process_deletes_nothing(job: RunningJob) -> None:
    for number in (1, 2):
        job.complete(number)
    before = job.paths()
    number = job.log.next_number
    RunningJob(job.storage).start(2, restored_from=1)
    outcome = retire_and_delete(job.storage, job.layout, job.log, retired(1, 1), at=number, references=job.references)
    assert isinstance(outcome, NumberTaken)
    assert job.paths() == before
    assert isinstance(RunningJob(job.storage).log.read()[0].restore_point(CheckpointId(1)).checkpoint, int)


def test_no_file_is_deleted_if_the_outcome_of_the_log_entry_is_unknown() -> None:
    class UnresponsiveStorage(MemoryStorage):
        silent = False

        def create(self, path: str, data: bytes) -> bool:
            if self.silent:
                raise UnknownOutcome("the connection was cut")
            return super().create(path, data)

    storage = UnresponsiveStorage()
    job = RunningJob(storage)
    job.start(1)
    for number in (1, 2):
        job.complete(number)
    before = job.paths()
    storage.silent = True
    with pytest.raises(UnknownOutcome):
        _retire(job, 1)
    assert job.paths() == before


def test_files_referenced_by_a_pending_checkpoint_are_not_deleted(job: RunningJob) -> None:
    first = job.complete(1)
    job.complete(2)
    outcome = _retire(job, 1, protected=(first.path,))
    assert isinstance(outcome, RetireResult)
    assert first.path in job.paths()
    assert _delete_orphans(job, protected=(first.path,)) == []
    assert _delete_orphans(job) == [first.path]


def test_no_file_is_deleted_if_the_manifest_of_a_kept_checkpoint_is_unreadable(job: RunningJob) -> None:
    for number in (1, 2, 3):
        job.complete(number)
    job.storage.put(job.layout.absolute("checkpoints/2/manifest-g1.json"), (b"{",))
    before = job.paths()
    with pytest.raises(CheckpointError, match="checkpoint 2"):
        _retire(job, 1)
    with pytest.raises(CheckpointError, match="checkpoint 2"):
        _delete_orphans(job)
    assert job.paths() == before


def test_files_of_a_retired_checkpoint_with_a_damaged_manifest_are_deleted_as_orphans(job: RunningJob) -> None:
    first = job.complete(1)
    job.complete(2)
    job.storage.put(job.layout.absolute("checkpoints/1/manifest-g1.json"), (b"{",))
    outcome = _retire(job, 1)
    assert isinstance(outcome, RetireResult)
    assert outcome.deleted == ("checkpoints/1/manifest-g1.json",)
    assert _delete_orphans(job) == [first.path]
    _assert_all_kept_can_be_restored(job.storage)


# ---- orphans ----------------------------------------------------------------------------------


def test_an_unreferenced_file_is_an_orphan_only_if_it_is_older_than_all_retained_checkpoints(job: RunningJob) -> None:
    aborted = job.write_state(1)
    kept = job.complete(2)
    aborted_later = job.write_state(3)
    kept_too = job.complete(4)
    in_flight = job.write_state(5)
    assert _delete_orphans(job) == [aborted.path]
    for file in (kept, aborted_later, kept_too, in_flight):
        assert file.path in job.paths()
    _retire(job, 2)
    assert _delete_orphans(job) == [aborted_later.path]
    assert in_flight.path in job.paths()


def test_orphans_that_are_newer_than_a_pinned_checkpoint_are_deleted(job: RunningJob) -> None:
    pinned_file = job.complete(1, savepoint=True)
    aborted = job.write_state(2)
    job.complete(3)
    assert _delete_orphans(job) == [aborted.path]
    assert pinned_file.path in job.paths()


def test_files_of_a_failed_attempt_are_kept_until_their_checkpoint_is_retired(job: RunningJob) -> None:
    attempt = job.write_state(1, attempt="declined")
    job.complete(1)
    assert _delete_orphans(job) == []
    job.complete(2)
    _retire(job, 1)
    assert _delete_orphans(job) == [attempt.path]


def test_the_files_of_a_retired_branch_are_deleted_although_older_checkpoints_are_retained(job: RunningJob) -> None:
    for number in (1, 2):
        job.complete(number)
    attempt = job.write_state(2, attempt="declined")
    job.start(2, restored_from=1)
    _retire(job, 2)
    assert _delete_orphans(job) == [attempt.path]


def test_the_files_of_an_abandoned_branch_are_kept(job: RunningJob) -> None:
    for number in (1, 2, 3):
        job.complete(number)
    job.start(2, restored_from=1)
    job.complete(4)
    _retire(job, 1)
    assert _delete_orphans(job) == []
    _assert_all_kept_can_be_restored(job.storage)


def test_the_files_of_a_newer_generation_are_kept_even_if_it_has_no_log_entry_yet(job: RunningJob) -> None:
    job.complete(7)
    successor = RunningJob(job.storage, generation=Generation(2))
    written = successor.write_state(2)
    assert _delete_orphans(job) == []
    successor.start(2, restored_from=7)
    assert _delete_orphans(job) == [written.path]


def test_the_log_and_staged_rows_and_unknown_files_are_never_deleted(job: RunningJob) -> None:
    unknown = ["state/per-route/notes.txt", "staged-splits/flights/part-0.arrow", "checkpoints/1/readme"]
    for path in unknown:
        job.storage.put(job.layout.absolute(path), (b"x",))
    for number in (2, 3):
        job.complete(number)
    _retire(job, 2)
    assert _delete_orphans(job) == []
    assert set(unknown) <= set(job.paths())
    assert JobLog(job.storage, job.layout).read()[1] == 5


def test_files_of_other_jobs_are_never_deleted(job: RunningJob) -> None:
    other = RunningJob(job.storage, layout=JobLayout(JOB + "2"))
    other.start(1)
    orphan = other.write_state(1)
    other.complete(9)
    job.complete(5)
    job.complete(6)
    assert _delete_orphans(job) == []
    assert orphan.path in other.paths()


# ---- a crash after each write ----------------------------------------------------------------


class _Crash(Exception):
    pass


class _CrashingStorage(MemoryStorage):
    """Storage that raises _Crash after ``steps_left`` steps. Each put, each create and each deleted object is a step."""

    steps_left: int | None = None

    def _step(self) -> None:
        if self.steps_left is not None:
            if self.steps_left == 0:
                raise _Crash
            self.steps_left -= 1

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        self._step()
        super().put(path, data)

    def create(self, path: str, data: bytes) -> bool:
        self._step()
        return super().create(path, data)

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._step()
            super().delete([path])


def _complete_retire_and_delete_orphans(job: RunningJob, base: StateFile) -> None:
    job.complete(4, also=(base,))
    _retire(job, *plan_retention(job.log.read()[0], keep=2))
    _delete_orphans(job)


def test_after_a_crash_at_any_step_the_next_run_can_restore_and_deletes_all_orphans() -> None:
    finished = False
    for cut in range(20):
        storage = _CrashingStorage()
        job = RunningJob(storage)
        job.start(1)
        base = job.complete(1)
        job.write_state(2, attempt="aborted")
        job.complete(2, also=(base,))
        job.complete(3, also=(base,))
        storage.steps_left = cut
        with suppress(_Crash):
            _complete_retire_and_delete_orphans(job, base)
        finished = storage.steps_left > 0
        storage.steps_left = None
        _assert_all_kept_can_be_restored(storage)

        after = RunningJob(storage)
        newest = after.log.read()[0].newest
        assert newest is not None
        assert newest.checkpoint in (3, 4)
        after.start(2, restored_from=newest.checkpoint)
        for number in (5, 6, 7):
            after.complete(number, also=(base,))
        _retire(after, *plan_retention(after.log.read()[0], keep=2))
        _delete_orphans(after)
        _assert_all_kept_can_be_restored(storage)
        needed = {
            file.path for record in after.log.view.kept for file in read_manifest(storage, LAYOUT, record).referenced_files()
        }
        manifests = {record.manifest_path for record in after.log.view.kept}
        assert set(after.paths()) == needed | manifests, f"an orphaned file is left after a crash at step {cut}"
    assert finished, "the last run must complete all steps without a crash"


def test_a_checkpoint_is_retired_in_the_log_before_its_first_file_is_deleted() -> None:
    """If a file were deleted before the log entry was written, a zombie could restore a checkpoint that lacks this file."""
    for cut in range(4):
        storage = _CrashingStorage()
        job = RunningJob(storage)
        job.start(1)
        for number in (1, 2):
            job.complete(number)
        all_paths = set(job.paths())
        storage.steps_left = cut
        with suppress(_Crash):
            _retire(job, 1)
        view, _ = JobLog(storage, LAYOUT).read()
        assert (set(job.paths()) == all_paths) or view.status(CheckpointId(1)) is CheckpointStatus.RETIRED


# ---- inspection -----------------------------------------------------------------------------------


def test_the_verification_of_an_intact_checkpoint_counts_its_files_and_bytes(job: RunningJob) -> None:
    base = job.complete(1)
    own = job.complete(2, also=(base,))
    report = verify(job.storage, job.layout, CheckpointId(2))
    assert (report.intact, report.files, report.bytes) == (True, 2, base.bytes + own.bytes)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda storage, path: storage.delete([path]), "is missing"),
        (lambda storage, path: storage.put(path, (storage.get(path)[:-1],)), "bytes"),
        (lambda storage, path: storage.put(path, (b"x" * storage.get(path).nbytes,)), "is damaged"),
    ],
)
def test_the_verification_of_a_checkpoint_lists_every_damaged_file(
    job: RunningJob, damage: Callable[[CheckpointStorage, str], None], reason: str
) -> None:
    base = job.complete(1)
    own = job.complete(2, also=(base,))
    for file in (base, own):
        damage(job.storage, job.layout.absolute(file.path))
    report = verify(job.storage, job.layout, CheckpointId(2))
    assert not report.intact
    assert {problem.path for problem in report.problems} == {job.layout.absolute(file.path) for file in (base, own)}
    assert all(reason in problem.problem for problem in report.problems)


def test_the_verification_of_a_checkpoint_reports_a_damaged_manifest(job: RunningJob) -> None:
    job.complete(1)
    job.storage.put(job.layout.absolute("checkpoints/1/manifest-g1.json"), (b"{}",))
    report = verify(job.storage, job.layout, CheckpointId(1))
    assert [problem.path for problem in report.problems] == [job.layout.absolute("checkpoints/1/manifest-g1.json")]


def test_the_list_of_checkpoints_shows_the_status_of_each_checkpoint(job: RunningJob) -> None:
    job.complete(1)
    job.complete(2, savepoint=True)
    job.complete(3)
    job.start(2, restored_from=2)
    file = job.complete(4)
    _retire(job, 1)
    listed = list_checkpoints(job.storage, job.layout)
    assert [(one.checkpoint, one.generation, one.status.value, one.pinned) for one in listed] == [
        (1, 1, "retired", False),
        (2, 1, "restorable", True),
        (3, 1, "abandoned", False),
        (4, 2, "restorable", False),
    ]
    assert (listed[-1].state_bytes, listed[-1].branch, listed[1].is_savepoint) == (file.bytes, "b2", True)


def test_the_jobs_in_a_storage_are_found_by_their_logs(job: RunningJob) -> None:
    job.storage.put("elsewhere/log.json", (b"x",))
    job.storage.put("not a job/log/00000001.json", (b"x",))
    RunningJob(job.storage, layout=JobLayout("b")).start(1)
    assert list_jobs(job.storage) == ("b", JOB)


def test_the_cache_keeps_only_the_references_of_the_checkpoints_in_the_latest_call() -> None:
    class Counting(MemoryStorage):
        manifests_read = 0

        def get(self, path: str) -> memoryview:
            self.manifests_read += "manifest" in path
            return super().get(path)

    storage = Counting()
    job = RunningJob(storage)
    job.start(1)
    for number in (1, 2, 3):
        job.complete(number)
    references, view = StateReferences(storage, LAYOUT), job.log.view
    for records, read in ((view.kept, 3), (view.kept, 3), (view.kept[1:], 3), (view.kept, 4)):
        references.of_all(records)
        assert storage.manifests_read == read


def test_the_listing_of_stored_objects_contains_their_sizes(job: RunningJob) -> None:
    file = job.write_state(1)
    found: list[StoredObject] = job.storage.list(job.layout.state)
    assert [(one.path, one.bytes) for one in found] == [(job.layout.absolute(file.path), file.bytes)]
