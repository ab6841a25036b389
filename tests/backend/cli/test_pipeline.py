"""Runs examples/ci/deploy.sh and examples/ci/apply.sh as a CI pipeline does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.backend.cli.conftest import JobFile, Weir
from tests.backend.cli.fake_worker import Worker

from weir.cli.manifest_files import read_manifests

pytestmark = pytest.mark.timeout(300)
CI = Path(__file__).parents[3] / "examples" / "ci"
Deploy = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_script(platform: Worker, tmp_path: Path) -> Deploy:
    """Return a function that runs a script with ``weir`` on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "weir"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m weir.cli "$@"\n')
    command.chmod(0o755)

    def run(script: str, *arguments: str, within: str = "20s") -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PATH": f"{folder}:{os.environ['PATH']}", "HEALTHY_WITHIN": within, "PYTHON": sys.executable,
        }  # fmt: skip
        return subprocess.run([CI / script, *arguments], capture_output=True, text=True, env=environment, check=False)

    return run


@pytest.fixture
def deploy(run_script: Deploy) -> Deploy:
    return partial(run_script, "deploy.sh")


def test_a_healthy_version_is_kept(deploy: Deploy, weir: Weir, job_file: JobFile) -> None:
    done = deploy(job_file(), "flights", "--comment", "abc123")
    assert done.returncode == 0 and "deploy: flights is healthy with version 1" in done.stderr, done.stderr
    again = deploy(job_file(), "flights", "--comment", "abc123")
    assert again.returncode == 0 and "flights is healthy with version 1" in again.stderr, again.stderr
    assert weir("status", "flights", "-o", "json").json["run"]["number"] == 1, "deploying an unchanged job does not restart it"
    done = deploy(job_file("new"), "flights")
    assert done.returncode == 0 and "flights is healthy with version 2" in done.stderr, done.stderr


def test_the_script_undoes_a_version_that_completes_no_checkpoint(deploy: Deploy, weir: Weir, job_file: JobFile) -> None:
    assert deploy(job_file(), "flights").returncode == 0
    done = deploy(job_file("no_checkpoints"), "flights", within="3s")
    assert done.returncode == 1, done.stderr
    assert "flights is not healthy with version 2" in done.stderr and "flights has returned to version 1" in done.stderr
    status = weir("status", "flights", "-o", "json").json
    assert (status["state"], status["health"], status["spec_number"]) == ("RUNNING", "healthy", 1)


def test_the_script_undoes_a_version_that_fails_after_its_start(deploy: Deploy, weir: Weir, job_file: JobFile) -> None:
    assert deploy(job_file(), "flights").returncode == 0
    done = deploy(job_file("fails_later"), "flights", within="3s")
    assert done.returncode == 1, done.stderr
    assert "flights is not healthy with version 2" in done.stderr and "flights has returned to version 1" in done.stderr, (
        done.stderr
    )
    status = weir("status", "flights", "-o", "json").json
    assert (status["state"], status["spec_number"]) == ("RUNNING", 1)


def test_the_platform_undoes_a_version_that_does_not_start(deploy: Deploy, weir: Weir, job_file: JobFile) -> None:
    assert deploy(job_file(), "flights").returncode == 0
    done = deploy(job_file("fails_to_start"), "flights")
    assert done.returncode == 1 and "did not start" in done.stderr and "driver started" in done.stderr, done.stderr
    status = weir("status", "flights", "-o", "json").json
    assert (status["state"], status["spec_number"]) == ("RUNNING", 1)


def test_the_script_does_not_undo_an_unhealthy_first_version(deploy: Deploy, job_file: JobFile) -> None:
    done = deploy(job_file("no_checkpoints"), "flights", within="1s")
    assert done.returncode == 1 and "there is no earlier version to return to" in done.stderr


def test_a_version_that_does_not_compile_does_not_change_the_job(deploy: Deploy, weir: Weir, job_file: JobFile) -> None:
    assert deploy(job_file(), "flights").returncode == 0
    done = deploy(job_file("broken"), "flights")
    assert done.returncode == 2 and "did you mean 'flight'?" in done.stderr
    assert weir("status", "flights", "-o", "json").json["run"]["number"] == 1


def test_the_script_returns_the_exit_code_of_weir(
    deploy: Deploy, weir: Weir, monkeypatch: pytest.MonkeyPatch, job_file: JobFile
) -> None:
    assert deploy(job_file()).returncode == 2
    assert deploy("nowhere.py", "flights").returncode == 2
    monkeypatch.setenv("WEIR_TOKEN", "weir_wrong")
    assert deploy(job_file(), "flights").returncode == 7


def test_manifests_are_applied_until_all_jobs_are_healthy(run_script: Deploy, weir: Weir, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    jobs.mkdir()

    def write(name: str, words: str, more: str = "") -> None:
        (jobs / f"{name}.py").write_text(f"# {words}\ndef job(params): ...\n")
        (jobs / f"{name}.yaml").write_text(f"name: {name}\nfile: {name}.py\nspec: {{}}\n{more}")

    write("flights", "old")
    write("late", "old", "desired_state: SUSPENDED\n")
    done = run_script("apply.sh", str(jobs), "--comment", "abc123")
    assert done.returncode == 0 and done.stderr.count("is healthy") == 1, done.stderr
    write("flights", "no_checkpoints")
    done = run_script("apply.sh", str(jobs), within="1s")
    assert done.returncode == 1 and "apply: flights is not healthy" in done.stderr, done.stderr
    write("flights", "broken")
    done = run_script("apply.sh", str(jobs))
    assert done.returncode == 2 and "does not compile" in done.stderr
    assert run_script("apply.sh").returncode == 2
    assert {one["name"]: one["spec_number"] for one in weir("jobs", "-o", "json").json} == {"flights": 2, "late": 1}


def test_the_example_pipeline_applies_the_manifests_of_the_example() -> None:
    lines = [line.split("run:")[1].split() for line in (CI / "pipeline.yml").read_text().splitlines() if "run: " in line]
    (plan,) = (line for line in lines if "--dry-run" in line)
    (script, folder, *_) = next(line for line in lines if line[0].startswith("examples/"))
    assert script == "examples/ci/apply.sh" and plan[:4] == ["weir", "apply", "-f", folder]
    (manifest,), errors = read_manifests([CI.parents[1] / folder])
    assert errors == [] and (manifest.name, manifest.code.name) == ("flights", "flights.py")
    for path in (CI / "apply.sh", CI / "deploy.sh"):
        assert os.access(path, os.X_OK)
        subprocess.run(["sh", "-n", path], check=True)
