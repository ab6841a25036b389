"""A new database gives numbers again that the one before it gave. What its runs have on the disk, and their tokens, are their own."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr
from tests.backend.conftest import TEMPLATE, new_database
from tests.backend.jobs import new_job

from weir_backend.kit.access import digest
from weir_backend.kit.database import Database
from weir_backend.models import Job, Run, Spec
from weir_backend.runs import service
from weir_backend.runs.start import RunStart
from weir_backend.settings import Settings
from weir_workers.embedded.servers.postgres import Postgres


def first_run(server: Postgres, root: Path) -> tuple[Run, str]:
    """Of an installation with these files and this key, and a database that has just been made; and its token."""
    with new_database(server, TEMPLATE) as name:
        settings = Settings(
            database_url=SecretStr(server.url.rsplit("/", 1)[0] + f"/{name}"),
            redis_url=SecretStr("redis://:nobody@127.0.0.1:1/0"),
            secret_key=SecretStr("a key for tests, as long as it has to be"),
            data_dir=root,
        )
        database = Database(settings.sqlalchemy_url, pool_size=1, name="weir tests")
        job_id = new_job(database, "flights")
        with database.session() as session:
            job, spec = session.get_one(Job, job_id), session.query(Spec).one()
            spec.body = {"checkpointing": {"directory": None}}
            run = service.begin_run(session, settings, job, spec, start=RunStart(None), cause="start")
            token = service.run_token(settings, run.directory)
            assert digest(token) == run.token_digest and service.run_token(settings, run.directory) == token, (
                "a second start gets the same"
            )
        database.close()
        return run, token


def test_the_first_run_of_a_new_database_is_not_that_of_the_one_before(postgres: Postgres, tmp_path: Path) -> None:
    (one, token), (other, other_token) = (first_run(postgres, tmp_path) for _ in range(2))
    assert (one.id, one.job_id, one.number) == (other.id, other.job_id, other.number) == (1, 1, 1)
    assert one.directory != other.directory and one.directory.startswith("flights-1-")
    assert token != other_token, "a driver that lives on from the old one is a stranger to the new one"
