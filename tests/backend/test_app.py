from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, text

from weir_backend import migrate
from weir_backend.errors import Unavailable
from weir_backend.kit.database import Database
from weir_backend.kit.readiness import CACHE_S, Readiness


def test_the_api_is_alive_and_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}
    answer = client.get("/readyz")
    assert answer.status_code == 200 and answer.json()["status"] == "ready"
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["X-Request-Id"]


def test_the_api_is_not_ready_if_the_schema_has_a_different_revision(client: TestClient, database: Database) -> None:
    with database.session() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    answer = client.get("/readyz")
    assert answer.status_code == 503 and answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "schema" and "weir migrate" in answer.json()["next_step"]


def test_an_unknown_path_returns_a_problem_document(client: TestClient) -> None:
    answer = client.get("/api/v1/nothing")
    assert answer.status_code == 404 and answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not-found" and answer.headers["Cache-Control"] == "no-store"


def test_readiness_queries_the_database_at_most_once_a_second(database: Database) -> None:
    queries: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *arguments: queries.append(arguments[2]))
    time_s = [0.0]
    readiness = Readiness(database, lambda: time_s[0])
    assert {readiness.schema() for _ in range(50)} == {migrate.head()}
    first_count = len(queries)
    assert first_count > 0
    time_s[0] = CACHE_S
    readiness.schema()
    assert len(queries) == 2 * first_count
    with database.session() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    assert readiness.schema() == migrate.head(), "the revision is cached for a second"
    time_s[0] = 2 * CACHE_S
    for _ in range(3):
        with pytest.raises(Unavailable, match=f"is at revision 0000; this version requires {migrate.head()}"):
            readiness.schema()
