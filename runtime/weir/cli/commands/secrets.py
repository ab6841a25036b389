"""Manage the secrets of the platform."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from weir.cli.client.api import ApiClient, open_client
from weir.cli.client.errors import AbortedByUser, Refused
from weir.cli.client.schemas import SecretRead
from weir.cli.commands.account import read_stdin
from weir.cli.commands.jobs import confirm
from weir.cli.options import YesOption
from weir.cli.output import OutputFormat, OutputOption, print_json, print_rows, time_of
from weir.protocol.secret_references import SECRET_NAME, VALUE_BYTES_MAX

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the secret. A parameter of a job refers to it as secret:NAME.")
]


def add_to(app: typer.Typer) -> None:
    secret = typer.Typer(name="secret", help="Manage the secrets that jobs use. Requires the role admin.", no_args_is_help=True)
    secret.command("set")(set_)
    secret.command("list")(list_)
    secret.command("delete")(delete)
    app.add_typer(secret)


def set_(
    name: NameArgument,
    description: Annotated[str | None, typer.Option(help="What the secret is used for.")] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Create a secret, or replace its value. The command asks for the value, or reads it from standard input.

    Jobs use the new value when they start the next time.
    """
    if not re.fullmatch(SECRET_NAME, name):
        raise Refused(f"'{name}' is not a valid name of a secret. Use letters, digits and . _ - without spaces.")
    value = _prompt_value(name) if sys.stdin.isatty() else read_stdin("weir secret set", VALUE_BYTES_MAX)
    fields = {"value": value} | ({} if description is None else {"description": description})
    with open_client() as client:
        found = client.secret_named(name)
        secret = client.create_secret({"name": name, **fields}) if found is None else client.update_secret(found, fields)
    if output is OutputFormat.JSON:
        print_json(secret)
    elif found is None:
        typer.echo(f"Created secret '{name}'. Use it in a job: --set PARAMETER=secret:{name}")
    else:
        typer.echo(f"Replaced the value of secret '{name}'. Jobs use it when they start the next time.")


def _prompt_value(name: str) -> str:
    try:
        return str(typer.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True, err=True))
    except typer.Abort:
        raise AbortedByUser(f"Canceled. Secret '{name}' was not changed.") from None


def list_(output: OutputOption = OutputFormat.TEXT) -> None:
    """List the secrets, without their values."""
    with open_client() as client:
        found = client.secrets()
    if output is OutputFormat.JSON:
        print_json(found)
    elif not found:
        typer.echo("No secrets yet. Create a secret with weir secret set NAME.")
    else:
        rows = [(one["name"], time_of(one["created_at"]), time_of(one["value_changed_at"]), one["description"]) for one in found]
        print_rows(("name", "created (UTC)", "value set", "description"), rows)


def delete(
    name: NameArgument,
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Delete a secret. Fails, and names the jobs, if the current version of a job refers to the secret."""
    with open_client() as client:
        secret = _find(client, name)
        if not yes:
            confirm(f"Delete secret '{name}'?", "The secret was not deleted.")
        client.delete_secret(secret)
    if output is OutputFormat.JSON:
        print_json({"deleted": secret})
    else:
        typer.echo(f"Deleted secret '{name}'.")


def _find(client: ApiClient, name: str) -> SecretRead:
    secret = client.secret_named(name)
    if secret is None:
        raise Refused(f"No secret '{name}' at {client.endpoint.url}. To list all secrets, run weir secret list.", status=404)
    return secret
