"""The job log in storage: concurrent appends, lost responses and damaged entries."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.unit.storage.storage_builders import JOB, completed, pinned, retired, started

from weir.errors import CheckpointError, StorageError, StorageFull, Superseded, UnknownOutcome
from weir.protocol.job_log import Entry, GenerationStarted
from weir.storage import local
from weir.storage.base import CheckpointStorage
from weir.storage.job_log import CREATE_ATTEMPTS_MAX, Appended, JobLog, NumberTaken
from weir.storage.layout import JobLayout, log_number
from weir.storage.local import LocalStorage
from weir.storage.memory import MemoryStorage

LAYOUT = JobLayout(JOB)


def _log_of_three(storage: CheckpointStorage) -> JobLog:
    log = JobLog(storage, LAYOUT)
    entries: tuple[Entry, ...] = (started(1), completed(1, 1), completed(1, 2))
    for number, entry in enumerate(entries, start=1):
        assert isinstance(log.append(entry, at=number), Appended)
    return log


def test_a_process_reads_the_entries_of_another_process(storage: CheckpointStorage) -> None:
    written = _log_of_three(storage)
    view, next_number = JobLog(storage, LAYOUT).read()
    assert next_number == 4
    assert view == written.view
    assert [found.path for found in storage.list(LAYOUT.log)] == [LAYOUT.log_entry(number) for number in (1, 2, 3)]


def test_a_second_read_of_the_log_loads_only_new_entries() -> None:
    class Recording(MemoryStorage):
        def __init__(self) -> None:
            super().__init__()
            self.fetched: set[int | None] = set()

        def get(self, path: str) -> memoryview:
            self.fetched.add(log_number(LAYOUT.relative(path)))
            return super().get(path)

    storage = Recording()
    writer = _log_of_three(storage)
    reader = JobLog(storage, LAYOUT)
    reader.read()
    writer.append(completed(1, 3), at=4)
    storage.fetched.clear()
    view, next_number = reader.read()
    assert (view.newest and view.newest.checkpoint, next_number) == (3, 5)
    assert storage.fetched == {4, 5}


def test_an_append_at_a_number_that_is_taken_returns_all_new_entries(storage: CheckpointStorage) -> None:
    old, new = _log_of_three(storage), JobLog(storage, LAYOUT)
    new.read()
    fence = started(2, restored_from=2, first_checkpoint=4)
    pin = pinned(2, 1)
    new.append(fence, at=4)
    new.append(pin, at=5)
    outcome = old.append(completed(1, 3), at=4)
    assert isinstance(outcome, NumberTaken)
    assert [(found.number, found.entry) for found in outcome.entries] == [(4, fence), (5, pin)]
    assert (outcome.view.generation, outcome.next_number) == (2, 6)


def test_a_driver_that_was_paused_cannot_complete_its_checkpoint_if_another_driver_has_started(
    storage: CheckpointStorage,
) -> None:
    paused, successor = _log_of_three(storage), JobLog(storage, LAYOUT)
    successor.read()
    successor.append(started(2, restored_from=1, branch="b2", first_checkpoint=4), at=4)
    entry = completed(1, 3)
    assert isinstance(paused.append(entry, at=4), NumberTaken)
    for number in (4, 5):
        with (
            pytest.raises(Superseded, match="Another driver has taken over job .* generation is 2")
            if number == 5
            else _no_error()
        ):
            assert isinstance(paused.append(entry, at=number), NumberTaken)
    assert JobLog(storage, LAYOUT).read()[0].status(entry.checkpoint) is None


class _no_error:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_an_entry_that_is_appended_twice_is_in_the_log_once(storage: CheckpointStorage) -> None:
    log = _log_of_three(storage)
    entry = completed(1, 3)
    for attempt in range(2):
        outcome = log.append(entry, at=4)
        assert isinstance(outcome, Appended), f"attempt {attempt}"
        assert outcome.number == 4
    assert log.read()[1] == 5


def test_an_entry_can_be_appended_at_the_next_number_if_its_number_is_taken(
    storage: CheckpointStorage,
) -> None:
    run, user = _log_of_three(storage), JobLog(storage, LAYOUT)
    user.read()
    user.append(pinned(1, 1), at=4)
    entry = completed(1, 3)
    lost = run.append(entry, at=4)
    assert isinstance(lost, NumberTaken)
    assert lost.view.generation == 1
    assert isinstance(run.append(entry, at=lost.next_number), Appended)


def test_exactly_one_append_succeeds_if_several_processes_append_at_the_same_number(
    open_again: Callable[[], CheckpointStorage],
) -> None:
    _log_of_three(open_again())
    writers = 4

    def append_three(writer: int) -> list[tuple[int, str]]:
        log, number = JobLog(open_again(), LAYOUT), 4
        won: list[tuple[int, str]] = []
        log.read()
        while len(won) < 3:
            entry = pinned(1, 1 + writer % 2)
            outcome = log.append(entry, at=number)
            if isinstance(outcome, Appended):
                won.append((outcome.number, entry.nonce))
            else:
                assert outcome.entries[0].number == number
                assert outcome.entries[0].entry.nonce != entry.nonce
            number = outcome.next_number
        return won

    with ThreadPoolExecutor(writers) as pool:
        won = sorted(pair for pairs in pool.map(append_three, range(writers)) for pair in pairs)
    assert [number for number, _ in won] == list(range(4, 4 + 3 * writers))
    log = JobLog(open_again(), LAYOUT)
    assert log.read()[1] == 4 + 3 * writers
    assert [(found.number, found.entry.nonce) for found in log.entries(first=4)] == won


_APPEND_GENERATIONS = """
import sys
from weir.protocol.job_log import Entry, GenerationStarted
from weir.storage.job_log import Appended, JobLog
from weir.storage.layout import JobLayout
from weir.storage.local import LocalStorage
root, job, name = sys.argv[1:]
log = JobLog(LocalStorage(root), JobLayout(job))
view, number = log.read()
print("ready", flush=True)
sys.stdin.readline()
won = []
while view.generation < 12:
    entry = GenerationStarted(view.next_generation, None, "b1", view.next_checkpoint, f"{name}-{view.next_generation}", 0)
    outcome = log.append(entry, at=number)
    if isinstance(outcome, Appended):
        won.append(entry.generation)
    view, number = outcome.view, outcome.next_number
print(*won)
"""


def test_processes_that_start_at_the_same_time_get_different_generations(tmp_path: Path) -> None:
    script = [sys.executable, "-c", _APPEND_GENERATIONS, str(tmp_path), JOB]
    writers = [
        subprocess.Popen([*script, str(writer)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for writer in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    won = {str(index): list(map(int, writer.communicate("go\n")[0].split())) for index, writer in enumerate(writers)}
    assert sorted(generation for generations in won.values() for generation in generations) == list(range(1, 13))
    for found in JobLog(LocalStorage(tmp_path), LAYOUT).entries():
        assert isinstance(found.entry, GenerationStarted)
        winner, generation = found.entry.nonce.split("-")
        assert int(generation) in won[winner]


class _LostResponseStorage(MemoryStorage):
    """Storage in which the first ``len(written)`` calls of ``create`` raise ``error``. ``written`` says for
    each failing call whether the call still writes its object."""

    def __init__(self, written: list[bool], *, failing_gets: bool = False, error: type[StorageError] = UnknownOutcome) -> None:
        super().__init__()
        self.written = written
        self.failing_gets = failing_gets
        self.error = error

    def create(self, path: str, data: bytes) -> bool:
        if self.written:
            if self.written.pop(0):
                super().create(path, data)
            raise self.error("the connection was cut")
        return super().create(path, data)

    def get(self, path: str) -> memoryview:
        if self.failing_gets:
            raise StorageError("the connection was cut")
        return super().get(path)


@pytest.mark.parametrize("written", [[True], [False], [False, True], [False, False], [True, True]])
def test_a_process_finds_the_outcome_of_an_append_without_a_response_by_repeating_the_append(written: list[bool]) -> None:
    storage = _LostResponseStorage(list(written))
    log = JobLog(storage, LAYOUT)
    outcome = log.append(started(1), at=1)
    assert isinstance(outcome, Appended)
    assert (outcome.view.generation, outcome.next_number) == (1, 2)
    assert len(storage.list("")) == 1


def test_an_append_has_an_unknown_outcome_if_all_its_attempts_fail() -> None:
    storage = _LostResponseStorage([False] * CREATE_ATTEMPTS_MAX)
    log, entry = JobLog(storage, LAYOUT), started(1)
    with pytest.raises(UnknownOutcome, match="Entry 1 of the log of job 'route delays/2026' may or may not have been written"):
        log.append(entry, at=1)
    assert isinstance(log.append(entry, at=1), Appended)


def test_a_repeated_append_finds_the_entry_that_an_earlier_attempt_wrote() -> None:
    storage = _LostResponseStorage([False] * CREATE_ATTEMPTS_MAX)
    log, entry = JobLog(storage, LAYOUT), started(1)
    with pytest.raises(UnknownOutcome):
        log.append(entry, at=1)
    JobLog(storage, LAYOUT).append(entry, at=1)
    log.read()
    assert isinstance(log.append(entry, at=1), Appended)


def test_an_append_has_an_unknown_outcome_if_its_entry_cannot_be_read_back() -> None:
    storage = _LostResponseStorage([True])
    log, entry = JobLog(storage, LAYOUT), started(1)
    storage.failing_gets = True
    with pytest.raises(UnknownOutcome):
        log.append(entry, at=1)
    storage.written, storage.error = [False], StorageFull
    with pytest.raises(UnknownOutcome):
        log.append(entry, at=1)
    storage.failing_gets = False
    assert isinstance(log.append(entry, at=1), Appended)


class _FailingSyncs(MemoryStorage):
    """While ``fails`` is True, ``create`` writes the object, but raises UnknownOutcome as if the sync had failed."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = True

    def create(self, path: str, data: bytes) -> bool:
        created = super().create(path, data)
        if self.fails:
            raise UnknownOutcome(f"{path} may not be durable")
        return created


def test_an_entry_whose_sync_fails_does_not_count_as_appended_even_if_it_is_readable() -> None:
    storage = _FailingSyncs()
    log, entry = JobLog(storage, LAYOUT), started(1)
    for _ in range(2):
        with pytest.raises(UnknownOutcome, match="may not be durable"):
            log.append(entry, at=1)
    assert JobLog(storage, LAYOUT).read()[0].generation == 1
    storage.fails = False
    assert isinstance(log.append(entry, at=1), Appended)


def test_the_view_contains_an_entry_of_this_process_only_after_the_entry_is_durable() -> None:
    """Garbage collection deletes files according to the view, so the view must contain only durable entries."""
    storage = _FailingSyncs()
    log, entry = JobLog(storage, LAYOUT), started(1)
    with pytest.raises(UnknownOutcome):
        log.append(entry, at=1)
    with pytest.raises(UnknownOutcome):
        log.read()
    assert log.view.generation == 0
    storage.fails = False
    assert log.read()[0].generation == 1
    assert isinstance(log.append(entry, at=1), Appended)


def test_a_process_that_only_reads_the_log_writes_nothing() -> None:
    storage = _FailingSyncs()
    with pytest.raises(UnknownOutcome):
        JobLog(storage, LAYOUT).append(started(1), at=1)
    assert JobLog(storage, LAYOUT).read()[1] == 2


def test_an_entry_does_not_count_as_appended_if_the_disk_fails_to_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, entry = JobLog(LocalStorage(tmp_path), LAYOUT), started(1)
    with monkeypatch.context() as patched:

        def failing(directory: Path) -> None:
            raise OSError(errno.EIO, "Input/output error")

        patched.setattr(local, "_fsync_directory", failing)
        with pytest.raises(UnknownOutcome, match="Entry 1 .* cannot sync its directory"):
            log.append(entry, at=1)
    assert isinstance(log.append(entry, at=1), Appended)


def test_an_append_to_a_full_disk_raises_storage_full_and_writes_no_entry() -> None:
    storage = _LostResponseStorage([False], error=StorageFull)
    log = JobLog(storage, LAYOUT)
    with pytest.raises(StorageFull):
        log.append(started(1), at=1)
    assert isinstance(log.append(started(1), at=1), Appended)


def test_an_append_without_a_response_detects_that_another_process_has_taken_the_number() -> None:
    storage = _LostResponseStorage([])
    first_log, second_log = JobLog(storage, LAYOUT), JobLog(storage, LAYOUT)
    second_log.append(started(1), at=1)
    storage.written = [False]
    outcome = first_log.append(started(1), at=1)
    assert isinstance(outcome, NumberTaken)
    assert outcome.next_number == 2


def test_an_entry_that_contradicts_the_log_is_not_written(storage: CheckpointStorage) -> None:
    log = _log_of_three(storage)
    with pytest.raises(CheckpointError, match="CheckpointRetired cannot be entry 4.*newest"):
        log.append(retired(1, 2), at=4)
    assert JobLog(storage, LAYOUT).read()[1] == 4


def test_appending_beyond_the_end_of_the_log_is_a_programming_error(storage: CheckpointStorage) -> None:
    with pytest.raises(AssertionError, match="gap"):
        _log_of_three(storage).append(completed(1, 3), at=5)


def test_a_gap_in_the_log_is_an_error(storage: CheckpointStorage) -> None:
    _log_of_three(storage)
    storage.delete([LAYOUT.log_entry(2)])
    with pytest.raises(CheckpointError, match=r"has a gap: .*00000002.json is missing, but .*00000003.json exists.*backup"):
        JobLog(storage, LAYOUT).read()


def test_any_damage_to_a_log_entry_is_detected() -> None:
    storage = MemoryStorage()
    _log_of_three(storage)
    path = LAYOUT.log_entry(2)
    content = bytes(storage.get(path))
    end = len(content.rstrip())
    cut = [content[:length] for length in range(end)]
    flipped = [content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :] for position in range(end)]
    for damaged in (*cut, *flipped, b"null", b"[]", b'{"checksum":"xxh3:0","entry":{}}'):
        storage.put(path, (damaged,))
        with pytest.raises(CheckpointError, match=r"Entry 2 of the log of job .* is damaged.*00000002.json.*backup"):
            JobLog(storage, LAYOUT).read()


def test_a_log_entry_of_a_newer_version_is_refused() -> None:
    storage = MemoryStorage()
    _log_of_three(storage)
    from weir.storage.base import checksum

    text = b'{"format":2,"entry":"GenerationStarted"}'
    storage.put(LAYOUT.log_entry(4), (b'{"checksum":"%s","entry":%s}' % (checksum((text,)).encode(), text),))
    with pytest.raises(CheckpointError, match="newer"):
        JobLog(storage, LAYOUT).read()


def test_the_error_for_a_contradictory_log_names_the_entry() -> None:
    storage = MemoryStorage()
    _log_of_three(storage)
    storage.put(LAYOUT.log_entry(4), (storage.get(LAYOUT.log_entry(3)),))
    with pytest.raises(CheckpointError, match=r"contradicts itself at .*00000004.json.*already used"):
        JobLog(storage, LAYOUT).read()


def test_a_log_entry_is_readable_json() -> None:
    storage = MemoryStorage()
    _log_of_three(storage)
    value = json.loads(bytes(storage.get(LAYOUT.log_entry(2))))
    assert value["entry"]["entry"] == "CheckpointCompleted"
    assert value["entry"]["checkpoint"] == 1


def test_the_error_for_an_entry_of_a_newer_version_does_not_recommend_a_backup(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryStorage()
    monkeypatch.setattr("weir.protocol.job_log.LOG_FORMAT", 99)
    JobLog(storage, LAYOUT).append(started(1), at=1)
    monkeypatch.undo()
    with pytest.raises(
        CheckpointError, match=r"This version of Weir cannot read entry 1 of the log of job .*00000001.json.*format 99"
    ) as error:
        JobLog(storage, LAYOUT).read()
    assert "Upgrade Weir" in str(error.value) and "backup" not in str(error.value)
