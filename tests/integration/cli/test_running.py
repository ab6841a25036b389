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


def test_a_function_that_raises_ends_the_run_with_exit_code_1_and_names_operator_line_and_row(fresh: Path) -> None:
    said = weir("run", *arguments(fresh, function="failing"), "--set", "rate=4000", "--interval", "200ms", "--quiet")
    refuse_tracebacks(said.out + said.err)
    assert said.code == 1
    line = next(line for line in said.err.splitlines() if "job failed" in line)
    assert "map 'divider' (at small_job.py:" in line
    assert "divide (line small_job.py:" in line
    assert "ZeroDivisionError" in line and "'number': 3000" in line
    committed = pq.read_table(fresh / "output", partitioning=None)
    assert 0 < committed.num_rows < 4_000, "what was committed before is there, and readable"


def test_sigterm_stops_with_a_final_checkpoint_and_resume_goes_on_to_the_very_same_result(fresh: Path) -> None:
    command = [str(WEIR), "run", *arguments(fresh), "--interval", "200ms", "--log-format", "json", "--verbose"]
    with subprocess.Popen([*command, "--set", "rate=400"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as running:
        lines = events(running)
        next(event for event in lines if event["event"] == "checkpoint completed")
        os.kill(running.pid, signal.SIGTERM)
        told = list(lines)
        assert running.wait(60) == 0
    assert told[-1]["event"] == "job ended" and told[-1]["outcome"] == "suspended"
    committed = pq.read_table(fresh / "output", partitioning=None).num_rows
    assert 0 < committed < 4_000

    refused = weir("run", *arguments(fresh))
    assert refused.code == 2, "it has a history"
    assert "go on with --resume, go back with --from ID" in refused.message

    resumed = weir("run", *arguments(fresh), "--resume", "--output", "json")
    assert resumed.code == 0
    refuse_tracebacks(resumed.err)
    assert "job finished" in resumed.err
    ended = json.loads(resumed.out)
    assert (ended["job"], ended["outcome"]) == ("small", "finished") and ended["last_checkpoint"] > 0
    assert totals(fresh / "output") == expected_totals()


def events(running: subprocess.Popen[bytes]) -> Iterator[dict[str, object]]:
    """Every line that it logs. All of them are JSON."""
    assert running.stderr is not None
    for line in running.stderr:
        event = json.loads(line)
        assert {"event", "level", "timestamp"} <= event.keys()
        yield event


def test_with_json_logs_a_refusal_is_json_too(fresh: Path) -> None:
    said = weir("run", *arguments(fresh), "--interval", "soon", "--log-format", "json")
    assert said.code == 2
    (event,) = [json.loads(line) for line in said.err.splitlines()]
    assert event["level"] == "error"
    assert event["event"] == "--interval 'soon' is no duration: write a number with ms, s, m or h, for example 10s"


def test_going_back_is_shown_first_and_refused_where_nobody_can_be_asked(finished: Path) -> None:
    files = sorted((finished / "output").glob("*.parquet"))
    kept = [
        one for one in json.loads(weir("checkpoints", finished / "checkpoints", "--json").out) if one["status"] == "restorable"
    ]
    oldest = kept[0]["checkpoint"]
    said = weir("run", *arguments(finished), "--from", str(oldest))
    assert said.code == 2
    assert "nobody is there to be asked: add --yes" in said.message
    abandoned = ", ".join(str(one["checkpoint"]) for one in kept[1:])
    assert f"Going back to checkpoint {oldest} of job 'small' abandons: {abandoned}" in said.err
    assert "taken back from readers (an undo brings it back): out" in said.err
    assert sorted((finished / "output").glob("*.parquet")) == files, "nothing has been done"


def test_resume_and_from_exclude_each_other(fresh: Path) -> None:
    said = weir("run", *arguments(fresh), "--resume", "--from", "3")
    assert said.code == 2 and "give only one of them" in said.message
