"""``weir rollback``, ``undo``, ``upgrade``, ``plans`` and ``diff``."""

from __future__ import annotations

import pytest
from tests.backend.cli.conftest import JobFile, Weir, token
from tests.backend.cli.fake_worker import Worker
from tests.backend.conftest import Login, change_settings

from weir.cli.client.api import open_client
from weir.cli.client.errors import Refused
from weir.cli.commands.waiting import Deadline, wait_for_inspection
from weir_backend.kit.tasks import INSPECT
from weir_backend.models import Role

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def with_checkpoints(flights: Worker) -> Worker:
    """Let the job 'flights' complete checkpoints 2 and 3 after checkpoint 1."""
    flights.driver_of(1).complete_checkpoint()
    flights.driver_of(1).complete_checkpoint()
    return flights


def test_a_dry_run_shows_the_plan_and_changes_nothing(with_checkpoints: Worker, weir: Weir) -> None:
    result = weir("rollback", "flights", "--to", "1", "--dry-run")
    assert result.code == 0, result.err
    for line in (
        "Roll back job 'flights' (plan 1)",
        "restores checkpoint 1; completed ",
        "; verified",
        "abandons checkpoints 2, 3 ",
        "replays read: 1 unfinished split",
        "flights.csv from 4711",
        "revokes output in: files (an undo reinstates it)",
        "cannot revoke output in: console (readers can see records twice)",
        "1. Verify the files of checkpoint 1. If a file is damaged, the job stays unchanged.",
        "Dry run: the plan was discarded.",
    ):
        assert line in result.out
    done = weir("rollback", "flights", "--to", "1", "--dry-run", "--output", "json")
    assert done.json["operation"] is None and done.json["plan"]["preview"]["inspection"]["abandoned"] == [2, 3]
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["DISCARDED", "DISCARDED"]
    assert weir("status", "flights", "-o", "json").json["run"]["number"] == 1


def test_a_rollback_is_applied_and_undone(with_checkpoints: Worker, weir: Weir) -> None:
    result = weir("rollback", "flights", "--to", "1", "--wait", answers="y\n")
    assert result.code == 0, result.err
    assert "Apply this plan to job 'flights'?" in result.err
    assert "Applied plan 1: job 'flights' is RUNNING. To undo: weir undo flights --plan 1" in result.out
    result = weir("undo", "flights", "--yes", "--wait", "--output", "json")
    assert result.code == 0, result.err
    assert (result.json["plan"]["kind"], result.json["plan"]["state"], result.json["plan"]["undo_of"]) == ("undo", "APPLIED", 1)
    assert result.json["plan"]["preview"]["checkpoint"] == 4, "undo restores the safety savepoint of the rollback"
    assert weir("status", "flights", "-o", "json").json["run"]["number"] == 3
    listed = weir("plans", "flights").out
    assert "rollback" in listed and "undo" in listed and "checkpoint 4" in listed


def test_a_rollback_without_the_option_wait_ends_when_the_plan_is_accepted(with_checkpoints: Worker, weir: Weir) -> None:
    result = weir("rollback", "flights", "--to", "2", "--yes")
    assert result.code == 0 and "Applying plan 1. To see the state of the plan, run weir plans flights." in result.out


def test_answering_no_leaves_the_job_unchanged(with_checkpoints: Worker, weir: Weir) -> None:
    result = weir("rollback", "flights", "--to", "1", answers="n\n")
    assert result.code == 4 and "weir: Canceled. The job was not changed." in result.err
    result = weir("rollback", "flights", "--to", "1")
    assert result.code == 2 and "Cannot ask for confirmation: standard input is not a terminal. Add --yes" in result.err
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["DISCARDED", "DISCARDED"]


def test_a_damaged_checkpoint_is_not_restored(with_checkpoints: Worker, weir: Weir) -> None:
    with_checkpoints.damaged.add(2)
    result = weir("rollback", "flights", "--to", "2", "--yes", "--wait")
    assert result.code == 2
    assert (
        "The checkpoint cannot be restored: 0001/read-0.arrow has a different checksum. Choose another checkpoint." in result.err
    )
    assert "CANNOT BE RESTORED: 0001/read-0.arrow" in result.out


def test_a_checkpoint_that_does_not_exist_is_refused(with_checkpoints: Worker, weir: Weir) -> None:
    result = weir("rollback", "flights", "--to", "9", "--yes")
    assert result.code == 2 and "has no checkpoint 9. Choose one of the job's checkpoints." in result.err


def test_an_undo_without_an_applied_plan_is_refused(with_checkpoints: Worker, weir: Weir) -> None:
    result = weir("undo", "flights", "--yes")
    assert result.code == 2 and "Nothing to undo: no plan was applied to job 'flights'." in result.err


def test_a_plan_that_another_user_must_approve_stays_proposed(with_checkpoints: Worker, weir: Weir) -> None:
    change_settings(with_checkpoints.app, separate_approver=True)
    result = weir("rollback", "flights", "--to", "1", "--yes")
    assert result.code == 2 and (
        "You proposed plan 1, and this installation requires the approval of another user. Ask another user to approve the plan."
        in result.err
    )
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["PROPOSED"]


def test_a_plan_whose_preview_has_changed_since_it_was_shown_is_not_approved(with_checkpoints: Worker, weir: Weir) -> None:
    with open_client() as client:
        plan = client.propose(1, {"kind": "rollback", "checkpoint": 1})
        shown = wait_for_inspection(client, plan, Deadline(20.0))
        with_checkpoints.driver_of(1).complete_checkpoint()
        with_checkpoints.enqueue(INSPECT, shown["id"])
        while client.plan(shown["id"])["digest"] == shown["digest"]:
            pass
        with pytest.raises(Refused, match="The preview of plan 1 has changed since you opened it. Review it again.") as refused:
            client.approve(shown)
        assert (refused.value.status, refused.value.code) == (412, "preview-changed")
        assert client.approve(client.plan(shown["id"]))["state"] == "APPROVED"


def test_a_rollback_without_permission_discards_its_plan(
    with_checkpoints: Worker, weir: Weir, login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_TOKEN", token(login, Role.OPERATOR))
    result = weir("rollback", "flights", "--to", "1", "--yes", "--wait")
    assert result.code == 7 and "does not have the permission 'rollback'" in result.err
    assert [one["state"] for one in weir("plans", "flights", "-o", "json").json] == ["DISCARDED"]


def test_a_job_can_restore_a_checkpoint_of_another_directory(with_checkpoints: Worker, weir: Weir) -> None:
    path = str(with_checkpoints.settings.data_dir / "checkpoints" / "old")
    result = weir("rollback", "flights", "--to-path", f"{path}#12", "--dry-run")
    assert result.code == 0, result.err
    for line in (
        "Restore job 'flights' (plan 1)",
        f"restores a copy of savepoint 12 of job 'old flights' in {path}; completed ",
        "abandons checkpoints 1, 2, 3 ",
        "revokes output in: files (an undo reinstates it)",
        "cannot revoke output in: console (readers can see records twice)",
        f"1. Verify the files of the checkpoint in {path}. If a file is damaged, the job stays unchanged.",
    ):
        assert line in result.out
    result = weir("rollback", "flights", "--to-path", path, "--yes", "--wait")
    assert result.code == 0, result.err
    assert "Applied plan 2: job 'flights' is RUNNING. To undo: weir undo flights --plan 2" in result.out
    assert with_checkpoints.starts(1)[-1] == {"mode": "path", "path": f"{path}#41"}
    assert "restore" in weir("plans", "flights").out
    assert weir("undo", "flights", "--yes", "--wait").code == 0
    assert with_checkpoints.starts(1)[-1] == {"mode": "from", "checkpoint": 4}


def test_a_directory_that_is_not_allowed_is_refused(with_checkpoints: Worker, weir: Weir) -> None:
    result = weir("rollback", "flights", "--to-path", "/etc", "--yes")
    assert result.code == 7 and "does not restore checkpoints from /etc" in result.err


@pytest.mark.parametrize("options", [(), ("--to", "1", "--to-path", "/x")])
def test_a_rollback_needs_exactly_one_target(with_checkpoints: Worker, weir: Weir, options: tuple[str, ...]) -> None:
    result = weir("rollback", "flights", *options)
    assert result.code == 2 and "Choose the target: --to ID for a checkpoint of this job, or --to-path PATH[#ID]" in result.err


def test_a_stateless_upgrade_starts_without_state_and_can_be_undone(
    with_checkpoints: Worker, weir: Weir, job_file: JobFile
) -> None:
    assert weir("deploy", job_file("new"), "--name", "flights", "--no-start", "--wait").code == 0
    result = weir("upgrade", "flights", "--mode", "stateless", "--dry-run")
    assert result.code == 0, result.err
    assert "starts without state: all input is read again" in result.out
    assert "3. Start version 2" not in result.out and "2. Start version 2 of the spec without state" in result.out
    result = weir("upgrade", "flights", "--mode", "stateless", "--wait", answers="y\n")
    assert result.code == 0, result.err
    assert with_checkpoints.starts(1)[-1] == {"mode": "from", "checkpoint": 0}
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 2 and "no state" in weir("plans", "flights").out
    assert weir("undo", "flights", "--yes", "--wait").code == 0
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 1


def test_an_upgrade_starts_the_newest_or_the_given_version(with_checkpoints: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file("new"), "--name", "flights", "--no-start", "--wait").code == 0
    result = weir("upgrade", "flights", "--yes", "--wait", "--output", "json")
    assert result.code == 0, result.err
    assert (result.json["plan"]["request"]["spec"], result.json["plan"]["request"]["mode"]) == (2, "savepoint")
    assert weir("upgrade", "flights", "--to", "1", "--mode", "last-state", "--yes", "--wait").code == 0
    assert weir("status", "flights", "-o", "json").json["spec_number"] == 1
    result = weir("upgrade", "flights", "--to", "9", "--yes")
    assert result.code == 2 and "no spec version 9" in result.err


def test_an_upgrade_with_incompatible_state_changes_nothing_and_the_error_names_the_incompatibility(
    with_checkpoints: Worker, weir: Weir, job_file: JobFile
) -> None:
    with_checkpoints.incompatibility = "aggregate 'sums' is keyed by x, but its state is keyed by y. Use a new uid."
    result = weir("deploy", job_file("new"), "--name", "flights", "--wait")
    assert result.code == 2 and "aggregate 'sums' is keyed by x" in result.err
    result = weir("rollback", "flights", "--to", "1", "--yes")
    assert (
        result.code == 2
        and "The checkpoint is not compatible: aggregate 'sums'" in result.err
        and "NOT COMPATIBLE: aggregate 'sums'" in result.out
    )
    assert {one["state"] for one in weir("plans", "flights", "-o", "json").json} == {"DISCARDED"}
    assert weir("status", "flights", "-o", "json").json["run"]["number"] == 1


def test_a_diff_shows_changed_settings_and_lines_of_code(flights: Worker, weir: Weir, job_file: JobFile) -> None:
    assert weir("deploy", job_file("new"), "--name", "flights", "--parallelism", "5", "--wait").code == 0
    result = weir("diff", "flights", "1", "2")
    assert result.code == 0 and "parallelism" in result.out and "-# \n+# new\n" in result.out
    assert weir("diff", "flights", "1", "2", "-o", "json").json["changes"][0]["path"] == "artifact"
    assert "Versions 2 and 2 have the same settings" in weir("diff", "flights", "2", "2").out
    assert weir("diff", "flights", "1", "9").code == 2
