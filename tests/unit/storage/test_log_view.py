"""The view that is computed from the entries of a job log."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.storage.storage_builders import abandoned, completed, fold, pinned, published, reinstated, retired, started

from weir.errors import CheckpointError
from weir.protocol import codec, log_view
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.job_log import CheckpointCompleted, Entry, LogSummarised, decode_entry, encode_entry
from weir.protocol.log_view import GENERATIONS_REMEMBERED, RETIRED_REMEMBERED, CheckpointStatus, LogView, base_view, summary


def _ids(view: LogView) -> list[int]:
    return [record.checkpoint for record in view.restorable]


def test_a_new_job_has_nothing_to_restore() -> None:
    view = LogView()
    assert (view.newest, view.restorable, view.next_generation, view.next_checkpoint) == (None, (), 1, 1)
    assert view.branch_after(None, view.next_generation) == "b1"


def test_restorable_checkpoints_are_listed_in_the_order_of_their_completion() -> None:
    view = fold(started(1), completed(1, 1), completed(1, 2), completed(1, 5))
    assert _ids(view) == [1, 2, 5]
    assert view.newest is not None
    assert view.newest.checkpoint == 5
    assert view.next_checkpoint == 6


def test_a_recovery_continues_the_same_branch() -> None:
    view = fold(started(1), completed(1, 1), completed(1, 2))
    assert view.branch_after(CheckpointId(2), view.next_generation) == "b1"
    view = view.apply(started(2, restored_from=2, first_checkpoint=4)).apply(completed(2, 4))
    assert _ids(view) == [1, 2, 4]
    assert view.abandonment_due == ()


def test_a_rollback_abandons_all_later_checkpoints_and_starts_a_branch() -> None:
    view = fold(started(1), completed(1, 1), completed(1, 2), completed(1, 3))
    assert view.abandoned_by(CheckpointId(1)) == (2, 3)
    assert view.branch_after(CheckpointId(1), view.next_generation) == "b2"
    view = view.apply(started(2, restored_from=1, branch="b2", first_checkpoint=4)).apply(completed(2, 4))
    assert _ids(view) == [1, 4]
    assert [view.status(CheckpointId(one)) for one in (1, 2, 3, 4)] == ["restorable", "abandoned", "abandoned", "restorable"]
    assert [(record.checkpoint, record.branch, record.after) for record in view.abandonment_due] == [(2, "b1", 1), (3, "b1", 1)]
    view = view.apply(abandoned(2, "b1", 1, 2, 3))
    assert view.abandonment_due == ()
    assert [record.checkpoint for record in view.withdrawn] == [2, 3]


def test_a_start_without_state_abandons_all_checkpoints() -> None:
    view = fold(started(1), completed(1, 1), started(2, branch="b2", first_checkpoint=2))
    assert view.newest is None
    assert [record.checkpoint for record in view.abandonment_due] == [1]
    assert view.branch_after(None, view.next_generation) == "b2"


def test_an_undo_returns_to_the_abandoned_branch_and_reinstates_its_output() -> None:
    view = fold(
        started(1), completed(1, 1), completed(1, 2), completed(1, 3),
        started(2, restored_from=1, branch="b2", first_checkpoint=4), abandoned(2, "b1", 1, 2, 3), completed(2, 4),
    )  # fmt: skip
    assert view.branch_after(CheckpointId(3), view.next_generation) == "b1"
    view = view.apply(started(3, restored_from=3, branch="b1", first_checkpoint=5))
    assert _ids(view) == [1, 2, 3]
    assert [record.checkpoint for record in view.reinstatement_due] == [2, 3]
    assert [record.checkpoint for record in view.abandonment_due] == [4]
    view = view.apply(reinstated(3, "b1", 2, 3)).apply(abandoned(3, "b2", 1, 4))
    assert (view.reinstatement_due, view.abandonment_due) == ((), ())
    assert [record.checkpoint for record in view.withdrawn] == [4]


def test_a_restore_of_a_checkpoint_inside_an_abandoned_branch_starts_a_new_branch() -> None:
    view = fold(started(1), completed(1, 1), completed(1, 2), completed(1, 3), started(2, branch="b2", first_checkpoint=4))
    assert view.branch_after(CheckpointId(2), view.next_generation) == "b3"


def test_an_undo_is_possible_before_the_abandonment_is_recorded_in_the_log() -> None:
    view = fold(
        started(1), completed(1, 1), completed(1, 2),
        started(2, restored_from=1, branch="b2", first_checkpoint=3),
        started(3, restored_from=2, branch="b1", first_checkpoint=3),
    )  # fmt: skip
    assert view.abandonment_due == ()
    assert [record.checkpoint for record in view.reinstatement_due] == [2]


def test_a_branch_can_be_abandoned_again_before_its_reinstatement_is_recorded_in_the_log() -> None:
    view = fold(
        started(1), completed(1, 1), completed(1, 2),
        started(2, restored_from=1, branch="b2", first_checkpoint=3), abandoned(2, "b1", 1, 2),
        started(3, restored_from=2, branch="b1", first_checkpoint=3),
        started(4, restored_from=1, branch="b4", first_checkpoint=3),
    )  # fmt: skip
    assert [record.checkpoint for record in view.abandonment_due] == [2]
    assert view.withdrawn == ()


def test_the_view_lists_an_abandoned_branch_until_a_log_entry_records_the_abandonment() -> None:
    view = fold(
        started(1), completed(1, 1), completed(1, 2),
        started(2, restored_from=1, branch="b2", first_checkpoint=3),
        started(3, restored_from=1, branch="b2", first_checkpoint=3),
    )  # fmt: skip
    assert [record.checkpoint for record in view.abandonment_due] == [2]
    assert view.apply(abandoned(3, "b1", 1, 2)).abandonment_due == ()


def test_the_ancestry_of_a_checkpoint_goes_back_to_the_first_checkpoint_of_the_job() -> None:
    view = fold(
        started(1), completed(1, 1), completed(1, 2), completed(1, 3),
        started(2, restored_from=2, branch="b2", first_checkpoint=4), completed(2, 4), completed(2, 5),
        started(3, restored_from=4, branch="b3", first_checkpoint=6), completed(3, 6),
    )  # fmt: skip
    assert _ids(view) == [1, 2, 4, 6]
    assert view.ancestry(CheckpointId(5)) == (1, 2, 4, 5)
    assert view.ancestry(CheckpointId(3)) == (1, 2, 3)
    assert view.retired == ()
    view = view.apply(retired(3, 2, 4))
    assert view.ancestry(CheckpointId(6)) == (1, 6), "the ancestry of a checkpoint includes retired checkpoints"


def test_an_entry_of_a_fenced_generation_has_no_effect() -> None:
    view = fold(started(1), completed(1, 1), started(2, restored_from=1, first_checkpoint=2))
    for late in (completed(1, 2), retired(1, 1), pinned(1, 1), abandoned(1, "b1", 1), started(2, first_checkpoint=2), started(1)):
        assert view.is_stale(late)
        assert replace(view.apply(late), ignored_entries=0) == view
        assert view.apply(late).ignored_entries == 1


def test_the_error_for_the_restore_of_a_retired_checkpoint_names_the_checkpoint() -> None:
    view = fold(started(1), *(completed(1, number) for number in range(1, 5)), retired(1, 1, 2))
    assert _ids(view) == [3, 4]
    assert view.status(CheckpointId(1)) is CheckpointStatus.RETIRED
    with pytest.raises(CheckpointError, match=r"checkpoint 2 is retired.*newest restorable checkpoints: 3, 4"):
        view.restore_point(CheckpointId(2))
    with pytest.raises(CheckpointError, match=r"checkpoint 9 does not exist"):
        view.restore_point(CheckpointId(9))
    assert view.restore_point(CheckpointId(3)).manifest_path == "checkpoints/3/manifest-g1.json"


def test_the_id_of_a_checkpoint_that_did_not_complete_is_not_used_again() -> None:
    view = fold(started(1), completed(1, 1), started(2, restored_from=1, first_checkpoint=9))
    assert view.next_checkpoint == 9
    assert "already used" in (view.objection(completed(2, 8)) or "")
    assert view.apply(completed(2, 9)).next_checkpoint == 10


def test_a_published_checkpoint_has_only_published_ancestors() -> None:
    view = fold(started(1), completed(1, 1), completed(1, 2), completed(1, 3), published(1, 2))
    assert [record.published for record in view.kept] == [True, True, False]
    assert [view.published_up_to(CheckpointId(one)) for one in (1, 2, 3)] == [1, 2, 2]
    assert view.apply(published(1, 2)) == view, "a repeated entry does not change the view"
    rolled_back = view.apply(started(2, restored_from=1, branch="b2", first_checkpoint=4)).apply(completed(2, 4))
    assert rolled_back.published_up_to(CheckpointId(4)) == 1
    assert rolled_back.published_up_to(CheckpointId(3)) == 2


def test_a_retired_checkpoint_counts_as_published_for_the_checkpoints_that_descend_from_it() -> None:
    view = fold(started(1), completed(1, 1), published(1, 1), completed(1, 2), completed(1, 3), retired(1, 1, 2))
    assert view.published_up_to(CheckpointId(3)) == 1
    view = base_view(summary(view, nonce="s", timestamp_ms=1))
    view = view.apply(started(2, restored_from=3, first_checkpoint=4)).apply(completed(2, 4))
    assert view.published_up_to(CheckpointId(4)) == 1
    assert view.apply(retired(2, 3)).published_up_to(CheckpointId(4)) == 1
    without_state = view.apply(started(3, branch="b3", first_checkpoint=5)).apply(completed(3, 5))
    assert without_state.published_up_to(CheckpointId(5)) == 0, "checkpoint 5 does not descend from checkpoint 1"


def test_a_summary_of_an_older_weir_version_has_no_published_checkpoints() -> None:
    entry = summary(fold(started(1), completed(1, 1), published(1, 1)), nonce="s", timestamp_ms=1)
    assert isinstance(entry.view, dict)
    for record in entry.view["kept"]:  # type: ignore[union-attr]  # a list of records
        del record["published"]  # type: ignore[union-attr,arg-type]  # a record is an object
    assert base_view(entry).published_up_to(CheckpointId(1)) == 0


def test_a_completed_savepoint_is_pinned_and_can_be_unpinned() -> None:
    view = fold(started(1), completed(1, 1, savepoint=True), completed(1, 2))
    assert view.pinned == (1,)
    assert view.apply(pinned(1, 2)).pinned == (1, 2)
    assert view.apply(pinned(1, 1, pin=False)).pinned == ()


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (completed(2, 3), "generation 2 has not started"),
        (completed(1, 2), "already used"),
        (started(2, restored_from=7, first_checkpoint=3), "checkpoint 7 is retired or never completed"),
        (started(2, restored_from=2, first_checkpoint=2), "already used"),
        (retired(1), "contains no checkpoint"),
        (retired(1, 2), "newest"),
        (retired(1, 1), "pinned"),
        (retired(1, 9), "never completed"),
        (pinned(1, 9), "never completed"),
        (published(1, 9), "never completed"),
        (abandoned(1, "b1", 0, 2), "the entry contains checkpoints that need no revocation on branch b1"),
        (reinstated(1, "b1", 2), "need no reinstatement"),
    ],
)
def test_an_entry_that_contradicts_the_view_is_refused(entry: Entry, reason: str) -> None:
    view = fold(started(1), completed(1, 1, savepoint=True), completed(1, 2))
    assert reason in (view.objection(entry) or "")
    with pytest.raises(CheckpointError, match=reason):
        view.apply(entry)


def test_the_size_of_a_view_does_not_grow_with_the_number_of_retired_checkpoints() -> None:
    view = fold(started(1), completed(1, 1))
    for number in range(2, 3 * RETIRED_REMEMBERED):
        view = view.apply(completed(1, number)).apply(retired(1, number - 1))
    assert len(view.kept) == 1
    assert [record.checkpoint for record in view.retired] == list(range(2 * RETIRED_REMEMBERED - 1, 3 * RETIRED_REMEMBERED - 1))


@st.composite
def _valid_logs(draw: st.DrawFn) -> list[Entry]:
    """Draw a random valid log."""
    entries: list[Entry] = []
    view = LogView()
    for _ in range(draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(["start", "complete", "complete", "publish", "retire", "pin", "abandon", "reinstate"]))
        generation, kept = view.generation, [record.checkpoint for record in view.kept]
        skipped = draw(st.integers(0, 2))
        entry: Entry
        if kind == "start" or not generation:
            restored = draw(st.sampled_from([None, *kept]))
            branch = view.branch_after(restored, view.next_generation)
            first = view.next_checkpoint + skipped
            entry = started(view.next_generation, restored_from=restored, branch=branch, first_checkpoint=first)
        elif kind == "complete":
            entry = completed(generation, view.next_checkpoint + skipped, savepoint=draw(st.booleans()))
        elif kind == "publish" and kept:
            entry = published(generation, draw(st.sampled_from(kept)))
        elif kind == "abandon" and view.abandonment_due:
            record = draw(st.sampled_from(view.abandonment_due))
            entry = abandoned(generation, record.branch, record.after, record.checkpoint)
        elif kind == "reinstate" and view.reinstatement_due:
            record = draw(st.sampled_from(view.reinstatement_due))
            entry = reinstated(generation, record.branch, record.checkpoint)
        elif kept:
            one = draw(st.sampled_from(kept))
            entry = retired(generation, one) if kind == "retire" else pinned(generation, one, draw(st.booleans()))
        else:
            continue
        if view.objection(entry) is None:
            view = view.apply(entry)
            entries.append(entry)
    return entries


@given(_valid_logs())
def test_in_every_valid_log_all_checkpoints_of_the_current_branch_can_be_restored(entries: list[Entry]) -> None:
    view, ids, visible = LogView(), set[int](), set[int]()
    for entry in entries:
        before = view
        view = view.apply(entry)
        kept = [record.checkpoint for record in view.kept]
        assert view.highest_checkpoint >= before.highest_checkpoint
        assert kept == sorted(set(kept))
        assert set(view.current) | set(view.pinned) <= set(kept)
        assert not {record.checkpoint for record in view.retired} & set(kept)
        if view.newest is not None:
            assert view.ancestry(view.newest.checkpoint) == view.current
        for record in view.kept:
            assert (record.checkpoint in ids) == (before.find(record.checkpoint) is not None), (
                "each checkpoint id is used only once"
            )
        ids |= set(kept)
        # Sinks that complete all due revocations and reinstatements publish exactly the output of the current branch.
        visible |= set(view.current)
        visible -= {record.checkpoint for record in view.abandonment_due} | {record.checkpoint for record in view.withdrawn}
        visible |= {record.checkpoint for record in view.reinstatement_due}
        assert visible & set(kept) == set(view.current)


def _unbounded(entries: list[Entry]) -> LogView:
    with patch.object(log_view, "GENERATIONS_REMEMBERED", 1_000):
        return fold(*entries)


@given(_valid_logs(), st.integers(1, 3))
def test_a_limit_on_the_number_of_generation_records_does_not_change_ancestries(entries: list[Entry], remembered: int) -> None:
    completed_in = [(entry.generation, entry.checkpoint) for entry in entries if isinstance(entry, CheckpointCompleted)]
    everything = _unbounded(entries)
    with patch.object(log_view, "GENERATIONS_REMEMBERED", remembered):
        view = fold(*entries)
    assert replace(view, generations=()) == replace(everything, generations=())
    assert view.generations[-remembered:] == everything.generations[-remembered:]
    for kept in (None, *(record.checkpoint for record in view.kept)):
        assert view.ancestry(kept) == everything.ancestry(kept)
        bounded, limits = view.ancestry_limits(kept), everything.ancestry_limits(kept)
        for generation, checkpoint in completed_in:
            ancestor = checkpoint <= limits.get(generation, CheckpointId(0))
            assert (checkpoint <= bounded.get(generation, CheckpointId(0))) == ancestor


def test_the_size_of_a_view_does_not_grow_with_the_number_of_restarts() -> None:
    view = LogView()
    for generation in range(1, 4 * GENERATIONS_REMEMBERED):
        restored = view.newest.checkpoint if view.newest is not None else None
        view = view.apply(started(generation, restored_from=restored, first_checkpoint=view.next_unused_checkpoint))
        if generation % 3:  # every third generation fails before its first checkpoint
            view = view.apply(completed(generation, view.next_checkpoint))
            view = view.apply(retired(generation, *view.current[:-3])) if len(view.current) > 3 else view
    assert len(view.generations) == GENERATIONS_REMEMBERED + 1
    oldest = view.generations[0]
    assert (oldest.first, oldest.restored_from) == (1, None)
    with_checkpoints = {one for one in range(1, view.kept[0].generation + 1) if one % 3}
    assert with_checkpoints <= set(view.ancestry_limits(view.current[0]))


def test_a_view_drops_old_generations_that_are_not_ancestors_of_a_kept_checkpoint() -> None:
    view = fold(started(1), completed(1, 1))
    for generation in range(2, 3 * GENERATIONS_REMEMBERED):
        first = view.next_unused_checkpoint
        view = view.apply(started(generation, restored_from=1, branch=f"b{generation}", first_checkpoint=first))
        view = view.apply(completed(generation, first))
        abandoned_now = [record.checkpoint for record in view.abandoned]
        view = view.apply(retired(generation, *abandoned_now)) if abandoned_now else view
    assert len(view.generations) == GENERATIONS_REMEMBERED + 1
    assert view.generations[0].first == 1


def test_generations_that_an_older_weir_version_recorded_are_not_joined_into_one_record() -> None:
    older = _unbounded([started(1), completed(1, 1), started(2, restored_from=1, first_checkpoint=2), completed(2, 2)])
    text = codec.to_json(older)
    assert isinstance(text, dict) and isinstance(text["generations"], list)
    for record in text["generations"]:
        assert isinstance(record, dict)
        del record["continues"], record["first_generation"]
    with patch.object(log_view, "GENERATIONS_REMEMBERED", 1):
        view = base_view(LogSummarised(Generation(2), text, "n", 7))
        view = view.apply(started(3, restored_from=2, first_checkpoint=3)).apply(completed(3, 3))
        view = view.apply(started(4, restored_from=3, first_checkpoint=4))
    assert [(record.first, record.generation) for record in view.generations] == [(1, 1), (2, 3), (4, 4)]
    assert view.ancestry_limits(CheckpointId(3)) == {1: 1, 2: 3, 3: 3}


@given(_valid_logs())
def test_log_entries_and_log_views_round_trip_through_their_encoding(entries: list[Entry]) -> None:
    assert [decode_entry(encode_entry(entry)) for entry in entries] == entries
    view = fold(*entries)
    assert codec.loads(LogView, codec.dumps(view)) == view


@given(_valid_logs(), st.data())
def test_a_summary_replaces_all_entries_before_it(entries: list[Entry], data: st.DataObject) -> None:
    """Reading the summary and the later entries gives the same view as reading all entries, byte for byte."""
    cut = data.draw(st.integers(1, len(entries)))
    before, complete = fold(*entries[:cut]), fold(*entries)
    entry = summary(before, nonce="n", timestamp_ms=7)
    decoded = decode_entry(encode_entry(entry))
    assert decoded == entry
    assert encode_entry(decoded) == encode_entry(entry)
    assert isinstance(decoded, LogSummarised)
    for view in (before.apply(decoded), base_view(decoded)):
        for later in entries[cut:]:
            view = view.apply(later)
        assert codec.dumps(view) == codec.dumps(complete)


def test_the_summary_of_a_fenced_generation_has_no_effect() -> None:
    view = fold(started(1), completed(1, 1))
    entry = summary(view, nonce="n", timestamp_ms=7)
    later = view.apply(started(2, restored_from=1, first_checkpoint=5))
    assert later.is_stale(entry)
    assert later.apply(entry).ignored_entries == 1
    with pytest.raises(CheckpointError, match="its view has generation 1"):
        base_view(replace(entry, generation=Generation(2)))
