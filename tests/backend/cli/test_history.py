"""``weir status``, ``jobs``, ``events``, ``logs``, ``operations`` and ``checkpoints``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backend.cli.conftest import JobFile, Weir
from tests.backend.cli.fake_worker import Worker

from weir.cli.client.api import ApiClient
from weir.cli.client.credentials import find_endpoint
from weir.cli.client.http import ServerEvent, stream_events
from weir.cli.commands.logs import format_line
from weir_backend.kit.tasks import SUBMIT

pytestmark = pytest.mark.timeout(300)


def test_the_status_of_a_job_contains_its_run_and_its_operators(flights: Worker, weir: Weir) -> None:
    out = weir("status", "flights").out
    for line in (
        "job         flights (id 1)",
        "state       RUNNING\n",
        "health      healthy",
        "version     1\n",
        "run         1 (start)",
    ):
        assert line in out
    assert "checkpoint  1, " in out and "took 40 ms" in out and "files" in out and "sink" in out
    found = weir("status", "flights", "-o", "json").json
    assert [one["uid"] for one in found["operators"]] == ["read", "files", "console"]
    assert {one["parallelism"] for one in found["operators"]} == {2}


def test_status_shows_measured_throughput(flights: Worker, weir: Weir) -> None:
    flights.driver_of(1).sample(10, 20, 30, 40)
    found = weir("status", "flights", "-o", "json").json
    assert [one["backpressure"] for one in found["operators"]] == ["low"] * 3
    assert found["operators"][0]["records_in_per_s"] == pytest.approx(100, rel=0.1)
    assert "low" in weir("status", "flights").out


def test_status_names_the_bottleneck_once(flights: Worker, weir: Weir) -> None:
    assert "bottleneck" not in weir("status", "flights").out
    flights.driver_of(1).sample(10, 20, 30, 40)
    sentence = (
        "One of the chained operators read, files and console is the bottleneck: its slots are saturated, and it uses 50 % of their "
        "time, more than any other operator."
    )
    assert f"bottleneck  {sentence}\n" in weir("status", "flights").out
    assert weir("status", "flights", "-o", "json").json["bottleneck"]["sentence"] == sentence


@pytest.mark.parametrize(
    ("measured", "took"),
    [
        ({"recoveries": 0, "median_ms": None, "max_ms": None}, ""),
        ({"recoveries": 1, "median_ms": 210, "max_ms": 210}, " The last recovery of this kind took 210 ms."),
        ({"recoveries": 7, "median_ms": 210, "max_ms": 3_400}, " The last 7 recoveries of this kind took 210 ms (median), at most 3 s."),
    ],
)  # fmt: skip
def test_status_says_what_happens_if_a_slot_fails_and_how_long_recent_recoveries_took(
    flights: Worker, weir: Weir, monkeypatch: pytest.MonkeyPatch, measured: dict[str, Any], took: str
) -> None:
    sentence = "Only the failed slot restores checkpoint 1, and the other slot continues."
    coverage = {"sentence": sentence, "strategy": "regional", "checkpoint": 1, **measured}
    monkeypatch.setattr(ApiClient, "coverage", lambda client, job_id: coverage)
    assert f"slot loss   {sentence}{took}\n" in weir("status", "flights").out
    assert weir("status", "flights", "-o", "json").json["coverage"] == coverage


def test_status_does_not_mention_the_loss_of_a_slot_if_its_effect_is_unknown(flights: Worker, weir: Weir) -> None:
    assert weir("status", "flights", "-o", "json").json["coverage"]["strategy"] is None
    assert "slot loss" not in weir("status", "flights").out


def test_jobs_are_listed(flights: Worker, weir: Weir) -> None:
    result = weir("jobs")
    assert result.code == 0 and "flights" in result.out and "RUNNING" in result.out and "1, " in result.out
    (found,) = weir("jobs", "--output", "json").json
    assert found["name"] == "flights" and found["last_checkpoint"]["number"] == 1


def test_control_characters_are_removed_from_text_that_users_wrote(flights: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file("x"), "--name", "flights", "--description", "\x1b[2Jgone[red]").code == 0
    out = weir("status", "flights").out
    assert "\x1b" not in out and "[2Jgone[red]" in out


def test_operations_are_listed_for_one_job_or_for_all_jobs(flights: Worker, weir: Weir) -> None:
    assert "deploy" in weir("operations").out and "flights" in weir("operations").out
    (found,) = weir("operations", "flights", "-o", "json").json
    assert (found["kind"], found["state"]) == ("deploy", "SUCCEEDED")


def test_events_are_listed_oldest_first(flights: Worker, weir: Weir) -> None:
    found = weir("events", "flights", "-o", "json").json
    numbers = [one["number"] for one in found]
    assert numbers == sorted(numbers) and found[0]["kind"] == "JobDeployed"
    last = weir("events", "flights", "--limit", "2", "-o", "json").json
    assert [one["number"] for one in last] == numbers[-2:]
    assert "CheckpointCompleted" in weir("events", "flights").out


def test_a_command_that_follows_events_resumes_after_a_disconnect(flights: Worker, weir: Weir) -> None:
    client = ApiClient(find_endpoint(os.environ))
    last = weir("events", "flights", "-o", "json").json[-1]["number"]
    stream = stream_events(client.http, "/jobs/1/events/stream", after=last)
    flights.driver_of(1).complete_checkpoint()
    seen = [_next_event(stream), _next_event(stream)]
    # Close the connection, and complete a checkpoint while it is closed.
    client.http._client._transport.close()
    flights.driver_of(1).complete_checkpoint()
    seen += [_next_event(stream), _next_event(stream)]
    assert seen == list(range(last + 1, last + 5)), "no event is lost or repeated"
    stream.close()
    client.close()


def _next_event(stream: Iterator[ServerEvent]) -> int:
    return next(int(one.data["number"]) for one in stream if one.kind == "event")


def test_ctrl_c_ends_a_command_that_follows_events(flights: Worker, weir: Weir) -> None:
    process = _weir_process("events", "flights", "--follow", "--output", "json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["kind"] == "JobDeployed"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    process.stdout.close()


def test_ctrl_c_ends_only_the_wait_and_not_the_operation(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    platform.paused.add(SUBMIT)
    process = _weir_process("deploy", job_file(), "--name", "flights", "--wait")
    assert process.stderr is not None
    while "Waiting for operation 1 (deploy)" not in (line := process.stderr.readline()):
        assert line, "the command ended early"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "Stopped waiting. Operation 1 (deploy) continues. To see the state of the operation, run weir operations" in error


def _weir_process(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "weir.cli", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def test_logs_are_printed_as_text_and_as_json(flights: Worker, weir: Weir) -> None:
    driver = flights.driver_of(1)
    driver.log_line("checkpoint completed", checkpoint=7)
    assert weir("logs", "flights", "-n", "1").out == "21:00:00 info     checkpoint completed  checkpoint=7\n"
    lines = weir("logs", "flights", "-o", "json").out.splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["driver started", "checkpoint completed"]


def test_a_log_line_that_is_not_json_is_printed_unchanged() -> None:
    assert format_line("Traceback (most recent call last):") == "Traceback (most recent call last):"
    assert format_line("[1, 2]") == "[1, 2]" and format_line('{"level": 1}') == '{"level": 1}'


def test_a_command_that_follows_logs_continues_with_the_next_run_and_ends_with_the_job(flights: Worker, weir: Weir) -> None:
    process = _weir_process("logs", "flights", "--follow")
    assert process.stdout is not None
    assert "driver started" in process.stdout.readline()
    flights.driver_of(1).log_line("é" * 200_000)
    assert "é" * 200_000 in process.stdout.readline(), "multi-byte characters are not split"
    assert weir("suspend", "flights", "--wait").code == 0
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0 and out == ""
    process = _weir_process("logs", "flights", "--follow")
    assert process.stdout is not None and process.wait(20) == 0, "the command ends immediately if the job has ended"
    process.stdout.close()


def test_a_job_that_has_not_run_has_no_log(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "suspended", "--no-start").code == 0
    result = weir("logs", "suspended")
    assert result.code == 2 and "Job 'suspended' has no log, because it has not run yet" in result.err


def test_checkpoints_of_a_job_are_listed_and_shown(
    flights: Worker, weir: Weir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "COMPLETED" in weir("checkpoints", "flights").out
    assert weir("checkpoints", "1", "--json").json[0]["number"] == 1, "a number selects the job by its id"
    assert "40 ms" in weir("checkpoints", "flights", "show", "1").out
    assert weir("checkpoints", "flights", "show", "1", "--json").json["statistics"]["status"] == "COMPLETED"
    result = weir("checkpoints", "flights", "show", "9")
    assert result.code == 2 and "Job 'flights' has no checkpoint 9" in result.err
    result = weir("checkpoints", "flights", "verify")
    assert result.code == 2 and "weir rollback flights --to ID --dry-run" in result.err
    result = weir("checkpoints", "flihgts")
    assert result.code == 2 and "Did you mean flights?" in result.err


def test_a_directory_takes_precedence_over_a_job_with_the_same_name(
    flights: Worker, weir: Weir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flights").mkdir()
    result = weir("checkpoints", "flights")
    assert result.code == 2 and "Specify the directory with the checkpoints:" in result.err
    result = weir("checkpoints", "./nowhere")
    assert result.code == 2 and "Specify the directory with the checkpoints:" in result.err


def test_events_of_a_deleted_job_are_refused(flights: Worker, weir: Weir) -> None:
    assert weir("cancel", "flights", "--wait").code == 0
    assert weir("delete", "flights", "--yes").code == 0
    result = weir("events", "flights", "--follow")
    assert result.code == 2 and "No job 'flights' at" in result.err
