"""Rollbacks of a job with an irrevocable sink, and a CI pipeline that deploys a failing version."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.integration.cli.small_job import ROWS, numbers
from tests.integration.cli.weir_command import ROOT, WEIR
from tests.integration.platform.api import Api
from tests.integration.platform.embedded_rig import Platform, until
from tests.integration.platform.test_life_of_a_job import api_directory, driver, last_checkpoint, running, upgraded

from weir.protocol.ids import CheckpointId
from weir.protocol.manifest import epoch_of
from weir.storage.inspection import list_checkpoints
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir.storage.manifests import read_manifest

pytestmark = [pytest.mark.slow, pytest.mark.spark]
FILE = Path(__file__).with_name("rollback_job.py")
PRINTED = re.compile(r"^key=\d+  number=(\d+)$", re.MULTILINE)


# ---- an irrevocable sink -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrintingJob:
    """A job that prints its records, with its printed output and its checkpoints."""

    platform: Platform
    api: Api
    id: int

    def printed(self, *, run: int | None = None) -> Counter[int]:
        """Return how often the drivers of the job printed each number. If ``run`` is given, count only the output of this run."""
        runs = self.api.send("GET", "/runs", params={"filter": json.dumps({"job_id": self.id})})
        logs = [self.platform.root / "runs" / one["directory"] / "driver.log" for one in runs if run in (None, one["number"])]
        return Counter(int(number) for log in logs if log.exists() for number in PRINTED.findall(log.read_text()))

    def committed(self, checkpoints: list[int]) -> Counter[int]:
        """Return the numbers that the checkpoints committed to the sink, according to their manifests."""
        storage, layout = open_storage(self.directory), JobLayout("small")
        view = JobLog(storage, layout).read()[0]
        payloads: list[Any] = []
        for one in sorted(set(map(CheckpointId, checkpoints))):
            before = [earlier for earlier in view.ancestry(one) if earlier < one]
            manifest = read_manifest(storage, layout, view.restore_point(one))
            epoch = epoch_of(manifest.committables(), after=max(before, default=CheckpointId(0)))
            payloads += [committable.payload for committable in epoch]
        return Counter(int(number) for payload in payloads for number in PRINTED.findall("\n".join(payload["lines"])))

    @property
    def directory(self) -> str:
        return api_directory(self.platform, self.id)

    def completed(self, *, after: int, up_to: int | None = None) -> list[int]:
        listed = list_checkpoints(open_storage(self.directory), JobLayout("small"))
        return [one.checkpoint for one in listed if after < one.checkpoint and (up_to is None or one.checkpoint <= up_to)]

    def newest_of_the_first_driver(self) -> int:
        return max(
            one.checkpoint for one in list_checkpoints(open_storage(self.directory), JobLayout("small")) if one.generation == 1
        )

    def again(self, checkpoint: int) -> list[int]:
        """Return the checkpoints whose output is printed again after a restore of ``checkpoint``. The job log does not record
        this output as published."""
        storage, layout = open_storage(self.directory), JobLayout("small")
        view = JobLog(storage, layout).read()[0]
        published = view.published_up_to(CheckpointId(checkpoint))
        return [one for one in view.ancestry(CheckpointId(checkpoint)) if one > published]

    def wait(self, condition: Any) -> dict[str, Any]:
        return self.api.wait(self.id, condition)


def test_an_irrevocable_sink_repeats_exactly_the_records_that_the_plans_list(
    platform: Platform, api: Api, tmp_path: Path
) -> None:
    numbers(tmp_path / "input")
    spec = {
        "artifact": api.upload("printing.py", FILE.read_bytes()),
        "parameters": {"input": str(tmp_path / "input"), "rate": 60},
        "checkpointing": {"interval": "500ms", "retained": 500},
    }
    job = PrintingJob(platform, api, api.send("POST", "/jobs", json={"name": "printing", "spec": spec})["id"])
    before = job.wait(lambda job: running(job) and last_checkpoint(job) >= 3)
    os.kill(driver(platform, api, before).pid, signal.SIGKILL)
    recovered = job.wait(lambda job: running(job) and job["run"]["number"] == 2)
    target = last_checkpoint(job.wait(lambda job: last_checkpoint(job) > last_checkpoint(recovered)))
    job.wait(lambda job: last_checkpoint(job) >= target + 3)

    # The job log does not say whether the killed driver printed the output of its newest checkpoint. The next driver therefore
    # prints the output of this checkpoint again, and no other output.
    repeated_after_kill = {number for number, times in job.printed().items() if times > 1}
    assert repeated_after_kill <= job.committed(job.again(job.newest_of_the_first_driver())).keys()

    # The plan for a suspended job lists all checkpoints whose records will be repeated.
    api.send("POST", f"/jobs/{job.id}/suspend")
    job.wait(lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
    while_suspended = job.printed()
    plan = api.plan(job.id, {"kind": "rollback", "checkpoint": target})
    inspection = plan["preview"]["inspection"]
    assert plan["preview"]["sinks_with_duplicates"] == ["out"]
    assert inspection["abandoned"] == job.completed(after=target) and inspection["recommitted"] == job.again(target)
    expected = set(job.committed([*inspection["abandoned"], *inspection["recommitted"]]))
    assert inspection["sinks"] == [{"sink": "out", "kind": "console", "revocable": False, "records": len(expected)}]
    assert api.apply(plan["id"])["state"] == "SUCCEEDED"
    until(lambda: expected <= job.printed(run=3).keys(), "all abandoned output is printed again")
    both = while_suspended + job.printed(run=3)
    assert {number for number, times in both.items() if times > while_suspended[number] > 0} == expected
    assert all(both[number] == while_suspended[number] + 1 for number in expected)

    # The plan for a running job cannot list the checkpoints that complete before the job is stopped.
    undo = api.plan(job.id, {"kind": "undo", "plan": plan["id"]})
    inspection = undo["preview"]["inspection"]
    undo_checkpoint = undo["preview"]["checkpoint"]
    assert undo["preview"]["sinks_with_duplicates"] == ["out"] and inspection["recommitted"] == job.again(undo_checkpoint)
    assert inspection["sinks"][0]["records"] == job.committed([*inspection["abandoned"], *inspection["recommitted"]]).total()
    assert api.apply(undo["id"])["state"] == "SUCCEEDED"
    abandoned = job.completed(after=undo_checkpoint, up_to=api.send("GET", f"/plans/{undo['id']}")["safety_checkpoint"])
    assert abandoned[: len(inspection["abandoned"])] == inspection["abandoned"]
    expected |= job.committed([*abandoned, *inspection["recommitted"]]).keys()

    faster = spec | {"parameters": {"input": str(tmp_path / "input"), "rate": 1_000}}
    added = api.send("POST", f"/jobs/{job.id}/specs", json={"spec": faster}, headers={"If-Match": "*"})
    upgrade = upgraded(api, job.id, added["number"])
    assert upgrade["preview"]["sinks_with_duplicates"] == ["out"] and upgrade["preview"]["inspection"]["recommitted"] == []
    assert any("the last checkpoint before the stop" in one for one in upgrade["preview"]["warnings"])
    assert api.apply(upgrade["id"])["state"] == "SUCCEEDED"
    expected |= job.committed(job.again(api.send("GET", f"/plans/{upgrade['id']}")["safety_checkpoint"])).keys()
    job.wait(lambda job: job["state"] == "FINISHED")

    printed = job.printed()
    assert printed.keys() == set(range(ROWS)), "no number is lost"
    assert {number for number, times in printed.items() if times > 1} - repeated_after_kill == expected - repeated_after_kill


# ---- a pipeline ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A CI job that runs the deployment script with the URL of the platform and a token, without a login."""

    root: Path
    environment: dict[str, str]

    def start_deployment(self, function: str, *, within: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                *(ROOT / "examples" / "ci" / "deploy.sh", f"{FILE}:{function}", "piped", "--interval", "500ms"),
                *("--set", f"input={self.root / 'input'}", "--set", f"output={self.root / 'output'}", "--set", "rate=40"),
            ],
            cwd=self.root, env=self.environment | {"HEALTHY_WITHIN": within}, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip


@pytest.fixture
def pipeline(platform: Platform, tmp_path: Path) -> Pipeline:
    logged_in = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "logged-in")}
    login = [WEIR, "login", "--url", platform.state.url, "--name", "admin", "--password-stdin"]
    subprocess.run(login, input=platform.secrets.admin_password, env=logged_in, text=True, check=True, capture_output=True)
    create = [WEIR, "tokens", "create", "--name", "deployments from CI", "--rollback"]
    token = subprocess.run(create, env=logged_in, text=True, check=True, capture_output=True).stdout.strip()
    return Pipeline(
        tmp_path,
        os.environ
        | {
            "WEIR_API_URL": platform.state.url, "WEIR_TOKEN": token, "XDG_CONFIG_HOME": str(tmp_path / "not-logged-in"),
            "PATH": f"{WEIR.parent}:{os.environ['PATH']}", "PYTHON": sys.executable,
        },
    )  # fmt: skip


def test_a_pipeline_deploys_a_healthy_version_and_undoes_the_upgrade_to_a_failing_version(
    api: Api, pipeline: Pipeline, tmp_path: Path
) -> None:
    numbers(tmp_path / "input")
    first = pipeline.start_deployment("good", within="2m")
    _, errors = first.communicate(timeout=240)
    assert first.returncode == 0 and "deploy: piped is healthy with version 1" in errors, errors
    (created,) = api.send("GET", "/jobs", params={"filter": json.dumps({"name": "piped"})})

    second = pipeline.start_deployment("bad", within="10s")

    def runs(job: dict[str, Any]) -> bool:
        assert second.poll() is None, second.communicate()[1]
        return bool(job["spec_number"] == 2 and job["state"] == "RUNNING")

    api.wait(created["id"], runs)
    (tmp_path / "output.gate").touch()
    _, errors = second.communicate(timeout=240)
    assert second.returncode == 1, errors
    assert "deploy: piped is not healthy with version 2" in errors and "cannot process the number" in errors, errors
    assert "deploy: piped has returned to version 1" in errors, errors
    returned = api.job(created["id"])
    rolled_back = api.wait(created["id"], lambda job: running(job) and last_checkpoint(job) > last_checkpoint(returned))
    assert rolled_back["spec_number"] == 1 and rolled_back["health"] == "healthy" and rolled_back["run"]["cause"] == "undo"
    api.send("POST", f"/jobs/{created['id']}/suspend")
    api.wait(created["id"], lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
    seen = pq.read_table(tmp_path / "output", partitioning=None)["number"].to_pylist()
    assert len(seen) == len(set(seen)) > 0
