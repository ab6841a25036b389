from __future__ import annotations

from pathlib import Path

import pytest
import small_job
from runs import Runs
from weir_command import ROOT, enforce_permissions, refuse_tracebacks, weir

from weir.coordinator.start import FromCheckpoint, Resume
from weir.errors import CheckpointError, ConfigError, RestoreError
from weir.kernel.effects import JobOutcome

pytestmark = pytest.mark.spark
JOB = ROOT / "tests" / "integration" / "cli" / "small_job.py"


def run_arguments(runs: Runs, *more: str) -> list[str | Path]:
    settings = ["--set", f"input={runs.input}", "--set", f"output={runs.output}"]
    return ["run", JOB, *settings, "--checkpoint-dir", runs.checkpoints, *more]


def test_a_read_only_checkpoint_directory_is_refused(runs: Runs) -> None:
    runs.checkpoints.mkdir(mode=0o555)
    result = weir(*run_arguments(runs), before=enforce_permissions)
    assert result.code == 2
    assert f"Cannot use checkpoint storage file://{runs.checkpoints}" in result.message
    assert f"Make {runs.checkpoints} writable for user id" in result.message
    assert not runs.output.exists()


def test_a_read_only_output_directory_is_refused_before_the_job_starts(runs: Runs) -> None:
    runs.output.mkdir(mode=0o555)
    result = weir(*run_arguments(runs), before=enforce_permissions)
    assert result.code == 2
    assert "sink" in result.message and f"{runs.output} is not writable" in result.message
    assert not runs.checkpoints.exists()


def test_a_file_instead_of_a_checkpoint_directory_is_refused(runs: Runs) -> None:
    runs.checkpoints.write_text("a file")
    with pytest.raises(ConfigError, match="A file has the name of"):
        runs.run()


def test_a_damaged_checkpoint_fails_the_job_and_an_older_checkpoint_is_restorable(
    suspended: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    before = suspended.committed()
    older, newest = suspended.restorable()[-2:]
    damaged = next((suspended.checkpoints / "small" / "state" / "packed.slots").glob(f"g*-c{newest}-*"))
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 0x10
    damaged.write_bytes(data)
    result = suspended.run(start=Resume())
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (JobOutcome.FAILED, "CheckpointError")
    assert f"Cannot restore checkpoint {newest}" in result.reason
    assert f"{damaged} is damaged at byte " in result.reason
    assert "restore another checkpoint with --from" in result.reason
    assert suspended.committed() == before

    suspended.check_finishes(start=FromCheckpoint(older))


def test_a_rollback_to_a_damaged_checkpoint_is_refused_and_abandons_nothing(suspended: Runs) -> None:
    before = suspended.committed()
    older, *newer = suspended.restorable()
    damaged = next((suspended.checkpoints / "small" / "state" / "packed.slots").glob(f"g*-c{older}-*"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    stored = {path for path in suspended.checkpoints.rglob("*") if path.is_file()}
    result = weir(*run_arguments(suspended, "--from", str(older), "--yes"))
    assert result.code == 2
    assert f"Cannot restore checkpoint {older}: {damaged.as_uri()} has " in result.message
    assert "Nothing was changed" in result.message
    assert {path for path in suspended.checkpoints.rglob("*") if path.is_file()} == stored
    assert suspended.restorable() == [older, *newer]
    assert suspended.committed() == before

    suspended.check_finishes(start=Resume())


def test_a_truncated_manifest_is_refused_and_an_older_checkpoint_is_restorable(suspended: Runs) -> None:
    before = suspended.committed()
    older, newest = suspended.restorable()[-2:]
    manifest = next((suspended.checkpoints / "small" / "checkpoints" / str(newest)).iterdir())
    manifest.write_bytes(manifest.read_bytes()[:200])
    result = weir(*run_arguments(suspended, "--resume"))
    assert result.code == 2
    assert f"checkpoint {newest}" in result.message and f"{manifest}" in result.message
    assert "damaged or truncated (200 bytes" in result.message and "--from" in result.message
    assert suspended.committed() == before

    suspended.check_finishes(start=FromCheckpoint(older))


def test_a_damaged_log_entry_is_refused_with_its_file_name(suspended: Runs) -> None:
    before = suspended.committed()
    entry = sorted((suspended.checkpoints / "small" / "log").iterdir())[2]
    entry.write_bytes(entry.read_bytes()[:-20])
    with pytest.raises(CheckpointError, match=entry.name):
        suspended.run(start=Resume())
    assert suspended.committed() == before


def test_a_missing_checkpoint_is_refused_with_a_list_of_the_restorable_checkpoints(suspended: Runs) -> None:
    kept = [str(one) for one in suspended.restorable()]
    result = weir(*run_arguments(suspended, "--from", "777", "--yes"))
    assert result.code == 2
    assert "777" in result.message and ", ".join(kept) in result.message


def test_the_refusal_of_an_incompatible_graph_names_the_operator(suspended: Runs) -> None:
    before = suspended.committed()
    with pytest.raises(
        RestoreError,
        match=r"aggregate 'sums' .at small_job.py:\d+. is keyed by .number., but its state .* is keyed by .key.. "
        r"Restore the old key and aggregates, or give aggregate 'sums' a new uid and pass --allow-non-restored-state",
    ):
        suspended.run(small_job.by_other_key, start=Resume())
    with pytest.raises(RestoreError, match=r"the checkpoint has state of aggregate 'sums'.*which the graph no longer has"):
        suspended.run(small_job.failing, start=Resume())
    assert suspended.committed() == before
    suspended.check_finishes(start=Resume())


def test_a_job_with_checkpoints_is_refused_without_the_option_resume_or_from(suspended: Runs) -> None:
    before = suspended.committed()
    with pytest.raises(ConfigError, match="already exists in .*resume it with --resume, roll back with --from ID"):
        suspended.run()
    assert suspended.committed() == before
