"""``--output json``: every command has it, and standard output is then one JSON document."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from weir.cli.app import app_
from weir.cli.output import OutputFormat, print_json, result_stream


def commands(group: Any, name: str = "weir") -> Iterator[tuple[str, Any]]:
    """Yield all commands, with subcommands and plugins, but without groups."""
    context = group.make_context(name, [], resilient_parsing=True)
    for child in group.list_commands(context):
        command = group.get_command(context, child)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{name} {child}")
        else:
            yield f"{name} {child}", command


def test_every_command_has_json_output() -> None:
    found = dict(commands(typer.main.get_command(app_)))
    assert {"weir run", "weir up", "weir deploy", "weir tokens list"} <= found.keys(), "all sources of commands are loaded"
    without = [
        name
        for name, command in found.items()
        if not any({"--output", "-o"} == set(option.opts) and option.default is OutputFormat.TEXT for option in command.params)
    ]
    assert without == []


def test_json_output_keeps_other_text_off_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with result_stream(OutputFormat.JSON) as stream:
        print("what user code prints")
        typer.echo("how far it is")
        print_json({"name": "flüge"}, stream)
    typer.echo("\n", nl=False)
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"name": "flüge"}
    assert printed.err == "what user code prints\nhow far it is\n"


def test_text_output_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with result_stream(OutputFormat.TEXT) as stream:
        assert stream is None
        print("how far it is")
    assert capsys.readouterr() == ("how far it is\n", "")


def test_an_error_restores_standard_output() -> None:
    before = sys.stdout
    with pytest.raises(ValueError, match="no"), result_stream(OutputFormat.JSON):
        raise ValueError("no")
    assert sys.stdout is before
