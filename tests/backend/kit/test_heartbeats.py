"""The uptime of the control plane, from heartbeats."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fastapi.testclient import TestClient
from tests.backend.conftest import RecordedTasks

from weir_backend.app import create_app
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.heartbeats import GAP_MAX, Component, alive_since, record_heartbeat
from weir_backend.settings import Settings

T0 = datetime(2026, 5, 4, 3, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def said(database: Database, part: Component, *seconds: float) -> None:
    for one in seconds:
        with database.session() as session:
            record_heartbeat(session, part, at(one))


def since(database: Database, seconds: float) -> datetime | None:
    with database.session() as session:
        return alive_since(session, at(seconds))


def test_the_control_plane_is_up_since_its_last_component_started(database: Database) -> None:
    assert since(database, 0) is None
    said(database, Component.API, 0, 5, 10, 15)
    assert since(database, 16) is None
    said(database, Component.ALERTS, 12, 27)
    assert since(database, 28) == at(12)


def test_a_gap_restarts_the_uptime_and_a_component_without_heartbeats_is_down(database: Database) -> None:
    said(database, Component.ALERTS, *range(0, 400, 15))
    said(database, Component.API, *range(0, 100, 5))
    assert since(database, 95 + GAP_MAX[Component.API].total_seconds()) == at(0)
    assert since(database, 96 + GAP_MAX[Component.API].total_seconds()) is None
    said(database, Component.API, 200)
    assert since(database, 201) == at(200)


def test_several_processes_form_one_component(database: Database) -> None:
    said(database, Component.ALERTS, 0, 50)
    said(database, Component.API, 0, 3, 5, 8, 7, 25, 28, 50, 48)
    assert since(database, 55) == at(0), "one that is a little late does not set it back"


def test_a_serving_api_sends_heartbeats(database: Database, settings: Settings) -> None:
    with TestClient(create_app(settings, RecordedTasks())) as client:
        while True:  # bounded by the time of the test
            client.get("/healthz")
            with database.session() as session:
                record_heartbeat(session, Component.ALERTS, now())
                found = alive_since(session, now())
            if found is not None:
                break
    assert now() - found < timedelta(minutes=5)
