"""Publishing, sweeping, taking back and giving back what directory writers staged.

Each method is a list of small steps; cut anywhere and run again, it ends in the same state. A file gets its final name by a
hard link, which never overwrites, and loses its staged name only after the directory is on disk.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from weir.connectors.base import CommitPermit, Committer, Line, is_on
from weir.connectors.disk import Disk, sink_error
from weir.connectors.staging import OutputLayout, PartName, staged_by
from weir.connectors.withdrawn import Withdrawn
from weir.errors import ProtocolError, SinkError, Superseded
from weir.protocol.codec import from_json
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import Committable

LOOKS = 4
"""For a part under all its names, until it counts as lost."""


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
        self._withdrawn = Withdrawn(layout, self._disk)

    def claim(self, *, job: str, sink: str, history: str | None = None) -> None:
        try:
            self._layout.claim(self._disk, job=job, sink=sink, history=history)
        except OSError as error:
            raise sink_error("preparing the output directory", self._layout.out, error, wait_for_room=True) from error

    # ---- publishing ------------------------------------------------------------------------------

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        if not committables:
            return
        assert all(committable.checkpoint <= permit.checkpoint for committable in committables), (
            "no permit covers this checkpoint"
        )
        try:
            parts = [StagedPart.of(committable) for committable in committables]
            linked = [source for part in parts if (source := self._publish(part, permit.generation)) is not None]
            if linked:
                self._disk.fsync(self._layout.out)
            for source in linked:
                self._disk.unlink(source)
        except OSError as error:
            raise sink_error(f"committing checkpoint {permit.checkpoint}", self._layout.out, error, wait_for_room=True) from error

    def _publish(self, part: StagedPart, generation: Generation) -> str | None:
        """The name that may go, now that the final one is there. None: published before, or taken back by a newer generation."""
        staged, final = self._staged(part), os.path.join(self._layout.out, part.final)
        # Another process may give it its next name between two of these looks; of each part that happens once or twice.
        for _ in range(LOOKS):
            if self._link(staged, final):
                return staged
            if self._is_published(part, final):
                return None
            owner = self._withdrawn.owner()
            if owner > generation:
                return None
            if self._withdrawn.find(part.final, owner) is not None:
                # What a permit covers is on the line of its generation: taken back by an older one, it belongs among what readers
                # see. That one must be fenced first: each would remove the name that the other one leaves.
                try:
                    self._withdrawn.take_over(generation)
                except Superseded:
                    return None
                taken_back = self._withdrawn.find(part.final, generation)
                if taken_back is not None and self._link(taken_back, final):
                    return taken_back
        raise SinkError(
            f"{final}: neither published nor staged any more, {part.rows} records would be missing; "
            "was the output directory emptied? Restore it, or start the job anew with an empty one"
        )

    def _is_published(self, part: StagedPart, final: str) -> bool:
        try:
            size = self._disk.size(final)
        except FileNotFoundError:
            return False
        if size != part.bytes:
            raise SinkError(f"{final}: has {size} bytes where {part.bytes} were committed; somebody else wrote it")
        return True

    def _link(self, source: str, final: str) -> bool:
        """False: there is no such source (another process may remove it at any moment, having published it)."""
        try:
            self._disk.link(source, final)
        except FileExistsError:
            return self._is_same(source, final)
        except FileNotFoundError:
            return False
        return True

    # ---- sweeping --------------------------------------------------------------------------------

    def abort_after(self, checkpoint: CheckpointId, *, before_generation: Generation) -> None:
        staging = self._layout.staging
        try:
            for name in self._disk.list(staging):
                generation = staged_by(name)
                # Whatever its checkpoint: a zombie may have staged for an old one after the last sweep. What is completed has
                # been published or taken back by now, and left this place.
                if generation is not None and generation < before_generation:
                    self._disk.unlink(os.path.join(staging, name))
        except OSError as error:
            raise sink_error("removing what was staged and not completed", staging, error, wait_for_room=True) from error

    # ---- going back and returning ----------------------------------------------------------------

    def abandon(self, committables: Sequence[Committable], *, line: Line, branch: str, before_generation: Generation) -> None:
        self._layout.checked_branch(branch)
        try:
            self._withdrawn.take_over(before_generation)
            # Looked for only now: what an older generation has shown until a moment ago is there to be found.
            leaving = [
                StagedPart.of(one) for one in committables if _is_off(line, one.generation, one.checkpoint, before_generation)
            ]
            published = [name for name in self._disk.list(self._layout.out) if self._leaves(name, line, before_generation)]
            try:
                target = self._withdrawn.make_branch(before_generation, branch)
                for part in leaving:
                    # The staged name first: from then on a late commit of a zombie finds nothing to publish.
                    self._move(self._staged(part), os.path.join(target, part.final))
                    self._move(os.path.join(self._layout.out, part.final), os.path.join(target, part.final))
                for name in published:
                    self._move(os.path.join(self._layout.out, name), os.path.join(target, name))
                # Also with nothing to move: an earlier try may have moved all of it and not come to this.
                for directory in (target, self._layout.out):
                    self._disk.fsync(directory)
                self._withdrawn.remove_empty_branches(before_generation)
            finally:
                self._withdrawn.check(before_generation)
        except OSError as error:
            raise sink_error(f"abandoning branch {branch}", self._layout.out, error, wait_for_room=True) from error

    def reinstate(self, *, line: Line, branch: str, before_generation: Generation) -> None:
        self._layout.checked_branch(branch)
        try:
            self._withdrawn.take_over(before_generation)
            # All branches: what was left on several was taken back as one, under the name of the first.
            back = [
                kept
                for kept in self._withdrawn.parts(before_generation)
                if is_on(line, generation=kept.part.generation, checkpoint=kept.part.checkpoint)
            ]
            for kept in back:
                final = os.path.join(self._layout.out, kept.final)
                if not self._link(kept.path, final):
                    self._withdrawn.check(before_generation)
                    raise SinkError(f"{kept.path}: somebody else removed it while it was being published again as {final}")
            self._disk.fsync(self._layout.out)
            for kept in back:
                self._disk.unlink(kept.path)
            self._withdrawn.remove_empty_branches(before_generation)
            self._withdrawn.check(before_generation)
        except OSError as error:
            raise sink_error(f"reinstating branch {branch}", self._layout.out, error, wait_for_room=True) from error

    @staticmethod
    def _leaves(name: str, line: Line, before_generation: Generation) -> bool:
        """A part that some checkpoint off the line committed. What bears no name of ours is nobody's here to judge."""
        part = PartName.parse(name)
        return part is not None and _is_off(line, part.generation, part.checkpoint, before_generation)

    def _move(self, source: str, target: str) -> None:
        """An absent source is ignored, and an absent directory of ``target``: then somebody else has taken over."""
        if not self._disk.exists(source):
            return
        try:
            if not self._disk.exists(target):
                self._disk.rename(source, target)
            elif self._is_same(source, target):
                # A rename between two names of one file would do nothing, and to unlink the source is not fenced: it may be
                # the only name left by then.
                stem, extension = os.path.splitext(target)
                spare = f"{stem}~{uuid.uuid4().hex}{extension}"
                self._disk.rename(source, spare)
                self._disk.unlink(spare)
        except FileNotFoundError:
            return

    def _is_same(self, source: str, other: str) -> bool:
        """False: the source is gone. Raises SinkError if they are two files."""
        try:
            same = self._disk.same_file(source, other)
        except FileNotFoundError:
            return False
        if not same:
            raise SinkError(
                f"{other}: is there already and is not what this job staged; choose an empty output directory "
                "(is it left from a run with other checkpoints?)"
            )
        return True

    def _staged(self, part: StagedPart) -> str:
        return os.path.join(self._layout.staging, part.staged)


def _is_off(line: Line, generation: int, checkpoint: int, before_generation: Generation) -> bool:
    """What a generation wrote that is not older than the one preparing is not for that one to judge."""
    return generation < before_generation and not is_on(line, generation=generation, checkpoint=checkpoint)
