"""The uptime of the control plane, computed from heartbeats."""

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


def send_heartbeats(database: Database, component: Component, *seconds: float) -> None:
    for one in seconds:
        with database.session() as session:
            record_heartbeat(session, component, at(one))


def up_since(database: Database, seconds: float) -> datetime | None:
    with database.session() as session:
        return alive_since(session, at(seconds))


def test_the_uptime_begins_when_the_last_component_starts(database: Database) -> None:
    assert up_since(database, 0) is None
    send_heartbeats(database, Component.API, 0, 5, 10, 15)
    assert up_since(database, 16) is None
    send_heartbeats(database, Component.ALERTS, 12, 27)
    assert up_since(database, 28) == at(12)


def test_a_gap_in_heartbeats_counts_as_downtime_and_resets_the_uptime(database: Database) -> None:
    send_heartbeats(database, Component.ALERTS, *range(0, 400, 15))
    send_heartbeats(database, Component.API, *range(0, 100, 5))
    assert up_since(database, 95 + GAP_MAX[Component.API].total_seconds()) == at(0)
    assert up_since(database, 96 + GAP_MAX[Component.API].total_seconds()) is None
    send_heartbeats(database, Component.API, 200)
    assert up_since(database, 201) == at(200)


def test_heartbeats_of_several_processes_count_as_one_component(database: Database) -> None:
    send_heartbeats(database, Component.ALERTS, 0, 50)
    send_heartbeats(database, Component.API, 0, 3, 5, 8, 7, 25, 28, 50, 48)
    assert up_since(database, 55) == at(0), "heartbeats that arrive out of order do not restart the uptime"


def test_a_serving_api_sends_heartbeats(database: Database, settings: Settings) -> None:
    with TestClient(create_app(settings, RecordedTasks())) as client:
        while True:  # if no heartbeat is recorded, the test's timeout ends this loop
            client.get("/healthz")
            with database.session() as session:
                record_heartbeat(session, Component.ALERTS, now())
                found = alive_since(session, now())
            if found is not None:
                break
    assert now() - found < timedelta(minutes=5)
