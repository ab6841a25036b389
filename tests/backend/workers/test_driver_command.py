"""From a version of a spec and where a run begins to the command line of its driver."""

from __future__ import annotations

from typing import Any

import pytest

from weir_backend.jobs.spec import SpecBody
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


def test_a_job_that_goes_on_is_not_begun_from_nothing_where_its_checkpoints_are_missing() -> None:
    body = SpecBody(artifact="0" * 64).model_dump(mode="json")

    def line(start: dict[str, Any]) -> list[str]:
        return run_command(body, job="job.py:job", directory="/cp", start=start, archive=None, at_least=57)

    resumed = line({"mode": "resume"})
    first = resumed.index("--resume")
    assert resumed[first : first + 3] == ["--resume", "--at-least", "57"]
    assert "--at-least" not in line({"mode": "from", "checkpoint": 0}), "who goes back has agreed to what is left behind"
