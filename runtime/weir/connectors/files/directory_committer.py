"""The committer of directory sinks: publishes, aborts, revokes and reinstates what directory writers staged.

Each method is a list of small steps. After a crash at any step, running it again leads to the same state. A file gets its final
name by a hard link, which never overwrites, and loses its staged name only after the directory is synced.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from weir.connectors.base import Ancestry, Committer, is_ancestor
from weir.connectors.files.file_system import FileSystem, sink_error
from weir.connectors.files.output_layout import OutputLayout, PartName, staging_generation
from weir.connectors.files.revoked_output import RevokedOutput
from weir.errors import ProtocolError, SinkError, Superseded
from weir.kernel.checkpoints import CommitPermit
from weir.protocol.codec import from_json
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.snapshots import Committable

PUBLISH_ATTEMPTS = 4
"""How often a part is searched under all its possible names before it counts as lost."""


@dataclass(frozen=True, slots=True)
class CommittablePart:
    """Payload of a committable."""

    staged: str
    final: str
    rows: int
    bytes: int

    @staticmethod
    def of(committable: Committable) -> CommittablePart:
        part = from_json(CommittablePart, committable.payload)
        for name in (part.staged, part.final):
            if os.path.basename(name) != name or not name.startswith("part-"):
                raise ProtocolError(f"sink {committable.sink!r}: {name!r} is not the name of a staged file")
        return part


class DirectoryCommitter(Committer):
    revocable = True

    def __init__(self, layout: OutputLayout, file_system: FileSystem | None = None) -> None:
        self._layout = layout
        self._file_system = file_system or FileSystem()
        self._revoked = RevokedOutput(layout, self._file_system)

    def claim(self, *, job: str, sink: str, history: str | None = None) -> None:
        try:
            self._layout.claim(self._file_system, job=job, sink=sink, history=history)
        except OSError as error:
            raise sink_error("preparing the output directory", self._layout.out, error, retry_when_full=True) from error

    # ---- commit ----------------------------------------------------------------------------------

    def commit(self, permit: CommitPermit, committables: Sequence[Committable]) -> None:
        if not committables:
            return
        assert all(committable.checkpoint <= permit.checkpoint for committable in committables), (
            "no permit covers this checkpoint"
        )
        try:
            parts = [CommittablePart.of(committable) for committable in committables]
            linked = [source for part in parts if (source := self._publish(part, permit.generation)) is not None]
            if linked:
                self._file_system.fsync(self._layout.out)
            for source in linked:
                self._file_system.unlink(source)
        except OSError as error:
            raise sink_error(
                f"committing checkpoint {permit.checkpoint}", self._layout.out, error, retry_when_full=True
            ) from error

    def _publish(self, part: CommittablePart, generation: Generation) -> str | None:
        """Give the part its final name. Returns the other name, to be removed after the directory is synced.

        Returns None if the part is already published, or if a newer generation has revoked it."""
        staged, final = self._staged(part), os.path.join(self._layout.out, part.final)
        # Another process may rename the part between two of these checks. Each part is renamed at most twice.
        for _ in range(PUBLISH_ATTEMPTS):
            if self._link(staged, final):
                return staged
            if self._is_published(part, final):
                return None
            owner = self._revoked.owner()
            if owner > generation:
                return None
            if self._revoked.find(part.final, owner) is not None:
                # An older generation revoked the part, but a permit covers it, so it must be published. Fence the older
                # generation first. Otherwise each of two processes would remove the name that the other process keeps.
                try:
                    self._revoked.take_over(generation)
                except Superseded:
                    return None
                revoked_path = self._revoked.find(part.final, generation)
                if revoked_path is not None and self._link(revoked_path, final):
                    return revoked_path
        raise SinkError(
            f"{final}: the file is neither staged nor published, so {part.rows} records are missing. "
            "If the output directory was emptied, restore its files, or start the job without state and with an empty directory."
        )

    def _is_published(self, part: CommittablePart, final: str) -> bool:
        try:
            size = self._file_system.size(final)
        except FileNotFoundError:
            return False
        if size != part.bytes:
            raise SinkError(
                f"{final}: the file has {size} bytes instead of {part.bytes}: another program has written it. Restore or remove it."
            )
        return True

    def _link(self, source: str, final: str) -> bool:
        """Return False if the source does not exist: another process may publish and remove it at any moment."""
        try:
            self._file_system.link(source, final)
        except FileExistsError:
            return self._is_same(source, final)
        except FileNotFoundError:
            return False
        return True

    # ---- abort -----------------------------------------------------------------------------------

    def abort_after(self, checkpoint: CheckpointId, *, before_generation: Generation) -> None:
        staging = self._layout.staging
        try:
            for name in self._file_system.list(staging):
                generation = staging_generation(name)
                # Delete files of every checkpoint, because a zombie has possibly staged output for an old
                # checkpoint after the last abort. Output of
                # completed checkpoints is published or revoked by now, and no longer in this directory.
                if generation is not None and generation < before_generation:
                    self._file_system.unlink(os.path.join(staging, name))
        except OSError as error:
            raise sink_error("removing staged output of uncompleted checkpoints", staging, error, retry_when_full=True) from error

    # ---- revoke and reinstate --------------------------------------------------------------------

    def revoke(
        self, committables: Sequence[Committable], *, ancestry: Ancestry, branch: str, before_generation: Generation
    ) -> None:
        self._layout.checked_branch(branch)
        try:
            self._revoked.take_over(before_generation)
            # List only now, to include the files that an older generation published before the takeover.
            listed = [
                CommittablePart.of(committable)
                for committable in committables
                if _must_be_revoked(ancestry, committable.generation, committable.checkpoint, before_generation)
            ]
            published = [
                name for name in self._file_system.list(self._layout.out) if self._is_revocable(name, ancestry, before_generation)
            ]
            try:
                target = self._revoked.make_branch(before_generation, branch)
                for part in listed:
                    # Move the staged name first, so that a late commit of a zombie finds nothing to publish.
                    self._move(self._staged(part), os.path.join(target, part.final))
                    self._move(os.path.join(self._layout.out, part.final), os.path.join(target, part.final))
                for name in published:
                    self._move(os.path.join(self._layout.out, name), os.path.join(target, name))
                # Sync even if nothing was moved, because an earlier attempt has possibly moved all files and crashed before this sync.
                for directory in (target, self._layout.out):
                    self._file_system.fsync(directory)
                self._revoked.remove_empty_branches(before_generation)
            finally:
                self._revoked.check(before_generation)
        except OSError as error:
            raise sink_error(f"revoking branch {branch}", self._layout.out, error, retry_when_full=True) from error

    def reinstate(self, *, ancestry: Ancestry, branch: str, before_generation: Generation) -> None:
        self._layout.checked_branch(branch)
        try:
            self._revoked.take_over(before_generation)
            # Search all branches, because the output of several branches can be revoked together under the name of the first branch.
            parts = [
                part
                for part in self._revoked.parts(before_generation)
                if is_ancestor(ancestry, generation=part.part.generation, checkpoint=part.part.checkpoint)
            ]
            for part in parts:
                final = os.path.join(self._layout.out, part.final)
                if not self._link(part.path, final):
                    self._revoked.check(before_generation)
                    raise SinkError(f"{part.path}: another program removed the file while it was published again as {final}.")
            self._file_system.fsync(self._layout.out)
            for part in parts:
                self._file_system.unlink(part.path)
            self._revoked.remove_empty_branches(before_generation)
            self._revoked.check(before_generation)
        except OSError as error:
            raise sink_error(f"reinstating branch {branch}", self._layout.out, error, retry_when_full=True) from error

    @staticmethod
    def _is_revocable(name: str, ancestry: Ancestry, before_generation: Generation) -> bool:
        """Return whether this is a part of a checkpoint outside ``ancestry``. Files with other names are left alone."""
        part = PartName.parse(name)
        return part is not None and _must_be_revoked(ancestry, part.generation, part.checkpoint, before_generation)

    def _move(self, source: str, target: str) -> None:
        """Do nothing if the source or the directory of ``target`` is missing, because then another generation has taken over."""
        if not self._file_system.exists(source):
            return
        try:
            if not self._file_system.exists(target):
                self._file_system.rename(source, target)
            elif self._is_same(source, target):
                # Both are names of one file. A rename between them does nothing, and an unlink of the source is not fenced: it
                # might remove the last name. A rename into the target's directory is fenced.
                stem, extension = os.path.splitext(target)
                spare = f"{stem}~{uuid.uuid4().hex}{extension}"
                self._file_system.rename(source, spare)
                self._file_system.unlink(spare)
        except FileNotFoundError:
            return

    def _is_same(self, source: str, other: str) -> bool:
        """Return False if the source does not exist. Raises SinkError if these are two different files."""
        try:
            same = self._file_system.same_file(source, other)
        except FileNotFoundError:
            return False
        if not same:
            raise SinkError(
                f"{other}: the file exists, and this job did not write it. Use an empty output directory. "
                "The file may be left from a run with another checkpoint directory."
            )
        return True

    def _staged(self, part: CommittablePart) -> str:
        return os.path.join(self._layout.staging, part.staged)


def _must_be_revoked(ancestry: Ancestry, generation: int, checkpoint: int, before_generation: Generation) -> bool:
    """A generation changes only output of older generations."""
    return generation < before_generation and not is_ancestor(ancestry, generation=generation, checkpoint=checkpoint)
