"""``--output json``: every command has it, and standard output is then for the one document."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from weir.cli.app import app_
from weir.cli.output import Output, answer_to, print_json


def commands(group: Any, name: str = "weir") -> Iterator[tuple[str, Any]]:
    """Those that do something, subcommands and those of plugins included."""
    context = group.make_context(name, [], resilient_parsing=True)
    for called in group.list_commands(context):
        command = group.get_command(context, called)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{name} {called}")
        else:
            yield f"{name} {called}", command


def test_every_command_answers_programs_too() -> None:
    found = dict(commands(typer.main.get_command(app_)))
    assert {"weir run", "weir up", "weir deploy", "weir tokens list"} <= found.keys(), "all places were looked at"
    without = [
        name
        for name, command in found.items()
        if not any({"--output", "-o"} == set(option.opts) and option.default is Output.TEXT for option in command.params)
    ]
    assert without == []


def test_for_programs_standard_output_is_the_documents_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with answer_to(Output.JSON) as answer:
        print("what user code prints")
        typer.echo("how far it is")
        print_json({"name": "flüge"}, answer)
    typer.echo("\n", nl=False)
    said = capsys.readouterr()
    assert json.loads(said.out) == {"name": "flüge"}
    assert said.err == "what user code prints\nhow far it is\n"


def test_for_people_nothing_changes(capsys: pytest.CaptureFixture[str]) -> None:
    with answer_to(Output.TEXT) as answer:
        assert answer is None
        print("how far it is")
    assert capsys.readouterr() == ("how far it is\n", "")


def test_after_an_error_standard_output_is_as_it_was() -> None:
    before = sys.stdout
    with pytest.raises(ValueError, match="no"), answer_to(Output.JSON):
        raise ValueError("no")
    assert sys.stdout is before
