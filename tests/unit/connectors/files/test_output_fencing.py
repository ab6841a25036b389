"""Two coordinators use the same output directory. The older coordinator pauses before one of its file system operations, and
continues after the newer coordinator has prepared the output."""

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

Committables = dict[int, tuple[Committable, ...]]


def five_checkpoints(output: Output) -> Committables:
    """Write the output of five checkpoints of generation 1. The output of checkpoint n is the value n. The output of the
    fifth checkpoint is staged but not committed."""
    committables = {checkpoint: output.stage([checkpoint], checkpoint) for checkpoint in range(1, 6)}
    for checkpoint in range(1, 5):
        output.commit(committables[checkpoint])
    return committables


def roll_back(output: Output, committables: Committables, *, to: int, generation: int) -> None:
    output.revoke(
        [one for checkpoint in committables if checkpoint > to for one in committables[checkpoint]], to=to, generation=generation
    )
    output.abort_after(to, before_generation=generation)


def resume(output: Output, committables: Committables, *, to: int, generation: int) -> None:
    output.reinstate(to=to, generation=generation)
    for checkpoint in range(1, to + 1):
        output.committer.commit(Permit(CheckpointId(checkpoint), Generation(generation)), committables[checkpoint])
    output.abort_after(to, before_generation=generation)


def pause_before_each_operation(
    prepare: Callable[[Output], Committables],
    older: Callable[[Output, Committables], object],
    newer: Callable[[Output, Committables], object],
    check: Callable[[Output, Committables], object],
) -> None:
    """Repeat the scenario for each operation of ``older``: pause ``older`` before the operation, run ``newer`` during the pause,
    complete ``older``, and run ``check``."""
    pause, paused = 0, True
    while paused:
        with TemporaryDirectory() as directory:
            output = Output(os.path.join(directory, "out"))
            committables = prepare(output)
            successor = Output(output.out)
            file_system = PausingFileSystem(pause, lambda: newer(successor, committables))  # noqa: B023 (called before the next iteration)
            output.file_system = file_system
            with contextlib.suppress(Superseded):
                older(output, committables)
            paused = file_system.steps > pause
            if paused:
                check(successor, committables)
            pause += 1
    assert pause > 1, "the older coordinator executed no operation"


def test_a_zombie_that_rolls_back_does_not_revoke_output_of_its_successor() -> None:
    def newer(output: Output, committables: Committables) -> None:
        resume(output, committables, to=5, generation=3)
        committables[6] = output.stage([6], 6, generation=3)
        output.commit(committables[6])

    def check(output: Output, committables: Committables) -> None:
        assert output.visible() == [1, 2, 3, 4, 5, 6] and output.staged() == []

    pause_before_each_operation(
        five_checkpoints, lambda output, committables: roll_back(output, committables, to=3, generation=2), newer, check
    )


def test_a_zombie_that_resumes_does_not_publish_output_that_its_successor_revoked() -> None:
    def prepare(output: Output) -> Committables:
        committables = five_checkpoints(output)
        roll_back(output, committables, to=3, generation=2)
        return committables

    def newer(output: Output, committables: Committables) -> None:
        roll_back(output, committables, to=2, generation=4)
        output.commit(output.stage([7], 7, generation=4))

    def check(output: Output, committables: Committables) -> None:
        assert output.visible() == [1, 2, 7]
        resume(output, committables, to=5, generation=5)
        assert output.visible() == [1, 2, 3, 4, 5, 7], "no output is lost"

    pause_before_each_operation(
        prepare, lambda output, committables: resume(output, committables, to=5, generation=3), newer, check
    )


def test_a_zombie_that_commits_does_not_publish_output_that_its_successor_revoked() -> None:
    def older(output: Output, committables: Committables) -> None:
        with contextlib.suppress(Superseded):
            output.commit(committables[5])

    def newer(output: Output, committables: Committables) -> None:
        roll_back(output, committables, to=4, generation=2)

    def check(output: Output, committables: Committables) -> None:
        assert output.visible() == [1, 2, 3, 4]
        resume(output, committables, to=5, generation=3)
        assert output.visible() == [1, 2, 3, 4, 5]

    pause_before_each_operation(five_checkpoints, older, newer, check)
    # Exchange the roles: pause the newer coordinator during its revocation, and let the zombie commit during the pause.
    pause_before_each_operation(five_checkpoints, newer, older, check)


def test_a_zombie_raises_superseded_if_its_successor_has_prepared_the_output(output: Output) -> None:
    committables = five_checkpoints(output)
    resume(output, committables, to=5, generation=3)
    with pytest.raises(Superseded, match="generation 3 now controls the published output. Generation 2 stops"):
        roll_back(output, committables, to=3, generation=2)
    with pytest.raises(Superseded):
        output.reinstate(to=3, generation=2)


def test_a_generation_does_not_revoke_its_own_output_or_the_output_of_newer_generations(output: Output) -> None:
    committables = five_checkpoints(output)
    own, newer = output.stage([6], 6, generation=2), output.stage([7], 7, generation=3)
    output.commit(own)
    output.revoke([*committables[5], *own, *newer], to=3, generation=2)
    assert output.visible() == [1, 2, 3, 6]
    output.commit(newer)
    assert output.visible() == [1, 2, 3, 6, 7]


def test_a_reinstatement_publishes_revoked_files_of_all_branches(output: Output) -> None:
    committables = five_checkpoints(output)
    output.revoke(committables[2] + committables[3], to=1, generation=2, branch="b1")
    resume(output, committables, to=5, generation=3)
    assert output.visible() == [1, 2, 3, 4, 5]


def test_two_coordinators_that_revoke_concurrently_lose_no_output() -> None:
    def newer(output: Output, committables: Committables) -> None:
        output.revoke(committables[4] + committables[5], to=3, generation=3)

    def older(output: Output, committables: Committables) -> None:
        output.revoke(committables[2] + committables[3] + committables[4] + committables[5], to=1, generation=2)

    def check(output: Output, committables: Committables) -> None:
        assert set(output.visible()) <= {1, 2, 3}, "output that both coordinators revoke is not visible"
        resume(output, committables, to=5, generation=4)
        assert output.visible() == [1, 2, 3, 4, 5]

    pause_before_each_operation(five_checkpoints, older, newer, check)


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(str(tmp_path / "out"))


def committer(path: str) -> DirectoryCommitter:
    return DirectoryCommitter(OutputLayout(path), QuickFileSystem())


def test_an_output_directory_of_another_job_or_sink_is_refused(output: Output) -> None:
    output.stage([1], 1)
    with pytest.raises(
        SinkError, match="belongs to sink 'op' of job 'job'. Choose another directory for sink 'op' of job 'other'"
    ):
        output.committer.claim(job="other", sink="op")
    with pytest.raises(SinkError, match="belongs to sink 'op'"):
        output.committer.claim(job="job", sink="other")
    output.committer.claim(job="job", sink="op")


def test_an_output_directory_of_a_run_with_a_different_job_log_is_refused(output: Output) -> None:
    output.committer.claim(job="job", sink="op", history="h1")
    output.commit(output.stage([1], 1))
    output.committer.claim(job="job", sink="op", history="h1")
    with pytest.raises(SinkError, match="from a run with another checkpoint directory.*Use an empty output directory"):
        output.committer.claim(job="job", sink="op", history="h2")
    assert output.visible() == [1]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"job": "job"}', '{"job": 1, "sink": "op"}'])
def test_a_damaged_owner_file_is_reported_as_damaged_with_its_path(output: Output, content: str) -> None:
    output.commit(output.stage([1], 1))
    owner = Path(OutputLayout(output.out).weir, "owner.json")
    owner.write_text(content)
    with pytest.raises(SinkError) as error:
        output.committer.claim(job="job", sink="op", history="h")
    assert str(error.value).startswith(f"{owner}: the file is damaged, so the owner of the output directory is unknown.")
    assert "If the output belongs to sink 'op' of job 'job', delete the file and start the job again" in str(error.value)
    assert owner.read_text() == content
    owner.unlink()
    output.committer.claim(job="job", sink="op", history="h")


def test_an_output_directory_whose_path_is_a_file_is_reported(tmp_path: Path) -> None:
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
    assert len(file_system.synced) == 3, "existing directories are not synced again"


def test_a_directory_is_created_in_a_writable_but_unreadable_parent(tmp_path: Path) -> None:
    class UnreadableFileSystem(FileSystem):
        def fsync(self, path: str) -> None:
            raise PermissionError(13, "Permission denied")

    UnreadableFileSystem().make_directories(str(tmp_path / "a"))
    assert (tmp_path / "a").is_dir()
