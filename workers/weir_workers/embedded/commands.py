"""The commands of ``weir`` for a platform of one's own. Light to import: what they do is loaded when one is used."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from weir.cli.output import JsonOption, Output, OutputOption, answer_to, print_json
from weir.errors import ConfigError

if TYPE_CHECKING:
    from weir_workers.embedded.layout import DataDir

Directory = Annotated[
    str | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where the platform keeps all that is its own; default: $WEIR_HOME, or ~/.local/share/weir (root: /var/lib/weir)",
    ),
]


def add_to(app: typer.Typer) -> None:
    """The entry point of group ``weir.commands``."""
    app.command("up")(up)
    app.command("down")(down)
    app.command("doctor")(doctor)
    app.command("migrate")(migrate)


def up(
    data_dir: Directory = None,
    foreground: Annotated[
        bool,
        typer.Option("--foreground", help="Stay until SIGTERM or Ctrl-C, which stops the platform: for containers and systemd"),
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Start the platform in the background: a Postgres and a Redis of its own, API, worker. Goes on where it was.

    With WEIR_DATABASE_URL or WEIR_REDIS_URL that server is used instead.
    As JSON: once it is up. The password is in it the first time only.
    """
    with _platform(data_dir) as directory, answer_to(output) as answer:
        from weir_workers.embedded import starting

        if foreground:
            raise typer.Exit(starting.up_in_foreground(directory, os.environ, answer))
        starting.up(directory, os.environ, answer)


def down(data_dir: Directory = None, output: OutputOption = Output.TEXT) -> None:
    """Stop the platform. Jobs that run go on, and are found again by the next `weir up`."""
    with _platform(data_dir) as directory, answer_to(output) as answer:
        from weir_workers.embedded import stopping

        stopping.down(directory, answer)


def doctor(data_dir: Directory = None, as_json: JsonOption = False, output: OutputOption = Output.TEXT) -> None:
    """Say what is wrong with the platform and what to do about it. Exit code 1 if something is."""
    with _platform(data_dir) as directory, answer_to(Output.JSON if as_json else output) as answer:
        from weir_workers.embedded import doctor as doctor_

        raise typer.Exit(doctor_.examine_and_tell(directory, os.environ, answer))


def migrate(data_dir: Directory = None, output: OutputOption = Output.TEXT) -> None:
    """Bring the database's schema to this version: of WEIR_DATABASE_URL, or of the platform in the data directory."""
    with _platform(data_dir) as directory, answer_to(output) as answer:
        from weir_workers.embedded.access import database_url
        from weir_workers.embedded.schema import bring_up

        before, after = bring_up(database_url(directory, os.environ))
        if answer is not None:
            print_json({"before": before, "after": after, "changed": before != after}, answer)
        elif before == after:
            typer.echo(f"the schema is at {after}: nothing to do")
        else:
            typer.echo(f"the schema is at {after} now, it was {f'at {before}' if before else 'empty'}")


# Names of modules; what is installed under which name is said in pyproject.toml.
_NEEDED = ("alembic", "celery", "fastapi", "psutil", "psycopg", "pydantic_settings", "redis", "sqlalchemy", "uvicorn")


@contextlib.contextmanager
def _platform(data_dir: str | None) -> Iterator[DataDir]:
    """Raises ConfigError where the platform's packages are not installed, or the directory is somebody else's."""
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise ConfigError(f"the platform is not installed (there is no {', '.join(missing)}): pip install 'weir[embedded]'")
    from weir_workers.embedded.layout import data_dir as find

    try:
        yield find(data_dir, os.environ)
    except PermissionError as error:
        raise ConfigError(
            f"{error.filename or 'the data directory'} is closed to you: run this as the user who ran weir up, or choose another "
            "directory with --data-dir"
        ) from None
