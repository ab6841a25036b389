"""Commands at a platform: what they are called and what they take. Light to import: what they do is loaded when one is used."""

from __future__ import annotations

import typer

from weir.cli.remote.commands import account, history, jobs, plans


def add_to(app: typer.Typer) -> None:
    """In the order in which they are listed."""
    for part in (jobs, plans, history, account):
        part.add_to(app)
