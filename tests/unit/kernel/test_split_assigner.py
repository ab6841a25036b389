"""Splits that are discovered while a job runs: their assignment, the state in the manifest, and the time of the next discovery."""

from __future__ import annotations

from kernel_cases import SOURCE, split_list

from weir.kernel.split_assigner import (
    RETRY_MS,
    RETRY_MS_MAX,
    SLOW_MS,
    WORK_SHARE,
    Assignment,
    SplitAssigner,
    SplitDiscovery,
    SplitList,
)
from weir.protocol.ids import CheckpointId
from weir.protocol.manifest import AssignerState, count_finished
from weir.protocol.snapshots import OperatorSnapshot, Split

START = split_list(known={"files": 0})


def growing(*lists: SplitList) -> SplitAssigner:
    assigner = SplitAssigner(lists or (START,))
    assigner.may_grow = True
    return assigner


def finished(state: AssignerState, *unfinished: Split) -> AssignerState:
    """Return the state in the manifest of a checkpoint in which ``unfinished`` are the unfinished splits of the source."""
    return count_finished({SOURCE: state}, [OperatorSnapshot(SOURCE, 0, splits=unfinished)])[SOURCE]


def test_a_request_waits_until_a_split_is_discovered() -> None:
    assigner, found = growing(), split_list("a", "b", known={"files": 2})
    assert [assigner.request(subtask, CheckpointId(1)) for subtask in (1, 0, 2)] == [[], [], []]
    assert assigner.discovered({"files": 0}, None, CheckpointId(1)) == []
    assert assigner.discovered(found.known, found, CheckpointId(1)) == [
        Assignment(1, found.splits[0]),
        Assignment(0, found.splits[1]),
    ]
    assert (assigner.known, assigner.end, assigner.unassigned) == (found.known, 2, 0)
    assert assigner.stop_growing(CheckpointId(1)) == [Assignment(2, None)]


def test_splits_of_all_lists_are_assigned_in_the_order_of_their_discovery() -> None:
    lists = (split_list("a", "b"), split_list(first=2, known="0"), split_list("c", first=2), split_list("d", "e", first=3))
    assigner = growing(*lists)
    answers = [one.split for _ in range(5) for one in assigner.request(0, CheckpointId(1))]
    assert answers == [split for one in lists for split in one.splits]
    assert [split and split.index for split in answers] == [0, 1, 2, 3, 4]


def test_the_state_of_a_manifest_contains_only_split_lists_that_a_restore_needs() -> None:
    lists = (split_list("a", "b"), split_list("c", first=2), split_list("d", first=3), split_list(first=4, known="4"))
    assigner = growing(*lists)
    for _ in range(3):
        assigner.request(0, CheckpointId(1))
    begun = Split("b", None, 7, 1)
    assert finished(assigner.snapshot(), begun).split_lists == tuple(lists[at].reference for at in (0, 2, 3))
    state = finished(assigner.snapshot())
    assert (state.split_lists, state.finished, state.next) == ((lists[2].reference, lists[3].reference), 3, 3)

    newest = split_list("e", first=4, known="5")
    assigner.discovered("5", newest, CheckpointId(1))
    assigner.on_completed(CheckpointId(1), state.split_lists)
    kept = tuple(one.reference for one in (lists[2], lists[3], newest))
    assert assigner.snapshot() == AssignerState((), 3, kept, 3)
    assert [one.split and one.split.id for _ in range(2) for one in assigner.request(0, CheckpointId(1))] == ["d", "e"]


def test_a_restored_assigner_finds_the_payload_of_a_split_in_any_list() -> None:
    lists = (split_list("a", "b"), split_list("c", first=7), split_list("d", first=9, known="10"))
    state = AssignerState((Split("c", None, 3, 7),), 8, tuple(one.reference for one in lists), 9)
    assigner = SplitAssigner.restored(state, [Split("b", None, 5, 1)], lists)
    assert (assigner.known, assigner.unassigned) == ("10", 3)
    answers = [one.split for _ in range(4) for one in assigner.request(0, CheckpointId(1))]
    assert answers == [Split("b", "payload of b", 5, 1), Split("c", "payload of c", 3, 7), lists[2].splits[0], None]


def test_a_discovery_follows_after_the_interval_and_takes_a_limited_share_of_the_time() -> None:
    discovery = SplitDiscovery(100)
    assert discovery.is_due(0)
    discovery.start(0)
    assert not discovery.is_due(10_000), "at most one discovery runs"
    assert not discovery.succeeded(5)
    assert (discovery.is_due(104), discovery.is_due(105)) == (False, True)
    discovery.start(200)
    discovery.succeeded(1_200)
    pause_ms = (WORK_SHARE - 1) * 1_000
    assert (discovery.is_due(1_200 + pause_ms - 1), discovery.is_due(1_200 + pause_ms)) == (False, True)


def test_a_discovery_that_has_ended_is_not_reported_as_slow() -> None:
    once = SplitDiscovery(None)
    once.start(0)
    once.failed("unreachable", 50)
    assert not once.is_slow(SLOW_MS)
    once.start(SLOW_MS)
    once.succeeded(SLOW_MS + 50)
    assert not once.is_slow(3 * SLOW_MS) and not once.is_due(3 * SLOW_MS)


def test_a_slow_discovery_is_reported_once() -> None:
    discovery = SplitDiscovery(100)
    assert not discovery.is_slow(SLOW_MS)
    for start_ms in (0, 10 * SLOW_MS):
        discovery.start(start_ms)
        reported = [discovery.is_slow(start_ms + after_ms) for after_ms in (SLOW_MS - 1, SLOW_MS, 2 * SLOW_MS)]
        assert reported == [False, True, False]
        discovery.succeeded(start_ms + 3 * SLOW_MS)
        assert not discovery.is_slow(start_ms + 4 * SLOW_MS)


def test_a_failed_discovery_is_retried_with_increasing_delays_and_reported_once() -> None:
    discovery, now_ms = SplitDiscovery(100), 0
    for delay_ms in (
        RETRY_MS,
        2 * RETRY_MS,
        4 * RETRY_MS,
        8 * RETRY_MS,
        16 * RETRY_MS,
        32 * RETRY_MS,
        RETRY_MS_MAX,
        RETRY_MS_MAX,
    ):
        discovery.start(now_ms)
        assert discovery.failed("gone", now_ms) == (now_ms == 0)
        assert not discovery.is_due(now_ms + delay_ms - 1)
        now_ms += delay_ms
        assert discovery.is_due(now_ms)
    discovery.start(now_ms)
    assert discovery.failed("denied", now_ms), "another failure is reported"
    assert discovery.succeeded(now_ms), "the end of the failures is reported"
    assert not discovery.succeeded(now_ms)


def test_a_source_that_is_not_followed_is_discovered_until_one_discovery_succeeds() -> None:
    discovery = SplitDiscovery(None)
    discovery.start(0)
    discovery.failed("gone", 0)
    assert discovery.is_due(RETRY_MS)
    discovery.start(RETRY_MS)
    discovery.succeeded(RETRY_MS)
    assert not discovery.is_due(10**9)
