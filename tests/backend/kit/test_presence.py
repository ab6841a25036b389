"""Since when the control plane is there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fastapi.testclient import TestClient
from tests.backend.conftest import RecordedTasks

from weir_backend.app import create_app
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.presence import GAP, Part, say, there_since
from weir_backend.settings import Settings

T0 = datetime(2026, 5, 4, 3, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def said(database: Database, part: Part, *seconds: float) -> None:
    for one in seconds:
        with database.session() as session:
            say(session, part, at(one))


def since(database: Database, seconds: float) -> datetime | None:
    with database.session() as session:
        return there_since(session, at(seconds))


def test_it_is_there_once_all_parts_are_and_since_the_last_of_them_is(database: Database) -> None:
    assert since(database, 0) is None
    said(database, Part.API, 0, 5, 10, 15)
    assert since(database, 16) is None
    said(database, Part.ALERTS, 12, 27)
    assert since(database, 28) == at(12)


def test_a_gap_begins_anew_and_a_part_that_is_silent_is_away(database: Database) -> None:
    said(database, Part.ALERTS, *range(0, 400, 15))
    said(database, Part.API, *range(0, 100, 5))
    assert since(database, 95 + GAP[Part.API].total_seconds()) == at(0)
    assert since(database, 96 + GAP[Part.API].total_seconds()) is None
    said(database, Part.API, 200)
    assert since(database, 201) == at(200)


def test_several_processes_are_one_part(database: Database) -> None:
    said(database, Part.ALERTS, 0, 50)
    said(database, Part.API, 0, 3, 5, 8, 7, 25, 28, 50, 48)
    assert since(database, 55) == at(0), "one that is a little late does not set it back"


def test_an_api_that_serves_says_so(database: Database, settings: Settings) -> None:
    with TestClient(create_app(settings, RecordedTasks())) as client:
        while True:  # bounded by the time of the test
            client.get("/healthz")
            with database.session() as session:
                say(session, Part.ALERTS, now())
                found = there_since(session, now())
            if found is not None:
                break
    assert now() - found < timedelta(minutes=5)
