"""The environment of Alembic. ``weir_backend.migrate`` provides a connection; the ``alembic`` command uses WEIR_DATABASE_URL."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from weir_backend.models import Base


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata, compare_type=True, compare_server_default=True)
    with context.begin_transaction():
        context.run_migrations()


if (given := context.config.attributes.get("connection")) is not None:
    run(given)
else:
    from weir_backend.kit.database import Database
    from weir_backend.settings import settings

    database = Database(settings().sqlalchemy_url, pool_size=1, name="weir migrations")
    with database.engine.connect() as own:
        run(own)
        own.commit()
