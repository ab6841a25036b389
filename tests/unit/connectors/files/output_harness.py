"""An output directory for tests of directory sinks, and file systems that fail or pause before a chosen operation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from tests.unit.connectors.connector_harness import make_context

from weir.connectors.files.directory_committer import DirectoryCommitter
from weir.connectors.files.directory_writer import DirectoryWriter, FileLimits
from weir.connectors.files.file_formats import ParquetFormat
from weir.connectors.files.file_system import FileSystem
from weir.connectors.files.output_layout import OutputLayout
from weir.connectors.sink_operator import SinkOperator
from weir.protocol.ids import Attempt, CheckpointId, Generation
from weir.protocol.snapshots import Committable


class PowerCut(BaseException):
    """Raised instead of executing a file system operation. PowerCut is not an Exception, so that no product code handles it."""


class QuickFileSystem(FileSystem):
    """A file system whose ``fsync`` only checks that the path exists. The tests only simulate killed processes, and the page
    cache survives a killed process."""

    def fsync(self, path: str) -> None:
        os.stat(path)


class FragileFileSystem(QuickFileSystem):
    """Raises PowerCut before write operation number ``cut_before`` and before all later write operations."""

    CHANGING = ("mkdir", "rename", "unlink", "remove_directory", "fsync", "create")

    def __init__(self, cut_before: int | None = None) -> None:
        self.log: list[str] = []
        self.cut_before = cut_before

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in FragileFileSystem.CHANGING:
            return method

        def step(*arguments: Any) -> Any:
            if self.cut_before is not None and len(self.log) >= self.cut_before:
                raise PowerCut
            self.log.append(name)
            return method(*arguments)

        return step


class PausingFileSystem(QuickFileSystem):
    """Calls ``meanwhile`` once, before write operation number ``before``. ``meanwhile`` executes the operations of other
    processes during a pause."""

    def __init__(self, before: int, meanwhile: Callable[[], object]) -> None:
        self.steps = 0
        self.before = before
        self.meanwhile = meanwhile

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in FragileFileSystem.CHANGING:
            return method

        def step(*arguments: Any) -> Any:
            self.steps += 1
            if self.steps == self.before + 1:
                self.meanwhile()
            return method(*arguments)

        return step


@dataclass(frozen=True)
class Permit:
    checkpoint: CheckpointId
    generation: Generation = Generation(1)

    @property
    def holder(self) -> Attempt:
        return Attempt(self.generation)


@dataclass
class Output:
    """An output directory, with the actions of writers and the coordinator."""

    out: str
    file_system: FileSystem = field(default_factory=QuickFileSystem)

    @property
    def committer(self) -> DirectoryCommitter:
        return DirectoryCommitter(OutputLayout(self.out), self.file_system)

    def sink(self, *, writer: int = 0, generation: int = 1, attempt: int = 0, limits: FileLimits | None = None) -> SinkOperator:
        operator = SinkOperator(
            DirectoryWriter(OutputLayout(self.out), ParquetFormat(), limits or FileLimits(), self.file_system)
        )
        operator.open(make_context(subtask=writer, parallelism=4, generation=generation, attempt=attempt))
        return operator

    def stage(
        self, values: Sequence[int], checkpoint: int, *, writer: int = 0, generation: int = 1, attempt: int = 0
    ) -> tuple[Committable, ...]:
        sink = self.sink(writer=writer, generation=generation, attempt=attempt)
        write(sink, values)
        return snapshot(sink, checkpoint)

    def commit(self, committables: Sequence[Committable], checkpoint: int | None = None) -> None:
        highest = max((one.checkpoint for one in committables), default=CheckpointId(0))
        generation = max((one.generation for one in committables), default=Generation(1))
        permit = Permit(highest if checkpoint is None else CheckpointId(checkpoint), generation)
        self.committer.commit(permit, committables)

    def abort_after(self, checkpoint: int, before_generation: int) -> None:
        self.committer.abort_after(CheckpointId(checkpoint), before=Attempt(Generation(before_generation)))

    def revoke(self, committables: Sequence[Committable], *, to: int, generation: int, branch: str = "b1") -> None:
        """Revoke output as the driver of ``generation`` does when it restores checkpoint ``to`` of generation 1."""
        ancestry = {Generation(1): CheckpointId(to)}
        self.committer.revoke(epochs(committables), ancestry=ancestry, branch=branch, before=Attempt(Generation(generation)))

    def reinstate(self, *, to: int, generation: int, branch: str = "b1") -> None:
        ancestry = {Generation(1): CheckpointId(to)}
        self.committer.reinstate(ancestry=ancestry, branch=branch, before=Attempt(Generation(generation)))

    def published(self) -> frozenset[tuple[Generation, CheckpointId]]:
        return self.committer.published(job="job", sink="op")

    def visible(self) -> list[int]:
        return visible(self.out)

    def staged(self) -> list[str]:
        return FileSystem().list(os.path.join(self.out, "_weir", "staging"))


def epochs(committables: Sequence[Committable]) -> dict[CheckpointId, list[Committable]]:
    """Group committables by checkpoint, in the form that ``Committer.revoke`` takes."""
    found: dict[CheckpointId, list[Committable]] = {}
    for one in committables:
        found.setdefault(one.checkpoint, []).append(one)
    return found


def write(sink: SinkOperator, values: Sequence[int]) -> None:
    assert all(batch is not None for batch in sink.process(pa.record_batch({"v": pa.array(values, pa.int64())}), 0))


def snapshot(sink: SinkOperator, checkpoint: int) -> tuple[Committable, ...]:
    pending = sink.snapshot(CheckpointId(checkpoint))
    if pending is None:
        return ()
    assert pending.advance()
    return pending.write(None).committables  # type: ignore[arg-type]  # a sink writes no state files


def visible(out: str) -> list[int]:
    """Return the published values. Raises an error if a published file is incomplete."""
    if not os.path.isdir(out):
        return []
    names = [name for name in os.listdir(out) if not name.startswith(("_", "."))]
    assert all(name.startswith("weir_checkpoint=") for name in names), names
    files = [name for directory in names for name in os.listdir(os.path.join(out, directory))]
    assert all(name.endswith(".parquet") for name in files), files
    if not files:
        return []
    values: list[int] = ds.dataset(out, format="parquet").to_table()["v"].to_pylist()
    return sorted(values)


def take(out: str, *, share: float = 1.0, directories: bool = False) -> list[int]:
    """Remove published files, like a consumer, and return the values in the removed files. ``share`` is the fraction of
    each epoch's files that is removed. If ``directories`` is True, also remove each epoch directory that is
    empty afterwards."""
    taken: list[int] = []
    for name in sorted(os.listdir(out)) if os.path.isdir(out) else ():
        directory = os.path.join(out, name)
        if not name.startswith("weir_checkpoint="):
            continue
        files = sorted(os.listdir(directory))
        for file in files[: round(share * len(files))]:
            taken += ds.dataset(os.path.join(directory, file), format="parquet").to_table()["v"].to_pylist()
            os.unlink(os.path.join(directory, file))
        if directories and not os.listdir(directory):
            os.rmdir(directory)
    return sorted(taken)
