"""Lists the events of one job from a table with events of several jobs."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import completed, new_run, numbered, store_events, triggered

from weir.protocol.events import CheckpointFailed
from weir.protocol.events import Event as DriverEvent
from weir.protocol.ids import CheckpointId
from weir_backend.events.repository import FIELDS
from weir_backend.kit.database import Database
from weir_backend.link.service import KnownRun, store
from weir_backend.models import Event


def test_the_events_of_a_job_can_be_sorted_by_id_in_both_directions(client: TestClient, database: Database, login: Login) -> None:
    runs = [new_run(database), new_run(database)]
    for checkpoint in range(1, 6):
        for run in runs:
            events = numbered([triggered(checkpoint), completed(checkpoint)], first=2 * checkpoint - 1)
            with database.session() as session:
                store(session, RecordedTasks(), KnownRun(run.id, run.job_id, False, 0, None), events, oldest=1)
    with database.session() as session:
        ids = session.scalars(select(Event.id).where(Event.job_id == runs[0].job_id).order_by(Event.id)).all()
    assert len(ids) == 10

    def listed(**more: object) -> list[int]:
        parameters = {
            "filter": json.dumps({"job_id": runs[0].job_id}),
            **{name: json.dumps(value) for name, value in more.items()},
        }
        answer = client.get("/api/v1/events", params=parameters, headers=login())
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()]

    assert listed() == ids[::-1]
    assert listed(sort=["id", "ASC"], range=[2, 5]) == ids[2:6]
    assert listed(sort=["id", "DESC"], range=[8, 20]) == ids[1::-1]


def series(first: int, last: int) -> list[DriverEvent]:
    """Return the events of periodic checkpoints."""
    return [event for number in range(first, last + 1) for event in (triggered(number), completed(number))]


def test_a_list_without_routine_events_keeps_the_ends_of_each_series_and_all_other_events(
    client: TestClient, database: Database, login: Login
) -> None:
    run, other = new_run(database), new_run(database)
    savepoint: list[DriverEvent] = [triggered(15, trigger="savepoint"), completed(15, trigger="savepoint")]
    failed: list[DriverEvent] = [triggered(10), CheckpointFailed(CheckpointId(10), "declined")]
    events = [*series(1, 9), *failed, *series(11, 14), *savepoint, *series(16, 19)]
    store_events(database, run, *events)
    store_events(database, other, *savepoint, *series(16, 20))

    def listed(**more: object) -> list[tuple[str, int]]:
        answer = client.get(
            "/api/v1/events",
            params={"filter": json.dumps({"job_id": run.job_id, **more}), "sort": '["number","ASC"]', "range": "[0,99]"},
            headers=login(),
        )
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Range"].endswith(f"/{len(answer.json())}")
        return [(one["kind"].removeprefix("Checkpoint"), one["fields"]["checkpoint"]) for one in answer.json()]

    def both(*checkpoints: int) -> list[tuple[str, int]]:
        return [(kind, checkpoint) for checkpoint in checkpoints for kind in ("Triggered", "Completed")]

    # The event triggered(10) belongs to the first series, so completed(9) is the second-to-last event of this series.
    assert listed(routine=False) == [
        ("Completed", 9), ("Triggered", 10), ("Failed", 10), *both(11, 14, 15, 16, 19),
    ]  # fmt: skip
    assert listed(routine=True) == [*both(*range(1, 9)), ("Triggered", 9), *both(12, 13, 17, 18)]
    assert sorted(listed(routine=False) + listed(routine=True)) == sorted(listed())


def test_pages_without_routine_events_are_full(client: TestClient, database: Database, login: Login) -> None:
    run = new_run(database)
    events: list[DriverEvent] = []
    for checkpoint in range(1, 60, 10):
        events += [*series(checkpoint, checkpoint + 8), CheckpointFailed(CheckpointId(checkpoint + 9), "declined")]
    store_events(database, run, *events)
    pages = []
    for first in (0, 10, 20, 30):
        parameters = {"filter": json.dumps({"job_id": run.job_id, "routine": False}), "range": f"[{first},{first + 9}]"}
        answer = client.get("/api/v1/events", params=parameters, headers=login())
        assert answer.headers["Content-Range"].endswith("/28")
        pages.append([one["number"] for one in answer.json()])
    assert [len(page) for page in pages] == [10, 10, 8, 0]
    listed = [number for page in pages for number in page]
    assert listed == sorted(listed, reverse=True)


@pytest.mark.parametrize("routine", [False, True])
def test_lists_with_and_without_routine_events_use_the_index_of_other_events(database: Database, routine: bool) -> None:
    with database.session() as session:
        query = select(Event).where(Event.job_id == 7, FIELDS.filters["routine"](routine))
        sql = str(query.compile(session.get_bind(), compile_kwargs={"literal_binds": True}))
        session.execute(text("SET LOCAL enable_seqscan = off"))
        plan = "\n".join(session.scalars(text(f"EXPLAIN {sql}")))
    assert "on ix_events_not_periodic" in plan and "Index Cond: (id = 7)" in plan, f"the query reads events of other jobs: {plan}"


@pytest.mark.parametrize("value", ["no", 0, None, [False]])
def test_the_filter_for_routine_events_must_be_a_boolean(client: TestClient, login: Login, value: object) -> None:
    answer = client.get("/api/v1/events", params={"filter": json.dumps({"routine": value})}, headers=login())
    assert answer.status_code == 422 and answer.json()["detail"] == "filter: routine must be true or false."
