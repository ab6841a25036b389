"""Options that many commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from weir.cli.words import parse_duration_ms

JobName = Annotated[str, typer.Argument(metavar="JOB", help="The job's name, or its id")]
Wait = Annotated[bool, typer.Option("--wait", help="Until it is done; exit code 1 if it fails")]
Timeout = Annotated[
    str | None, typer.Option(metavar="DURATION", help="How long to wait: 90s, 10m, 1h; default: as long as the platform tries")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask")]


def seconds(timeout: str | None) -> float | None:
    """Raises ConfigError."""
    return None if timeout is None else parse_duration_ms(timeout) / 1_000
