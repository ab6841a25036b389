"""``weir checkpoints`` on what is damaged."""

from __future__ import annotations

import json

import pytest

from weir.cli import checkpoints
from weir.cli.exits import Exit
from weir.errors import CheckpointError
from weir.protocol.ids import CheckpointId
from weir.storage.memory import MemoryStorage


def test_a_log_that_cannot_be_read_is_damage(capsys: pytest.CaptureFixture[str]) -> None:
    storage = MemoryStorage()
    storage.create("job/log/00000001.json", b"{")
    assert checkpoints.choose_job(storage, None) == "job"
    assert checkpoints.show_verification(storage, "job", None, as_json=False) is Exit.DAMAGED
    assert "the log of job job: DAMAGED" in capsys.readouterr().out
    assert checkpoints.show_verification(storage, "job", CheckpointId(1), as_json=True) is Exit.DAMAGED
    (report,) = json.loads(capsys.readouterr().out)
    assert report["intact"] is False


def test_a_checkpoint_that_does_not_exist_is_a_wrong_argument() -> None:
    with pytest.raises(CheckpointError, match="checkpoint 9 does not exist"):
        checkpoints.show_verification(MemoryStorage(), "job", CheckpointId(9), as_json=False)
