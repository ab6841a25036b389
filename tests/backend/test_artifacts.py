"""Deletion of unused artifacts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update
from tests.backend.conftest import Login, RecordedTasks
from tests.backend.fake_workers import Platform

from weir_backend.artifacts import repository
from weir_backend.housekeeping import service
from weir_backend.kit.clock import now
from weir_backend.kit.database import Database
from weir_backend.models import Artifact, ArtifactContent, Job, Role
from weir_backend.settings import Settings


@pytest.fixture
def platform(client: TestClient, database: Database, settings: Settings, tasks: RecordedTasks, login: Login) -> Platform:
    return Platform(client, database, settings, tasks, login(Role.OPERATOR))


def let_days_pass(database: Database, days: float) -> None:
    """Move all times into the past by ``days``."""
    with database.session() as session:
        session.execute(update(Artifact).values(uploaded_at=Artifact.uploaded_at - timedelta(days=days)))
        session.execute(update(Job).values(deleted_at=Job.deleted_at - timedelta(days=days)))


def delete_unused(platform: Platform) -> int:
    (cleanup,) = [one for one in service.CLEANUPS if one.name == "artifacts that no job uses"]
    with platform.database.session() as session:
        return cleanup.run(session, platform.settings).deleted


def counts(database: Database) -> tuple[int, int]:
    """Return the number of artifacts and the number of stored contents."""
    with database.session() as session:
        rows, contents = (session.scalar(select(func.count()).select_from(table)) or 0 for table in (Artifact, ArtifactContent))
        return rows, contents


def test_an_unused_artifact_is_deleted_some_days_after_its_last_upload(platform: Platform) -> None:
    platform.upload()
    let_days_pass(platform.database, 6)
    assert delete_unused(platform) == 0
    platform.upload()
    let_days_pass(platform.database, 6)
    assert delete_unused(platform) == 0 and counts(platform.database) == (1, 1), "the second upload restarted the retention time"
    let_days_pass(platform.database, 2)
    assert delete_unused(platform) == 1 and counts(platform.database) == (0, 0)


def test_artifacts_of_all_spec_versions_of_a_job_are_kept(platform: Platform) -> None:
    job_id, driver = platform.running()
    changed = platform.upload(b"def job(params): return None\n")
    platform.send("POST", f"/jobs/{job_id}/specs", status=201, json={"spec": {"artifact": changed}}, headers={"If-Match": "*"})
    let_days_pass(platform.database, 1_000)
    assert delete_unused(platform) == 0 and counts(platform.database) == (2, 2)
    assert driver.commands() == []


def test_an_artifact_of_a_deleted_job_loses_its_content_until_the_next_upload(platform: Platform) -> None:
    job = platform.deploy(start=False)
    artifact = platform.send("GET", "/artifacts", status=200)[0]
    platform.compile(job["id"])
    platform.send("DELETE", f"/jobs/{job['id']}", status=204, headers={"If-Match": "*"})
    assert delete_unused(platform) == 0, "the job was deleted a moment ago"
    let_days_pass(platform.database, 8)
    assert delete_unused(platform) == 1 and counts(platform.database) == (1, 0)
    assert platform.send("GET", "/artifacts", status=200) == []
    for url in (f"/artifacts/{artifact['id']}", f"/artifacts/{artifact['id']}/content"):
        assert platform.send("GET", url, status=404)["code"] == "no-artifact"
    refused = platform.send("POST", "/jobs", status=422, json={"name": "next", "spec": {"artifact": artifact["digest"]}})
    assert refused["code"] == "no-artifact" and delete_unused(platform) == 0

    assert platform.upload() == artifact["digest"] and counts(platform.database) == (1, 1)
    again = platform.deploy("again", start=False)
    platform.compile(again["id"])
    assert platform.send("GET", f"/jobs/{again['id']}", status=200)["spec_state"] == "VALID"


def test_an_artifact_that_another_transaction_locks_is_kept(platform: Platform) -> None:
    digest = platform.upload()
    let_days_pass(platform.database, 100)
    with platform.database.session() as session:
        assert repository.find_by_digest(session, digest) is not None
        assert delete_unused(platform) == 0, "another transaction has locked the artifact"
    assert delete_unused(platform) == 1
    with platform.database.session() as session:
        assert repository.find_by_digest(session, digest) is None
        assert repository.remove_unused(session, now(), 10) == 0
