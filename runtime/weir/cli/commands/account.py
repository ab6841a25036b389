"""Log in, log out, and manage API tokens."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from weir.cli.client import credentials
from weir.cli.client.api import open_client
from weir.cli.client.credentials import Endpoint, SavedLogin
from weir.cli.client.errors import AbortedByUser, NotAllowed, NotConfigured, Refused
from weir.cli.client.schemas import TokenRead
from weir.cli.logs import print_message
from weir.cli.output import OutputFormat, OutputOption, parse_time, print_json, print_rows, time_of

PASSWORD_BYTES_MAX = 64 << 10


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


def add_to(app: typer.Typer) -> None:
    app.command("login")(login)
    app.command("logout")(logout)
    tokens = typer.Typer(name="tokens", help="Manage API tokens.", no_args_is_help=True)
    tokens.command("create")(create_token)
    tokens.command("list")(list_tokens)
    tokens.command("revoke")(revoke_token)
    app.add_typer(tokens)


def login(
    url: Annotated[
        str | None, typer.Option(help="Address of the platform. Default: WEIR_API_URL, or the address of the last login.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="User name. Default: the name of the last login, or a prompt.")] = None,
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")] = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Log in to a platform and save the token for the next commands. The token expires after some hours."""
    file = credentials.credentials_file(os.environ)
    last = _last_login(file)
    endpoint = _endpoint(url, last)
    if not endpoint.is_encrypted and not endpoint.is_local:
        print_message(
            f"warning: {endpoint.url} is not encrypted, so others can read your password on the network. Use https:// instead."
        )
    if name is None:
        name = last.name if last is not None and last.url == endpoint.url else ""
    name = name or _prompt_name(password_stdin=password_stdin)
    password = read_stdin("--password-stdin", PASSWORD_BYTES_MAX) if password_stdin else _prompt_password(name, endpoint)
    with open_client(endpoint) as client:
        session = client.log_in(name, password)
    expires_at = session["expires_at"]
    credentials.write_credentials(file, SavedLogin(endpoint.url, session["token"], session["name"], expires_at))
    if output is OutputFormat.JSON:
        user = {"name": session["name"], "role": session["role"], "permissions": session["permissions"]}
        print_json({"url": endpoint.url, **user, "expires_at": expires_at, "credentials_file": str(file)})
    else:
        typer.echo(f"Logged in to {endpoint.url} as {session['name']} ({session['role']}) until {time_of(expires_at)} UTC.")
    if os.environ.get(credentials.TOKEN):
        print_message(f"note: {credentials.TOKEN} is set and takes precedence. Unset {credentials.TOKEN} to use this login.")


def _last_login(file: Path) -> SavedLogin | None:
    try:
        return credentials.read_credentials(file)
    except Refused:
        return None  # the login overwrites a damaged credentials file


def _endpoint(url: str | None, last: SavedLogin | None) -> Endpoint:
    if url is not None:
        return Endpoint(credentials.parse_url(url, "--url"))
    if variable := os.environ.get(credentials.URL, "").strip():
        return Endpoint(credentials.parse_url(variable, credentials.URL))
    if last is not None:
        return Endpoint(last.url)
    raise Refused(
        f"The address of the platform is missing. Add --url or set {credentials.URL}. The address is in the output of weir up."
    )


def _prompt_name(*, password_stdin: bool) -> str:
    if password_stdin or not sys.stdin.isatty():
        raise Refused("The user name is missing. Add --name.")
    return _prompt("Name", hidden=False)


def _prompt_password(name: str, endpoint: Endpoint) -> str:
    if not sys.stdin.isatty():
        raise Refused("Cannot ask for the password: standard input is not a terminal. Use --password-stdin.")
    return _prompt(f"Password of {name} at {endpoint.url}", hidden=True)


def _prompt(text: str, *, hidden: bool) -> str:
    try:
        return str(typer.prompt(text, hide_input=hidden, err=True))
    except typer.Abort:
        raise AbortedByUser("Canceled. You are not logged in.") from None


def read_stdin(what: str, bytes_max: int) -> str:
    """Return the text in standard input without its final newline. ``what`` begins the message of an error. Raises Refused if
    standard input is empty, larger than ``bytes_max``, or not UTF-8."""
    data = sys.stdin.buffer.read(bytes_max + 3)
    try:
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise Refused(f"{what}: standard input is not UTF-8.") from None
    if not text:
        raise Refused(f"{what}: standard input is empty.")
    if len(text.encode()) > bytes_max:
        raise Refused(f"{what}: standard input is larger than {bytes_max >> 10} KiB.")
    return text


def logout(output: OutputOption = OutputFormat.TEXT) -> None:
    """End the session and delete the saved token."""
    file = credentials.credentials_file(os.environ)
    saved = credentials.read_credentials(file)
    if saved is None:
        raise NotConfigured
    try:
        with open_client(Endpoint(saved.url, saved.token)) as client:
            client.log_out()
    except NotAllowed:
        pass  # the token was not valid any more
    finally:
        # Delete the token even if the API does not respond.
        credentials.delete_credentials(file)
    if output is OutputFormat.JSON:
        print_json({"logged_out": saved.url})
    else:
        typer.echo(f"Logged out of {saved.url}.")


def create_token(
    name: Annotated[str, typer.Option(help="Name of the token, such as its purpose.")],
    role: Annotated[Role, typer.Option(help="Role of the token, at most your own role.")] = Role.OPERATOR,
    rollback: Annotated[bool, typer.Option("--rollback", help="Also allow rollback and undo with this token.")] = False,
    days: Annotated[int, typer.Option(min=1, max=365, help="Days until the token expires.")] = 90,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Create a token for a script. Standard output contains only the token, which is shown only once."""
    with open_client() as client:
        token = client.create_token({"name": name, "role": role.value, "rollback": rollback, "expires_in_days": days})
    if output is OutputFormat.JSON:
        print_json(token)
        return
    expires = time_of(token["expires_at"])
    print_message(f"Token {token['id']} ({_role_text(token)}), valid until {expires} UTC. The token is not shown again:")
    typer.echo(token["token"])


def list_tokens(output: OutputOption = OutputFormat.TEXT) -> None:
    """List your tokens and sessions."""
    with open_client() as client:
        found = client.tokens()
    if output is OutputFormat.JSON:
        print_json(found)
    else:
        columns = ("id", "name", "kind", "role", "expires (UTC)", "last used", "state")
        print_rows(columns, map(_token_row, found), right=frozenset({"id"}))


def _token_row(token: TokenRead) -> tuple[str, ...]:
    expired = parse_time(token["expires_at"]) <= datetime.now(UTC)
    state = "revoked" if token["revoked_at"] else "expired" if expired else "valid"
    times = (time_of(token["expires_at"]), time_of(token["last_used_at"]))
    return (str(token["id"]), token["name"], token["kind"], _role_text(token), *times, state)


def _role_text(token: TokenRead) -> str:
    return token["role"] + (" with rollback" if token["rollback"] else "")


def revoke_token(
    token_id: Annotated[int, typer.Argument(metavar="ID", min=1, help="Id of the token, as listed by weir tokens list.")],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Revoke a token. Requests with this token fail from now on."""
    with open_client() as client:
        client.revoke_token(token_id)
    if output is OutputFormat.JSON:
        print_json({"revoked": token_id})
    else:
        typer.echo(f"Revoked token {token_id}.")
