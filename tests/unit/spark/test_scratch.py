from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weir.spark.session import ScratchDirectory

DYING = "import os; import weir.spark.session as s; s._BASE_BYTES_MAX = 200; print(s.ScratchDirectory().path, flush=True); os.kill(os.getpid(), 9)"


@pytest.fixture(autouse=True)
def _own_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("weir.spark.session._BASE_BYTES_MAX", len(str(tmp_path)))


def _age(path: Path) -> None:
    os.utime(path, (0, 0))


def test_the_next_session_deletes_the_scratch_directory_of_a_killed_process(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", DYING], capture_output=True, text=True, check=False)
    abandoned = Path(ran.stdout.strip())
    assert abandoned.is_dir() and abandoned.parent == tmp_path
    _age(abandoned)
    scratch = ScratchDirectory()
    assert not abandoned.exists()
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_the_scratch_directory_of_a_running_process_is_kept() -> None:
    living = ScratchDirectory()
    _age(living.path)
    other = ScratchDirectory()
    assert living.path.is_dir()
    other.close()
    living.close()


def test_a_temporary_directory_whose_path_is_too_long_for_sockets_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 40)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    scratch = ScratchDirectory()
    assert scratch.path.parent == Path("/tmp")
    assert len(f"{scratch.path}/.00000000-0000-0000-0000-000000000000.sock") <= 107
    scratch.close()


def test_other_users_cannot_read_the_scratch_directory() -> None:
    scratch = ScratchDirectory()
    assert (scratch.path.stat().st_mode & 0o777) == 0o700
    scratch.close()
