"""Two coordinators over one output directory: the older one sleeps before any of its steps, and wakes up when a newer one has
gone another way."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.unit.connectors.output_harness import Output, PausingDisk, Permit, QuickDisk

from weir.connectors.directory_committer import DirectoryCommitter
from weir.connectors.disk import Disk
from weir.connectors.staging import OutputLayout
from weir.errors import SinkError, Superseded
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import Committable

History = dict[int, tuple[Committable, ...]]


def five_checkpoints(output: Output) -> History:
    """Of generation 1, each with the one value that is its number; the newest is completed and only staged."""
    history = {checkpoint: output.stage([checkpoint], checkpoint) for checkpoint in range(1, 6)}
    for checkpoint in range(1, 5):
        output.commit(history[checkpoint])
    return history


def go_back(output: Output, history: History, *, to: int, generation: int) -> None:
    output.take_back(
        [one for checkpoint in history if checkpoint > to for one in history[checkpoint]], to=to, generation=generation
    )
    output.abort_after(to, before_generation=generation)


def go_on(output: Output, history: History, *, to: int, generation: int) -> None:
    for checkpoint in range(1, to + 1):
        output.committer.commit(Permit(CheckpointId(to), Generation(generation)), history[checkpoint])
    output.give_back(to=to, generation=generation)
    output.abort_after(to, before_generation=generation)


def paused_everywhere(
    prepare: Callable[[Output], History],
    older: Callable[[Output, History], object],
    newer: Callable[[Output, History], object],
    check: Callable[[Output, History], object],
) -> None:
    pause, met = 0, True
    while met:
        with TemporaryDirectory() as directory:
            output = Output(os.path.join(directory, "out"))
            history = prepare(output)
            successor = Output(output.out)
            disk = PausingDisk(pause, lambda: newer(successor, history))  # noqa: B023 (called before the next turn)
            output.disk = disk
            with contextlib.suppress(Superseded):
                older(output, history)
            met = disk.steps > pause
            if met:
                check(successor, history)
            pause += 1
    assert pause > 1, "the older one changed nothing"


def test_a_zombie_that_goes_back_takes_nothing_of_its_successor_which_went_on() -> None:
    def newer(output: Output, history: History) -> None:
        go_on(output, history, to=5, generation=3)
        history[6] = output.stage([6], 6, generation=3)
        output.commit(history[6])

    def check(output: Output, history: History) -> None:
        assert output.visible() == [1, 2, 3, 4, 5, 6] and output.staged() == []

    paused_everywhere(five_checkpoints, lambda output, history: go_back(output, history, to=3, generation=2), newer, check)


def test_a_zombie_that_goes_on_shows_nothing_that_its_successor_took_back() -> None:
    def prepare(output: Output) -> History:
        history = five_checkpoints(output)
        go_back(output, history, to=3, generation=2)
        return history

    def newer(output: Output, history: History) -> None:
        go_back(output, history, to=2, generation=4)
        output.commit(output.stage([7], 7, generation=4))

    def check(output: Output, history: History) -> None:
        assert output.visible() == [1, 2, 7]
        go_on(output, history, to=5, generation=5)
        assert output.visible() == [1, 2, 3, 4, 5, 7], "nothing may be lost on the way"

    paused_everywhere(prepare, lambda output, history: go_on(output, history, to=5, generation=3), newer, check)


def test_a_zombie_that_still_commits_shows_nothing_that_its_successor_took_back() -> None:
    def older(output: Output, history: History) -> None:
        output.commit(history[5])

    def newer(output: Output, history: History) -> None:
        go_back(output, history, to=4, generation=2)

    def check(output: Output, history: History) -> None:
        assert output.visible() == [1, 2, 3, 4]
        go_on(output, history, to=5, generation=3)
        assert output.visible() == [1, 2, 3, 4, 5]

    paused_everywhere(five_checkpoints, older, newer, check)
    # And the other way round: the newer one takes back step by step, and the zombie commits in between.
    paused_everywhere(five_checkpoints, newer, older, check)


def test_a_zombie_that_wakes_up_before_it_began_says_that_it_is_superseded(output: Output) -> None:
    history = five_checkpoints(output)
    go_on(output, history, to=5, generation=3)
    with pytest.raises(Superseded, match="generation 3 decides what is visible here now; generation 2 stops"):
        go_back(output, history, to=3, generation=2)
    with pytest.raises(Superseded):
        output.give_back(to=3, generation=2)


def test_what_the_preparing_generation_or_a_newer_one_wrote_is_not_touched(output: Output) -> None:
    history = five_checkpoints(output)
    newer = output.stage([6], 6, generation=2) + output.stage([7], 6, generation=3, writer=1)
    output.commit(newer)
    output.take_back([*history[5], *newer], to=3, generation=2)
    assert output.visible() == [1, 2, 3, 6, 7]


def test_parts_of_two_branches_come_back_whatever_branch_is_named(output: Output) -> None:
    history = five_checkpoints(output)
    output.take_back(history[2] + history[3], to=1, generation=2, branch="b1")
    output.give_back(to=5, generation=3, branch="b2")
    output.commit(history[5])
    assert output.visible() == [1, 2, 3, 4, 5]


def test_committing_again_what_an_older_generation_took_back_shows_it(output: Output) -> None:
    history = five_checkpoints(output)
    go_back(output, history, to=3, generation=2)
    output.committer.commit(Permit(CheckpointId(5), Generation(3)), history[4] + history[5])
    assert output.visible() == [1, 2, 3, 4, 5]


def test_two_that_begin_to_take_back_at_once_leave_one_of_them() -> None:
    def newer(output: Output, history: History) -> None:
        output.take_back(history[4] + history[5], to=3, generation=3)

    def older(output: Output, history: History) -> None:
        output.take_back(history[2] + history[3] + history[4] + history[5], to=1, generation=2)

    def check(output: Output, history: History) -> None:
        assert set(output.visible()) <= {1, 2, 3}, "what both take back nobody sees"
        go_on(output, history, to=5, generation=4)
        assert output.visible() == [1, 2, 3, 4, 5]

    paused_everywhere(five_checkpoints, older, newer, check)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(str(tmp_path / "out"))


def committer(path: str) -> DirectoryCommitter:
    return DirectoryCommitter(OutputLayout(path), QuickDisk())


def test_the_output_of_another_job_is_refused_before_anything_of_it_is_touched(output: Output) -> None:
    output.stage([1], 1)
    with pytest.raises(SinkError, match="belongs to sink 'op' of job 'job'; give sink 'op' of job 'other' a directory"):
        output.committer.claim(job="other", sink="op")
    with pytest.raises(SinkError, match="belongs to sink 'op'"):
        output.committer.claim(job="job", sink="other")
    output.committer.claim(job="job", sink="op")


def test_output_of_a_run_with_other_checkpoints_is_refused(output: Output) -> None:
    output.committer.claim(job="job", sink="op", history="h1")
    output.commit(output.stage([1], 1))
    output.committer.claim(job="job", sink="op", history="h1")
    with pytest.raises(SinkError, match="from a run with other checkpoints.*use an empty output directory"):
        output.committer.claim(job="job", sink="op", history="h2")
    assert output.visible() == [1]


def test_a_file_in_the_way_of_a_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("not a directory")
    with pytest.raises(SinkError, match="preparing the output directory failed"):
        committer(str(tmp_path / "out")).claim(job="job", sink="op")


def test_every_directory_that_is_made_is_synced_in_its_parent(tmp_path: Path) -> None:
    class NotingDisk(Disk):
        def __init__(self) -> None:
            self.synced: list[str] = []

        def fsync(self, path: str) -> None:
            self.synced.append(path)
            super().fsync(path)

    disk = NotingDisk()
    disk.make_directory(str(tmp_path / "a" / "b" / "c"))
    assert disk.synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    disk.make_directory(str(tmp_path / "a" / "b" / "c"))
    assert len(disk.synced) == 3, "what was there is durable"


def test_a_directory_is_made_where_entries_may_be_made_and_not_read(tmp_path: Path) -> None:
    class ClosedDisk(Disk):
        def fsync(self, path: str) -> None:
            raise PermissionError(13, "Permission denied")

    ClosedDisk().make_directory(str(tmp_path / "a"))
    assert (tmp_path / "a").is_dir()
