from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from runs import Runs
from small_job import ROWS
from weir_command import ROOT, let_permissions_hold, refuse_tracebacks, weir

from weir import Job, Params, sinks, sources
from weir.coordinator.start import Resume
from weir.errors import InputError
from weir.kernel.effects import Outcome

pytestmark = pytest.mark.spark
JOB = ROOT / "tests" / "integration" / "cli" / "small_job.py"


def json_job(params: Params) -> Job:
    job = Job("small")
    lines = job.read(sources.json_lines(params.path("input"), rate=params.int("rate", 0) or None), uid="lines", parallelism=1)
    lines.write(sinks.parquet(params.path("output")), uid="out")
    return job


def test_a_file_that_may_not_be_read_is_named_before_anything_runs(runs: Runs) -> None:
    secret = runs.input / "1.parquet"
    secret.chmod(0)
    settings = ["--set", f"input={runs.input}", "--set", f"output={runs.output}"]
    said = weir("run", JOB, *settings, "--checkpoint-dir", runs.checkpoints, before=let_permissions_hold)
    assert said.code == 2
    assert f"{secret}: cannot be read as Parquet" in said.message and "Permission denied" in said.message
    assert not runs.checkpoints.exists() and not runs.output.exists()


def test_a_file_that_is_no_parquet_is_named_before_anything_runs(runs: Runs) -> None:
    (runs.input / "1.parquet").write_bytes(b"PAR1 or is it?")
    with pytest.raises(InputError, match=r"input/1\.parquet: cannot be read as Parquet"):
        runs.job()


def test_a_file_that_is_not_there_is_named_before_anything_runs(runs: Runs) -> None:
    with pytest.raises(InputError, match=r"no/such/place: .*"):
        runs.job(input=str(runs.root / "no" / "such" / "place"))


def test_a_page_that_turns_out_damaged_fails_the_job_by_source_file_and_row_groups_and_harms_nothing(
    stopped: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    before = stopped.committed()
    victim = stopped.input / "1.parquet"
    whole = victim.read_bytes()
    start = pq.read_metadata(victim).row_group(3).column(0).data_page_offset
    victim.write_bytes(whole[:start] + b"\xff" * 40 + whole[start + 40 :])
    result = stopped.run(start=Resume())
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (Outcome.FAILED, "InputError")
    assert result.reason.startswith(f"source 'numbers': {victim}: cannot be read as Parquet, row groups 0 to 3")
    assert before.items() <= stopped.committed().items()

    victim.write_bytes(whole)
    stopped.finishes_right(start=Resume())
    assert before.items() <= stopped.committed().items(), "what was committed stayed, byte for byte"


def test_a_malformed_line_is_named_by_source_file_number_and_text_and_harms_nothing(
    runs: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    runs.input = runs.root / "lines"
    runs.input.mkdir()
    file = runs.input / "events.jsonl"
    good = [json.dumps({"number": number}) for number in range(ROWS)]
    file.write_text("\n".join([*good[:-1], '{"number": 39x9}']) + "\n")
    assert runs.until(make=json_job, checkpoints=2).outcome is Outcome.SUSPENDED
    before = runs.committed()
    assert before
    result = runs.run(json_job, start=Resume())
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (Outcome.FAILED, "InputError")
    assert result.reason.startswith(f"source 'lines': {file}: line {ROWS} is not a record of this source")
    assert result.reason.endswith(': {"number": 39x9}')
    assert before.items() <= runs.committed().items()

    file.write_text("\n".join(good) + "\n")
    assert runs.run(json_job, start=Resume()).outcome is Outcome.FINISHED
    assert before.items() <= runs.committed().items()
    assert sorted(pq.read_table(runs.output, partitioning=None)["number"].to_pylist()) == list(range(ROWS))


def test_an_input_that_vanishes_while_the_job_is_down_is_named_when_it_goes_on(stopped: Runs, tmp_path: Path) -> None:
    before = stopped.committed()
    stopped.input.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=f"{stopped.input}: .*"):
        stopped.run(start=Resume())
    assert stopped.committed() == before
