"""Batches of events that are posted over HTTP and stored in a real database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.backend.conftest import RecordedTasks
from tests.backend.jobs import (
    AT_MS,
    RunHandle,
    body_of,
    completed,
    end_run,
    new_job,
    new_run,
    numbered,
    sample,
    triggered,
)

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
    SubtasksAcknowledged,
)
from weir.protocol.ids import CheckpointId, CommandId, Generation, SubtaskId
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.link.commands import send_command
from weir_backend.link.endpoints import BODY_BYTES_MAX, UNAUTHENTICATED_BYTES_MAX
from weir_backend.link.fencing import fence
from weir_backend.link.service import store_unsent
from weir_backend.models import (
    Checkpoint,
    CheckpointState,
    Command,
    Failure,
    Graph,
    Job,
    MetricSample,
    Operation,
    OperationKind,
    OperationState,
    Run,
    RunState,
)
from weir_backend.models import Event as LogEntry


def post(
    client: TestClient, run: RunHandle, events: Sequence[NumberedEvent], *, oldest: int | None = None, first: int | None = None
) -> httpx2.Response:
    begin = first or events[0].number
    answer: httpx2.Response = client.post(
        run.url(f"/events?first={begin}&oldest={oldest or begin}"), content=body_of(events), headers=run.headers
    )
    return answer


def post_events(client: TestClient, run: RunHandle, *events: Event, first: int = 1) -> int:
    """Post the events, and return the number after the last event."""
    answer = post(client, run, numbered(events, first))
    assert answer.status_code == 200 and answer.json() == {"stored": first + len(events) - 1}, answer.text
    return first + len(events)


def at(number: int) -> datetime:
    return datetime.fromtimestamp((AT_MS + number) / 1000, UTC)


def state(driver_state: DriverState, generation: int = 1, reason: str = "", kind: str = "") -> RunStateChanged:
    return RunStateChanged(driver_state, Generation(generation), reason, kind)


def acknowledged(checkpoint: int, chain: int, index: int, after_ms: int = 5) -> SubtasksAcknowledged:
    return SubtasksAcknowledged(CheckpointId(checkpoint), (SubtaskId(chain, index),), after_ms)


def checkpoint(database: Database, run: RunHandle, number: int) -> Any:
    with database.session() as session:
        return session.execute(
            select(*Checkpoint.__table__.c).where(Checkpoint.job_id == run.job_id, Checkpoint.number == number)
        ).one()


def run_row(database: Database, run: RunHandle) -> Run:
    with database.session() as session:
        return session.get_one(Run, run.id)


GRAPH = {"logical": {"job": "j", "operators": []}, "slots": 1, "chains": [], "edges": [], "max_parallelism": {}}


def test_reported_events_are_stored(client: TestClient, database: Database, tasks: RecordedTasks) -> None:
    run = new_run(database)
    post_events(
        client, run,
        GraphDeployed(GRAPH), state(DriverState.INITIALIZING), state(DriverState.RUNNING), MetricsSampled(sample(0, 1)),
        triggered(1), acknowledged(1, 0, 1, 7), acknowledged(1, 0, 0, 9), completed(1, written=700),
    )  # fmt: skip
    found = run_row(database, run)
    assert (found.state, found.generation, found.stored_event) == (RunState.RUNNING, 1, 8)
    assert found.running_at is not None and found.last_contact_at is not None and found.ended_at is None
    one = checkpoint(database, run, 1)
    assert (one.state, one.acknowledged, one.progress) == (CheckpointState.COMPLETED, 2, [[0, 1, 7], [0, 0, 9]])
    assert (one.triggered_at, one.latest_ack_at, one.completed_at) == (at(5), at(7), at(8))
    assert (one.end_to_end_ms, one.state_bytes, one.subtasks, one.triggered_event) == (41, 2000, 2, 5)
    assert one.checkpointed_bytes == 700
    assert [row[:2] for row in one.statistics] == [[0, 0], [0, 1]] and one.statistics[1][2]["sync_us"] == 200
    with database.session() as session:
        log = session.execute(select(LogEntry.number, LogEntry.run_event, LogEntry.kind, LogEntry.fields, LogEntry.at)).all()
        graph = session.scalars(select(Graph)).one()
        metrics = session.scalars(select(MetricSample)).one()
        assert session.get_one(Job, run.job_id).event_number == 5
    assert [row[:3] for row in log] == [
        (1, 1, "GraphDeployed"), (2, 2, "RunStateChanged"), (3, 3, "RunStateChanged"), (4, 5, "CheckpointTriggered"),
        (5, 8, "CheckpointCompleted"),
    ]  # fmt: skip
    assert log[0].fields == {"graph_id": graph.id} and graph.body == GRAPH and found.graph_id == graph.id
    assert log[4].fields == {
        "checkpoint": 1, "generation": 1, "trigger": "periodic", "end_to_end_ms": 41, "state_bytes": 2000, "subtasks": 2,
    }  # fmt: skip
    assert log[4].at == at(8) and (metrics.slot, metrics.at) == (0, at(4)) and metrics.metrics["gauges"] == {"counts.keys": 10}
    assert tasks.enqueued == [("weir.reconcile", (run.job_id,))]


def test_a_repeated_batch_changes_nothing(client: TestClient, database: Database, tasks: RecordedTasks) -> None:
    run = new_run(database)
    events = numbered([state(DriverState.RUNNING), triggered(1), acknowledged(1, 0, 0), completed(1), triggered(2)])
    for batch in (events, events, events[1:3], events[2:]):
        assert post(client, run, batch, oldest=1).json() == {"stored": 5}
    assert post(client, run, [*events[3:], *numbered([acknowledged(2, 0, 0)], 6)]).json() == {"stored": 6}
    assert checkpoint(database, run, 2).acknowledged == 1 and len(tasks.enqueued) == 1
    with database.session() as session:
        assert session.get_one(Job, run.job_id).event_number == 4


def test_a_batch_after_a_gap_in_event_numbers_is_refused_and_the_error_contains_the_last_stored_number(
    client: TestClient, database: Database
) -> None:
    run = new_run(database)
    post_events(client, run, state(DriverState.RUNNING))
    answer = post(client, run, numbered([triggered(1)], 4), oldest=2)
    assert answer.status_code == 409 and answer.json()["stored"] == 1
    assert "from number 2" in answer.json()["next_step"]
    assert run_row(database, run).stored_event == 1


def test_lost_events_are_recorded_and_skipped(client: TestClient, database: Database) -> None:
    run = new_run(database)
    next_number = post_events(client, run, state(DriverState.RUNNING), triggered(1))
    again = post(client, run, numbered([state(DriverState.RUNNING)], next_number + 5), oldest=next_number + 4)
    assert again.status_code == 409, "the driver still has one of the skipped events and can send it"
    assert post(client, run, numbered([triggered(2), completed(2)], next_number + 5)).json() == {"stored": 9}
    assert run_row(database, run).missing_events == 5
    with database.session() as session:
        log = session.execute(select(LogEntry.number, LogEntry.run_event, LogEntry.kind, LogEntry.fields)).all()
    assert log[2] == (3, None, "EventsMissing", {"from": 3, "to": 7}) and [row.number for row in log] == [1, 2, 3, 4, 5]
    assert checkpoint(database, run, 1).state is CheckpointState.FAILED and "missing" in checkpoint(database, run, 1).failure
    post_events(client, run, completed(1), first=10)
    assert checkpoint(database, run, 1).state is CheckpointState.COMPLETED, "the job log proves the completion"


def test_the_completion_of_a_checkpoint_is_stored_even_if_the_event_of_its_trigger_is_missing(
    client: TestClient, database: Database
) -> None:
    run = new_run(database)
    assert post(client, run, numbered([completed(7)], 30)).status_code == 200
    found = checkpoint(database, run, 7)
    assert found.state is CheckpointState.COMPLETED and found.triggered_event is None
    assert (found.completed_at - found.triggered_at).total_seconds() == pytest.approx(0.047)


def test_only_the_token_of_the_run_is_accepted(client: TestClient, database: Database, login: Any) -> None:
    run, other = new_run(database), new_run(database)
    for headers, status in (({}, 401), (other.headers, 401), (login(), 401)):
        for answer in (
            client.post(run.url("/events?first=1&oldest=1"), content=body_of(numbered([triggered(1)])), headers=headers),
            client.get(run.url("/commands?after=0&wait_s=0"), headers=headers),
        ):
            assert answer.status_code == status and run.token not in answer.text
    unknown = client.get("/api/v1/runs/999/commands?after=0&wait_s=0", headers=run.headers)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "no-run")
    assert run_row(database, run).stored_event == 0


def test_an_ended_run_can_repeat_its_last_batch_but_gets_no_commands(client: TestClient, database: Database) -> None:
    run = new_run(database)
    events = numbered([state(DriverState.RUNNING), state(DriverState.FINISHED)])
    assert post(client, run, events).json() == {"stored": 2}
    new_run(database, run.job_id)
    assert post(client, run, events).json() == {"stored": 2}, "the driver repeats the batch if it got no response"
    answer = client.get(run.url("/commands?after=0&wait_s=30"), headers=run.headers)
    assert answer.status_code == 410 and answer.json()["code"] == "over"


def test_a_fenced_run_is_refused(client: TestClient, database: Database) -> None:
    run = new_run(database)
    post_events(client, run, state(DriverState.RUNNING), triggered(1), FailureOccurred(Generation(1), "lost"))
    with database.session() as session:
        fence(session, run.job_id, run.id, state=RunState.FAILED, reason="it was unreachable", recovery="restart")
    for events in (numbered([state(DriverState.RUNNING)], 4), numbered([state(DriverState.RUNNING)], 1)):
        assert post(client, run, events).status_code == 410
    assert client.get(run.url("/commands?after=0&wait_s=30"), headers=run.headers).status_code == 410
    found = run_row(database, run)
    assert (found.state, found.reason, found.stored_event) == (RunState.FAILED, "it was unreachable", 3)
    assert found.ended_at is not None and checkpoint(database, run, 1).state is CheckpointState.FAILED
    with database.session() as session:
        assert session.scalars(select(Failure.recovery)).one() == "restart"


_TOO_LARGE = 1 << 63
MALFORMED = {
    "no content": b"",
    "incomplete JSON": b"[[1,",
    "not a list": b"{}",
    "empty list": b"[]",
    "unknown kind": b'[[1,5,"Surprise",{}]]',
    "missing field": b'[[1,5,"FailureOccurred",{"generation":1}]]',
    "missing number": b'[[1,5,"FailureOccurred",{"generation":1,"reason":""}],[3,5,"FailureOccurred",{"generation":1,"reason":""}]]',
    "wrong first number": b'[[2,5,"FailureOccurred",{"generation":1,"reason":""}]]',
    "generation too large": b'[[1,5,"FailureOccurred",{"generation":%d,"reason":""}]]' % _TOO_LARGE,
    "infinite number": b'[[1,5,"GraphDeployed",{"graph":{"a":1e999}}]]',
    "number with 400 digits": b'[[1,5,"GraphDeployed",{"graph":{"a":1%s.0}}]]' % (b"0" * 400),
    "graph that is a list": b'[[1,5,"GraphDeployed",{"graph":[1]}]]',
    "slot too large": body_of(numbered([MetricsSampled(sample(40_000, 1))])),
    "deeply nested graph": b'[[1,5,"GraphDeployed",{"graph":' + b'{"a":' * 600 + b"1" + b"}" * 600 + b"}]]",
    "very deeply nested graph": b'[[1,5,"GraphDeployed",{"graph":' + b'{"a":' * 6000 + b"1" + b"}" * 6000 + b"}]]",
    "deeply nested gauges": b'[[1,5,"MetricsSampled",{"metrics":{"generation":1,"slot":0,"rss_bytes":1,"loop_busy_us":1,"subtasks":[],"gauges":'
    + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}}]]",
    "null byte": b"\x00",
    "invalid UTF-8": b'[[1,5,"\xff",{}]]',
}  # fmt: skip


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_batch_is_refused(client: TestClient, database: Database, body: bytes) -> None:
    run = new_run(database)
    answer = client.post(run.url("/events?first=1&oldest=1"), content=body, headers=run.headers)
    if answer.status_code == 200:
        assert b'{"a":' * 600 in body, "the API accepted a malformed batch that is not deeply nested"
        return
    assert answer.status_code == 422 and answer.headers["content-type"] == "application/problem+json", answer.text
    assert run_row(database, run).stored_event == 0


@pytest.mark.parametrize("query", ["", "?first=1", "?first=0&oldest=0", f"?first=1&oldest={_TOO_LARGE}", "?first=a&oldest=1"])
def test_a_batch_must_declare_the_number_of_its_first_event(client: TestClient, database: Database, query: str) -> None:
    run = new_run(database)
    answer = client.post(run.url(f"/events{query}"), content=body_of(numbered([triggered(1)])), headers=run.headers)
    assert answer.status_code == 422


def test_a_batch_that_is_too_large_is_refused(client: TestClient, database: Database) -> None:
    run = new_run(database)
    answer = post(client, run, numbered([CheckpointFailed(CheckpointId(1), "x" * (BODY_BYTES_MAX + 1))]))
    assert answer.status_code == 413 and answer.headers["content-type"] == "application/problem+json"


def test_a_large_batch_of_an_unauthenticated_sender_is_not_buffered(client: TestClient, database: Database) -> None:
    run, headers = new_run(database), {"Authorization": "Bearer another"}
    sent_parts = 0

    def parts() -> Iterator[bytes]:
        nonlocal sent_parts
        for _ in range(2 * UNAUTHENTICATED_BYTES_MAX // (1 << 20)):
            sent_parts += 1
            yield b" " * (1 << 20)

    answer = client.post(run.url("/events?first=1&oldest=1"), content=parts(), headers=headers)
    assert answer.status_code == 401 and sent_parts == 2 * UNAUTHENTICATED_BYTES_MAX // (1 << 20), (
        "the API sends the response after it has received the last part"
    )


def test_text_and_times_that_postgres_cannot_store_are_replaced_by_similar_values(client: TestClient, database: Database) -> None:
    run = new_run(database)
    body = (
        b'[[1,-5,"FailureOccurred",{"generation":1,"reason":"a\\u0000b\\ud800"}],'
        b'[2,99999999999999999,"RunStateChanged",{"state":"FAILED","generation":1,"reason":"\\u0000","kind":"K\\u0000"}],'
        b'[3,1,"CheckpointTriggered",{"checkpoint":1,"generation":1,"trigger":"%s","subtasks":1}]]' % (b"\\u0000w" * 30)
    )
    answer = client.post(run.url("/events?first=1&oldest=1"), content=body, headers=run.headers)
    assert answer.status_code == 200, answer.text
    with database.session() as session:
        failure = session.scalars(select(Failure)).one()
        assert failure.reason.startswith("a\ufffdb") and failure.kind == "K\ufffd"
        assert session.scalars(select(LogEntry.kind).order_by(LogEntry.number).limit(1)).one() == "FailureOccurred"
    found = run_row(database, run)
    assert found.ended_at is not None and found.ended_at <= now(), (
        "a run does not end in the future, even if the clock of its driver is wrong"
    )


def test_pending_checkpoints_of_an_old_generation_fail(client: TestClient, database: Database) -> None:
    run = new_run(database)
    number = post_events(client, run, state(DriverState.RUNNING), triggered(1), state(DriverState.RESTARTING, 1, "slot lost"))
    assert checkpoint(database, run, 1).state is CheckpointState.IN_PROGRESS, "the checkpoint can still be completed"
    number = post_events(client, run, state(DriverState.RESTARTING, 2, "slot lost"), triggered(2, generation=2), first=number)
    assert "generation 2" in checkpoint(database, run, 1).failure
    post_events(client, run, state(DriverState.CANCELED, 2), first=number)
    assert "the run ended" in checkpoint(database, run, 2).failure


def test_failures_record_their_recovery(client: TestClient, database: Database) -> None:
    run = new_run(database)
    number = post_events(
        client, run, FailureOccurred(Generation(1), "first"), FailureOccurred(Generation(1), "second"),
        Recovered(Generation(2), "first", 1_500), FailureOccurred(Generation(2), "third"),
    )  # fmt: skip
    post_events(client, run, state(DriverState.FAILED, 2, "third", "UserCodeError"), first=number)
    with database.session() as session:
        rows = session.execute(
            select(Failure.reason, Failure.recovery, Failure.downtime_ms, Failure.recovered_at, Failure.kind).order_by(Failure.id)
        ).all()
    assert [tuple(row) for row in rows] == [
        ("first", "full", 1_500, at(3), ""), ("second", "full", 1_500, at(3), ""), ("third", "none", None, None, "UserCodeError"),
    ]  # fmt: skip


def test_a_run_that_cannot_start_records_a_failure(client: TestClient, database: Database) -> None:
    run = new_run(database)
    post_events(client, run, state(DriverState.FAILED, 0, "no such file", "ConfigError"))
    with database.session() as session:
        failure = session.scalars(select(Failure)).one()
    assert (failure.reason, failure.kind, failure.recovery) == ("no such file", "ConfigError", "none")
    assert run_row(database, run).state is RunState.FAILED


def test_a_superseded_run_fails_with_a_reason(client: TestClient, database: Database) -> None:
    run = new_run(database)
    post_events(client, run, state(DriverState.RUNNING), state(DriverState.SUPERSEDED, 1, "generation 3 runs the job now"))
    found = run_row(database, run)
    assert found.state is RunState.FAILED and found.reason == "superseded: generation 3 runs the job now"


def test_an_ended_run_cannot_report_later_events(client: TestClient, database: Database, tasks: RecordedTasks) -> None:
    run = new_run(database)
    ending = numbered(
        [state(DriverState.RUNNING), state(DriverState.FINISHED), state(DriverState.RUNNING, 5, "again"), triggered(7)]
    )
    assert post(client, run, ending).json() == {"stored": 2}, "events before the end are stored"
    enqueued = len(tasks.enqueued)
    for first, more in ((3, ending[2:]), (3, numbered([MetricsSampled(sample(0, 1))], 3)), (4, ending[3:])):
        refused = post(client, run, more)
        assert refused.status_code == 410 and refused.json()["code"] == "over", first
    assert post(client, run, ending[:2]).json() == {"stored": 2}, "the driver repeats the batch if it got no response"
    found = run_row(database, run)
    assert (found.state, found.generation, found.stored_event) == (RunState.FINISHED, 1, 2) and len(tasks.enqueued) == enqueued
    with database.session() as session:
        assert session.get_one(Job, run.job_id).event_number == 2


def test_a_run_that_has_ended_can_still_answer_each_unanswered_command_once(client: TestClient, database: Database) -> None:
    run = new_run(database)
    operation_id = operation(database, run)
    post_events(client, run, state(DriverState.RUNNING), state(DriverState.FINISHED))
    refusal = numbered([answered(1, CommandOutcome.REFUSED, "the job is ending")], 3)
    assert post(client, run, refusal).json() == {"stored": 3}
    assert ended(database, operation_id) == (
        OperationState.FAILED,
        None,
        "the driver refused the command: the job is ending",
        True,
    )
    for more in ([answered(1, CommandOutcome.REFUSED, "again")], [answered(2)]):
        assert post(client, run, numbered(more, 4)).status_code == 410


def test_events_from_the_spool_of_a_killed_driver_are_stored_up_to_the_end_of_the_run(
    client: TestClient, database: Database
) -> None:
    run = new_run(database)
    spooled = numbered([state(DriverState.RUNNING), state(DriverState.FAILED, reason="lost"), triggered(1), triggered(2)])
    for batch in (spooled[:3], spooled[3:]):
        with database.session() as session:
            assert store_unsent(session, RecordedTasks(), run.id, batch) == 2
    assert run_row(database, run).state is RunState.FAILED


def test_the_restored_checkpoint_is_the_parent_of_the_next_checkpoint(client: TestClient, database: Database) -> None:
    job_id = new_job(database)

    def run_with(start: dict[str, Any], *numbers: int) -> RunHandle:
        run = new_run(database, job_id, start=start)
        events = [event for number in numbers for event in (triggered(number), completed(number))]
        if events:
            post_events(client, run, *events)
        end_run(database, run)
        return run

    run = run_with({"mode": "fresh"}, 1, 2, 3)
    run_with({"mode": "resume"}, 4)
    run_with({"mode": "from", "checkpoint": 2})
    run_with({"mode": "resume"}, 6, 7)
    run_with({"mode": "fresh"}, 8)
    run_with({"mode": "resume"}, 9)
    parents = {number: checkpoint(database, run, number).parent for number in (1, 2, 3, 4, 6, 7, 8, 9)}
    assert parents == {1: None, 2: 1, 3: 2, 4: 3, 6: 2, 7: 6, 8: None, 9: 8}


def operation(database: Database, run: RunHandle, kind: OperationKind = OperationKind.SAVEPOINT) -> int:
    with database.session() as session:
        made = Operation(job_id=run.job_id, kind=kind, state=OperationState.RUNNING, deadline_at=now())
        session.add(made)
        session.flush()
        send_command(session, session.get_one(Run, run.id), "TakeSavepoint", None, made.id)
        return made.id


def ended(database: Database, operation_id: int) -> tuple[OperationState, Any, str | None, bool]:
    with database.session() as session:
        found = session.get_one(Operation, operation_id)
        return found.state, found.result, found.problem, found.ended_at is not None


def answered(command: int, outcome: CommandOutcome = CommandOutcome.ACCEPTED, reason: str = "") -> CommandAnswered:
    return CommandAnswered(CommandId(command), outcome, reason)


@pytest.mark.parametrize("in_one_batch", [True, False])
def test_the_result_of_a_savepoint_operation_is_the_first_savepoint_triggered_after_the_answer_of_the_driver(
    client: TestClient, database: Database, in_one_batch: bool
) -> None:
    run = new_run(database)
    operation_id = operation(database, run)
    events = [
        triggered(1, trigger="savepoint"), answered(1), completed(1, trigger="savepoint"), triggered(2), completed(2),
        triggered(3, trigger="savepoint"), completed(3, trigger="savepoint"), triggered(4, trigger="savepoint"),
        completed(4, trigger="savepoint"),
    ]  # fmt: skip
    if in_one_batch:
        post_events(client, run, *events)
    else:
        for place, event in enumerate(events[:6], 1):
            post_events(client, run, event, first=place)
        assert ended(database, operation_id) == (OperationState.RUNNING, None, None, False)
        for place, event in enumerate(events[6:], 7):
            post_events(client, run, event, first=place)
    assert ended(database, operation_id) == (OperationState.SUCCEEDED, {"checkpoint": 3}, None, True)
    assert checkpoint(database, run, 3).is_savepoint and not checkpoint(database, run, 2).is_savepoint
    with database.session() as session:
        command = session.scalars(select(Command)).one()
    assert (command.outcome, command.answered_event) == ("ACCEPTED", 2)


def test_a_failed_savepoint_fails_its_operation(client: TestClient, database: Database) -> None:
    run = new_run(database)
    operation_id = operation(database, run)
    post_events(client, run, answered(1), triggered(1, trigger="savepoint"), CheckpointFailed(CheckpointId(1), "0/1 declined"))
    assert ended(database, operation_id) == (OperationState.FAILED, None, "checkpoint 1 failed: 0/1 declined", True)
    expected = {
        "operation": operation_id,
        "operation_kind": "savepoint",
        "state": "FAILED",
        "problem": "checkpoint 1 failed: 0/1 declined",
    }
    with database.session() as session:
        found = session.scalars(select(LogEntry).where(LogEntry.kind == "OperationEnded")).one()
        assert (found.fields, found.run_event) == (expected, None), "the end of the operation is an event of the job"
        last = session.scalars(select(LogEntry.number).order_by(LogEntry.number.desc()).limit(1)).one()
        assert session.get_one(Job, run.job_id).event_number == last


def test_a_refused_command_fails_its_operation(client: TestClient, database: Database) -> None:
    run = new_run(database)
    operation_id = operation(database, run)
    post_events(client, run, answered(1, CommandOutcome.REFUSED, "the job is ending"), answered(1), answered(77))
    assert ended(database, operation_id) == (
        OperationState.FAILED,
        None,
        "the driver refused the command: the job is ending",
        True,
    )
    with database.session() as session:
        command = session.scalars(select(Command)).one()
    assert (command.outcome, command.reason, command.answered_event) == ("REFUSED", "the job is ending", 1), (
        "the first answer counts"
    )


def test_events_of_a_run_do_not_change_the_checkpoints_of_another_run(client: TestClient, database: Database) -> None:
    run = new_run(database)
    post_events(client, run, triggered(1), completed(1), state(DriverState.FAILED))
    other = new_run(database, run.job_id)
    post_events(client, other, triggered(1), CheckpointFailed(CheckpointId(1), "no"), completed(1, subtasks=1))
    found = checkpoint(database, run, 1)
    assert found.run_id == run.id and found.state is CheckpointState.COMPLETED and found.subtasks == 2


def call_concurrently(count: int, call: Callable[[], Any]) -> list[Any]:
    """Call the function in ``count`` threads at the same time, and return the results."""
    found: list[Any] = []
    barrier = threading.Barrier(count)

    def go() -> None:
        barrier.wait()
        found.append(call())

    threads = [threading.Thread(target=go) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_concurrent_copies_of_a_batch_are_stored_once(client: TestClient, database: Database) -> None:
    run = new_run(database)
    for first in range(1, 100, 20):
        events = numbered([FailureOccurred(Generation(1), f"{place}") for place in range(20)], first)
        found = call_concurrently(3, partial(post, client, run, events))
        assert [(answer.status_code, answer.json()) for answer in found] == [(200, {"stored": first + 19})] * 3
    with database.session() as session:
        assert session.scalars(select(LogEntry.run_event).order_by(LogEntry.number)).all() == list(range(1, 101))
        assert session.get_one(Job, run.job_id).event_number == 100


def test_a_control_plane_restored_from_a_backup_records_the_lost_events(client: TestClient, database: Database) -> None:
    run = new_run(database)
    events = numbered([state(DriverState.RUNNING), triggered(1), completed(1), triggered(2), completed(2), triggered(3)])
    assert post(client, run, events[:2]).json() == {"stored": 2}
    # The backup contains events 1 and 2. The API confirmed later batches, so the driver has dropped events 1 to 4.
    answer = post(client, run, events[5:], oldest=5)
    assert answer.status_code == 409 and answer.json()["stored"] == 2
    assert post(client, run, events[4:], oldest=5).json() == {"stored": 6}
    assert run_row(database, run).missing_events == 2
    assert checkpoint(database, run, 2).state is CheckpointState.COMPLETED


def test_a_pending_checkpoint_fails_if_events_before_a_metrics_sample_are_lost(client: TestClient, database: Database) -> None:
    run = new_run(database)
    post_events(client, run, triggered(1))
    assert post(client, run, numbered([MetricsSampled(sample(0, 1))], 9)).status_code == 200
    assert checkpoint(database, run, 1).state is CheckpointState.FAILED
