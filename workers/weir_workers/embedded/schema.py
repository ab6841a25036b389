"""The schema brought to where this version wants it, and a first administrator: runs once, before anything else uses the database."""

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
from weir_workers.embedded.credentials import ADMINISTRATOR
from weir_workers.embedded.names import ADMIN_PASSWORD

log = structlog.get_logger("weir.schema")


def bring_up(sqlalchemy_url: str) -> tuple[str | None, str]:
    """The revisions before and after. Raises ConfigError with one sentence."""
    database = Database(sqlalchemy_url, pool_size=1, name="weir schema")
    try:
        before, wanted = migrate.current(database.engine), migrate.head()
        if before is not None and before not in migrate.known():
            raise ConfigError(
                f"the schema of the database is at {before}, which this version of Weir (up to {wanted}) does not know: "
                "it was made by a newer one; install that"
            )
        migrate.upgrade(database.engine)
        return before, wanted
    except OperationalError as error:
        raise ConfigError(f"the database does not answer: {str(error.orig).strip().splitlines()[0]}") from None
    finally:
        database.close()


def make_administrator(sqlalchemy_url: str, password: str) -> None:
    """Nothing happens if there is one."""
    database = Database(sqlalchemy_url, pool_size=1, name="weir schema")
    try:
        with database.session() as session:
            create_first_administrator(session, ADMINISTRATOR, password)
    finally:
        database.close()


def main() -> int:
    logs.configure()
    # What this process starts has no use for it.
    password = os.environ.pop(ADMIN_PASSWORD, "")
    try:
        url = settings().sqlalchemy_url
        before, after = bring_up(url)
        log.info("schema ready", before=before, after=after)
        if password:
            make_administrator(url, password)
    except ConfigError as error:
        print(f"weir: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
