from __future__ import annotations

from fastapi.testclient import TestClient
from sqlalchemy import text

from weir_backend.kit.database import Database


def test_it_is_alive_and_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}
    answer = client.get("/readyz")
    assert answer.status_code == 200 and answer.json()["status"] == "ready"
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["X-Request-Id"]


def test_it_is_not_ready_with_another_schema(client: TestClient, database: Database) -> None:
    with database.session() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    answer = client.get("/readyz")
    assert answer.status_code == 503 and answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "schema" and "weir migrate" in answer.json()["next_step"]


def test_what_is_not_there_is_a_problem(client: TestClient) -> None:
    answer = client.get("/api/v1/nothing")
    assert answer.status_code == 404 and answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not-found" and answer.headers["Cache-Control"] == "no-store"
