"""The command ``weir``: the same things that the library offers, for people and for scripts."""

from __future__ import annotations


def main() -> None:
    # Late, so that `import weir.cli` for its parts costs nothing.
    from weir.cli.app import app

    app()
