"""``weir deploy``: a job, a new version, the same again, and what can go wrong."""

from __future__ import annotations

import os
import threading

import pytest
from sqlalchemy import select
from tests.backend.cli.conftest import JobFile, Weir
from tests.backend.cli.worker import Worker

from weir.cli.remote import place, source
from weir.cli.remote.client import Client
from weir.cli.remote.deploying import Wanted, deploy
from weir.cli.remote.following import Waiting
from weir.cli.remote.source import Settings, read_code
from weir_backend.kit.database import Database
from weir_backend.kit.tasks import COMPILE, INSPECT, SUBMIT
from weir_backend.models import Spec

pytestmark = pytest.mark.timeout(60)


def test_a_file_becomes_a_job_that_runs(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    said = weir("deploy", job_file(), "--name", "flights", "--set", "year=2013", "--wait")
    assert said.code == 0, said.err
    assert "job 'flights' is RUNNING with version 1, in run 1" in said.out
    assert "uploading flights.py" in said.err
    status = weir("status", "flights", "--output", "json").json
    assert (status["state"], status["health"], status["spec_number"]) == ("RUNNING", "ok", 1)


def test_the_same_again_changes_nothing_and_says_so(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    arguments = ("deploy", job_file(), "--name", "flights", "--set", "year=2013", "--parallelism", "3", "--interval", "5s")
    assert weir(*arguments, "--wait").code == 0
    before = weir("status", "flights", "--output", "json").json
    said = weir(*arguments)
    assert (said.code, said.out) == (0, "job 'flights': this is version 1 already: nothing is changed\n")
    again = weir(*arguments, "--wait", "--output", "json").json
    assert (again["changed"], again["spec"], again["spec_before"], again["plan"]) == (False, 1, 1, None)
    after = weir("status", "flights", "--output", "json").json
    assert (after["version"], after["run"]) == (before["version"], before["run"])


def test_another_file_or_setting_is_a_new_version_and_an_upgrade(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    said = weir("deploy", job_file("new"), "--name", "flights", "--comment", "abc123", "--wait", "--output", "json")
    assert said.code == 0, said.err
    done = said.json
    assert (done["changed"], done["spec"], done["spec_before"], done["operation"]["state"]) == (True, 2, 1, "SUCCEEDED")
    assert (done["job"]["state"], done["job"]["spec_number"], done["job"]["run"]["number"]) == ("RUNNING", 2, 2)
    assert "stopping the job" in said.err and "starting the job" in said.err, "the steps are told"
    said = weir("deploy", job_file("new"), "--name", "flights", "--parallelism", "4", "--mode", "last-state", "--wait")
    assert said.code == 0 and "with version 3, in run 3" in said.out
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["APPLIED", "APPLIED"]


def test_a_version_that_was_there_is_taken_again(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    assert weir("deploy", job_file("new"), "--name", "flights", "--no-start").code == 0
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 1, "--no-start: it is kept, and not run"
    done = weir("deploy", job_file("new"), "--name", "flights", "--wait", "-o", "json").json
    assert (done["spec"], done["spec_before"], done["job"]["spec_number"]) == (2, 1, 2)


def test_what_the_command_has_no_word_for_stays(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    code = source.read_code(job_file())
    settings = source.Settings([], 2, "local", "10s", 3, None, None, [], 0, allow_non_restored_state=False)
    before = source.body_of(code, settings, None) | {"restart": {"attempts": 3}}
    assert source.body_of(code, settings, before)["restart"] == {"attempts": 3}
    assert source.is_same(source.body_of(code, settings, before), before)
    assert not source.is_same(before | {"parameters": {}}, before | {"parameters": {"year": "2013"}}), "what is gone has changed"


def test_how_checkpoints_are_limited_is_part_of_the_version(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    limits = ("--checkpoint-timeout", "90s", "--min-pause", "5s", "--tolerable-failed-checkpoints", "none")
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    assert weir("deploy", job_file(), "--name", "flights", *limits, "--wait").code == 0
    changes = weir("diff", "flights", "1", "2", "-o", "json").json["changes"]
    assert {one["path"]: (one["before"], one["after"]) for one in changes} == {
        "checkpointing.timeout": ("10m", "90s"),
        "checkpointing.min_pause": ("0s", "5s"),
        "checkpointing.tolerable_failed_checkpoints": (3, None),
    }
    assert "nothing is changed" in weir("deploy", job_file(), "--name", "flights", *limits).out


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--checkpoint-timeout", "0s", "is no duration that can be kept"),
        ("--min-pause", "soon", "is no duration"),
        ("--tolerable-failed-checkpoints", "-1", "is no count"),
    ],
)
def test_limits_that_are_none_are_refused_before_anything_is_uploaded(
    platform: Worker, weir: Weir, job_file: JobFile, option: str, value: str, says: str
) -> None:
    said = weir("deploy", job_file(), "--name", "flights", f"{option}={value}")
    assert said.code == 2 and f"{option} '{value}' {says}" in said.err and "uploading" not in said.err


def test_the_same_again_changes_nothing_of_a_version_that_is_older_than_its_limits(
    platform: Worker, weir: Weir, job_file: JobFile, database: Database
) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    with database.session() as session:
        spec = session.scalars(select(Spec)).one()
        older = {name: spec.body["checkpointing"][name] for name in ("interval", "retained", "directory", "staging_directory")}
        spec.body = spec.body | {"checkpointing": older}
    assert "this is version 1 already: nothing is changed" in weir("deploy", job_file(), "--name", "flights").out


def test_a_job_that_rests_is_started_by_deploying_it_again(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    said = weir("deploy", job_file(), "--name", "flights", "--no-start", "--wait")
    assert said.code == 0 and weir("status", "flights", "-o", "json").json["state"] == "CREATED"
    assert "nothing is changed" in weir("deploy", job_file(), "--name", "flights", "--no-start").out
    said = weir("deploy", job_file(), "--name", "flights", "--wait")
    assert said.code == 0 and "it was SUSPENDED and is started" in said.out and "is RUNNING" in said.out


def test_a_description_alone_changes_no_version(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    done = weir("deploy", job_file(), "--name", "flights", "--description", "all flights", "-o", "json").json
    assert (done["changed"], done["spec"], done["job"]["description"]) == (True, 1, "all flights")


def test_code_that_does_not_compile_fails_with_its_message(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    said = weir("deploy", job_file("broken"), "--name", "flights", "--wait")
    assert said.code == 1 and "there is no column 'fligth'; did you mean 'flight'?" in said.err
    assert said.err.count("weir: ") == 1
    again = weir("deploy", job_file("broken"), "--name", "flights", "--wait")
    assert again.code == 1 and "this is version 1 of job 'flights', which does not compile" in again.err
    said = weir("deploy", job_file("mended"), "--name", "flights", "--wait")
    assert said.code == 0 and "with version 2" in said.out


def test_an_upgrade_that_does_not_compile_leaves_the_job_alone(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    said = weir("deploy", job_file("broken"), "--name", "flights", "--wait")
    assert said.code == 1 and "version 2 of job 'flights' does not compile" in said.err
    status = weir("status", "flights", "-o", "json").json
    assert (status["state"], status["spec_number"], status["run"]["number"]) == ("RUNNING", 1, 1)


def test_a_version_that_does_not_come_up_is_a_failure_and_the_job_is_brought_back(
    platform: Worker, weir: Weir, job_file: JobFile
) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    said = weir("deploy", job_file("dies"), "--name", "flights", "--wait", "--output", "json")
    assert said.code == 1 and "there is no such input: flights.csv. It goes on from where it was stopped" in said.err
    assert said.json["operation"]["state"] == "FAILED" and said.json["plan"] is not None, "programs get the facts all the same"
    assert weir("wait", "flights").code == 0
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 1


def test_a_first_version_that_does_not_come_up_is_a_failure(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    said = weir("deploy", job_file("dies"), "--name", "flights", "--wait")
    assert said.code == 1 and "there is no such input: flights.csv" in said.err


def test_who_waits_too_long_is_told_that_it_goes_on(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    platform.asleep.add(SUBMIT)
    said = weir("deploy", job_file(), "--name", "flights", "--wait", "--timeout", "500ms")
    assert said.code == 1
    assert "operation 1 (deploy) of job 'flights' is still" in said.err and "(--timeout); it goes on without us" in said.err
    platform.wake()
    assert weir("wait", "flights", "--timeout", "30s").code == 0


def test_a_compiler_that_is_asleep_is_waited_for_and_no_longer(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    platform.asleep.add(COMPILE)
    said = weir("deploy", job_file("new"), "--name", "flights", "--timeout", "300ms")
    assert said.code == 1 and "version 2 of job 'flights' is still being compiled after 300 ms" in said.err


def test_a_plan_that_nobody_looks_at_is_withdrawn(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "flights", "--wait").code == 0
    platform.asleep.add(INSPECT)
    said = weir("deploy", job_file("new"), "--name", "flights", "--timeout", "1s")
    assert said.code == 1 and "has not been looked at by a worker after" in said.err
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["WITHDRAWN"]


def test_two_deployments_at_once_end_as_one(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    """The second one finds that the job is there, whichever of them made it."""
    wanted = Wanted(
        "flights", read_code(job_file()), Settings([], 2, "local", "10s", 3, None, None, [], 0, allow_non_restored_state=False),
        "savepoint", None, "", start=True,
    )  # fmt: skip
    at = place.find(os.environ)
    specs: list[int] = []
    problems: list[BaseException] = []

    def go() -> None:
        try:
            specs.append(deploy(Client(at), wanted, Waiting(30)).spec)
        except BaseException as error:  # noqa: BLE001  # told by the assertion below
            problems.append(error)

    threads = [threading.Thread(target=go) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and specs == [1, 1, 1]
    assert len(weir("jobs", "-o", "json").json) == 1
