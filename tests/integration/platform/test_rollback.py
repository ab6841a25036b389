"""Going back where it shows: a sink that takes nothing back, and a pipeline whose new version is no good."""

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
from weir.storage.inspection import list_checkpoints
from weir.storage.job_log import JobLog
from weir.storage.layout import JobLayout
from weir.storage.location import open_storage
from weir.storage.manifests import read_manifest

pytestmark = [pytest.mark.slow, pytest.mark.spark]
FILE = Path(__file__).with_name("rollback_job.py")
PRINTED = re.compile(r"^key=\d+  number=(\d+)$", re.MULTILINE)


# ---- a sink that takes nothing back --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Printing:
    """The job that prints, as its readers and its checkpoints have it."""

    platform: Platform
    api: Api
    id: int

    def printed(self, *, run: int | None = None) -> Counter[int]:
        """How often each number was, by all of its drivers or by that of one run."""
        runs = self.api.send("GET", "/runs", params={"filter": json.dumps({"job_id": self.id})})
        logs = [self.platform.root / "runs" / one["directory"] / "driver.log" for one in runs if run in (None, one["number"])]
        return Counter(int(number) for log in logs if log.exists() for number in PRINTED.findall(log.read_text()))

    def committed(self, checkpoints: list[int]) -> Counter[int]:
        """The numbers that these have handed to the sink, as their manifests have it."""
        storage, layout = open_storage(self.directory), JobLayout("small")
        view = JobLog(storage, layout).read()[0]
        manifests = [read_manifest(storage, layout, view.restore_point(CheckpointId(one))) for one in sorted(set(checkpoints))]
        # A manifest names what an earlier one has named if the writer had not heard of that yet.
        each = {(one.generation, one.checkpoint, one.writer): one for found in manifests for one in found.committables()}
        payloads: list[Any] = [one.payload for one in each.values()]
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
        """What whoever goes on from it prints once more: nobody has written down that it was printed."""
        storage, layout = open_storage(self.directory), JobLayout("small")
        view = JobLog(storage, layout).read()[0]
        manifest = read_manifest(storage, layout, view.restore_point(CheckpointId(checkpoint)))
        return [one for one in view.ancestry(CheckpointId(checkpoint)) if one > manifest.published_up_to]

    def wait(self, enough: Any) -> dict[str, Any]:
        return self.api.wait(self.id, enough)


def test_what_a_sink_that_takes_nothing_back_shows_twice_is_what_the_plans_have_named_and_nothing_else(
    platform: Platform, api: Api, tmp_path: Path
) -> None:
    numbers(tmp_path / "input")
    spec = {
        "artifact": api.upload("printing.py", FILE.read_bytes()),
        "parameters": {"input": str(tmp_path / "input"), "rate": 60},
        "checkpointing": {"interval": "500ms", "retained": 500},
    }
    job = Printing(platform, api, api.send("POST", "/jobs", json={"name": "printing", "spec": spec})["id"])
    before = job.wait(lambda job: running(job) and last_checkpoint(job) >= 3)
    os.kill(driver(platform, api, before).pid, signal.SIGKILL)
    recovered = job.wait(lambda job: running(job) and job["run"]["number"] == 2)
    target = last_checkpoint(job.wait(lambda job: last_checkpoint(job) > last_checkpoint(recovered)))
    job.wait(lambda job: last_checkpoint(job) >= target + 3)

    # Nobody knows whether a driver that was killed had handed on its newest checkpoint: that, and no more, is printed again.
    twice_by_the_kill = {number for number, times in job.printed().items() if times > 1}
    assert twice_by_the_kill <= job.committed(job.again(job.newest_of_the_first_driver())).keys()

    # At rest the plan knows all of it.
    api.send("POST", f"/jobs/{job.id}/suspend")
    job.wait(lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
    at_rest = job.printed()
    plan = api.plan(job.id, {"kind": "rollback", "checkpoint": target})
    inspection = plan["preview"]["inspection"]
    assert plan["preview"]["sinks_with_duplicates"] == ["out"]
    assert inspection["abandoned"] == job.completed(after=target) and inspection["recommitted"] == job.again(target)
    named = set(job.committed([*inspection["abandoned"], *inspection["recommitted"]]))
    assert inspection["sinks"] == [{"sink": "out", "kind": "console", "revocable": False, "records": len(named)}]
    assert api.apply(plan["id"])["state"] == "SUCCEEDED"
    until(lambda: named <= job.printed(run=3).keys(), "all that was left behind is printed again")
    both = at_rest + job.printed(run=3)
    assert {number for number, times in both.items() if times > at_rest[number] > 0} == named
    assert all(both[number] == at_rest[number] + 1 for number in named)

    # While it runs it knows from where on, and until when: until the job is stopped.
    undo = api.plan(job.id, {"kind": "undo", "plan": plan["id"]})
    inspection = undo["preview"]["inspection"]
    goes_on_from = undo["preview"]["checkpoint"]
    assert undo["preview"]["sinks_with_duplicates"] == ["out"] and inspection["recommitted"] == job.again(goes_on_from)
    assert inspection["sinks"][0]["records"] == job.committed([*inspection["abandoned"], *inspection["recommitted"]]).total()
    assert api.apply(undo["id"])["state"] == "SUCCEEDED"
    left = job.completed(after=goes_on_from, up_to=api.send("GET", f"/plans/{undo['id']}")["safety_checkpoint"])
    assert left[: len(inspection["abandoned"])] == inspection["abandoned"]
    named |= job.committed([*left, *inspection["recommitted"]]).keys()

    faster = spec | {"parameters": {"input": str(tmp_path / "input"), "rate": 1_000}}
    added = api.send("POST", f"/jobs/{job.id}/specs", json={"spec": faster}, headers={"If-Match": "*"})
    upgrade = upgraded(api, job.id, added["number"])
    assert upgrade["preview"]["sinks_with_duplicates"] == ["out"] and upgrade["preview"]["inspection"]["recommitted"] == []
    assert any("the checkpoint that the job is stopped with" in one for one in upgrade["preview"]["warnings"])
    assert api.apply(upgrade["id"])["state"] == "SUCCEEDED"
    named |= job.committed(job.again(api.send("GET", f"/plans/{upgrade['id']}")["safety_checkpoint"])).keys()
    job.wait(lambda job: job["state"] == "FINISHED")

    printed = job.printed()
    assert printed.keys() == set(range(ROWS)), "nothing is lost"
    assert {number for number, times in printed.items() if times > 1} - twice_by_the_kill == named - twice_by_the_kill


# ---- a pipeline ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A machine of CI: the script, the command ``weir``, an address and a token; nobody is logged in there."""

    root: Path
    environment: dict[str, str]

    def begin(self, function: str, *, within: str) -> subprocess.Popen[str]:
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
    at_home = os.environ | {"XDG_CONFIG_HOME": str(tmp_path / "somebody")}
    somebody = [WEIR, "login", "--url", platform.state.url, "--name", "admin", "--password-stdin"]
    subprocess.run(somebody, input=platform.secrets.admin_password, env=at_home, text=True, check=True, capture_output=True)
    create = [WEIR, "tokens", "create", "--name", "deployments from CI", "--rollback"]
    token = subprocess.run(create, env=at_home, text=True, check=True, capture_output=True).stdout.strip()
    return Pipeline(
        tmp_path,
        os.environ
        | {
            "WEIR_API_URL": platform.state.url, "WEIR_TOKEN": token, "XDG_CONFIG_HOME": str(tmp_path / "nobody"),
            "PATH": f"{WEIR.parent}:{os.environ['PATH']}", "PYTHON": sys.executable,
        },
    )  # fmt: skip


def test_a_pipeline_deploys_what_is_well_and_takes_back_what_comes_up_and_fails(
    api: Api, pipeline: Pipeline, tmp_path: Path
) -> None:
    numbers(tmp_path / "input")
    first = pipeline.begin("good", within="2m")
    _, said = first.communicate(timeout=240)
    assert first.returncode == 0 and "deploy: piped is well with version 1" in said, said
    (made,) = api.send("GET", "/jobs", params={"filter": json.dumps({"name": "piped"})})

    second = pipeline.begin("bad", within="10s")

    def runs(job: dict[str, Any]) -> bool:
        assert second.poll() is None, second.communicate()[1]
        return bool(job["spec_number"] == 2 and job["state"] == "RUNNING")

    api.wait(made["id"], runs)
    (tmp_path / "output.gate").touch()
    _, said = second.communicate(timeout=240)
    assert second.returncode == 1, said
    assert "deploy: piped is not well with version 2" in said and "cannot bear the number" in said, said
    assert "deploy: piped is back at version 1" in said, said
    returned = api.job(made["id"])
    back = api.wait(made["id"], lambda job: running(job) and last_checkpoint(job) > last_checkpoint(returned))
    assert back["spec_number"] == 1 and back["health"] == "healthy" and back["run"]["cause"] == "undo"
    api.send("POST", f"/jobs/{made['id']}/suspend")
    api.wait(made["id"], lambda job: job["state"] == "SUSPENDED" and job["operation"] is None)
    seen = pq.read_table(tmp_path / "output", partitioning=None)["number"].to_pylist()
    assert len(seen) == len(set(seen)) > 0
