"""The invariants of a platform after a chaos run, checked in the database and in checkpoint storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.chaos_platform.retrying_client import RetryingClient
from tests.integration.cli.small_job import expected_totals, totals
from tests.integration.platform.embedded_rig import Platform

from weir.protocol.log_view import CheckpointStatus
from weir.storage.inspection import list_checkpoints
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage


def find_violations(platform: Platform, client: RetryingClient, job_id: int, root: Path) -> list[str]:
    """Return the violations, one sentence each."""
    client.wait_until(
        lambda: [operation for operation in client.list("/operations", job_id=job_id) if operation["ended_at"] is None],
        lambda running: not running, "all operations have ended", timeout_s=60.0,
    )  # fmt: skip
    problems = list(client.internal_errors)
    client.internal_errors.clear()
    with platform.connect() as connection:

        def rows(query: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in connection.execute(query, {"job": job_id}).fetchall()]

        problems += _events(rows)
        problems += _runs(rows)
        problems += _checkpoints(rows, platform.root, job_id)
    if totals(root / "output") != expected_totals():
        problems.append("the output does not match the input")
    return problems


def _events(rows: Any) -> list[str]:
    numbers = [row[0] for row in rows("SELECT number FROM events WHERE job_id = %(job)s ORDER BY number")]
    ((newest,),) = rows("SELECT event_number FROM jobs WHERE id = %(job)s")
    problems = [] if numbers == list(range(1, newest + 1)) else [f"the events must have the numbers 1 to {newest}: {numbers}"]
    twice = rows(
        "SELECT run_id, run_event FROM events WHERE job_id = %(job)s AND run_event IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1"
    )
    return problems + [f"event {event} of run {run} is stored twice" for run, event in twice]


def _runs(rows: Any) -> list[str]:
    found = rows("SELECT number, state, missing_events, ended_at FROM runs WHERE job_id = %(job)s ORDER BY number")
    problems = [f"run {number}: {missing} events are missing" for number, _, missing, _ in found if missing]
    problems += [f"run {number} is {state} but has not ended" for number, state, _, ended in found if ended is None]
    if [row[0] for row in found] != list(range(1, len(found) + 1)):
        problems.append(f"runs are numbered {[row[0] for row in found]}")
    return problems


def _checkpoints(rows: Any, data_dir: Path, job_id: int) -> list[str]:
    states = {row[0]: row[1] for row in rows("SELECT number, state FROM checkpoints WHERE job_id = %(job)s")}
    problems = [f"checkpoint {number} is still in progress" for number, state in states.items() if state == "IN_PROGRESS"]
    (directory,) = (data_dir / "checkpoints").glob(f"{job_id}-*/1")
    stored = list_checkpoints(open_storage(str(directory)), JobLayout("small"))
    in_storage = {one.checkpoint for one in stored}
    completed = {number for number, state in states.items() if state == "COMPLETED"}
    if completed - in_storage:
        problems.append(f"checkpoints {sorted(completed - in_storage)} are completed in the database but missing in storage")
    if in_storage - completed:
        problems.append(f"checkpoints {sorted(in_storage - completed)} are in storage but not completed in the database")
    assert all(one.status is not CheckpointStatus.RETIRED for one in stored), (
        "a checkpoint was retired, but the job retains all checkpoints"
    )
    return problems
