"""How answers are printed for people: as lines and tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import typer
from rich.text import Text

from weir.cli.tables import new_table, print_table


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[str] = frozenset()) -> None:
    """What is in the cells comes from user code, too: it is shown, not interpreted."""
    table = new_table()
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    print_table(table)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names and values, one under the other; what has no value is left out."""
    kept = [(name, value) for name, value in facts if value]
    width = max((len(name) for name, _ in kept), default=0)
    for name, value in kept:
        typer.echo(f"{name:<{width}}  {harmless(value)}")


def harmless(text: str) -> str:
    """Without characters that a terminal would obey."""
    return "".join(character for character in text if character in "\n\t" or (character.isprintable() or character == " "))


def harmless_if_seen(text: str) -> str:
    """A file gets what there is."""
    return harmless(text) if sys.stdout.isatty() else text


# ---- times -------------------------------------------------------------------------------------


def moment_of(text: str) -> datetime:
    """Of an answer of the API."""
    return datetime.fromisoformat(text)


def time_of(text: str | None) -> str:
    return moment_of(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if text else ""


def clock_of(text: str | None) -> str:
    return moment_of(text).astimezone(UTC).strftime("%H:%M:%S") if text else ""


def ago(text: str | None) -> str:
    """``3 min ago``. By the clock of this machine, so that it may be a little off."""
    if not text:
        return ""
    return f"{duration_text((datetime.now(UTC) - moment_of(text)).total_seconds())} ago"


def duration_text(seconds: float) -> str:
    seconds = max(0.0, seconds)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3_600:.0f} h"
    return f"{timedelta(seconds=seconds).days} days"
