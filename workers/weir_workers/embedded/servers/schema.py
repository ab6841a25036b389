"""Upgrade the database schema and create the first administrator.

This module runs once, before other processes use the database.
"""

from __future__ import annotations

import os
import sys

import structlog
from sqlalchemy.exc import OperationalError

from weir.errors import ConfigError
from weir_backend import migrate
from weir_backend.auth.service import create_first_administrator
from weir_backend.kit import logs
from weir_backend.kit.database import Database
from weir_backend.settings import settings
from weir_workers.embedded.constants import ADMIN_PASSWORD
from weir_workers.embedded.data_dir.credentials import ADMINISTRATOR

log = structlog.get_logger("weir.schema")


def upgrade_schema(sqlalchemy_url: str) -> tuple[str | None, str]:
    """Upgrade the schema. Returns the revision before the upgrade (None for an empty database) and the revision after it. Raises
    ConfigError."""
    database = Database(sqlalchemy_url, pool_size=1, name="weir schema")
    try:
        before, wanted = migrate.current(database.engine), migrate.head()
        if before is not None and before not in migrate.known():
            raise ConfigError(
                f"the database schema {before} is newer than this version of Weir, which uses schema {wanted}: install the version of "
                "Weir that created the schema"
            )
        migrate.upgrade(database.engine)
        return before, wanted
    except OperationalError as error:
        raise ConfigError(f"the database does not answer: {str(error.orig).strip().splitlines()[0]}") from None
    finally:
        database.close()


def create_administrator(sqlalchemy_url: str, password: str) -> None:
    """Create the first administrator, unless one exists."""
    database = Database(sqlalchemy_url, pool_size=1, name="weir schema")
    try:
        with database.session() as session:
            create_first_administrator(session, ADMINISTRATOR, password)
    finally:
        database.close()


def main() -> int:
    logs.configure()
    # Child processes must not inherit the password.
    password = os.environ.pop(ADMIN_PASSWORD, "")
    try:
        url = settings().sqlalchemy_url
        before, after = upgrade_schema(url)
        log.info("schema ready", before=before, after=after)
        if password:
            create_administrator(url, password)
    except ConfigError as error:
        print(f"weir: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
