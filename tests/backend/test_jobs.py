"""Operations of jobs and their effects, with fake workers and drivers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.played import Stage, end_restart_delay

from weir.protocol.events import DriverState, RunStateChanged
from weir.protocol.ids import Generation
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import COMPILE, SUBMIT
from weir_backend.models import Event, Job, Operation, Role, Run, Spec
from weir_backend.runs.repository import jobs_to_reconcile
from weir_backend.settings import Settings


@pytest.fixture
def stage(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Stage:
    return Stage(client, database, settings, tasks, login(Role.ADMIN, rollback=True))


def test_a_deployment_compiles_and_starts_a_job_and_succeeds_once_it_runs(stage: Stage) -> None:
    made = stage.deploy()
    assert made["state"] == "CREATED" and made["operation"]["kind"] == "deploy" and stage.tasks.enqueued == [(COMPILE, (1,))]
    stage.reconcile(made["id"])
    assert stage.job(made["id"])["health_reason"] == "The code is being compiled." and stage.job(made["id"])["run"] is None

    stage.compile(made["id"])
    driver = stage.driver(made["id"])
    assert (SUBMIT, (driver.run_id,)) in stage.tasks.enqueued and driver.start == {"mode": "resume"}
    driver.report_state(DriverState.INITIALIZING)
    assert stage.operation(made["operation"]["id"])["state"] == "PENDING"
    driver.report_state(DriverState.RUNNING)
    driver.checkpoint(1)
    job = stage.job(made["id"])
    assert (job["state"], job["health"], job["health_reason"], job["operation"]) == ("RUNNING", "healthy", "", None)
    assert job["last_checkpoint"]["number"] == 1
    assert stage.operation(made["operation"]["id"])["result"] == {"state": "RUNNING"}


def test_code_that_does_not_compile_fails_the_deployment_with_a_reason(stage: Stage) -> None:
    made = stage.deploy()
    stage.compile(made["id"], problem="job.py:3: there is no column 'delay'")
    operation = stage.operation(made["operation"]["id"])
    assert operation["state"] == "FAILED" and operation["problem"] == "job.py:3: there is no column 'delay'"
    job = stage.job(made["id"])
    assert job["health"] == "needs_attention" and "no column 'delay'" in job["health_reason"] and job["run"] is None


def test_the_filter_for_jobs_that_need_attention_matches_the_health_of_the_jobs(stage: Stage) -> None:
    def found(**wanted: object) -> set[str]:
        rows = stage.send("GET", "/jobs", status=200, params={"filter": json.dumps(wanted)})
        assert {one["health"] == "needs_attention" for one in rows} <= {wanted["needs_attention"]}
        return {one["name"] for one in rows}

    stage.compile(stage.deploy("broken")["id"], problem="job.py:3: there is no column 'delay'")
    stage.compile(stage.deploy("broken-suspended", start=False)["id"], problem="job.py:3: there is no column 'delay'")
    restarts_stopped, _ = stage.running("restarts-stopped")
    stopped, _ = stage.running("restarts-stopped-suspended")
    with stage.database.session() as session:
        session.execute(
            update(Job).where(Job.id.in_([restarts_stopped, stopped])).values(restarts_stopped_reason="the disk is full")
        )
        session.execute(update(Job).where(Job.id == stopped).values(desired_state="SUSPENDED"))
    running, _ = stage.running("runs")
    newer = stage.send(
        "POST", f"/jobs/{running}/specs", status=201, headers={"If-Match": "*"}, json={"spec": {"artifact": stage.upload()}}
    )
    stage.compile(running, newer["number"], problem="job.py:3: there is no column 'delay'")
    assert found(needs_attention=True) == {"broken", "restarts-stopped"}
    assert found(needs_attention=False) == {"broken-suspended", "restarts-stopped-suspended", "runs"}
    assert stage.send("GET", "/jobs", status=422, params={"filter": '{"needs_attention": "yes"}'})["code"] == "invalid"


def test_a_job_deployed_without_starting_waits_for_a_start(stage: Stage) -> None:
    made = stage.deploy(start=False)
    stage.compile(made["id"])
    assert stage.job(made["id"])["run"] is None and stage.operation(made["operation"]["id"])["state"] == "SUCCEEDED"
    started = stage.send("POST", f"/jobs/{made['id']}/start", status=202)
    stage.reconcile(made["id"])
    stage.driver(made["id"]).begin()
    assert stage.operation(started["id"])["state"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"artifact": "0" * 64}, "no artifact has the digest"),
        ({"spark_conf": {"spark.hadoop.fs.s3a.secret.key": "x"}}, "looks like a secret"),
        ({"parallelism": 0}, "greater than or equal to 1"),
        ({"parallelisn": 2}, "Extra inputs are not permitted"),
        ({"checkpointing": {"interval": "soon"}}, "spec.checkpointing.interval: String should match"),
        (
            {"checkpointing": {"interval": "0s"}},
            "spec.checkpointing.interval: the duration '0s' is below the minimum of 1ms",
        ),
        (
            {"checkpointing": {"timeout": "0ms"}},
            "spec.checkpointing.timeout: the duration '0ms' is below the minimum of 1ms",
        ),
        ({"checkpointing": {"timeout": "none"}}, "spec.checkpointing.timeout: String should match"),
        (
            {"checkpointing": {"min_pause": "10001h"}},
            "spec.checkpointing.min_pause: the duration '10001h' is above the limit",
        ),
        ({"checkpointing": {"tolerable_failed_checkpoints": -1}}, "spec.checkpointing.tolerable_failed_checkpoints"),
        ({"parameters": {"a b": 1}}, "parameters"),
        ({"parameters": {"a": "\x00"}}, "cannot be stored"),
        ({"master": "mesos://x"}, "master"),
        ({"entry": "os.system('x')"}, "entry"),
    ],
)
def test_the_error_for_an_invalid_spec_names_the_field(stage: Stage, change: dict[str, object], message: str) -> None:
    spec = {"artifact": stage.upload(), **change}
    problem = stage.send("POST", "/jobs", status=422, json={"name": "wrong", "spec": spec})
    assert message in problem["detail"], problem
    with stage.database.session() as session:
        assert session.scalars(select(Job)).all() == []


def test_a_job_name_is_unique_until_the_job_is_deleted(stage: Stage) -> None:
    made = stage.deploy("twice", start=False)
    again = {"name": "twice", "spec": {"artifact": stage.upload()}}
    assert stage.send("POST", "/jobs", status=409, json=again)["code"] == "name-taken"
    assert stage.send("DELETE", f"/jobs/{made['id']}", status=428)["code"] == "if-match"
    assert stage.send("DELETE", f"/jobs/{made['id']}", status=412, headers={"If-Match": '"77"'})["version"] == 1
    stage.send("DELETE", f"/jobs/{made['id']}", status=204, headers={"If-Match": '"1"'})
    stage.send("GET", f"/jobs/{made['id']}", status=404)
    assert stage.send("POST", "/jobs", status=201, json=again)["id"] != made["id"]


def test_a_running_job_cannot_be_deleted(stage: Stage) -> None:
    job_id, _ = stage.running()
    assert stage.send("DELETE", f"/jobs/{job_id}", status=409, headers={"If-Match": "*"})["code"] == "running"


def test_suspend_sends_a_command_and_ends_with_the_last_checkpoint(stage: Stage) -> None:
    job_id, driver = stage.running()
    requested = stage.send("POST", f"/jobs/{job_id}/suspend", status=202)
    stage.reconcile(job_id)
    stage.reconcile(job_id)
    assert driver.commands() == ["Suspend"], "the command is sent once, even if the job is reconciled twice"
    driver.checkpoint(2, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    operation = stage.operation(requested["id"])
    assert operation["state"] == "SUCCEEDED" and operation["result"] == {"state": "SUSPENDED", "checkpoint": 2}
    job = stage.job(job_id)
    assert (job["state"], job["health"], job["desired_state"]) == ("SUSPENDED", "healthy", "SUSPENDED")
    stage.reconcile(job_id)
    assert stage.job(job_id)["run"]["number"] == 1, "a suspended job does not start by itself"


def test_a_job_started_while_suspending_runs_again(stage: Stage) -> None:
    job_id, driver = stage.running()
    stage.send("POST", f"/jobs/{job_id}/suspend", status=202)
    stage.reconcile(job_id)
    start = stage.send("POST", f"/jobs/{job_id}/start", status=202)
    stage.reconcile(job_id)
    assert stage.operation(start["id"])["ended_at"] is None, "the live run is still suspending"
    driver.checkpoint(2, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    assert stage.operation(start["id"])["ended_at"] is None, "the new run is not RUNNING yet"
    stage.driver(job_id).begin()
    assert stage.operation(start["id"])["state"] == "SUCCEEDED" and stage.job(job_id)["run"]["number"] == 2


def test_a_start_succeeds_if_the_suspending_job_reaches_the_end_of_its_input(stage: Stage) -> None:
    job_id, driver = stage.running()
    stage.send("POST", f"/jobs/{job_id}/suspend", status=202)
    stage.reconcile(job_id)
    start = stage.send("POST", f"/jobs/{job_id}/start", status=202)
    driver.report_state(DriverState.FINISHED)
    ended = stage.operation(start["id"])
    assert ended["state"] == "SUCCEEDED" and ended["result"] == {"state": "FINISHED"}


def test_a_suspend_fails_and_the_job_stays_suspended_if_the_driver_crashes(stage: Stage) -> None:
    job_id, driver = stage.running()
    requested = stage.send("POST", f"/jobs/{job_id}/suspend", status=202)
    driver.crash()
    operation = stage.operation(requested["id"])
    assert (
        operation["state"] == "FAILED"
        and "without a final checkpoint" in operation["problem"]
        and "checkpoint 1" in operation["problem"]
    )
    assert stage.job(job_id)["run"]["number"] == 1


def test_a_job_whose_driver_is_killed_while_cancelling_is_canceled(stage: Stage) -> None:
    job_id, driver = stage.running()
    requested = stage.send("POST", f"/jobs/{job_id}/cancel", status=202)
    stage.reconcile(job_id)
    driver.crash("canceled; the driver process has exited")
    job = stage.job(job_id)
    assert (job["state"], job["run"]["number"]) == ("CANCELED", 1)
    assert stage.operation(requested["id"])["state"] == "SUCCEEDED"


def test_a_later_operation_supersedes_an_earlier_one(stage: Stage) -> None:
    job_id, driver = stage.running()
    suspend = stage.send("POST", f"/jobs/{job_id}/suspend", status=202)
    stage.reconcile(job_id)
    cancel = stage.send("POST", f"/jobs/{job_id}/cancel", status=202)
    stage.reconcile(job_id)
    assert driver.commands() == ["Suspend", "Cancel"]
    driver.report_state(DriverState.CANCELED)
    assert stage.operation(suspend["id"])["state"] == "SUPERSEDED" and "cancel" in stage.operation(suspend["id"])["problem"]
    assert stage.operation(cancel["id"])["state"] == "SUCCEEDED"


def test_a_driver_that_exited_is_replaced_and_fenced(stage: Stage) -> None:
    job_id, driver = stage.running()
    driver.crash("the driver process has exited")
    job = stage.job(job_id)
    assert (job["state"], job["health"], job["restarts"]) == ("FAILED", "degraded", 1) and job["restart_at"] is not None
    end_restart_delay(stage, job_id)
    second = stage.driver(job_id)
    assert (second.run_id, second.cause, second.start) == (driver.run_id + 1, "restart", {"mode": "resume"})
    assert driver.send_events(RunStateChanged(DriverState.RUNNING, Generation(9))) == 410, "the API refuses events of a zombie"
    second.begin()
    assert stage.job(job_id)["state"] == "RUNNING"


def test_a_job_that_cannot_be_restored_is_not_restarted_until_a_user_starts_it(stage: Stage) -> None:
    made = stage.deploy()
    stage.compile(made["id"])
    stage.driver(made["id"]).report_state(
        DriverState.FAILED, "the input of source 'in' differs from the checkpoint", "RestoreError"
    )
    job = stage.job(made["id"])
    assert job["health"] == "needs_attention" and "differs from the checkpoint" in job["health_reason"]
    assert stage.operation(made["operation"]["id"])["state"] == "FAILED"
    stage.reconcile(made["id"])
    assert stage.job(made["id"])["run"]["number"] == 1
    again = stage.send("POST", f"/jobs/{made['id']}/start", status=202)
    stage.reconcile(made["id"])
    stage.driver(made["id"]).begin()
    assert stage.operation(again["id"])["state"] == "SUCCEEDED"


def test_a_finished_job_is_not_restarted(stage: Stage) -> None:
    job_id, driver = stage.running()
    driver.report_state(DriverState.FINISHED)
    stage.reconcile(job_id)
    job = stage.job(job_id)
    assert (job["state"], job["health"], job["run"]["number"]) == ("FINISHED", "healthy", 1)
    assert stage.send("POST", f"/jobs/{job_id}/start", status=409)["code"] == "finished"


def test_a_savepoint_is_requested_from_the_driver_and_its_number_is_the_result(stage: Stage) -> None:
    job_id, driver = stage.running()
    requested = stage.send("POST", f"/jobs/{job_id}/savepoints", status=202)
    assert driver.commands() == ["TakeSavepoint"]
    driver.checkpoint(2, "savepoint")
    operation = stage.operation(requested["id"])
    assert operation["state"] == "SUCCEEDED" and operation["result"] == {"checkpoint": 2}
    driver.report_state(DriverState.FINISHED)
    assert stage.send("POST", f"/jobs/{job_id}/savepoints", status=409)["code"] == "not-running"


def test_a_savepoint_of_another_operation_also_completes_a_checkpoint_request(stage: Stage) -> None:
    job_id, driver = stage.running()
    requested = stage.send("POST", f"/jobs/{job_id}/checkpoints", status=202)
    assert driver.commands() == ["TakeCheckpoint"]
    driver.checkpoint(2)
    assert stage.operation(requested["id"])["state"] == "RUNNING", "a periodic checkpoint does not complete the operation"
    driver.checkpoint(3, "manual")
    operation = stage.operation(requested["id"])
    assert (operation["kind"], operation["state"], operation["result"]) == ("checkpoint", "SUCCEEDED", {"checkpoint": 3})
    requested = [stage.send("POST", f"/jobs/{job_id}/{what}", status=202)["id"] for what in ("checkpoints", "savepoints")]
    assert driver.commands() == ["TakeCheckpoint", "TakeSavepoint"]
    driver.checkpoint(4, "savepoint")
    assert [stage.operation(one)["result"] for one in requested] == [{"checkpoint": 4}] * 2


def test_a_request_repeated_after_a_lost_response_has_one_effect(stage: Stage) -> None:
    job_id, driver = stage.running()
    key = {"Idempotency-Key": "savepoint-before-the-release"}
    first = stage.send("POST", f"/jobs/{job_id}/savepoints", status=202, headers=key)
    assert stage.send("POST", f"/jobs/{job_id}/savepoints", status=202, headers=key) == first
    assert driver.commands() == ["TakeSavepoint"]
    draft = {"name": "again", "spec": {"artifact": stage.upload()}}
    made = stage.send("POST", "/jobs", status=201, json=draft, headers={"Idempotency-Key": "deploy"})
    assert stage.send("POST", "/jobs", status=201, json=draft, headers={"Idempotency-Key": "deploy"})["id"] == made["id"]
    other = {**draft, "name": "another"}
    assert (
        stage.send("POST", "/jobs", status=422, json=other, headers={"Idempotency-Key": "deploy"})["code"]
        == "idempotency-key-reused"
    )


def test_an_operation_ends_at_its_deadline(stage: Stage) -> None:
    job_id, _ = stage.running()
    requested = stage.send("POST", f"/jobs/{job_id}/suspend", status=202)
    with stage.database.session() as session:
        session.execute(update(Operation).where(Operation.id == requested["id"]).values(deadline_at=now()))
    stage.reconcile(job_id)
    operation = stage.operation(requested["id"])
    assert operation["state"] == "FAILED" and "has not stopped" in operation["problem"]


@pytest.mark.parametrize(
    ("verb", "timeout", "minutes"), [("savepoints", "10m", 15), ("savepoints", "2h", 125), ("cancel", "2h", 5)]
)
def test_the_deadline_of_a_savepoint_depends_on_the_checkpoint_timeout(
    stage: Stage, verb: str, timeout: str, minutes: int
) -> None:
    job_id, _ = stage.running(checkpointing={"timeout": timeout})
    before = now()
    requested = stage.send("POST", f"/jobs/{job_id}/{verb}", status=202)
    with stage.database.session() as session:
        deadline = session.get_one(Operation, requested["id"]).deadline_at
    assert timedelta(minutes=minutes) <= deadline - before < timedelta(minutes=minutes + 1)


def test_a_job_is_reconciled_at_the_deadline_of_its_operation(stage: Stage) -> None:
    job_id, _ = stage.running()
    stage.reconcile(job_id)
    requested = stage.send("POST", f"/jobs/{job_id}/checkpoints/1/verify", status=202)
    with stage.database.session() as session:
        deadline = session.get_one(Operation, requested["id"]).deadline_at
        assert job_id not in jobs_to_reconcile(session, deadline - timedelta(seconds=1), limit=9)
        assert job_id in jobs_to_reconcile(session, deadline, limit=9)


def test_a_new_spec_version_is_compiled_and_compared_but_not_started(stage: Stage) -> None:
    job_id, _ = stage.running()
    other = stage.upload(b"def job(params):\n    return 1\n")
    assert stage.send("POST", f"/jobs/{job_id}/specs", status=428, json={"spec": {"artifact": other}})["code"] == "if-match"
    added = stage.send(
        "POST",
        f"/jobs/{job_id}/specs",
        status=201,
        json={"spec": {"artifact": other, "parallelism": 4}},
        headers={"If-Match": '"1"'},
    )
    stage.compile(job_id, added["number"])
    assert stage.job(job_id)["spec_number"] == 1
    diff = stage.send("GET", f"/jobs/{job_id}/specs/1/diff/2", status=200)
    assert [one["path"] for one in diff["changes"]] == ["artifact", "parallelism"]
    assert "+    return 1" in diff["code"] and diff["operators_changed"] == []


def test_a_spec_version_without_checkpoint_limits_is_shown_and_compared_with_the_defaults(
    stage: Stage,
) -> None:
    job_id, _ = stage.running()
    chosen = {"timeout": "1m", "min_pause": "5s", "tolerable_failed_checkpoints": None}
    for number, limits in ((2, {}), (3, chosen)):
        spec = {"artifact": stage.upload(), "checkpointing": limits}
        stage.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": spec}, headers={"If-Match": "*"})
        stage.compile(job_id, number)
    with stage.database.session() as session:
        first = session.scalars(select(Spec).where(Spec.job_id == job_id, Spec.number == 1)).one()
        unlimited = {name: value for name, value in first.body["checkpointing"].items() if name not in chosen}
        first.body = first.body | {"checkpointing": unlimited}
    shown = stage.send("GET", f"/jobs/{job_id}/specs/1", status=200)["body"]["checkpointing"]
    assert shown == unlimited | {"timeout": "10m", "min_pause": "0s", "tolerable_failed_checkpoints": 3}
    listed = stage.send("GET", f"/jobs/{job_id}/specs", status=200)
    assert [one["body"]["checkpointing"] for one in listed if one["number"] == 1] == [shown]
    assert stage.send("GET", f"/jobs/{job_id}/specs/1/diff/2", status=200)["changes"] == []
    changes = stage.send("GET", f"/jobs/{job_id}/specs/1/diff/3", status=200)["changes"]
    assert {one["path"].rpartition(".")[2]: (one["before"], one["after"]) for one in changes} == {
        "timeout": ("10m", "1m"),
        "min_pause": ("0s", "5s"),
        "tolerable_failed_checkpoints": (3, None),
    }


def test_the_event_numbers_of_a_job_have_no_gaps(stage: Stage) -> None:
    job_id, driver = stage.running()
    stage.send("POST", f"/jobs/{job_id}/suspend", status=202)
    stage.reconcile(job_id)
    driver.commands()
    driver.report_state(DriverState.SUSPENDED)
    with stage.database.session() as session:
        numbers = session.scalars(select(Event.number).where(Event.job_id == job_id).order_by(Event.number)).all()
    assert list(numbers) == list(range(1, len(numbers) + 1)) and len(numbers) >= 8


def create_job_in(stage: Stage, name: str, directory: str) -> int:
    """Create a job with this checkpoint directory, and return its id."""
    spec = {"artifact": stage.upload(), "checkpointing": {"directory": directory}}
    job_id: int = stage.send("POST", "/jobs", status=201, json={"name": name, "spec": spec})["id"]
    return job_id


@pytest.mark.parametrize("second", ["/data/checkpoints", "/data/./checkpoints/"])
def test_two_jobs_cannot_share_a_checkpoint_directory(stage: Stage, second: str) -> None:
    stage.compile(create_job_in(stage, "first", "/data/checkpoints"))
    other = create_job_in(stage, "other", second)
    stage.compile(other)
    job = stage.job(other)
    assert job["spec_state"] == "INVALID" and job["run"] is None and job["health"] == "needs_attention"
    assert (
        "'played'" in job["health_reason"]
        and "job 'first'" in job["health_reason"]
        and "another checkpoint directory" in job["health_reason"]
    )


def test_jobs_with_different_names_in_their_code_can_share_a_directory_and_a_deleted_job_frees_it(stage: Stage) -> None:
    first, other = create_job_in(stage, "first", "s3://bucket/prefix"), create_job_in(stage, "other", "s3://bucket/prefix/")
    stage.compile(first)
    stage.compile(other, name="another")
    assert [stage.job(one)["spec_state"] for one in (first, other)] == ["VALID", "VALID"]
    stage.send("POST", f"/jobs/{first}/cancel", status=202)
    stage.driver(first).report_state(DriverState.CANCELED)
    stage.send("DELETE", f"/jobs/{first}", status=204, headers={"If-Match": "*"})
    again = create_job_in(stage, "again", "s3://bucket/prefix")
    stage.compile(again)
    assert stage.job(again)["spec_state"] == "VALID"


def test_the_default_checkpoint_directory_of_another_job_cannot_be_used(stage: Stage) -> None:
    job_id, _ = stage.running()
    with stage.database.session() as session:
        (directory,) = session.scalars(select(Run.checkpoint_directory).where(Run.job_id == job_id))
    other = create_job_in(stage, "other", directory)
    stage.compile(other)
    assert "job 'played'" in stage.job(other)["health_reason"]


def test_all_spec_versions_of_a_job_can_share_a_checkpoint_directory(stage: Stage) -> None:
    job_id = create_job_in(stage, "first", "/data/checkpoints")
    stage.compile(job_id)
    spec = {"artifact": stage.upload(), "checkpointing": {"directory": "/data/checkpoints"}, "parallelism": 3}
    stage.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": spec}, headers={"If-Match": "*"})
    stage.compile(job_id, 2)
    assert stage.send("GET", f"/jobs/{job_id}/specs/2", status=200)["state"] == "VALID"


def test_only_one_of_several_jobs_with_the_same_checkpoint_directory_becomes_valid(stage: Stage) -> None:
    found = [create_job_in(stage, name, "/data/checkpoints") for name in ("one", "two", "three")]
    with ThreadPoolExecutor() as pool:
        list(pool.map(stage.compile, found))
    assert sorted(stage.job(one)["spec_state"] for one in found) == ["INVALID", "INVALID", "VALID"]
