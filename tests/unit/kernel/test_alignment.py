"""Barrier alignment, which implements Algorithm 1 of the ABS paper (Carbone et al., 2015) and extends it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weir.kernel.alignment import Aligner, AlignmentAborted, CheckpointMode, TakeSnapshot
from weir.protocol.ids import ChannelId, CheckpointId

A, B, C = ChannelId(0, 0, 0), ChannelId(0, 1, 0), ChannelId(1, 0, 0)


def aligner(*channels: ChannelId, last: int = 0) -> Aligner:
    return Aligner(channels or (A, B), mode=CheckpointMode.EXACTLY_ONCE, last=CheckpointId(last))


def barrier(to: Aligner, channel: ChannelId, checkpoint: int, at_ns: int = 0) -> list[object]:
    return list(to.on_barrier(channel, CheckpointId(checkpoint), now_ns=at_ns))


def test_a_channel_is_blocked_after_its_barrier_until_all_channels_have_delivered_the_barrier() -> None:
    aligning = aligner(A, B, C)
    assert barrier(aligning, A, 1, 10) == []
    assert barrier(aligning, C, 1, 20) == []
    assert [aligning.is_blocked(channel) for channel in (A, B, C)] == [True, False, True]
    assert barrier(aligning, B, 1, 35) == [TakeSnapshot(CheckpointId(1), 25)]
    assert not any(aligning.is_blocked(channel) for channel in (A, B, C))


def test_a_subtask_with_one_input_takes_its_snapshot_immediately() -> None:
    assert barrier(aligner(A), A, 7) == [TakeSnapshot(CheckpointId(7), 0)]


def test_a_barrier_of_an_old_checkpoint_has_no_effect() -> None:
    aligning = aligner(last=3)
    assert barrier(aligning, A, 3) == []
    assert barrier(aligning, A, 2) == []
    assert not aligning.is_blocked(A)
    assert aligning.current is None


def test_a_barrier_older_than_the_current_alignment_has_no_effect() -> None:
    aligning = aligner()
    barrier(aligning, A, 5)
    assert barrier(aligning, B, 4) == []
    assert not aligning.is_blocked(B)
    assert aligning.current == 5


def test_a_barrier_of_a_newer_checkpoint_aborts_the_current_alignment() -> None:
    aligning = aligner()
    barrier(aligning, A, 1)
    assert barrier(aligning, B, 2) == [AlignmentAborted(CheckpointId(1))]
    assert not aligning.is_blocked(A)
    assert aligning.is_blocked(B)
    assert barrier(aligning, A, 2) == [TakeSnapshot(CheckpointId(2), 0)]


def test_an_alignment_does_not_wait_for_the_barrier_of_an_ended_input() -> None:
    aligning = aligner()
    barrier(aligning, A, 1)
    assert aligning.on_end(B, now_ns=9) == [TakeSnapshot(CheckpointId(1), 9)]
    assert barrier(aligning, A, 2) == [TakeSnapshot(CheckpointId(2), 0)], "an ended channel delivers no barrier"


def test_an_abort_unblocks_the_channels_of_its_checkpoint_permanently() -> None:
    aligning = aligner()
    barrier(aligning, A, 1)
    assert aligning.on_aborted(CheckpointId(1)) == [AlignmentAborted(CheckpointId(1))]
    assert not aligning.is_blocked(A)
    assert barrier(aligning, B, 1) == []
    assert not aligning.is_blocked(B)


def test_barriers_that_arrive_after_an_abort_of_their_checkpoint_have_no_effect() -> None:
    aligning = aligner()
    assert aligning.on_aborted(CheckpointId(1)) == []
    assert barrier(aligning, A, 1) == []
    assert barrier(aligning, A, 2) == []
    assert aligning.is_blocked(A)


def test_an_abort_of_an_older_checkpoint_does_not_affect_the_current_alignment() -> None:
    aligning = aligner()
    barrier(aligning, A, 2)
    assert aligning.on_aborted(CheckpointId(1)) == []
    assert aligning.is_blocked(A)


@given(st.lists(st.tuples(st.sampled_from("bae"), st.integers(0, 2), st.integers(1, 5)), max_size=40))
def test_a_snapshot_is_taken_once_after_all_open_channels_have_delivered_the_barrier(
    steps: list[tuple[str, int, int]],
) -> None:
    channels = (A, B, C)
    aligning = aligner(*channels)
    taken: list[int] = []
    aborted: set[int] = set()
    newest: dict[ChannelId, set[int]] = {channel: set() for channel in channels}
    for kind, which, checkpoint in steps:
        channel = channels[which]
        if kind == "a":
            effects = aligning.on_aborted(CheckpointId(checkpoint))
            aborted.add(checkpoint)
        elif kind == "e":
            effects = aligning.on_end(channel, now_ns=0)
        elif aligning.is_blocked(channel) or channel in aligning.ended:
            continue
        else:
            newest[channel].add(checkpoint)
            effects = aligning.on_barrier(channel, CheckpointId(checkpoint), now_ns=0)
        for effect in effects:
            if isinstance(effect, TakeSnapshot):
                assert effect.checkpoint not in aborted
                assert all(effect.checkpoint in newest[one] or one in aligning.ended for one in channels)
                taken.append(effect.checkpoint)
    assert taken == sorted(set(taken))
