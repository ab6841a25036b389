"""The names of staged, published and revoked files in an output directory.

``weir_checkpoint=7/part-c00000007-g1-w0000.parquet`` is a published file.
If a writer writes several files in an epoch, the names of the further files end in ``.s0001.parquet``, ``.s0002.parquet`` etc.
``_weir/owner.json`` names the job, sink and job log that own the output directory.
``_weir/staging/open-g1-w0000~<unique>.parquet`` is a file that a writer is still writing. The file name has no checkpoint id,
because the id is not known yet.
``_weir/staging/part-c00000007-g1-w0000~<unique>.parquet`` is a pre-committed file.
``_weir/epochs/g1/pending/weir_checkpoint=7/part-...`` is a file whose epoch is being published.
``_weir/epochs/g1/published/c00000007-g1.json`` is the receipt of a published epoch.
``_weir/epochs/g1/abandoned/<branch>/weir_checkpoint=7/part-...`` is a revoked file.

The directory ``weir_checkpoint=7`` contains all files that the commit of checkpoint 7 publishes. In a file name, the number after
``c`` is the id of the checkpoint whose barrier ended the epoch of the file. If checkpoint 6 was aborted, checkpoint 7 also
publishes the files with ``c00000006`` in their names. The number after ``g`` is the generation, and the number after ``w`` is the
subtask that wrote the file. An attempt number other than 0 follows the generation (``g1.2``). ``<unique>`` is a random id of the
file. Spark, pyarrow and globs over ``*/*.parquet`` skip ``_weir``. The directory ``_weir/epochs/g1`` belongs to the newest
attempt (see ``FencedDirectory``).

Older versions of Weir published files directly in the output directory, and kept revoked files in
``_weir/abandoned/g1/<branch>/``.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from dataclasses import dataclass

from weir.connectors.files.file_system import FileSystem
from weir.errors import SinkError
from weir.protocol.ids import Attempt, CheckpointId, Generation

_OPEN = re.compile(r"open-g(\d+)(?:\.(\d+))?-w(\d+)~[0-9a-f]+\.\w+")
_PART = re.compile(r"part-c(\d+)-g(\d+)(?:\.(\d+))?-w(\d+)(?:\.s(\d+))?(?:~[0-9a-f]+)?\.\w+")
_EPOCH = re.compile(r"weir_checkpoint=(\d+)")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")


@dataclass(frozen=True, slots=True, order=True)
class PartName:
    """The name of a staged, published or revoked file. Names sort by checkpoint, attempt, writer and segment."""

    checkpoint: CheckpointId
    attempt: Attempt
    writer: int
    segment: int = 0

    def final(self, extension: str) -> str:
        segment = f".s{self.segment:04d}" if self.segment else ""
        return f"part-c{self.checkpoint:08d}-g{self.attempt}-w{self.writer:04d}{segment}.{extension}"

    @staticmethod
    def parse(name: str) -> PartName | None:
        match = _PART.fullmatch(name)
        if match is None:
            return None
        checkpoint, generation, attempt, writer, segment = (int(number or 0) for number in match.groups())
        return PartName(CheckpointId(checkpoint), Attempt(Generation(generation), attempt), writer, segment)


def open_file_name(attempt: Attempt, writer: int, extension: str) -> str:
    return f"open-g{attempt}-w{writer:04d}~{uuid.uuid4().hex}.{extension}"


def staged_name(part: PartName, open_file: str) -> str:
    """Return the name of a pre-committed file. This name and the name of the open file have the same ``<unique>``."""
    final, extension = part.final("").rstrip("."), open_file.rpartition(".")[2]
    return f"{final}~{open_file.partition('~')[2].partition('.')[0]}.{extension}"


@dataclass(frozen=True, slots=True)
class StagedFile:
    """What the name of a file in the staging directory says. ``checkpoint`` is None for a file that is still being written."""

    attempt: Attempt
    writer: int
    checkpoint: CheckpointId | None = None

    @staticmethod
    def parse(name: str) -> StagedFile | None:
        """Return None if no writer has created the file."""
        opened = _OPEN.fullmatch(name)
        if opened is not None:
            generation, attempt, writer = (int(number or 0) for number in opened.groups())
            return StagedFile(Attempt(Generation(generation), attempt), writer)
        part = PartName.parse(name)
        return None if part is None else StagedFile(part.attempt, part.writer, part.checkpoint)


def epoch_name(checkpoint: CheckpointId) -> str:
    """Return the name of the directory that contains the files of an epoch. The name has the form ``column=value``, because Spark
    and other readers read only such subdirectories. Spark adds the column ``weir_checkpoint`` to the rows."""
    return f"weir_checkpoint={checkpoint}"


def parse_epoch_name(name: str) -> CheckpointId | None:
    match = _EPOCH.fullmatch(name)
    return None if match is None else CheckpointId(int(match[1]))


@dataclass(frozen=True, slots=True)
class OutputLayout:
    out: str

    @property
    def weir(self) -> str:
        return os.path.join(self.out, "_weir")

    @property
    def staging(self) -> str:
        return os.path.join(self.weir, "staging")

    @property
    def epochs(self) -> str:
        return os.path.join(self.weir, "epochs")

    @property
    def older_revoked(self) -> str:
        """The directory in which older versions of Weir kept revoked files."""
        return os.path.join(self.weir, "abandoned")

    def visible(self, checkpoint: CheckpointId) -> str:
        return os.path.join(self.out, epoch_name(checkpoint))

    def published_parts(self, file_system: FileSystem) -> list[tuple[PartName, str]]:
        """Return the names and paths of the published files, in the order of ``PartName``. Raises OSError."""
        directories = [self.out]
        directories += [os.path.join(self.out, name) for name in file_system.list(self.out) if parse_epoch_name(name) is not None]
        return sorted(
            (part, os.path.join(directory, name))
            for directory in directories
            for name in file_system.list(directory)
            if (part := PartName.parse(name)) is not None
        )

    def checked_branch(self, branch: str) -> str:
        """Return ``branch``. Raises SinkError if ``branch`` cannot be a directory name."""
        if not _BRANCH.fullmatch(branch):
            raise SinkError(f"{self.out}: invalid branch name {branch!r} for revoked output. Use letters, digits and . _ -")
        return branch

    def claim(self, file_system: FileSystem, *, job: str, sink: str, history: str | None = None) -> None:
        """Mark the directory as owned by this job and sink, because Weir cannot distinguish the files of two jobs or sinks in
        one directory.

        ``history`` is the id of the job log. Writers pass None for ``history``, because only the coordinator knows the id of the
        job log. The coordinator checks the id of the job log before writers start. Raises the errors of ``check_owner``.
        """
        claim = {"job": job, "sink": sink} | ({"history": history} if history else {})
        file_system.make_directories(self.staging)
        if file_system.exists(self._owner) or not file_system.create(self._owner, json.dumps(claim).encode()):
            self.check_owner(file_system, job=job, sink=sink, history=history)

    @property
    def _owner(self) -> str:
        return os.path.join(self.weir, "owner.json")

    def check_owner(self, file_system: FileSystem, *, job: str, sink: str, history: str | None = None) -> None:
        """Raise SinkError if the owner of the output directory is another job or sink, or this job with another job log. Also
        raise SinkError if the owner file of the output directory is damaged. An output directory without an owner passes the
        check."""
        path = self._owner
        try:
            owner = json.loads(file_system.read(path))
        except FileNotFoundError:
            return
        except ValueError:
            owner = None
        if not isinstance(owner, dict) or not all(isinstance(owner.get(name), str) for name in ("job", "sink")):
            raise SinkError(
                f"{path}: the file is damaged, so the owner of the output directory is unknown. Restore the file from a backup. "
                f"If the output belongs to sink {sink!r} of job {job!r}, delete the file and start the job again. "
                "The job then writes a new owner file. Otherwise choose another directory."
            )
        if (owner["job"], owner["sink"]) != (job, sink):
            raise SinkError(
                f"{self.out}: the directory belongs to sink {owner['sink']!r} of job {owner['job']!r}. Choose another directory for "
                f"sink {sink!r} of job {job!r}."
            )
        if history and owner.get("history", history) != history:
            raise SinkError(
                f"{self.out}: the directory contains output of job {job!r} from a run with another checkpoint directory. "
                "Use an empty output directory, or resume with the checkpoint directory of that run."
            )
