"""A split list is one state file with all splits of a source. The manifests of all checkpoints refer to the split list."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from tests.unit.storage.storage_builders import RunningJob, retired

from weir.errors import CheckpointError
from weir.kernel.split_assigner import SplitList
from weir.protocol.ids import CheckpointId
from weir.protocol.job_log import CheckpointRetired
from weir.protocol.snapshots import Split
from weir.storage.garbage_collection import delete_orphans, retire_and_delete
from weir.storage.inspection import verify
from weir.storage.memory import MemoryStorage
from weir.storage.split_lists import read_split_list
from weir.storage.state_files import PACKED_BYTES_MAX, StateReader

SPLITS = tuple(
    Split(f"{number}", {"file": f"/data/{number:06d}.jsonl", "size": number, "names": ["ä", None]}) for number in range(3)
)


@pytest.fixture
def job() -> RunningJob:
    job = RunningJob(MemoryStorage())
    job.start(1)
    return job


def read(job: RunningJob, listed: SplitList) -> SplitList:
    with StateReader(job.storage, job.layout, CheckpointId(1)) as reader:
        return read_split_list(reader, listed.reference)


def test_a_written_split_list_is_read_back_with_the_index_of_each_split(job: RunningJob) -> None:
    listed = job.list_splits(1, *SPLITS)
    assert read(job, listed) == listed
    assert [split.index for split in listed.splits] == [0, 1, 2]
    assert [(split.id, split.payload) for split in listed.splits] == [(split.id, split.payload) for split in SPLITS]
    assert read(job, job.list_splits(1)).splits == ()


def test_a_split_list_is_an_arrow_file_that_other_tools_can_read(job: RunningJob) -> None:
    file = job.list_splits(1, *SPLITS).file
    data = job.storage.get(job.layout.absolute(file.path))[file.offset : file.offset + file.bytes]
    table = pa.ipc.open_file(data).read_all()
    assert table["id"].to_pylist() == ["0", "1", "2"]
    assert table["payload"][1].as_py() == '{"file":"/data/000001.jsonl","size":1,"names":["ä",null]}'
    assert file.rows == 3


def test_a_split_list_is_compressed_and_a_large_split_list_is_a_separate_object(job: RunningJob) -> None:
    many = [Split(f"/data/{number:06d}.jsonl", {"size": number % 7}) for number in range(20_000)]
    assert job.list_splits(1, *many).file.bytes < 20_000 * 10
    rng = random.Random(0)
    listed = job.list_splits(1, *(Split(f"{number}", rng.randbytes(1_000).hex()) for number in range(PACKED_BYTES_MAX // 900)))
    assert listed.file.path.startswith("state/flights/g1-c1-s0-splits.") and listed.file.path.endswith(".arrow")
    assert read(job, listed) == listed


def test_the_error_for_a_missing_or_damaged_split_list_names_the_file(job: RunningJob) -> None:
    listed = job.list_splits(1, *SPLITS)
    path = job.layout.absolute(listed.file.path)
    content = bytes(job.storage.get(path))
    job.storage.put(path, (content.replace(b"id", b"di"),))
    with pytest.raises(CheckpointError, match=r"Cannot restore checkpoint 1: .*-splits\..*\.pack is damaged.*--from"):
        read(job, listed)
    job.storage.delete([path])
    with pytest.raises(CheckpointError, match=r"-splits\..*\.pack is missing"):
        read(job, listed)


def test_verification_reads_the_split_list(job: RunningJob) -> None:
    listed = job.list_splits(1, *SPLITS)
    job.complete(1, split_list=listed.file)
    assert verify(job.storage, job.layout, CheckpointId(1)).intact
    job.storage.delete([job.layout.absolute(listed.file.path)])
    (problem,) = verify(job.storage, job.layout, CheckpointId(1)).problems
    assert (problem.path, problem.problem) == (job.layout.absolute(listed.file.path), "is missing")


def test_a_split_list_is_kept_until_the_last_checkpoint_with_this_list_is_retired(job: RunningJob) -> None:
    unused, listed = job.list_splits(1, *SPLITS).file, job.list_splits(1, *SPLITS).file
    for checkpoint in range(1, 4):
        job.complete(checkpoint, split_list=listed)
    entry = retired(1, 1, 2)
    assert isinstance(entry, CheckpointRetired)
    retire_and_delete(job.storage, job.layout, job.log, entry, at=job.log.next_number, references=job.references)
    deleted = delete_orphans(job.storage, job.layout, job.log.view, references=job.references)
    assert listed.path in job.paths()
    assert [one.path for one in deleted] == [job.layout.absolute(unused.path)], "only the unused split list is deleted"
    job.complete(4)
    last = retired(1, 3)
    assert isinstance(last, CheckpointRetired)
    retire_and_delete(job.storage, job.layout, job.log, last, at=job.log.next_number, references=job.references)
    assert listed.path not in job.paths()
