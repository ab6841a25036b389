"""``weir start``, ``suspend``, ``cancel``, ``savepoint``, ``checkpoint``, ``delete`` and ``wait``, for jobs given by name or id."""

from __future__ import annotations

import pytest
from tests.backend.cli.conftest import JobFile, Weir
from tests.backend.cli.fake_worker import Worker

from weir_backend.kit.tasks import RECONCILE

pytestmark = pytest.mark.timeout(300)


def test_a_job_is_suspended_and_started_again(flights: Worker, weir: Weir) -> None:
    result = weir("suspend", "flights", "--wait")
    assert (result.code, result.out) == (0, "Job 'flights' is SUSPENDED, last checkpoint 2.\n"), result.err
    result = weir("start", "1", "--wait", "--output", "json")
    assert result.code == 0 and (result.json["kind"], result.json["state"]) == ("start", "SUCCEEDED")
    result = weir("cancel", "flights", "--wait")
    assert result.code == 0 and result.out.startswith("Job 'flights' is CANCELED")


def test_the_option_revoke_unknown_output_applies_to_one_start(flights: Worker, weir: Weir) -> None:
    requests = []
    for option in ((), ("--revoke-unknown-output",), ()):
        assert weir("suspend", "flights", "--wait").code == 0
        result = weir("start", "flights", *option, "--wait", "--output", "json")
        assert result.code == 0, result.err
        requests.append(result.json["request"])
    assert requests == [{}, {"revoke_unknown_output": True}, {}]
    result = weir("start", "flights", "--revoke-unknown-output")
    assert result.code == 2 and "only a new run can revoke unknown output. Suspend or cancel" in result.err


def test_a_command_without_the_option_wait_prints_its_operation(flights: Worker, weir: Weir) -> None:
    result = weir("suspend", "flights")
    assert result.code == 0 and "(suspend). To see the state of the operation, run weir operations flights." in result.out


def test_the_savepoint_command_prints_only_the_number_of_the_savepoint(flights: Worker, weir: Weir) -> None:
    result = weir("savepoint", "flights", "--wait")
    assert (result.code, result.out) == (0, "2\n")
    (newest, *_) = weir("checkpoints", "flights", "--output", "json").json
    assert (newest["number"], newest["is_savepoint"], newest["state"]) == (2, True, "COMPLETED")


def test_the_checkpoint_command_takes_a_checkpoint_and_prints_only_its_number(flights: Worker, weir: Weir) -> None:
    result = weir("checkpoint", "flights", "--wait")
    assert (result.code, result.out) == (0, "2\n"), result.err
    (newest, *_) = weir("checkpoints", "flights", "--output", "json").json
    assert (newest["number"], newest["trigger"], newest["is_savepoint"]) == (2, "manual", False)


def test_a_savepoint_of_a_suspended_job_is_refused(flights: Worker, weir: Weir) -> None:
    assert weir("suspend", "flights", "--wait").code == 0
    result = weir("savepoint", "flights", "--wait")
    assert (result.code, result.out) == (2, "")
    assert result.err == "weir: Job 'flights' is not running. Start the job first.\n"


def test_only_a_stopped_job_can_be_deleted(flights: Worker, weir: Weir) -> None:
    result = weir("delete", "flights", "--yes")
    assert result.code == 2 and "Job 'flights' is running. Suspend or cancel the job first" in result.err
    assert weir("cancel", "flights", "--wait").code == 0
    result = weir("delete", "flights")
    assert result.code == 2 and "Add --yes" in result.err
    assert weir("delete", "flights", answers="n\n").code == 4
    assert weir("delete", "flights", answers="").code == 4, "a closed terminal counts as the answer no"
    result = weir("delete", "flights", answers="y\n")
    assert result.code == 0 and "Deleted job 'flights'." in result.out
    assert weir("jobs").out == "No jobs yet. Create a job with weir deploy.\n"


def test_an_unknown_job_is_reported_with_similar_names(flights: Worker, weir: Weir) -> None:
    result = weir("status", "Flihgts")
    assert result.code == 2 and result.err == f"weir: No job 'Flihgts' at {flights.url}. Did you mean flights?\n"
    assert "To list all jobs, run weir jobs." in weir("start", "something else").err
    assert weir("suspend", "99").code == 2


def test_a_job_name_that_is_a_number_takes_precedence_over_an_id(flights: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "1", "--no-start").code == 0
    assert weir("status", "1", "-o", "json").json["name"] == "1"
    assert weir("status", "2", "-o", "json").json["name"] == "1", "no job has this name, so the number is an id"


def test_weir_wait_fails_immediately_if_the_job_cannot_become_healthy_without_a_user(
    platform: Worker, weir: Weir, job_file: JobFile
) -> None:
    assert weir("deploy", job_file(), "--name", "suspended", "--no-start").code == 0
    result = weir("wait", "suspended")
    assert (
        result.code == 1
        and "Job 'suspended' will not run, because its desired state is SUSPENDED. Run weir start suspended." in result.err
    )
    assert weir("deploy", job_file("fails_to_start"), "--name", "failing").code == 0
    result = weir("wait", "failing")
    assert result.code == 1 and "needs attention" in result.err and "cannot find the input flights.csv" in result.err


def test_waiting_for_a_checkpoint_ignores_checkpoints_of_earlier_runs(flights: Worker, weir: Weir, job_file: JobFile) -> None:
    """The final checkpoint of the previous run does not count."""
    assert weir("deploy", job_file("no_checkpoints"), "--name", "flights", "--wait").code == 0
    result = weir("wait", "flights", "--checkpoint", "--timeout", "1s")
    assert result.code == 1 and "is running, but run 2 has not completed a checkpoint after 1 s" in result.err
    flights.driver_of(1).complete_checkpoint()
    result = weir("wait", "flights", "--checkpoint", "--timeout", "10s")
    assert (result.code, result.out) == (0, "Job 'flights' is RUNNING, last checkpoint 3.\n")


def test_a_later_command_supersedes_the_operation_of_an_earlier_command(flights: Worker, weir: Weir) -> None:
    flights.paused.add(RECONCILE)
    first = weir("suspend", "flights", "-o", "json").json
    assert weir("start", "flights").code == 0
    found = next(one for one in weir("operations", "flights", "-o", "json").json if one["id"] == first["id"])
    assert found["state"] == "SUPERSEDED"
    result = weir("operations", "flights")
    assert "has requested a newer operation: start" in result.out


def test_an_invalid_timeout_is_refused_before_the_request(flights: Worker, weir: Weir) -> None:
    result = weir("suspend", "flights", "--wait", "--timeout", "soon")
    assert result.code == 2 and "--timeout 'soon' is not a duration" in result.err
    assert weir("status", "flights", "-o", "json").json["desired_state"] == "RUNNING"
