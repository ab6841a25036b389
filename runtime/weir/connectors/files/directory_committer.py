"""The committer of directory sinks, which publishes, aborts, revokes and reinstates the files of directory writers.

Each method consists of small steps. If the process crashes at any step of a method, calling the method again leads to the same
state as without the crash.

The committer publishes an epoch in three steps. First, it moves the files of all writers into one directory below ``pending``.
Then it writes the receipt, which lists the files. Finally, it renames the directory to its visible path.

If an epoch has a receipt and no pending directory, the epoch is published, even if a consumer has removed its files since then.
Receipts, pending files and revoked files are in a ``FencedDirectory``. After a newer generation has taken over this directory,
each of the three steps fails for a coordinator of an older generation.
"""

from __future__ import annotations

import errno
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from weir.connectors.base import Ancestry, Committer, Epochs, MissingOutput, is_ancestor
from weir.connectors.files.fenced_directory import FencedDirectory
from weir.connectors.files.file_system import FileSystem, sink_error
from weir.connectors.files.output_layout import OutputLayout, PartName, StagedFile, epoch_name, parse_epoch_name
from weir.errors import ProtocolError, SinkError
from weir.kernel.checkpoints import CommitPermit
from weir.protocol import codec
from weir.protocol.ids import Attempt, CheckpointId, Generation
from weir.protocol.snapshots import Committable

RECEIPTS_MAX = 10_000
"""The number of receipts that remain after a sink has deleted old receipts. If a rollback revokes an epoch without a receipt,
Weir cannot report which files of this epoch consumers have removed."""
_PRUNE_EVERY = 1_000
_PENDING, _PUBLISHED, _ABANDONED = "pending", "published", "abandoned"
_RECEIPT = re.compile(r"c(\d+)-g(\d+)\.json")


@dataclass(frozen=True, slots=True)
class CommittablePart:
    """The payload of a committable. The payload describes one output file (a part)."""

    staged: str
    final: str
    rows: int
    bytes: int

    @staticmethod
    def of(committable: Committable) -> CommittablePart:
        part = codec.from_json(CommittablePart, committable.payload)
        for name in (part.staged, part.final):
            if os.path.basename(name) != name or PartName.parse(name) is None:
                raise ProtocolError(f"sink {committable.sink!r}: {name!r} is not the name of a staged file")
        return part


@dataclass(frozen=True, slots=True, order=True)
class _EpochId:
    """A checkpoint, and the generation that completed the checkpoint. All files of an epoch are from the same generation."""

    checkpoint: CheckpointId
    generation: Generation

    @property
    def receipt(self) -> str:
        return f"c{self.checkpoint:08d}-g{self.generation}.json"

    @staticmethod
    def of_receipt(name: str) -> _EpochId | None:
        match = _RECEIPT.fullmatch(name)
        return None if match is None else _EpochId(CheckpointId(int(match[1])), Generation(int(match[2])))


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that an epoch is published. ``files`` maps the name of each file to its number of rows."""

    checkpoint: CheckpointId
    generation: Generation
    files: dict[str, int]
    rows: int
    bytes: int


class DirectoryCommitter(Committer):
    revocable = True

    def __init__(self, layout: OutputLayout, file_system: FileSystem | None = None) -> None:
        self._layout = layout
        self.target = layout.out
        self._file_system = file_system or FileSystem()
        self._fence = FencedDirectory(layout.epochs, self._file_system, target=layout.out)
        self._prepared: Attempt | None = None
        self._commits = 0

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
        parts = [CommittablePart.of(committable) for committable in committables]
        epoch = _EpochId(permit.checkpoint, committables[0].generation)
        attempt = permit.holder
        with self._changing(attempt, f"committing checkpoint {permit.checkpoint}"):
            pending = self._fence.path(attempt, _PENDING, epoch_name(epoch.checkpoint))
            if not self._file_system.exists(self._fence.path(attempt, _PUBLISHED, epoch.receipt)):
                if not self._is_visible(epoch, parts):
                    self._gather(attempt, parts, pending, epoch)
                self._write_receipt(attempt, epoch, parts)
            self._show(attempt, pending, self._layout.visible(epoch.checkpoint))
            self._commits += 1
            if self._commits % _PRUNE_EVERY == 0:
                self._remove_old_receipts(attempt)

    def _is_visible(self, epoch: _EpochId, parts: Sequence[CommittablePart]) -> bool:
        """Return whether all files of ``epoch`` are at their visible paths. The caller has already checked that ``epoch`` has
        no receipt. If all files are at their visible paths, an older version of Weir or a reinstatement has published the
        epoch."""
        return all(any(self._is_complete(path, part) for path in self._visible_paths(epoch, part)) for part in parts)

    def _visible_paths(self, epoch: _EpochId, part: CommittablePart) -> list[str]:
        """Return the paths at which the file can be visible. A file that an older version of Weir published
        is now in the directory of the checkpoint whose id is in the file name (see ``_adopt_older_layout``)."""
        name = PartName.parse(part.final)
        assert name is not None
        checkpoints = dict.fromkeys((epoch.checkpoint, name.checkpoint))
        return [os.path.join(self._layout.visible(checkpoint), part.final) for checkpoint in checkpoints]

    def _gather(self, attempt: Attempt, parts: Sequence[CommittablePart], pending: str, epoch: _EpochId) -> None:
        """Move all files of the epoch to ``pending``. First find all files, so that no file is moved if any file is missing."""
        sources: list[tuple[str, str]] = []
        for part in parts:
            target = os.path.join(pending, part.final)
            paths = [target, *self._visible_paths(epoch, part), os.path.join(self._layout.staging, part.staged)]
            found = next((path for path in paths if self._is_complete(path, part)), None)
            if found is None:
                self._fence.check(attempt)
                raise SinkError(
                    f"{os.path.join(self._layout.visible(epoch.checkpoint), part.final)}: the file is neither staged nor published, "
                    f"so its records are missing (rows: {part.rows}). If the output directory was emptied, restore its files, or start the job "
                    "without state and with an empty directory."
                )
            if found != target:
                sources.append((found, target))
        self._file_system.mkdir(pending)
        for source, target in sources:
            self._file_system.rename(source, target)
        # Make the files durable before the receipt is written, because a power cut could otherwise remove the files but keep
        # the receipt.
        self._file_system.fsync(pending)
        self._file_system.fsync(os.path.dirname(pending))

    def _is_complete(self, path: str, part: CommittablePart) -> bool:
        try:
            size = self._file_system.size(path)
        except FileNotFoundError:
            return False
        if size != part.bytes:
            raise SinkError(
                f"{path}: the file has {size} bytes instead of {part.bytes}, so another program has changed the file. "
                "Restore or remove the file."
            )
        return True

    def _write_receipt(self, attempt: Attempt, epoch: _EpochId, parts: Sequence[CommittablePart]) -> None:
        receipt = Receipt(
            epoch.checkpoint,
            epoch.generation,
            {part.final: part.rows for part in parts},
            rows=sum(part.rows for part in parts),
            bytes=sum(part.bytes for part in parts),
        )
        self._file_system.create(self._fence.path(attempt, _PUBLISHED, epoch.receipt), codec.dumps(receipt))

    def _show(self, attempt: Attempt, pending: str, visible: str) -> None:
        """Rename the directory of the epoch to its visible path. Do nothing if the epoch is already visible."""
        try:
            self._file_system.rename(pending, visible)
        except FileNotFoundError:
            self._fence.check(attempt)  # the rename also fails if a newer attempt has taken over the directory
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            raise SinkError(
                f"{visible}: the directory contains files that this job did not write. Move these files to another directory, and "
                "start the job again."
            ) from error
        self._file_system.fsync(self._layout.out)

    # ---- abort -----------------------------------------------------------------------------------

    def abort_after(self, checkpoint: CheckpointId, *, before: Attempt) -> None:
        with self._changing(before, "removing staged output of uncompleted checkpoints"):
            for name in self._file_system.list(self._layout.staging):
                staged = StagedFile.parse(name)
                # Delete staged files of every checkpoint, because a zombie may have staged output for an old checkpoint after the
                # last abort. The staging directory contains no output of completed checkpoints, because that output is already
                # published or revoked.
                if staged is not None and staged.attempt < before:
                    self._file_system.unlink(os.path.join(self._layout.staging, name))
            self._remove_old_receipts(before)

    def discard(self, writer: int, attempt: Attempt, *, after: CheckpointId) -> None:
        try:
            for name in self._file_system.list(self._layout.staging):
                staged = StagedFile.parse(name)
                if (
                    staged is not None
                    and staged.writer == writer
                    and staged.attempt.generation == attempt.generation
                    and staged.attempt < attempt
                    and (staged.checkpoint is None or staged.checkpoint > after)
                ):
                    self._file_system.unlink(os.path.join(self._layout.staging, name))
        except OSError as error:
            raise sink_error("removing staged output of a replaced slot", self._layout.out, error) from error

    def _remove_old_receipts(self, attempt: Attempt) -> None:
        """Delete all receipts except the newest RECEIPTS_MAX. Also delete incomplete receipts and temporary names that remain
        after a crash."""
        names = self._file_system.list(self._fence.path(attempt, _PUBLISHED))
        receipts = sorted(epoch for name in names if (epoch := _EpochId.of_receipt(name)) is not None)
        expired = [epoch.receipt for epoch in receipts[:-RECEIPTS_MAX]]
        for name in [*expired, *(name for name in names if _EpochId.of_receipt(name) is None)]:
            self._file_system.unlink(self._fence.path(attempt, _PUBLISHED, name))

    # ---- revoke and reinstate --------------------------------------------------------------------

    def revoke(self, epochs: Epochs, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        self._layout.checked_branch(branch)
        missing: list[MissingOutput] = []
        with self._changing(before, f"revoking branch {branch}"):
            staged = {
                _EpochId(checkpoint, committables[0].generation): [CommittablePart.of(one) for one in committables]
                for checkpoint, committables in epochs.items()
                if committables
            }
            # The takeover is complete, so this list includes all epochs that older generations have published.
            listed = [*staged, *self._receipts(before), *self._epochs_in(self._layout.out)]
            listed += self._epochs_in(self._fence.path(before, _PENDING))
            target = self._fence.path(before, _ABANDONED, branch)
            self._file_system.mkdir(target)
            earlier = self._abandoned(before)
            for epoch in sorted(set(listed)):
                is_older = Attempt(epoch.generation) < before
                if is_older and not is_ancestor(ancestry, generation=epoch.generation, checkpoint=epoch.checkpoint):
                    directory = earlier.get(epoch.checkpoint, os.path.join(target, epoch_name(epoch.checkpoint)))
                    self._revoke_epoch(before, epoch, staged.get(epoch, ()), directory)
                    if os.path.dirname(directory) == target:
                        missing += self._missing(before, epoch, directory)
            # Sync even if nothing was moved, because an earlier call may have moved all files and then crashed.
            for path in (target, os.path.dirname(target), self._layout.out):
                self._file_system.fsync(path)
            self._remove_empty_branches(before)
            self._fence.check(before)
        return missing

    def _revoke_epoch(self, before: Attempt, epoch: _EpochId, staged: Sequence[CommittablePart], directory: str) -> None:
        """Move all files of the epoch to ``directory``. Rename the visible directory first, so that readers never see only a
        part of the epoch."""
        self._move_directory(before, self._layout.visible(epoch.checkpoint), directory)
        self._move_directory(before, self._fence.path(before, _PENDING, epoch_name(epoch.checkpoint)), directory)
        self._file_system.mkdir(directory)
        for part in staged:
            self._move(before, os.path.join(self._layout.staging, part.staged), os.path.join(directory, part.final))
        self._file_system.fsync(directory)

    def reinstate(self, *, ancestry: Ancestry, branch: str, before: Attempt) -> Sequence[MissingOutput]:
        self._layout.checked_branch(branch)
        missing: list[MissingOutput] = []
        with self._changing(before, f"reinstating branch {branch}"):
            generations = {epoch.checkpoint: epoch.generation for epoch in self._receipts(before)}
            # Search the directories of all branches, because the first revocation can move output of several branches into one
            # directory.
            for checkpoint, directory in sorted(self._abandoned(before).items()):
                generation = generations.get(checkpoint) or self._generation_in(directory)
                if generation is None or not is_ancestor(ancestry, generation=generation, checkpoint=checkpoint):
                    continue
                missing += self._missing(before, _EpochId(checkpoint, generation), directory)
                if self._file_system.list(directory):
                    self._move_directory(before, directory, self._layout.visible(checkpoint))
                else:
                    self._file_system.remove_directory(directory)
            self._file_system.fsync(self._layout.out)
            self._remove_empty_branches(before)
            self._fence.check(before)
        return missing

    def _missing(self, attempt: Attempt, epoch: _EpochId, directory: str) -> Iterator[MissingOutput]:
        """Yield the output that is listed in the receipt of the epoch, but is not in ``directory``. Yield nothing if there is
        no receipt. Raises SinkError if the receipt is damaged."""
        path = self._fence.path(attempt, _PUBLISHED, epoch.receipt)
        try:
            files = codec.loads(Receipt, self._file_system.read(path)).files
        except FileNotFoundError:
            return
        except ProtocolError as error:
            raise SinkError(f"{path}: the receipt is damaged: {error}. Delete the file and start the job again.") from error
        removed = files.keys() - set(self._file_system.list(directory))
        if removed:
            yield MissingOutput(epoch.checkpoint, len(removed), sum(files[name] for name in removed))

    # ---- listing ---------------------------------------------------------------------------------

    def published(self, *, job: str, sink: str, history: str | None = None) -> frozenset[tuple[Generation, CheckpointId]]:
        try:
            self._layout.check_owner(self._file_system, job=job, sink=sink, history=history)
            owner = self._fence.owner()
            found = [*self._receipts(owner), *self._epochs_in(self._fence.path(owner, _PENDING))]
            known = {epoch.checkpoint for epoch in found}
            found += self._epochs_in(self._layout.out, skip=known)
            flat = [part for name in self._file_system.list(self._layout.out) if (part := PartName.parse(name)) is not None]
        except OSError as error:
            raise sink_error("listing the published output", self._layout.out, error) from error
        pairs = {(epoch.generation, epoch.checkpoint) for epoch in found}
        pairs |= {(part.attempt.generation, part.checkpoint) for part in flat}
        return frozenset(pairs | ({(owner.generation, CheckpointId(0))} if owner.generation else set()))

    def _receipts(self, attempt: Attempt) -> list[_EpochId]:
        names = self._file_system.list(self._fence.path(attempt, _PUBLISHED))
        return [epoch for name in names if (epoch := _EpochId.of_receipt(name)) is not None]

    def _epochs_in(self, path: str, *, skip: set[CheckpointId] | frozenset[CheckpointId] = frozenset()) -> list[_EpochId]:
        """Return the epochs that have a directory in ``path``. Skip empty directories, and the checkpoints in ``skip``."""
        found: list[_EpochId] = []
        for name in self._file_system.list(path):
            checkpoint = parse_epoch_name(name)
            if checkpoint is not None and checkpoint not in skip:
                generation = self._generation_in(os.path.join(path, name))
                if generation is not None:
                    found.append(_EpochId(checkpoint, generation))
        return found

    def _generation_in(self, directory: str) -> Generation | None:
        parts = (PartName.parse(name) for name in self._file_system.list(directory))
        return max((part.attempt.generation for part in parts if part is not None), default=None)

    def _abandoned(self, attempt: Attempt) -> dict[CheckpointId, str]:
        """Return the directory of each revoked epoch, for all branches."""
        root = self._fence.path(attempt, _ABANDONED)
        return {
            checkpoint: os.path.join(root, branch, name)
            for branch in self._file_system.list(root)
            for name in self._file_system.list(os.path.join(root, branch))
            if (checkpoint := parse_epoch_name(name)) is not None
        }

    # ---- steps -----------------------------------------------------------------------------------

    @contextmanager
    def _changing(self, attempt: Attempt, action: str) -> Iterator[None]:
        """Take over the output directory for ``attempt``. The ``with`` block can then change the directory. Raises Superseded
        if a newer attempt takes over before the end of the block. If the takeover or the ``with`` block fails with OSError,
        the context manager raises SinkError instead."""
        try:
            self._fence.take_over(attempt)
            if self._prepared != attempt:
                for name in (_PENDING, _PUBLISHED, _ABANDONED):
                    self._file_system.mkdir(self._fence.path(attempt, name))
                self._file_system.fsync(self._fence.path(attempt))
                self._adopt_older_layout(attempt)
                self._prepared = attempt
            yield
        except OSError as error:
            self._fence.check(attempt)
            raise sink_error(action, self._layout.out, error, retry_when_full=True) from error

    def _adopt_older_layout(self, attempt: Attempt) -> None:
        """Move each file of an older version of Weir into the directory of its epoch. Files are renamed, not copied, so no row
        is ever in two files. After a crash, the next call moves the remaining files."""
        changed: set[str] = set()
        for name in self._file_system.list(self._layout.out):
            part = PartName.parse(name)
            if part is not None:
                directory = self._layout.visible(part.checkpoint)
                self._file_system.mkdir(directory)
                self._move(attempt, os.path.join(self._layout.out, name), os.path.join(directory, name))
                changed |= {directory, self._layout.out}
        older = self._layout.older_revoked
        for generation in self._file_system.list(older):
            for branch in self._file_system.list(os.path.join(older, generation)):
                path = os.path.join(older, generation, branch)
                for name in self._file_system.list(path):
                    part = PartName.parse(name)
                    if part is None:
                        continue
                    final = part.final(name.rpartition(".")[2])
                    target = self._fence.path(attempt, _ABANDONED, branch)
                    directory = os.path.join(target, epoch_name(part.checkpoint))
                    self._file_system.mkdir(target)
                    self._file_system.mkdir(directory)
                    self._move(attempt, os.path.join(path, name), os.path.join(directory, final))
                    changed |= {target, directory}
                self._remove_if_empty(path)
            self._remove_if_empty(os.path.join(older, generation))
        self._remove_if_empty(older)
        for path in sorted(changed):
            self._file_system.fsync(path)

    def _move_directory(self, attempt: Attempt, source: str, target: str) -> None:
        """Rename the directory ``source`` to ``target``. If ``target`` contains files, move the files of ``source`` to ``target``
        instead. Do nothing if ``source`` is missing."""
        if not self._file_system.exists(source):
            return
        try:
            self._file_system.rename(source, target)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            for name in self._file_system.list(source):
                self._move(attempt, os.path.join(source, name), os.path.join(target, name))
            self._file_system.remove_directory(source)

    def _move(self, attempt: Attempt, source: str, target: str) -> None:
        """Rename a file. Do nothing if ``source`` is missing. Also do nothing if the directory of ``target`` is missing,
        because another generation has then taken over the output directory."""
        if not self._file_system.exists(source):
            return
        try:
            if not self._file_system.exists(target):
                self._file_system.rename(source, target)
            elif self._is_same(source, target):
                # ``source`` and ``target`` are two names of one file, so renaming ``source`` to ``target`` would do nothing. To
                # remove the name ``source``, rename ``source`` to a temporary name in the fenced directory, and delete the
                # temporary name. If another generation has taken over the output directory, the rename fails. Deleting
                # ``source`` directly would not be safe: after a takeover, ``source`` can be the only name of the file. If the
                # process crashes before it deletes the temporary name, ``abort_after`` deletes this name.
                spare = self._fence.path(attempt, _PUBLISHED, f"spare~{uuid.uuid4().hex}")
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

    def _remove_empty_branches(self, attempt: Attempt) -> None:
        directory = self._fence.path(attempt, _ABANDONED)
        for branch in self._file_system.list(directory):
            self._remove_if_empty(os.path.join(directory, branch))

    def _remove_if_empty(self, directory: str) -> None:
        if not self._file_system.list(directory):
            self._file_system.remove_directory(directory)
