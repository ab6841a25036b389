"""Tables, times and sizes as all commands print them."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

PIPED_COLUMNS = 160


def new_table(title: str | None = None) -> Table:
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)


def print_table(table: Table) -> None:
    # Where there is no terminal nobody has said how wide it is, and a row in one line can be searched.
    Console(width=None if Console().is_terminal else PIPED_COLUMNS).print(table)


def time_text(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def size_text(count: int) -> str:
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= limit:
            return f"{count / limit:.1f} {unit}"
    return f"{count} B"
