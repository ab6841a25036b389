"""Operations of jobs and their effects, with fake workers and drivers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform, end_restart_delay

from weir.protocol.events import DriverState, RunStateChanged
from weir.protocol.ids import Generation
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import COMPILE, SUBMIT
from weir_backend.models import Event, Job, Operation, OperationKind, Role, Run, RunState, Spec, SpecState
from weir_backend.operations.lifecycle import OperationFacts, judge
from weir_backend.runs.repository import jobs_to_reconcile
from weir_backend.settings import Settings


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.ADMIN, rollback=True))


def test_a_deployment_compiles_and_starts_a_job_and_succeeds_when_the_job_runs(platform: Platform) -> None:
    made = platform.deploy()
    assert made["state"] == "CREATED" and made["operation"]["kind"] == "deploy" and platform.tasks.enqueued == [(COMPILE, (1,))]
    platform.reconcile(made["id"])
    assert platform.job(made["id"])["health_reason"] == "A worker is compiling the user code."
    assert platform.job(made["id"])["run"] is None

    platform.compile(made["id"])
    driver = platform.driver(made["id"])
    assert (SUBMIT, (driver.run_id,)) in platform.tasks.enqueued and driver.start == {"mode": "resume"}
    driver.report_state(DriverState.INITIALIZING)
    assert platform.operation(made["operation"]["id"])["state"] == "PENDING"
    driver.report_state(DriverState.RUNNING)
    driver.checkpoint(1)
    job = platform.job(made["id"])
    assert (job["state"], job["health"], job["health_reason"], job["operation"]) == ("RUNNING", "healthy", "", None)
    assert job["last_checkpoint"]["number"] == 1
    assert platform.operation(made["operation"]["id"])["result"] == {"state": "RUNNING"}


def test_code_that_does_not_compile_fails_the_deployment_with_a_reason(platform: Platform) -> None:
    made = platform.deploy()
    platform.compile(made["id"], problem="job.py:3: there is no column 'delay'")
    operation = platform.operation(made["operation"]["id"])
    assert operation["state"] == "FAILED" and operation["problem"] == "job.py:3: there is no column 'delay'"
    job = platform.job(made["id"])
    assert job["health"] == "needs_attention" and "no column 'delay'" in job["health_reason"] and job["run"] is None


def test_the_filter_for_jobs_that_need_attention_matches_the_health_of_the_jobs(platform: Platform) -> None:
    def found(**wanted: object) -> set[str]:
        rows = platform.send("GET", "/jobs", status=200, params={"filter": json.dumps(wanted)})
        assert {one["health"] == "needs_attention" for one in rows} <= {wanted["needs_attention"]}
        return {one["name"] for one in rows}

    platform.compile(platform.deploy("broken")["id"], problem="job.py:3: there is no column 'delay'")
    platform.compile(platform.deploy("broken-suspended", start=False)["id"], problem="job.py:3: there is no column 'delay'")
    restarts_stopped, _ = platform.running("restarts-stopped")
    stopped, _ = platform.running("restarts-stopped-suspended")
    with platform.database.session() as session:
        session.execute(
            update(Job).where(Job.id.in_([restarts_stopped, stopped])).values(restarts_stopped_reason="the disk is full")
        )
        session.execute(update(Job).where(Job.id == stopped).values(desired_state="SUSPENDED"))
    running, _ = platform.running("runs")
    newer = platform.send(
        "POST", f"/jobs/{running}/specs", status=201, headers={"If-Match": "*"}, json={"spec": {"artifact": platform.upload()}}
    )
    platform.compile(running, newer["number"], problem="job.py:3: there is no column 'delay'")
    assert found(needs_attention=True) == {"broken", "restarts-stopped"}
    assert found(needs_attention=False) == {"broken-suspended", "restarts-stopped-suspended", "runs"}
    assert platform.send("GET", "/jobs", status=422, params={"filter": '{"needs_attention": "yes"}'})["code"] == "invalid"


def test_a_job_that_is_deployed_but_not_started_waits_until_a_user_starts_it(platform: Platform) -> None:
    made = platform.deploy(start=False)
    platform.compile(made["id"])
    assert platform.job(made["id"])["run"] is None and platform.operation(made["operation"]["id"])["state"] == "SUCCEEDED"
    started = platform.send("POST", f"/jobs/{made['id']}/start", status=202)
    platform.reconcile(made["id"])
    platform.driver(made["id"]).begin()
    assert platform.operation(started["id"])["state"] == "SUCCEEDED"


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
        ({"timeouts": {"heartbeat": "1s"}}, "spec.timeouts.heartbeat: the duration '1s' is below the minimum of 2s"),
        ({"timeouts": {"deploy": "1s"}}, "spec.timeouts.deploy: the duration '1s' is below the minimum of 2s"),
        ({"timeouts": {"stuck": "100ms"}}, "spec.timeouts.stuck: the duration '100ms' is below the minimum of 1s"),
        ({"timeouts": {"deploy": "none"}}, "spec.timeouts.deploy: String should match"),
        ({"timeouts": {"deployment": "5m"}}, "Extra inputs are not permitted"),
        ({"network_memory": "10KiB"}, "spec.network_memory: the size '10KiB' is out of range; use a size from 1MiB to 1024GiB"),
        ({"network_memory": "256m"}, "spec.network_memory: String should match"),
        ({"buffer_timeout": "11s"}, "spec.buffer_timeout: the duration '11s' is above the limit of 10s"),
        ({"buffer_timeout": "none"}, "spec.buffer_timeout: String should match"),
        ({"recovery": "switch"}, "spec.recovery: Input should be 'full' or 'regional'"),
        ({"parameters": {"a b": 1}}, "parameters"),
        ({"parameters": {"a": "\x00"}}, "cannot be stored"),
        ({"master": "mesos://x"}, "master"),
        ({"entry": "os.system('x')"}, "entry"),
    ],
)
def test_the_error_for_an_invalid_spec_names_the_field(platform: Platform, change: dict[str, object], message: str) -> None:
    spec = {"artifact": platform.upload(), **change}
    problem = platform.send("POST", "/jobs", status=422, json={"name": "wrong", "spec": spec})
    assert message in problem["detail"], problem
    with platform.database.session() as session:
        assert session.scalars(select(Job)).all() == []


def test_a_job_name_is_unique_until_the_job_is_deleted(platform: Platform) -> None:
    made = platform.deploy("twice", start=False)
    again = {"name": "twice", "spec": {"artifact": platform.upload()}}
    assert platform.send("POST", "/jobs", status=409, json=again)["code"] == "name-taken"
    assert platform.send("DELETE", f"/jobs/{made['id']}", status=428)["code"] == "if-match"
    assert platform.send("DELETE", f"/jobs/{made['id']}", status=412, headers={"If-Match": '"77"'})["version"] == 1
    platform.send("DELETE", f"/jobs/{made['id']}", status=204, headers={"If-Match": '"1"'})
    platform.send("GET", f"/jobs/{made['id']}", status=404)
    assert platform.send("POST", "/jobs", status=201, json=again)["id"] != made["id"]


def test_a_running_job_cannot_be_deleted(platform: Platform) -> None:
    job_id, _ = platform.running()
    assert platform.send("DELETE", f"/jobs/{job_id}", status=409, headers={"If-Match": "*"})["code"] == "running"


def test_a_suspend_operation_sends_a_command_and_returns_the_last_checkpoint(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested = platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    platform.reconcile(job_id)
    platform.reconcile(job_id)
    assert driver.commands() == ["Suspend"], "the command is sent once, even if the job is reconciled twice"
    driver.checkpoint(2, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    operation = platform.operation(requested["id"])
    assert operation["state"] == "SUCCEEDED" and operation["result"] == {"state": "SUSPENDED", "checkpoint": 2}
    job = platform.job(job_id)
    assert (job["state"], job["health"], job["desired_state"]) == ("SUSPENDED", "healthy", "SUSPENDED")
    platform.reconcile(job_id)
    assert platform.job(job_id)["run"]["number"] == 1, "a suspended job does not start by itself"


def test_a_start_during_a_suspension_runs_the_job_again_after_the_suspension(platform: Platform) -> None:
    job_id, driver = platform.running()
    platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    platform.reconcile(job_id)
    start = platform.send("POST", f"/jobs/{job_id}/start", status=202)
    platform.reconcile(job_id)
    assert platform.operation(start["id"])["ended_at"] is None, "the live run is still suspending"
    driver.checkpoint(2, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    assert platform.operation(start["id"])["ended_at"] is None, "the start does not succeed before the new run is RUNNING"
    platform.driver(job_id).begin()
    assert platform.operation(start["id"])["state"] == "SUCCEEDED" and platform.job(job_id)["run"]["number"] == 2


def test_a_start_of_a_suspending_job_succeeds_if_the_job_reaches_the_end_of_its_input(platform: Platform) -> None:
    job_id, driver = platform.running()
    platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    platform.reconcile(job_id)
    start = platform.send("POST", f"/jobs/{job_id}/start", status=202)
    driver.report_state(DriverState.FINISHED)
    ended = platform.operation(start["id"])
    assert ended["state"] == "SUCCEEDED" and ended["result"] == {"state": "FINISHED"}


def test_a_crash_of_the_driver_fails_the_suspend_operation_and_does_not_restart_the_job(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested = platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    driver.crash()
    operation = platform.operation(requested["id"])
    assert (
        operation["state"] == "FAILED"
        and "without a final checkpoint" in operation["problem"]
        and "checkpoint 1" in operation["problem"]
    )
    assert platform.job(job_id)["run"]["number"] == 1


def test_a_failed_suspension_of_a_job_without_a_checkpoint_says_that_the_next_run_starts_without_state() -> None:
    facts = OperationFacts(
        SpecState.VALID, None, to_run=False, run_state=RunState.FAILED, run_reason="killed", live=False, restarts_stopped_reason=None,
        newest_checkpoint=None,
    )  # fmt: skip
    outcome = judge(OperationKind.SUSPEND, facts, now=now(), deadline=now())
    assert outcome is not None and outcome.problem == (
        "The job stopped without a final checkpoint: killed. The job has no checkpoint, so the next run starts without state."
    )


def test_a_cancelling_job_becomes_canceled_if_its_driver_is_killed(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested = platform.send("POST", f"/jobs/{job_id}/cancel", status=202)
    platform.reconcile(job_id)
    driver.crash("canceled; the driver process has exited")
    job = platform.job(job_id)
    assert (job["state"], job["run"]["number"]) == ("CANCELED", 1)
    assert platform.operation(requested["id"])["state"] == "SUCCEEDED"


def test_a_later_operation_of_a_job_supersedes_an_earlier_operation(platform: Platform) -> None:
    job_id, driver = platform.running()
    suspend = platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    platform.reconcile(job_id)
    cancel = platform.send("POST", f"/jobs/{job_id}/cancel", status=202)
    platform.reconcile(job_id)
    assert driver.commands() == ["Suspend", "Cancel"]
    driver.report_state(DriverState.CANCELED)
    assert platform.operation(suspend["id"])["state"] == "SUPERSEDED" and "cancel" in platform.operation(suspend["id"])["problem"]
    assert platform.operation(cancel["id"])["state"] == "SUCCEEDED"


def test_a_driver_that_exited_is_replaced_and_fenced(platform: Platform) -> None:
    job_id, driver = platform.running()
    driver.crash("the driver process has exited")
    job = platform.job(job_id)
    assert (job["state"], job["health"], job["restarts"]) == ("FAILED", "degraded", 1) and job["restart_at"] is not None
    end_restart_delay(platform, job_id)
    second = platform.driver(job_id)
    assert (second.run_id, second.cause, second.start) == (driver.run_id + 1, "restart", {"mode": "resume"})
    assert driver.send_events(RunStateChanged(DriverState.RUNNING, Generation(9))) == 410, "the API refuses events of a zombie"
    second.begin()
    assert platform.job(job_id)["state"] == "RUNNING"


def test_a_job_that_cannot_be_restored_is_not_restarted_until_a_user_starts_it(platform: Platform) -> None:
    made = platform.deploy()
    platform.compile(made["id"])
    platform.driver(made["id"]).report_state(
        DriverState.FAILED, "the input of source 'in' differs from the checkpoint", "RestoreError"
    )
    job = platform.job(made["id"])
    assert job["health"] == "needs_attention" and "differs from the checkpoint" in job["health_reason"]
    assert platform.operation(made["operation"]["id"])["state"] == "FAILED"
    platform.reconcile(made["id"])
    assert platform.job(made["id"])["run"]["number"] == 1
    again = platform.send("POST", f"/jobs/{made['id']}/start", status=202)
    platform.reconcile(made["id"])
    platform.driver(made["id"]).begin()
    assert platform.operation(again["id"])["state"] == "SUCCEEDED"


REFUSAL = "Cannot start job 'orders': its sinks have published output that the job log does not contain."


def refused_start(platform: Platform) -> tuple[int, dict[str, str]]:
    """Suspend a job and start it again. The driver refuses the start because of unknown output. Return the job's id and the
    operation."""
    job_id, driver = platform.running()
    platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    platform.reconcile(job_id)
    driver.report_state(DriverState.SUSPENDED)
    operation = platform.send("POST", f"/jobs/{job_id}/start", status=202)
    platform.reconcile(job_id)
    assert platform.driver(job_id).start == {"mode": "resume"}
    platform.driver(job_id).report_state(DriverState.FAILED, REFUSAL, "ConfigError")
    return job_id, platform.operation(operation["id"])


def test_a_start_that_is_refused_because_of_unknown_output_is_not_repeated_and_shows_the_reason(platform: Platform) -> None:
    job_id, operation = refused_start(platform)
    assert operation["state"] == "FAILED" and REFUSAL in operation["problem"]
    platform.reconcile(job_id)
    job = platform.job(job_id)
    assert (job["health"], job["run"]["number"], job["restarts"]) == ("needs_attention", 2, 0) and REFUSAL in job["health_reason"]


def test_a_request_to_revoke_unknown_output_applies_to_one_run_only(platform: Platform) -> None:
    job_id, _ = refused_start(platform)
    start = platform.send("POST", f"/jobs/{job_id}/start", status=202, json={"revoke_unknown_output": True})
    assert start["request"] == {"revoke_unknown_output": True}
    (entry, *_) = platform.send("GET", "/audit", status=200)
    assert (entry["action"], entry["after"]) == ("start", {"desired_state": "RUNNING", "revoke_unknown_output": True})
    platform.reconcile(job_id)
    driver = platform.driver(job_id)
    assert driver.start == {"mode": "resume", "revoke_unknown_output": True}
    driver.crash()
    end_restart_delay(platform, job_id)
    restarted = platform.driver(job_id)
    assert (restarted.cause, restarted.start) == ("restart", {"mode": "resume"}), "only the first run revokes the output"
    restarted.begin()
    assert platform.operation(start["id"])["state"] == "SUCCEEDED"
    restarted.crash()
    end_restart_delay(platform, job_id)
    assert platform.driver(job_id).start == {"mode": "resume"}


def test_a_suspension_before_the_run_starts_cancels_the_request_to_revoke_unknown_output(platform: Platform) -> None:
    job_id, _ = refused_start(platform)
    platform.send("POST", f"/jobs/{job_id}/start", status=202, json={"revoke_unknown_output": True})
    platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    platform.send("POST", f"/jobs/{job_id}/start", status=202, json={"revoke_unknown_output": False})
    platform.reconcile(job_id)
    assert platform.driver(job_id).start == {"mode": "resume"}


def test_unknown_output_is_revoked_only_with_the_permission_to_roll_back(platform: Platform, login: Login) -> None:
    job_id, _ = refused_start(platform)
    platform.headers = login(Role.OPERATOR)
    problem = platform.send("POST", f"/jobs/{job_id}/start", status=403, json={"revoke_unknown_output": True})
    assert "'rollback'" in problem["detail"]
    platform.send("POST", f"/jobs/{job_id}/start", status=202, json={})
    platform.reconcile(job_id)
    assert platform.driver(job_id).start == {"mode": "resume"}


def test_a_request_to_revoke_unknown_output_is_refused_while_the_job_is_running(platform: Platform) -> None:
    job_id, driver = platform.running()
    problem = platform.send("POST", f"/jobs/{job_id}/start", status=409, json={"revoke_unknown_output": True})
    assert (problem["code"], problem["next_step"]) == ("running", "Suspend or cancel the job first.")
    platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    platform.reconcile(job_id)
    platform.send("POST", f"/jobs/{job_id}/start", status=202, json={"revoke_unknown_output": True})
    driver.report_state(DriverState.SUSPENDED)
    assert platform.driver(job_id).start == {"mode": "resume", "revoke_unknown_output": True}


def test_a_finished_job_is_not_restarted(platform: Platform) -> None:
    job_id, driver = platform.running()
    driver.report_state(DriverState.FINISHED)
    platform.reconcile(job_id)
    job = platform.job(job_id)
    assert (job["state"], job["health"], job["run"]["number"]) == ("FINISHED", "healthy", 1)
    assert platform.send("POST", f"/jobs/{job_id}/start", status=409)["code"] == "finished"


def test_a_savepoint_operation_sends_a_command_and_returns_the_number_of_the_savepoint(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested = platform.send("POST", f"/jobs/{job_id}/savepoints", status=202)
    assert driver.commands() == ["TakeSavepoint"]
    driver.checkpoint(2, "savepoint")
    operation = platform.operation(requested["id"])
    assert operation["state"] == "SUCCEEDED" and operation["result"] == {"checkpoint": 2}
    driver.report_state(DriverState.FINISHED)
    assert platform.send("POST", f"/jobs/{job_id}/savepoints", status=409)["code"] == "not-running"


def test_a_savepoint_of_another_operation_completes_a_checkpoint_request(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested = platform.send("POST", f"/jobs/{job_id}/checkpoints", status=202)
    assert driver.commands() == ["TakeCheckpoint"]
    driver.checkpoint(2)
    assert platform.operation(requested["id"])["state"] == "RUNNING", "a periodic checkpoint does not complete the operation"
    driver.checkpoint(3, "manual")
    operation = platform.operation(requested["id"])
    assert (operation["kind"], operation["state"], operation["result"]) == ("checkpoint", "SUCCEEDED", {"checkpoint": 3})
    requested = [platform.send("POST", f"/jobs/{job_id}/{what}", status=202)["id"] for what in ("checkpoints", "savepoints")]
    assert driver.commands() == ["TakeCheckpoint", "TakeSavepoint"]
    driver.checkpoint(4, "savepoint")
    assert [platform.operation(one)["result"] for one in requested] == [{"checkpoint": 4}] * 2


def test_a_request_that_is_repeated_after_a_lost_response_has_only_one_effect(platform: Platform) -> None:
    job_id, driver = platform.running()
    key = {"Idempotency-Key": "savepoint-before-the-release"}
    first = platform.send("POST", f"/jobs/{job_id}/savepoints", status=202, headers=key)
    assert platform.send("POST", f"/jobs/{job_id}/savepoints", status=202, headers=key) == first
    assert driver.commands() == ["TakeSavepoint"]
    draft = {"name": "again", "spec": {"artifact": platform.upload()}}
    made = platform.send("POST", "/jobs", status=201, json=draft, headers={"Idempotency-Key": "deploy"})
    assert platform.send("POST", "/jobs", status=201, json=draft, headers={"Idempotency-Key": "deploy"})["id"] == made["id"]
    other = {**draft, "name": "another"}
    assert (
        platform.send("POST", "/jobs", status=422, json=other, headers={"Idempotency-Key": "deploy"})["code"]
        == "idempotency-key-reused"
    )


def test_an_operation_ends_at_its_deadline(platform: Platform) -> None:
    job_id, _ = platform.running()
    requested = platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    with platform.database.session() as session:
        session.execute(update(Operation).where(Operation.id == requested["id"]).values(deadline_at=now()))
    platform.reconcile(job_id)
    operation = platform.operation(requested["id"])
    assert operation["state"] == "FAILED" and "has not stopped" in operation["problem"]


@pytest.mark.parametrize(
    ("verb", "timeout", "minutes"), [("savepoints", "10m", 15), ("savepoints", "2h", 125), ("cancel", "2h", 5)]
)
def test_the_deadline_of_a_savepoint_depends_on_the_checkpoint_timeout(
    platform: Platform, verb: str, timeout: str, minutes: int
) -> None:
    job_id, _ = platform.running(checkpointing={"timeout": timeout})
    before = now()
    requested = platform.send("POST", f"/jobs/{job_id}/{verb}", status=202)
    with platform.database.session() as session:
        deadline = session.get_one(Operation, requested["id"]).deadline_at
    assert timedelta(minutes=minutes) <= deadline - before < timedelta(minutes=minutes + 1)


def test_a_job_is_reconciled_at_the_deadline_of_its_operation(platform: Platform) -> None:
    job_id, _ = platform.running()
    platform.reconcile(job_id)
    requested = platform.send("POST", f"/jobs/{job_id}/checkpoints/1/verify", status=202)
    with platform.database.session() as session:
        deadline = session.get_one(Operation, requested["id"]).deadline_at
        assert job_id not in jobs_to_reconcile(session, deadline - timedelta(seconds=1), limit=9)
        assert job_id in jobs_to_reconcile(session, deadline, limit=9)


def test_a_new_spec_version_is_compiled_and_can_be_compared_but_is_not_started(platform: Platform) -> None:
    job_id, _ = platform.running()
    other = platform.upload(b"def job(params):\n    return 1\n")
    assert platform.send("POST", f"/jobs/{job_id}/specs", status=428, json={"spec": {"artifact": other}})["code"] == "if-match"
    added = platform.send(
        "POST",
        f"/jobs/{job_id}/specs",
        status=201,
        json={"spec": {"artifact": other, "parallelism": 4}},
        headers={"If-Match": '"1"'},
    )
    platform.compile(job_id, added["number"])
    assert platform.job(job_id)["spec_number"] == 1
    diff = platform.send("GET", f"/jobs/{job_id}/specs/1/diff/2", status=200)
    assert [one["path"] for one in diff["changes"]] == ["artifact", "parallelism"]
    assert "+    return 1" in diff["code"] and diff["operators_changed"] == []


def test_the_defaults_replace_absent_checkpoint_limits_of_a_spec_version(
    platform: Platform,
) -> None:
    job_id, _ = platform.running()
    chosen = {"timeout": "1m", "min_pause": "5s", "tolerable_failed_checkpoints": None}
    for number, limits in ((2, {}), (3, chosen)):
        spec = {"artifact": platform.upload(), "checkpointing": limits}
        platform.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": spec}, headers={"If-Match": "*"})
        platform.compile(job_id, number)
    with platform.database.session() as session:
        first = session.scalars(select(Spec).where(Spec.job_id == job_id, Spec.number == 1)).one()
        unlimited = {name: value for name, value in first.body["checkpointing"].items() if name not in chosen}
        first.body = first.body | {"checkpointing": unlimited}
    shown = platform.send("GET", f"/jobs/{job_id}/specs/1", status=200)["body"]["checkpointing"]
    assert shown == unlimited | {"timeout": "10m", "min_pause": "0s", "tolerable_failed_checkpoints": 3}
    listed = platform.send("GET", f"/jobs/{job_id}/specs", status=200)
    assert [one["body"]["checkpointing"] for one in listed if one["number"] == 1] == [shown]
    assert platform.send("GET", f"/jobs/{job_id}/specs/1/diff/2", status=200)["changes"] == []
    changes = platform.send("GET", f"/jobs/{job_id}/specs/1/diff/3", status=200)["changes"]
    assert {one["path"].rpartition(".")[2]: (one["before"], one["after"]) for one in changes} == {
        "timeout": ("10m", "1m"),
        "min_pause": ("0s", "5s"),
        "tolerable_failed_checkpoints": (3, None),
    }


def test_the_event_numbers_of_a_job_have_no_gaps(platform: Platform) -> None:
    job_id, driver = platform.running()
    platform.send("POST", f"/jobs/{job_id}/suspend", status=202)
    platform.reconcile(job_id)
    driver.commands()
    driver.report_state(DriverState.SUSPENDED)
    with platform.database.session() as session:
        numbers = session.scalars(select(Event.number).where(Event.job_id == job_id).order_by(Event.number)).all()
    assert list(numbers) == list(range(1, len(numbers) + 1)) and len(numbers) >= 8


def create_job_in(platform: Platform, name: str, directory: str) -> int:
    """Create a job with this checkpoint directory, and return its id."""
    spec = {"artifact": platform.upload(), "checkpointing": {"directory": directory}}
    job_id: int = platform.send("POST", "/jobs", status=201, json={"name": name, "spec": spec})["id"]
    return job_id


@pytest.mark.parametrize("second", ["/data/checkpoints", "/data/./checkpoints/"])
def test_two_jobs_cannot_share_a_checkpoint_directory(platform: Platform, second: str) -> None:
    platform.compile(create_job_in(platform, "first", "/data/checkpoints"))
    other = create_job_in(platform, "other", second)
    platform.compile(other)
    job = platform.job(other)
    assert job["spec_state"] == "INVALID" and job["run"] is None and job["health"] == "needs_attention"
    assert (
        "'orders'" in job["health_reason"]
        and "job 'first'" in job["health_reason"]
        and "another checkpoint directory" in job["health_reason"]
    )


def test_jobs_can_share_a_directory_if_their_names_in_the_code_differ_or_the_other_job_is_deleted(platform: Platform) -> None:
    first, other = create_job_in(platform, "first", "s3://bucket/prefix"), create_job_in(platform, "other", "s3://bucket/prefix/")
    platform.compile(first)
    platform.compile(other, name="another")
    assert [platform.job(one)["spec_state"] for one in (first, other)] == ["VALID", "VALID"]
    platform.send("POST", f"/jobs/{first}/cancel", status=202)
    platform.driver(first).report_state(DriverState.CANCELED)
    platform.send("DELETE", f"/jobs/{first}", status=204, headers={"If-Match": "*"})
    again = create_job_in(platform, "again", "s3://bucket/prefix")
    platform.compile(again)
    assert platform.job(again)["spec_state"] == "VALID"


def test_the_default_checkpoint_directory_of_another_job_cannot_be_used(platform: Platform) -> None:
    job_id, _ = platform.running()
    with platform.database.session() as session:
        (directory,) = session.scalars(select(Run.checkpoint_directory).where(Run.job_id == job_id))
    other = create_job_in(platform, "other", directory)
    platform.compile(other)
    assert "job 'orders'" in platform.job(other)["health_reason"]


def test_all_spec_versions_of_a_job_can_share_a_checkpoint_directory(platform: Platform) -> None:
    job_id = create_job_in(platform, "first", "/data/checkpoints")
    platform.compile(job_id)
    spec = {"artifact": platform.upload(), "checkpointing": {"directory": "/data/checkpoints"}, "parallelism": 3}
    platform.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": spec}, headers={"If-Match": "*"})
    platform.compile(job_id, 2)
    assert platform.send("GET", f"/jobs/{job_id}/specs/2", status=200)["state"] == "VALID"


def test_only_one_of_several_jobs_with_the_same_checkpoint_directory_gets_a_valid_spec(platform: Platform) -> None:
    found = [create_job_in(platform, name, "/data/checkpoints") for name in ("one", "two", "three")]
    with ThreadPoolExecutor() as pool:
        list(pool.map(platform.compile, found))
    assert sorted(platform.job(one)["spec_state"] for one in found) == ["INVALID", "INVALID", "VALID"]
