from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, select, update
from tests.backend.conftest import Login
from tests.backend.jobs import AT_MS, RunHandle, completed, end_run, new_job, new_run, store_events, triggered

from weir.protocol.events import CheckpointFailed, Event, GraphDeployed, SubtasksAcknowledged
from weir.protocol.ids import CheckpointId, SubtaskId
from weir_backend.checkpoints.statistics import straggler_limit_ms
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.statistics import summarize
from weir_backend.models import AuditEntry, Checkpoint, Role, Run

GRAPH = {
    "logical": {"operators": [{"uid": "words", "name": "read words"}, {"uid": "counts", "name": "count"}, {"name": "odd"}]},
    "chains": [{"index": 0, "operators": ["words"]}, {"index": 1, "operators": ["counts", "sink"]}, {"operators": 5}, None],
}


def acknowledgements(checkpoint: int, after_ms: Sequence[int]) -> list[Event]:
    return [
        SubtasksAcknowledged(CheckpointId(checkpoint), (SubtaskId(place // 2, place % 2),), one)
        for place, one in enumerate(after_ms)
    ]


@pytest.fixture
def run(database: Database) -> RunHandle:
    return new_run(database)


def id_of(database: Database, number: int) -> int:
    with database.session() as session:
        return session.scalars(select(Checkpoint.id).where(Checkpoint.number == number)).one()


def test_the_response_for_a_checkpoint_contains_its_statistics_and_marks_stragglers(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(
        database,
        run,
        GraphDeployed(GRAPH),
        triggered(1, subtasks=4),
        *acknowledgements(1, [10, 12, 11, 90]),
        completed(1, subtasks=4, written=1_500),
    )
    answer = client.get(f"/api/v1/checkpoints/{id_of(database, 1)}", headers=login(Role.VIEWER))
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["number"], body["state"], body["acknowledged"]) == (1, "COMPLETED", 4)
    assert body["progress"] == [[0, 0, 10], [0, 1, 12], [1, 0, 11], [1, 1, 90]]
    found = body["statistics"]
    assert (found["id"], found["status"], found["state_size"], found["end_to_end_duration"]) == (1, "COMPLETED", 4000, 41)
    assert found["checkpointed_size"] == 1_500 and found["external_path"] is None, (
        "the checkpoint directory of the run is unknown"
    )
    assert (found["trigger_timestamp"], found["num_subtasks"], found["num_acknowledged_subtasks"]) == (AT_MS + 2, 4, 4)
    assert [[name["name"] for name in chain["operators"]] for chain in found["chains"]] == [["read words"], ["count", "sink"]]
    slow = found["chains"][1]["subtasks"][1]
    assert slow["straggler"] and slow["end_to_end_duration"] == 90 and slow["ack_timestamp"] == AT_MS + 2 + 90
    assert slow["checkpoint"] == {"sync": 0.4, "async": 6.0} and slow["alignment"]["duration"] == 2.0
    assert sum(one["straggler"] for chain in found["chains"] for one in chain["subtasks"]) == 1
    assert found["summary"]["sync"]["max"] == 0.4 and found["chains"][0]["summary"]["async"]["avg"] == pytest.approx(2.25)


@pytest.mark.parametrize(
    ("directory", "shown"),
    [
        ("/srv/checkpoints", "/srv/checkpoints"),
        ("/srv/odd?and#/", "/srv/odd?and#"),
        ("s3://bucket/a prefix/", "s3://bucket/a prefix"),
        ("s3://key:secret@bucket/x?signature=secret#secret", "s3://bucket/x"),
        ("https://secret@host:9000/bucket", "https://host:9000/bucket"),
        ("abfss://container@account.dfs.core.windows.net/x?sig=secret", "abfss://container@account.dfs.core.windows.net/x"),
        ("abfss://container:secret@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"),
    ],
)
def test_a_completed_checkpoint_contains_its_path_without_secrets(
    client: TestClient, database: Database, login: Login, run: RunHandle, directory: str, shown: str
) -> None:
    graph = {**GRAPH, "logical": {**GRAPH["logical"], "job": "route delays"}}
    with database.session() as session:
        session.get_one(Run, run.id).checkpoint_directory = directory
    taken: list[Event] = [
        triggered(1, generation=3),
        completed(1, generation=3),
        triggered(2),
        CheckpointFailed(CheckpointId(2), "no"),
    ]
    store_events(database, run, GraphDeployed(graph), *taken)

    def statistics(number: int) -> Any:
        return client.get(f"/api/v1/checkpoints/{id_of(database, number)}", headers=login()).json()["statistics"]

    # The control plane computes the same path as weir.storage.layout, which it cannot import.
    assert statistics(1)["external_path"] == f"{shown}/route.20delays/checkpoints/1/manifest-g3.json"
    assert statistics(1)["checkpointed_size"] is None, "older drivers do not report the checkpointed size"
    assert statistics(2)["external_path"] is None, "a failed checkpoint has no manifest"


def test_a_checkpoint_in_progress_shows_the_acknowledged_subtasks(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(database, run, triggered(1, subtasks=4), *acknowledgements(1, [10]))
    body = client.get(f"/api/v1/checkpoints/{id_of(database, 1)}", headers=login()).json()
    assert (body["state"], body["acknowledged"], body["statistics"]["state_size"]) == ("IN_PROGRESS", 1, None)
    [chain] = body["statistics"]["chains"]
    assert chain["operators"] == [] and chain["subtasks"][0]["checkpoint"] is None and chain["summary"]["sync"] is None


@pytest.mark.parametrize(
    "ended", [[], [CheckpointFailed(CheckpointId(1), "the timeout of 10 min has expired")]], ids=["in progress", "failed"]
)
def test_a_checkpoint_that_is_not_completed_has_no_stragglers(
    client: TestClient, database: Database, login: Login, run: RunHandle, ended: list[Event]
) -> None:
    """The slowest subtask is unknown until all subtasks have acknowledged."""
    store_events(database, run, triggered(1, subtasks=5), *acknowledgements(1, [10, 12, 11, 90]), *ended)
    body = client.get(f"/api/v1/checkpoints/{id_of(database, 1)}", headers=login()).json()
    subtasks = [one for chain in body["statistics"]["chains"] for one in chain["subtasks"]]
    assert [one["end_to_end_duration"] for one in subtasks] == [10, 12, 11, 90]
    assert not any(one["straggler"] for one in subtasks)


def test_the_list_of_checkpoints_can_be_filtered_and_does_not_load_large_columns(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(
        database, run, triggered(1), completed(1), triggered(2, trigger="savepoint"), completed(2, trigger="savepoint"),
        triggered(3), CheckpointFailed(CheckpointId(3), "late"),
    )  # fmt: skip
    headers = login(Role.VIEWER)
    statements: list[str] = []

    def record(*arguments: Any) -> None:
        statements.append(arguments[2])

    from sqlalchemy import Engine

    event.listen(Engine, "before_cursor_execute", record)
    try:
        for conditions, numbers in (
            ({"job_id": run.job_id}, [3, 2, 1]),
            ({"run_id": run.id, "state": "COMPLETED"}, [2, 1]),
            ({"state": ["FAILED", "IN_PROGRESS"]}, [3]),
            ({"trigger": "savepoint"}, [2]),
            ({"is_savepoint": False}, [3, 1]),
            ({"pinned": True}, []),
            ({"kept": True}, [2, 1]),
            ({"kept": False}, [3]),
        ):
            answer = client.get("/api/v1/checkpoints", params={"filter": json.dumps(conditions)}, headers=headers)
            assert answer.status_code == 200 and [one["number"] for one in answer.json()] == numbers, conditions
    finally:
        event.remove(Engine, "before_cursor_execute", record)
    assert any("checkpoints" in one for one in statements)
    assert not any("checkpoints.statistics" in one or "checkpoints.progress" in one for one in statements)
    for invalid in ({"state": "completed"}, {"state": 5}, {"state": None}, {"pinned": "yes"}, {"kept": 1}, {"statistics": 1}):
        answer = client.get("/api/v1/checkpoints", params={"filter": json.dumps(invalid)}, headers=headers)
        assert answer.status_code == 422, invalid


def test_the_filter_for_kept_checkpoints_excludes_retired_checkpoints(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(database, run, triggered(1), completed(1), triggered(2), completed(2))
    with database.session() as session:
        session.execute(update(Checkpoint).where(Checkpoint.number == 1).values(discarded_at=now()))
    for conditions, numbers in ((True, [2]), (False, [1])):
        filter_ = json.dumps({"job_id": run.job_id, "kept": conditions})
        answer = client.get("/api/v1/checkpoints", params={"filter": filter_}, headers=login(Role.VIEWER))
        assert [one["number"] for one in answer.json()] == numbers


def test_the_checkpoint_summary_of_a_job_contains_counts_and_the_latest_checkpoints(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    events: list[Event] = [one for number in range(1, 11) for one in (triggered(number), completed(number, written=100 * number))]
    store_events(
        database, run, *events, triggered(11, trigger="savepoint"), completed(11, trigger="savepoint"),
        triggered(12), CheckpointFailed(CheckpointId(12), "late"), triggered(13),
    )  # fmt: skip
    body = client.get(f"/api/v1/jobs/{run.job_id}/checkpoints/summary?last=5", headers=login()).json()
    assert body["counts"] == {"in_progress": 1, "completed": 11, "failed": 1, "savepoints": 1, "total": 13}
    assert body["summarized"] == 5 and (body["end_to_end_duration"]["min"], body["end_to_end_duration"]["max"]) == (47, 51)
    assert (body["checkpointed_size"]["min"], body["checkpointed_size"]["max"]) == (700, 1_000), (
        "checkpoints without a known size are not included"
    )
    assert [body[name]["number"] for name in ("latest_completed", "latest_failed", "latest_savepoint")] == [11, 12, 11]
    empty = client.get(f"/api/v1/jobs/{new_job(database)}/checkpoints/summary", headers=login()).json()
    assert empty["summarized"] == 0 and empty["end_to_end_duration"] is None and empty["latest_completed"] is None
    assert client.get("/api/v1/jobs/999/checkpoints/summary", headers=login()).status_code == 404


def latest_restore(client: TestClient, headers: dict[str, str], job_id: int) -> Any:
    """Return run, cause, checkpoint, is_savepoint and path of the latest restore, or None if the job has restored nothing."""
    answer = client.get(f"/api/v1/jobs/{job_id}/checkpoints/summary", headers=headers)
    assert answer.status_code == 200, answer.text
    found = answer.json()["latest_restore"]
    return None if found is None else tuple(found[name] for name in ("run", "cause", "checkpoint", "is_savepoint", "path"))


def next_run(database: Database, before: RunHandle, start: dict[str, Any], cause: str, *, ran: bool = True) -> RunHandle:
    end_run(database, before)
    made = new_run(database, before.job_id, start=start)
    with database.session() as session:
        found = session.get_one(Run, made.id)
        found.cause, found.running_at = cause, now() if ran else None
    return made


def test_the_summary_of_a_job_contains_its_latest_restore(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    headers, resume = login(), {"mode": "resume"}

    def latest() -> Any:
        return latest_restore(client, headers, run.job_id)

    with database.session() as session:
        session.get_one(Run, run.id).running_at = now()
    store_events(database, run, triggered(1), completed(1), triggered(2, trigger="savepoint"), completed(2, trigger="savepoint"))
    store_events(database, run, triggered(3), CheckpointFailed(CheckpointId(3), "late"), first=5)
    assert latest() is None, "the first run started without state, so the job has no restore"

    second = next_run(database, run, resume, "restart")
    assert latest() == (2, "restart", 2, True, None), "the run restored the newest checkpoint that was completed before the run"
    store_events(database, second, triggered(4), completed(4))
    assert latest() == (2, "restart", 2, True, None), "a later checkpoint of the run does not change the reported restore"

    third = next_run(database, second, {"mode": "from", "checkpoint": 1}, "rollback", ran=False)
    assert latest() == (2, "restart", 2, True, None), "a run that was never RUNNING has restored nothing"
    fourth = next_run(database, third, resume, "restart")
    assert latest() == (4, "restart", 1, False, None), "the run restored the newest checkpoint of its branch"

    fifth = next_run(database, fourth, {"mode": "path", "path": "/srv/other#12"}, "restore")
    assert latest() == (5, "restore", None, None, "/srv/other#12")
    without_state = next_run(database, fifth, {"mode": "from", "checkpoint": 0}, "upgrade")
    assert latest() is None
    next_run(database, without_state, resume, "restart")
    assert latest() is None, "the run restored nothing, because its branch has no completed checkpoint"


def test_the_checkpoint_series_of_a_job_contains_the_times_of_each_chain(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(
        database, run, GraphDeployed(GRAPH), triggered(1, subtasks=4), completed(1, subtasks=4),
        triggered(2, subtasks=4), CheckpointFailed(CheckpointId(2), "late"), triggered(3, subtasks=4), completed(3, subtasks=4, written=7),
    )  # fmt: skip
    url, headers = f"/api/v1/jobs/{run.job_id}/checkpoints/series", login(Role.VIEWER)
    body = client.get(url, headers=headers).json()
    assert [one["number"] for one in body["checkpoints"]] == [1, 3], (
        "the series begins with the oldest checkpoint and omits failed checkpoints"
    )
    assert [one["checkpointed_bytes"] for one in body["checkpoints"]] == [None, 7]
    details = [client.get(f"/api/v1/checkpoints/{one['id']}", headers=headers).json() for one in body["checkpoints"]]
    assert [one["checkpointed_bytes"] for one in details] == [None, 7]
    for place, (point, detail) in enumerate(zip(body["checkpoints"], details, strict=True)):
        summary = detail["statistics"]["summary"]
        assert point["state_bytes"] == detail["state_bytes"] and point["end_to_end_ms"] == detail["end_to_end_ms"]
        for name in ("start_delay", "alignment", "sync", "async"):
            assert point[f"{name}_ms"] == summary[name]["max"], name
            by_chain = [chain["summary"][name]["max"] for chain in detail["statistics"]["chains"]]
            assert [part[f"{name}_ms"][place] for part in body["phases"]] == by_chain
    assert [(part["chain"], part["index"]) for part in body["phases"]] == [(0, None), (1, None)]
    assert [one["name"] for one in body["phases"][1]["operators"]] == ["count", "sink"]
    assert body["checkpoints"][0]["async_ms"] > 0, "the test needs times that are not zero"

    of_one = client.get(f"{url}?chain=1&last=1", headers=headers).json()
    assert [(part["chain"], part["index"], len(part["sync_ms"])) for part in of_one["phases"]] == [(1, 0, 1), (1, 1, 1)]
    subtasks = details[1]["statistics"]["chains"][1]["subtasks"]
    assert [part["alignment_ms"] for part in of_one["phases"]] == [[one["alignment"]["duration"]] for one in subtasks]
    assert client.get(f"{url}?chain=9", headers=headers).json()["phases"] == []
    for query in ("phases=false", "phases=false&chain=1"):
        assert client.get(f"{url}?{query}", headers=headers).json() == body | {"phases": []}, query


def test_the_series_has_chain_times_only_for_the_newest_graph(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(database, run, GraphDeployed(GRAPH), triggered(1, subtasks=4), completed(1, subtasks=4))
    end_run(database, run)
    second = new_run(database, job_id=run.job_id)
    store_events(database, second, GraphDeployed(GRAPH | {"slots": 9}), triggered(2, subtasks=4), completed(2, subtasks=4))
    url, headers = f"/api/v1/jobs/{run.job_id}/checkpoints/series", login(Role.VIEWER)
    body = client.get(url, headers=headers).json()
    assert all(one["async_ms"] > 0 for one in body["checkpoints"])
    assert [part["async_ms"][0] for part in body["phases"]] == [None, None]
    assert all(part["async_ms"][1] > 0 for part in body["phases"])


def test_a_job_without_checkpoints_has_an_empty_series(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(database, run, triggered(1))
    headers = login(Role.VIEWER)
    assert client.get(f"/api/v1/jobs/{run.job_id}/checkpoints/series", headers=headers).json() == {
        "checkpoints": [],
        "phases": [],
    }
    assert client.get("/api/v1/jobs/999/checkpoints/series", headers=headers).status_code == 404
    for invalid in ("last=0", "last=501", "chain=-1", "chain=x"):
        assert client.get(f"/api/v1/jobs/{run.job_id}/checkpoints/series?{invalid}", headers=headers).status_code == 422, invalid


def test_pinning_stores_the_reason_and_an_audit_entry(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(database, run, triggered(1), completed(1))
    url = f"/api/v1/checkpoints/{id_of(database, 1)}"
    assert client.patch(url, json={"pinned": True}, headers=login(Role.VIEWER)).status_code == 403
    headers = login(Role.OPERATOR, name="ann") | {"If-Match": "*"}
    answer = client.patch(url, json={"pinned": True, "reason": "before the release"}, headers=headers)
    assert answer.status_code == 200 and answer.json()["pinned_reason"] == "before the release"
    assert client.patch(url, json={"pinned": False, "reason": "x"}, headers=headers).json()["pinned_reason"] == ""
    with database.session() as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert [(one.user_name, one.action, one.resource) for one in entries] == [
        ("ann", "pin", "checkpoint"), ("ann", "unpin", "checkpoint"),
    ]  # fmt: skip
    assert entries[0].before == {"pinned": False, "pinned_reason": ""}
    for invalid in ({}, {"pinned": "maybe"}, {"pinned": True, "reason": "a\u0000"}, {"pinned": True, "other": 1}):
        assert client.patch(url, json=invalid, headers=headers).status_code == 422
    assert client.patch(
        url, content=b'{"pinned": true, "reason": "\\ud800"}', headers=headers | {"content-type": "application/json"}
    ).status_code == 422  # fmt: skip
    with database.session() as session:
        session.execute(update(Checkpoint).values(discarded_at=now()))
    assert client.patch(url, json={"pinned": True}, headers=headers).status_code == 409
    assert client.patch("/api/v1/checkpoints/999", json={"pinned": True}, headers=headers).status_code == 404


def test_pinning_requires_the_current_version_of_the_checkpoint(
    client: TestClient, database: Database, login: Login, run: RunHandle
) -> None:
    store_events(database, run, triggered(1), completed(1))
    url, headers = f"/api/v1/checkpoints/{id_of(database, 1)}", login(Role.OPERATOR)
    seen = client.get(url, headers=headers)
    assert seen.headers["ETag"] == '"1"' and seen.json()["version"] == 1
    without_version = client.patch(url, json={"pinned": True}, headers=headers)
    assert without_version.status_code == 428 and without_version.json()["code"] == "if-match"
    first = client.patch(url, json={"pinned": True, "reason": "mine"}, headers=headers | {"If-Match": '"1"'})
    assert first.status_code == 200 and first.headers["ETag"] == '"2"'
    second = client.patch(url, json={"pinned": False}, headers=headers | {"If-Match": '"1"'})
    assert second.status_code == 412 and second.json()["version"] == 2
    assert client.get(url, headers=headers).json()["pinned_reason"] == "mine"
    assert client.patch(url, json={"pinned": False}, headers=headers | {"If-Match": "*"}).status_code == 200
    assert client.get(url, headers=headers).headers["ETag"] == '"3"', "unpinning a checkpoint increases its version"


def test_percentiles_are_interpolated() -> None:
    found = summarize([4, 1, 3, 2, 5])
    assert found is not None
    assert (found.min, found.max, found.avg, found.p50, found.p90, found.p999) == (1, 5, 3, 3, 4.6, pytest.approx(4.996))
    assert summarize([]) is None
    one = summarize([7])
    assert one is not None and one.p50 == one.p999 == 7


def test_a_subtask_that_is_much_slower_than_the_others_is_a_straggler() -> None:
    assert straggler_limit_ms([5]) is None
    assert straggler_limit_ms([10, 10, 10, 10]) == 15
    assert straggler_limit_ms([10, 10, 10, 100]) == pytest.approx(86.5)
