from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.jobs import end_run, new_job, new_run, numbered, store_events

from weir.protocol.events import DriverState, FailureOccurred, GraphDeployed, Recovered, RunStateChanged
from weir.protocol.ids import Generation
from weir_backend.kit.database import Database
from weir_backend.link import service
from weir_backend.models import Role, RunState
from weir_backend.runs.lifecycle import FINAL, LEGAL, from_driver_state, is_legal


def test_runs_are_listed_without_their_tokens(client: TestClient, database: Database, login: Login) -> None:
    job = new_job(database)
    first = new_run(database, job)
    end_run(database, first)
    second = new_run(database, job)
    headers = login(Role.VIEWER)
    answer = client.get("/api/v1/runs", params={"filter": json.dumps({"job_id": job})}, headers=headers)
    assert [(one["id"], one["number"], one["state"]) for one in answer.json()] == [
        (second.id, 2, "CREATED"), (first.id, 1, "FAILED"),
    ]  # fmt: skip
    assert "token" not in answer.text and answer.headers["content-range"] == "runs 0-1/2"
    params = {"filter": json.dumps({"state": ["FAILED"]}), "sort": '["number","ASC"]'}
    assert [one["id"] for one in client.get("/api/v1/runs", params=params, headers=headers).json()] == [first.id]
    assert client.get(f"/api/v1/runs/{second.id}", headers=headers).json()["start"] == {"mode": "fresh"}
    assert client.get("/api/v1/runs/999", headers=headers).status_code == 404
    assert client.get(f"/api/v1/runs/{1 << 63}", headers=headers).status_code == 422
    assert client.get("/api/v1/runs", params={"filter": '{"state": "WELL"}'}, headers=headers).status_code == 422
    assert client.get(f"/api/v1/runs/{second.id}", headers=second.headers).status_code == 401, (
        "the token of a run gives no read access"
    )


def test_runs_with_equal_graphs_share_one_stored_graph(client: TestClient, database: Database, login: Login) -> None:
    one, other, without_graph = new_run(database), new_run(database), new_run(database)
    store_events(database, one, GraphDeployed({"b": 1, "a": [1.5, "\u00e4"]}))
    store_events(database, other, GraphDeployed({"a": [1.5, "\u00e4"], "b": 1}))
    headers = login(Role.VIEWER)
    found = [client.get(f"/api/v1/runs/{run.id}/graph", headers=headers).json() for run in (one, other)]
    assert found[0] == found[1] and found[0]["graph"] == {"a": [1.5, "\u00e4"], "b": 1} and len(found[0]["digest"]) == 64
    answer = client.get(f"/api/v1/runs/{without_graph.id}/graph", headers=headers)
    assert answer.status_code == 404 and answer.json()["code"] == "no-graph"


def test_failures_of_a_job_are_listed_newest_first(client: TestClient, database: Database, login: Login) -> None:
    run = new_run(database)
    store_events(
        database, run, FailureOccurred(Generation(1), "a"), Recovered(Generation(2), "a", 12), FailureOccurred(Generation(2), "b")
    )
    headers = login(Role.VIEWER)
    answer = client.get(f"/api/v1/jobs/{run.job_id}/failures", headers=headers)
    assert [(one["reason"], one["recovery"], one["downtime_ms"]) for one in answer.json()] == [
        ("b", None, None),
        ("a", "full", 12),
    ]
    assert client.get(f"/api/v1/jobs/{new_job(database)}/failures", headers=headers).json() == []
    assert client.get("/api/v1/jobs/999/failures", headers=headers).status_code == 404


def test_a_final_run_state_never_changes_and_every_other_state_can_become_final() -> None:
    assert set(LEGAL) == set(RunState)
    for state, following in LEGAL.items():
        assert following == set() if state in FINAL | {RunState.RECONCILING} else following >= FINAL, (
            "RECONCILING is never stored"
        )
        assert RunState.CREATED not in following and not is_legal(state, state)


@pytest.mark.parametrize("driver_state", list(DriverState))
def test_every_driver_state_maps_to_a_run_state(driver_state: DriverState) -> None:
    assert (
        is_legal(RunState.CREATED, from_driver_state(driver_state))
        and (from_driver_state(driver_state) in FINAL) == driver_state.final
    )


def test_a_change_of_the_run_state_enqueues_a_reconciliation(database: Database) -> None:
    run = new_run(database)
    tasks = RecordedTasks()
    for number, driver_state in enumerate((DriverState.RUNNING, DriverState.RUNNING, DriverState.FINISHED), 1):
        with database.session() as session:
            known = service.known_run(session, run.id, run.token)
            event = RunStateChanged(driver_state, Generation(1))
            service.store(session, tasks, known, numbered([event], number), oldest=number)
    assert tasks.enqueued == [("weir.reconcile", (run.job_id,))] * 2
