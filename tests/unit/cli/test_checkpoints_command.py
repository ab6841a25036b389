"""``weir checkpoints`` on what is damaged."""

from __future__ import annotations

import json

import pytest

from weir.cli import checkpoints
from weir.cli.exits import Exit
from weir.errors import CheckpointError, ConfigError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.joblog import GenerationStarted
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout
from weir.storage.memory import MemoryStorage


def test_a_log_that_cannot_be_read_is_damage(capsys: pytest.CaptureFixture[str]) -> None:
    storage = MemoryStorage()
    storage.create("job/log/00000001.json", b"{")
    assert checkpoints.choose_job(storage, None) == "job"
    assert checkpoints.show_verification(storage, "job", None, as_json=False) is Exit.DAMAGED
    assert "the log of job job: DAMAGED" in capsys.readouterr().out
    assert checkpoints.show_verification(storage, "job", CheckpointId(1), as_json=True) is Exit.DAMAGED
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["intact"], report["checkpoint"], report["problems"][0]["path"]) == (False, None, "job/log/")


def test_a_checkpoint_that_does_not_exist_is_a_wrong_argument() -> None:
    with pytest.raises(CheckpointError, match="checkpoint 9 does not exist"):
        checkpoints.show_verification(MemoryStorage(), "job", CheckpointId(9), as_json=False)


def test_a_job_whose_name_is_shortened_in_storage_is_found_with_and_without_its_name() -> None:
    storage, name = MemoryStorage(), "a." * 60 + "b"
    layout = JobLayout(name)
    JobLog(storage, layout).append(GenerationStarted(Generation(1), None, "b1", CheckpointId(1), "n1", 0), at=1)
    assert JobLayout(checkpoints.choose_job(storage, name)).root == layout.root
    assert JobLayout(checkpoints.choose_job(storage, None)).root == layout.root
    with pytest.raises(ConfigError, match="choose one with --job"):
        checkpoints.choose_job(storage, "other")
