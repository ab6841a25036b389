"""The command ``weir``."""

from __future__ import annotations


def main() -> None:
    # Import the app here, so that importing a module of this package does not load all commands.
    from weir.cli.app import app

    app()
