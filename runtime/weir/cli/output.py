"""For whom a command answers: people, or programs. Light, as every command has it."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any, TextIO

import typer


class Output(StrEnum):
    """For people, or for programs."""

    TEXT = "text"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="For people, or as one JSON document, for programs")]
JsonOption = Annotated[bool, typer.Option("--json", help="The same as --output json")]


def print_json(value: Any, to: TextIO | None = None) -> None:
    """``to`` None: standard output."""
    typer.echo(json.dumps(value, indent=2), file=to)


@contextmanager
def answer_to(output: Output) -> Iterator[TextIO | None]:
    """Where the document for a program goes; None: it is people who are answered.

    What is printed inside for people, or by code of users, goes to standard error if there is a document.
    """
    if output is Output.TEXT:
        yield None
        return
    document = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        yield document
