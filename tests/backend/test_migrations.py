"""Migrations produce the schema of the models, upwards and downwards, in a real Postgres."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text
from tests.backend.conftest import new_database, sqlalchemy_url

from weir_backend import migrate
from weir_backend.kit.database import Database
from weir_backend.models import Base
from weir_workers.embedded.servers.postgres import Postgres


@pytest.fixture
def empty(postgres: Postgres) -> Iterator[Engine]:
    with new_database(postgres, None) as name:
        database = Database(sqlalchemy_url(postgres, name), pool_size=2, name="weir tests")
        yield database.engine
        database.close()


_SCHEMA = """
    SELECT 'column', table_name, column_name, data_type || coalesce(character_maximum_length::text, '') || is_nullable
           || coalesce(column_default, '') || is_identity
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    ORDER BY 1, 2, 3
"""


def schema(engine: Engine) -> list[tuple[str, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(_SCHEMA)) if row[1] != "alembic_version"]


def test_the_migrated_schema_equals_the_models(postgres: Postgres, empty: Engine) -> None:
    migrate.upgrade(empty)
    assert migrate.differences(empty) == []
    with new_database(postgres, None) as name:
        made = Database(sqlalchemy_url(postgres, name), pool_size=1, name="weir tests")
        Base.metadata.create_all(made.engine)
        assert schema(empty) == schema(made.engine), "checks and partial indexes, too"
        made.close()


def test_every_migration_upgrades_downgrades_and_upgrades_again(empty: Engine) -> None:
    revisions = [one.revision for one in ScriptDirectory.from_config(migrate.configuration()).walk_revisions()][::-1]
    for revision in revisions:
        before = schema(empty)
        migrate.upgrade(empty, revision)
        after = schema(empty)
        assert after != before
        migrate.downgrade(empty, "-1")
        assert schema(empty) == before
        migrate.upgrade(empty, revision)
        assert schema(empty) == after
    assert migrate.current(empty) == migrate.head() == revisions[-1]


def test_a_second_upgrade_does_nothing(empty: Engine) -> None:
    migrate.upgrade(empty)
    before = schema(empty)
    migrate.upgrade(empty)
    assert schema(empty) == before
