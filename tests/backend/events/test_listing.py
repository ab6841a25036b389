"""Lists the events of one job from a table with events of several jobs."""

from __future__ import annotations

import json

from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import completed, new_run, numbered, triggered

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
