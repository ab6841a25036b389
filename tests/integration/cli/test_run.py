from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from small_job import expected_totals, totals
from weir_command import WEIR, arguments, refuse_tracebacks, weir

pytestmark = pytest.mark.spark


def test_an_exception_in_user_code_fails_the_job_and_the_error_names_operator_line_and_row(fresh: Path) -> None:
    result = weir("run", *arguments(fresh, function="failing"), "--set", "rate=4000", "--interval", "200ms", "--quiet")
    refuse_tracebacks(result.out + result.err)
    assert result.code == 1
    line = next(line for line in result.err.splitlines() if "job failed" in line)
    assert "map 'divider' (at small_job.py:" in line
    assert "divide (line small_job.py:" in line
    assert "ZeroDivisionError" in line and "'number': 3000" in line
    committed = pq.read_table(fresh / "output", partitioning=None)
    assert 0 < committed.num_rows < 4_000, "the output that was committed before the failure is readable"


def test_sigterm_suspends_a_job_with_a_final_checkpoint_and_a_resume_completes_the_exact_result(fresh: Path) -> None:
    command = [str(WEIR), "run", *arguments(fresh), "--interval", "200ms", "--log-format", "json", "--verbose"]
    with subprocess.Popen([*command, "--set", "rate=400"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as running:
        lines = events(running)
        next(event for event in lines if event["event"] == "checkpoint completed")
        os.kill(running.pid, signal.SIGTERM)
        logged = list(lines)
        assert running.wait(300) == 0
    assert logged[-1]["event"] == "job ended" and logged[-1]["outcome"] == "suspended"
    committed = pq.read_table(fresh / "output", partitioning=None).num_rows
    assert 0 < committed < 4_000
    assert logged[-1]["records"] == committed, "the records of a suspended job are those of its last checkpoint"

    refused = weir("run", *arguments(fresh))
    assert refused.code == 2, "a job with checkpoints is refused without --resume or --from"
    assert "resume it with --resume, roll back with --from ID" in refused.message

    resumed = weir("run", *arguments(fresh), "--resume", "--parallelism", "3", "--output", "json")
    assert resumed.code == 0
    refuse_tracebacks(resumed.err)
    assert "job finished" in resumed.err
    ended = json.loads(resumed.out)
    assert (ended["job"], ended["outcome"]) == ("small", "finished") and ended["last_checkpoint"] > 0
    assert ended["records"] == 4_000
    assert totals(fresh / "output") == expected_totals()


def events(running: subprocess.Popen[bytes]) -> Iterator[dict[str, object]]:
    """Yield each line of standard error, parsed as JSON."""
    assert running.stderr is not None
    for line in running.stderr:
        event = json.loads(line)
        assert {"event", "level", "timestamp"} <= event.keys()
        yield event


def test_with_json_logs_an_error_is_printed_as_json(fresh: Path) -> None:
    result = weir("run", *arguments(fresh), "--interval", "soon", "--log-format", "json")
    assert result.code == 2
    (event,) = [json.loads(line) for line in result.err.splitlines()]
    assert event["level"] == "error"
    assert event["event"] == "--interval 'soon' is not a duration. Write a number with ms, s, m or h, for example 10s."


def test_a_rollback_without_a_terminal_is_refused_and_lists_the_abandoned_checkpoints(finished: Path) -> None:
    files = sorted((finished / "output").glob("*/*.parquet"))
    oldest, *newer = restorable_checkpoints(finished)
    result = weir("run", *arguments(finished), "--from", str(oldest))
    assert result.code == 2
    assert "Cannot ask for confirmation: standard input is not a terminal. Add --yes" in result.message
    abandoned = ", ".join(str(checkpoint) for checkpoint in newer)
    assert f"Rolling back job 'small' to checkpoint {oldest} abandons the checkpoints {abandoned}" in result.err
    assert "revokes their output in: out" in result.err
    assert sorted((finished / "output").glob("*/*.parquet")) == files, "the output has not changed"


def restorable_checkpoints(directory: Path) -> list[int]:
    """Return the checkpoints of the job in ``directory`` that can be restored, the oldest first."""
    listed = json.loads(weir("checkpoints", directory / "checkpoints", "--json").out)
    return [one["checkpoint"] for one in listed if one["status"] == "restorable"]


def test_resume_and_from_cannot_be_combined(fresh: Path) -> None:
    result = weir("run", *arguments(fresh), "--resume", "--from", "3")
    assert result.code == 2 and "--resume cannot be combined with --from" in result.message


def test_a_resume_from_an_older_backup_of_the_job_log_is_refused_until_the_user_revokes_the_newer_output(fresh: Path) -> None:
    command = ["run", *arguments(fresh), "--interval", "200ms", "--retained", "10"]
    assert weir(*command, "--set", "rate=3000").code == 0
    # Deleting the newest entries of the log has the same effect as restoring a backup that was made before these entries.
    log = sorted((fresh / "checkpoints" / "small" / "log").glob("*.json"))
    completed = [path for path in log if json.loads(path.read_text())["entry"]["entry"] == "CheckpointCompleted"]
    for path in log[log.index(completed[1]) :]:
        path.unlink()
    before = sorted((fresh / "output").rglob("*"))
    refused = weir(*command, "--resume")
    assert refused.code == 2
    assert (
        "its sinks have published output that the job log in " in refused.message and "--revoke-unknown-output" in refused.message
    )
    assert sorted((fresh / "output").rglob("*")) == before and len(list(completed[0].parent.iterdir())) == log.index(completed[1])
    # The control plane passes the newest checkpoint that it knows as ``--at-least``.
    known = ("--resume", "--at-least", "500")
    older = weir(*command, *known)
    assert (
        older.code != 0 and "To continue from an older backup, start the job again with --revoke-unknown-output" in older.message
    )
    continued = weir(*command, *known, "--revoke-unknown-output")
    assert continued.code == 0
    assert weir(*command, *known).code == 0, "after the revocation, the job resumes although ``--at-least`` is still 500"
    assert "note: Revoked published output that the job log does not contain (sink 'out' in " in continued.err
    assert totals(fresh / "output") == expected_totals()


def test_a_consumer_that_removes_published_files_does_not_prevent_a_resume(fresh: Path) -> None:
    command = ["run", *arguments(fresh), "--interval", "200ms", "--retained", "10"]
    assert weir(*command, "--set", "rate=3000").code == 0
    taken = [path for path in (fresh / "output").iterdir() if path.name.startswith("weir_checkpoint=")]
    for path in taken[1:]:
        path.rename(fresh / path.name)
    resumed = weir(*command, "--resume", "--output", "json")
    assert resumed.code == 0 and json.loads(resumed.out)["warnings"] == []
    # On a slow machine the job takes more checkpoints than it retains, so the first one of the list may be removed.
    oldest = restorable_checkpoints(fresh)[0]
    rolled_back = weir(*command, "--from", str(oldest), "--yes", "--output", "json")
    assert rolled_back.code == 0, rolled_back.err
    (warning,) = json.loads(rolled_back.out)["warnings"]
    assert warning.startswith("Sink 'out' could not revoke ")
    assert f"because a consumer has removed the files from {fresh / 'output'}" in warning
