"""``weir deploy``: new jobs, upgrades, unchanged jobs and failures."""

from __future__ import annotations

import os
import threading

import pytest
from sqlalchemy import select
from tests.backend.cli.conftest import JobFile, Weir
from tests.backend.cli.fake_worker import Worker

from weir.cli.client.api import ApiClient
from weir.cli.client.credentials import find_endpoint
from weir.cli.commands.deploy import DeployOptions, DeployRequest, deploy, read_code, spec_body
from weir.cli.commands.waiting import Deadline
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import CHECK_SPEC, INSPECT_SPEC, SUBMIT
from weir_backend.models import Spec

pytestmark = pytest.mark.timeout(300)


def test_deploying_a_file_creates_a_running_job(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    result = weir("deploy", job_file(), "--name", "flights", "--set", "year=2013", "--wait")
    assert result.code == 0, result.err
    assert "Job 'flights' is RUNNING with version 1, in run 1" in result.out
    assert "Uploading flights.py" in result.err
    status = weir("status", "flights", "--output", "json").json
    assert (status["state"], status["health"], status["spec_number"]) == ("RUNNING", "healthy", 1)


def test_deploying_an_unchanged_job_changes_nothing(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    arguments = ("deploy", job_file(), "--name", "flights", "--set", "year=2013", "--parallelism", "3", "--interval", "5s")
    assert weir(*arguments, "--wait").code == 0
    before = weir("status", "flights", "--output", "json").json
    result = weir(*arguments)
    assert (result.code, result.out) == (0, "Job 'flights': version 1 is unchanged.\n")
    again = weir(*arguments, "--wait", "--output", "json").json
    assert (again["changed"], again["spec"], again["spec_before"], again["plan"]) == (False, 1, 1, None)
    after = weir("status", "flights", "--output", "json").json
    assert (after["version"], after["run"]["id"], after["run"]["state"]) == (before["version"], before["run"]["id"], "RUNNING")


def test_a_changed_file_or_option_creates_a_version_and_upgrades_the_job(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    result = weir("deploy", job_file("new"), "--name", "flights", "--comment", "abc123", "--wait", "--output", "json")
    assert result.code == 0, result.err
    done = result.json
    assert (done["changed"], done["spec"], done["spec_before"], done["operation"]["state"]) == (True, 2, 1, "SUCCEEDED")
    assert (done["job"]["state"], done["job"]["spec_number"], done["job"]["run"]["number"]) == ("RUNNING", 2, 2)
    assert "stopping the job" in result.err and "starting the job" in result.err, "the command prints the steps"
    result = weir("deploy", job_file("new"), "--name", "flights", "--parallelism", "4", "--mode", "last-state", "--wait")
    assert result.code == 0 and "with version 3, in run 3" in result.out
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["APPLIED", "APPLIED"]


def test_an_existing_version_is_reused(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    assert weir("deploy", job_file("new"), "--name", "flights", "--no-start").code == 0
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 1, "with --no-start the job keeps its version"
    done = weir("deploy", job_file("new"), "--name", "flights", "--wait", "-o", "json").json
    assert (done["spec"], done["spec_before"], done["job"]["spec_number"]) == (2, 1, 2)


def test_an_upgrade_keeps_settings_that_no_command_line_option_can_set(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    code = read_code(job_file())
    settings = DeployOptions([], 2, "local", "10s", 3, None, None, [], 0, allow_non_restored_state=False)
    before = spec_body(code, settings, None) | {"restart": {"attempts": 3}}
    assert spec_body(code, settings, before)["restart"] == {"attempts": 3}


def test_a_change_of_limits_or_timeouts_creates_a_new_version(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    limits = (
        *("--checkpoint-timeout", "90s", "--min-pause", "5s", "--tolerable-failed-checkpoints", "none"),
        *("--stuck-timeout", "0", "--deploy-timeout", "5m", "--network-memory", "1GiB", "--buffer-timeout", "5ms"),
        *("--recovery", "full"),
    )
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    assert weir("deploy", job_file(), "--name", "flights", *limits, "--wait").code == 0
    changes = weir("diff", "flights", "1", "2", "-o", "json").json["changes"]
    assert {one["path"]: (one["before"], one["after"]) for one in changes} == {
        "checkpointing.timeout": ("10m", "90s"),
        "checkpointing.min_pause": ("0s", "5s"),
        "checkpointing.tolerable_failed_checkpoints": (3, None),
        "timeouts.stuck": ("60s", "none"),
        "timeouts.deploy": ("60s", "5m"),
        "network_memory": ("256MiB", "1GiB"),
        "buffer_timeout": ("adaptive", "5ms"),
        "recovery": ("regional", "full"),
    }
    assert "is unchanged." in weir("deploy", job_file(), "--name", "flights", *limits).out


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--checkpoint-timeout", "0s", "is out of range"),
        ("--min-pause", "soon", "is not a duration"),
        ("--tolerable-failed-checkpoints", "-1", "is not a count"),
        ("--heartbeat-timeout", "1s", "is out of range"),
        ("--network-memory", "256", "is not a size"),
        ("--buffer-timeout", "soon", "is not a duration"),
        ("--buffer-timeout", "11s", "is out of range"),
    ],
)
def test_invalid_limits_are_refused_before_the_upload(
    platform: Worker, weir: Weir, job_file: JobFile, option: str, value: str, message: str
) -> None:
    result = weir("deploy", job_file(), "--name", "flights", f"{option}={value}")
    assert result.code == 2 and f"{option} '{value}' {message}" in result.err and "Uploading" not in result.err


def test_a_stored_version_counts_as_unchanged_even_if_it_lacks_newer_options(
    platform: Worker, weir: Weir, job_file: JobFile, database: Database
) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    with database.session() as session:
        spec = session.scalars(select(Spec)).one()
        older = {name: spec.body["checkpointing"][name] for name in ("interval", "retained", "directory", "staging_directory")}
        new = ("timeouts", "network_memory", "buffer_timeout", "recovery")
        body = {name: value for name, value in spec.body.items() if name not in new}
        spec.body = body | {"checkpointing": older}
    assert "version 1 is unchanged." in weir("deploy", job_file(), "--name", "flights").out


def test_deploying_an_unchanged_job_starts_the_job_if_the_job_is_suspended(
    platform: Worker, weir: Weir, job_file: JobFile
) -> None:
    result = weir("deploy", job_file(), "--name", "flights", "--no-start", "--wait")
    assert result.code == 0 and weir("status", "flights", "-o", "json").json["state"] == "CREATED"
    assert "is unchanged." in weir("deploy", job_file(), "--name", "flights", "--no-start").out
    result = weir("deploy", job_file(), "--name", "flights", "--wait")
    assert result.code == 0 and "The job was SUSPENDED and is starting" in result.out and "is RUNNING" in result.out


def test_changing_only_the_description_creates_no_version(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    done = weir("deploy", job_file(), "--name", "flights", "--description", "all flights", "-o", "json").json
    assert (done["changed"], done["spec"], done["job"]["description"]) == (True, 1, "all flights")


def test_the_output_names_the_version_of_the_code_and_the_version_that_the_job_runs(
    platform: Worker, weir: Weir, job_file: JobFile
) -> None:
    assert weir("deploy", job_file("old"), "--name", "flights", "--wait").code == 0
    described = weir("deploy", job_file("old"), "--name", "flights", "--description", "all flights").out
    assert described == "Version 1 of job 'flights' exists. The job is RUNNING with version 1.\n"
    for _ in range(2):  # The second command reuses the version that the first command created.
        out = weir("deploy", job_file("new"), "--name", "flights", "--no-start").out
        assert out == (
            "Job 'flights': version 1 stays the current version (--no-start).\n"
            "Version 2 of job 'flights' exists. The job is RUNNING with version 1.\n"
        )


def test_a_deployment_that_does_not_compile_fails_with_the_error_of_the_compiler(
    platform: Worker, weir: Weir, job_file: JobFile
) -> None:
    for options in ((), ("--wait",), ("--no-start",)):
        result = weir("deploy", job_file("broken"), "--name", "flights", *options)
        assert result.code == 2 and "does not compile: job.py:3: there is no column 'fligth'; did you mean" in result.err
        assert result.err.count("weir: ") == 1 and result.out == ""
        assert weir("jobs", "-o", "json").json == [], "no job is created from code that does not compile"
    result = weir("deploy", job_file("fixed"), "--name", "flights", "--wait")
    assert result.code == 0 and "with version 1" in result.out


def test_an_upgrade_that_does_not_compile_does_not_change_the_job(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    result = weir("deploy", job_file("broken"), "--name", "flights")
    assert result.code == 2 and "The code of job 'flights' does not compile" in result.err
    status = weir("status", "flights", "-o", "json").json
    assert (status["state"], status["spec_number"], status["run"]["number"]) == ("RUNNING", 1, 1)


def test_a_job_returns_to_its_old_version_if_an_upgrade_does_not_start(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    result = weir("deploy", job_file("fails_to_start"), "--name", "flights", "--wait", "--output", "json")
    assert (
        result.code == 1
        and "cannot find the input flights.csv. Weir has restored the job's earlier version and desired state." in result.err
    )
    assert result.json["operation"]["state"] == "FAILED" and result.json["plan"] is not None, (
        "JSON is also printed after a failure"
    )
    assert weir("wait", "flights").code == 0
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 1


def test_a_deployment_fails_if_the_first_version_does_not_start(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    result = weir("deploy", job_file("fails_to_start"), "--name", "flights", "--wait")
    assert result.code == 1 and "cannot find the input flights.csv" in result.err


def test_a_timeout_ends_only_the_wait_and_not_the_operation(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    platform.paused.add(SUBMIT)
    assert weir("deploy", job_file(), "--name", "flights").code == 0
    result = weir("deploy", job_file(), "--name", "flights", "--wait", "--timeout", "500ms")
    assert result.code == 1
    assert (
        "Operation 1 (deploy) of job 'flights' is still" in result.err
        and "(--timeout). Operation 1 (deploy) continues." in result.err
    )
    platform.resume()
    assert weir("wait", "flights", "--timeout", "30s").code == 0


def test_the_timeout_limits_the_wait_for_the_compiler(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    before = weir("status", "flights", "-o", "json").json
    for task in (CHECK_SPEC, INSPECT_SPEC):
        platform.paused.add(task)
        result = weir("deploy", job_file("new"), "--name", "flights", "--timeout", "300ms")
        assert result.code == 1 and "The code of job 'flights' is still being checked after 300 ms" in result.err
        assert "Job 'flights' was not changed. Repeat the command." in result.err
        after = weir("status", "flights", "-o", "json").json
        assert (after["version"], after["spec_number"]) == (before["version"], before["spec_number"])
        platform.resume()
    assert weir("deploy", job_file("new"), "--name", "flights", "--wait").code == 0


def test_a_version_that_cannot_restore_the_state_of_the_job_is_not_created(
    platform: Worker, weir: Weir, job_file: JobFile
) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    platform.incompatibility = "operator 'per-route' is not in this graph"
    result = weir("deploy", job_file("new"), "--name", "flights", "--wait")
    assert result.code == 2 and "operator 'per-route' is not in this graph" in result.err
    assert weir("plans", "flights", "-o", "json").json == []


def test_concurrent_deployments_with_the_same_name_create_one_job(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    """The first deployment creates the job. The other deployments do not change the job."""
    deployment = DeployRequest(
        "flights", read_code(job_file()), DeployOptions([], 2, "local", "10s", 3, None, None, [], 0, allow_non_restored_state=False),
        "savepoint", None, "", start=True,
    )  # fmt: skip
    endpoint = find_endpoint(os.environ)
    specs: list[int] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            specs.append(deploy(ApiClient(endpoint), deployment, Deadline(30)).spec)
        except BaseException as error:  # noqa: BLE001  # reported by the assertion below
            problems.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and specs == [1, 1, 1]
    assert len(weir("jobs", "-o", "json").json) == 1
