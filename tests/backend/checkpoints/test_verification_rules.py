"""The outcome of a verification, and the time until its next retry."""

from __future__ import annotations

import pytest
from tests.unit.storage.storage_builders import completed, fold, retired, started

from weir.protocol.log_view import LogView
from weir_backend.checkpoints.retention_rules import LogPresence, presence_in_log
from weir_backend.checkpoints.verification_rules import RETRY, RETRY_MAX, Damaged, Intact, Retired, retry_after, settle, summarize
from weir_backend.models import OperationState

VIEW = fold(started(1), completed(1, 1), completed(1, 2), completed(1, 3), retired(1, 1))


@pytest.mark.parametrize(
    ("view", "number", "generation", "expected"),
    [
        (VIEW, 2, 1, LogPresence.KEPT),
        (VIEW, 1, 1, LogPresence.RETIRED),
        (VIEW, 4, 1, LogPresence.UNKNOWN),  # the job log was restored from a backup
        (VIEW, 3, 1, LogPresence.KEPT),
        (VIEW, 1, 2, LogPresence.UNKNOWN),  # the job log does not contain the generation of the checkpoint
        (LogView(), 1, 1, LogPresence.UNKNOWN),  # an empty log may mean that the directory is not mounted
    ],
)
def test_only_a_job_log_that_contains_the_checkpoint_can_mark_it_as_retired(
    view: LogView, number: int, generation: int, expected: LogPresence
) -> None:
    assert presence_in_log(view, number, generation) is expected


def test_an_intact_checkpoint_causes_an_event_only_if_it_was_damaged_before() -> None:
    first = settle(4, Intact(2, 10), damage_before=None)
    assert (first.verified, first.damage, first.retired, first.event) == (True, None, False, None)
    assert first.over.state is OperationState.SUCCEEDED
    assert first.over.result == {"checkpoint": 4, "intact": True, "damage": None, "files": 2, "bytes": 10}
    assert settle(4, Intact(2, 10), damage_before="a is missing").event == "CheckpointIntact"


def test_damage_causes_an_event_only_if_it_is_new() -> None:
    found = settle(4, Damaged(("a is missing",)), damage_before=None)
    assert (found.verified, found.damage, found.retired, found.event) == (True, "a is missing", False, "CheckpointDamaged")
    assert found.over.state is OperationState.SUCCEEDED and found.over.result is not None
    assert found.over.result["intact"] is False, "the verification succeeds, although the checkpoint is damaged"
    assert settle(4, Damaged(("a is missing",)), damage_before="a is missing").event is None
    assert settle(4, Damaged(("b is missing",)), damage_before="a is missing").event == "CheckpointDamaged"


def test_a_retired_checkpoint_is_neither_intact_nor_damaged() -> None:
    found = settle(4, Retired(), damage_before=None)
    assert (found.verified, found.damage, found.retired, found.event) == (False, None, True, None)
    assert found.over.state is OperationState.FAILED and "retired" in (found.over.problem or "")


def test_a_long_list_of_damage_is_shortened() -> None:
    assert summarize(("a",)) == "a"
    assert summarize(("a", "b", "c")) == "a; b; c"
    assert summarize(("a", "b", "c", "d", "e")) == "a; b; c; and 2 more"


def test_the_retry_delay_doubles_up_to_a_maximum() -> None:
    assert [retry_after(tries) for tries in range(3)] == [RETRY, RETRY * 2, RETRY * 4]
    assert retry_after(10_000) == RETRY_MAX
