"""The commands of ``weir`` for an embedded platform. This module imports little; each command imports its code when it runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from weir.cli.extras import RUNTIME, require
from weir.cli.output import JsonOption, OutputFormat, OutputOption, print_json, result_stream
from weir.errors import ConfigError

if TYPE_CHECKING:
    from weir_workers.embedded.data_dir.layout import DataDir

Directory = Annotated[
    str | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Data directory of the platform; default: $WEIR_HOME, or ~/.local/share/weir (root: /var/lib/weir)",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``weir``. The entry point of group ``weir.commands``."""
    app.command("up")(up)
    app.command("down")(down)
    app.command("doctor")(doctor)
    app.command("migrate")(migrate)


def up(
    data_dir: Directory = None,
    foreground: Annotated[
        bool,
        typer.Option(
            "--foreground",
            help="Run in the foreground until SIGTERM or Ctrl-C stops the platform; for containers and systemd",
        ),
    ] = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Start the platform in the background: Postgres, Redis, API and workers. Existing data is kept.

    Set WEIR_DATABASE_URL and WEIR_REDIS_URL to use external servers instead. With --output json, the command prints one document
    when the platform is up. The first `weir up` that succeeds shows the password of admin. Later commands do not show the password.
    """
    with _platform(data_dir) as directory, result_stream(output) as answer:
        from weir_workers.embedded.cli import up

        if foreground:
            raise typer.Exit(up.up_in_foreground(directory, os.environ, answer))
        up.up(directory, os.environ, answer)


def down(data_dir: Directory = None, output: OutputOption = OutputFormat.TEXT) -> None:
    """Stop the platform. Running jobs continue, and the next `weir up` finds them."""
    with _platform(data_dir) as directory, result_stream(output) as answer:
        from weir_workers.embedded.cli import down

        down.down(directory, answer)


def doctor(data_dir: Directory = None, as_json: JsonOption = False, output: OutputOption = OutputFormat.TEXT) -> None:
    """Check the platform, and say how to fix each problem. The exit code is 1 if there is a problem."""
    with _platform(data_dir) as directory, result_stream(OutputFormat.JSON if as_json else output) as answer:
        from weir_workers.embedded.cli import doctor as doctor_

        raise typer.Exit(doctor_.report_findings(directory, os.environ, answer))


def migrate(data_dir: Directory = None, output: OutputOption = OutputFormat.TEXT) -> None:
    """Upgrade the schema of the database to this version of Weir. WEIR_DATABASE_URL names the database. If WEIR_DATABASE_URL is not set,
    the command upgrades the database of the running platform in the data directory.
    """
    with _platform(data_dir) as directory, result_stream(output) as answer:
        from weir_workers.embedded.cli.access import database_url
        from weir_workers.embedded.servers.schema import upgrade_schema

        before, after = upgrade_schema(database_url(directory, os.environ))
        if answer is not None:
            print_json({"before": before, "after": after, "changed": before != after}, answer)
        elif before == after:
            typer.echo(f"the schema is up to date ({after})")
        else:
            typer.echo(f"upgraded the schema to {after} (before: {before or 'empty'})")


# Names of modules. pyproject.toml lists the distributions of these modules, with a reason for each.
_REQUIRED = ("alembic", "celery", "fastapi", "psutil", "psycopg", "pydantic_settings", "redis", "sqlalchemy", "uvicorn")


@contextlib.contextmanager
def _platform(data_dir: str | None) -> Iterator[DataDir]:
    """Yield the data directory. Raises ConfigError if packages are missing, or if the directory belongs to another user."""
    require("the platform", "embedded", (*_REQUIRED, *RUNTIME))
    from weir_workers.embedded.data_dir.layout import data_dir as find

    try:
        yield find(data_dir, os.environ)
    except PermissionError as error:
        raise ConfigError(
            f"cannot access {error.filename or 'the data directory'}: run this command as the user who ran weir up, or choose another "
            "directory with --data-dir"
        ) from None
