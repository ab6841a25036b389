"""Published epochs of directory sinks: consumers that remove files, output of older Weir versions, and the list of
published output."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.unit.connectors.connector_harness import make_context
from tests.unit.connectors.files.output_harness import (
    Output,
    PausingFileSystem,
    Permit,
    epochs,
    snapshot,
    take,
    write,
)
from tests.unit.connectors.files.test_output_fencing import Committables, pause_before_each_operation, resume, roll_back
from tests.unit.connectors.files.test_two_phase_commit import cut_before_each_operation

from weir.connectors.base import MissingOutput
from weir.connectors.files import directory_committer
from weir.connectors.files.directory_writer import FileLimits
from weir.connectors.files.output_layout import OutputLayout, PartName
from weir.errors import SinkError
from weir.protocol.ids import Attempt, CheckpointId, Generation
from weir.protocol.snapshots import Committable


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(str(tmp_path / "out"))


def epoch_of_two(output: Output, checkpoint: int) -> tuple[Committable, ...]:
    """Stage two files. One file contains the value ``10 * checkpoint``, and the other file contains ``10 * checkpoint + 1``."""
    return output.stage([10 * checkpoint], checkpoint) + output.stage([10 * checkpoint + 1], checkpoint, writer=1)


def three_epochs(output: Output) -> Committables:
    committables = {checkpoint: epoch_of_two(output, checkpoint) for checkpoint in (1, 2, 3)}
    for epoch in committables.values():
        output.commit(epoch)
    return committables


# ---- consumers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("directories", [False, True])
def test_a_repeated_commit_does_not_publish_output_that_a_consumer_has_removed(
    output: Output, share: float, directories: bool
) -> None:
    committables = epoch_of_two(output, 1)
    output.commit(committables)
    taken = take(output.out, share=share, directories=directories)
    remaining = output.visible()
    assert taken and sorted(taken + remaining) == [10, 11]
    output.commit(committables)
    output.committer.commit(Permit(CheckpointId(1), Generation(2)), committables)
    assert output.visible() == remaining


def test_a_consumer_gets_each_file_once_even_if_a_commit_is_interrupted_at_any_operation() -> None:
    def check(output: Output, committables: tuple[Committable, ...]) -> None:
        taken = take(output.out, directories=True)
        assert taken in ([], [10, 11]), "a consumer sees the whole epoch or no file"
        output.committer.commit(Permit(CheckpointId(1), Generation(2)), committables)
        assert sorted(taken + take(output.out)) == [10, 11]

    cut_before_each_operation(lambda output: epoch_of_two(output, 1), Output.commit, check)


def test_a_zombie_does_not_republish_output_that_a_consumer_has_removed() -> None:
    def prepare(output: Output) -> Committables:
        return {1: epoch_of_two(output, 1)}

    def newer(output: Output, committables: Committables) -> None:
        resume(output, committables, to=1, generation=2)
        taken.append(take(output.out, directories=True))

    def check(output: Output, committables: Committables) -> None:
        assert taken[-1] == [10, 11] and output.visible() == []

    taken: list[list[int]] = []
    pause_before_each_operation(prepare, lambda output, committables: output.commit(committables[1]), newer, check)


def test_readers_see_only_whole_epochs_during_a_commit_a_rollback_and_its_undo() -> None:
    whole = [set(), *({10 * checkpoint, 10 * checkpoint + 1} for checkpoint in (1, 2, 3))]

    def is_whole(values: Sequence[int]) -> bool:
        return all(set(values) & epoch in (set(), epoch) for epoch in whole)

    def run(output: Output, committables: Committables) -> None:
        output.commit(committables[3])
        roll_back(output, committables, to=1, generation=2)
        resume(output, committables, to=3, generation=3)

    seen: set[tuple[int, ...]] = set()
    pause, paused = 0, True
    while paused:
        with TemporaryDirectory() as directory:
            output = Output(os.path.join(directory, "out"))
            committables = {checkpoint: epoch_of_two(output, checkpoint) for checkpoint in (1, 2, 3)}
            for checkpoint in (1, 2):
                output.commit(committables[checkpoint])
            reader = Output(output.out)
            file_system = PausingFileSystem(pause, lambda: seen.add(tuple(reader.visible())))  # noqa: B023 (called in this iteration)
            run(Output(output.out, file_system), committables)
            paused = file_system.steps > pause
            pause += 1
    assert all(is_whole(values) for values in seen), seen
    assert {len(values) for values in seen} == {2, 4, 6}


def test_a_rollback_reports_the_output_that_a_consumer_has_removed(output: Output) -> None:
    committables = three_epochs(output)
    take(output.out, share=0.5)
    listed = epochs(committables[2] + committables[3])
    ancestry = {Generation(1): CheckpointId(1)}
    for _ in range(2):  # the repeated call after a crash reports the same output
        missing = output.committer.revoke(listed, ancestry=ancestry, branch="b1", before=Attempt(Generation(2)))
        assert missing == [MissingOutput(CheckpointId(2), 1, 1), MissingOutput(CheckpointId(3), 1, 1)]
    assert output.visible() == [11]
    later = output.committer.revoke({}, ancestry={}, branch="b2", before=Attempt(Generation(3)))
    assert later == [MissingOutput(CheckpointId(1), 1, 1)], "a rollback does not report the missing output of earlier rollbacks"


def test_an_undo_reports_the_output_that_cannot_be_published_again(output: Output) -> None:
    committables = three_epochs(output)
    for file in Path(output.out, "weir_checkpoint=3").iterdir():
        file.unlink()
    Path(output.out, "weir_checkpoint=3").rmdir()
    Path(output.out, "weir_checkpoint=2", "part-c00000002-g1-w0000.parquet").unlink()
    roll_back(output, committables, to=1, generation=2)
    ancestry = {Generation(1): CheckpointId(3)}
    missing = output.committer.reinstate(ancestry=ancestry, branch="b1", before=Attempt(Generation(3)))
    assert missing == [MissingOutput(CheckpointId(2), 1, 1), MissingOutput(CheckpointId(3), 2, 2)]
    resume(output, committables, to=3, generation=3)
    assert output.visible() == [10, 11, 21]


def test_a_damaged_receipt_is_reported_with_its_path(output: Output) -> None:
    committables = three_epochs(output)
    Path(output.out, "_weir", "epochs", "g1", "published", "c00000002-g1.json").write_text("{")
    with pytest.raises(SinkError, match=r"c00000002-g1\.json: the receipt is damaged.* Delete the file and start the job again"):
        roll_back(output, committables, to=1, generation=2)


def test_a_commit_fails_and_moves_no_file_if_a_staged_file_is_missing(output: Output) -> None:
    committables = epoch_of_two(output, 1)
    os.unlink(os.path.join(OutputLayout(output.out).staging, output.staged()[1]))
    for _ in range(2):
        with pytest.raises(SinkError, match="neither staged nor published, so its records are missing .rows: 1."):
            output.commit(committables)
    assert len(output.staged()) == 1 and output.visible() == []


def test_an_aborted_epoch_becomes_visible_together_with_the_next_published_epoch(output: Output) -> None:
    sink = output.sink()
    write(sink, [1])
    snapshot(sink, 1)  # another subtask takes no snapshot, so checkpoint 1 is aborted
    write(sink, [2])
    output.commit(snapshot(sink, 2) + output.stage([3], 2, writer=1))
    assert sorted(os.listdir(f"{output.out}/weir_checkpoint=2")) == [
        "part-c00000001-g1-w0000.parquet",
        "part-c00000002-g1-w0000.parquet",
        "part-c00000002-g1-w0001.parquet",
    ]
    assert output.visible() == [1, 2, 3]


def test_a_sink_keeps_a_limited_number_of_receipts(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_committer, "RECEIPTS_MAX", 2)
    committables = three_epochs(output)
    published = Path(output.out, "_weir", "epochs", "g1", "published")
    (published / "c00000003-g1.json.0123").write_text("{")  # a crash has interrupted the creation of a receipt
    output.committer.abort_after(CheckpointId(3), before=Attempt(Generation(1)))
    assert sorted(path.name for path in published.iterdir()) == ["c00000002-g1.json", "c00000003-g1.json"]
    receipt = json.loads((published / "c00000003-g1.json").read_bytes())
    assert receipt["rows"] == 2 and set(receipt["files"].values()) == {1}
    roll_back(output, committables, to=0, generation=2)
    assert output.visible() == []


# ---- attempts ------------------------------------------------------------------------------------


def test_the_files_of_two_attempts_of_one_generation_have_different_names(output: Output) -> None:
    sink = output.sink(limits=FileLimits(rows=1))
    sink.open(replace(make_context(generation=1), attempt=2))
    write(sink, [1])
    assert output.staged()[0].startswith("open-g1.2-w0000~")
    (committable,) = snapshot(sink, 1)
    assert (committable.generation, committable.attempt) == (1, 2)
    part = PartName.parse("part-c00000001-g1.2-w0000.parquet")
    assert part == PartName(CheckpointId(1), Attempt(Generation(1), 2), 0)
    assert part is not None and part.final("parquet") == "part-c00000001-g1.2-w0000.parquet"
    output.committer.abort_after(CheckpointId(0), before=Attempt(Generation(1), 2))
    assert len(output.staged()) == 1, "an abort of older attempts keeps the files of attempt 2"
    output.committer.abort_after(CheckpointId(0), before=Attempt(Generation(1), 3))
    assert output.staged() == []


# ---- output of older versions ----------------------------------------------------------------------


def write_output_of_an_older_version(output: Output) -> Committables:
    """Create output in the layout of older versions of Weir. The files of checkpoints 1 and 2 are published directly in the
    output directory. The commit of checkpoint 3 was interrupted after it had linked the first file into the output directory. The
    first file still has its staged name. Checkpoint 4 is revoked."""
    committables = {checkpoint: epoch_of_two(output, checkpoint) for checkpoint in (1, 2, 3, 4)}
    staging = OutputLayout(output.out).staging
    abandoned = Path(output.out, "_weir", "abandoned", "g2", "b1")
    abandoned.mkdir(parents=True)
    for checkpoint, epoch in committables.items():
        for number, one in enumerate(epoch):
            part = directory_committer.CommittablePart.of(one)
            staged = os.path.join(staging, part.staged)
            if checkpoint <= 2:
                os.rename(staged, os.path.join(output.out, part.final))
            elif checkpoint == 3 and number == 0:
                os.link(staged, os.path.join(output.out, part.final))
            elif checkpoint == 4:
                os.rename(staged, abandoned / part.final)
    return committables


def test_a_resume_moves_output_of_an_older_version_into_the_directories_of_epochs() -> None:
    def start(output: Output, committables: Committables) -> None:
        # Generation 3 restores checkpoint 3 of generation 1, and revokes no output.
        output.revoke([], to=3, generation=3)
        output.committer.commit(Permit(CheckpointId(3), Generation(3)), committables[3])
        output.abort_after(3, before_generation=3)

    def check(output: Output, committables: Committables) -> None:
        start(output, committables)
        assert output.visible() == [10, 11, 20, 21, 30, 31] and output.staged() == []
        assert sorted(os.listdir(output.out)) == ["_weir", *(f"weir_checkpoint={one}" for one in (1, 2, 3))]
        assert not Path(output.out, "_weir", "abandoned").exists()
        resume(output, committables, to=4, generation=4)
        assert output.visible() == [10, 11, 20, 21, 30, 31, 40, 41]
        roll_back(output, committables, to=1, generation=5)
        assert output.visible() == [10, 11]

    cut_before_each_operation(write_output_of_an_older_version, start, check)


def test_output_of_an_older_version_can_be_rolled_back() -> None:
    def start(output: Output, committables: Committables) -> None:
        roll_back(output, {one: epoch for one, epoch in committables.items() if one < 4}, to=1, generation=3)

    def check(output: Output, committables: Committables) -> None:
        start(output, committables)
        assert output.visible() == [10, 11] and output.staged() == []
        resume(output, committables, to=4, generation=4)
        assert output.visible() == [10, 11, 20, 21, 30, 31, 40, 41]

    cut_before_each_operation(write_output_of_an_older_version, start, check)


# ---- listing -------------------------------------------------------------------------------------


def test_published_output_is_listed_by_generation_and_checkpoint(output: Output) -> None:
    assert output.published() == frozenset(), "a missing output directory contains no published output"
    three_epochs(output)
    output.commit(output.stage([7], 7, generation=2))
    take(output.out, directories=True)
    output.stage([8], 8, generation=2)
    expected = {(1, 1), (1, 2), (1, 3), (2, 7), (2, 0)}
    assert output.published() == expected, "the list contains removed output and the fence of generation 2, but no staged output"


def test_listing_published_output_of_an_older_version_moves_no_files(output: Output) -> None:
    write_output_of_an_older_version(output)
    before = sorted(Path(output.out).rglob("*"))
    assert output.published() == {(1, 1), (1, 2), (1, 3)}
    assert sorted(Path(output.out).rglob("*")) == before, "the listing does not change the directory"


def test_an_epoch_is_listed_as_published_before_a_rename_makes_the_epoch_visible() -> None:
    def check(output: Output, committables: tuple[Committable, ...]) -> None:
        if not output.staged() or Path(output.out, "weir_checkpoint=1").exists():
            assert (1, 1) in output.published()

    cut_before_each_operation(lambda output: epoch_of_two(output, 1), Output.commit, check)
