"""``weir mcp`` serves the Model Context Protocol."""

from __future__ import annotations

import typer

from weir.cli.extras import require


def add_to(app: typer.Typer) -> None:
    app.command("mcp")(mcp)


def mcp() -> None:
    """Serve the Model Context Protocol on standard input and output. Clients can read jobs and propose plans, but not apply plans."""
    require("the library of the Model Context Protocol", "mcp", ("mcp",))
    from weir.cli.mcp.server import serve

    serve()
