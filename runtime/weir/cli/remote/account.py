"""Logging in and out, and tokens for programs."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import typer

from weir.cli.logs import tell
from weir.cli.output import Output, print_json
from weir.cli.remote import place
from weir.cli.remote.errors import Declined, NoPlatform, NotAllowed, Refused
from weir.cli.remote.opening import opened
from weir.cli.remote.place import Kept, Place
from weir.cli.remote.shapes import Token
from weir.cli.remote.telling import moment_of, print_rows, time_of

PASSWORD_BYTES_MAX = 64 << 10


def log_in(url: str | None, name: str | None, *, password_stdin: bool, output: Output) -> None:
    file = place.credentials_file(os.environ)
    before = _before(file)
    at = _where(url, before)
    if not at.is_encrypted and not at.is_here:
        tell(f"warning: {at.url} is not encrypted: whoever listens in between reads your password; use https:// if there is one")
    name = (
        name or (before.name if before is not None and before.url == at.url else "") or _ask_name(password_stdin=password_stdin)
    )
    password = _password_from_stdin() if password_stdin else _ask_password(name, at)
    with opened(at) as client:
        session = client.log_in(name, password)
    place.write(file, Kept(at.url, session["token"], session["name"], session["expires_at"]))
    if output is Output.JSON:
        known = {"name": session["name"], "role": session["role"], "permissions": session["permissions"]}
        print_json({"url": at.url, **known, "expires_at": session["expires_at"], "credentials_file": str(file)})
    else:
        typer.echo(f"logged in at {at.url} as {session['name']} ({session['role']}) until {time_of(session['expires_at'])} UTC")
    if os.environ.get(place.TOKEN):
        tell(f"note: {place.TOKEN} is set, and goes before what was kept just now; unset it to use this log-in")


def _before(file: os.PathLike[str]) -> Kept | None:
    from pathlib import Path

    try:
        return place.read(Path(file))
    except Refused:
        return None  # damaged: it is written anew


def _where(url: str | None, before: Kept | None) -> Place:
    if url is not None:
        return Place(place.parse_url(url, "--url"))
    if said := os.environ.get(place.URL, "").strip():
        return Place(place.parse_url(said, place.URL))
    if before is not None:
        return Place(before.url)
    raise Refused(f"which platform? Give its address with --url, or set {place.URL}; weir up prints the one that it starts")


def _ask_name(*, password_stdin: bool) -> str:
    if password_stdin or not sys.stdin.isatty():
        raise Refused("who are you? Add --name")
    return _asked("Name", hidden=False)


def _ask_password(name: str, at: Place) -> str:
    if not sys.stdin.isatty():
        raise Refused("nobody is there to be asked for the password: give it with --password-stdin")
    return _asked(f"Password of {name} at {at.url}", hidden=True)


def _asked(what: str, *, hidden: bool) -> str:
    try:
        answer = typer.prompt(what, hide_input=hidden, err=True)
    except typer.Abort:
        raise Declined("you are not logged in") from None
    return str(answer)


def _password_from_stdin() -> str:
    """Its one line, without the end of it."""
    data = sys.stdin.buffer.read(PASSWORD_BYTES_MAX)
    try:
        password = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise Refused("--password-stdin: what comes from standard input is no UTF-8") from None
    if not password:
        raise Refused("--password-stdin: nothing came from standard input")
    return password


def log_out(output: Output) -> None:
    file = place.credentials_file(os.environ)
    kept = place.read(file)
    if kept is None:
        raise NoPlatform
    try:
        with opened(Place(kept.url, kept.token)) as client:
            client.log_out()
    except NotAllowed:
        pass  # it was not valid any more
    finally:
        # Whatever the platform says: here it is forgotten.
        place.remove(file)
    if output is Output.JSON:
        print_json({"logged_out": kept.url})
    else:
        typer.echo(f"logged out of {kept.url}")


def create_token(name: str, role: str, *, rollback: bool, days: int, output: Output) -> None:
    with opened() as client:
        made = client.create_token({"name": name, "role": role, "rollback": rollback, "expires_in_days": days})
    if output is Output.JSON:
        print_json(made)
        return
    may = f"{made['role']}{' with rollback' if made['rollback'] else ''}"
    tell(f"token {made['id']} ({may}), valid until {time_of(made['expires_at'])} UTC; it is not shown again:")
    typer.echo(made["token"])


def list_tokens(output: Output) -> None:
    with opened() as client:
        found = client.tokens()
    if output is Output.JSON:
        print_json(found)
    else:
        columns = ("id", "name", "kind", "may", "expires (UTC)", "last used", "state")
        print_rows(columns, map(_token, found), right=frozenset({"id"}))


def _token(one: Token) -> tuple[str, ...]:
    expired = moment_of(one["expires_at"]) <= datetime.now(UTC)
    state = "revoked" if one["revoked_at"] else "expired" if expired else "valid"
    may = one["role"] + (" with rollback" if one["rollback"] else "")
    return (str(one["id"]), one["name"], one["kind"], may, time_of(one["expires_at"]), time_of(one["last_used_at"]), state)


def revoke_token(token_id: int, output: Output) -> None:
    with opened() as client:
        client.revoke_token(token_id)
    if output is Output.JSON:
        print_json({"revoked": token_id})
    else:
        typer.echo(f"token {token_id} is not valid any more")
