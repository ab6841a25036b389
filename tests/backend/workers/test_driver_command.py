"""From a version of a spec and where a run begins to the command line of its driver."""

from __future__ import annotations

from typing import Any

import pytest

from weir.spark.options import RunOptions
from weir_backend.jobs.spec import Checkpointing, SpecBody, seconds
from weir_workers.drivers.command import run_command


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ({"mode": "resume"}, ["--resume"]),
        ({"mode": "from", "checkpoint": 7}, ["--from", "7", "--yes"]),
        ({"mode": "from", "checkpoint": 0}, ["--from", "0", "--yes"]),
        ({"mode": "path", "path": "/srv/old flights#12"}, ["--from-path", "/srv/old flights#12", "--yes"]),
    ],
)
def test_a_run_begins_where_it_was_decided_that_it_does(start: dict[str, Any], said: list[str]) -> None:
    body = SpecBody(artifact="0" * 64).model_dump(mode="json")
    line = run_command(body, job="job.py:job", directory="/cp", start=start, archive=None)
    first = line.index(said[0])
    assert line[first : first + len(said)] == said
    assert len([one for one in line if one in ("--resume", "--from", "--from-path")]) == 1


def limits(body: dict[str, Any]) -> dict[str, str]:
    line = run_command(body, job="job.py:job", directory="/cp", start={"mode": "resume"}, archive=None)
    said = dict(zip(line, line[1:], strict=False))
    return {
        name: said[name]
        for name in ("--interval", "--checkpoint-timeout", "--min-pause", "--tolerable-failed-checkpoints", "--retained")
    }


def test_how_checkpoints_are_limited_is_handed_on() -> None:
    chosen = Checkpointing(interval="none", timeout="90s", min_pause="5s", tolerable_failed_checkpoints=None, retained=7)
    assert limits(SpecBody(artifact="0" * 64, checkpointing=chosen).model_dump(mode="json")) == {
        "--interval": "none",
        "--checkpoint-timeout": "90s",
        "--min-pause": "5s",
        "--tolerable-failed-checkpoints": "none",
        "--retained": "7",
    }
    none = SpecBody(artifact="0" * 64, checkpointing=Checkpointing(tolerable_failed_checkpoints=0)).model_dump(mode="json")
    assert limits(none)["--tolerable-failed-checkpoints"] == "0"


def test_a_version_of_before_checkpoints_were_limited_by_it_runs_as_it_did() -> None:
    body = SpecBody(artifact="0" * 64).model_dump(mode="json")
    now = limits(body)
    for name in ("timeout", "min_pause", "tolerable_failed_checkpoints"):
        del body["checkpointing"][name]
    assert limits(body) == now


def test_what_a_version_has_by_itself_is_what_a_run_has_by_itself() -> None:
    chosen, run = Checkpointing(), RunOptions("/cp")
    assert (seconds(chosen.timeout) * 1_000, seconds(chosen.min_pause) * 1_000) == (run.checkpoint_timeout_ms, run.min_pause_ms)
    assert seconds(chosen.interval) * 1_000 == run.interval_ms
    assert (chosen.tolerable_failed_checkpoints, chosen.retained) == (run.tolerable_failed_checkpoints, run.retained)


def test_a_job_that_goes_on_is_not_begun_from_nothing_where_its_checkpoints_are_missing() -> None:
    body = SpecBody(artifact="0" * 64).model_dump(mode="json")

    def line(start: dict[str, Any]) -> list[str]:
        return run_command(body, job="job.py:job", directory="/cp", start=start, archive=None, at_least=57)

    resumed = line({"mode": "resume"})
    first = resumed.index("--resume")
    assert resumed[first : first + 3] == ["--resume", "--at-least", "57"]
    assert "--at-least" not in line({"mode": "from", "checkpoint": 0}), "who goes back has agreed to what is left behind"
