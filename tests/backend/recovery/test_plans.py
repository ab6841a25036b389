"""Plans over the API: who may, what is shown, what is done, and what becomes of a job when it goes wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.played import WHOLE, Driver, Stage, wait_is_over

from weir.protocol.events import RunState as Told
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import COMPILE, INSPECT
from weir_backend.models import RecoveryPlan, Role
from weir_backend.reconciling.chasing import AGAIN, chase
from weir_backend.recovery.sinks import REVOCABLE
from weir_backend.settings import Settings

ROLLBACK = {"request": {"kind": "rollback", "checkpoint": 1}}


@pytest.fixture
def stage(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Stage:
    return Stage(client, database, settings, tasks, login(Role.OPERATOR, rollback=True))


@pytest.fixture
def running(stage: Stage) -> tuple[int, Driver]:
    """With checkpoints 1 to 3."""
    job_id, driver = stage.running()
    driver.checkpoint(2)
    driver.checkpoint(3)
    return job_id, driver


def proposed(stage: Stage, job_id: int, request: dict[str, object] = ROLLBACK) -> int:
    plan = stage.send("POST", f"/jobs/{job_id}/plans", status=201, json=request)
    assert plan["state"] == "PROPOSED" and (INSPECT, (plan["id"],)) in stage.tasks.asked
    stage.inspect(plan["id"])
    return int(plan["id"])


def applying(stage: Stage, job_id: int, driver: Driver, request: dict[str, object] = ROLLBACK) -> tuple[int, int]:
    """A plan that has stopped the job, and its operation."""
    plan_id = proposed(stage, job_id, request)
    stage.send("POST", f"/plans/{plan_id}/approve", status=200)
    operation = stage.send("POST", f"/plans/{plan_id}/apply", status=202)
    assert stage.send("POST", f"/plans/{plan_id}/apply", status=202)["id"] == operation["id"], "asked for twice, done once"
    stage.look(job_id)
    stage.inspect(plan_id)
    assert driver.commands() == ["Suspend"]
    driver.checkpoint(4, "suspend")
    driver.say(Told.SUSPENDED)
    return plan_id, operation["id"]


def test_a_plan_shows_what_it_would_do_before_anything_is_done(stage: Stage, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    shown = stage.send("POST", f"/jobs/{job_id}/plans", status=200, json={**ROLLBACK, "dry_run": True})
    preview = shown["preview"]
    assert shown["id"] is None and preview["checkpoint"] == 1 and preview["stop_with"] == "Suspend"
    assert preview["duplicates"] == ["shown"], "the console cannot take anything back"
    assert preview["restarts"] == ["in", "out", "shown"] and len(preview["steps"]) == 4
    assert stage.send("GET", "/plans", status=200) == [] and driver.commands() == []


def test_a_rollback_verifies_stops_starts_from_the_checkpoint_and_is_applied_once_it_runs(
    stage: Stage, running: tuple[int, Driver]
) -> None:
    job_id, driver = running
    plan_id, operation_id = applying(stage, job_id, driver)
    second = stage.driver(job_id)
    assert second.start == {"mode": "from", "checkpoint": 1} and second.cause == "rollback"
    assert stage.send("POST", f"/jobs/{job_id}/suspend", status=409)["code"] == "plan-applying"
    second.begin()
    plan = stage.send("GET", f"/plans/{plan_id}", status=200)
    assert (plan["state"], plan["safety_checkpoint"], plan["problem"]) == ("APPLIED", 4, None)
    operation = stage.operation(operation_id)
    assert operation["state"] == "SUCCEEDED" and operation["result"] == {"plan": plan_id, "safety_checkpoint": 4}
    assert [one["text"] for one in operation["steps"]] == [
        "verifying the files of the checkpoint", "stopping the job", "starting the job",
    ]  # fmt: skip

    second.die()
    wait_is_over(stage, job_id)
    assert stage.driver(job_id).start == {"mode": "resume"}, "it has gone back: it does not do so again"


def test_an_upgrade_to_code_that_calls_its_job_something_else_is_refused_as_it_would_begin_from_nothing(
    stage: Stage, running: tuple[int, Driver]
) -> None:
    job_id, driver = running
    spec = {"artifact": stage.upload(b"def job(params): return Job('renamed')\n")}
    stage.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": spec}, headers={"If-Match": "*"})
    stage.compile(job_id, 2, name="renamed")
    refused = stage.send(
        "POST", f"/jobs/{job_id}/plans", status=409, json={"request": {"kind": "upgrade", "spec": 2}, "dry_run": True}
    )
    assert refused["code"] == "name-changed" and "'renamed'" in refused["detail"] and "'played'" in refused["next_step"]
    assert driver.commands() == []
    stage.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": spec}, headers={"If-Match": "*"})
    stage.compile(job_id, 3)
    stage.send("POST", f"/jobs/{job_id}/plans", status=201, json={"request": {"kind": "upgrade", "spec": 3}})


def test_a_job_that_never_ran_may_be_called_something_else(stage: Stage) -> None:
    job_id = stage.deploy(start=False)["id"]
    stage.compile(job_id)
    stage.send(
        "POST", f"/jobs/{job_id}/specs", status=201, json={"spec": {"artifact": stage.upload()}}, headers={"If-Match": "*"}
    )
    stage.compile(job_id, 2, name="renamed")
    stage.send("POST", f"/jobs/{job_id}/plans", status=201, json={"request": {"kind": "upgrade", "spec": 2}})


def test_an_undo_goes_back_to_where_the_job_was_stopped(stage: Stage, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    plan_id, _ = applying(stage, job_id, driver)
    second = stage.driver(job_id)
    second.begin()
    second.checkpoint(5)
    undo = {"request": {"kind": "undo", "plan": plan_id}}
    undo_id = proposed(stage, job_id, undo)
    stage.send("POST", f"/plans/{undo_id}/approve", status=200)
    stage.send("POST", f"/plans/{undo_id}/apply", status=202)
    stage.look(job_id)
    stage.inspect(undo_id)
    second.commands()
    second.checkpoint(6, "suspend")
    second.say(Told.SUSPENDED)
    third = stage.driver(job_id)
    assert third.start == {"mode": "from", "checkpoint": 4} and third.cause == "undo"
    third.begin()
    assert stage.send("GET", f"/plans/{undo_id}", status=200)["safety_checkpoint"] == 6
    not_applied = {"request": {"kind": "undo", "plan": proposed(stage, job_id)}}
    assert stage.send("POST", f"/jobs/{job_id}/plans", status=409, json=not_applied)["code"] == "nothing-to-undo"


def test_a_driver_that_dies_on_its_way_back_is_followed_by_one_that_goes_back(stage: Stage, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    plan_id, _ = applying(stage, job_id, driver)
    stage.driver(job_id).die()
    second = stage.driver(job_id)
    assert second.start == {"mode": "from", "checkpoint": 1}
    second.begin()
    assert stage.send("GET", f"/plans/{plan_id}", status=200)["state"] == "APPLIED"


def test_a_job_that_does_not_start_is_brought_back_to_where_it_was_stopped(stage: Stage, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    plan_id, operation_id = applying(stage, job_id, driver)
    stage.driver(job_id).say(Told.FAILED, "the state of 'in' does not fit", "RestoreError")
    operation = stage.operation(operation_id)
    assert operation["state"] == "FAILED" and "does not fit" in operation["problem"]
    assert stage.send("GET", f"/plans/{plan_id}", status=200)["state"] == "FAILED"
    wait_is_over(stage, job_id)
    returned = stage.driver(job_id)
    assert returned.start == {"mode": "from", "checkpoint": 4}
    returned.begin()
    assert stage.job(job_id)["state"] == "RUNNING"


def test_a_damaged_checkpoint_ends_the_plan_and_the_job_is_not_touched(stage: Stage, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    damaged = WHOLE.model_copy(update={"whole": False, "damage": "state/7 is missing"})
    plan_id = proposed(stage, job_id)
    stage.send("POST", f"/plans/{plan_id}/approve", status=200)
    operation = stage.send("POST", f"/plans/{plan_id}/apply", status=202)
    stage.look(job_id)
    stage.inspect(plan_id, damaged)
    assert (
        stage.operation(operation["id"])["state"] == "FAILED"
        and "state/7 is missing" in stage.operation(operation["id"])["problem"]
    )
    assert driver.commands() == [] and stage.job(job_id)["run"]["number"] == 1

    second = stage.send("POST", f"/jobs/{job_id}/plans", status=201, json=ROLLBACK)["id"]
    assert stage.send("POST", f"/plans/{second}/approve", status=409)["code"] == "being-inspected"
    stage.inspect(second, damaged)
    assert stage.send("POST", f"/plans/{second}/approve", status=409)["code"] == "damaged"


def test_a_plan_is_refused_once_the_job_has_changed_or_somebody_has_changed_the_plan(
    stage: Stage, running: tuple[int, Driver]
) -> None:
    job_id, _ = running
    plan_id = proposed(stage, job_id)
    stage.send("PATCH", f"/jobs/{job_id}", status=200, json={"description": "x"}, headers={"If-Match": "*"})
    assert stage.send("POST", f"/plans/{plan_id}/approve", status=409)["code"] == "job-moved"
    fresh = proposed(stage, job_id)
    with stage.database.session() as session:
        session.execute(
            update(RecoveryPlan).where(RecoveryPlan.id == fresh).values(request={"kind": "rollback", "checkpoint": 2})
        )
    assert stage.send("POST", f"/plans/{fresh}/approve", status=409)["code"] == "signature"


def test_only_an_approved_plan_is_applied_and_a_withdrawn_one_is_over(stage: Stage, running: tuple[int, Driver]) -> None:
    job_id, _ = running
    plan_id = proposed(stage, job_id)
    assert stage.send("POST", f"/plans/{plan_id}/apply", status=409)["code"] == "plan-state"
    assert stage.send("POST", f"/plans/{plan_id}/withdraw", status=200)["state"] == "WITHDRAWN"
    assert stage.send("POST", f"/plans/{plan_id}/approve", status=409)["code"] == "plan-state"


def test_going_back_needs_a_permission_of_its_own_and_an_upgrade_does_not(
    stage: Stage, running: tuple[int, Driver], login: Login
) -> None:
    job_id, _ = running
    plan_id = proposed(stage, job_id)
    stage.headers = login(Role.ADMIN)
    assert stage.send("POST", f"/plans/{plan_id}/approve", status=403)["code"] == "forbidden"
    rescale = proposed(stage, job_id, {"request": {"kind": "rescale", "parallelism": 3}})
    assert stage.send("POST", f"/plans/{rescale}/approve", status=409)["code"] == "spec-not-valid"
    stage.compile(job_id, 2)
    stage.send("POST", f"/plans/{rescale}/approve", status=200)


def test_a_rescaled_job_runs_its_new_version_from_the_checkpoint_it_was_stopped_with(
    stage: Stage, running: tuple[int, Driver]
) -> None:
    job_id, driver = running
    rescale = proposed(stage, job_id, {"request": {"kind": "rescale", "parallelism": 3}})
    stage.compile(job_id, 2)
    stage.send("POST", f"/plans/{rescale}/approve", status=200)
    stage.send("POST", f"/plans/{rescale}/apply", status=202)
    stage.look(job_id)
    assert driver.commands() == ["Suspend"]
    driver.checkpoint(4, "suspend")
    driver.say(Told.SUSPENDED)
    second = stage.driver(job_id)
    assert second.start == {"mode": "resume"} and stage.job(job_id)["spec_number"] == 2
    second.say(Told.FAILED, "too few slots", "ConfigError")
    wait_is_over(stage, job_id)
    returned = stage.driver(job_id)
    assert returned.start == {"mode": "resume"} and stage.job(job_id)["spec_number"] == 1, (
        "the newest is the one it was stopped with"
    )


def test_a_look_that_the_queue_has_lost_is_asked_for_again_and_not_all_the_time(
    stage: Stage, running: tuple[int, Driver]
) -> None:
    job_id, _ = running
    plan_id = stage.send("POST", f"/jobs/{job_id}/plans", status=201, json=ROLLBACK)["id"]
    spec = stage.send(
        "POST", f"/jobs/{job_id}/specs", status=201, json={"spec": {"artifact": stage.upload()}}, headers={"If-Match": "*"}
    )
    wanted = {(INSPECT, (plan_id,)), (COMPILE, (spec["id"],))}

    def chased(after: timedelta) -> set[tuple[str, tuple[int | str, ...]]]:
        stage.tasks.asked.clear()
        with stage.database.session() as session:
            chase(session, stage.tasks, now() + after)
        return set(stage.tasks.asked)

    assert chased(AGAIN / 2) == set()
    assert chased(AGAIN * 2) == wanted
    assert chased(AGAIN * 2) == set(), "not until the same time has passed once more"
    assert chased(AGAIN * 4) == wanted
    stage.compile(job_id, spec["number"])
    stage.inspect(plan_id)
    assert chased(AGAIN * 8) == set()


@pytest.mark.parametrize("number", [9, 77])
def test_a_checkpoint_that_is_not_there_is_named(stage: Stage, running: tuple[int, Driver], number: int) -> None:
    problem = stage.send(
        "POST", f"/jobs/{running[0]}/plans", status=404, json={"request": {"kind": "rollback", "checkpoint": number}}
    )
    assert f"no completed checkpoint {number}" in problem["detail"]


def test_the_sinks_that_the_backend_calls_revocable_are_those_that_are() -> None:
    from weir.connectors.base import Sink
    from weir.connectors.sinks import console, json_lines, parquet

    made: list[Sink] = [parquet("/tmp/x"), json_lines("/tmp/x"), console()]
    assert {one.kind for one in made if one.committer().revocable} == REVOCABLE
