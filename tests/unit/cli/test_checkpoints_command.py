"""``weir checkpoints DIR`` with damaged storage, missing checkpoints and long job names."""

from __future__ import annotations

import json

import pytest
from tests.unit.storage.storage_builders import JOB, RunningJob, retired

from weir.cli import checkpoints
from weir.cli.exit_codes import Exit
from weir.errors import CheckpointError, ConfigError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import GenerationStarted
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage


def test_an_unreadable_job_log_is_reported_as_damaged(capsys: pytest.CaptureFixture[str]) -> None:
    storage = MemoryStorage()
    storage.create("job/log/00000001.json", b"{")
    assert checkpoints.choose_job(storage, None) == "job"
    assert checkpoints.print_verification(storage, "job", None, as_json=False) is Exit.DAMAGED
    assert "Log of job 'job': DAMAGED" in capsys.readouterr().out
    assert checkpoints.print_verification(storage, "job", CheckpointId(1), as_json=True) is Exit.DAMAGED
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["intact"], report["checkpoint"], report["problems"][0]["path"]) == (False, None, "job/log/")


def test_the_id_of_a_checkpoint_that_does_not_exist_is_refused() -> None:
    with pytest.raises(CheckpointError, match="checkpoint 9 does not exist"):
        checkpoints.print_verification(MemoryStorage(), "job", CheckpointId(9), as_json=False)


def test_a_job_with_a_shortened_name_in_storage_is_found_by_its_full_name_or_as_the_only_job() -> None:
    storage, name = MemoryStorage(), "a." * 60 + "b"
    layout = JobLayout(name)
    JobLog(storage, layout).append(GenerationStarted(Generation(1), None, "b1", CheckpointId(1), "n1", 0), at=1)
    assert JobLayout(checkpoints.choose_job(storage, name)).root == layout.root
    assert JobLayout(checkpoints.choose_job(storage, None)).root == layout.root
    with pytest.raises(ConfigError, match="Choose a job with --job"):
        checkpoints.choose_job(storage, "other")


class _RetiringStorage(MemoryStorage):
    """The storage of a running job. Before the first read of a path that contains ``before``, the job retires checkpoint 1 and
    deletes the files of this checkpoint."""

    before = ""

    def get(self, path: str) -> memoryview:
        if self.before and self.before in path:
            self.before = ""
            job = RunningJob(self)
            job.append(retired(1, 1))
            self.delete([one.path for one in self.list(job.layout.root) if "g1-c1-" in one.path or "checkpoints/1/" in one.path])
        return super().get(path)


def retiring(before: str) -> MemoryStorage:
    storage = _RetiringStorage()
    job = RunningJob(storage)
    job.start(1)
    for number in (1, 2):
        job.complete(number)
    storage.before = before
    return storage


@pytest.mark.parametrize("before", ["manifest", "/state/"])
def test_a_checkpoint_that_a_running_job_retires_is_not_reported_as_damaged(
    before: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checkpoints.print_verification(retiring(before), JOB, None, as_json=False) is Exit.OK
    assert capsys.readouterr().out.startswith("Checkpoint 2: verified")
    with pytest.raises(CheckpointError, match="checkpoint 1 is retired"):
        checkpoints.print_verification(retiring(before), JOB, CheckpointId(1), as_json=False)


def test_a_checkpoint_that_a_running_job_retires_is_not_shown_as_missing() -> None:
    with pytest.raises(CheckpointError, match="checkpoint 1 is retired"):
        checkpoints.print_one(retiring("manifest"), JOB, CheckpointId(1), as_json=True)
