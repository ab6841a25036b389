"""A real job on a real platform: deployed, killed, recovered, rolled back, undone, and running through an outage of the control
plane. Its output is exact in the end."""

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
from tests.integration.platform.embedded_rig import Platform, called, living, until

pytestmark = [pytest.mark.slow, pytest.mark.spark]
CODE = (ROOT / "tests" / "integration" / "cli" / "small_job.py").read_bytes()


def spec(api: Api, root: Path, **more: Any) -> dict[str, Any]:
    if not (root / "input").exists():
        numbers(root / "input")
    return {
        "artifact": api.upload("small_job.py", CODE),
        "parameters": {"input": str(root / "input"), "output": str(root / "output"), "rate": 40},
        "checkpointing": {"interval": "500ms", "retained": 500},
        **more,
    }


def last_checkpoint(job: dict[str, Any]) -> int:
    return int((job["last_checkpoint"] or {"number": 0})["number"])


def driver(platform: Platform, api: Api, job: dict[str, Any]) -> psutil.Process:
    own = platform.root / "runs" / api.send("GET", f"/runs/{job['run']['id']}")["directory"]
    said = json.loads((own / "process").read_text())
    return psutil.Process(said["pid"])


def running(job: dict[str, Any]) -> bool:
    return job["state"] == "RUNNING" and job["operation"] is None


def test_deploy_kill_the_driver_roll_back_undo_and_the_output_is_exact(platform: Platform, api: Api, tmp_path: Path) -> None:
    made = api.send("POST", "/jobs", json={"name": "life", "spec": spec(api, tmp_path)})
    before = api.wait(made["id"], lambda job: running(job) and last_checkpoint(job) >= 3)
    assert before["run"]["cause"] == "start" and before["health"] == "healthy"
    killed = driver(platform, api, before)
    os.kill(killed.pid, signal.SIGKILL)

    recovered = api.wait(
        made["id"], lambda job: running(job) and job["run"]["number"] == 2 and last_checkpoint(job) > last_checkpoint(before) + 2
    )
    assert recovered["run"]["cause"] == "restart" and recovered["restarts"] == 1

    target = last_checkpoint(before)
    plan = api.plan(made["id"], {"kind": "rollback", "checkpoint": target})
    inspection = plan["preview"]["inspection"]
    assert inspection["intact"] and inspection["sinks"] == [
        {"sink": "out", "kind": "parquet", "revocable": True, "records": None}
    ]
    assert inspection["abandoned"] and min(inspection["abandoned"]) > target and plan["preview"]["sinks_with_duplicates"] == []
    assert [one["source"] for one in inspection["sources"]] == ["numbers"]
    assert api.apply(plan["id"])["state"] == "SUCCEEDED"
    back = api.job(made["id"])
    assert back["state"] == "RUNNING" and back["run"]["cause"] == "rollback"
    assert api.refused("POST", f"/plans/{plan['id']}/discard")["code"] == "plan-state"

    undo = api.plan(made["id"], {"kind": "undo", "plan": plan["id"]})
    assert set(undo["preview"]["inspection"]["reinstated"]) >= set(inspection["abandoned"])
    assert api.apply(undo["id"])["state"] == "SUCCEEDED"

    assert api.send("POST", f"/jobs/{made['id']}/suspend")["kind"] == "suspend"
    api.wait(made["id"], lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
    faster = spec(api, tmp_path)
    faster["parameters"]["rate"] = 0
    added = api.send(
        "POST", f"/jobs/{made['id']}/specs", json={"spec": faster, "comment": "without waiting"}, headers={"If-Match": "*"}
    )
    changed = api.send("GET", f"/jobs/{made['id']}/specs/1/diff/{added['number']}")
    assert [(one["path"], one["before"], one["after"]) for one in changed["changes"]] == [("parameters.rate", 40, 0)]
    upgrade = upgraded(api, made["id"], added["number"])
    assert api.apply(upgrade["id"])["state"] == "SUCCEEDED"
    finished = api.wait(made["id"], lambda job: job["state"] == "FINISHED")
    assert finished["health"] == "healthy" and finished["spec_number"] == added["number"]
    assert totals(tmp_path / "output") == expected_totals()

    runs = api.send("GET", "/operations", params={"filter": json.dumps({"job_id": made["id"]})})
    assert all(one["ended_at"] is not None for one in runs)
    assert {one["state"] for one in runs} == {"SUCCEEDED"}


def upgraded(api: Api, job_id: int, number: int) -> dict[str, Any]:
    """Propose a plan once the version is compiled."""
    until(lambda: api.send("GET", f"/jobs/{job_id}/specs/{number}")["state"] == "VALID", "the new version compiles", 90.0)
    return api.plan(job_id, {"kind": "upgrade", "spec": number})


def rows(directory: Path) -> int:
    return int(pq.read_table(directory, partitioning=None).num_rows)


def test_a_job_starts_from_another_jobs_checkpoint_then_without_state_and_is_undone(
    api: Api, platform: Platform, tmp_path: Path
) -> None:
    first = api.send("POST", "/jobs", json={"name": "origin", "spec": spec(api, tmp_path)})
    api.wait(first["id"], lambda job: running(job) and last_checkpoint(job) >= 3)
    api.send("POST", f"/jobs/{first['id']}/suspend")
    last = last_checkpoint(api.wait(first["id"], lambda job: job["state"] == "SUSPENDED" and job["operation"] is None))
    path = api_directory(platform, first["id"])
    before = {one: one.read_bytes() for one in Path(path).rglob("*") if one.is_file()}

    ours = spec(api, tmp_path)
    ours["parameters"] |= {"output": str(tmp_path / "ours"), "rate": 0}
    second = api.send("POST", "/jobs", json={"name": "follower", "spec": ours, "start": False})
    until(lambda: api.send("GET", f"/jobs/{second['id']}/specs/1")["state"] == "VALID", "it compiles", 90.0)
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
    for part in (tmp_path / "ours").glob("*.parquet"):
        shutil.copy(part, tmp_path / "both" / f"later-{part.name}")
    assert totals(tmp_path / "both") == expected_totals() and 0 < rows(tmp_path / "ours") < rows(tmp_path / "both")
    listed = api.send("GET", "/checkpoints", params={"filter": json.dumps({"job_id": second["id"], "trigger": "import"})})
    assert [(one["is_savepoint"], one["state"]) for one in listed] == [(True, "COMPLETED")]

    of_its_own = rows(tmp_path / "ours")
    anew = api.plan(second["id"], {"kind": "upgrade", "spec": 1, "mode": "stateless"})
    assert listed[0]["number"] in anew["preview"]["inspection"]["abandoned"]
    assert api.apply(anew["id"])["state"] == "SUCCEEDED"
    api.wait(second["id"], lambda job: job["state"] == "FINISHED" and job["operation"] is None)
    assert totals(tmp_path / "ours") == expected_totals(), "all of the input, exactly once"
    undo = api.plan(second["id"], {"kind": "undo", "plan": anew["id"]})
    assert api.apply(undo["id"])["state"] == "SUCCEEDED"
    api.wait(second["id"], lambda job: job["state"] == "FINISHED" and job["operation"] is None)
    assert rows(tmp_path / "ours") == of_its_own


def test_a_job_runs_through_a_platform_outage_and_its_history_is_complete(platform: Platform, api: Api, tmp_path: Path) -> None:
    made = api.send("POST", "/jobs", json={"name": "alone", "spec": spec(api, tmp_path)})
    before = api.wait(made["id"], lambda job: running(job) and last_checkpoint(job) >= 2)
    mine = driver(platform, api, before)
    family = platform.family()
    os.kill(family[0].pid, signal.SIGKILL)
    until(lambda: mine.pid not in {one.pid for one in living(family)} and not living(family), "the platform is dead")
    known = last_checkpoint(before)
    directory = Path(api_directory(platform, made["id"]))

    def completed() -> int:
        from weir.storage.inspection import list_checkpoints
        from weir.storage.layout import JobLayout
        from weir.storage.location import open_storage

        return max(one.checkpoint for one in list_checkpoints(open_storage(str(directory)), JobLayout("small")))

    until(lambda: completed() > known + 6, "the job continues")
    assert platform.weir("up").code == 0
    after = Api(platform.state.url, "admin", platform.secrets.admin_password)
    again = after.wait(made["id"], lambda job: running(job) and last_checkpoint(job) > known + 6)
    assert again["run"]["id"] == before["run"]["id"] and driver(platform, after, again) == mine, "no healthy driver is replaced"
    told = numbers_of_completed(platform, made["id"])
    assert told == list(range(1, told[-1] + 1)), "no checkpoint is missing"

    after.send("POST", f"/jobs/{made['id']}/cancel")
    after.wait(made["id"], lambda job: job["state"] == "CANCELED" and job["operation"] is None)
    until(lambda: not living([mine]), "its driver ends")


def api_directory(platform: Platform, job_id: int) -> str:
    (found,) = (platform.root / "checkpoints").glob(f"{job_id}-*")
    return str(found / "1")


def numbers_of_completed(platform: Platform, job_id: int) -> list[int]:
    with platform.connect() as connection:
        rows = connection.execute(
            "SELECT number FROM checkpoints WHERE job_id = %s AND state = 'COMPLETED' ORDER BY number", (job_id,)
        ).fetchall()
    return [row[0] for row in rows]


def test_code_that_fails_reports_the_reason_and_is_not_retried_forever(api: Api, tmp_path: Path) -> None:
    wrong = spec(api, tmp_path) | {"artifact": api.upload("wrong.py", b"def job(params):\n    raise RuntimeError('not today')\n")}
    made = api.send("POST", "/jobs", json={"name": "wrong", "spec": wrong})
    operation = api.done(made["operation"]["id"])
    assert operation["state"] == "FAILED" and "not today" in operation["problem"] and "wrong.py:2" in operation["problem"]
    job = api.job(made["id"])
    assert job["health"] == "needs_attention" and job["run"] is None

    nowhere = spec(api, tmp_path)
    nowhere["parameters"]["output"] = "/proc/nowhere"
    made = api.send("POST", "/jobs", json={"name": "nowhere", "spec": nowhere})
    operation = api.done(made["operation"]["id"])
    assert operation["state"] == "FAILED" and "/proc/nowhere" in operation["problem"], operation


@pytest.mark.timeout(900)
def test_a_dead_driver_is_replaced_while_slow_code_is_compiled(platform: Platform, api: Api, tmp_path: Path) -> None:
    made = api.send("POST", "/jobs", json={"name": "beside", "spec": spec(api, tmp_path)})
    before = api.wait(made["id"], lambda job: running(job) and last_checkpoint(job) >= 2, timeout_s=300.0)
    # Each compilation may take a minute and a half. In one queue with everything else they would occupy two processes for six
    # minutes.
    slow = [
        spec(api, tmp_path) | {"artifact": api.upload("slow.py", b"import time\ntime.sleep(%d)\n" % (600 + n))} for n in range(8)
    ]
    stuck = [api.send("POST", "/jobs", json={"name": f"stuck-{n}", "spec": one})["id"] for n, one in enumerate(slow)]
    until(lambda: bool(compiling(platform)), "a compilation is running")
    os.kill(driver(platform, api, before).pid, signal.SIGKILL)
    again = api.wait(made["id"], lambda job: running(job) and job["run"]["number"] == 2, timeout_s=240.0)
    assert again["run"]["cause"] == "restart"
    assert api.job(stuck[-1])["spec_state"] == "COMPILING", "compilations were running all the time"

    api.send("POST", f"/jobs/{made['id']}/cancel")
    api.wait(made["id"], lambda job: job["state"] == "CANCELED" and job["operation"] is None)
    for one in stuck:
        api.send("POST", f"/jobs/{one}/cancel")
        api.send("DELETE", f"/jobs/{one}", headers={"If-Match": "*"})
    for process in compiling(platform):
        process.kill()
    until(lambda: not compiling(platform), "deleted jobs are not compiled")


def compiling(platform: Platform) -> list[psutil.Process]:
    return called("weir.cli graph ", platform.family())
