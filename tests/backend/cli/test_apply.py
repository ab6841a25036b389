"""``weir apply`` and ``weir diff -f``: plans, changes, exit codes and errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.backend.cli.conftest import Weir
from tests.backend.cli.fake_worker import Worker

pytestmark = pytest.mark.timeout(300)
Manifest = Callable[..., Path]


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    folder.mkdir()
    return folder


@pytest.fixture
def manifest(jobs: Path) -> Manifest:
    """Return a function that writes a manifest and its code. The ``words`` in the code control the fake worker and driver."""

    def write(name: str = "flights", words: str = "", spec: str = "{}", more: str = "") -> Path:
        (jobs / f"{name}.py").write_text(f"# {words}\ndef job(params): ...\n")
        path = jobs / f"{name}.yaml"
        path.write_text(f"name: {name}\nfile: {name}.py\nspec: {spec}\n{more}")
        return path

    return write


def test_manifests_are_applied_and_applied_again_without_changes(
    platform: Worker, weir: Weir, manifest: Manifest, jobs: Path
) -> None:
    manifest(more="labels: {team: etl}\n")
    manifest("late", more="desired_state: SUSPENDED\n")
    planned = weir("apply", "-f", str(jobs), "--dry-run")
    assert planned.code == 2 and planned.out == "flights: create the job\nlate: create the job\n", planned.err
    assert weir("jobs", "-o", "json").json == []
    applied = weir("apply", "-f", str(jobs), "--comment", "abc123", "--wait")
    assert (applied.code, applied.out) == (0, planned.out), applied.err
    found = {one["name"]: (one["state"], one["desired_state"], one["labels"]) for one in weir("jobs", "-o", "json").json}
    assert found == {"flights": ("RUNNING", "RUNNING", {"team": "etl"}), "late": ("CREATED", "SUSPENDED", {})}
    for command in (("apply",), ("apply", "--dry-run"), ("diff",)):
        again = weir(*command, "-f", str(jobs))
        assert (again.code, again.out) == (0, "flights: no changes\nlate: no changes\n"), again.err


def test_a_dry_run_and_a_diff_print_the_changes_of_a_running_job(
    platform: Worker, weir: Weir, manifest: Manifest, jobs: Path
) -> None:
    manifest(more="labels: {team: etl}\n")
    assert weir("apply", "-f", str(jobs), "--wait").code == 0
    manifest(words="new", spec="{parallelism: 4}", more="labels: {team: web}\ndescription: all flights\n")
    planned = weir("apply", "-f", str(jobs), "--dry-run")
    assert planned.code == 2
    assert planned.out.splitlines()[:5] == [
        "flights: update the description or the labels, upgrade from version 1 to 2",
        '  description: "" -> "all flights"',
        '  labels.team: "etl" -> "web"',
        "  spec.parallelism: 2 -> 4",
        "  code: changed",
    ]
    assert "  1. Stop the job with a last checkpoint, which an undo can restore." in planned.out
    found = weir("diff", "-f", str(jobs))
    assert found.code == 2 and "+# new" in found.out and "Stop the job" not in found.out
    document = weir("apply", "-f", str(jobs), "--dry-run", "-o", "json")
    (one,) = document.json["jobs"]
    assert document.code == 2 and one["name"] == "flights" and one["result"]["actions"] == ["update", "upgrade"]
    assert weir("plans", "flights", "-o", "json").json == []
    assert weir("apply", "-f", str(jobs), "--wait").code == 0
    status = weir("status", "flights", "-o", "json").json
    assert (status["state"], status["spec_number"], status["description"]) == ("RUNNING", 2, "all flights")


def test_an_invalid_manifest_is_reported_with_its_line_and_no_job_is_changed(
    platform: Worker, weir: Weir, manifest: Manifest, jobs: Path
) -> None:
    manifest("good")
    manifest("broken", words="broken")
    interval = manifest("interval", spec="\n  checkpointing:\n    interval: soon\n  parallelism: 0")
    (jobs / "list.yaml").write_text("- a\n")
    for command, code in ((("apply",), 2), (("apply", "--dry-run"), 1), (("diff",), 1)):
        result = weir(*command, "-f", str(jobs))
        assert result.code == code and result.out == "good: create the job\n"
        assert f"{interval}:5: spec.checkpointing.interval: String should match" in result.err
        assert f"{interval}:6: spec.parallelism: Input should be greater than or equal to 1" in result.err
        assert f"{jobs / 'list.yaml'}:1: a job manifest is a mapping" in result.err
        assert f"{jobs / 'broken.yaml'}:1: The code of job 'broken' does not compile: job.py:3: there is no column" in result.err
        assert "weir: 3 of 4 job manifests cannot be applied." in result.err
    assert weir("jobs", "-o", "json").json == []


def test_the_exit_code_of_a_dry_run_or_a_diff_distinguishes_errors_from_changes(platform: Worker, weir: Weir, jobs: Path) -> None:
    for command in (("apply", "--dry-run"), ("diff",)):
        for target, error in ((jobs, "There is no job manifest in"), (jobs / "missing", "does not exist")):
            result = weir(*command, "-f", str(target))
            assert result.code == 1 and error in result.err


def test_the_failure_of_one_job_does_not_hide_the_other_jobs(
    platform: Worker, weir: Weir, manifest: Manifest, jobs: Path
) -> None:
    manifest("a", words="fails_to_start")
    manifest("b")
    result = weir("apply", "-f", str(jobs), "--wait", "-o", "json")
    assert result.code == 1 and "1 of 2 jobs failed." in result.err
    first, second = result.json["jobs"]
    assert "cannot find the input flights.csv" in first["error"] and first["result"]["actions"] == ["create"]
    assert second["error"] is None and second["result"]["job"]["state"] == "RUNNING"


def test_a_path_without_manifests_and_an_unknown_token_are_refused(
    platform: Worker, weir: Weir, manifest: Manifest, jobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = weir("apply", "-f", str(jobs))
    assert result.code == 2 and "There is no job manifest in" in result.err
    manifest()
    monkeypatch.setenv("WEIR_TOKEN", "weir_wrong")
    assert weir("apply", "-f", str(jobs)).code == 7


def test_diff_compares_either_two_versions_or_manifests(platform: Worker, weir: Weir, manifest: Manifest) -> None:
    for arguments in ((), ("flights",), ("flights", "1"), ("flights", "1", "2", "-f", str(manifest()))):
        result = weir("diff", *arguments)
        assert result.code == 2 and "weir diff JOB A B" in result.err


def test_jobs_are_listed_by_label(platform: Worker, weir: Weir, manifest: Manifest, jobs: Path) -> None:
    manifest("a", more="labels: {team: etl, tier: one}\n")
    manifest("b", more="labels: {team: etl}\n")
    assert weir("apply", "-f", str(jobs)).code == 0
    assert [one["name"] for one in weir("jobs", "--label", "team=etl", "-o", "json").json] == ["a", "b"]
    text = weir("jobs", "--label", "team=etl", "--label", "tier=one").out
    assert "team=etl, tier=one" in text and len(text.splitlines()) == len(weir("jobs", "--label", "tier=one").out.splitlines())
    assert weir("jobs", "--label", "team=web").out == "No job has the labels team=web.\n"
    assert weir("jobs", "--label", "team").code == 2
