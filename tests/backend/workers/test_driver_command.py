"""The driver's command line for each way to start a run."""

from __future__ import annotations

from typing import Any

import pytest

from weir.cli.options import parse_buffer_timeout, parse_timeouts
from weir.protocol.events import RecoveryStrategy
from weir.spark.options import RunOptions
from weir_backend.jobs.spec import Checkpointing, JobSpec, Timeouts, seconds, size_bytes
from weir_workers.drivers.command import run_command


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ({"mode": "resume"}, ["--resume"]),
        ({"mode": "from", "checkpoint": 7}, ["--from", "7", "--yes"]),
        ({"mode": "from", "checkpoint": 0}, ["--from", "0", "--yes"]),
        ({"mode": "path", "path": "/srv/old flights#12"}, ["--from-path", "/srv/old flights#12", "--yes"]),
    ],
)
def test_the_start_mode_selects_the_restore_options(start: dict[str, Any], expected: list[str]) -> None:
    body = JobSpec(artifact="0" * 64).model_dump(mode="json")
    line = run_command(body, job="job.py:job", directory="/cp", start=start, archive=None)
    first = line.index(expected[0])
    assert line[first : first + len(expected)] == expected
    assert len([one for one in line if one in ("--resume", "--from", "--from-path")]) == 1


def checkpoint_options(body: dict[str, Any]) -> dict[str, str]:
    line = run_command(body, job="job.py:job", directory="/cp", start={"mode": "resume"}, archive=None)
    options = dict(zip(line, line[1:], strict=False))
    return {
        name: options[name]
        for name in ("--interval", "--checkpoint-timeout", "--min-pause", "--tolerable-failed-checkpoints", "--retained")
    }


def test_checkpoint_limits_are_passed_to_the_driver() -> None:
    chosen = Checkpointing(interval="none", timeout="90s", min_pause="5s", tolerable_failed_checkpoints=None, retained=7)
    assert checkpoint_options(JobSpec(artifact="0" * 64, checkpointing=chosen).model_dump(mode="json")) == {
        "--interval": "none",
        "--checkpoint-timeout": "90s",
        "--min-pause": "5s",
        "--tolerable-failed-checkpoints": "none",
        "--retained": "7",
    }
    none = JobSpec(artifact="0" * 64, checkpointing=Checkpointing(tolerable_failed_checkpoints=0)).model_dump(mode="json")
    assert checkpoint_options(none)["--tolerable-failed-checkpoints"] == "0"


def test_a_spec_without_checkpoint_limits_runs_with_the_defaults() -> None:
    body = JobSpec(artifact="0" * 64).model_dump(mode="json")
    now = checkpoint_options(body)
    for name in ("timeout", "min_pause", "tolerable_failed_checkpoints"):
        del body["checkpointing"][name]
    assert checkpoint_options(body) == now


def test_timeouts_memory_and_recovery_are_passed_to_the_driver() -> None:
    timeouts = Timeouts(stuck="none", slots="1h", deploy="5m")
    chosen = JobSpec(
        artifact="0" * 64, timeouts=timeouts, network_memory="1GiB", buffer_timeout="0", recovery=RecoveryStrategy.FULL
    )
    body = chosen.model_dump(mode="json")
    new = ("timeouts", "network_memory", "buffer_timeout", "recovery")
    older = {name: value for name, value in body.items() if name not in new}
    names = [
        f"--{name}"
        for name in ("stuck-timeout", "slots-timeout", "deploy-timeout", "network-memory", "buffer-timeout", "recovery")
    ]
    for stored, expected in (
        (body, ["none", "1h", "5m", "1GiB", "0", "full"]),
        (older, ["60s", "none", "60s", "256MiB", "adaptive", "regional"]),
    ):
        line = run_command(stored, job="job.py:job", directory="/cp", start={"mode": "resume"}, archive=None)
        options = dict(zip(line, line[1:], strict=False))
        assert [options[name] for name in names] == expected
        assert {"--heartbeat-timeout", "--call-timeout", "--cancel-timeout", "--connect-timeout"} <= options.keys()


def test_specs_and_run_options_have_the_same_defaults() -> None:
    chosen, run = Checkpointing(), RunOptions("/cp")
    assert (seconds(chosen.timeout) * 1_000, seconds(chosen.min_pause) * 1_000) == (run.checkpoint_timeout_ms, run.min_pause_ms)
    assert seconds(chosen.interval) * 1_000 == run.interval_ms
    assert (chosen.tolerable_failed_checkpoints, chosen.retained) == (run.tolerable_failed_checkpoints, run.retained)
    assert parse_timeouts(Timeouts().model_dump()) == run.timeouts
    assert size_bytes(JobSpec(artifact="0" * 64).network_memory) == run.network_bytes
    assert parse_buffer_timeout(JobSpec(artifact="0" * 64).buffer_timeout) == run.buffer_timeout_ms
    assert JobSpec(artifact="0" * 64).recovery is run.recovery


@pytest.mark.parametrize("start", [{"mode": "resume"}, {"mode": "from", "checkpoint": 7}])
def test_a_driver_gets_the_option_revoke_unknown_output_only_at_the_request_of_a_user(start: dict[str, Any]) -> None:
    body = JobSpec(artifact="0" * 64).model_dump(mode="json")
    plain, revoking = (
        run_command(body, job="job.py:job", directory="/cp", start=one, archive=None, at_least=57)
        for one in (start, {**start, "revoke_unknown_output": True})
    )
    assert "--revoke-unknown-output" not in plain
    assert [one for one in revoking if one != "--revoke-unknown-output"] == plain and len(revoking) == len(plain) + 1


def test_a_resumed_run_must_restore_the_last_known_checkpoint_or_a_newer_checkpoint() -> None:
    body = JobSpec(artifact="0" * 64).model_dump(mode="json")

    def line(start: dict[str, Any]) -> list[str]:
        return run_command(body, job="job.py:job", directory="/cp", start=start, archive=None, at_least=57)

    resumed = line({"mode": "resume"})
    first = resumed.index("--resume")
    assert resumed[first : first + 3] == ["--resume", "--at-least", "57"]
    assert "--at-least" not in line({"mode": "from", "checkpoint": 0}), (
        "a user who starts without state has approved that all checkpoints are abandoned"
    )
