"""Plans over the API: permissions, previews, execution and failures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update
from tests.backend.conftest import Login, RecordedTasks, change_settings
from tests.backend.fake_workers import INTACT, Driver, Platform, end_restart_delay

from weir.protocol.events import IMPORTED, CheckpointCompleted, DriverState
from weir.protocol.ids import CheckpointId, Generation
from weir_backend.checkpoints.repository import plans_with_expired_undo_pin
from weir_backend.checkpoints.retention_gc import release_expired_undo_pins
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import COMPILE, INSPECT
from weir_backend.models import AuditEntry, Checkpoint, Job, RecoveryPlan, Role
from weir_backend.reconciler.lost_tasks import REQUEUE_AFTER, requeue_lost_tasks
from weir_backend.recovery.decisions import PIN_TIMEOUT
from weir_backend.recovery.execution import UNDOABLE_PLANS_MAX
from weir_backend.recovery.schemas import ExternalCheckpointRead, PlanInspection
from weir_backend.recovery.sinks import REVOCABLE, records_in
from weir_backend.settings import Settings

ROLLBACK = {"request": {"kind": "rollback", "checkpoint": 1}}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"restore_roots": ("/srv/checkpoints", "s3://backups/weir")})


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR, rollback=True))


@pytest.fixture
def running(platform: Platform) -> tuple[int, Driver]:
    """Create a running job with checkpoints 1 to 3. Return the id and the driver of the job."""
    job_id, driver = platform.running()
    driver.checkpoint(2)
    driver.checkpoint(3)
    return job_id, driver


def propose(platform: Platform, job_id: int, request: Mapping[str, object] = ROLLBACK) -> int:
    plan = platform.send("POST", f"/jobs/{job_id}/plans", status=201, json=request)
    assert plan["state"] == "PROPOSED" and (INSPECT, (plan["id"],)) in platform.tasks.enqueued
    platform.inspect(plan["id"])
    return int(plan["id"])


def apply_until_stopped(
    platform: Platform, job_id: int, driver: Driver, request: Mapping[str, object] = ROLLBACK
) -> tuple[int, int]:
    """Apply a plan until the plan has stopped the job. Return the ids of the plan and of its operation."""
    plan_id = propose(platform, job_id, request)
    platform.approve(plan_id)
    operation = platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    assert platform.send("POST", f"/plans/{plan_id}/apply", status=202)["id"] == operation["id"], (
        "a second request returns the same operation"
    )
    platform.reconcile(job_id)
    platform.inspect(plan_id)
    assert driver.commands() == ["Suspend"]
    driver.checkpoint(4, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    return plan_id, operation["id"]


def test_a_dry_run_shows_the_plan_and_changes_nothing(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    shown = platform.send("POST", f"/jobs/{job_id}/plans", status=200, json={**ROLLBACK, "dry_run": True})
    preview = shown["preview"]
    assert shown["id"] is None and preview["checkpoint"] == 1 and preview["stop_with"] == "Suspend"
    assert preview["sinks_with_duplicates"] == ["shown"], "the output of a console sink cannot be revoked"
    assert preview["restarted_operators"] == ["in", "out", "shown"] and len(preview["steps"]) == 4
    assert preview["steps"][-1] == (
        "If the job does not start, restore its earlier version and desired state, and resume it from its last checkpoint before the stop."
    )
    assert platform.send("GET", "/plans", status=200) == [] and driver.commands() == []
    assert platform.send("GET", "/plans", status=200, params={"filter": '{"state": "APPLIED"}'}) == []
    platform.send("GET", "/plans", status=422, params={"filter": '{"state": "DONE"}'})


def test_a_rollback_stops_the_job_and_then_restores_the_checkpoint(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    plan_id, operation_id = apply_until_stopped(platform, job_id, driver)
    second = platform.driver(job_id)
    assert second.start == {"mode": "from", "checkpoint": 1} and second.cause == "rollback"
    assert platform.send("POST", f"/jobs/{job_id}/suspend", status=409)["code"] == "plan-applying"
    second.begin()
    plan = platform.send("GET", f"/plans/{plan_id}", status=200)
    assert (plan["state"], plan["safety_checkpoint"], plan["problem"]) == ("APPLIED", 4, None)
    operation = platform.operation(operation_id)
    assert operation["state"] == "SUCCEEDED" and operation["result"] == {"plan": plan_id, "safety_checkpoint": 4}
    assert [one["text"] for one in operation["steps"]] == [
        "verifying the files of the checkpoint", "stopping the job", "starting the job",
    ]  # fmt: skip

    second.crash()
    end_restart_delay(platform, job_id)
    assert platform.driver(job_id).start == {"mode": "resume"}, "a restart does not restore checkpoint 1 again"


def test_an_upgrade_to_code_with_a_different_job_name_is_refused(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    spec = {"artifact": platform.upload(b"def job(params): return Job('renamed')\n")}
    platform.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": spec}, headers={"If-Match": "*"})
    platform.compile(job_id, 2, name="renamed")
    refused = platform.send(
        "POST", f"/jobs/{job_id}/plans", status=409, json={"request": {"kind": "upgrade", "spec": 2}, "dry_run": True}
    )
    assert refused["code"] == "name-changed" and "'renamed'" in refused["detail"] and "'orders'" in refused["next_step"]
    assert driver.commands() == []
    platform.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": spec}, headers={"If-Match": "*"})
    platform.compile(job_id, 3)
    platform.send("POST", f"/jobs/{job_id}/plans", status=201, json={"request": {"kind": "upgrade", "spec": 3}})


def test_the_job_name_in_the_code_can_change_before_the_first_run(platform: Platform) -> None:
    job_id = platform.deploy(start=False)["id"]
    platform.compile(job_id)
    platform.send(
        "POST", f"/jobs/{job_id}/specs", status=201, json={"spec": {"artifact": platform.upload()}}, headers={"If-Match": "*"}
    )
    platform.compile(job_id, 2, name="renamed")
    platform.send("POST", f"/jobs/{job_id}/plans", status=201, json={"request": {"kind": "upgrade", "spec": 2}})


def test_an_undo_restores_the_safety_savepoint(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    plan_id, _ = apply_until_stopped(platform, job_id, driver)
    second = platform.driver(job_id)
    second.begin()
    second.checkpoint(5)
    undo = {"request": {"kind": "undo", "plan": plan_id}}
    undo_id = propose(platform, job_id, undo)
    platform.approve(undo_id)
    platform.send("POST", f"/plans/{undo_id}/apply", status=202)
    platform.reconcile(job_id)
    platform.inspect(undo_id)
    second.commands()
    second.checkpoint(6, "suspend")
    second.report_state(DriverState.SUSPENDED)
    third = platform.driver(job_id)
    assert third.start == {"mode": "from", "checkpoint": 4} and third.cause == "undo"
    third.begin()
    assert platform.send("GET", f"/plans/{undo_id}", status=200)["safety_checkpoint"] == 6
    not_applied = {"request": {"kind": "undo", "plan": propose(platform, job_id)}}
    assert platform.send("POST", f"/jobs/{job_id}/plans", status=409, json=not_applied)["code"] == "nothing-to-undo"


def test_the_next_driver_restores_the_target_if_a_driver_crashes_during_a_rollback(
    platform: Platform, running: tuple[int, Driver]
) -> None:
    job_id, driver = running
    plan_id, _ = apply_until_stopped(platform, job_id, driver)
    platform.driver(job_id).crash()
    second = platform.driver(job_id)
    assert second.start == {"mode": "from", "checkpoint": 1}
    second.begin()
    assert platform.send("GET", f"/plans/{plan_id}", status=200)["state"] == "APPLIED"


def test_a_job_that_does_not_start_returns_to_its_safety_savepoint(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    plan_id, operation_id = apply_until_stopped(platform, job_id, driver)
    platform.driver(job_id).report_state(DriverState.FAILED, "the state of 'in' is not compatible", "RestoreError")
    operation = platform.operation(operation_id)
    assert operation["state"] == "FAILED" and "is not compatible" in operation["problem"]
    assert platform.send("GET", f"/plans/{plan_id}", status=200)["state"] == "FAILED"
    end_restart_delay(platform, job_id)
    returned = platform.driver(job_id)
    assert returned.start == {"mode": "from", "checkpoint": 4}
    returned.begin()
    assert platform.job(job_id)["state"] == "RUNNING"


def test_a_plan_for_a_damaged_checkpoint_fails_before_the_job_is_stopped(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    damaged = INTACT.model_copy(update={"intact": False, "damage": "state/7 is missing"})
    plan_id = propose(platform, job_id)
    platform.approve(plan_id)
    operation = platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job_id)
    platform.inspect(plan_id, damaged)
    assert (
        platform.operation(operation["id"])["state"] == "FAILED"
        and "state/7 is missing" in platform.operation(operation["id"])["problem"]
    )
    assert driver.commands() == [] and platform.job(job_id)["run"]["number"] == 1

    second = platform.send("POST", f"/jobs/{job_id}/plans", status=201, json=ROLLBACK)["id"]
    assert platform.approve(second, status=409)["code"] == "being-inspected"
    platform.inspect(second, damaged)
    assert platform.approve(second, status=409)["code"] == "damaged"


def test_a_plan_is_refused_if_the_job_or_the_plan_has_changed(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, _ = running
    plan_id = propose(platform, job_id)
    platform.send("PATCH", f"/jobs/{job_id}", status=200, json={"description": "x"}, headers={"If-Match": "*"})
    assert platform.approve(plan_id, status=409)["code"] == "job-changed"
    fresh = propose(platform, job_id)
    with platform.database.session() as session:
        session.execute(
            update(RecoveryPlan).where(RecoveryPlan.id == fresh).values(request={"kind": "rollback", "checkpoint": 2})
        )
    assert platform.approve(fresh, status=409)["code"] == "signature-mismatch"


def test_an_approval_is_refused_if_the_preview_has_changed_since_the_user_opened_it(
    platform: Platform, running: tuple[int, Driver]
) -> None:
    job_id, _ = running
    plan_id = propose(platform, job_id)
    opened = platform.send("GET", f"/plans/{plan_id}", status=200)
    platform.inspect(plan_id)
    assert platform.send("GET", f"/plans/{plan_id}", status=200)["digest"] == opened["digest"], (
        "the second inspection found the same"
    )
    platform.inspect(plan_id, INTACT.model_copy(update={"abandoned": [2, 3]}))
    refused = platform.send("POST", f"/plans/{plan_id}/approve", status=412, json={"digest": opened["digest"]})
    assert (refused["code"], refused["detail"], refused["next_step"]) == (
        "preview-changed", f"The preview of plan {plan_id} has changed since you opened it.", "Review it again.",
    )  # fmt: skip
    changed = platform.send("GET", f"/plans/{plan_id}", status=200)
    assert changed["state"] == "PROPOSED" and changed["digest"] != opened["digest"]
    for wrong in ({}, {"digest": None}, {"digest": "x"}):
        assert platform.send("POST", f"/plans/{plan_id}/approve", status=422, json=wrong)["code"] == "invalid"
    for _ in range(2):
        approved = platform.send("POST", f"/plans/{plan_id}/approve", status=200, json={"digest": changed["digest"]})
        assert approved["state"] == "APPROVED" and approved["digest"] == changed["digest"]
    late = platform.send("POST", f"/plans/{plan_id}/approve", status=412, json={"digest": opened["digest"]})
    assert late["code"] == "preview-changed", "another user has approved a preview that this user has not seen"
    with platform.database.session() as session:
        (entry,) = session.scalars(select(AuditEntry).where(AuditEntry.action == "approve"))
        assert entry.after == {"job": "orders", "digest": changed["digest"], "proposed_by": opened["created_by"]}


def test_the_proposer_cannot_approve_a_plan_if_the_installation_requires_another_user(
    platform: Platform, running: tuple[int, Driver], login: Login
) -> None:
    change_settings(platform.client.app, separate_approver=True)
    job_id, _ = running
    plan_id = propose(platform, job_id)
    (action,) = (one for one in platform.send("GET", f"/plans/{plan_id}", status=200)["actions"] if one["verb"] == "approve")
    refused = platform.approve(plan_id, status=409)
    assert refused["code"] == "own-plan" and action["reason"] == f"{refused['detail']} {refused['next_step']}"
    assert refused["detail"] == f"You proposed plan {plan_id}, and this installation requires the approval of another user."
    proposer, platform.headers = platform.headers, login(Role.OPERATOR, rollback=True)
    assert platform.approve(plan_id)["state"] == "APPROVED"
    platform.headers = proposer
    platform.send("POST", f"/plans/{plan_id}/apply", status=202)


def test_a_plan_of_an_older_weir_version_is_listed_although_newer_fields_are_missing(
    platform: Platform, running: tuple[int, Driver]
) -> None:
    job_id, _ = running
    plan_id = propose(platform, job_id)
    with platform.database.session() as session:
        plan = session.get_one(RecoveryPlan, plan_id)
        newer = {"recommitted", "incompatibility", "external_checkpoint"}
        inspection = {name: value for name, value in plan.preview["inspection"].items() if name not in newer}
        preview = {name: value for name, value in plan.preview.items() if name not in ("path", "without_state")}
        plan.preview = preview | {"inspection": inspection}
    (listed,) = platform.send("GET", "/plans", status=200)
    assert (listed["preview"]["path"], listed["preview"]["inspection"]["incompatibility"]) == (None, None)
    assert {action["verb"]: action["allowed"] for action in listed["actions"]}["discard"]


def test_a_proposed_plan_cannot_be_applied_and_a_discarded_plan_cannot_be_approved(
    platform: Platform, running: tuple[int, Driver]
) -> None:
    job_id, _ = running
    plan_id = propose(platform, job_id)
    assert platform.send("POST", f"/plans/{plan_id}/apply", status=409)["code"] == "plan-state"
    assert platform.send("POST", f"/plans/{plan_id}/discard", status=200)["state"] == "DISCARDED"
    assert platform.approve(plan_id, status=409)["code"] == "plan-state"


def test_a_rollback_needs_the_rollback_permission_and_a_rescale_does_not(
    platform: Platform, running: tuple[int, Driver], login: Login
) -> None:
    job_id, _ = running
    plan_id = propose(platform, job_id)
    platform.headers = login(Role.ADMIN)
    assert platform.approve(plan_id, status=403)["code"] == "forbidden"
    rescale = propose(platform, job_id, {"request": {"kind": "rescale", "parallelism": 3}})
    preview = platform.send("GET", f"/plans/{rescale}", status=200)["preview"]
    assert preview["sinks_with_duplicates"] == ["shown"] and preview["warnings"] == [
        "These sinks can publish output twice: shown. The output of the last checkpoint before the stop is affected."
    ]
    assert platform.approve(rescale, status=409)["code"] == "spec-not-valid"
    platform.compile(job_id, 2)
    platform.approve(rescale)


def test_a_rescaled_job_resumes_from_the_checkpoint_that_it_completed_when_it_stopped(
    platform: Platform, running: tuple[int, Driver]
) -> None:
    job_id, driver = running
    rescale = propose(platform, job_id, {"request": {"kind": "rescale", "parallelism": 3}})
    platform.compile(job_id, 2)
    platform.approve(rescale)
    platform.send("POST", f"/plans/{rescale}/apply", status=202)
    platform.reconcile(job_id)
    assert driver.commands() == ["Suspend"]
    driver.checkpoint(4, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    second = platform.driver(job_id)
    assert second.start == {"mode": "resume"} and platform.job(job_id)["spec_number"] == 2
    second.report_state(DriverState.FAILED, "too few slots", "ConfigError")
    end_restart_delay(platform, job_id)
    returned = platform.driver(job_id)
    assert returned.start == {"mode": "resume"} and platform.job(job_id)["spec_number"] == 1, (
        "the newest checkpoint was taken when the job stopped"
    )


def external_inspection(checkpoint: int) -> PlanInspection:
    external = ExternalCheckpointRead(job="orders", checkpoint=checkpoint, completed_at=now(), state_bytes=9, is_savepoint=True)
    return INTACT.model_copy(update={"external_checkpoint": external, "abandoned": [1, 2, 3]})


def propose_restore(platform: Platform, job_id: int, **more: object) -> tuple[int, str]:
    """Propose to restore a checkpoint from the directory of another job. Return the id of the plan and the path."""
    path = str(platform.settings.data_dir / "checkpoints" / "7-other" / "1")
    request = {"request": {"kind": "restore", "path": path, **more}}
    return int(platform.send("POST", f"/jobs/{job_id}/plans", status=201, json=request)["id"]), path


def test_a_restore_from_a_path_can_be_inspected_and_applied_and_undone(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    plan_id, path = propose_restore(platform, job_id)
    shown = platform.send("GET", f"/plans/{plan_id}", status=200)
    assert (shown["kind"], shown["preview"]["path"], shown["preview"]["checkpoint"]) == ("restore", path, None)
    assert shown["preview"]["sinks_with_duplicates"] == ["shown"] and f"checkpoint in {path}" in shown["preview"]["steps"][0]
    assert platform.approve(plan_id, status=409)["code"] == "being-inspected"
    platform.inspect(plan_id, external_inspection(12))
    platform.approve(plan_id)
    platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job_id)
    assert driver.commands() == [], "the job is stopped only after a second inspection"
    platform.inspect(plan_id, external_inspection(12))
    assert driver.commands() == ["Suspend"]
    driver.checkpoint(4, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    second = platform.driver(job_id)
    assert second.start == {"mode": "path", "path": f"{path}#12"} and second.cause == "restore"
    second.crash()
    third = platform.driver(job_id)
    assert third.start == second.start, "each driver restores from the path until a run has been RUNNING"
    third.send_events(CheckpointCompleted(CheckpointId(105), Generation(2), IMPORTED, 0, 9, ()))
    third.begin()
    (listed, *_) = platform.send(
        "GET", "/checkpoints", status=200, params={"filter": f'{{"job_id": {job_id}}}', "sort": '["number","DESC"]'}
    )
    assert (listed["number"], listed["trigger"], listed["is_savepoint"]) == (105, "import", True)
    assert platform.send("GET", f"/plans/{plan_id}", status=200)["state"] == "APPLIED"
    third.crash()
    end_restart_delay(platform, job_id)
    fourth = platform.driver(job_id)
    assert fourth.start == {"mode": "resume"}
    fourth.begin()

    undo_id = propose(platform, job_id, {"request": {"kind": "undo", "plan": plan_id}})
    assert platform.send("GET", f"/plans/{undo_id}", status=200)["preview"]["checkpoint"] == 4


def test_a_job_returns_to_its_safety_savepoint_if_its_restore_from_a_path_fails(
    platform: Platform, running: tuple[int, Driver]
) -> None:
    job_id, driver = running
    plan_id, _ = propose_restore(platform, job_id, checkpoint=12)
    platform.inspect(plan_id, external_inspection(12))
    platform.approve(plan_id)
    platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job_id)
    platform.inspect(plan_id, external_inspection(12))
    driver.commands()
    driver.checkpoint(4, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    platform.driver(job_id).report_state(DriverState.FAILED, "source 'in' reads another input", "RestoreError")
    end_restart_delay(platform, job_id)
    returned = platform.driver(job_id)
    assert returned.start == {"mode": "from", "checkpoint": 4}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/etc", 403), ("/", 403), ("s3://other/place", 403), ("/srv/checkpoints-of-others/x", 403), ("s3://backups", 403),
        ("/srv/checkpoints/../../etc", 422), ("/srv/checkpoints/./x", 422), ("srv/checkpoints", 422), ("", 422),
        ("file:///srv/checkpoints", 422), ("/srv/checkpoints/%2e%2e", 422), ("/srv/checkpoints//x", 422), ("/srv/checkpoints/\n", 422),
        ("s3://backups/weir/../../secret", 422), ("/srv/checkpoints/x#3", 422), ("/srv/checkpoints/x\x00", 422),
    ],
)  # fmt: skip
def test_a_path_outside_the_allowed_locations_is_refused(
    platform: Platform, running: tuple[int, Driver], path: str, status: int
) -> None:
    request = {"request": {"kind": "restore", "path": path}}
    problem = platform.send("POST", f"/jobs/{running[0]}/plans", status=status, json=request)
    assert problem["code"] == {403: "path-not-allowed", 422: "invalid"}[status]
    if status == 403:
        assert "/srv/checkpoints, s3://backups/weir" in problem["detail"] and "WEIR_RESTORE_ROOTS" in problem["next_step"]


@pytest.mark.parametrize("path", ["/srv/checkpoints", "/srv/checkpoints/", "/srv/checkpoints/a b/c", "s3://backups/weir/flights"])
def test_a_path_in_an_allowed_location_is_accepted_and_audited(
    platform: Platform, running: tuple[int, Driver], login: Login, path: str
) -> None:
    request = {"request": {"kind": "restore", "path": path}}
    plan = platform.send("POST", f"/jobs/{running[0]}/plans", status=201, json=request)
    assert plan["preview"]["path"] == path.rstrip("/")
    platform.headers = login(Role.ADMIN)
    (entry,) = [one for one in platform.send("GET", "/audit", status=200) if one["action"] == "propose"]
    assert entry["after"]["request"]["path"] == path.rstrip("/")


def test_a_stateless_upgrade_starts_without_state_and_can_be_undone(
    platform: Platform, running: tuple[int, Driver], login: Login
) -> None:
    job_id, driver = running
    platform.send(
        "POST", f"/jobs/{job_id}/specs", status=201, json={"spec": {"artifact": platform.upload()}}, headers={"If-Match": "*"}
    )
    platform.compile(job_id, 2)
    upgrade = {"request": {"kind": "upgrade", "spec": 2, "mode": "stateless"}}
    shown = platform.send("POST", f"/jobs/{job_id}/plans", status=200, json={**upgrade, "dry_run": True})
    assert (
        shown["preview"]["without_state"]
        and shown["preview"]["stop_with"] == "Suspend"
        and shown["preview"]["sinks_with_duplicates"] == ["shown"]
    )
    assert "of the spec without state" in shown["preview"]["steps"][1]
    plan_id = propose(platform, job_id, upgrade)
    rollback_headers, platform.headers = platform.headers, login(Role.ADMIN)
    assert platform.approve(plan_id, status=403)["code"] == "forbidden", "a stateless upgrade revokes output"
    platform.headers = rollback_headers
    platform.approve(plan_id)
    platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job_id)
    assert driver.commands() == ["Suspend"]
    driver.checkpoint(4, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    second = platform.driver(job_id)
    assert second.start == {"mode": "from", "checkpoint": 0} and platform.job(job_id)["spec_number"] == 2
    second.begin()
    assert platform.send("GET", f"/plans/{plan_id}", status=200)["safety_checkpoint"] == 4

    # The undo stops the job before its first checkpoint, so the undo has no safety savepoint.
    undo_id = propose(platform, job_id, {"request": {"kind": "undo", "plan": plan_id}})
    platform.approve(undo_id)
    platform.send("POST", f"/plans/{undo_id}/apply", status=202)
    platform.reconcile(job_id)
    platform.inspect(undo_id)
    second.commands()
    second.report_state(DriverState.SUSPENDED)
    third = platform.driver(job_id)
    assert third.start == {"mode": "from", "checkpoint": 4} and platform.job(job_id)["spec_number"] == 1
    third.begin()
    assert platform.send("GET", f"/plans/{undo_id}", status=200)["safety_checkpoint"] is None


def test_a_stateless_upgrade_to_the_current_version_starts_without_state(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    plan_id, _ = apply_until_stopped(platform, job_id, driver, {"request": {"kind": "upgrade", "spec": 1, "mode": "stateless"}})
    next_driver = platform.driver(job_id)
    assert next_driver.start == {"mode": "from", "checkpoint": 0} and platform.job(job_id)["spec_number"] == 1
    next_driver.begin()
    assert platform.send("GET", f"/plans/{plan_id}", status=200)["state"] == "APPLIED"


def test_a_plan_with_incompatible_state_is_refused_before_the_job_is_stopped(
    platform: Platform, running: tuple[int, Driver]
) -> None:
    job_id, driver = running
    incompatibility = INTACT.model_copy(
        update={"incompatibility": "aggregate 'sums' is keyed by x, but its state is keyed by y. Use a new uid."}
    )
    rescale = platform.send("POST", f"/jobs/{job_id}/plans", status=201, json={"request": {"kind": "rescale", "parallelism": 3}})[
        "id"
    ]
    platform.compile(job_id, 2)
    assert platform.tasks.enqueued.count((INSPECT, (rescale,))) == 2, "the plan is inspected again once its version is compiled"
    platform.inspect(rescale, incompatibility)
    found = {"job_id": job_id, "kind": "PlanInspected"}
    (event,) = platform.send("GET", "/events", status=200, params={"filter": json.dumps(found)})
    assert event["fields"] == {
        "plan": rescale,
        "intact": True,
        "damage": None,
        "incompatibility": incompatibility.incompatibility,
    }
    problem = platform.approve(rescale, status=409)
    assert problem["code"] == "incompatible" and "aggregate 'sums' is keyed by x" in problem["detail"]

    plan_id = propose(platform, job_id)
    platform.approve(plan_id)
    operation = platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job_id)
    platform.inspect(plan_id, incompatibility)
    assert "aggregate 'sums' is keyed by x" in platform.operation(operation["id"])["problem"]
    assert driver.commands() == [] and platform.job(job_id)["state"] == "RUNNING"


def pins(platform: Platform, job_id: int) -> dict[int, str]:
    with platform.database.session() as session:
        rows = session.scalars(select(Checkpoint).where(Checkpoint.job_id == job_id, Checkpoint.pinned)).all()
        return {row.number: row.pinned_reason for row in rows}


def apply_rescale(platform: Platform, job_id: int, driver: Driver, parallelism: int, *, safety: int) -> tuple[int, Driver]:
    """Apply a rescale. Return the id of the plan and the driver of the new run."""
    plan_id = propose(platform, job_id, {"request": {"kind": "rescale", "parallelism": parallelism}})
    platform.compile(job_id, platform.send("GET", f"/plans/{plan_id}", status=200)["request"]["spec"])
    platform.approve(plan_id)
    platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job_id)
    driver.commands()
    driver.checkpoint(safety, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    next_driver = platform.driver(job_id)
    next_driver.begin()
    assert platform.send("GET", f"/plans/{plan_id}", status=200)["state"] == "APPLIED"
    return plan_id, next_driver


def test_the_safety_savepoint_of_a_rescale_is_pinned_until_an_undo(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    platform.pins_immediately = False
    plan_id = propose(platform, job_id, {"request": {"kind": "rescale", "parallelism": 3}})
    platform.compile(job_id, 2)
    platform.approve(plan_id)
    platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job_id)
    driver.commands()
    driver.checkpoint(4, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    assert pins(platform, job_id) == {4: f"an undo of plan {plan_id} would return to it"}
    assert platform.job(job_id)["run"]["number"] == 1, "no driver starts before the pin is in the job log"
    platform.pin()
    platform.reconcile(job_id)
    platform.pins_immediately = True
    second = platform.driver(job_id)
    second.begin()

    undo_id = propose(platform, job_id, {"request": {"kind": "undo", "plan": plan_id}})
    platform.approve(undo_id)
    platform.send("POST", f"/plans/{undo_id}/apply", status=202)
    platform.reconcile(job_id)
    platform.inspect(undo_id)
    second.commands()
    second.checkpoint(5, "suspend")
    second.report_state(DriverState.SUSPENDED)
    platform.driver(job_id).begin()
    assert pins(platform, job_id) == {5: f"an undo of plan {undo_id} would return to it"}


def test_a_job_starts_even_if_a_requested_pin_is_never_written(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, driver = running
    platform.pins_immediately = False
    plan_id = propose(platform, job_id, {"request": {"kind": "rescale", "parallelism": 3}})
    platform.compile(job_id, 2)
    platform.approve(plan_id)
    platform.send("POST", f"/plans/{plan_id}/apply", status=202)
    platform.reconcile(job_id)
    driver.commands()
    driver.checkpoint(4, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    with platform.database.session() as session:
        session.execute(update(RecoveryPlan).values(enqueued_at=now() - PIN_TIMEOUT))
    platform.reconcile(job_id)
    assert platform.driver(job_id).start == {"mode": "resume"}


def test_safety_savepoints_are_pinned_only_for_the_newest_plans_and_for_a_limited_time(
    platform: Platform, running: tuple[int, Driver]
) -> None:
    job_id, driver = running
    made = []
    for step in range(UNDOABLE_PLANS_MAX + 2):
        plan_id, driver = apply_rescale(platform, job_id, driver, 3 + step % 2, safety=4 + step)
        made.append(plan_id)
    newest = list(range(4 + 2, 4 + UNDOABLE_PLANS_MAX + 2))
    assert sorted(pins(platform, job_id)) == newest
    kept = timedelta(days=platform.settings.undo_kept_days)
    with platform.database.session() as session:
        session.execute(
            update(RecoveryPlan).where(RecoveryPlan.id == made[2]).values(ended_at=now() - kept - timedelta(minutes=1))
        )
    with platform.database.session() as session:
        release_expired_undo_pins(session, platform.settings, now())
    assert sorted(pins(platform, job_id)) == newest[1:]
    with platform.database.session() as session:
        session.execute(update(RecoveryPlan).values(ended_at=now() - kept - timedelta(minutes=1)))
        session.get_one(Job, job_id).deleted_at = now()
        assert plans_with_expired_undo_pin(session, now() - kept, limit=9) == [], "plans of deleted jobs are not returned"
        session.rollback()


def test_a_lost_task_is_enqueued_again_at_most_once_per_interval(platform: Platform, running: tuple[int, Driver]) -> None:
    job_id, _ = running
    plan_id = platform.send("POST", f"/jobs/{job_id}/plans", status=201, json=ROLLBACK)["id"]
    spec = platform.send(
        "POST", f"/jobs/{job_id}/specs", status=201, json={"spec": {"artifact": platform.upload()}}, headers={"If-Match": "*"}
    )
    wanted = {(INSPECT, (plan_id,)), (COMPILE, (spec["id"],))}

    def requeued(after: timedelta) -> set[tuple[str, tuple[int | str, ...]]]:
        platform.tasks.enqueued.clear()
        with platform.database.session() as session:
            requeue_lost_tasks(session, platform.tasks, now() + after)
        return set(platform.tasks.enqueued)

    assert requeued(REQUEUE_AFTER / 2) == set()
    assert requeued(REQUEUE_AFTER * 2) == wanted
    assert requeued(REQUEUE_AFTER * 2) == set(), "nothing is enqueued until the next interval has passed"
    assert requeued(REQUEUE_AFTER * 4) == wanted
    platform.compile(job_id, spec["number"])
    platform.inspect(plan_id)
    assert requeued(REQUEUE_AFTER * 8) == set()


@pytest.mark.parametrize("number", [9, 77])
def test_a_rollback_to_a_checkpoint_that_does_not_exist_is_refused(
    platform: Platform, running: tuple[int, Driver], number: int
) -> None:
    problem = platform.send(
        "POST", f"/jobs/{running[0]}/plans", status=404, json={"request": {"kind": "rollback", "checkpoint": number}}
    )
    assert f"has no checkpoint {number}." in problem["detail"]


def test_the_backend_and_the_runtime_have_the_same_list_of_revocable_sinks() -> None:
    from weir.connectors.base import Sink
    from weir.connectors.sinks import console, json_lines, parquet

    made: list[Sink] = [parquet("/tmp/x"), json_lines("/tmp/x"), console()]
    assert {one.kind for one in made if one.committer().revocable} == REVOCABLE


def test_the_backend_counts_the_rows_that_the_console_sink_reports() -> None:
    from weir.connectors.console_sink import PrintedRows

    (payload,) = PrintedRows(("a", "b"), 7).finish()
    assert records_in("console", payload) == 7
    assert records_in("stats", payload) is None and records_in("console", {"rows": "7"}) is None
