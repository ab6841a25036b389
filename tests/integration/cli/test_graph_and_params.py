from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_job import numbers
from weir_command import JOB, weir


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    return ["--set", f"input={numbers(tmp_path / 'input')}", "--set", f"output={tmp_path / 'output'}"]


def test_the_graph_is_drawn_with_operators_chains_and_how_records_are_dealt_out(settings: list[str], tmp_path: Path) -> None:
    said = weir("graph", JOB, *settings, "--parallelism", "3")
    assert said.code == 0 and said.err == ""
    assert "small: 3 operators in 2 chains on 3 slots" in said.out
    assert "hash by key" in said.out
    assert "rows=count(), total=sum(number)" in said.out
    assert not (tmp_path / "output").exists(), "drawing has no side effects"


@pytest.fixture
def chatty(tmp_path: Path) -> Path:
    """The job, in a file that prints."""
    file = tmp_path / "chatty.py"
    file.write_text(JOB.read_text() + "\nprint('what the job says')\n")
    return file


def test_the_graph_is_printed_as_json(settings: list[str], chatty: Path) -> None:
    said = weir("graph", chatty, *settings, "--output", "json")
    assert said.err == "what the job says\n", "it is not in the document"
    assert [one["uid"] for one in json.loads(said.out)["logical"]["operators"]] == ["numbers", "sums", "out"]
    assert weir("graph", chatty, *settings, "--json").out == said.out


def test_parameters_are_listed_as_json(chatty: Path) -> None:
    said = weir("params", chatty, "--output", "json")
    assert (said.code, said.err) == (0, "what the job says\n")
    listed = json.loads(said.out)
    assert listed["help"] == "Sums of numbers per key." and listed["incomplete"] is None
    assert listed["parameters"][0] == {
        "name": "rate",
        "type": "int",
        "required": False,
        "default": 0,
        "help": "rows a second",
        "choices": [],
    }


def test_parameters_are_listed_with_type_default_and_help() -> None:
    said = weir("params", JOB)
    assert said.code == 0
    assert "Sums of numbers per key." in said.out
    assert "--set rate=<int>  (default 0)  rows a second" in said.out
    assert "--set input=<path>  (required)  where the numbers are" in said.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no_such_file.py"], "there is no job file no_such_file.py"),
        ([f"{JOB}:nothing"], "has no function 'nothing' that makes a job; it has"),
        ([str(JOB)], "the job needs parameter 'input' (where the numbers are): set it with --set input=PATH"),
        ([str(JOB), "--set", "input"], "'input': write it as name=value"),
        ([str(JOB), "--set", "rate=fast"], "parameter 'rate' must be of type int, not 'fast'"),
        ([str(JOB), "--interval", "soon"], "'soon' is no duration"),
        ([str(JOB), "--set", "input=/nowhere/at/all"], "/nowhere/at/all"),
    ],
)
def test_what_is_wrong_with_the_command_is_said_in_one_line_with_exit_code_2(arguments: list[str], says: str) -> None:
    said = weir("run", *arguments)
    assert said.code == 2
    assert says in said.message


def test_a_setting_that_the_job_does_not_know_is_refused_with_the_near_miss(settings: list[str]) -> None:
    said = weir("run", JOB, *settings, "--set", "rat=100")
    assert said.code == 2
    assert "the job has no parameter 'rat'; did you mean 'rate'?" in said.message


def test_a_graph_that_cannot_run_names_the_line_that_wrote_it(settings: list[str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(JOB.read_text().replace('agg.sum("number")', 'agg.sum("nummber")'))
    for command in ("graph", "run"):
        said = weir(command, wrong, *settings)
        assert said.code == 2
        assert "wrong.py:" in said.message and "did you mean 'number'?" in said.message


def test_a_file_that_is_no_python_is_refused_with_its_line(settings: list[str], tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def job(params):\n    return (\n")
    said = weir("run", tmp_path / "broken.py", *settings)
    assert said.code == 2 and "broken.py:2: '(' was never closed" in said.message
