"""Jobs on an embedded platform: failures, plans and outages of the control plane do not change the output."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from tests.integration.cli.small_job import expected_totals, numbers, totals
from tests.integration.cli.weir_command import ROOT
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import Platform, alive, until, with_argument

pytestmark = [pytest.mark.slow, pytest.mark.spark]
CODE = (ROOT / "tests" / "integration" / "cli" / "small_job.py").read_bytes()


def spec(api: Api, root: Path, **options: Any) -> dict[str, Any]:
    if not (root / "input").exists():
        numbers(root / "input")
    return {
        "artifact": api.upload("small_job.py", CODE),
        "parameters": {"input": str(root / "input"), "output": str(root / "output"), "rate": 40},
        "checkpointing": {"interval": "500ms", "retained": 500},
        **options,
    }


def last_checkpoint(job: dict[str, Any]) -> int:
    return int((job["last_checkpoint"] or {"number": 0})["number"])


def driver(platform: Platform, api: Api, job: dict[str, Any]) -> psutil.Process:
    directory = platform.root / "runs" / api.send("GET", f"/runs/{job['run']['id']}")["directory"]
    process = json.loads((directory / "process").read_text())
    return psutil.Process(process["pid"])


def running(job: dict[str, Any]) -> bool:
    return job["state"] == "RUNNING" and job["operation"] is None


def test_the_output_is_exact_after_a_driver_kill_a_rollback_its_undo_and_an_upgrade(
    platform: Platform, api: Api, tmp_path: Path
) -> None:
    created = api.send("POST", "/jobs", json={"name": "main", "spec": spec(api, tmp_path)})
    before = api.wait(created["id"], lambda job: running(job) and last_checkpoint(job) >= 3)
    assert before["run"]["cause"] == "start" and before["health"] == "healthy"
    killed = driver(platform, api, before)
    os.kill(killed.pid, signal.SIGKILL)

    recovered = api.wait(
        created["id"],
        lambda job: running(job) and job["run"]["number"] == 2 and last_checkpoint(job) > last_checkpoint(before) + 2,
    )
    assert recovered["run"]["cause"] == "restart" and recovered["restarts"] == 1

    target = last_checkpoint(before)
    plan = api.plan(created["id"], {"kind": "rollback", "checkpoint": target})
    inspection = plan["preview"]["inspection"]
    assert inspection["intact"] and inspection["sinks"] == [
        {"sink": "out", "kind": "parquet", "revocable": True, "records": None}
    ]
    assert inspection["abandoned"] and min(inspection["abandoned"]) > target and plan["preview"]["sinks_with_duplicates"] == []
    assert [one["source"] for one in inspection["sources"]] == ["numbers"]
    assert api.apply(plan["id"])["state"] == "SUCCEEDED"
    rolled_back = api.job(created["id"])
    assert rolled_back["state"] == "RUNNING" and rolled_back["run"]["cause"] == "rollback"
    assert api.refused("POST", f"/plans/{plan['id']}/discard")["code"] == "plan-state"

    undo = api.plan(created["id"], {"kind": "undo", "plan": plan["id"]})
    assert set(undo["preview"]["inspection"]["reinstated"]) >= set(inspection["abandoned"])
    assert api.apply(undo["id"])["state"] == "SUCCEEDED"

    assert api.send("POST", f"/jobs/{created['id']}/suspend")["kind"] == "suspend"
    api.wait(created["id"], lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
    faster = spec(api, tmp_path)
    faster["parameters"]["rate"] = 0
    added = api.send(
        "POST", f"/jobs/{created['id']}/specs", json={"spec": faster, "comment": "read faster"}, headers={"If-Match": "*"}
    )
    changed = api.send("GET", f"/jobs/{created['id']}/specs/1/diff/{added['number']}")
    assert [(one["path"], one["before"], one["after"]) for one in changed["changes"]] == [("parameters.rate", 40, 0)]
    upgrade = upgraded(api, created["id"], added["number"])
    assert api.apply(upgrade["id"])["state"] == "SUCCEEDED"
    finished = api.wait(created["id"], lambda job: job["state"] == "FINISHED")
    assert finished["health"] == "healthy" and finished["spec_number"] == added["number"]
    assert totals(tmp_path / "output") == expected_totals()

    runs = api.send("GET", "/operations", params={"filter": json.dumps({"job_id": created["id"]})})
    assert all(one["ended_at"] is not None for one in runs)
    assert {one["state"] for one in runs} == {"SUCCEEDED"}


def upgraded(api: Api, job_id: int, number: int) -> dict[str, Any]:
    """Wait until the version is compiled, then propose a plan."""
    until(lambda: api.send("GET", f"/jobs/{job_id}/specs/{number}")["state"] == "VALID", "the new version compiles", 90.0)
    return api.plan(job_id, {"kind": "upgrade", "spec": number})


def rows(directory: Path) -> int:
    return int(pq.read_table(directory, partitioning=None).num_rows)


def test_a_job_restores_another_jobs_checkpoint_and_a_stateless_upgrade_can_be_undone(
    api: Api, platform: Platform, tmp_path: Path
) -> None:
    first = api.send("POST", "/jobs", json={"name": "origin", "spec": spec(api, tmp_path)})
    first_driver = driver(platform, api, api.wait(first["id"], lambda job: running(job) and last_checkpoint(job) >= 3))
    api.send("POST", f"/jobs/{first['id']}/suspend")
    last = last_checkpoint(api.wait(first["id"], lambda job: job["state"] == "SUSPENDED" and job["operation"] is None))
    # The driver reports SUSPENDED first, and deletes its marker object from the checkpoint directory afterwards.
    psutil.wait_procs([first_driver], timeout=300)
    path = api_directory(platform, first["id"])
    before = {one: one.read_bytes() for one in Path(path).rglob("*") if one.is_file()}

    later = spec(api, tmp_path)
    later["parameters"] |= {"output": str(tmp_path / "later"), "rate": 0}
    second = api.send("POST", "/jobs", json={"name": "second", "spec": later, "start": False})
    until(lambda: api.send("GET", f"/jobs/{second['id']}/specs/1")["state"] == "VALID", "the version compiles", 90.0)
    assert (
        api.refused("POST", f"/jobs/{second['id']}/plans", json={"request": {"kind": "restore", "path": "/etc"}})["status"] == 403
    )
    plan = api.plan(second["id"], {"kind": "restore", "path": path})
    assert (
        plan["preview"]["inspection"]["external_checkpoint"]["checkpoint"] == last
        and plan["preview"]["inspection"]["incompatibility"] is None
    )
    assert api.apply(plan["id"])["state"] == "SUCCEEDED"
    api.wait(second["id"], lambda job: job["state"] == "FINISHED")
    assert {one: one.read_bytes() for one in Path(path).rglob("*") if one.is_file()} == before
    shutil.copytree(tmp_path / "output", tmp_path / "both")
    for part in (tmp_path / "later").glob("*/*.parquet"):
        shutil.copy(part, tmp_path / "both" / f"later-{part.name}")
    assert totals(tmp_path / "both") == expected_totals() and 0 < rows(tmp_path / "later") < rows(tmp_path / "both")
    listed = api.send("GET", "/checkpoints", params={"filter": json.dumps({"job_id": second["id"], "trigger": "import"})})
    assert [(one["is_savepoint"], one["state"]) for one in listed] == [(True, "COMPLETED")]

    rows_before = rows(tmp_path / "later")
    stateless = api.plan(second["id"], {"kind": "upgrade", "spec": 1, "mode": "stateless"})
    assert listed[0]["number"] in stateless["preview"]["inspection"]["abandoned"]
    assert api.apply(stateless["id"])["state"] == "SUCCEEDED"
    api.wait(second["id"], lambda job: job["state"] == "FINISHED" and job["operation"] is None)
    assert totals(tmp_path / "later") == expected_totals(), "the start without state reads all input exactly once"
    undo = api.plan(second["id"], {"kind": "undo", "plan": stateless["id"]})
    assert api.apply(undo["id"])["state"] == "SUCCEEDED"
    api.wait(second["id"], lambda job: job["state"] == "FINISHED" and job["operation"] is None)
    assert rows(tmp_path / "later") == rows_before


def test_a_job_that_was_reset_to_an_older_backup_starts_after_a_request_to_revoke_its_newer_output(
    api: Api, platform: Platform, tmp_path: Path
) -> None:
    created = api.send("POST", "/jobs", json={"name": "backup", "spec": spec(api, tmp_path, restart={"attempts": 0})})
    job_id = created["id"]

    def suspended(*, after: int) -> int:
        """Wait until the job has completed a checkpoint that is newer than ``after``, and suspend the job. Return the last
        checkpoint of the job."""
        job_driver = driver(platform, api, api.wait(job_id, lambda job: running(job) and last_checkpoint(job) > after))
        api.send("POST", f"/jobs/{job_id}/suspend")
        job = api.wait(job_id, lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
        psutil.wait_procs([job_driver], timeout=300)
        return last_checkpoint(job)

    kept = suspended(after=2)
    directory = Path(api_directory(platform, job_id))
    shutil.copytree(directory, tmp_path / "backup")
    api.send("POST", f"/jobs/{job_id}/start")
    newest = suspended(after=kept + 2)
    shutil.rmtree(directory)
    shutil.copytree(tmp_path / "backup", directory)
    before = published(tmp_path / "output")
    assert max(before) > kept

    refused = api.done(api.send("POST", f"/jobs/{job_id}/start")["id"])
    assert refused["state"] == "FAILED" and "start the job again with --revoke-unknown-output" in refused["problem"]
    assert api.job(job_id)["health"] == "needs_attention" and published(tmp_path / "output") == before
    started = api.send("POST", f"/jobs/{job_id}/start", json={"revoke_unknown_output": True})
    assert api.done(started["id"])["state"] == "SUCCEEDED"
    assert suspended(after=newest) > newest + 100
    assert not {one for one in published(tmp_path / "output") if kept < one <= newest}

    faster = spec(api, tmp_path)
    faster["parameters"]["rate"] = 0
    added = api.send("POST", f"/jobs/{job_id}/specs", json={"spec": faster}, headers={"If-Match": "*"})
    assert api.apply(upgraded(api, job_id, added["number"])["id"])["state"] == "SUCCEEDED"
    api.wait(job_id, lambda job: job["state"] == "FINISHED")
    assert totals(tmp_path / "output") == expected_totals()


def published(output: Path) -> set[int]:
    """Return the checkpoints whose output readers can see."""
    return {int(one.name.partition("=")[2]) for one in output.glob("weir_checkpoint=*")}


def test_a_job_continues_during_a_platform_outage_and_all_its_checkpoints_are_reported(
    platform: Platform, api: Api, tmp_path: Path
) -> None:
    created = api.send("POST", "/jobs", json={"name": "outage", "spec": spec(api, tmp_path)})
    before = api.wait(created["id"], lambda job: running(job) and last_checkpoint(job) >= 2)
    job_driver = driver(platform, api, before)
    processes = platform.processes()
    os.kill(processes[0].pid, signal.SIGKILL)
    until(
        lambda: job_driver.pid not in {one.pid for one in alive(processes)} and not alive(processes),
        "all processes of the platform have ended",
    )
    known = last_checkpoint(before)
    directory = Path(api_directory(platform, created["id"]))

    def completed() -> int:
        from weir.storage.inspection import list_checkpoints
        from weir.storage.layout import JobLayout
        from weir.storage.location import open_storage

        return max(one.checkpoint for one in list_checkpoints(open_storage(str(directory)), JobLayout("small")))

    until(lambda: completed() > known + 6, "the job continues")
    assert platform.weir("up").code == 0
    after = Api(platform.state.url, "admin", platform.secrets.admin_password)
    again = after.wait(created["id"], lambda job: running(job) and last_checkpoint(job) > known + 6)
    assert again["run"]["id"] == before["run"]["id"] and driver(platform, after, again) == job_driver, (
        "a healthy driver is not replaced"
    )
    reported = numbers_of_completed(platform, created["id"])
    assert reported == list(range(1, reported[-1] + 1)), "no checkpoint is missing"

    after.send("POST", f"/jobs/{created['id']}/cancel")
    after.wait(created["id"], lambda job: job["state"] == "CANCELED" and job["operation"] is None)
    until(lambda: not alive([job_driver]), "the driver of the job ends")


def api_directory(platform: Platform, job_id: int) -> str:
    (found,) = (platform.root / "checkpoints").glob(f"{job_id}-*")
    return str(found / "1")


def numbers_of_completed(platform: Platform, job_id: int) -> list[int]:
    with platform.connect() as connection:
        rows = connection.execute(
            "SELECT number FROM checkpoints WHERE job_id = %s AND state = 'COMPLETED' ORDER BY number", (job_id,)
        ).fetchall()
    return [row[0] for row in rows]


def test_an_operation_fails_with_the_reason_if_the_code_or_the_output_path_of_its_job_is_invalid(
    api: Api, tmp_path: Path
) -> None:
    wrong = spec(api, tmp_path) | {"artifact": api.upload("wrong.py", b"def job(params):\n    raise RuntimeError('not today')\n")}
    created = api.send("POST", "/jobs", json={"name": "wrong", "spec": wrong})
    operation = api.done(created["operation"]["id"])
    assert operation["state"] == "FAILED" and "not today" in operation["problem"] and "wrong.py:2" in operation["problem"]
    job = api.job(created["id"])
    assert job["health"] == "needs_attention" and job["run"] is None

    unwritable = spec(api, tmp_path)
    unwritable["parameters"]["output"] = "/proc/nowhere"
    created = api.send("POST", "/jobs", json={"name": "nowhere", "spec": unwritable})
    operation = api.done(created["operation"]["id"])
    assert operation["state"] == "FAILED" and "/proc/nowhere" in operation["problem"], operation


@pytest.mark.timeout(900)
def test_a_killed_driver_is_replaced_while_slow_code_is_compiled(platform: Platform, api: Api, tmp_path: Path) -> None:
    created = api.send("POST", "/jobs", json={"name": "running", "spec": spec(api, tmp_path)})
    before = api.wait(created["id"], lambda job: running(job) and last_checkpoint(job) >= 2, timeout_s=300.0)
    # Each compilation times out after 90 s. If compilations shared a queue with the other Celery tasks, these
    # 8 compilations would block the two processes of this queue for six minutes.
    slow = [
        spec(api, tmp_path) | {"artifact": api.upload("slow.py", b"import time\ntime.sleep(%d)\n" % (600 + n))} for n in range(8)
    ]
    stuck = [api.send("POST", "/jobs", json={"name": f"stuck-{n}", "spec": one})["id"] for n, one in enumerate(slow)]
    until(lambda: bool(compiling(platform)), "a compilation is running")
    os.kill(driver(platform, api, before).pid, signal.SIGKILL)
    again = api.wait(created["id"], lambda job: running(job) and job["run"]["number"] == 2, timeout_s=240.0)
    assert again["run"]["cause"] == "restart"
    assert api.job(stuck[-1])["spec_state"] == "COMPILING", "a compilation is still pending"

    api.send("POST", f"/jobs/{created['id']}/cancel")
    api.wait(created["id"], lambda job: job["state"] == "CANCELED" and job["operation"] is None)
    for one in stuck:
        api.send("POST", f"/jobs/{one}/cancel")
        api.send("DELETE", f"/jobs/{one}", headers={"If-Match": "*"})
    for process in compiling(platform):
        process.kill()
    until(lambda: not compiling(platform), "deleted jobs are not compiled")


def compiling(platform: Platform) -> list[psutil.Process]:
    return with_argument("weir.cli graph ", platform.processes())
