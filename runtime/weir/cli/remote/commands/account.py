"""Who is calling."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from weir.cli.output import Output, OutputOption


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


def add_to(app: typer.Typer) -> None:
    app.command("login")(login)
    app.command("logout")(logout)
    tokens = typer.Typer(name="tokens", help="Tokens for programs.", no_args_is_help=True)
    tokens.command("create")(create)
    tokens.command("list")(list_)
    tokens.command("revoke")(revoke)
    app.add_typer(tokens)


def login(
    url: Annotated[str | None, typer.Option(help="Of the platform; default: WEIR_API_URL, or the one of the last time")] = None,
    name: Annotated[str | None, typer.Option(help="Of the user; default: that of the last time, or it is asked for")] = None,
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input")] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Log in to a platform. The token that it gives is kept for you alone, and lasts some hours."""
    from weir.cli.remote import account

    account.log_in(url, name, password_stdin=password_stdin, output=output)


def logout(output: OutputOption = Output.TEXT) -> None:
    """End the session, and forget its token."""
    from weir.cli.remote import account

    account.log_out(output)


def create(
    name: Annotated[str, typer.Option(help="What it is for")],
    role: Annotated[Role, typer.Option(help="What it may do: no more than you may")] = Role.OPERATOR,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="It may also go back to older checkpoints (rollback, undo)")
    ] = False,
    days: Annotated[int, typer.Option(min=1, max=365, help="How long it is valid")] = 90,
    output: OutputOption = Output.TEXT,
) -> None:
    """Make a token for a program. It is printed, alone on standard output, and never shown again."""
    from weir.cli.remote import account

    account.create_token(name, role.value, rollback=rollback, days=days, output=output)


def list_(output: OutputOption = Output.TEXT) -> None:
    """Your tokens and sessions."""
    from weir.cli.remote import account

    account.list_tokens(output)


def revoke(
    token: Annotated[int, typer.Argument(metavar="ID", min=1, help="Of weir tokens list")], output: OutputOption = Output.TEXT
) -> None:
    """Make a token invalid, from now on."""
    from weir.cli.remote import account

    account.revoke_token(token, output)
