"""Looking at checkpoints without changing them: what the command line and the control plane show."""

from __future__ import annotations

import re
from dataclasses import dataclass

from weir.errors import CheckpointError
from weir.protocol.ids import CheckpointId, Generation
from weir.protocol.logview import CheckpointRecord, CheckpointStatus
from weir.protocol.paths import decode_segment
from weir.storage.base import CheckpointStorage
from weir.storage.joblog import JobLog
from weir.storage.layout import JobLayout, log_number
from weir.storage.manifests import read_manifest
from weir.storage.snapshots import ExaminedFiles

_SEGMENT = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class CheckpointInfo:
    """``state_bytes``: of all files it needs. ``timestamp_ms``: of its completion, since 1970."""

    checkpoint: CheckpointId
    generation: Generation
    branch: str
    timestamp_ms: int
    state_bytes: int
    is_savepoint: bool
    status: CheckpointStatus
    pinned: bool


@dataclass(frozen=True, slots=True)
class FileProblem:
    """``path`` from the storage's root; ``problem`` reads on after it."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    checkpoint: CheckpointId
    files: int
    """State files read and compared, the manifest not counted."""
    bytes: int
    problems: tuple[FileProblem, ...]

    @property
    def intact(self) -> bool:
        return not self.problems


def list_jobs(storage: CheckpointStorage) -> tuple[str, ...]:
    """Jobs with a log in this storage, by name; of a very long name what ``encode_segment`` makes of it, which names it as well."""
    jobs: set[str] = set()
    for found in storage.list(""):
        segment, _, rest = found.path.partition("/")
        if log_number(rest) is not None and _SEGMENT.fullmatch(segment):
            jobs.add(decode_segment(segment))
    return tuple(sorted(jobs))


def list_checkpoints(storage: CheckpointStorage, layout: JobLayout) -> tuple[CheckpointInfo, ...]:
    """Every completed checkpoint that the log still knows, oldest first. Raises CheckpointError for a log that cannot be read."""
    view, _ = JobLog(storage, layout).read()
    pinned = set(view.pinned)

    def info(record: CheckpointRecord) -> CheckpointInfo:
        status = view.status(record.checkpoint)
        assert status is not None, "a record of the view has a status"
        return CheckpointInfo(
            checkpoint=record.checkpoint,
            generation=record.generation,
            branch=record.branch,
            timestamp_ms=record.timestamp_ms,
            state_bytes=record.state_bytes,
            is_savepoint=record.is_savepoint,
            status=status,
            pinned=record.checkpoint in pinned,
        )

    return tuple(info(record) for record in sorted((*view.retired, *view.kept), key=lambda record: record.checkpoint))


def verify(storage: CheckpointStorage, layout: JobLayout, checkpoint: CheckpointId) -> VerifyReport:
    """Read every file of ``checkpoint`` and compare it with what was written, one at a time.

    Raises CheckpointError if there is no such checkpoint (any more); damage is in the report.
    """
    view, _ = JobLog(storage, layout).read()
    record = view.restore_point(checkpoint)
    try:
        manifest = read_manifest(storage, layout, record)
    except CheckpointError as error:
        return VerifyReport(checkpoint, 0, 0, (FileProblem(layout.absolute(record.manifest_path), str(error)),))
    problems: list[FileProblem] = []
    files, examined = manifest.referenced_files(), ExaminedFiles(storage, layout)
    for file in files:
        data, problem = examined.examine(file)
        if data is None:
            problems.append(FileProblem(layout.absolute(file.path), problem))
    # Files of a pack that is missing have one problem, not several.
    return VerifyReport(checkpoint, len(files), sum(file.bytes for file in files), tuple(dict.fromkeys(problems)))
