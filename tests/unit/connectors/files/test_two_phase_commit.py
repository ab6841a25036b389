"""Directory sinks, with a power cut before each possible file system operation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.unit.connectors.connector_harness import make_context
from tests.unit.connectors.files.output_harness import (
    FragileFileSystem,
    Output,
    Permit,
    PowerCut,
    QuickFileSystem,
    epochs,
    snapshot,
    write,
)

from weir.connectors.files.directory_committer import DirectoryCommitter
from weir.connectors.files.directory_writer import DirectoryWriter, FileLimits
from weir.connectors.files.file_formats import ParquetFormat
from weir.connectors.files.file_system import FileSystem
from weir.connectors.files.output_layout import OutputLayout
from weir.connectors.sink_operator import SinkOperator
from weir.errors import ProtocolError, SinkError, Superseded
from weir.protocol.ids import Attempt, CheckpointId, Generation
from weir.protocol.manifest import epoch_of
from weir.protocol.snapshots import Committable


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(str(tmp_path / "out"))


T = TypeVar("T")
OPERATIONS_MAX = 24
"""An upper limit for the number of write operations in a commit of two files, and in a recovery."""


def cut_before_each_operation(
    prepare: Callable[[Output], T], action: Callable[[Output, T], object], check: Callable[[Output, T], object]
) -> None:
    """Run ``action`` once per file system operation, with a power cut before that operation, and once without a power cut.
    After each run, call ``check`` without a power cut."""
    cut, done = 0, False
    while not done:
        with TemporaryDirectory() as directory:
            output = Output(os.path.join(directory, "out"))
            prepared = prepare(output)
            output.file_system = FragileFileSystem(cut)
            try:
                action(output, prepared)
                done = True
            except PowerCut:
                cut += 1
            output.file_system = QuickFileSystem()
            check(output, prepared)
    assert cut > 0, "the action executed no operation"


def test_output_is_visible_only_after_the_commit(output: Output) -> None:
    committables = output.stage([1, 2], 1) + output.stage([3], 1, writer=1)
    assert output.visible() == [] and len(output.staged()) == 2
    output.commit(committables)
    assert output.visible() == [1, 2, 3] and output.staged() == []
    assert sorted(os.listdir(output.out)) == ["_weir", "weir_checkpoint=1"]
    names = sorted(os.listdir(f"{output.out}/weir_checkpoint=1"))
    assert names == ["part-c00000001-g1-w0000.parquet", "part-c00000001-g1-w0001.parquet"]


def test_a_repeated_commit_has_no_effect(output: Output) -> None:
    committables = output.stage([1, 2], 1)
    for _ in range(3):
        output.commit(committables)
        assert output.visible() == [1, 2]


def test_an_epoch_becomes_visible_by_one_rename_after_its_receipt_is_durable(output: Output) -> None:
    output.commit(output.stage([9], 1))
    committables = [one for writer in range(4) for one in output.stage([writer], 2, writer=writer)]
    file_system = FragileFileSystem()
    committer = DirectoryCommitter(OutputLayout(output.out), file_system)
    committer.abort_after(CheckpointId(1), before=Attempt(Generation(1)))
    file_system.log.clear()
    committer.commit(Permit(CheckpointId(2)), committables)
    gathering = ["mkdir", *["rename"] * 4, "fsync", "fsync"]
    assert file_system.log == [*gathering, "create", "fsync", "unlink", "fsync", "rename", "fsync"]


def test_the_next_commit_completes_a_commit_that_was_interrupted_at_any_operation() -> None:
    def check(output: Output, committables: tuple[Committable, ...]) -> None:
        assert output.visible() in ([], [1, 2, 3]), "readers see the whole epoch or no file"
        output.commit(committables)
        assert output.visible() == [1, 2, 3] and output.staged() == []

    cut_before_each_operation(lambda output: output.stage([1, 2], 1) + output.stage([3], 1, writer=1), Output.commit, check)


def test_a_pre_commit_that_is_interrupted_at_any_operation_can_be_aborted() -> None:
    def check(output: Output, _prepared: object) -> None:
        assert output.visible() == []
        output.abort_after(0, before_generation=2)
        assert output.staged() == []
        output.commit(output.stage([5], 2, generation=2))
        assert output.visible() == [5]

    limits = FileLimits(rows=1)
    cut_before_each_operation(
        lambda output: None, lambda output, _: snapshot_of(output.sink(limits=limits), [[1], [2]], 1), check
    )


def test_the_staged_output_of_a_replaced_slot_is_deleted_unless_a_completed_checkpoint_contains_it(output: Output) -> None:
    completed = output.stage([1], 1, writer=2)
    output.stage([2], 2, writer=2)
    write(output.sink(writer=2), [3])  # not pre-committed
    others = [*output.stage([4], 2, writer=1), *output.stage([5], 2, writer=2, attempt=1)]
    output.committer.discard(2, Attempt(Generation(1), 1), after=CheckpointId(1))
    assert len(output.staged()) == 3
    output.commit(completed)
    output.commit(others)
    assert output.visible() == [1, 4, 5] and output.staged() == []


def test_a_revocation_that_is_interrupted_at_any_operation_can_be_completed_and_undone() -> None:
    def prepare(output: Output) -> tuple[Committable, ...]:
        output.commit(output.stage([1], 1))
        published = output.stage([2], 2)
        output.commit(published)
        # The coordinator was killed after it had moved the first of the two files of checkpoint 3.
        moved, staged = output.stage([3], 3), output.stage([4], 3, writer=1)
        part = moved[0].payload
        assert isinstance(part, dict)
        pending = Path(output.out, "_weir", "epochs", "g1", "pending", "weir_checkpoint=3")
        pending.mkdir()
        os.rename(f"{output.out}/_weir/staging/{part['staged']}", pending / str(part["final"]))
        return published + moved + staged

    def revoke(output: Output, committables: tuple[Committable, ...]) -> None:
        output.revoke(committables, to=1, generation=2)

    def check(output: Output, committables: tuple[Committable, ...]) -> None:
        revoke(output, committables)
        output.abort_after(1, before_generation=2)  # the abort must not delete files that a reinstatement needs
        assert output.visible() == [1] and output.staged() == []
        with pytest.raises(Superseded):
            output.commit(committables)  # a zombie repeats the commit
        assert output.visible() == [1]
        output.reinstate(to=3, generation=3)
        assert output.visible() == [1, 2, 3, 4]

    cut_before_each_operation(prepare, revoke, check)


def test_a_second_call_completes_a_reinstatement_that_was_interrupted_at_any_operation() -> None:
    def prepare(output: Output) -> None:
        committables = output.stage([1], 1) + output.stage([2], 1, writer=1)
        output.commit(committables)
        output.revoke(committables, to=0, generation=2)

    def reinstate(output: Output, _prepared: object) -> None:
        output.reinstate(to=2, generation=3)

    def check(output: Output, _prepared: object) -> None:
        reinstate(output, _prepared)
        assert output.visible() == [1, 2]
        assert FileSystem().list(f"{output.out}/_weir/epochs") == ["g3"]
        assert FileSystem().list(f"{output.out}/_weir/epochs/g3/abandoned") == []

    cut_before_each_operation(prepare, reinstate, check)


def test_a_commit_fails_if_a_file_is_neither_staged_nor_published(output: Output) -> None:
    committables = output.stage([1, 2], 1)
    os.unlink(os.path.join(output.out, "_weir", "staging", output.staged()[0]))
    with pytest.raises(
        SinkError, match=r"part-c00000001-g1-w0000\.parquet: the file is neither staged nor published, so its records are missing"
    ):
        output.commit(committables)


def test_a_file_of_another_program_is_never_overwritten(output: Output) -> None:
    committables = output.stage([1], 1)
    foreign_file = Path(output.out, "weir_checkpoint=1", "part-c00000001-g1-w0000.parquet")
    foreign_file.parent.mkdir()
    foreign_file.write_text("foreign_file")
    with pytest.raises(SinkError, match="another program has changed the file"):
        output.commit(committables)
    assert foreign_file.read_text() == "foreign_file"
    foreign_file.rename(foreign_file.with_name("other"))
    with pytest.raises(SinkError, match="weir_checkpoint=1: the directory contains files that this job did not write"):
        output.commit(committables)
    foreign_file.with_name("other").unlink()
    output.commit(committables)
    assert output.visible() == [1]


def test_an_abort_keeps_published_output_and_output_of_newer_generations(output: Output) -> None:
    completed = output.stage([1], 3)
    output.stage([9], 4)
    newer = output.stage([2], 4, generation=2)
    old, new = (output.sink(limits=FileLimits(rows=1), generation=generation) for generation in (1, 2))
    write(old, [9])
    write(new, [3])
    assert len(output.staged()) == 5
    output.commit(completed)
    output.abort_after(3, before_generation=2)
    assert len(output.staged()) == 2
    output.commit(newer + snapshot(new, 5))
    assert output.visible() == [1, 2, 3]


def test_output_that_a_zombie_stages_after_an_abort_is_deleted_by_the_next_abort(output: Output) -> None:
    output.abort_after(3, before_generation=2)
    output.stage([9], 2)
    assert len(output.staged()) == 1
    output.abort_after(6, before_generation=3)
    assert output.staged() == []


def test_a_zombie_whose_output_was_aborted_cannot_pre_commit_or_write(output: Output) -> None:
    zombie = output.sink(limits=FileLimits(rows=1))
    write(zombie, [1])
    output.abort_after(0, before_generation=2)
    with pytest.raises(SinkError, match="pre-commit"):
        snapshot(zombie, 1)
    with pytest.raises(SinkError):
        write(zombie, [2])


def test_two_sinks_cannot_share_a_directory(output: Output) -> None:
    output.sink()
    other = SinkOperator(DirectoryWriter(OutputLayout(output.out), ParquetFormat(), FileLimits()))
    with pytest.raises(SinkError, match="belongs to sink 'op' of job 'job'. Choose another directory for sink 'other'"):
        other.open(make_context(uid="other"))


def test_records_of_an_aborted_checkpoint_are_committed_with_the_next_checkpoint(output: Output) -> None:
    sink = output.sink()
    write(sink, [1])
    aborted = sink.snapshot(CheckpointId(1))
    assert aborted is not None
    aborted.discard()
    write(sink, [2])
    committables = snapshot(sink, 2)
    assert [one.checkpoint for one in committables] == [1, 2]
    output.commit(committables)
    assert output.visible() == [1, 2]
    sink.on_checkpoint_published(CheckpointId(2))
    assert sink.snapshot(CheckpointId(3)) is None, "an epoch without records has no committable"


def test_a_permit_does_not_cover_output_of_later_checkpoints(output: Output) -> None:
    committables = output.stage([1], 5)
    with pytest.raises(AssertionError, match="does not cover this checkpoint"):
        output.commit(committables, checkpoint=4)


@pytest.mark.parametrize("name", ["../part-x.parquet", "/etc/passwd", "part-../../x", "_weir"])
def test_a_committable_with_a_path_outside_the_output_directory_is_refused(output: Output, name: str) -> None:
    (committable,) = output.stage([1], 1)
    for field in ("staged", "final"):
        payload = dict(committable.payload) | {field: name}  # type: ignore[arg-type]  # a payload is an object
        with pytest.raises(ProtocolError, match="not the name of a staged file"):
            output.commit([replace(committable, payload=payload)])
    with pytest.raises(SinkError, match="invalid branch name"):
        output.committer.revoke(epochs([committable]), ancestry={}, branch="../x", before=Attempt(Generation(2)))


def snapshot_of(sink: SinkOperator, epochs: Sequence[Sequence[int]], checkpoint: int) -> tuple[Committable, ...]:
    for values in epochs:
        write(sink, values)
    return snapshot(sink, checkpoint)


class JobUnderPowerCuts(RuleBasedStateMachine):
    """Runs two writers and a coordinator for many generations, with random power cuts.

    The visible output must always equal the records of the completed checkpoints of the current branch.
    """

    WRITERS = 2

    def __init__(self) -> None:
        super().__init__()
        self.directory = TemporaryDirectory()
        self.output = Output(os.path.join(self.directory.name, "out"))
        self.generation = self.checkpoint = self.last_value = self.branches = 0
        self.manifests: dict[int, tuple[Committable, ...]] = {}
        self.values: dict[int, list[int]] = {}
        self.ever_completed: set[int] = set()
        self.limits: dict[int, int] = {}
        """The ancestry of the current state: for each generation, the last checkpoint that the state descends from."""
        self.revoked: list[tuple[Committable, ...]] = []
        self.zombies: list[SinkOperator] = []
        self.sinks: list[SinkOperator] = []
        self.unconfirmed: list[int] = []
        self.recover(0, [])

    def teardown(self) -> None:
        self.directory.cleanup()

    def cut(self, before: int | None, action: Callable[[], object]) -> bool:
        """Run the action. Return whether the power was cut."""
        self.output.file_system = FragileFileSystem(before)
        try:
            action()
        except PowerCut:
            seen = self.output.visible()
            assert len(set(seen)) == len(seen) and set(seen) <= self.ever_completed
            return True
        finally:
            self.output.file_system = QuickFileSystem()
        return False

    def recover(self, to: int, cuts: list[int]) -> None:
        """Restore checkpoint ``to``: revoke abandoned output, commit the output of the checkpoint, and abort staged output.
        Before the complete restore, make one attempt for each number in ``cuts``. A power cut ends the attempt before the
        file system operation with this number."""
        self.zombies = self.sinks or self.zombies
        if self.generation:
            self.limits = {one: min(limit, to) for one, limit in {**self.limits, self.generation: to}.items()}
        self.generation += 1
        self.branches += 1
        abandoned = {CheckpointId(checkpoint): manifest for checkpoint, manifest in self.manifests.items() if checkpoint > to}

        def restore() -> None:
            ancestry = {Generation(one): CheckpointId(limit) for one, limit in self.limits.items()}
            self.output.committer.revoke(
                abandoned, ancestry=ancestry, branch=f"b{self.branches}", before=Attempt(Generation(self.generation))
            )
            self.output.committer.commit(Permit(CheckpointId(to), Generation(self.generation)), self.manifests.get(to, ()))
            self.output.abort_after(to, self.generation)

        for before in [*cuts, None]:
            self.cut(before, restore)
        self.revoked += abandoned.values()
        self.manifests = {checkpoint: manifest for checkpoint, manifest in self.manifests.items() if checkpoint <= to}
        self.values = {checkpoint: values for checkpoint, values in self.values.items() if checkpoint <= to}
        self.unconfirmed = []
        self.sinks = [self.output.sink(writer=writer, generation=self.generation) for writer in range(self.WRITERS)]

    def newest(self) -> int:
        return max(self.manifests, default=0)

    def new_values(self, count: int) -> list[int]:
        self.last_value += count
        return list(range(self.last_value - count + 1, self.last_value + 1))

    @rule(
        counts=st.tuples(st.integers(0, 3), st.integers(0, 3)),
        completes=st.booleans(),
        notified=st.booleans(),
        cut_staging=st.none() | st.integers(0, 5),
        cut_commit=st.none() | st.integers(0, OPERATIONS_MAX),
    )
    def epoch(
        self, counts: tuple[int, int], completes: bool, notified: bool, cut_staging: int | None, cut_commit: int | None
    ) -> None:
        self.checkpoint += 1
        committables: list[Committable] = []

        def stage() -> None:
            for sink, count in zip(self.sinks, counts, strict=True):
                values = self.new_values(count)
                self.unconfirmed += values
                if values:
                    write(sink, values)
                committables.extend(snapshot(sink, self.checkpoint))

        self.replace_file_system(FragileFileSystem(cut_staging))
        if self.cut(None, stage):
            self.sinks = []  # the power cut killed these writers, so they do not become zombies
            return self.recover(self.newest(), [])
        self.replace_file_system(QuickFileSystem())
        if not completes:
            return None
        self.manifests[self.checkpoint] = epoch_of(committables, after=CheckpointId(self.newest()))
        self.values[self.checkpoint], self.unconfirmed = self.unconfirmed, []
        self.ever_completed.update(self.values[self.checkpoint])
        if self.cut(cut_commit, lambda: self.output.commit(self.manifests[self.checkpoint], self.checkpoint)):
            return self.recover(self.newest(), [])
        if notified:
            for sink in self.sinks:
                sink.on_checkpoint_published(CheckpointId(self.checkpoint))
        return None

    def replace_file_system(self, file_system: FileSystem) -> None:
        for sink in self.sinks:
            writer = sink._writer
            assert isinstance(writer, DirectoryWriter)
            writer._file_system = file_system

    @rule(cuts=st.lists(st.integers(0, OPERATIONS_MAX), max_size=3))
    def crash(self, cuts: list[int]) -> None:
        self.recover(self.newest(), cuts)

    @rule(data=st.data(), cuts=st.lists(st.integers(0, OPERATIONS_MAX), max_size=3))
    def roll_back(self, data: st.DataObject, cuts: list[int]) -> None:
        self.recover(data.draw(st.sampled_from([0, *self.manifests])), cuts)

    @precondition(lambda self: self.zombies)
    @rule(count=st.integers(1, 2))
    def zombies_continue(self, count: int) -> None:
        for zombie in self.zombies:
            try:
                snapshot_of(zombie, [[-1] * count], self.checkpoint + 1)
            except SinkError:
                continue
        for one in filter(None, self.revoked):
            with pytest.raises(Superseded):
                self.output.commit(one)

    @invariant()
    def visible_output_equals_completed_checkpoints(self) -> None:
        assert self.output.visible() == sorted(value for values in self.values.values() for value in values)


TestJobUnderPowerCuts = JobUnderPowerCuts.TestCase
TestJobUnderPowerCuts.settings = settings(max_examples=120, stateful_step_count=12, deadline=None)
