"""The reasons why a checkpoint is kept, computed from rows of the database."""

from __future__ import annotations

from typing import Any

from weir_backend.actions.rules import Refusal
from weir_backend.checkpoints.retention_rules import UNDO_PIN, Branches, branches_of, kept_because
from weir_backend.models import PinHolder

LINEAR = branches_of({1: 1, 2: 1, 3: 2, 4: 2}, {})


def reasons(number: int, **changed: Any) -> list[str]:
    facts: dict[str, Any] = {
        "pins": [], "pin_in_force": False, "is_savepoint": False, "references": {}, "newest": 4, "newest_undamaged": None,
        "branches": LINEAR, "retained": 2,
    }  # fmt: skip
    return kept_because(number, **facts | changed)


def test_a_restart_starts_no_branch() -> None:
    assert Branches(frozenset({1, 2, 3, 4}), frozenset()) == LINEAR


def test_a_rollback_abandons_the_checkpoints_after_its_target() -> None:
    assert branches_of({1: 1, 2: 1, 3: 1, 4: 2}, {2: 1}) == Branches(frozenset({1, 4}), frozenset({1}))


def test_after_an_undo_the_abandoned_branch_is_the_current_branch() -> None:
    assert branches_of({1: 1, 2: 1, 3: 1, 4: 2, 5: 3}, {2: 1, 3: 3}) == Branches(frozenset({1, 2, 3, 5}), frozenset({1}))


def test_a_branch_that_starts_at_a_deleted_checkpoint_has_no_branch_point() -> None:
    assert branches_of({3: 1, 4: 2}, {2: 1}) == Branches(frozenset({4}), frozenset())


def test_a_start_without_state_abandons_all_checkpoints() -> None:
    assert branches_of({1: 1, 2: 2}, {2: None}) == Branches(frozenset({2}), frozenset())


def test_the_newest_checkpoint_and_each_retained_checkpoint_have_a_reason_to_be_kept() -> None:
    assert reasons(4) == ["The job resumes from this checkpoint, because it is the newest."]
    assert reasons(3) == ["This checkpoint is one of the newest 2 checkpoints, which the job retains."]
    assert reasons(2) == []


def test_the_newest_checkpoint_without_known_damage_has_a_reason_to_be_kept() -> None:
    assert reasons(2, newest_undamaged=2) == ["This checkpoint is the newest checkpoint without known damage."]
    assert reasons(4, newest_undamaged=4) == ["The job resumes from this checkpoint, because it is the newest."]


def test_a_savepoint_and_an_abandoned_checkpoint_stay_until_a_user_deletes_them() -> None:
    assert reasons(1, is_savepoint=True) == ["This checkpoint is a savepoint, so it stays until a user deletes it."]
    rolled_back = branches_of({1: 1, 2: 1, 4: 2}, {2: 1})
    assert reasons(2, branches=rolled_back) == ["This checkpoint is on an abandoned branch, so it stays until a user deletes it."]
    assert reasons(1, branches=rolled_back, retained=1) == ["An abandoned branch starts at this checkpoint."]


def test_a_checkpoint_that_is_pinned_for_an_undo_has_only_one_reason_to_be_kept() -> None:
    assert reasons(1, pins=[(PinHolder.USER, "", "before the release")]) == [
        "This checkpoint is pinned: before the release (not yet in the job log)."
    ]
    assert reasons(1, pins=[(PinHolder.USER, "", "")], pin_in_force=True) == ["This checkpoint is pinned."]
    undo = Refusal("referenced", "Until 2026-06-08, an undo of plan 3 would return to this checkpoint.", "Wait until that date.")
    of_undo = (PinHolder.UNDO, "", f"{UNDO_PIN}3 would return to it")
    assert reasons(1, pins=[of_undo], references={1: [undo]}) == [undo.reason]
    pins = [(PinHolder.USER, "ann", "before the release"), (PinHolder.USER, "bob", ""), of_undo]
    assert reasons(1, pins=pins, pin_in_force=True, references={1: [undo]}) == [
        "This checkpoint is pinned by ann: before the release.", "This checkpoint is pinned by bob.", undo.reason,
    ]  # fmt: skip
