"""Summarising and trimming the log, concurrent reads, and writes of processes that were paused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import pytest
from tests.unit.storage.storage_builders import JOB, completed, fold, nonce, pinned, retired, started

from weir.errors import CheckpointError, StorageError, Superseded, UnknownOutcome
from weir.protocol.job_log import Entry, LogSummarised
from weir.protocol.log_view import LogView
from weir.storage.base import CheckpointStorage, StoredObject
from weir.storage.inspection import list_checkpoints, list_jobs
from weir.storage.job_log import Appended, JobLog, NumberTaken
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage

LAYOUT = JobLayout(JOB)
HISTORY: tuple[Entry, ...] = (
    started(1), completed(1, 1), completed(1, 2), retired(1, 1), completed(1, 3), pinned(1, 2)
)  # fmt: skip
BASE = len(HISTORY) + 1


def _append(log: JobLog, entry: Entry) -> None:
    assert isinstance(log.append(entry, at=log.read()[1]), Appended)


def _summarise(log: JobLog) -> None:
    log.read()
    assert isinstance(log.summarise(log.view.generation, nonce=nonce(), timestamp_ms=0), Appended)


def _written(storage: CheckpointStorage, entries: Sequence[Entry] = HISTORY) -> JobLog:
    log = JobLog(storage, LAYOUT)
    for entry in entries:
        _append(log, entry)
    return log


def _numbers(storage: CheckpointStorage) -> list[int]:
    return [int(found.path[-13:-5]) for found in storage.list(LAYOUT.log)]


# ---- summaries -------------------------------------------------------------------------------


def test_a_trimmed_log_contains_only_the_summary_and_later_entries(storage: CheckpointStorage) -> None:
    log = _written(storage)
    assert log.unsummarised == len(HISTORY)
    before = log.view
    _summarise(log)
    assert (log.view, log.unsummarised) == (before, 0)
    assert log.trim() == len(HISTORY)
    _append(log, completed(1, 4))
    assert _numbers(storage) == [BASE, BASE + 1]
    assert JobLog(storage, LAYOUT).read() == (before.apply(completed(1, 4)), BASE + 2)
    assert [found.number for found in log.entries()] == [BASE, BASE + 1]
    assert list_jobs(storage) == (JOB,)
    assert [info.checkpoint for info in list_checkpoints(storage, LAYOUT)] == [1, 2, 3, 4]


def test_a_trim_after_a_second_summary_deletes_the_first_summary() -> None:
    storage = MemoryStorage()
    log = _written(storage)
    for checkpoint in range(4, 10):
        _append(log, completed(1, checkpoint))
        _summarise(log)
        log.trim()
        assert len(_numbers(storage)) == 1
    assert JobLog(storage, LAYOUT).read()[0] == log.view


def test_a_summary_whose_number_is_taken_deletes_no_entries() -> None:
    storage = MemoryStorage()
    log = _written(storage)
    _append(JobLog(storage, LAYOUT), completed(1, 4))
    assert isinstance(log.summarise(log.view.generation, nonce=nonce(), timestamp_ms=0), NumberTaken)
    assert log.trim() == 0
    _summarise(log)
    assert JobLog(storage, LAYOUT).read()[0].find(completed(1, 4).checkpoint) is not None


def test_a_superseded_run_cannot_summarise() -> None:
    storage = MemoryStorage()
    log = _written(storage)
    _append(JobLog(storage, LAYOUT), started(2, restored_from=3, first_checkpoint=9))
    stale = LogSummarised(log.view.generation, {}, nonce(), 0)
    log.read()
    with pytest.raises(Superseded):
        log.append(stale, at=log.next_number)


@pytest.mark.parametrize(
    ("generation", "view", "reason"),
    [
        (1, {"generation": "x"}, "its view is unreadable: LogView: .*generation"),
        (1, {"generation": 2}, "its view has generation 2"),
    ],
)
def test_an_invalid_summary_is_refused(generation: int, view: dict[str, object], reason: str) -> None:
    log = _written(MemoryStorage())
    with pytest.raises(CheckpointError, match=reason):
        log.append(LogSummarised(log.view.generation, view, nonce(), 0), at=log.next_number)  # type: ignore[arg-type]  # wrong on purpose


# ---- reading ---------------------------------------------------------------------------------


def test_a_reader_sees_the_same_view_after_any_part_of_a_trim() -> None:
    storage = MemoryStorage()
    log = _written(storage)
    _summarise(log)
    _append(log, completed(1, 4))
    complete = {found.path: storage.get(found.path) for found in storage.list(LAYOUT.log)}
    for size in range(BASE):
        for deleted in itertools.combinations(range(1, BASE), size):
            storage.delete([LAYOUT.log_entry(number) for number in deleted])
            assert JobLog(storage, LAYOUT).read() == (log.view, log.next_number), f"without entries {deleted}"
            for path, data in complete.items():
                storage.put(path, (data,))


@pytest.mark.parametrize("number", range(1, BASE))
def test_damage_to_an_entry_before_the_summary_has_no_effect(number: int) -> None:
    storage = MemoryStorage()
    log = _written(storage)
    _summarise(log)
    storage.put(LAYOUT.log_entry(number), (b"\0" * 100,))
    assert JobLog(storage, LAYOUT).read() == (log.view, log.next_number)
    log.trim()
    assert _numbers(storage) == [BASE]


def test_a_gap_after_the_summary_is_an_error() -> None:
    storage = MemoryStorage()
    log = _written(storage)
    _summarise(log)
    for checkpoint in (4, 5, 6):
        _append(log, completed(1, checkpoint))
    storage.delete([LAYOUT.log_entry(BASE + 2)])
    with pytest.raises(CheckpointError, match=r"has a gap: .*00000009.json is missing, but .*00000010.json exists.*backup"):
        JobLog(storage, LAYOUT).read()


def test_a_damaged_summary_is_reported() -> None:
    storage = MemoryStorage()
    log = _written(storage)
    _summarise(log)
    _append(log, completed(1, 4))
    storage.put(LAYOUT.log_entry(BASE), (b"{}",))
    with pytest.raises(CheckpointError, match=r"Entry 7 of the log .* is damaged.*00000007.json.*backup"):
        JobLog(storage, LAYOUT).read()


class _ObservedStorage:
    """The storage that one process uses. ``before`` is called before each step of a call.

    As in a file system, a listing first reads all names, then looks up each object and omits deleted objects.
    """

    url = "observed://"

    def __init__(self, storage: MemoryStorage, *, backwards: bool = False) -> None:
        self._storage = storage
        self._backwards = backwards
        self.before: Callable[[], None] = lambda: None

    def put(self, path: str, data: Sequence[bytes | memoryview]) -> None:
        raise AssertionError("log entries are never overwritten")

    def create(self, path: str, data: bytes) -> bool:
        self.before()
        return self._storage.create(path, data)

    def get(self, path: str) -> memoryview:
        self.before()
        return self._storage.get(path)

    def list(self, prefix: str) -> list[StoredObject]:
        self.before()
        names = self._storage.list(prefix)
        found: list[StoredObject] = []
        for one in reversed(names) if self._backwards else names:
            self.before()
            if one in self._storage.list(prefix):
                found.append(one)
        return sorted(found, key=lambda one: one.path)

    def delete(self, paths: Sequence[str]) -> None:
        self.before()
        self._storage.delete(paths)


class _Owner:
    """Runs the job in steps. Each step completes a checkpoint, summarises the log, or deletes an entry. Records each view of the
    log."""

    def __init__(self, storage: MemoryStorage, *, rounds: int) -> None:
        self._storage = storage
        self._log = _written(storage)
        self.views: dict[int, LogView] = {BASE: self._log.view}
        self._steps = self._all_steps(rounds)

    def step(self) -> bool:
        """Run the next step. Return False if all steps have run."""
        return next(self._steps, None) is not None

    def _all_steps(self, rounds: int) -> Iterator[str]:
        for checkpoint in range(4, 4 + 2 * rounds, 2):
            for one in (checkpoint, checkpoint + 1):
                _append(self._log, completed(1, one))
                self._record_view()
                yield "completed"
            _summarise(self._log)
            self._record_view()
            yield "summarised"
            for number in _numbers(self._storage):
                if number < self._log.next_number - 1:
                    self._storage.delete([LAYOUT.log_entry(number)])
                    yield "deleted"

    def _record_view(self) -> None:
        self.views[self._log.next_number] = self._log.view


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("has_read", [False, True], ids=["all entries", "new entries"])
@pytest.mark.parametrize("steps_per_call", [1, 2, 5, 11, 40])
def test_a_process_that_reads_the_log_during_a_trim_sees_a_consistent_log(
    steps_per_call: int, has_read: bool, backwards: bool
) -> None:
    for first_step in range(60):
        storage = MemoryStorage()
        owner = _Owner(storage, rounds=4)
        observed = _ObservedStorage(storage, backwards=backwards)
        reader = JobLog(observed, LAYOUT)
        if has_read:
            reader.read()
        calls = itertools.count()

        def run_steps(first_step: int = first_step, owner: _Owner = owner, calls: itertools.count[int] = calls) -> None:
            if next(calls) >= first_step:
                for _ in range(steps_per_call):
                    owner.step()

        at_least = owner.views[BASE].highest_checkpoint
        observed.before = run_steps
        view, number = reader.read()
        assert view == owner.views[number]
        assert view.highest_checkpoint >= at_least
        observed.before = lambda: None
        while owner.step():
            pass
        assert reader.read() == (owner.views[max(owner.views)], max(owner.views))


# ---- paused processes ----------------------------------------------------------------------------


def _paused_processes(storage: CheckpointStorage) -> dict[int, JobLog]:
    """Write ``HISTORY``. For each entry number, return a paused process that has read only the entries before this number."""
    paused: dict[int, JobLog] = {}
    writer = JobLog(storage, LAYOUT)
    for number, entry in enumerate(HISTORY, start=1):
        paused[number] = JobLog(storage, LAYOUT)
        paused[number].read()
        _append(writer, entry)
    return paused


def _start_successor_and_trim(storage: CheckpointStorage) -> JobLog:
    successor = JobLog(storage, LAYOUT)
    successor.read()
    _append(successor, started(2, restored_from=3, first_checkpoint=10))
    _append(successor, completed(2, 10))
    _summarise(successor)
    successor.trim()
    return successor


def _possible_entry(number: int) -> Entry:
    """Return a valid entry for a process that has read only the entries before ``number``."""
    return started(1) if number == 1 else completed(1, 9)


@pytest.mark.parametrize("number", range(1, BASE))
def test_a_paused_run_is_superseded_if_it_creates_an_entry_with_a_trimmed_number(storage: CheckpointStorage, number: int) -> None:
    paused_log = _paused_processes(storage)[number]
    successor = _start_successor_and_trim(storage)
    before = successor.read()
    entry = _possible_entry(number)
    for _ in range(2):
        with pytest.raises(Superseded, match="Another driver has taken over job .* generation is 2"):
            paused_log.append(entry, at=number)
    assert number in _numbers(storage), "the paused run created the entry"
    assert successor.read() == JobLog(storage, LAYOUT).read() == before
    _summarise(successor)
    successor.trim()
    assert _numbers(storage) == [successor.next_number - 1]


@pytest.mark.parametrize("number", range(4, BASE))
def test_the_entry_of_a_pin_must_be_appended_again_if_its_number_was_trimmed(storage: CheckpointStorage, number: int) -> None:
    user = _paused_processes(storage)[number]
    owner = JobLog(storage, LAYOUT)
    _summarise(owner)
    owner.trim()
    _append(owner, completed(1, 4))
    entry = pinned(1, 2, False)
    outcome = user.append(entry, at=number)
    assert outcome == NumberTaken((), owner.view, owner.next_number)
    assert owner.read()[0].pinned == (2,)
    assert isinstance(user.append(entry, at=outcome.next_number), Appended)
    assert owner.read()[0].pinned == ()


def test_a_generation_started_entry_with_a_trimmed_number_must_be_appended_again() -> None:
    storage = MemoryStorage()
    paused_log = _paused_processes(storage)[4]
    owner = JobLog(storage, LAYOUT)
    _summarise(owner)
    owner.trim()
    entry = started(2, restored_from=2, first_checkpoint=9)
    outcome = paused_log.append(entry, at=4)
    assert isinstance(outcome, NumberTaken)
    assert outcome.view.generation == 1
    assert isinstance(paused_log.append(entry, at=outcome.next_number), Appended)
    assert owner.read()[0].generation == 2


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("number", range(2, BASE))
def test_a_process_is_superseded_if_it_was_paused_while_it_checked_its_entry(number: int, backwards: bool) -> None:
    """During the pause, a newer summary is written and some or all older entries are deleted."""
    for pause, deletions in itertools.product(range(1, 9), range(12)):
        storage = MemoryStorage()
        observed = _ObservedStorage(storage, backwards=backwards)
        writer = JobLog(storage, LAYOUT)
        paused_log = JobLog(observed, LAYOUT)
        for position, entry in enumerate(HISTORY, start=1):
            if position == number:
                paused_log.read()
            _append(writer, entry)
        successor = _start_successor_and_trim(storage)
        calls = itertools.count()

        def run_steps(
            pause: int = pause,
            deletions: int = deletions,
            storage: MemoryStorage = storage,
            successor: JobLog = successor,
            calls: itertools.count[int] = calls,
        ) -> None:
            if next(calls) == pause:
                _append(successor, completed(2, 11))
                _summarise(successor)
                older = [one for one in _numbers(storage) if one < successor.next_number - 1]
                storage.delete([LAYOUT.log_entry(one) for one in older[:deletions]])

        observed.before = run_steps
        with pytest.raises(Superseded):
            paused_log.append(completed(1, 9), at=number)


class _Failing(MemoryStorage):
    """Storage whose next ``lists`` listings fail, and whose deletions fail after ``deletes`` objects."""

    lists = 0
    deletes: int | None = None

    def list(self, prefix: str) -> list[StoredObject]:
        if self.lists:
            self.lists -= 1
            raise StorageError("the connection was cut")
        return super().list(prefix)

    def delete(self, paths: Sequence[str]) -> None:
        for count, path in enumerate(paths):
            if count == self.deletes:
                raise StorageError("the connection was cut")
            super().delete([path])


def test_an_append_has_an_unknown_outcome_if_its_entry_cannot_be_checked() -> None:
    storage = _Failing()
    log = _written(storage)
    storage.lists = 1
    entry = completed(1, 4)
    with pytest.raises(UnknownOutcome, match="Entry 7 .* may or may not have been written"):
        log.append(entry, at=BASE)
    assert log.next_number == BASE
    outcome = log.append(entry, at=BASE)
    assert isinstance(outcome, Appended)
    assert outcome.number == BASE


def test_a_repeated_append_raises_superseded_if_a_newer_generation_has_trimmed_the_entry() -> None:
    storage = _Failing()
    log = _written(storage)
    storage.lists = 1
    entry = completed(1, 4)
    with pytest.raises(UnknownOutcome):
        log.append(entry, at=BASE)
    successor = JobLog(storage, LAYOUT)
    successor.read()
    _append(successor, started(2, restored_from=4, first_checkpoint=10))
    _summarise(successor)
    successor.trim()
    with pytest.raises(Superseded):
        log.append(entry, at=BASE)
    assert successor.view.newest is not None
    assert successor.view.newest.checkpoint == 4


def test_an_object_with_a_trimmed_number_does_not_count_as_a_log_entry() -> None:
    storage = MemoryStorage()
    log, entry = _written(storage), completed(1, 4)
    second_log = JobLog(storage, LAYOUT)
    _append(second_log, pinned(1, 3))
    assert isinstance(log.append(entry, at=BASE), NumberTaken)
    _summarise(second_log)
    second_log.trim()
    other_storage = MemoryStorage()
    _written(other_storage, (*HISTORY, entry))
    assert storage.create(LAYOUT.log_entry(BASE), bytes(other_storage.get(LAYOUT.log_entry(BASE))))
    assert isinstance(log.append(entry, at=BASE), NumberTaken)
    log.read()
    assert isinstance(log.append(entry, at=BASE), NumberTaken)


def test_the_next_trim_completes_an_interrupted_trim() -> None:
    storage = _Failing()
    log = _written(storage)
    _summarise(log)
    storage.deletes = 3
    with pytest.raises(StorageError):
        log.trim()
    assert _numbers(storage) == list(range(4, BASE + 1))
    assert JobLog(storage, LAYOUT).read()[0] == log.view == fold(*HISTORY)
    storage.deletes = None
    assert log.trim() == BASE - 4
