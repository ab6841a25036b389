"""Migrations of the database schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.autogenerate import produce_migrations
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

_LOCK = 0x57656972
"""The key of the advisory lock for migrations. If two migrations start at the same time, the second waits for the first and then has
nothing to do."""


def directory() -> Path:
    """Return the directory of the migrations. In a wheel, the migrations are inside the package. In a checkout, the migrations are at the root
    of the repository."""
    here = Path(__file__).resolve()
    for candidate in (here.parent / "migrations", here.parents[2] / "migrations"):
        if (candidate / "env.py").exists():
            return candidate
    raise FileNotFoundError(f"cannot find the migrations beside {here.parent}")


def configuration(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(directory()).replace("%", "%%"))
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    config.attributes["connection"] = connection
    return config


def upgrade(engine: Engine, to: str = "head") -> None:
    _locked(engine, lambda config: command.upgrade(config, to))


def downgrade(engine: Engine, to: str) -> None:
    _locked(engine, lambda config: command.downgrade(config, to))


def current(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    found = ScriptDirectory.from_config(configuration()).get_current_head()
    assert found is not None
    return found


def known() -> set[str]:
    """Return all revisions for which this version of Weir has migrations."""
    return {one.revision for one in ScriptDirectory.from_config(configuration()).walk_revisions()}


def differences(engine: Engine) -> list[object]:
    """Return the schema changes that would make the database match the models. The result is empty if the database matches the models."""
    from weir_backend.models import Base

    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        return list(produce_migrations(context, Base.metadata).upgrade_ops.as_diffs())  # type: ignore[union-attr]  # never None here


def _locked(engine: Engine, run: object) -> None:
    assert callable(run)
    with engine.connect() as connection:
        # The settings and the lock end with the transaction. The default timeouts are suitable for requests, but not for migrations.
        connection.execute(text("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        run(configuration(connection))
        connection.commit()
