"""Rollback and undo: what is shown, what is asked, what is done."""

from __future__ import annotations

import pytest
from tests.backend.cli.conftest import JobFile, Weir, token
from tests.backend.cli.worker import Worker
from tests.backend.conftest import Login

from weir_backend.models import Role

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def further(flights: Worker) -> Worker:
    """With checkpoints 1 to 3."""
    flights.driver_of(1).complete_checkpoint()
    flights.driver_of(1).complete_checkpoint()
    return flights


def test_a_dry_run_shows_all_of_it_and_does_nothing(further: Worker, weir: Weir) -> None:
    said = weir("rollback", "flights", "--to", "1", "--dry-run")
    assert said.code == 0, said.err
    for line in (
        "Rollback of job 'flights' (plan 1)",
        "goes on from checkpoint 1; completed ",
        "verified: all of it is there",
        "abandons what was committed with: checkpoints 2, 3",
        "reads again from read: 1 unfinished split",
        "flights.csv from 4711",
        "taken back from readers (an undo brings it back): files",
        "cannot be taken back, readers will see these records twice: console",
        "1. verify the files of checkpoint 1; if one is damaged, nothing is done",
        "nothing was done (--dry-run)",
    ):
        assert line in said.out
    done = weir("rollback", "flights", "--to", "1", "--dry-run", "--output", "json")
    assert done.json["operation"] is None and done.json["plan"]["preview"]["inspection"]["abandoned"] == [2, 3]
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["WITHDRAWN", "WITHDRAWN"]
    assert weir("status", "flights", "-o", "json").json["run"]["number"] == 1


def test_a_rollback_and_its_undo(further: Worker, weir: Weir) -> None:
    said = weir("rollback", "flights", "--to", "1", "--wait", answers="y\n")
    assert said.code == 0, said.err
    assert "Do this to job 'flights'?" in said.err
    assert "plan 1 is applied: job 'flights' is RUNNING; weir undo flights --plan 1 takes it back" in said.out
    said = weir("undo", "flights", "--yes", "--wait", "--output", "json")
    assert said.code == 0, said.err
    assert (said.json["plan"]["kind"], said.json["plan"]["state"], said.json["plan"]["undo_of"]) == ("undo", "APPLIED", 1)
    assert said.json["plan"]["preview"]["checkpoint"] == 4, "with which the rollback had stopped it"
    assert weir("status", "flights", "-o", "json").json["run"]["number"] == 3
    listed = weir("plans", "flights").out
    assert "rollback" in listed and "undo" in listed and "checkpoint 4" in listed


def test_without_wait_it_is_only_begun(further: Worker, weir: Weir) -> None:
    said = weir("rollback", "flights", "--to", "2", "--yes")
    assert said.code == 0 and "plan 1 is being applied; weir plans flights shows how far it is" in said.out


def test_who_says_no_has_changed_nothing(further: Worker, weir: Weir) -> None:
    said = weir("rollback", "flights", "--to", "1", answers="n\n")
    assert said.code == 4 and "weir: nothing was done: you said no" in said.err
    said = weir("rollback", "flights", "--to", "1")
    assert said.code == 2 and "nobody is there to be asked: add --yes" in said.err
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["WITHDRAWN", "WITHDRAWN"]


def test_a_damaged_checkpoint_is_not_gone_back_to(further: Worker, weir: Weir) -> None:
    further.damaged.add(2)
    said = weir("rollback", "flights", "--to", "2", "--yes", "--wait")
    assert said.code == 2
    assert "this would not work: 0001/read-0.arrow has another checksum; choose another checkpoint" in said.err
    assert "DAMAGED: 0001/read-0.arrow" in said.out


def test_a_checkpoint_that_does_not_exist_is_refused(further: Worker, weir: Weir) -> None:
    said = weir("rollback", "flights", "--to", "9", "--yes")
    assert said.code == 2 and "has no completed checkpoint 9; list its checkpoints, and choose one" in said.err


def test_nothing_to_undo_is_refused(further: Worker, weir: Weir) -> None:
    said = weir("undo", "flights", "--yes")
    assert said.code == 2 and "no plan was applied to job 'flights': there is nothing to undo" in said.err


def test_a_rollback_needs_its_permission_and_leaves_no_plan(
    further: Worker, weir: Weir, login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_TOKEN", token(login, Role.OPERATOR))
    said = weir("rollback", "flights", "--to", "1", "--yes", "--wait")
    assert said.code == 7 and "needs the permission 'rollback'; ask an administrator for it" in said.err
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["WITHDRAWN"]


def test_a_checkpoint_from_elsewhere_is_shown_agreed_to_and_begun_with(further: Worker, weir: Weir) -> None:
    path = str(further.settings.data_dir / "checkpoints" / "old")
    said = weir("rollback", "flights", "--to-path", f"{path}#12", "--dry-run")
    assert said.code == 0, said.err
    for line in (
        "Restore of job 'flights' (plan 1)",
        f"goes on from a copy of savepoint 12 of job 'old flights' in {path}; completed ",
        "abandons what was committed with: checkpoints 1, 2, 3",
        "taken back from readers (an undo brings it back): files",
        "cannot be taken back, readers will see these records twice: console",
        f"1. verify the files of the checkpoint in {path}; if one is damaged, nothing is done",
    ):
        assert line in said.out
    said = weir("rollback", "flights", "--to-path", path, "--yes", "--wait")
    assert said.code == 0, said.err
    assert "plan 2 is applied: job 'flights' is RUNNING; weir undo flights --plan 2 takes it back" in said.out
    assert further.starts(1)[-1] == {"mode": "path", "path": f"{path}#41"}
    assert "restore" in weir("plans", "flights").out
    assert weir("undo", "flights", "--yes", "--wait").code == 0
    assert further.starts(1)[-1] == {"mode": "from", "checkpoint": 4}


def test_a_place_that_is_not_allowed_is_refused(further: Worker, weir: Weir) -> None:
    said = weir("rollback", "flights", "--to-path", "/etc", "--yes")
    assert said.code == 7 and "are not for this installation to look into" in said.err


@pytest.mark.parametrize("options", [(), ("--to", "1", "--to-path", "/x")])
def test_a_rollback_goes_to_one_place(further: Worker, weir: Weir, options: tuple[str, ...]) -> None:
    said = weir("rollback", "flights", *options)
    assert said.code == 2 and "give --to ID for a checkpoint of this job, or --to-path PATH[#ID]" in said.err


def test_a_stateless_upgrade_begins_anew_and_is_undone(further: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file("new"), "--name", "flights", "--no-start", "--wait").code == 0
    said = weir("upgrade", "flights", "--mode", "stateless", "--dry-run")
    assert said.code == 0, said.err
    assert "begins anew, without any state: all input is read again" in said.out
    assert "3. start version 2" not in said.out and "2. start version 2 of its spec from the beginning" in said.out
    said = weir("upgrade", "flights", "--mode", "stateless", "--wait", answers="y\n")
    assert said.code == 0, said.err
    assert further.starts(1)[-1] == {"mode": "from", "checkpoint": 0}
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 2 and "the beginning" in weir("plans", "flights").out
    assert weir("undo", "flights", "--yes", "--wait").code == 0
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 1


def test_an_upgrade_is_to_the_newest_version_or_to_the_one_that_is_named(further: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file("new"), "--name", "flights", "--no-start", "--wait").code == 0
    said = weir("upgrade", "flights", "--yes", "--wait", "--output", "json")
    assert said.code == 0, said.err
    assert (said.json["plan"]["request"]["spec"], said.json["plan"]["request"]["mode"]) == (2, "savepoint")
    assert weir("upgrade", "flights", "--to", "1", "--mode", "last-state", "--yes", "--wait").code == 0
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 1
    said = weir("upgrade", "flights", "--to", "9", "--yes")
    assert said.code == 2 and "no version 9" in said.err


def test_state_that_does_not_fit_is_told_and_nothing_is_done(further: Worker, weir: Weir, job_file: JobFile) -> None:
    further.misfit = "aggregate 'sums' is keyed by x, its state by y: use a new uid"
    said = weir("deploy", job_file("new"), "--name", "flights", "--wait")
    assert said.code == 2 and "this would not work: aggregate 'sums' is keyed by x" in said.err
    said = weir("rollback", "flights", "--to", "1", "--yes")
    assert said.code == 2 and "this would not work: aggregate 'sums'" in said.err and "DOES NOT FIT: aggregate 'sums'" in said.out
    assert {one["state"] for one in weir("plans", "flights", "-o", "json").json} == {"WITHDRAWN"}
    assert weir("status", "flights", "-o", "json").json["run"]["number"] == 1


def test_a_difference_is_shown_by_setting_operator_and_line(flights: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file("new"), "--name", "flights", "--parallelism", "5", "--wait").code == 0
    said = weir("diff", "flights", "1", "2")
    assert said.code == 0 and "parallelism" in said.out and "-# \n+# new\n" in said.out
    assert weir("diff", "flights", "1", "2", "-o", "json").json["changes"][0]["path"] == "artifact"
    assert "versions 2 and 2 are the same" in weir("diff", "flights", "2", "2").out
    assert weir("diff", "flights", "1", "9").code == 2
