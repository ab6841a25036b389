"""The prediction of how a job recovers if one of its slots fails."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import Login
from tests.backend.jobs import completed, end_run, new_job, new_run, store_events, triggered

from weir.graph.compile import compile_graph
from weir.graph.logical import Column, Input, LogicalGraph, LogicalOperator, OperatorKind, Partitioning
from weir.graph.physical import PhysicalGraph
from weir.protocol import codec
from weir.protocol.events import DriverState, FailureOccurred, GraphDeployed, Recovered, RecoveryStrategy, RunStateChanged
from weir.protocol.ids import Generation, OperatorUid
from weir_backend.kit.database import Database
from weir_backend.models import Role, Spec
from weir_backend.recovery.coverage import predict

FULL, REGIONAL = RecoveryStrategy.FULL, RecoveryStrategy.REGIONAL
ONE = Generation(1)


def graph(*, slots: int, shuffles: int = 0) -> PhysicalGraph:
    """Return the graph of a source, ``shuffles`` keyed operators and a sink."""
    columns = (Column("key", "int64"),)
    operators = [LogicalOperator(OperatorUid("read"), "read", OperatorKind.SOURCE, (), columns, "")]
    for number in range(shuffles):
        by_key = Input(operators[-1].uid, Partitioning.HASH, ("key",))
        uid = OperatorUid(f"count{number}")
        operators.append(LogicalOperator(uid, uid, OperatorKind.AGGREGATE, (by_key,), columns, "", stateful=True))
    write = LogicalOperator(OperatorUid("write"), "write", OperatorKind.SINK, (Input(operators[-1].uid),), columns, "")
    return compile_graph(LogicalGraph("job", (*operators, write)), slots=slots)


@pytest.mark.parametrize(
    ("slots", "shuffles", "chosen", "checkpoint", "strategy", "sentence"),
    [
        (8, 0, REGIONAL, 12, REGIONAL, "Only the failed slot restores checkpoint 12, and the other 7 slots continue."),
        (2, 0, REGIONAL, None, REGIONAL, "Only the failed slot starts without state, and the other slot continues."),
        (8, 0, FULL, 12, FULL, "All 8 slots restore checkpoint 12, because the version of the job requests the recovery 'full'."),
        (8, 1, REGIONAL, 12, FULL, "All 8 slots restore checkpoint 12, because slots exchange records from 'read' to 'count0'."),
        (
            *(8, 2, REGIONAL, None, FULL),
            "All 8 slots start without state, because slots exchange records from 'read' to 'count0', and between other operators.",
        ),
        (1, 1, REGIONAL, 12, REGIONAL, "The only slot restores checkpoint 12."),
    ],
)
def test_the_prediction_says_which_slots_restore_which_checkpoint_and_why(
    slots: int, shuffles: int, chosen: RecoveryStrategy, checkpoint: int | None, strategy: RecoveryStrategy, sentence: str
) -> None:
    found = predict(graph(slots=slots, shuffles=shuffles), chosen, checkpoint)
    assert (found.strategy, found.sentence) == (strategy, sentence)
    assert len(found.exchanges) == (shuffles if strategy is FULL and chosen is REGIONAL else 0)


def test_the_coverage_of_a_running_job_includes_its_recent_recoveries(
    client: TestClient, database: Database, login: Login
) -> None:
    headers = login(Role.VIEWER)

    def coverage(job_id: int) -> dict[str, Any]:
        answer = client.get(f"/api/v1/jobs/{job_id}/coverage", headers=headers)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    run = new_run(database)
    assert coverage(run.job_id)["sentence"] == "The driver has not reported the graph of the job yet."
    body = codec.to_json(graph(slots=2))
    assert isinstance(body, dict)
    store_events(
        database, run, GraphDeployed(body), RunStateChanged(DriverState.RUNNING, ONE), triggered(1), completed(1),
        FailureOccurred(ONE, "a"), Recovered(ONE, "a", 30, "regional"), FailureOccurred(ONE, "b"), Recovered(ONE, "b", 50, "regional"),
        FailureOccurred(ONE, "c"), Recovered(ONE, "c", 900, "full"),
    )  # fmt: skip
    assert coverage(run.job_id) == {
        "strategy": "regional",
        "sentence": "Only the failed slot restores checkpoint 1, and the other slot continues.",
        "checkpoint": 1, "exchanges": [], "recoveries": 2, "median_ms": 40, "max_ms": 50,
    }  # fmt: skip
    with database.session() as session:
        spec = session.query(Spec).filter_by(job_id=run.job_id).one()
        spec.body = spec.body | {"recovery": "full"}
    found = coverage(run.job_id)
    assert (found["strategy"], found["recoveries"], found["max_ms"]) == ("full", 1, 900)
    end_run(database, run)
    assert coverage(run.job_id)["sentence"] == "The job is not running."
    assert client.get("/api/v1/jobs/999/coverage", headers=headers).status_code == 404


def test_the_coverage_is_unknown_if_the_graph_is_that_of_another_version(
    client: TestClient, database: Database, login: Login
) -> None:
    run = new_run(database, new_job(database))
    store_events(database, run, GraphDeployed({"chains": [], "a": 1}))
    found = client.get(f"/api/v1/jobs/{run.job_id}/coverage", headers=login(Role.VIEWER)).json()
    assert found["strategy"] is None and "another version of Weir" in found["sentence"]
