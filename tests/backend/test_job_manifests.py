"""Job manifests: what a manifest changes, and that a refused manifest or a dry run changes nothing."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Table, func, select, update
from tests.backend.conftest import Login, RecordedTasks, change_settings
from tests.backend.fake_workers import CODE, INTACT, Driver, Platform

from weir.protocol.events import DriverState
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import CHECK_SPEC, COMPILE, INSPECT_SPEC
from weir_backend.models import Base, Job, Role, SpecCheck
from weir_backend.recovery.schemas import PlanInspection
from weir_backend.settings import Settings

OTHER_CODE = CODE + b"# changed\n"


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR))


def manifest(platform: Platform, code: bytes = CODE, **more: Any) -> dict[str, Any]:
    spec = {"artifact": platform.upload(code)} | more.pop("spec", {})
    return {"spec": spec, **more}


def put(platform: Platform, body: dict[str, Any], *, name: str = "orders", status: int = 200, dry_run: bool = False) -> Any:
    params = {"wait": "0s", "dry_run": dry_run}
    return platform.send("PUT", f"/jobs/{name}", status=status, json=body, params=params)


def apply(
    platform: Platform,
    body: dict[str, Any],
    *,
    name: str = "orders",
    status: int = 200,
    dry_run: bool = False,
    problem: str | None = None,
    found: PlanInspection = INTACT,
    name_in_code: str = "orders",
) -> Any:
    """Apply a manifest whose spec must be checked, and do the work of the workers in between."""
    assert put(platform, body, name=name, status=409, dry_run=dry_run)["code"] == "still-checking"
    platform.check_specs(problem=problem, found=found, name=name_in_code)
    return put(platform, body, name=name, status=status, dry_run=dry_run)


def running(platform: Platform, **more: Any) -> tuple[int, Driver]:
    """Create a running job with checkpoint 1 from a manifest. Return the id and the driver of the job."""
    job_id: int = apply(platform, manifest(platform, **more), status=201)["job"]["id"]
    platform.reconcile(job_id)
    driver = platform.driver(job_id)
    driver.begin()
    driver.checkpoint(1)
    return job_id, driver


def rows(database: Database) -> dict[str, int]:
    """Return the number of rows in each table, except the tables to which dry runs and requests write."""
    tables: list[Table] = [
        table for table in Base.metadata.sorted_tables if table.name not in ("spec_checks", "graphs", "tokens")
    ]
    with database.session() as session:
        return {table.name: session.scalar(select(func.count()).select_from(table)) or 0 for table in tables}


def test_a_manifest_creates_a_job_after_its_code_compiles(platform: Platform) -> None:
    body = manifest(platform, description="all orders", labels={"team": "etl"}, comment="abc123")
    put(platform, body, status=409)
    assert platform.send("GET", "/jobs", status=200) == [], "the job does not exist before its code compiles"
    assert [name for name, _ in platform.tasks.enqueued] == [CHECK_SPEC]
    platform.check_specs()
    made = put(platform, body, status=201)
    assert (made["actions"], made["spec"], made["spec_before"]) == (["create"], 1, None)
    job = made["job"]
    assert (job["description"], job["labels"], job["spec_state"]) == ("all orders", {"team": "etl"}, "VALID")
    assert made["operation"]["kind"] == "deploy"
    platform.reconcile(job["id"])
    platform.driver(job["id"]).begin()
    assert platform.operation(made["operation"]["id"])["state"] == "SUCCEEDED"


def test_code_that_does_not_compile_creates_no_job(platform: Platform, database: Database) -> None:
    body = manifest(platform)
    before = rows(database)
    problem = apply(platform, body, status=422, problem="job.py:3: there is no column 'delay'")
    assert problem["code"] == "does-not-compile" and "job.py:3: there is no column 'delay'" in problem["detail"]
    assert rows(database) == before
    assert apply(platform, body, status=201)["actions"] == ["create"], "the next request checks the code again"


def test_code_that_does_not_compile_adds_no_version(platform: Platform, database: Database) -> None:
    job_id, _ = running(platform)
    body = manifest(platform, OTHER_CODE)
    before, job = rows(database), platform.job(job_id)
    apply(platform, body, status=422, problem="job.py:3: there is no column 'delay'")
    assert rows(database) == before and platform.job(job_id)["version"] == job["version"]


def test_an_applied_manifest_changes_nothing_when_it_is_applied_again(platform: Platform, database: Database) -> None:
    job_id, _ = running(platform, labels={"team": "etl"}, spec={"parallelism": 3})
    before, job = rows(database), platform.job(job_id)
    again = put(platform, manifest(platform, labels={"team": "etl"}, spec={"parallelism": 3}))
    assert (again["actions"], again["changes"], again["diff"], again["operation"]) == ([], [], None, None)
    assert (again["spec"], again["spec_before"]) == (1, 1)
    assert rows(database) == before and platform.job(job_id) == job


def test_a_changed_spec_upgrades_the_job_with_a_savepoint(platform: Platform) -> None:
    job_id, driver = running(platform)
    done = apply(platform, manifest(platform, OTHER_CODE, spec={"parallelism": 4}))
    assert (done["actions"], done["spec"], done["spec_before"]) == (["upgrade"], 2, 1)
    assert [(one["path"], one["before"], one["after"]) for one in done["diff"]["changes"]][1:] == [("parallelism", 2, 4)]
    assert "+# changed" in done["diff"]["code"]
    assert done["plan"]["state"] == "APPLYING" and done["plan"]["preview"]["inspection"]["intact"] is True
    again = put(platform, manifest(platform, OTHER_CODE, spec={"parallelism": 4}))
    assert again["actions"] == [] and again["job"]["operation"]["id"] == done["operation"]["id"]
    platform.reconcile(job_id)
    assert driver.commands() == ["Suspend"]
    driver.checkpoint(2, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    platform.driver(job_id).begin()
    job = platform.job(job_id)
    assert (job["state"], job["spec_number"], job["run"]["number"]) == ("RUNNING", 2, 2)
    assert platform.operation(done["operation"]["id"])["state"] == "SUCCEEDED"
    assert put(platform, manifest(platform, OTHER_CODE, spec={"parallelism": 4}))["actions"] == []


def test_the_upgrade_mode_selects_how_the_job_stops(platform: Platform) -> None:
    job_id, _ = running(platform)
    done = apply(platform, manifest(platform, OTHER_CODE, upgrade_mode="last-state"))
    assert done["plan"]["preview"]["stop_with"] == "Cancel"
    platform.reconcile(job_id)
    assert platform.driver(job_id).commands() == ["Cancel"]


def test_an_upgrade_is_refused_but_shown_if_another_user_must_approve_it(platform: Platform, database: Database) -> None:
    running(platform)
    change_settings(platform.client.app, separate_approver=True)
    body, before = manifest(platform, OTHER_CODE), rows(database)
    assert apply(platform, body, dry_run=True)["actions"] == ["upgrade"]
    refused = put(platform, body, status=409)
    assert refused["code"] == "own-plan" and "Another user must approve the upgrade of job 'orders'" in refused["detail"]
    assert rows(database) == before


def test_a_manifest_is_refused_while_a_plan_is_being_applied(platform: Platform) -> None:
    running(platform)
    apply(platform, manifest(platform, OTHER_CODE))
    assert apply(platform, manifest(platform, spec={"parallelism": 7}), status=409)["code"] == "plan-applying"


def test_state_that_the_new_graph_cannot_restore_changes_nothing(platform: Platform, database: Database) -> None:
    job_id, _ = running(platform)
    body = manifest(platform, OTHER_CODE)
    before, job = rows(database), platform.job(job_id)
    incompatible = INTACT.model_copy(update={"incompatibility": "operator 'per-route' is not in this graph"})
    for dry_run in (True, False):
        put(platform, body, status=409, dry_run=dry_run)
        platform.check_specs(found=incompatible)
        problem = put(platform, body, status=409, dry_run=dry_run)
        assert problem["code"] == "incompatible" and "operator 'per-route' is not in this graph" in problem["detail"]
        assert rows(database) == before and platform.job(job_id) == job


def test_code_that_gives_the_job_another_name_is_refused(platform: Platform) -> None:
    running(platform)
    assert apply(platform, manifest(platform, OTHER_CODE), status=409, name_in_code="renamed")["code"] == "name-changed"


def test_a_checkpoint_directory_of_another_job_is_refused(platform: Platform, database: Database) -> None:
    spec = {"checkpointing": {"directory": "/srv/checkpoints"}}
    apply(platform, manifest(platform, spec=spec), status=201)
    before = rows(database)
    problem = apply(platform, manifest(platform, spec=spec), name="copy", status=409)
    assert problem["code"] == "spec-not-valid" and "already belongs to job 'orders'" in problem["detail"]
    assert rows(database) == before


@pytest.mark.parametrize("exists", [False, True])
def test_a_dry_run_describes_the_changes_and_makes_none(platform: Platform, database: Database, exists: bool) -> None:
    if exists:
        running(platform, labels={"team": "etl"})
    body = manifest(platform, OTHER_CODE, labels={"team": "web"}, spec={"parallelism": 4})
    before = rows(database)
    enqueued = len(platform.tasks.enqueued)
    done = apply(platform, body, dry_run=True)
    assert done["dry_run"] and done["job"] is None and done["operation"] is None
    if exists:
        assert done["actions"] == ["update", "upgrade"]
        assert done["changes"] == [{"path": "labels.team", "before": "etl", "after": "web"}]
        assert (done["diff"]["before"], done["diff"]["after"]) == (1, 2)
        assert (done["plan"]["id"], done["plan"]["operation_id"], done["plan"]["actions"]) == (None, None, [])
        assert "Stop the job with a last checkpoint, which an undo can restore." in done["plan"]["preview"]["steps"]
    else:
        assert (done["actions"], done["plan"]) == (["create"], None)
    assert rows(database) == before
    assert {name for name, _ in platform.tasks.enqueued[enqueued:]} <= {CHECK_SPEC, INSPECT_SPEC}
    checks = [one for one in platform.tasks.enqueued if one[0] == CHECK_SPEC]
    assert put(platform, body, status=200 if exists else 201)["actions"] == done["actions"], "no second check is necessary"
    assert [one for one in platform.tasks.enqueued if one[0] == CHECK_SPEC] == checks


def test_a_change_of_labels_restarts_nothing(platform: Platform) -> None:
    job_id, _ = running(platform, description="old", labels={"team": "etl", "tier": "1"})
    done = put(platform, manifest(platform, labels={"team": "web"}))
    assert (done["actions"], done["operation"]) == (["update"], None)
    assert {one["path"]: (one["before"], one["after"]) for one in done["changes"]} == {
        "description": ("old", ""),
        "labels.team": ("etl", "web"),
        "labels.tier": ("1", None),
    }
    job = platform.job(job_id)
    assert (job["description"], job["labels"], job["run"]["number"]) == ("", {"team": "web"}, 1)


def test_a_job_keeps_its_description_and_labels_if_they_are_null(platform: Platform, database: Database) -> None:
    job_id, _ = running(platform, description="old")
    with database.session() as session:
        session.execute(update(Job).values(labels={"owner": "Jane Doe"}))  # earlier versions of Weir accepted this label
    assert put(platform, manifest(platform, description=None, labels=None))["actions"] == []
    assert put(platform, manifest(platform, description="new", labels=None))["actions"] == ["update"]
    job = platform.job(job_id)
    assert (job["description"], job["labels"]) == ("new", {"owner": "Jane Doe"})


def test_the_desired_state_suspends_and_starts_a_job(platform: Platform) -> None:
    job_id, driver = running(platform)
    done = put(platform, manifest(platform, desired_state="SUSPENDED"))
    assert (done["actions"], done["operation"]["kind"]) == (["suspend"], "suspend")
    assert done["changes"] == [{"path": "desired_state", "before": "RUNNING", "after": "SUSPENDED"}]
    assert put(platform, manifest(platform, desired_state="SUSPENDED"))["actions"] == []
    platform.reconcile(job_id)
    assert driver.commands() == ["Suspend"]
    driver.checkpoint(2, "suspend")
    driver.report_state(DriverState.SUSPENDED)
    changed = manifest(platform, OTHER_CODE, desired_state="SUSPENDED")
    assert apply(platform, changed)["actions"] == ["add-version"]
    assert put(platform, changed)["actions"] == [], "the version exists already"
    assert platform.job(job_id)["spec_number"] == 1
    assert put(platform, manifest(platform))["actions"] == ["start"]
    done = apply(platform, manifest(platform, OTHER_CODE))
    assert (done["actions"], done["spec"]) == (["upgrade"], 2)


def test_a_job_can_be_created_suspended(platform: Platform) -> None:
    made = apply(platform, manifest(platform, desired_state="SUSPENDED"), status=201)
    platform.reconcile(made["job"]["id"])
    assert platform.job(made["job"]["id"])["run"] is None
    assert platform.operation(made["operation"]["id"])["state"] == "SUCCEEDED"


def test_without_a_desired_state_a_manifest_only_adds_a_version(platform: Platform) -> None:
    job_id, _ = running(platform)
    done = apply(platform, manifest(platform, OTHER_CODE, desired_state=None))
    assert (done["actions"], done["spec"], done["operation"]) == (["add-version"], 2, None)
    job = platform.job(job_id)
    assert (job["desired_state"], job["spec_number"]) == ("RUNNING", 1)


def test_a_manifest_replaces_a_version_that_does_not_compile(platform: Platform) -> None:
    made = platform.deploy()
    platform.compile(made["id"], problem="job.py:3: there is no column 'delay'")
    done = apply(platform, manifest(platform))
    assert (done["actions"], done["spec"]) == (["upgrade"], 2)
    platform.reconcile(made["id"])
    platform.driver(made["id"]).begin()
    assert platform.job(made["id"])["health"] == "healthy"


def test_a_lost_check_is_enqueued_again(platform: Platform, database: Database) -> None:
    body = manifest(platform)
    put(platform, body, status=409)
    put(platform, body, status=409)
    assert [name for name, _ in platform.tasks.enqueued] == [CHECK_SPEC]
    with database.session() as session:
        session.execute(update(SpecCheck).values(enqueued_at=now() - timedelta(minutes=1)))
    put(platform, body, status=409)
    assert [name for name, _ in platform.tasks.enqueued] == [CHECK_SPEC, CHECK_SPEC]


def test_an_old_check_and_a_check_from_before_a_change_of_the_job_are_not_used(platform: Platform, database: Database) -> None:
    job_id, _ = running(platform)
    body = manifest(platform, OTHER_CODE)
    apply(platform, body, dry_run=True)
    platform.send("PATCH", f"/jobs/{job_id}", status=200, json={"labels": {"a": "b"}}, headers={"If-Match": "*"})
    apply(platform, body, dry_run=True)
    with database.session() as session:
        session.execute(update(SpecCheck).values(created_at=now() - timedelta(hours=1)))
    assert put(platform, body, status=409)["code"] == "still-checking"


def test_a_created_version_is_not_compiled_again(platform: Platform) -> None:
    job_id, _ = running(platform)
    tasks = len(platform.tasks.enqueued)
    platform.compile(job_id, problem="the second result of a compilation is ignored")
    assert platform.job(job_id)["spec_state"] == "VALID"
    assert COMPILE not in {name for name, _ in platform.tasks.enqueued[tasks:]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec": {"artifact": "0" * 64}}, "no artifact has the digest"),
        ({"labels": {"a b": "c"}}, "labels.a b"),
        ({"labels": {"team": "a/b"}}, "labels.team"),
        ({"labels": {"team": "x" * 64}}, "labels.team"),
        ({"labels": {"team": 7}}, "labels.team"),
        ({"desired_state": "CANCELLED"}, "desired_state"),
        ({"upgrade_mode": "stateless"}, "upgrade_mode"),
        ({"name": "orders"}, "name: Extra inputs are not permitted"),
        ({"spec": {"parallelisn": 2}}, "spec.parallelisn: Extra inputs are not permitted"),
    ],
)
def test_an_invalid_manifest_is_refused_with_the_name_of_the_field(
    platform: Platform, change: dict[str, Any], message: str
) -> None:
    assert message in put(platform, manifest(platform, **change), status=422)["detail"]


def test_viewers_cannot_apply_a_manifest(platform: Platform, login: Login) -> None:
    body = manifest(platform)
    platform.headers = login(Role.VIEWER)
    put(platform, body, status=403)


def test_jobs_are_filtered_by_labels(platform: Platform) -> None:
    platform.deploy("a", labels={"team": "etl", "example.com/tier": "1"})
    platform.deploy("b", labels={"team": "etl"})
    platform.deploy("c")

    def found(labels: Any, status: int = 200) -> Any:
        return platform.send("GET", "/jobs", status=status, params={"filter": json.dumps({"labels": labels})})

    assert [one["name"] for one in found({"team": "etl"})] == ["a", "b"]
    assert [one["name"] for one in found({"team": "etl", "example.com/tier": "1"})] == ["a"]
    assert found({"team": "web"}) == []
    for invalid in ("team", {"team": 1}, {"team": "\x00"}, ["team"]):
        assert "labels must be an object of strings" in found(invalid, 422)["detail"]
