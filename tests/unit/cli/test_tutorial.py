"""The commands and the job of the tutorial."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from weir.api.job_loader import load_job
from weir.cli.app import app_

TUTORIAL = (Path(__file__).parents[3] / "docs" / "tutorial.md").read_text()
COMMANDS = re.findall(r"^\.venv/bin/weir (.+)$", TUTORIAL, re.MULTILINE)


@pytest.mark.parametrize("line", COMMANDS)
def test_all_commands_of_the_tutorial_exist(line: str) -> None:
    group = typer.main.get_command(app_)
    assert isinstance(group, TyperGroup)
    name, *arguments = shlex.split(line.replace("--to ID", "--to 7"))
    command = group.get_command(typer.Context(group), name)
    assert command is not None, f"weir has no command {name}"
    command.make_context(name, arguments)


def test_the_job_of_the_tutorial_builds_a_graph(tmp_path: Path) -> None:
    [source] = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
    (tmp_path / "orders.py").write_text(source)
    graph, _ = load_job(str(tmp_path / "orders.py"), {"output": str(tmp_path / "out")}).to_graph()
    assert [operator.uid for operator in graph.operators if operator.stateful] == ["orders", "totals", "out"]
