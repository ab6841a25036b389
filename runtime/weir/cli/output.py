"""Results on standard output, as text and tables or as one JSON document. Every command imports this module."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

if TYPE_CHECKING:
    from rich.table import Table

PIPED_COLUMNS = 160


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


OutputOption = Annotated[OutputFormat, typer.Option("--output", "-o", help="Output format: text, or one JSON document.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Same as --output json.")]


def print_json(value: Any, to: TextIO | None = None) -> None:
    """Print ``value`` to the stream ``to``, or to standard output if ``to`` is None."""
    typer.echo(json.dumps(value, indent=2), file=to)


@contextmanager
def result_stream(output: OutputFormat) -> Iterator[TextIO | None]:
    """Yield the stream for the JSON document, or None if the output is text.

    If the output is JSON, all text that is printed inside the ``with`` block goes to standard error, including the output of user
    code. Only the yielded stream writes to standard output.
    """
    if output is OutputFormat.TEXT:
        yield None
        return
    stream = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        yield stream


# ---- tables ------------------------------------------------------------------------------------


def new_table(title: str | None = None) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)


def print_table(table: Table) -> None:
    from rich.console import Console

    # A pipe has no width. With a fixed width, each row of a table stays on one line, so that grep prints whole rows.
    Console(width=None if Console().is_terminal else PIPED_COLUMNS).print(table)


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[str] = frozenset()) -> None:
    """Print a table. Cells can contain text from user code, so they are sanitized and not read as markup."""
    from rich.text import Text

    table = new_table()
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(sanitized(cell)) for cell in row))
    print_table(table)


def print_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair per line. A pair with an empty value is left out."""
    shown = [(name, value) for name, value in fields if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        typer.echo(f"{name:<{width}}  {sanitized(value)}")


def sanitized(text: str) -> str:
    """Remove control characters, which a terminal would interpret."""
    return "".join(character for character in text if character in "\n\t" or (character.isprintable() or character == " "))


def sanitized_for_terminal(text: str) -> str:
    """Sanitize ``text`` if standard output is a terminal. Return the text for a file or a pipe unchanged."""
    return sanitized(text) if sys.stdout.isatty() else text


# ---- times and sizes ---------------------------------------------------------------------------


def time_text(timestamp_ms: int) -> str:
    return _format_time(datetime.fromtimestamp(timestamp_ms / 1_000, UTC))


def parse_time(text: str) -> datetime:
    """Parse a time from an API response."""
    return datetime.fromisoformat(text)


def time_of(text: str | None) -> str:
    """Return date and time in UTC, or '' for None."""
    return _format_time(parse_time(text).astimezone(UTC)) if text else ""


def clock_of(text: str | None) -> str:
    """Return the time of day in UTC, or '' for None."""
    return parse_time(text).astimezone(UTC).strftime("%H:%M:%S") if text else ""


def age_of(text: str | None) -> str:
    """Return the age of a time, such as ``3 min ago``.

    The age depends on the clock of this machine, which can differ from the platform's clock.
    """
    if not text:
        return ""
    return f"{duration_text((datetime.now(UTC) - parse_time(text)).total_seconds())} ago"


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


def size_text(count: int) -> str:
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= limit:
            return f"{count / limit:.1f} {unit}"
    return f"{count} B"


def _format_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S")
