from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_job import numbers
from weir_command import JOB, weir


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    return ["--set", f"input={numbers(tmp_path / 'input')}", "--set", f"output={tmp_path / 'output'}"]


def test_the_graph_command_shows_operators_and_chains_and_partitioning(settings: list[str], tmp_path: Path) -> None:
    result = weir("graph", JOB, *settings, "--parallelism", "3")
    assert result.code == 0 and result.err == ""
    assert "small: 3 operators in 2 chains on 3 slots" in result.out
    assert "hash by key" in result.out
    assert "rows=count(), total=sum(number)" in result.out
    assert not (tmp_path / "output").exists(), "the graph command does not run the job"


@pytest.fixture
def printing_job(tmp_path: Path) -> Path:
    """The file of a job that prints a line when it is loaded."""
    file = tmp_path / "printing_job.py"
    file.write_text(JOB.read_text() + "\nprint('printed by the job')\n")
    return file


def test_the_graph_is_printed_as_json(settings: list[str], printing_job: Path) -> None:
    result = weir("graph", printing_job, *settings, "--output", "json")
    assert result.err == "printed by the job\n", "the output of the job code goes to standard error"
    assert [one["uid"] for one in json.loads(result.out)["logical"]["operators"]] == ["numbers", "sums", "out"]
    assert weir("graph", printing_job, *settings, "--json").out == result.out


def test_parameters_are_listed_as_json(printing_job: Path) -> None:
    result = weir("params", printing_job, "--output", "json")
    assert (result.code, result.err) == (0, "printed by the job\n")
    listed = json.loads(result.out)
    assert (
        listed["help"] == "Computes the running count and the running sum of the numbers of each key."
        and listed["incomplete"] is None
    )
    assert listed["parameters"][0] == {
        "name": "rate",
        "type": "int",
        "required": False,
        "default": 0,
        "help": "rows per second",
        "choices": [],
    }


def test_parameters_are_listed_with_their_type_and_default_and_help() -> None:
    result = weir("params", JOB)
    assert result.code == 0
    assert "Computes the running count and the running sum of the numbers of each key." in result.out
    assert "--set rate=<int>  (default 0)  rows per second" in result.out
    assert "--set input=<path>  (required)  directory with the numbers" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_file.py"], "Job file no_such_file.py does not exist"),
        ([f"{JOB}:nothing"], "has no function 'nothing'. It has"),
        ([str(JOB)], "The job needs parameter 'input' (directory with the numbers). Set it with --set input=PATH"),
        ([str(JOB), "--set", "input"], "'input' is not a NAME=VALUE pair"),
        ([str(JOB), "--set", "rate=fast"], "Parameter 'rate' must be of type int, not 'fast'"),
        ([str(JOB), "--interval", "soon"], "'soon' is not a duration"),
        ([str(JOB), "--set", "input=/nowhere/at/all"], "/nowhere/at/all"),
    ],
)
def test_an_invalid_command_is_refused_in_one_line(arguments: list[str], message: str) -> None:
    result = weir("run", *arguments)
    assert result.code == 2
    assert message in result.message


def test_the_error_for_an_unknown_parameter_suggests_a_similar_name(settings: list[str]) -> None:
    result = weir("run", JOB, *settings, "--set", "rat=100")
    assert result.code == 2
    assert "The job has no parameter 'rat'; did you mean 'rate'?" in result.message


def test_an_invalid_graph_is_reported_with_its_line(settings: list[str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(JOB.read_text().replace('agg.sum("number")', 'agg.sum("nummber")'))
    for command in ("graph", "run"):
        result = weir(command, wrong, *settings)
        assert result.code == 2
        assert "wrong.py:" in result.message and "did you mean 'number'?" in result.message


def test_a_syntax_error_is_reported_with_its_line(settings: list[str], tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def job(params):\n    return (\n")
    result = weir("run", tmp_path / "broken.py", *settings)
    assert result.code == 2 and "broken.py:2: '(' was never closed" in result.message
