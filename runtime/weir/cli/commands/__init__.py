"""Commands that call the API of a control plane."""

from __future__ import annotations

import typer

from weir.cli.commands import account, apply, deploy, jobs, logs, mcp, plans, profile, secrets


def add_to(app: typer.Typer) -> None:
    """Add the commands in the order in which ``weir --help`` lists them."""
    for module in (deploy, apply, jobs, plans, logs, profile, mcp, secrets, account):
        module.add_to(app)
