"""A new database assigns the same ids as the previous database, but run directories and run tokens differ."""

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
    """Create a new database and its first run, with ``root`` as the data directory. Return the run and its token."""
    with new_database(server, TEMPLATE) as name:
        settings = Settings(
            database_url=SecretStr(server.url.rsplit("/", 1)[0] + f"/{name}"),
            redis_url=SecretStr("redis://:nobody@127.0.0.1:1/0"),
            secret_key=SecretStr("a key of sufficient length for tests"),
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
                "the token of a run never changes"
            )
        database.close()
        return run, token


def test_the_first_runs_of_two_databases_have_different_directories_and_tokens(postgres: Postgres, tmp_path: Path) -> None:
    (first, token), (second, other_token) = (first_run(postgres, tmp_path) for _ in range(2))
    assert (first.id, first.job_id, first.number) == (second.id, second.job_id, second.number) == (1, 1, 1)
    assert first.directory != second.directory and first.directory.startswith("flights-1-")
    assert token != other_token, "a driver of the old database cannot authenticate to the new database"
