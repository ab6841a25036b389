"""The stored rows do not depend on how the events of a run are divided into batches. Batches can repeat and overlap."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from tests.backend.conftest import RecordedTasks
from tests.backend.jobs import body_of, completed, new_run, numbered, sample, triggered

from weir.protocol.events import (
    CheckpointFailed,
    CommandAnswered,
    CommandOutcome,
    DriverState,
    Event,
    FailureOccurred,
    GraphDeployed,
    MetricsSampled,
    NumberedEvent,
    Recovered,
    RunStateChanged,
    SamplesDropped,
    SubtasksAcknowledged,
)
from weir.protocol.ids import CheckpointId, CommandId, Generation, SubtaskId
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link import service
from weir_backend.link.batches import decode
from weir_backend.link.commands import send_command
from weir_backend.models import Operation, OperationKind, OperationState, Run


def _acknowledged(checkpoint: int, index: int) -> SubtasksAcknowledged:
    return SubtasksAcknowledged(CheckpointId(checkpoint), (SubtaskId(0, index),), 3 * index)


RUN_EVENTS: list[Event] = [
    GraphDeployed({"chains": [], "a": 1}),
    RunStateChanged(DriverState.INITIALIZING, Generation(1)),
    RunStateChanged(DriverState.RUNNING, Generation(1)),
    MetricsSampled(sample(0, 1)),
    triggered(1), _acknowledged(1, 0), MetricsSampled(sample(0, 2)), _acknowledged(1, 1), completed(1),
    CommandAnswered(CommandId(1), CommandOutcome.ACCEPTED),
    triggered(2, trigger="savepoint"), _acknowledged(2, 0), CommandAnswered(CommandId(2), CommandOutcome.REFUSED, "no"),
    _acknowledged(2, 1), completed(2, trigger="savepoint"),
    triggered(3), _acknowledged(3, 1), CheckpointFailed(CheckpointId(3), "too late"), _acknowledged(3, 0),
    triggered(4), _acknowledged(4, 0),
    FailureOccurred(Generation(1), "slot lost"),
    RunStateChanged(DriverState.RESTARTING, Generation(1), "slot lost"),
    RunStateChanged(DriverState.RESTARTING, Generation(2), "slot lost"),
    FailureOccurred(Generation(2), "again"),
    GraphDeployed({"chains": [], "a": 2}),
    Recovered(Generation(2), "slot lost", 700),
    RunStateChanged(DriverState.RUNNING, Generation(2)),
    SamplesDropped(4, 1, 2),
    triggered(5, generation=2), _acknowledged(5, 0), _acknowledged(5, 1), completed(5, generation=2), triggered(6, generation=2),
    FailureOccurred(Generation(2), "last"),
    MetricsSampled(sample(0, 3)),
    RunStateChanged(DriverState.FAILED, Generation(2), "last", "UserCodeError"),
]  # fmt: skip
EVENTS = numbered(RUN_EVENTS)
_EXCLUDED_COLUMNS = {
    "id",
    "job_id",
    "run_id",
    "received_at",
    "created_at",
    "graph_id",
    "ended_at",
    "operation_id",
    "last_contact_at",
}
"""Columns whose values depend on the time or on other rows of the database."""


def tables(database: Database, job_id: int) -> dict[str, list[dict[str, Any]]]:
    queries = {
        "events": "SELECT * FROM events WHERE job_id = :job ORDER BY number",
        "checkpoints": "SELECT * FROM checkpoints WHERE job_id = :job ORDER BY number",
        "failures": "SELECT * FROM failures WHERE job_id = :job ORDER BY id",
        "samples": "SELECT m.* FROM metric_samples m JOIN runs r ON r.id = run_id WHERE job_id = :job ORDER BY m.id",
        "commands": "SELECT c.* FROM commands c JOIN runs r ON r.id = run_id WHERE job_id = :job ORDER BY c.number",
        "operations": "SELECT state, result, problem, ended_at IS NULL AS is_open FROM operations WHERE job_id = :job ORDER BY id",
        "runs": "SELECT state, reason, generation, stored_event, missing_events, running_at, ended_at IS NULL AS is_open, graphs.body "
        "FROM runs LEFT JOIN graphs ON graphs.id = graph_id WHERE job_id = :job",
        "job": "SELECT event_number FROM jobs WHERE id = :job",
    }
    with database.session() as session:
        return {
            name: [
                {column: value for column, value in row._mapping.items() if column not in _EXCLUDED_COLUMNS}
                for row in session.execute(text(query), {"job": job_id})
            ]
            for name, query in queries.items()
        }


def store_batches(database: Database, batches: list[list[NumberedEvent]]) -> dict[str, list[dict[str, Any]]]:
    run = new_run(database)
    with database.session() as session:
        for _ in range(2):
            operation = Operation(
                job_id=run.job_id, kind=OperationKind.SAVEPOINT, state=OperationState.RUNNING, deadline_at=now()
            )
            session.add(operation)
            session.flush()
            send_command(session, session.get_one(Run, run.id), "TakeSavepoint", None, operation.id)
    tasks = RecordedTasks()
    for batch in batches:
        with database.session() as session:
            known = service.known_run(session, run.id, run.token)
            service.store(session, tasks, known, batch, oldest=batch[0].number)
    found = tables(database, run.job_id)
    for entry in found["events"]:
        for name in ("graph_id", "operation"):
            entry["fields"].pop(name, None)
    return found


@st.composite
def deliveries(draw: st.DrawFn) -> list[list[NumberedEvent]]:
    """Draw batches as a driver can send them. Each batch begins at or before the first event that is not stored."""
    batches, stored = [], 0
    while stored < len(EVENTS):
        # Hypothesis shrinks towards long batches without overlaps.
        begin = max(0, stored - draw(st.integers(0, 12)))
        end = min(len(EVENTS), begin + 25 - draw(st.integers(0, 24)))
        batches.append(EVENTS[begin:end])
        stored = max(stored, end)
    return batches


@pytest.fixture
def rows_of_one_batch(database: Database) -> dict[str, list[dict[str, Any]]]:
    return store_batches(database, [EVENTS])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=deliveries())
def test_the_division_into_batches_does_not_affect_the_stored_rows(
    database: Database, rows_of_one_batch: dict[str, list[dict[str, Any]]], batches: list[list[NumberedEvent]]
) -> None:
    assert store_batches(database, batches) == rows_of_one_batch


def test_one_batch_with_all_events_stores_the_expected_rows(rows_of_one_batch: dict[str, list[dict[str, Any]]]) -> None:
    """The other tests compare rows, which proves nothing if no rows are stored. This test proves that rows are stored."""
    assert [row["state"] for row in rows_of_one_batch["checkpoints"]] == [
        "COMPLETED",
        "COMPLETED",
        "FAILED",
        "FAILED",
        "COMPLETED",
        "FAILED",
    ]
    assert [row["parent"] for row in rows_of_one_batch["checkpoints"]] == [None, 1, 2, 2, 2, 5]
    assert [row["acknowledged"] for row in rows_of_one_batch["checkpoints"]] == [2, 2, 1, 1, 2, 0]
    assert [row["recovery"] for row in rows_of_one_batch["failures"]] == ["full", "full", "none"]
    assert [row["state"] for row in rows_of_one_batch["operations"]] == ["SUCCEEDED", "FAILED"]
    assert rows_of_one_batch["runs"][0]["body"] == {"chains": [], "a": 2} and rows_of_one_batch["runs"][0]["state"] == "FAILED"
    assert len(rows_of_one_batch["samples"]) == 3 and rows_of_one_batch["job"] == [
        {"event_number": len(rows_of_one_batch["events"])}
    ]
    not_in_event_log = (MetricsSampled, SubtasksAcknowledged)
    other_events = [row for row in rows_of_one_batch["events"] if row["kind"] != "OperationEnded"]
    assert [row["run_event"] for row in other_events] == [
        one.number for one in EVENTS if not isinstance(one.event, not_in_event_log)
    ]
    assert [row["fields"]["state"] for row in rows_of_one_batch["events"] if row not in other_events] == ["SUCCEEDED"]


def test_a_parsed_event_equals_the_serialised_event() -> None:
    assert list(decode(body_of(EVENTS))) == EVENTS
