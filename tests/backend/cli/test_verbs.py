"""Start, suspend, cancel, savepoint, delete, wait; jobs by name or id."""

from __future__ import annotations

import pytest
from tests.backend.cli.conftest import JobFile, Weir
from tests.backend.cli.worker import Worker

from weir_backend.kit.tasks import RECONCILE

pytestmark = pytest.mark.timeout(60)


def test_a_job_is_suspended_and_started_again(flights: Worker, weir: Weir) -> None:
    said = weir("suspend", "flights", "--wait")
    assert (said.code, said.out) == (0, "job 'flights' is SUSPENDED, last checkpoint 2\n"), said.err
    said = weir("start", "1", "--wait", "--output", "json")
    assert said.code == 0 and (said.json["kind"], said.json["state"]) == ("start", "SUCCEEDED")
    said = weir("cancel", "flights", "--wait")
    assert said.code == 0 and said.out.startswith("job 'flights' is CANCELED")


def test_without_wait_a_verb_only_says_what_has_begun(flights: Worker, weir: Weir) -> None:
    said = weir("suspend", "flights")
    assert said.code == 0 and "operation 2 (suspend) has begun; weir operations flights" in said.out


def test_a_savepoint_gives_its_number_alone_on_standard_output(flights: Worker, weir: Weir) -> None:
    said = weir("savepoint", "flights", "--wait")
    assert (said.code, said.out) == (0, "2\n")
    (newest, *_) = weir("checkpoints", "flights", "--output", "json").json
    assert (newest["number"], newest["is_savepoint"], newest["state"]) == (2, True, "COMPLETED")


def test_a_checkpoint_that_is_triggered_gives_its_number_and_is_no_savepoint(flights: Worker, weir: Weir) -> None:
    said = weir("trigger", "flights", "--wait")
    assert (said.code, said.out) == (0, "2\n"), said.err
    (newest, *_) = weir("checkpoints", "flights", "--output", "json").json
    assert (newest["number"], newest["trigger"], newest["is_savepoint"]) == (2, "manual", False)


def test_a_savepoint_of_a_job_that_rests_is_refused(flights: Worker, weir: Weir) -> None:
    assert weir("suspend", "flights", "--wait").code == 0
    said = weir("savepoint", "flights", "--wait")
    assert (said.code, said.out) == (2, "")
    assert said.err == "weir: job 'flights' is not running, so there is nothing to take a savepoint of; start it first\n"


def test_a_job_that_runs_is_not_deleted_and_one_that_rests_is(flights: Worker, weir: Weir) -> None:
    said = weir("delete", "flights", "--yes")
    assert said.code == 2 and "job 'flights' is running; suspend or cancel it first" in said.err
    assert weir("cancel", "flights", "--wait").code == 0
    said = weir("delete", "flights")
    assert said.code == 2 and "add --yes" in said.err
    assert weir("delete", "flights", answers="n\n").code == 4
    assert weir("delete", "flights", answers="").code == 4, "the terminal was closed"
    said = weir("delete", "flights", answers="y\n")
    assert said.code == 0 and "is forgotten" in said.out
    assert weir("jobs").out == "there are no jobs yet; weir deploy makes one\n"


def test_an_unknown_job_is_told_with_what_comes_close(flights: Worker, weir: Weir) -> None:
    said = weir("status", "Flihgts")
    assert said.code == 2 and said.err == f"weir: there is no job 'Flihgts' at {flights.url}; did you mean flights?\n"
    assert "weir jobs lists those there are" in weir("start", "something else").err
    assert weir("suspend", "99").code == 2


def test_a_name_of_digits_goes_before_an_id(flights: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "1", "--no-start").code == 0
    assert weir("status", "1", "-o", "json").json["name"] == "1"
    assert weir("status", "2", "-o", "json").json["name"] == "1", "its id"


def test_waiting_ends_when_there_is_nothing_to_wait_for(platform: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file(), "--name", "rests", "--no-start").code == 0
    said = weir("wait", "rests")
    assert said.code == 1 and "job 'rests' is not to run: it is wanted SUSPENDED; weir start rests changes that" in said.err
    assert weir("deploy", job_file("dies"), "--name", "dies").code == 0
    said = weir("wait", "dies")
    assert said.code == 1 and "needs a person" in said.err and "there is no such input: flights.csv" in said.err


def test_waiting_for_a_checkpoint_wants_one_of_the_newest_run(flights: Worker, weir: Weir, job_file: JobFile) -> None:
    """The run before has completed one while it was stopped: that says nothing of this one."""
    assert weir("deploy", job_file("restless"), "--name", "flights", "--wait").code == 0
    said = weir("wait", "flights", "--checkpoint", "--timeout", "1s")
    assert said.code == 1 and "it runs, and run 2 has not completed a checkpoint yet, after 1 s" in said.err
    flights.driver_of(1).complete_checkpoint()
    said = weir("wait", "flights", "--checkpoint", "--timeout", "10s")
    assert (said.code, said.out) == (0, "job 'flights' is RUNNING, last checkpoint 3\n")


def test_an_operation_that_something_later_made_pointless_has_failed(flights: Worker, weir: Weir) -> None:
    flights.asleep.add(RECONCILE)
    first = weir("suspend", "flights", "-o", "json").json
    assert weir("start", "flights").code == 0
    found = next(one for one in weir("operations", "flights", "-o", "json").json if one["id"] == first["id"])
    assert found["state"] == "ABANDONED"
    said = weir("operations", "flights")
    assert "has asked for something else since: start" in said.out


def test_a_timeout_that_is_none_is_refused_before_anything_is_done(flights: Worker, weir: Weir) -> None:
    said = weir("suspend", "flights", "--wait", "--timeout", "soon")
    assert said.code == 2 and "'soon' is no duration" in said.err
    assert weir("status", "flights", "-o", "json").json["desired_state"] == "RUNNING"
