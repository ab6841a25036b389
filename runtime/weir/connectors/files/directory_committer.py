"""The committer of directory sinks, which publishes, aborts, revokes and reinstates the files of directory writers.

Each method consists of small steps. If the process crashes at any step of a method, calling the method again leads to the same
state as without the crash. A file gets its final name by a hard link, which never overwrites another file. The committer removes
the staged name of a file only after it has synced the output directory.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from weir.connectors.base import Ancestry, Committer, Epochs, MissingOutput, is_ancestor
from weir.connectors.files.file_system import FileSystem, sink_error
from weir.connectors.files.output_layout import OutputLayout, PartName, staging_generation
from weir.connectors.files.revoked_output import RevokedOutput
from weir.errors import ProtocolError, SinkError, Superseded
from weir.kernel.checkpoints import CommitPermit
from weir.protocol.codec import from_json
from weir.protocol.ids import Attempt, CheckpointId, Generation
from weir.protocol.snapshots import Committable

PUBLISH_ATTEMPTS = 4
"""The number of times that the committer looks for an output file under all its possible names before it reports the file as
missing."""


@dataclass(frozen=True, slots=True)
class CommittablePart:
    """The payload of a committable. It describes one output file (a part)."""

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
            "the permit does not cover this checkpoint"
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
        """Publish ``part`` by giving it its final name. Returns the old path of the part, which the caller must remove after it has
        synced the output directory.

        Returns None if the part is already published, or if a newer generation has revoked the part."""
        staged, final = self._staged(part), os.path.join(self._layout.out, part.final)
        # Repeat these checks, because another process can rename the part between two checks. The part is renamed at most
        # twice.
        for _ in range(PUBLISH_ATTEMPTS):
            if self._link(staged, final):
                return staged
            if self._is_published(part, final):
                return None
            owner = self._revoked.owner()
            if owner > generation:
                return None
            if self._revoked.find(part.final, owner) is not None:
                # An older generation has revoked the part, but the permit requires the part to be published. Fence the older
                # generation first. Without fencing, two processes that rename the part at the same time could remove both its
                # names.
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
                f"{final}: another program has written the file. It has {size} bytes, not {part.bytes}. Restore or remove it."
            )
        return True

    def _link(self, source: str, final: str) -> bool:
        """Add the name ``final`` to the file ``source``. Return False if ``source`` does not exist: another process can publish the
        file and remove ``source`` at any time."""
        try:
            self._file_system.link(source, final)
        except FileExistsError:
            return self._is_same(source, final)
        except FileNotFoundError:
            return False
        return True

    # ---- abort -----------------------------------------------------------------------------------

    def abort_after(self, checkpoint: CheckpointId, *, before: Attempt) -> None:
        staging = self._layout.staging
        try:
            for name in self._file_system.list(staging):
                generation = staging_generation(name)
                # Delete staged files of every checkpoint, because a zombie has possibly staged output for an old checkpoint after
                # the last abort. The staging directory contains no output of completed checkpoints, because that output is already
                # published or revoked.
                if generation is not None and generation < before.generation:
                    self._file_system.unlink(os.path.join(staging, name))
        except OSError as error:
            raise sink_error("removing staged output of uncompleted checkpoints", staging, error, retry_when_full=True) from error

    # ---- revoke and reinstate --------------------------------------------------------------------

    def revoke(self, epochs: Epochs, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        before_generation = before.generation
        self._layout.checked_branch(branch)
        try:
            self._revoked.take_over(before_generation)
            # List the files after the takeover, to include files that an older generation published before the takeover.
            listed = [
                CommittablePart.of(committable)
                for epoch in epochs.values()
                for committable in epoch
                if _must_be_revoked(ancestry, committable.generation, committable.checkpoint, before_generation)
            ]
            published = [
                name for name in self._file_system.list(self._layout.out) if self._is_revocable(name, ancestry, before_generation)
            ]
            try:
                target = self._revoked.make_branch(before_generation, branch)
                for part in listed:
                    # Move the staged file before the published file, so that a late commit of a zombie finds nothing to publish.
                    self._move(self._staged(part), os.path.join(target, part.final))
                    self._move(os.path.join(self._layout.out, part.final), os.path.join(target, part.final))
                for name in published:
                    self._move(os.path.join(self._layout.out, name), os.path.join(target, name))
                # Sync even if nothing was moved, because an earlier attempt has possibly moved all files and crashed before this
                # sync.
                for directory in (target, self._layout.out):
                    self._file_system.fsync(directory)
                self._revoked.remove_empty_branches(before_generation)
            finally:
                self._revoked.check(before_generation)
        except OSError as error:
            raise sink_error(f"revoking branch {branch}", self._layout.out, error, retry_when_full=True) from error
        return ()

    def reinstate(self, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        before_generation = before.generation
        self._layout.checked_branch(branch)
        try:
            self._revoked.take_over(before_generation)
            # Search the directories of all branches, because the first revocation can move output of several branches into one
            # directory.
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
        return ()

    @staticmethod
    def _is_revocable(name: str, ancestry: Ancestry, before_generation: Generation) -> bool:
        """Return whether the file ``name`` must be revoked. Only files with the name of a part are revocable."""
        part = PartName.parse(name)
        return part is not None and _must_be_revoked(ancestry, part.generation, part.checkpoint, before_generation)

    def _move(self, source: str, target: str) -> None:
        """Rename a file. Do nothing if ``source`` is missing, or if the directory of ``target`` is missing because another
        generation has taken over."""
        if not self._file_system.exists(source):
            return
        try:
            if not self._file_system.exists(target):
                self._file_system.rename(source, target)
            elif self._is_same(source, target):
                # ``source`` and ``target`` are two names of one file, so renaming ``source`` to ``target`` would do nothing. After
                # another generation has taken over, a rename into the directory of ``target`` fails. An unlink of ``source`` would
                # not fail, and could remove the last name of the file.
                stem, extension = os.path.splitext(target)
                spare = f"{stem}~{uuid.uuid4().hex}{extension}"
                self._file_system.rename(source, spare)
                self._file_system.unlink(spare)
        except FileNotFoundError:
            return

    def _is_same(self, source: str, other: str) -> bool:
        """Return True if both paths are one file, and False if ``source`` does not exist. Raises SinkError if the paths are
        different files."""
        try:
            same = self._file_system.same_file(source, other)
        except FileNotFoundError:
            return False
        if not same:
            raise SinkError(
                f"{other}: the file exists, and this job did not write it. Use an empty output directory. "
                "A run with another checkpoint directory may have written the file."
            )
        return True

    def _staged(self, part: CommittablePart) -> str:
        return os.path.join(self._layout.staging, part.staged)


def _must_be_revoked(ancestry: Ancestry, generation: int, checkpoint: int, before_generation: Generation) -> bool:
    """Return whether the output of ``checkpoint`` must be revoked. A generation revokes only output of older generations."""
    return generation < before_generation and not is_ancestor(ancestry, generation=generation, checkpoint=checkpoint)
