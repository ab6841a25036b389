from __future__ import annotations

from pathlib import Path

import pytest
import small_job
from runs import Runs
from weir_command import ROOT, let_permissions_hold, refuse_tracebacks, weir

from weir.coordinator.start import FromCheckpoint, Resume
from weir.errors import CheckpointError, ConfigError, RestoreError
from weir.kernel.effects import Outcome

pytestmark = pytest.mark.spark
JOB = ROOT / "tests" / "integration" / "cli" / "small_job.py"


def run_by_command(runs: Runs, *more: str) -> list[str | Path]:
    settings = ["--set", f"input={runs.input}", "--set", f"output={runs.output}"]
    return ["run", JOB, *settings, "--checkpoint-dir", runs.checkpoints, *more]


def test_a_checkpoint_directory_that_is_not_writable_is_refused_with_what_to_do(runs: Runs) -> None:
    runs.checkpoints.mkdir(mode=0o555)
    said = weir(*run_by_command(runs), before=let_permissions_hold)
    assert said.code == 2
    assert f"checkpoint storage file://{runs.checkpoints} cannot be used" in said.message
    assert f"make {runs.checkpoints} writable for user id" in said.message
    assert not runs.output.exists()


def test_an_output_directory_that_is_not_writable_is_refused_before_anything_runs(runs: Runs) -> None:
    runs.output.mkdir(mode=0o555)
    said = weir(*run_by_command(runs), before=let_permissions_hold)
    assert said.code == 2
    assert "sink" in said.message and f"{runs.output} is not writable" in said.message
    assert not runs.checkpoints.exists()


def test_a_file_where_the_checkpoint_directory_should_be_is_refused(runs: Runs) -> None:
    runs.checkpoints.write_text("I am not a directory")
    with pytest.raises(ConfigError, match="a file stands where"):
        runs.run()


def test_a_checkpoint_that_is_damaged_fails_the_job_by_its_file_and_an_older_one_still_works(
    stopped: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    before = stopped.committed()
    older, newest = stopped.restorable()[-2:]
    victim = next((stopped.checkpoints / "small" / "state" / "packed.slots").glob(f"g*-c{newest}-*"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 0x10
    victim.write_bytes(data)
    result = stopped.run(start=Resume())
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (Outcome.FAILED, "CheckpointError")
    assert f"checkpoint {newest} cannot be restored" in result.reason
    assert f"{victim} is damaged from byte " in result.reason
    assert "restore another checkpoint with --from" in result.reason
    assert stopped.committed() == before

    stopped.finishes_right(start=FromCheckpoint(older))


def test_a_checkpoint_that_is_half_written_is_refused_before_anything_runs_and_an_older_one_still_works(stopped: Runs) -> None:
    before = stopped.committed()
    older, newest = stopped.restorable()[-2:]
    manifest = next((stopped.checkpoints / "small" / "checkpoints" / str(newest)).iterdir())
    manifest.write_bytes(manifest.read_bytes()[:200])
    said = weir(*run_by_command(stopped, "--resume"))
    assert said.code == 2
    assert f"checkpoint {newest}" in said.message and f"{manifest}" in said.message
    assert "damaged or half-written (200 bytes" in said.message and "--from" in said.message
    assert stopped.committed() == before

    stopped.finishes_right(start=FromCheckpoint(older))


def test_an_entry_of_the_log_that_is_damaged_is_refused_by_its_file(stopped: Runs) -> None:
    before = stopped.committed()
    entry = sorted((stopped.checkpoints / "small" / "log").iterdir())[2]
    entry.write_bytes(entry.read_bytes()[:-20])
    with pytest.raises(CheckpointError, match=entry.name):
        stopped.run(start=Resume())
    assert stopped.committed() == before


def test_a_checkpoint_that_is_gone_is_refused_with_those_that_there_are(stopped: Runs) -> None:
    kept = [str(one) for one in stopped.restorable()]
    said = weir(*run_by_command(stopped, "--from", "777", "--yes"))
    assert said.code == 2
    assert "777" in said.message and ", ".join(kept) in said.message


def test_a_graph_that_no_longer_fits_is_refused_by_operator_with_the_way_out(stopped: Runs) -> None:
    before = stopped.committed()
    with pytest.raises(
        RestoreError, match=r"aggregate 'sums' .at small_job.py:\d+. is keyed by number, its state by key: use a new uid"
    ):
        stopped.run(small_job.by_other_key, start=Resume())
    with pytest.raises(RestoreError, match=r"the checkpoint has state of aggregate 'sums'.*which the graph no longer has"):
        stopped.run(small_job.failing, start=Resume())
    assert stopped.committed() == before
    stopped.finishes_right(start=Resume())


def test_a_place_with_a_history_is_not_started_anew(stopped: Runs) -> None:
    before = stopped.committed()
    with pytest.raises(ConfigError, match="has a history in .*go on with --resume, go back with --from ID"):
        stopped.run()
    assert stopped.committed() == before
