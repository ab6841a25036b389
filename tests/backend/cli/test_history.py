"""Status, events, logs, operations, checkpoints: what is shown of what has happened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backend.cli.conftest import JobFile, Weir
from tests.backend.cli.worker import Worker

from weir.cli.remote import place
from weir.cli.remote.client import Client
from weir.cli.remote.logs import readable
from weir.cli.remote.stream import Told, follow
from weir_backend.kit.tasks import SUBMIT

pytestmark = pytest.mark.timeout(60)


def test_the_status_in_one_look(flights: Worker, weir: Weir) -> None:
    out = weir("status", "flights").out
    for line in (
        "job         flights (id 1)",
        "state       RUNNING\n",
        "health      ok",
        "version     1\n",
        "run         1 (start)",
    ):
        assert line in out
    assert "checkpoint  1, " in out and "took 40 ms" in out and "files" in out and "sink" in out
    found = weir("status", "flights", "-o", "json").json
    assert [one["uid"] for one in found["operators"]] == ["read", "files", "console"]
    assert {one["parallelism"] for one in found["operators"]} == {2}


def test_the_status_has_throughput_once_it_is_measured(flights: Worker, weir: Weir) -> None:
    flights.driver_of(1).sample(10, 20, 30, 40)
    found = weir("status", "flights", "-o", "json").json
    assert [one["backpressure"] for one in found["operators"]] == ["low"] * 3
    assert found["operators"][0]["records_in_per_s"] == pytest.approx(100, rel=0.1)
    assert "low" in weir("status", "flights").out


def test_jobs_are_listed(flights: Worker, weir: Weir) -> None:
    said = weir("jobs")
    assert said.code == 0 and "flights" in said.out and "RUNNING" in said.out and "1, " in said.out
    (found,) = weir("jobs", "--output", "json").json
    assert found["name"] == "flights" and found["last_checkpoint"]["number"] == 1


def test_what_user_code_says_does_not_move_the_terminal(flights: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file("x"), "--name", "flights", "--description", "\x1b[2Jgone[red]").code == 0
    out = weir("status", "flights").out
    assert "\x1b" not in out and "[2Jgone[red]" in out


def test_operations_are_listed_of_one_job_and_of_all(flights: Worker, weir: Weir) -> None:
    assert "deploy" in weir("operations").out and "flights" in weir("operations").out
    (found,) = weir("operations", "flights", "-o", "json").json
    assert (found["kind"], found["state"]) == ("deploy", "SUCCEEDED")


def test_events_in_their_order(flights: Worker, weir: Weir) -> None:
    found = weir("events", "flights", "-o", "json").json
    numbers = [one["number"] for one in found]
    assert numbers == sorted(numbers) and found[0]["kind"] == "JobDeployed"
    last = weir("events", "flights", "--limit", "2", "-o", "json").json
    assert [one["number"] for one in last] == numbers[-2:]
    assert "CheckpointCompleted" in weir("events", "flights").out


def test_followed_events_go_on_where_the_connection_broke(flights: Worker, weir: Weir) -> None:
    client = Client(place.find(os.environ))
    known = weir("events", "flights", "-o", "json").json[-1]["number"]
    told = follow(client.http, "/jobs/1/events/stream", after=known)
    flights.driver_of(1).complete_checkpoint()
    seen = [_next_event(told), _next_event(told)]
    # The connection is cut under the reader, and something happens while it is away.
    client.http._client._transport.close()
    flights.driver_of(1).complete_checkpoint()
    seen += [_next_event(told), _next_event(told)]
    assert seen == list(range(known + 1, known + 5)), "none missed, none twice"
    told.close()
    client.close()


def _next_event(told: Iterator[Told]) -> int:
    return next(int(one.data["number"]) for one in told if one.kind == "event")


def test_who_follows_events_ends_it_with_control_c(flights: Worker, weir: Weir) -> None:
    process = _weir_process("events", "flights", "--follow", "--output", "json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["kind"] == "JobDeployed"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    process.stdout.close()


def test_who_stops_waiting_is_told_that_it_goes_on(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    platform.asleep.add(SUBMIT)
    process = _weir_process("deploy", job_file(), "--name", "flights", "--wait")
    assert process.stderr is not None
    while "waiting for operation 1 (deploy)" not in (line := process.stderr.readline()):
        assert line, "it has ended"
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=20)
    assert process.returncode == 4
    assert "you do not wait any longer; operation 1 (deploy) goes on: weir operations flights" in complaint


def _weir_process(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "weir.cli", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def test_logs_are_read_for_people_and_for_programs(flights: Worker, weir: Weir) -> None:
    driver = flights.driver_of(1)
    driver.say("checkpoint completed", checkpoint=7)
    assert weir("logs", "flights", "-n", "1").out == "21:00:00 info     checkpoint completed  checkpoint=7\n"
    lines = weir("logs", "flights", "-o", "json").out.splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["driver begins", "checkpoint completed"]


def test_a_line_that_is_no_json_is_shown_as_it_is() -> None:
    assert readable("Traceback (most recent call last):") == "Traceback (most recent call last):"
    assert readable("[1, 2]") == "[1, 2]" and readable('{"level": 1}') == '{"level": 1}'


def test_followed_logs_go_over_to_the_next_run_and_end_with_the_job(flights: Worker, weir: Weir) -> None:
    process = _weir_process("logs", "flights", "--follow")
    assert process.stdout is not None
    assert "driver begins" in process.stdout.readline()
    flights.driver_of(1).say("é" * 200_000)
    assert "é" * 200_000 in process.stdout.readline(), "in pieces, of which none breaks a character"
    assert weir("suspend", "flights", "--wait").code == 0
    out, complaint = process.communicate(timeout=20)
    assert process.returncode == 0 and out == ""
    process = _weir_process("logs", "flights", "--follow")
    assert process.stdout is not None and process.wait(20) == 0, "it is over already"
    process.stdout.close()


def test_a_job_that_has_not_run_has_no_log(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "rests", "--no-start").code == 0
    said = weir("logs", "rests")
    assert said.code == 2 and "job 'rests' has not run yet" in said.err


def test_checkpoints_of_a_job_at_the_platform(
    flights: Worker, weir: Weir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "COMPLETED" in weir("checkpoints", "flights").out
    assert weir("checkpoints", "1", "--json").json[0]["number"] == 1, "by its id"
    assert "40 ms" in weir("checkpoints", "flights", "show", "1").out
    assert weir("checkpoints", "flights", "show", "1", "--json").json["statistics"]["status"] == "COMPLETED"
    said = weir("checkpoints", "flights", "show", "9")
    assert said.code == 2 and "job 'flights' has no checkpoint 9" in said.err
    said = weir("checkpoints", "flights", "verify")
    assert said.code == 2 and "weir rollback flights --to ID --dry-run" in said.err
    said = weir("checkpoints", "flihgts")
    assert said.code == 2 and "did you mean flights?" in said.err


def test_a_directory_goes_before_a_job_of_its_name(
    flights: Worker, weir: Weir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flights").mkdir()
    said = weir("checkpoints", "flights")
    assert said.code == 2 and "is it the directory given by --checkpoint-dir?" in said.err
    said = weir("checkpoints", "./nowhere")
    assert said.code == 2 and "is it the directory given by --checkpoint-dir?" in said.err


def test_a_deleted_job_is_no_longer_followed(flights: Worker, weir: Weir) -> None:
    assert weir("cancel", "flights", "--wait").code == 0
    assert weir("delete", "flights", "--yes").code == 0
    said = weir("events", "flights", "--follow")
    assert said.code == 2 and "there is no job 'flights'" in said.err
