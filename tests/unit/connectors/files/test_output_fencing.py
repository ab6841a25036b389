"""Two coordinators on one output directory: the older one pauses before any of its steps, and continues after a newer one has
prepared another branch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.unit.connectors.files.output_harness import Output, PausingFileSystem, Permit, QuickFileSystem

from weir.connectors.files.directory_committer import DirectoryCommitter
from weir.connectors.files.file_system import FileSystem
from weir.connectors.files.output_layout import OutputLayout
from weir.errors import SinkError, Superseded
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import Committable

History = dict[int, tuple[Committable, ...]]


def five_checkpoints(output: Output) -> History:
    """Five checkpoints of generation 1, each with its number as the only value. The newest is completed but only staged."""
    history = {checkpoint: output.stage([checkpoint], checkpoint) for checkpoint in range(1, 6)}
    for checkpoint in range(1, 5):
        output.commit(history[checkpoint])
    return history


def roll_back(output: Output, history: History, *, to: int, generation: int) -> None:
    output.revoke([one for checkpoint in history if checkpoint > to for one in history[checkpoint]], to=to, generation=generation)
    output.abort_after(to, before_generation=generation)


def resume(output: Output, history: History, *, to: int, generation: int) -> None:
    for checkpoint in range(1, to + 1):
        output.committer.commit(Permit(CheckpointId(to), Generation(generation)), history[checkpoint])
    output.reinstate(to=to, generation=generation)
    output.abort_after(to, before_generation=generation)


def paused_everywhere(
    prepare: Callable[[Output], History],
    older: Callable[[Output, History], object],
    newer: Callable[[Output, History], object],
    check: Callable[[Output, History], object],
) -> None:
    pause, paused = 0, True
    while paused:
        with TemporaryDirectory() as directory:
            output = Output(os.path.join(directory, "out"))
            history = prepare(output)
            successor = Output(output.out)
            file_system = PausingFileSystem(pause, lambda: newer(successor, history))  # noqa: B023 (called before the next iteration)
            output.file_system = file_system
            with contextlib.suppress(Superseded):
                older(output, history)
            paused = file_system.steps > pause
            if paused:
                check(successor, history)
            pause += 1
    assert pause > 1, "the older coordinator changed nothing"


def test_a_zombie_that_rolls_back_revokes_no_output_of_its_successor() -> None:
    def newer(output: Output, history: History) -> None:
        resume(output, history, to=5, generation=3)
        history[6] = output.stage([6], 6, generation=3)
        output.commit(history[6])

    def check(output: Output, history: History) -> None:
        assert output.visible() == [1, 2, 3, 4, 5, 6] and output.staged() == []

    paused_everywhere(five_checkpoints, lambda output, history: roll_back(output, history, to=3, generation=2), newer, check)


def test_a_zombie_that_resumes_publishes_nothing_that_its_successor_revoked() -> None:
    def prepare(output: Output) -> History:
        history = five_checkpoints(output)
        roll_back(output, history, to=3, generation=2)
        return history

    def newer(output: Output, history: History) -> None:
        roll_back(output, history, to=2, generation=4)
        output.commit(output.stage([7], 7, generation=4))

    def check(output: Output, history: History) -> None:
        assert output.visible() == [1, 2, 7]
        resume(output, history, to=5, generation=5)
        assert output.visible() == [1, 2, 3, 4, 5, 7], "nothing may be lost"

    paused_everywhere(prepare, lambda output, history: resume(output, history, to=5, generation=3), newer, check)


def test_a_zombie_that_still_commits_publishes_nothing_that_its_successor_revoked() -> None:
    def older(output: Output, history: History) -> None:
        output.commit(history[5])

    def newer(output: Output, history: History) -> None:
        roll_back(output, history, to=4, generation=2)

    def check(output: Output, history: History) -> None:
        assert output.visible() == [1, 2, 3, 4]
        resume(output, history, to=5, generation=3)
        assert output.visible() == [1, 2, 3, 4, 5]

    paused_everywhere(five_checkpoints, older, newer, check)
    # Also with the roles exchanged: the newer one is paused while it revokes, and the zombie commits meanwhile.
    paused_everywhere(five_checkpoints, newer, older, check)


def test_a_zombie_that_was_paused_before_its_first_step_raises_superseded(output: Output) -> None:
    history = five_checkpoints(output)
    resume(output, history, to=5, generation=3)
    with pytest.raises(Superseded, match="generation 3 now controls the published output. Generation 2 stops"):
        roll_back(output, history, to=3, generation=2)
    with pytest.raises(Superseded):
        output.reinstate(to=3, generation=2)


def test_output_of_the_preparing_and_of_newer_generations_is_left_alone(output: Output) -> None:
    history = five_checkpoints(output)
    newer = output.stage([6], 6, generation=2) + output.stage([7], 6, generation=3, writer=1)
    output.commit(newer)
    output.revoke([*history[5], *newer], to=3, generation=2)
    assert output.visible() == [1, 2, 3, 6, 7]


def test_reinstating_publishes_the_parts_of_all_branches(output: Output) -> None:
    history = five_checkpoints(output)
    output.revoke(history[2] + history[3], to=1, generation=2, branch="b1")
    output.reinstate(to=5, generation=3, branch="b2")
    output.commit(history[5])
    assert output.visible() == [1, 2, 3, 4, 5]


def test_committing_output_that_an_older_generation_revoked_publishes_it(output: Output) -> None:
    history = five_checkpoints(output)
    roll_back(output, history, to=3, generation=2)
    output.committer.commit(Permit(CheckpointId(5), Generation(3)), history[4] + history[5])
    assert output.visible() == [1, 2, 3, 4, 5]


def test_of_two_coordinators_that_revoke_at_once_only_one_succeeds() -> None:
    def newer(output: Output, history: History) -> None:
        output.revoke(history[4] + history[5], to=3, generation=3)

    def older(output: Output, history: History) -> None:
        output.revoke(history[2] + history[3] + history[4] + history[5], to=1, generation=2)

    def check(output: Output, history: History) -> None:
        assert set(output.visible()) <= {1, 2, 3}, "output that both revoke is not visible"
        resume(output, history, to=5, generation=4)
        assert output.visible() == [1, 2, 3, 4, 5]

    paused_everywhere(five_checkpoints, older, newer, check)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(str(tmp_path / "out"))


def committer(path: str) -> DirectoryCommitter:
    return DirectoryCommitter(OutputLayout(path), QuickFileSystem())


def test_an_output_directory_of_another_job_is_refused_unchanged(output: Output) -> None:
    output.stage([1], 1)
    with pytest.raises(SinkError, match="belongs to sink 'op' of job 'job'. Choose another one for sink 'op' of job 'other'"):
        output.committer.claim(job="other", sink="op")
    with pytest.raises(SinkError, match="belongs to sink 'op'"):
        output.committer.claim(job="job", sink="other")
    output.committer.claim(job="job", sink="op")


def test_an_output_directory_of_a_run_with_another_job_log_is_refused(output: Output) -> None:
    output.committer.claim(job="job", sink="op", history="h1")
    output.commit(output.stage([1], 1))
    output.committer.claim(job="job", sink="op", history="h1")
    with pytest.raises(SinkError, match="from a run with another checkpoint directory.*Use an empty output directory"):
        output.committer.claim(job="job", sink="op", history="h2")
    assert output.visible() == [1]


def test_a_file_in_place_of_the_output_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("not a directory")
    with pytest.raises(SinkError, match="preparing the output directory failed"):
        committer(str(tmp_path / "out")).claim(job="job", sink="op")


def test_the_parent_of_each_created_directory_is_synced(tmp_path: Path) -> None:
    class RecordingFileSystem(FileSystem):
        def __init__(self) -> None:
            self.synced: list[str] = []

        def fsync(self, path: str) -> None:
            self.synced.append(path)
            super().fsync(path)

    file_system = RecordingFileSystem()
    file_system.make_directories(str(tmp_path / "a" / "b" / "c"))
    assert file_system.synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    file_system.make_directories(str(tmp_path / "a" / "b" / "c"))
    assert len(file_system.synced) == 3, "existing directories are durable"


def test_a_directory_is_created_in_a_writable_but_unreadable_parent(tmp_path: Path) -> None:
    class UnreadableFileSystem(FileSystem):
        def fsync(self, path: str) -> None:
            raise PermissionError(13, "Permission denied")

    UnreadableFileSystem().make_directories(str(tmp_path / "a"))
    assert (tmp_path / "a").is_dir()
