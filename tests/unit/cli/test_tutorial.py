"""The commands and the jobs of the tutorials."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

import weir
from weir.api.job_loader import build_job, load_job
from weir.cli.app import app_
from weir.spark.options import RunOptions

DOCS = Path(__file__).parents[3] / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text()
COMMANDS = re.findall(r"^\.venv/bin/weir (.+)$", TUTORIAL + (DOCS / "run.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", COMMANDS)
def test_all_commands_of_the_tutorial_exist(line: str) -> None:
    group = typer.main.get_command(app_)
    assert isinstance(group, TyperGroup)
    name, *arguments = shlex.split(line.replace("--to ID", "--to 7"))
    command = group.get_command(typer.Context(group), name)
    assert command is not None, f"weir has no command {name}"
    command.make_context(name, arguments)


@pytest.mark.parametrize("name", ["run.md", "notebook.md", "submit.md"])
def test_the_job_of_each_short_tutorial_builds_a_graph(name: str, tmp_path: Path) -> None:
    blocks = [ast.parse(block) for block in re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)]
    # The calls need Spark. Tests in tests/integration/notebook and tests/integration/submit make the same calls.
    defining = [
        node for block in blocks for node in block.body if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)
    ]
    names: dict[str, Any] = {}
    exec(compile(ast.Module(defining, []), name, "exec"), names)  # noqa: S102  # the documentation is trusted
    graph, _ = build_job(names["job"], {"output": "out"} if name == "run.md" else None).to_graph()
    assert [operator.uid for operator in graph.operators] == ["orders", "totals", "out"]


def test_the_notebook_tutorial_names_existing_attributes_and_arguments() -> None:
    text = (DOCS / "notebook.md").read_text()
    table = text.split("| attribute or method | meaning |")[1].split("\n\n")[0]
    attributes = re.findall(r"`(\w+)(?:\([^`]*\))?`", "".join(line.split("|")[1] for line in table.splitlines() if line))
    methods = {"id", "run_id", "name"}  # set by the constructor
    assert len(attributes) > 12 and [name for name in attributes if name not in methods and not hasattr(weir.JobRun, name)] == []
    arguments = set(inspect.signature(weir.run).parameters) | {field.name for field in dataclasses.fields(RunOptions)}
    assert set(re.findall(r"`(\w+)=[^.`]*`", text)) - {"savepoint"} <= arguments


def test_the_job_of_the_tutorial_builds_a_graph(tmp_path: Path) -> None:
    [source] = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
    (tmp_path / "orders.py").write_text(source)
    graph, _ = load_job(str(tmp_path / "orders.py"), {"output": str(tmp_path / "out")}).to_graph()
    assert [operator.uid for operator in graph.operators if operator.stateful] == ["orders", "totals", "out"]
