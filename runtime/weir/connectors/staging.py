"""Names inside an output directory: what is staged, published, abandoned.

    <out>/part-c00000007-g1-w0000.parquet                        published; more files of the same epoch end in .s0001.parquet ...
    <out>/_weir/owner.json                                       the one job, sink and history that write here
    <out>/_weir/staging/open-g1-w0000~<unique>.parquet           being written, its checkpoint not yet known
    <out>/_weir/staging/part-c00000007-g1-w0000~<unique>.parquet pre-committed
    <out>/_weir/abandoned/g1/<branch>/part-...                   taken back (see withdrawn.py)

Spark, pyarrow and globs over ``*.parquet`` leave out ``_weir``. ``<unique>`` tells attempts apart, c is the checkpoint, g the
generation, w the subtask that wrote.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from dataclasses import dataclass

from weir.connectors.disk import Disk
from weir.errors import SinkError

_OPEN = re.compile(r"open-g(\d+)-w(\d+)~[0-9a-f]+\.\w+")
_PART = re.compile(r"part-c(\d+)-g(\d+)-w(\d+)(?:\.s(\d+))?(?:~[0-9a-f]+)?\.\w+")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")


@dataclass(frozen=True, slots=True, order=True)
class PartName:
    """Ordered as a reader would want the parts of one sink."""

    checkpoint: int
    generation: int
    writer: int
    segment: int = 0

    def final(self, extension: str) -> str:
        segment = f".s{self.segment:04d}" if self.segment else ""
        return f"part-c{self.checkpoint:08d}-g{self.generation}-w{self.writer:04d}{segment}.{extension}"

    @staticmethod
    def parse(name: str) -> PartName | None:
        match = _PART.fullmatch(name)
        return None if match is None else PartName(*(int(number or 0) for number in match.groups()))


def open_name(generation: int, writer: int, extension: str) -> str:
    return f"open-g{generation}-w{writer:04d}~{uuid.uuid4().hex}.{extension}"


def staged_name(part: PartName, open_file: str) -> str:
    """Keeps the unique part of the open file's name."""
    final, extension = part.final("").rstrip("."), open_file.rpartition(".")[2]
    return f"{final}~{open_file.partition('~')[2].partition('.')[0]}.{extension}"


def staged_by(name: str) -> int | None:
    """The generation that staged it, whether pre-committed or not; None for what bears no name of ours."""
    opened = _OPEN.fullmatch(name)
    if opened is not None:
        return int(opened.group(1))
    part = PartName.parse(name)
    return None if part is None else part.generation


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
    def abandoned(self) -> str:
        return os.path.join(self.weir, "abandoned")

    def checked_branch(self, branch: str) -> str:
        """Raises SinkError for what is no plain name."""
        if not _BRANCH.fullmatch(branch):
            raise SinkError(f"{self.out}: {branch!r} cannot name a branch of abandoned output; use letters, digits and . _ -")
        return branch

    def claim(self, disk: Disk, *, job: str, sink: str, history: str | None = None) -> None:
        """Raises SinkError if another job or sink writes here, or the same with another history: their files could not be
        told apart safely. ``history`` None: whoever asks does not know it (a writer; the coordinator was here before)."""
        path = os.path.join(self.weir, "owner.json")
        claim = {"job": job, "sink": sink} | ({"history": history} if history else {})
        disk.make_directory(self.staging)
        if not disk.exists(path) and disk.create(path, json.dumps(claim).encode()):
            return
        try:
            owner = json.loads(disk.read(path))
        except ValueError:
            owner = None
        if not isinstance(owner, dict) or (owner.get("job"), owner.get("sink")) != (job, sink):
            whose = f"sink {owner.get('sink')!r} of job {owner.get('job')!r}" if isinstance(owner, dict) else "somebody else"
            raise SinkError(f"{self.out}: belongs to {whose}; give sink {sink!r} of job {job!r} a directory of its own")
        if history and owner.get("history", history) != history:
            raise SinkError(
                f"{self.out}: holds output of job {job!r} from a run with other checkpoints, which this run would mix with its own; "
                "use an empty output directory, or resume with the checkpoint directory of that run"
            )
