from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from runs import Runs
from small_job import ROWS
from weir_command import ROOT, enforce_permissions, refuse_tracebacks, weir

from weir import Job, Params, sinks, sources
from weir.coordinator.start import Resume
from weir.errors import InputError
from weir.kernel.effects import JobOutcome

pytestmark = pytest.mark.spark
JOB = ROOT / "tests" / "integration" / "cli" / "small_job.py"


def rewrite(file: Path, content: bytes, modified_ns: int) -> None:
    file.write_bytes(content)
    os.utime(file, ns=(modified_ns, modified_ns))


def json_job(params: Params) -> Job:
    job = Job("small")
    lines = job.read(sources.json_lines(params.path("input"), rate=params.int("rate", 0) or None), uid="lines", parallelism=1)
    lines.write(sinks.parquet(params.path("output")), uid="out")
    return job


def test_a_file_without_read_permission_is_refused_before_the_job_starts(runs: Runs) -> None:
    secret = runs.input / "1.parquet"
    secret.chmod(0)
    settings = ["--set", f"input={runs.input}", "--set", f"output={runs.output}"]
    result = weir("run", JOB, *settings, "--checkpoint-dir", runs.checkpoints, before=enforce_permissions)
    assert result.code == 2
    assert f"{secret}: cannot read the file as Parquet" in result.message and "Permission denied" in result.message
    assert not runs.checkpoints.exists() and not runs.output.exists()


def test_a_file_that_is_not_parquet_is_refused_before_the_job_starts(runs: Runs) -> None:
    (runs.input / "1.parquet").write_bytes(b"PAR1 and other bytes")
    with pytest.raises(InputError, match=r"input/1\.parquet: cannot read the file as Parquet"):
        runs.job()


def test_a_missing_file_is_refused_before_the_job_starts(runs: Runs) -> None:
    with pytest.raises(InputError, match=r"no/such/directory: .*"):
        runs.job(input=str(runs.root / "no" / "such" / "directory"))


def test_a_damaged_page_fails_the_job_and_the_error_names_the_file(suspended: Runs, capfd: pytest.CaptureFixture[str]) -> None:
    before = suspended.committed()
    damaged = suspended.input / "1.parquet"
    intact = damaged.read_bytes()
    start = pq.read_metadata(damaged).row_group(3).column(0).data_page_offset
    listed_ns = damaged.stat().st_mtime_ns
    rewrite(damaged, intact[:start] + b"\xff" * 40 + intact[start + 40 :], listed_ns)
    result = suspended.run(start=Resume())
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (JobOutcome.FAILED, "InputError")
    assert result.reason.startswith(f"Source 'numbers': {damaged}: cannot read the file as Parquet")
    assert before.items() <= suspended.committed().items()

    rewrite(damaged, intact, listed_ns)
    suspended.check_finishes(start=Resume())
    assert before.items() <= suspended.committed().items(), "the files that were committed before the failure still exist"


def test_a_malformed_line_fails_the_job_and_the_error_names_file_line_number_and_text(
    runs: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    runs.input = runs.root / "lines"
    runs.input.mkdir()
    file = runs.input / "events.jsonl"
    good = [json.dumps({"number": number}) for number in range(ROWS)]
    file.write_text("\n".join([*good[:-1], '{"number": 39x9}']) + "\n")
    assert runs.until(make=json_job, checkpoints=2).outcome is JobOutcome.SUSPENDED
    before = runs.committed()
    assert before
    result = runs.run(json_job, start=Resume())
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (JobOutcome.FAILED, "InputError")
    assert result.reason.startswith(f"Source 'lines': {file}: cannot parse line {ROWS}: ")
    assert result.reason.endswith(': {"number": 39x9}')
    assert before.items() <= runs.committed().items()

    listed_ns = file.stat().st_mtime_ns
    file.write_text("\n".join(good) + "\n")
    result = runs.run(json_job, start=Resume())
    assert (result.outcome, result.kind) == (JobOutcome.FAILED, "InputError")
    assert f"{file}: the file has changed since checkpoint " in result.reason
    assert before.items() <= runs.committed().items()
    # The repaired file has the original size, so the original mtime restores the identity of the file.
    os.utime(file, ns=(listed_ns, listed_ns))
    assert runs.run(json_job, start=Resume()).outcome is JobOutcome.FINISHED
    assert before.items() <= runs.committed().items()
    assert sorted(pq.read_table(runs.output, partitioning=None)["number"].to_pylist()) == list(range(ROWS))


def test_replaced_input_is_never_mixed_with_the_input_of_the_checkpoint(
    suspended: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    before = suspended.committed()
    file = suspended.input / "1.parquet"
    table, listed_ns = pq.read_table(file), file.stat().st_mtime_ns
    original = file.read_bytes()
    pq.write_table(table.set_column(0, table.schema.field(0), pc.add(table.column(0), 1_000)), file, row_group_size=500)
    result = suspended.run(start=Resume())
    refuse_tracebacks("".join(capfd.readouterr()))
    assert (result.outcome, result.kind) == (JobOutcome.FAILED, "InputError")
    assert f"{file}: the file has changed since " in result.reason
    assert before.items() <= suspended.committed().items()
    rewrite(file, original, listed_ns)
    suspended.check_finishes(start=Resume())


def test_a_deleted_input_is_reported_when_the_job_resumes(suspended: Runs, tmp_path: Path) -> None:
    before = suspended.committed()
    suspended.input.rename(tmp_path / "moved")
    with pytest.raises(InputError, match=f"{suspended.input}: .*"):
        suspended.run(start=Resume())
    assert suspended.committed() == before
