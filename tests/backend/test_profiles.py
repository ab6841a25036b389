"""Profiles of slots, with a fake driver."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Driver, Platform

from weir.protocol.events import CommandAnswered, CommandOutcome, DriverState, ProfileEnded
from weir.protocol.ids import CommandId
from weir.protocol.profiles import ProfileFrame, SlotProfile, StackCount, ThreadProfile
from weir_backend.kit.database import Database
from weir_backend.models import Command, Operation, Role
from weir_backend.models import Event as EventRow
from weir_backend.operations.service import PROFILES_KEPT_MAX
from weir_backend.reconciler.service import mark_driver_lost
from weir_backend.settings import Settings

PROFILE = SlotProfile(
    duration_ms=10_004,
    interval_ms=10,
    samples=1_000,
    dropped_samples=2,
    frames=(ProfileFrame("parse\x00", "flights.py", 12),),
    threads=(ThreadProfile("weir-loop", 9_800, (StackCount((0,), 998),)),),
)


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR))


def request_profile(platform: Platform, job_id: int, driver: Driver) -> tuple[int, CommandId]:
    """Return the ids of the operation and of its command, which the driver has accepted."""
    requested = platform.send("POST", f"/jobs/{job_id}/profiles", status=202, json={"slot": 3})["id"]
    with platform.database.session() as session:
        number = session.scalars(select(Command.number).where(Command.operation_id == requested)).one()
    driver.send_events(CommandAnswered(CommandId(number), CommandOutcome.ACCEPTED))
    return requested, CommandId(number)


def test_a_profile_is_sent_to_the_driver_and_its_result_is_kept_with_the_operation(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested = platform.send("POST", f"/jobs/{job_id}/profiles", status=202, json={"slot": 3})
    assert (requested["kind"], requested["request"]) == ("profile", {"slot": 3, "seconds": 10})
    with platform.database.session() as session:
        command = session.scalars(select(Command).where(Command.operation_id == requested["id"])).one()
        assert (command.kind, command.fields) == ("ProfileSlot", {"slot": 3, "seconds": 10})
    number = CommandId(command.number)
    missing = platform.send("GET", f"/operations/{requested['id']}/profile", status=404)
    assert "has not ended yet" in missing["detail"]

    driver.send_events(CommandAnswered(number, CommandOutcome.ACCEPTED), ProfileEnded(number, PROFILE))
    operation = platform.operation(requested["id"])
    assert (operation["state"], operation["result"]) == ("SUCCEEDED", {"samples": 1_000, "dropped_samples": 2})
    profile = platform.send("GET", f"/operations/{requested['id']}/profile", status=200)
    assert profile == {
        "duration_ms": 10_004, "interval_ms": 10, "samples": 1_000, "dropped_samples": 2,
        "frames": [{"function": "parse\ufffd", "file": "flights.py", "line": 12}],
        "threads": [{"name": "weir-loop", "cpu_ms": 9_800, "stacks": [{"frames": [0], "samples": 998}]}],
    }  # fmt: skip
    with platform.database.session() as session:
        kinds = session.execute(select(EventRow.kind, EventRow.fields).order_by(EventRow.number)).all()
    assert kinds[-1].kind == "OperationEnded" and kinds[-1].fields["operation_kind"] == "profile"
    listed = platform.send("GET", "/operations", status=200, params={"filter": f'{{"job_id": {job_id}, "kind": "profile"}}'})
    assert [one["id"] for one in listed] == [requested["id"]]


def test_a_request_for_a_profile_is_audited(platform: Platform, login: Login) -> None:
    job_id, _ = platform.running()
    platform.send("POST", f"/jobs/{job_id}/profiles", status=202, json={"slot": 3, "seconds": 30})
    answer = platform.client.get("/api/v1/audit", headers=login(Role.ADMIN))
    entry = next(one for one in answer.json() if one["action"] == "profile")
    assert (entry["resource_text"], entry["after"]) == ("job orders", {"slot": 3, "seconds": 30})


def test_a_profile_needs_the_permission_to_operate_the_job(platform: Platform, login: Login) -> None:
    job_id, _ = platform.running()
    platform.headers = login(Role.VIEWER)
    platform.send("POST", f"/jobs/{job_id}/profiles", status=403, json={"slot": 0})


@pytest.mark.parametrize("body", [{"slot": -1}, {"slot": 0, "seconds": 31}, {"slot": 0, "seconds": 0}, {}, {"slot": 1 << 15}])
def test_an_invalid_request_is_refused(platform: Platform, body: dict[str, int]) -> None:
    job_id, _ = platform.running()
    platform.send("POST", f"/jobs/{job_id}/profiles", status=422, json=body)


def test_a_job_that_does_not_run_takes_no_profile(platform: Platform) -> None:
    job_id, driver = platform.running()
    driver.report_state(DriverState.FINISHED)
    assert platform.send("POST", f"/jobs/{job_id}/profiles", status=409, json={"slot": 0})["code"] == "not-running"


def test_the_reason_why_there_is_no_profile_is_the_problem_of_the_operation(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested, number = request_profile(platform, job_id, driver)
    driver.send_events(ProfileEnded(number, None, "The job is stopping."))
    operation = platform.operation(requested)
    assert (operation["state"], operation["problem"]) == ("FAILED", "The job is stopping.")
    missing = platform.send("GET", f"/operations/{requested}/profile", status=404)
    assert missing["detail"] == f"Operation {requested} has no profile: The job is stopping."


def test_the_loss_of_the_driver_ends_the_operation_even_if_the_job_restarts_at_once(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested, _ = request_profile(platform, job_id, driver)
    with platform.database.session() as session:
        mark_driver_lost(session, job_id, driver.run_id, "the driver was killed")
    platform.reconcile(job_id)
    operation = platform.operation(requested)
    assert (operation["state"], operation["problem"]) == ("FAILED", "The run ended before the profile was complete.")


def test_only_the_newest_profiles_of_a_job_are_kept(platform: Platform) -> None:
    job_id, driver = platform.running()
    requested = []
    for _ in range(PROFILES_KEPT_MAX + 1):
        operation, number = request_profile(platform, job_id, driver)
        driver.send_events(ProfileEnded(number, PROFILE))
        requested.append(operation)
    with platform.database.session() as session:
        assert session.scalar(select(func.count()).where(Operation.profile.is_not(None))) == PROFILES_KEPT_MAX
    missing = platform.send("GET", f"/operations/{requested[0]}/profile", status=404)
    assert "Weir keeps the 20 newest profiles of each job" in missing["detail"]
    platform.send("GET", f"/operations/{requested[-1]}/profile", status=200)


def test_an_operation_of_another_kind_has_no_profile(platform: Platform) -> None:
    job_id, _ = platform.running()
    savepoint = platform.send("POST", f"/jobs/{job_id}/savepoints", status=202)["id"]
    missing = platform.send("GET", f"/operations/{savepoint}/profile", status=404)
    assert "is of the kind 'savepoint' and takes no profile" in missing["detail"]
