"""With ``--output json``, standard output is a JSON document."""

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
    """Yield all commands, including subcommands and plugins, but not the groups."""
    context = group.make_context(name, [], resilient_parsing=True)
    for child in group.list_commands(context):
        command = group.get_command(context, child)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{name} {child}")
        else:
            yield f"{name} {child}", command


def test_every_command_except_mcp_accepts_output_json() -> None:
    found = dict(commands(typer.main.get_command(app_)))
    assert {"weir run", "weir up", "weir deploy", "weir tokens list"} <= found.keys(), "commands of all packages are loaded"
    without = [
        name
        for name, command in found.items()
        if not any({"--output", "-o"} == set(option.opts) and option.default is OutputFormat.TEXT for option in command.params)
    ]
    assert without == ["weir mcp"], "standard output of weir mcp contains only messages of its protocol"


def test_with_json_output_all_other_text_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with result_stream(OutputFormat.JSON) as stream:
        print("output of user code")
        typer.echo("progress")
        print_json({"name": "flüge"}, stream)
    typer.echo("\n", nl=False)
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"name": "flüge"}
    assert printed.err == "output of user code\nprogress\n"


def test_with_text_output_all_text_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with result_stream(OutputFormat.TEXT) as stream:
        assert stream is None
        print("progress")
    assert capsys.readouterr() == ("progress\n", "")


def test_standard_output_is_restored_after_an_error() -> None:
    before = sys.stdout
    with pytest.raises(ValueError, match="no"), result_stream(OutputFormat.JSON):
        raise ValueError("no")
    assert sys.stdout is before
