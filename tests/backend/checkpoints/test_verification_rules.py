"""What follows from a look at files, and how long until the next try."""

from __future__ import annotations

import pytest
from tests.unit.storage.storage_builders import completed, fold, retired, started

from weir.protocol.log_view import LogView
from weir_backend.checkpoints.retention_rules import LogPresence, presence_in_log
from weir_backend.checkpoints.verification_rules import RETRY, RETRY_MAX, Damaged, Intact, Retired, retry_after, settle, summarize
from weir_backend.models import OperationState

VIEW = fold(started(1), completed(1, 1), completed(1, 2), completed(1, 3), retired(1, 1))


@pytest.mark.parametrize(
    ("view", "number", "generation", "said"),
    [
        (VIEW, 2, 1, LogPresence.KEPT),
        (VIEW, 1, 1, LogPresence.RETIRED),
        (VIEW, 4, 1, LogPresence.UNKNOWN),  # the log was set back to a backup
        (VIEW, 3, 1, LogPresence.KEPT),
        (VIEW, 1, 2, LogPresence.UNKNOWN),  # the generation that has completed it never began
        (LogView(), 1, 1, LogPresence.UNKNOWN),  # a directory that is not mounted is no log that has let go of everything
    ],
)
def test_only_a_log_that_reaches_as_far_can_say_that_a_checkpoint_is_retired(
    view: LogView, number: int, generation: int, said: LogPresence
) -> None:
    assert presence_in_log(view, number, generation) is said


def test_a_whole_one_is_verified_and_only_one_that_was_damaged_is_worth_a_word() -> None:
    first = settle(4, Intact(2, 10), damage_before=None)
    assert (first.verified, first.damage, first.retired, first.event) == (True, None, False, None)
    assert first.over.state is OperationState.SUCCEEDED
    assert first.over.result == {"checkpoint": 4, "intact": True, "damage": None, "files": 2, "bytes": 10}
    assert settle(4, Intact(2, 10), damage_before="it was").event == "CheckpointIntact"


def test_damage_is_told_once_and_again_when_it_is_another() -> None:
    found = settle(4, Damaged(("a is missing",)), damage_before=None)
    assert (found.verified, found.damage, found.retired, found.event) == (True, "a is missing", False, "CheckpointDamaged")
    assert found.over.state is OperationState.SUCCEEDED and found.over.result is not None
    assert found.over.result["intact"] is False, "the look has succeeded, the checkpoint has not"
    assert settle(4, Damaged(("a is missing",)), damage_before="a is missing").event is None
    assert settle(4, Damaged(("b is missing",)), damage_before="a is missing").event == "CheckpointDamaged"


def test_one_that_was_let_go_of_is_neither_whole_nor_damaged() -> None:
    found = settle(4, Retired(), damage_before=None)
    assert (found.verified, found.damage, found.retired, found.event) == (False, None, True, None)
    assert found.over.state is OperationState.FAILED and "retired" in (found.over.problem or "")


def test_much_damage_is_told_in_few_words() -> None:
    assert summarize(("a",)) == "a"
    assert summarize(("a", "b", "c")) == "a; b; c"
    assert summarize(("a", "b", "c", "d", "e")) == "a; b; c; and 2 more"


def test_the_wait_doubles_and_has_an_end() -> None:
    assert [retry_after(tries) for tries in range(3)] == [RETRY, RETRY * 2, RETRY * 4]
    assert retry_after(10_000) == RETRY_MAX
