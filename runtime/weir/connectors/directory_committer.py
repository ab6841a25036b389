"""Publishing, sweeping, taking back and giving back what directory writers staged.

Each method is a list of small steps; cut anywhere and run again, it ends in the same state. A file gets its final name by a
hard link, which never overwrites, and loses its staged name only after the directory is on disk.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from weir.connectors.base import CommitPermit, Committer, Line, is_on
from weir.connectors.disk import Disk, sink_error
from weir.connectors.staging import OutputLayout, PartName, is_void
from weir.errors import ProtocolError, SinkError
from weir.protocol.codec import from_json
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import Committable


@dataclass(frozen=True, slots=True)
class StagedPart:
    """Payload of a committable."""

    staged: str
    final: str
    rows: int
    bytes: int

    @staticmethod
    def of(committable: Committable) -> StagedPart:
        part = from_json(StagedPart, committable.payload)
        for name in (part.staged, part.final):
            if os.path.basename(name) != name or not name.startswith("part-"):
                raise ProtocolError(f"sink {committable.sink!r}: {name!r} is no name of a staged file")
        return part


class DirectoryCommitter(Committer):
    revocable = True

    def __init__(self, layout: OutputLayout, disk: Disk | None = None) -> None:
        self._layout = layout
        self._disk = disk or Disk()

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        if not committables:
            return
        assert all(committable.checkpoint <= permit.checkpoint for committable in committables), (
            "no permit covers this checkpoint"
        )
        try:
            parts = [StagedPart.of(committable) for committable in committables]
            linked = [part for part in parts if self._publish(part)]
            if linked:
                self._disk.fsync(self._layout.out)
            for part in linked:
                self._disk.unlink(self._staged(part))
        except OSError as error:
            raise sink_error(f"committing checkpoint {permit.checkpoint}", self._layout.out, error) from error

    def _publish(self, part: StagedPart) -> bool:
        """True: the final name is there and the staged one may go. False: published before, or abandoned."""
        staged, final = self._staged(part), self._final(part)
        try:
            self._disk.link(staged, final)
        except FileExistsError:
            if not self._disk.exists(staged):
                return self._published_before(part)
            self._expect_same(staged, final)
        except FileNotFoundError:
            return self._published_before(part)
        return True

    def _published_before(self, part: StagedPart) -> bool:
        final = self._final(part)
        if self._disk.exists(final):
            size = self._disk.size(final)
            if size != part.bytes:
                raise SinkError(f"{final}: has {size} bytes where {part.bytes} were committed; somebody else wrote it")
            return False
        abandoned = self._layout.abandoned
        if any(self._disk.exists(os.path.join(abandoned, branch, part.final)) for branch in self._disk.list(abandoned)):
            return False
        raise SinkError(
            f"{final}: neither published nor staged any more, {part.rows} records would be missing; "
            "was the output directory emptied? Restore it, or start the job anew with an empty one"
        )

    def abort_after(self, checkpoint: CheckpointId, *, before_generation: Generation) -> None:
        staging = self._layout.staging
        try:
            for name in self._disk.list(staging):
                if is_void(name, checkpoint, before_generation):
                    self._disk.unlink(os.path.join(staging, name))
        except OSError as error:
            raise sink_error("removing what was staged and not completed", staging, error) from error

    def abandon(
        self, committables: Sequence[Committable], *, line: Line, branch: str, before_generation: Generation | None = None
    ) -> None:
        target = self._layout.branch(branch)
        leaving = [
            StagedPart.of(one) for one in committables if not is_on(line, generation=one.generation, checkpoint=one.checkpoint)
        ]
        try:
            published = [name for name in self._disk.list(self._layout.out) if self._is_off(line, name)]
            if not leaving and not published:
                return
            self._disk.make_directory(target)
            self._disk.fsync(self._layout.abandoned)
            for part in leaving:
                # The staged name first: from then on a late commit of a zombie finds nothing to publish.
                self._move(self._staged(part), os.path.join(target, part.final))
                self._move(self._final(part), os.path.join(target, part.final))
            for name in published:
                self._move(os.path.join(self._layout.out, name), os.path.join(target, name))
            for directory in (target, self._layout.out):
                self._disk.fsync(directory)
        except OSError as error:
            raise sink_error(f"abandoning branch {branch}", self._layout.out, error) from error

    def reinstate(self, *, line: Line, branch: str, before_generation: Generation | None = None) -> None:
        source = self._layout.branch(branch)
        try:
            abandoned = self._disk.list(source)
            names = [name for name in abandoned if PartName.parse(name) is not None and not self._is_off(line, name)]
            for name in names:
                taken_back, final = os.path.join(source, name), os.path.join(self._layout.out, name)
                try:
                    self._disk.link(taken_back, final)
                except FileExistsError:
                    self._expect_same(taken_back, final)
            self._disk.fsync(self._layout.out)
            for name in names:
                self._disk.unlink(os.path.join(source, name))
            if len(names) == len(abandoned):
                self._disk.remove_directory(source)
        except OSError as error:
            raise sink_error(f"reinstating branch {branch}", self._layout.out, error) from error

    @staticmethod
    def _is_off(line: Line, name: str) -> bool:
        """A part that some checkpoint off the line committed. What bears no name of ours is nobody's here to judge."""
        part = PartName.parse(name)
        return part is not None and not is_on(line, generation=part.generation, checkpoint=part.checkpoint)

    def _move(self, source: str, target: str) -> None:
        """An absent source is ignored. (A rename between two names of one file would do nothing at all.)"""
        if not self._disk.exists(source):
            return
        if self._disk.exists(target):
            self._expect_same(source, target)
            self._disk.unlink(source)
        else:
            self._disk.rename(source, target)

    def _expect_same(self, one: str, other: str) -> None:
        if not self._disk.same_file(one, other):
            raise SinkError(
                f"{other}: is there already and is not what this job staged; choose an empty output directory "
                "(is it left from a run with other checkpoints?)"
            )

    def _staged(self, part: StagedPart) -> str:
        return os.path.join(self._layout.staging, part.staged)

    def _final(self, part: StagedPart) -> str:
        return os.path.join(self._layout.out, part.final)
